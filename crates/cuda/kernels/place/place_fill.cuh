// Fills rectangles with the fill value.
#pragma once
#include "place/place_abi.h"
#include "place/place_rows.cuh"

const u32 FILL_QUADS = 1024 / 16 + 1;

// Writes `fill`, one sample. `stage` belongs to this warp and has FILL_QUADS entries.
DEVICE void fill_rows(const PlaceLayout& layout, const u8* fill, const PlaceTask& task, const Share& share,
                      u8* stage) {
  const u32 size = layout.size;
  const bool pixels = (task.flags & TASK_INTERLEAVED) != 0;
  if (!pixels && layout.column_stride != size) {
    for (u32 y = share.warp; y < task.height; y += share.warps) {
      for (u32 band = 0; band < task.bands; band++) {
        u8* row = (u8*)task.dst + y * layout.row_stride + band * layout.band_stride;
        for (u32 x = share.lane; x < task.width; x += 32) {
          for (u32 i = 0; i < size; i++) row[x * layout.column_stride + i] = fill[i];
        }
      }
    }
    return;
  }
  for (u32 i = share.lane; i < 1024; i += 32) stage[i] = fill[i & (size - 1)];
  __syncwarp();
  const u32 runs = pixels ? 1 : task.bands;
  const u64 len = (u64)task.width * size * (pixels ? task.bands : 1);
  for (u32 y = share.warp; y < task.height; y += share.warps) {
    for (u32 band = 0; band < runs; band++) {
      u8* row = (u8*)task.dst + y * layout.row_stride + band * layout.band_stride;
      for (u64 at = 0; at < len; at += 1024) {
        write_run(row + at, stage, (u32)min(len - at, (u64)1024), share.lane);
      }
    }
  }
}
