// JPEG 2000 (ISO 15444-1): the pictures of a batch from codeword segments to samples. The host has read the headers
// (crates/codestream) and says where everything lies; `crates/codestream/src/jpeg2000/spec.md` has the numbers, which the
// CPU engine computes to the same bits.
//
// A picture whose status is not 0 at the end goes to the host.
#include "jpeg2000_coefficients.cuh"
#include "jpeg2000_passes.cuh"
#include "jpeg2000_pixels.cuh"
#include "jpeg2000_unstuff.cuh"
#include "jpeg2000_wavelet.cuh"

KERNEL(jpeg2000_unstuff, 128, Jpeg2000BlockArgs) {
  const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < args.segment_count) jpeg2000::unstuff(args.segments[at]);
}

namespace jpeg2000 {

enum : u32 { WARPS = 4 };

// Lanes that wait until those that do not are this many times as many: going on together is cheaper, waiting is idle.
#ifndef WAITING_SHARE
#define WAITING_SHARE 4
#endif

DEVICE void clear(const Jpeg2000Block& block, bool has, u32 lane) {
  const Grid grid = grid_of(block.width, block.height);
  const u32 mine = has ? signs_count(grid) + groups_count(grid) : 0;
  for (u32 i = 0; i < WARP; ++i) {
    uint4* const words = (uint4*)__shfl_sync(0xFFFFFFFFu, block.state, (i32)i);
    const u32 count = __shfl_sync(0xFFFFFFFFu, mine, (i32)i);
    for (u32 at = lane; at < count; at += WARP) words[at] = make_uint4(0, 0, 0, 0);
  }
  __syncwarp();
}

}  // namespace jpeg2000

KERNEL_RESIDENT(jpeg2000_blocks, 32 * jpeg2000::WARPS, 4, Jpeg2000BlockArgs) {
  using namespace jpeg2000;
  SHARED(u32, all_cells[WARPS][CONTEXTS][WARP]);
  SHARED(u32, moves[MOVES]);
  SHARED(u8, contexts[ENTRIES]);
  for (u32 i = threadIdx.x; i < MOVES; i += blockDim.x) moves[i] = move_of(i);
  for (u32 i = threadIdx.x; i < ENTRIES; i += blockDim.x) contexts[i] = (u8)context_entry(i);
  __syncthreads();
  const u32 number = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const u32 at = (blockIdx.x * WARPS + warp) * args.lanes + number;
  const bool has = number < args.lanes && at < args.count;
  u32* const cells = &all_cells[warp][0][number];
  const Jpeg2000Block block = args.blocks[has ? at : 0];
  clear(block, has, number);
  const Fixed fixed = fixed_of(block);
  Lane lane = {};
  lane.alive = has;
  lane.segment = block.segment;
  lane.plane = block.planes - 1u;
  if (has) begin_pass(lane, fixed, args.segments, cells);
  u32 alive = __ballot_sync(0xFFFFFFFFu, lane.alive);
  while (alive != 0) {
    const u32 open = (lane.near | (lane.kind != SIGNIFICANCE ? ~0u : 0)) & lane.todo;
    const bool idle = lane.alive && (open | lane.pending) == 0;
    const u32 waiting = __ballot_sync(0xFFFFFFFFu, idle);
    if (__popc(waiting) * WAITING_SHARE >= __popc(alive)) {
      if (idle) advance(lane, fixed, args.segments, cells, moves);
      alive = __ballot_sync(0xFFFFFFFFu, lane.alive);
    } else if (lane.alive && !idle) {
      decode(lane, fixed, open, contexts, cells, moves);
    }
  }
  if (lane.corrupt) atomicMin(&args.statuses[block.status], (u32)FAULT_CORRUPT);
}

KERNEL(jpeg2000_coefficients, 128, Jpeg2000BlockArgs) {
  using namespace jpeg2000;
  const Jpeg2000Block block = args.blocks[blockIdx.x];
  const Grid grid = grid_of(block.width, block.height);
  const Kept kept = kept_in(block.state, grid);
  for (u32 i = threadIdx.x; i < grid.stripes * block.width; i += blockDim.x) {
    place_column(block, grid, kept, i / block.width, i % block.width);
  }
}

// A column of CUDA blocks a plane; they share its lines.
KERNEL(jpeg2000_rows, 256, Jpeg2000LevelArgs) {
  using namespace jpeg2000;
  const Jpeg2000Level level = args.levels[blockIdx.x];
  const u32 pairs = pairs_of(level.width, level.odd_x);
  const u64 count = (u64)pairs * level.height, together = (u64)gridDim.y * blockDim.x;
  for (u64 i = (u64)blockIdx.y * blockDim.x + threadIdx.x; i < count; i += together) {
    const u64 row = i / pairs * level.stride;
    const Line line = {(const u32*)level.plane + row, 1, level.width, level.odd_x};
    synthesise<1>(line, level.reversible, (u32)(i % pairs), (u32*)level.spare + row);
  }
}

KERNEL(jpeg2000_columns, 256, Jpeg2000LevelArgs) {
  using namespace jpeg2000;
  enum : u32 { TOGETHER = 4 };
  const Jpeg2000Level level = args.levels[blockIdx.x];
  const u32 parts = (pairs_of(level.height, level.odd_y) + TOGETHER - 1) / TOGETHER;
  const u64 count = (u64)parts * level.width, together = (u64)gridDim.y * blockDim.x;
  for (u64 i = (u64)blockIdx.y * blockDim.x + threadIdx.x; i < count; i += together) {
    const u64 column = i % level.width;
    const Line line = {(const u32*)level.spare + column, level.stride, level.height, level.odd_y};
    synthesise<TOGETHER>(line, level.reversible, (u32)(i / level.width) * TOGETHER, (u32*)level.plane + column);
  }
}

// The first of a picture's tiles also says that nothing was wrong, where nobody has said otherwise.
KERNEL(jpeg2000_pixels, 256, Jpeg2000TileArgs) {
  using namespace jpeg2000;
  const Jpeg2000Tile tile = args.tiles[blockIdx.x];
  const u64 count = (u64)tile.width * tile.height, together = (u64)gridDim.y * blockDim.x;
  for (u64 i = (u64)blockIdx.y * blockDim.x + threadIdx.x; i < count; i += together) {
    place_pixel(tile, args.planes + tile.planes, (u32)(i % tile.width), (u32)(i / tile.width));
  }
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    atomicCAS(&args.statuses[tile.status], (u32)FAULT_PENDING, (u32)FAULT_NONE);
  }
}
