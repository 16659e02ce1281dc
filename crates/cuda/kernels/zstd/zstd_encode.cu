// ZSTD from matches (`portable/spec.md`): `zstd_count` makes the tables of each part and computes its size, `zstd_emit`
// writes it behind the earlier parts. Both use one CUDA block per part.
#include "zstd/zstd_encode_count.cuh"
#include "zstd/zstd_encode_emit.cuh"

// As many as there are threads for: states and trees take long and use few threads.
KERNEL_RESIDENT(zstd_count, 256, 8, EncodeArgs) {
  SHARED(ZstdCounting, shared);
  const EncodeBlock block = args.blocks[blockIdx.x];
  if ((u64)blockIdx.y * PART >= block.len || !has_bytes(args, block)) return;
  const ZstdWork work = zstd_work(args, block, blockIdx.y);
  zstd_count_part(shared, work, work.end == block.len, blockIdx.y);
}

KERNEL(zstd_emit, 256, EncodeArgs) {
  SHARED(ZstdEmission, emission);
  SHARED(u32, before);
  const EncodeBlock block = args.blocks[blockIdx.x];
  if ((u64)blockIdx.y * PART >= block.len || !has_bytes(args, block)) return;
  const ZstdWork work = zstd_work(args, block, blockIdx.y);
  if (threadIdx.x == 0) before = ZSTD_FRAME_HEADER;
  __syncthreads();
  u32 sizes = 0;
  for (u32 i = threadIdx.x; i < blockIdx.y; i += ZSTD_THREADS) sizes += work.sizes[i];
  if (sizes != 0) atomicAdd(&before, sizes);
  __syncthreads();
  u8* out = args.slab + block.dst;
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    zstd_set(out, (u64)ZSTD_MAGIC | 0x3880ull << 32, 6);
    zstd_set(out + 6, (u64)block.len, 4);
  }
  zstd_emit_part(emission, work, out + before);
  if (work.end == block.len && threadIdx.x == 0) {
    args.sizes[block.index] = before + work.sizes[blockIdx.y];
    relaxed_store(args.states + block.index, ENCODE_DONE);
  }
}
