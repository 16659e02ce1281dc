// Blocks of two to four samples per pixel, of 1, 2 or 4 bytes, from an image with separate bands and no gaps between
// columns; without predictor or with predictor 2.
//
// A lane takes 16 bytes of each band and makes as many packed bytes; those pass through shared memory, so that they are
// written consecutively. The width must be a multiple of the number of pixels in 16 bytes.
#pragma once
#include "cut/cut_rows.cuh"
#include "interleave.cuh"

// Shared memory of a warp.
template <int S>
struct BandQuads {
  static const u32 COUNT = 32 * S + 32 * S / 8;
};

// Index of quad `i` such that neighbouring lanes use different banks.
DEVICE u32 spread(u32 i) { return i + i / 8; }

template <u32 T, int S>
DEVICE bool cut_bands(const CutRecipe& recipe, const CutTask& task, Quad* stage) {
  const u32 lane = threadIdx.x % 32, across = recipe.width * T / 16, units = task.rows * across;
  const Work work = work_of(recipe);
  const u64 band_stride = task.band_stride;
  const Rows rows = rows_of(task, task.width * T, (task.src | task.row_stride | band_stride) % 16 == 0);
  const bool differences = recipe.predictor == 2;
  u8* out = (u8*)task.dst;
  bool differs = false;
#pragma unroll 1
  for (u32 first = blockIdx.y * CUT_THREADS + threadIdx.x - lane; first < units;
       first += gridDim.y * CUT_THREADS) {
    const u32 unit = first + lane, y = unit / across, offset = (unit - y * across) * 16;
    const u8* from = row_at(rows, y) + offset;
    const bool inside = unit < units && y < rows.far && offset + 16 <= rows.inside;
    const bool easy = inside && loads(rows, from + (S - 1) * band_stride, 16);
    if (easy) {
      u32 all[S][6], apart[S][4], packed[4 * S];
#pragma unroll
      for (int s = 0; s < S; s++) {
        const u8* at = from + s * band_stride;
        all[s][0] = 0;
        if (rows.aligned) {
          const Quad quad = *(const Quad*)at;
#pragma unroll
          for (int k = 0; k < 4; k++) all[s][k + 1] = quad.word[k];
          if (differences && offset != 0) all[s][0] = ((const u32*)at)[-1];
        } else {
          const u32* base = (const u32*)(at - misalignment(at, 4));
#pragma unroll
          for (int k = 0; k < 5; k++) all[s][k + 1] = base[k];
          if (differences && offset != 0) all[s][0] = base[-1];
        }
      }
#pragma unroll
      for (int s = 0; s < S; s++) {
        if (!rows.aligned) align(from + s * band_stride, all[s]);
        u32 back[1] = {differences && offset != 0 ? all[s][0] : 0};
#pragma unroll
        for (int k = 0; k < 4; k++) apart[s][k] = all[s][k + 1];
        replace_nan<T>(work, apart[s]);
        differs |= differ(work, apart[s]);
        if (differences) {
          replace_nan<T>(work, back);
          subtract<T, 1>(apart[s], back);
        }
        reorder(work, apart[s]);
      }
      put_together<T, S>(apart, packed);
#pragma unroll
      for (int s = 0; s < S; s++) {
        const u32* quad = packed + 4 * s;
        stage[spread(lane * S + s)] = {quad[0], quad[1], quad[2], quad[3]};
      }
    }
    const u32 made = __ballot_sync(0xFFFFFFFFu, easy);
#pragma unroll
    for (u32 s = 0; s < S; s++) {
      const u32 i = s * 32 + lane;
      if (made >> i / S & 1) *(Quad*)(out + (u64)(first * S + i) * 16) = stage[spread(i)];
    }
    __syncwarp();
    if (easy || unit >= units) continue;
#pragma unroll 1
    for (u32 s = 0; s < S; s++) {
      const u32 at = (unit * S + s) * 16;
      *(Quad*)(out + at) = packed_samples(recipe, task, at, differs);
    }
  }
  return differs;
}
