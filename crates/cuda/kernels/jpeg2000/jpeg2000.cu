// JPEG 2000 (ISO 15444-1): decodes the pictures of a batch from codeword segments to samples. The host has read the
// headers (crates/codestream) and provides all addresses; `crates/codestream/src/jpeg2000/spec.md` specifies the
// arithmetic, which the CPU engine computes to the same bits.
//
// A picture whose status is not 0 at the end is left to the host.
#include "jpeg2000/jpeg2000_coefficients.cuh"
#include "jpeg2000/jpeg2000_passes.cuh"
#include "jpeg2000/jpeg2000_pixels.cuh"
#include "jpeg2000/jpeg2000_unstuff.cuh"
#include "jpeg2000/jpeg2000_wavelet.cuh"

KERNEL(jpeg2000_unstuff, 128, Jpeg2000BlockArgs) {
  const u32 at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < args.segment_count) jpeg2000::unstuff(args.segments[at]);
}

namespace jpeg2000 {

enum : u32 {
  // Lanes wait until they are this part of the remaining ones: proceeding together is cheaper, but waiting lanes are
  // idle.
  SHARE = 4,
  // Decisions between two checks for waiting lanes.
  STEPS = 3,
};

// Initialises the working memory of a warp's code-blocks before their first pass.
DEVICE void clear(const Jpeg2000Block& block, bool has, u32 lane) {
  const u32 size = (u32)block.height << 16 | block.width;
  for (u32 i = 0; i < WARP; ++i) {
    const u64 state = __shfl_sync(0xFFFFFFFFu, block.state, (i32)i);
    const u32 found = __shfl_sync(0xFFFFFFFFu, has ? size : 0, (i32)i);
    if (found == 0) continue;
    const u32 width = found & 0xFFFF, height = found >> 16;
    const Grid grid = grid_of(width, height);
    Signs* const signs = (Signs*)state;
    for (u32 at = lane; at < signs_count(grid); at += WARP) signs[at] = {0, 0};
    Group* const groups = (Group*)(signs + signs_count(grid));
    for (u32 at = lane; at < groups_count(grid); at += WARP) groups[at] = first_group(grid, width, height, at);
  }
  __syncwarp();
}

}  // namespace jpeg2000

