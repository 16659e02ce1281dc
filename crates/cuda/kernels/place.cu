// From decompressed rows to pixels in their place: undoes predictors, byte order and bit depths, picks
// samples, crops, converts to floats where the output does, and writes with any strides; or writes the fill
// value. One pass, read once and written once.
//
// The grid is (tasks, parts): the warps of all parts of a task share its rows. A task whose block has a fault
// is left alone. Bytes of the output that belong to no sample of the task are never written.
#include "place_abi.h"
#include "place_copy.cuh"
#include "place_each.cuh"
#include "place_planes.cuh"
#include "place_sums.cuh"

const u32 PLACE_THREADS = 128;
const u32 STAGE_WORDS = 1024 / 8 + 1;
// CUDA blocks that must fit a multiprocessor at once: memory is kept busy by many warps, each with few loads
// under way.
const u32 PLACE_BLOCKS = 7;

KERNEL_RESIDENT(place, PLACE_THREADS, PLACE_BLOCKS, PlaceArgs) {
  SHARED(u64, stages[PLACE_THREADS / 32 * STAGE_WORDS]);
  if (blockIdx.x >= args.count) return;
  const PlaceTask task = args.tasks[blockIdx.x];
  if (task.status != NO_STATUS && args.statuses[task.status] != FAULT_NONE) return;
  const PlaceLayout layout = args.layouts[task.layout];
  const u16* selection = args.selections + task.selection;
  const u32 warp = threadIdx.x / 32, warps = PLACE_THREADS / 32;
  const Share share = {blockIdx.y * warps + warp, gridDim.y * warps, threadIdx.x % 32};
  u8* stage = (u8*)(stages + warp * STAGE_WORDS);
  if (task.flags & TASK_FILL) {
    return fill_rows(layout, args.layouts[task.layout].fill, task, share, stage);
  }
  if (layout.number != NUMBER_AS_IS) {
    return place_converted(args.layouts[task.layout], args.tasks[blockIdx.x], selection, args.tables, share);
  }
  const bool pixels = (task.flags & TASK_INTERLEAVED) != 0;
  const u32 unit = max(layout.swap, 1);
  const bool in_units = ((task.dst | layout.row_stride) & (unit - 1)) == 0;
  if (layout.path == PATH_COPY && pixels && in_units) return copy_rows(layout, task, share);
  const bool runs = pixels || layout.column_stride == layout.size;
  const bool whole_order = layout.swap == 0 || layout.swap == layout.size;
  if (layout.path == PATH_PLANES && runs) {
    switch (layout.size) {
      case 2: return place_planes<2>(layout, task, share, stage);
      case 4: return place_planes<4>(layout, task, share, stage);
      case 8: return place_planes<8>(layout, task, share, stage);
    }
  }
  // More samples would name another case.
  if (layout.path <= PATH_SUMS && runs && whole_order && layout.samples <= 4) {
    switch (layout.size * 8 + layout.samples) {
#define STRILE_SUMS(T, S) \
  case T * 8 + S: return place_sums<T, S>(layout, task, selection, share, stage);
      STRILE_SUMS(1, 1)
      STRILE_SUMS(1, 2)
      STRILE_SUMS(1, 3)
      STRILE_SUMS(1, 4)
      STRILE_SUMS(2, 1)
      STRILE_SUMS(2, 2)
      STRILE_SUMS(2, 3)
      STRILE_SUMS(2, 4)
      STRILE_SUMS(4, 1)
      STRILE_SUMS(4, 2)
      STRILE_SUMS(4, 3)
      STRILE_SUMS(4, 4)
#undef STRILE_SUMS
    }
  }
  place_each<false>(layout, task, selection, args.tables, share);
}
