// Moves encoded blocks together, one after the other in the order of their indices, and makes a table of each block's
// result. Two launches: `compact_offsets`, a single CUDA block, makes the table; `compact_blocks` copies.
#include "block_scan.cuh"
#include "blocks/compact_abi.h"
#include "words.cuh"

const u32 OFFSETS_THREADS = 1024;
const u32 BLOCKS_THREADS = 256;

// Sizes are summed in halves of 16 bits, whose sums over a CUDA block fit in 32 bits.
KERNEL(compact_offsets, OFFSETS_THREADS, CompactArgs) {
  SHARED(u32, low_sums[OFFSETS_THREADS / 32]);
  SHARED(u32, high_sums[OFFSETS_THREADS / 32]);
  CompactEntry* entries = (CompactEntry*)(args.table + sizeof(CompactHead));
  u64 total = 0;
#pragma unroll 1
  for (u32 first = 0; first < args.count; first += OFFSETS_THREADS) {
    const u32 index = first + threadIdx.x;
    const u32 state = index < args.count ? args.states[index] : (u32)ENCODE_PENDING;
    const u32 size = state == ENCODE_DONE ? args.sizes[index] : 0;
    const Prefix low = block_prefix<OFFSETS_THREADS / 32>(size & 0xFFFFu, low_sums);
    const Prefix high = block_prefix<OFFSETS_THREADS / 32>(size >> 16, high_sums);
    if (index < args.count) {
      entries[index] = {total + low.before + ((u64)high.before << 16), size, state};
    }
    total += low.total + ((u64)high.total << 16);
    __syncthreads();
  }
  if (threadIdx.x == 0) *(CompactHead*)args.table = {total, 0};
}

// The grid is (blocks, parts): the CUDA blocks of a row share the pieces of a block. A thread copies 16 bytes aligned
// in the output; bytes at the ends are copied one by one.
KERNEL(compact_blocks, BLOCKS_THREADS, CompactArgs) {
  if (blockIdx.x >= args.blocks_count || ((const CompactHead*)args.table)->total > args.room) return;
  const EncodeBlock& block = args.blocks[blockIdx.x];
  if (block.index >= args.count) return;
  const CompactEntry entry = ((const CompactEntry*)(args.table + sizeof(CompactHead)))[block.index];
  const u8* from = args.slab + block.dst;
  const u32 len = min(entry.size, block.room);
  const u8* end = from + len;
  u8* to = args.out + entry.offset;
  const u32 skip = misalignment(to, 16), span = len + skip;
#pragma unroll 1
  for (u64 piece = (u64)blockIdx.y * COMPACT_PIECE; piece < span; piece += (u64)gridDim.y * COMPACT_PIECE) {
#pragma unroll 4
    for (u32 k = 0; k < COMPACT_PIECE; k += BLOCKS_THREADS * 16) {
      const u64 begin = piece + k + threadIdx.x * 16;
      if (begin >= skip && begin + 16 <= span) {
        u64 words[2];
        load_words<u64, 2>(from + (begin - skip), end, words);
        const u32 a = (u32)words[0], b = (u32)(words[0] >> 32), c = (u32)words[1], d = (u32)(words[1] >> 32);
        *(Quad*)(to + (begin - skip)) = {a, b, c, d};
      } else {
        const u64 last = min(begin + 16, (u64)span);
#pragma unroll 1
        for (u64 i = max(begin, (u64)skip); i < last; i++) to[i - skip] = from[i - skip];
      }
    }
  }
}