// CUDA blocks of one warp: with little shared memory per block, the rest serves as cache. Twenty is the most that a
// multiprocessor gets from a thousand tiles of 512 x 512.
KERNEL_RESIDENT(jpeg2000_blocks, 32, 20, Jpeg2000BlockArgs) {
  using namespace jpeg2000;
  SHARED(u32, cells[CONTEXTS][WARP]);
  SHARED(u32, moves[MOVES]);
  SHARED(Tables, contexts);
  const u32 number = threadIdx.x, at = blockIdx.x * args.lanes + number;
  for (u32 i = number; i < MOVES; i += WARP) moves[i] = move_of(i);
  for (u32 i = number; i < ENTRIES; i += WARP) contexts.entries[i] = (u8)context_entry(i);
  __syncwarp();
  const bool has = number < args.lanes && at < args.count;
  // Addresses from a shuffle stay in registers; otherwise the compiler would recompute them at every use.
  Shared shared = {shared_address(&contexts), shared_address(moves), shared_address(&cells[0][number])};
  shared.contexts = __shfl_sync(0xFFFFFFFFu, shared.contexts, 0);
  shared.moves = __shfl_sync(0xFFFFFFFFu, shared.moves, 0);
  shared.cells = __shfl_sync(0xFFFFFFFFu, shared.cells, (i32)number);
  const Jpeg2000Block block = args.blocks[has ? at : 0];
  clear(block, has, number);
  Fixed fixed = fixed_of(block);
  fixed.kept.groups = (Group*)__shfl_sync(0xFFFFFFFFu, (u64)fixed.kept.groups, (i32)number);
  fixed.kept.planes = (u32*)__shfl_sync(0xFFFFFFFFu, (u64)fixed.kept.planes, (i32)number);
  Lane lane = {};
  lane.alive = has;
  lane.segment = block.segment;
  lane.plane = block.planes - 1u;
  if (has) {
    begin_pass(lane, fixed, args.segments, shared);
    read_on(lane, fixed);
  }
  u32 alive = __ballot_sync(0xFFFFFFFFu, lane.alive);
  u32 enough = (__popc(alive) + SHARE - 1) / SHARE;
  while (alive != 0) {
    for (u32 i = 0; i < STEPS; ++i) {
      const u32 open = open_of(lane);
      if ((open | lane.pending) != 0 && lane.decoder.held >= 16) decode(lane, open, shared);
    }
    const bool done = (open_of(lane) | lane.pending) == 0;
    const u32 waiting = __ballot_sync(0xFFFFFFFFu, done || lane.decoder.held < 16) & alive;
    if ((u32)__popc(waiting) < enough) continue;
    if (lane.alive) supply(lane.decoder);
    if (lane.alive && done) advance(lane, fixed, args.segments, shared);
    alive = __ballot_sync(0xFFFFFFFFu, lane.alive);
    if (lane.alive && done) read_on(lane, fixed);
    use_ahead(lane.decoder);
    enough = (__popc(alive) + SHARE - 1) / SHARE;
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

namespace jpeg2000 {

// The CUDA blocks of a column share the patches of one plane or tile: 256 columns wide, eight lines high, one warp per
// line.
enum : u32 { PATCH = 256, LINES = 8 };

struct Patches {
  u32 across, count;
};

DEVICE Patches patches_of(u32 width, u32 lines) {
  const u32 across = (width + PATCH - 1) / PATCH;
  return {across, across * ((lines + LINES - 1) / LINES)};
}

}  // namespace jpeg2000

KERNEL(jpeg2000_rows, 256, Jpeg2000LevelArgs) {
  using namespace jpeg2000;
  const Jpeg2000Level level = args.levels[blockIdx.x];
  const u32 pairs = pairs_of(level.width, level.odd_x), lane = threadIdx.x % 32;
  const Patches patches = patches_of(2 * pairs, level.height);
  for (u32 patch = blockIdx.y; patch < patches.count; patch += gridDim.y) {
    const u32 y = patch / patches.across * LINES + threadIdx.x / 32;
    if (y >= level.height) continue;
    const u64 row = (u64)y * level.stride;
    const Line line = {(const u32*)level.plane + row, 1, level.width, level.odd_x};
    const u32 first = patch % patches.across * (PATCH / 2), end = min(first + PATCH / 2, pairs);
    for (u32 i = first + lane; i < end; i += 32) synthesise<1>(line, level.reversible, i, (u32*)level.spare + row);
  }
}

KERNEL(jpeg2000_columns, 256, Jpeg2000LevelArgs) {
  using namespace jpeg2000;
  enum : u32 { TOGETHER = 4 };
  const Jpeg2000Level level = args.levels[blockIdx.x];
  const u32 parts = (pairs_of(level.height, level.odd_y) + TOGETHER - 1) / TOGETHER, lane = threadIdx.x % 32;
  const Patches patches = patches_of(level.width, parts);
  for (u32 patch = blockIdx.y; patch < patches.count; patch += gridDim.y) {
    const u32 part = patch / patches.across * LINES + threadIdx.x / 32;
    if (part >= parts) continue;
    const u32 first = patch % patches.across * PATCH, end = min(first + PATCH, level.width);
    for (u32 x = first + lane; x < end; x += 32) {
      const Line line = {(const u32*)level.spare + x, level.stride, level.height, level.odd_y};
      synthesise<TOGETHER>(line, level.reversible, part * TOGETHER, (u32*)level.plane + x);
    }
  }
}

// Every tile of a picture reports success, unless a fault was reported before.
KERNEL(jpeg2000_pixels, 256, Jpeg2000TileArgs) {
  using namespace jpeg2000;
  const Jpeg2000Tile tile = args.tiles[blockIdx.x];
  const Jpeg2000Plane* const planes = args.planes + tile.planes;
  const bool three = tile.colour != JPEG2000_PLAIN || tile.ycbcr;
  const Patches patches = patches_of(tile.width, tile.height);
  for (u32 patch = blockIdx.y; patch < patches.count; patch += gridDim.y) {
    const u32 y = patch / patches.across * LINES + threadIdx.x / 32;
    if (y >= tile.height) continue;
    const u32 first = patch % patches.across * PATCH, end = min(first + PATCH, tile.width);
    const Columns columns = {first + threadIdx.x % 32, end};
    if (three) {
      const Jpeg2000Plane own[3] = {planes[0], planes[1], planes[2]};
      place_threes(tile, own, y, columns);
    }
    for (u32 i = three ? 3 : 0; i < tile.samples; ++i) place_samples(tile, planes[i], i, y, columns);
  }
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    atomicCAS(&args.statuses[tile.status], (u32)FAULT_PENDING, (u32)FAULT_NONE);
  }
}
