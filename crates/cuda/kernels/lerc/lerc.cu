// Compression 34887, LERC without Deflate or ZSTD around it: one CUDA block decodes one image block.
#include "lerc/lerc_tile.cuh"

KERNEL_RESIDENT(lerc_decode, 128, 6, DecodeArgs) {
  SHARED(lerc::Shared, shared);
  const DecodeBlock block = args.blocks[blockIdx.x];
  u8* mask = args.scratch + block.scratch;
  const u32 fault =
      lerc::decode(shared, args.encoded + block.src, block.src_len, block, args.decoded + block.dst, mask);
  if (threadIdx.x == 0) args.statuses[block.status] = fault;
}
