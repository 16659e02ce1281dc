// ZSTD in three passes. `zstd_scan`: one lane per tile finds its blocks. `zstd_entropy`: warps decode literals and
// sequences, all blocks of a tile at once. `zstd_execute` and `zstd_execute_alone`: one CUDA block per tile, of four
// warps or of one, writes the output.
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

// Compression ratio from which one warp writes a stream: its matches are long and copy bytes written just before, so
// several warps would wait for each other.
static const u32 ZSTD_ALONE = 8;

template <u32 WARPS>
DEVICE void zstd_write_tile(ZstdExecution<ZstdShape<WARPS>>& execution, const DecodeArgs& args) {
  const DecodeBlock entry = args.blocks[blockIdx.x];
  if ((entry.dst_len / ZSTD_ALONE >= entry.src_len) != (WARPS == 1)) return;
  const u8* src = args.encoded + entry.src;
  const u8* scratch = args.scratch + entry.scratch;
  u8* dst = args.decoded + entry.dst;
  const u32 fault = zstd_execute_tile(execution, src, dst, entry.dst_len, scratch, threadIdx.x);
  if (threadIdx.x == 0) args.statuses[entry.status] = fault;
}

KERNEL_RESIDENT(zstd_execute, 128, 8, DecodeArgs) {
  SHARED(ZstdExecution<ZstdShape<4>>, execution);
  zstd_write_tile<4>(execution, args);
}

KERNEL_RESIDENT(zstd_execute_alone, 32, 32, DecodeArgs) {
  SHARED(ZstdExecution<ZstdShape<1>>, execution);
  zstd_write_tile<1>(execution, args);
}
