// Turns decompressed rows into pixels in their place: undoes predictors, byte order and bit depths, selects samples,
// crops, converts to floats if the output does, and writes with any strides; or writes the fill value. One pass: data
// is read once and written once.
//
// Each path has its own entry point, so that it uses only the registers it needs; the host selects the entry point of a
// task. The grid is (tasks, parts): the warps of all parts of a task share its rows. Tasks whose block has a fault are
// skipped. Output bytes that belong to no sample of the task are never written.
#include "place/place_abi.h"
#include "place/place_bands.cuh"
#include "place/place_each.cuh"
#include "place/place_fill.cuh"
#include "place/place_pixels.cuh"
#include "place/place_planes.cuh"
#include "place/place_runs.cuh"

const u32 PLACE_THREADS = 128;
const u32 PLACE_WARPS = PLACE_THREADS / 32;

// Returns whether this CUDA block has work and sets `task` to it.
DEVICE bool place_begins(const PlaceArgs& args, PlaceTask& task) {
  if (blockIdx.x >= args.count) return false;
  task = args.tasks[blockIdx.x];
  return task.status == NO_STATUS || args.statuses[task.status] == FAULT_NONE;
}

DEVICE Share place_share() {
  return {blockIdx.y * PLACE_WARPS + threadIdx.x / 32, gridDim.y * PLACE_WARPS, threadIdx.x % 32};
}

// Places rows of whole pixels of T times S bytes. If S is 1: of numbers of T bytes; if T is 1 as well: of any bytes.
// FLOATS: converts to floats.
template <u32 T, int S, bool FLOATS>
DEVICE void place_rows(const PlaceLayout& layout, const PlaceTask& task, const u16* selection,
                       const i32* tables, const Share& share, Quad* stage) {
  if constexpr (S == 1) {
    place_runs<T, FLOATS>(layout, task, tables, share, stage);
  } else {
    place_pixels<T, S, FLOATS>(layout, task, selection, tables, share, stage);
  }
}

// Defines an entry point whose warps have QUADS times 16 bytes of shared memory each, at `stage`. BLOCKS is the number
// of CUDA blocks that must fit on a multiprocessor at once.
#define PLACE_ENTRY(name, BLOCKS, QUADS, WORK)              \
  KERNEL_RESIDENT(name, PLACE_THREADS, BLOCKS, PlaceArgs) { \
    SHARED(Quad, stages[PLACE_WARPS * (QUADS)]);            \
    PlaceTask task;                                         \
    if (!place_begins(args, task)) return;                  \
    const PlaceLayout layout = args.layouts[task.layout];   \
    Quad* stage = stages + threadIdx.x / 32 * (QUADS);      \
    WORK;                                                   \
  }
#define PLACE_ROWS(name, T, S, FLOATS, BLOCKS)        \
  PLACE_ENTRY(name, BLOCKS, StageQuads<S>::COUNT,     \
              (place_rows<T, S, FLOATS>(layout, task, args.selections + task.selection, args.tables, \
                                        place_share(), stage)))
#define PLACE_BANDS(name, T, FLOATS)                     \
  KERNEL_RESIDENT(name, PLACE_THREADS, 8, PlaceArgs) {   \
    PlaceTask task;                                      \
    if (!place_begins(args, task)) return;               \
    const PlaceLayout layout = args.layouts[task.layout]; \
    place_bands<T, FLOATS>(layout, task, args.selections + task.selection, args.tables, place_share()); \
  }
#define PLACE_PLANES(name, N, FLOATS)    \
  PLACE_ENTRY(name, 7, PLANE_QUADS,      \
              (place_planes<N, FLOATS>(layout, task, args.tables, place_share(), stage)))

PLACE_ROWS(place_rows_1_1, 1, 1, false, 6)
PLACE_ROWS(place_rows_1_2, 1, 2, false, 8)
PLACE_ROWS(place_rows_1_3, 1, 3, false, 8)
PLACE_ROWS(place_rows_1_4, 1, 4, false, 6)
PLACE_ROWS(place_rows_2_1, 2, 1, false, 6)
PLACE_ROWS(place_rows_2_2, 2, 2, false, 8)
PLACE_ROWS(place_rows_2_3, 2, 3, false, 6)
PLACE_ROWS(place_rows_2_4, 2, 4, false, 6)
PLACE_ROWS(place_rows_4_1, 4, 1, false, 6)
PLACE_ROWS(place_rows_4_2, 4, 2, false, 8)
PLACE_ROWS(place_rows_4_3, 4, 3, false, 7)
PLACE_ROWS(place_rows_4_4, 4, 4, false, 6)
PLACE_ROWS(place_floats_1_1, 1, 1, true, 8)
PLACE_ROWS(place_floats_1_3, 1, 3, true, 8)
PLACE_ROWS(place_floats_1_4, 1, 4, true, 8)
PLACE_ROWS(place_floats_2_1, 2, 1, true, 8)
PLACE_ROWS(place_floats_4_1, 4, 1, true, 8)
PLACE_BANDS(place_bands_1, 1, false)
PLACE_BANDS(place_bands_2, 2, false)
PLACE_BANDS(place_bands_4, 4, false)
PLACE_BANDS(place_floats_bands_1, 1, true)
PLACE_BANDS(place_floats_bands_2, 2, true)
PLACE_BANDS(place_floats_bands_4, 4, true)
PLACE_PLANES(place_planes_2, 2, false)
PLACE_PLANES(place_planes_4, 4, false)
PLACE_PLANES(place_planes_8, 8, false)
PLACE_PLANES(place_floats_planes_4, 4, true)

KERNEL(place_each, PLACE_THREADS, PlaceArgs) {
  SHARED(Quad, stages[PLACE_WARPS * FILL_QUADS]);
  PlaceTask task;
  if (!place_begins(args, task)) return;
  const PlaceLayout& layout = args.layouts[task.layout];
  if (task.flags & TASK_FILL) {
    u8* stage = (u8*)(stages + threadIdx.x / 32 * FILL_QUADS);
    return fill_rows(layout, layout.fill, task, place_share(), stage);
  }
  place_each(layout, task, args.selections + task.selection, args.tables, place_share());
}
