// ZSTD, three passes. `zstd_scan`: a lane a tile finds its blocks. `zstd_entropy`: warps decode literals and sequences,
// all blocks of a tile at once. `zstd_execute`: a CUDA block a tile writes the output.
#include "zstd_execute.cuh"
#include "zstd_literals.cuh"
#include "zstd_scan.cuh"

static const u32 ENTROPY_WARPS = 2;

// The work of a tile: the sequences of every block, the longer work, then the literals of every block.
DEVICE bool decode_entropy(ZstdTables& t, const u8* src, u8* scratch, ZstdBlock* blocks, u32 work, u32 count,
                           u32 lane) {
  if (work < count) {
    ZstdBlock* block = blocks + work;
    if ((block->flags & ZSTD_TYPE) != ZSTD_COMPRESSED || block->count == 0) return true;
    const ZstdTableSet set = zstd_table_set(t, src, blocks, work, lane);
    if (!set.good) return false;
    bool good = true;
    if (lane == 0) good = zstd_sequences(t.cells, set, src, block, (u64*)(scratch + block->sequences_at));
    return __all_sync(ZSTD_WARP, good);
  }
  const ZstdBlock* block = blocks + (work - count);
  const u32 kind = (block->flags & ZSTD_LITERALS) >> ZSTD_LITERALS_SHIFT;
  if ((block->flags & ZSTD_TYPE) != ZSTD_COMPRESSED || kind < ZSTD_COMPRESSED) return true;
  return zstd_literals(t, src, *block, blocks[block->tree], scratch + block->literals_at, lane);
}

KERNEL(zstd_scan, 32, DecodeArgs) {
  if (threadIdx.x != 0) return;
  const DecodeBlock entry = args.blocks[blockIdx.x];
  ZstdTile* tile = (ZstdTile*)(args.scratch + entry.scratch);
  ZstdScan scan = {args.encoded + entry.src,
                   entry.src_len,
                   entry.dst_len,
                   (ZstdBlock*)(tile + 1),
                   0,
                   zstd_room(entry.dst_len),
                   zstd_room_end(entry.dst_len),
                   ZSTD_NONE,
                   {ZSTD_NONE, ZSTD_NONE, ZSTD_NONE}};
  const bool good = zstd_scan_tile(scan);
  tile->fault = good ? FAULT_NONE : FAULT_CORRUPT;
  tile->blocks = good ? scan.count : 0;
  tile->next = 0;
}

// One or more CUDA blocks a tile: as many as the grid has for each. Their warps take what is next.
KERNEL(zstd_entropy, 64, DecodeArgs) {
  SHARED(ZstdTables, tables[ENTROPY_WARPS]);
  const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const DecodeBlock entry = args.blocks[blockIdx.x % args.count];
  const u8* src = args.encoded + entry.src;
  u8* scratch = args.scratch + entry.scratch;
  ZstdTile* tile = (ZstdTile*)scratch;
  ZstdBlock* blocks = (ZstdBlock*)(tile + 1);
  const u32 count = tile->blocks;
  for (;;) {
    u32 work = 0;
    if (lane == 0) work = atomicAdd(&tile->next, 1u);
    work = __shfl_sync(ZSTD_WARP, work, 0);
    if (work >= 2 * count) break;
    const bool good = decode_entropy(tables[warp], src, scratch, blocks, work, count, lane);
    if (!good && lane == 0) atomicMax(&tile->fault, (u32)FAULT_CORRUPT);
    __syncwarp();
  }
}

KERNEL(zstd_execute, 128, DecodeArgs) {
  SHARED(ZstdExecution, execution);
  const DecodeBlock entry = args.blocks[blockIdx.x];
  const u8* src = args.encoded + entry.src;
  const u8* scratch = args.scratch + entry.scratch;
  u8* dst = args.decoded + entry.dst;
  const u32 fault = zstd_execute_tile(execution, src, dst, entry.dst_len, scratch, threadIdx.x);
  if (threadIdx.x == 0) args.statuses[entry.status] = fault;
}
