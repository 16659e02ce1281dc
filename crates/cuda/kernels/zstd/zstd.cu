// ZSTD, three passes. `zstd_scan`: a lane a tile finds its blocks. `zstd_entropy`: warps decode literals and sequences,
// all blocks of a tile at once. `zstd_execute`: a CUDA block a tile writes the output.
#include "zstd/zstd_passes.cuh"

KERNEL(zstd_scan, 32, DecodeArgs) {
  if (threadIdx.x != 0) return;
  const DecodeBlock entry = args.blocks[blockIdx.x];
  zstd_scan_pass(args.encoded + entry.src, entry.src_len, entry.dst_len, args.scratch + entry.scratch);
}

KERNEL_RESIDENT(zstd_entropy, 64, 16, DecodeArgs) {
  SHARED(ZstdEntropy, shared);
  const DecodeBlock entry = args.blocks[blockIdx.x % args.count];
  zstd_entropy_pass(shared, args.encoded + entry.src, args.scratch + entry.scratch);
}

KERNEL_RESIDENT(zstd_execute, 128, 8, DecodeArgs) {
  SHARED(ZstdExecution, execution);
  const DecodeBlock entry = args.blocks[blockIdx.x];
  const u8* src = args.encoded + entry.src;
  const u8* scratch = args.scratch + entry.scratch;
  u8* dst = args.decoded + entry.dst;
  const u32 fault = zstd_execute_tile(execution, src, dst, entry.dst_len, scratch, threadIdx.x);
  if (threadIdx.x == 0) args.statuses[entry.status] = fault;
}
