// Deflate, one CUDA block of two or four warps per image block (`deflate_stream.cuh`).
#include "deflate/deflate_stream.cuh"

template <u32 WARPS>
DEVICE void decode_block(const DecodeArgs& args, DeflateShared<WARPS>& shared) {
  const DecodeBlock block = args.blocks[blockIdx.x];
  u32 fault = decode_stream<WARPS>(args.encoded, args.decoded, block, shared, threadIdx.x);
  if (threadIdx.x == 0) args.statuses[block.status] = fault;
}

// For many blocks: eight at a time per multiprocessor.
KERNEL_RESIDENT(deflate_decode, 64, 8, DecodeArgs) {
  SHARED(DeflateShared<2>, shared);
  decode_block<2>(args, shared);
}

// For few blocks: four at a time.
KERNEL_RESIDENT(deflate_decode_wide, 128, 4, DecodeArgs) {
  SHARED(DeflateShared<4>, shared);
  decode_block<4>(args, shared);
}
