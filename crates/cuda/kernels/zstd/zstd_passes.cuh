// The three passes of ZSTD over a tile, for kernels that decode only ZSTD and those that also decode its content.
#pragma once
#include "zstd/zstd_execute.cuh"
#include "zstd/zstd_literals.cuh"
#include "zstd/zstd_scan.cuh"

static const u32 ENTROPY_WARPS = 2;

// Decoding tables of a warp, in shared memory: the working memory for building them is not needed afterwards.
struct ZstdTables {
  u32 cells[ZSTD_CELLS];  // the tables of sequences, or the one of literals and that of its weights
  union {
    ZstdBuild build;
    ZstdWork work;
  };
};
struct ZstdParts {
  u32 table[ZSTD_HUFFMAN_WORDS];  // of literals
  u32 words[32 * ZSTD_LANE_WORDS];
};
union ZstdSpace {
  ZstdTables tables;
  ZstdParts parts;
};

// Takes the work of a tile: first the sequences of every block, which take longer, then the literals of every block.
DEVICE bool decode_entropy(ZstdSpace& s, const ZstdBases& bases, const u8* src, u8* scratch, ZstdBlock* blocks,
                           u32 work, u32 count, u32 lane) {
  ZstdTables& t = s.tables;
  if (work < count) {
    ZstdBlock* block = blocks + work;
    if ((block->flags & ZSTD_TYPE) != ZSTD_COMPRESSED || block->count == 0) return true;
    const ZstdTableSet set = zstd_table_set(t.build, t.cells, src, blocks, work, lane);
    if (!set.good) return false;
    u64* out = (u64*)(scratch + block->sequences_at);
    return zstd_sequences(t.work, bases, t.cells, set, src, block, out, lane);
  }
  const ZstdBlock* block = blocks + (work - count);
  const u32 kind = (block->flags & ZSTD_LITERALS) >> ZSTD_LITERALS_SHIFT;
  if ((block->flags & ZSTD_TYPE) != ZSTD_COMPRESSED || kind < ZSTD_COMPRESSED) return true;
  u8* out = scratch + block->literals_at;
  return zstd_literals(t.build, t.cells, s.parts.words, src, *block, blocks[block->tree], out, lane);
}

// The first pass. Called by one thread.
DEVICE void zstd_scan_pass(const u8* src, u32 src_len, u32 dst_len, u8* scratch) {
  ZstdTile* tile = (ZstdTile*)scratch;
  ZstdScan scan = {src,
                   src_len,
                   dst_len,
                   (ZstdBlock*)(tile + 1),
                   0,
                   zstd_room(dst_len),
                   zstd_room_end(src_len, dst_len),
                   ZSTD_NONE,
                   {ZSTD_NONE, ZSTD_NONE, ZSTD_NONE}};
  const bool good = zstd_scan_tile(scan);
  tile->fault = good ? FAULT_NONE : FAULT_CORRUPT;
  tile->blocks = good ? scan.count : 0;
  tile->next = 0;
}

// Shared memory of the second pass.
struct ZstdEntropy {
  ZstdSpace spaces[ENTROPY_WARPS];
  ZstdBases bases;
};

// The second pass. One or more CUDA blocks per tile, depending on the grid. Their warps take the next work item.
DEVICE void zstd_entropy_pass(ZstdEntropy& shared, const u8* src, u8* scratch) {
  const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  ZstdTile* tile = (ZstdTile*)scratch;
  ZstdBlock* blocks = (ZstdBlock*)(tile + 1);
  const u32 count = tile->blocks;
  zstd_fill_bases(shared.bases, threadIdx.x);
  __syncthreads();
  for (;;) {
    u32 work = 0;
    if (lane == 0) work = atomicAdd(&tile->next, 1u);
    work = __shfl_sync(ZSTD_WARP, work, 0);
    if (work >= 2 * count) break;
    const bool good = decode_entropy(shared.spaces[warp], shared.bases, src, scratch, blocks, work, count, lane);
    if (!good && lane == 0) atomicMax(&tile->fault, (u32)FAULT_CORRUPT);
    __syncwarp();
  }
}
