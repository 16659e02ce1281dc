// LERC inside Deflate: the first pass unpacks the blob, the second decodes it.
#include "deflate/deflate_stream.cuh"
#include "lerc/lerc_around.cuh"

// Unpacks the blob of a block into its scratch.
template <u32 WARPS>
DEVICE void inflate_blob(const DecodeArgs& args, DeflateShared<WARPS>& shared) {
  const DecodeBlock outer = args.blocks[blockIdx.x];
  DecodeBlock block = outer;
  block.dst = 0;
  block.dst_len = lerc::longest(outer.dst_len);
  u32 made = 0;
  const u32 fault =
      inflate_stream<WARPS>(args.encoded, lerc::blob_of(args, outer), block, shared, threadIdx.x, made);
  if (threadIdx.x != 0) return;
  lerc::around_of(args, outer)->len = made;
  args.statuses[outer.status] = fault;
}

// For many blocks: eight at a time per multiprocessor.
KERNEL_RESIDENT(lerc_deflate_unwrap, 64, 8, DecodeArgs) {
  SHARED(DeflateShared<2>, shared);
  inflate_blob<2>(args, shared);
}

// For few blocks: four at a time.
KERNEL_RESIDENT(lerc_deflate_unwrap_wide, 128, 4, DecodeArgs) {
  SHARED(DeflateShared<4>, shared);
  inflate_blob<4>(args, shared);
}

KERNEL_RESIDENT(lerc_deflate_decode, 128, 6, DecodeArgs) {
  SHARED(lerc::Shared, shared);
  lerc::decode_around(shared, args);
}
