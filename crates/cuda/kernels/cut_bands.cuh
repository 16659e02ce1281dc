// Blocks of two to four samples a pixel, of 1, 2 or 4 bytes, out of an image that holds bands without gaps between
// columns; without predictor or with predictor 2.
//
// A lane takes 16 bytes of each band, which become as many packed bytes; those pass through shared memory, so that they
// are written one after the other. Needs a width that is a multiple of the pixels of 16 bytes.
#pragma once
#include "cut_rows.cuh"
#include "interleave.cuh"

// What a warp needs of shared memory.
template <int S>
struct BandQuads {
  static const u32 COUNT = 32 * S + 32 * S / 8;
};

// A place for quad `i` so that those of neighbouring lanes are in different banks.
DEVICE u32 spread(u32 i) { return i + i / 8; }

template <u32 T, int S>
DEVICE bool cut_bands(const CutRecipe& recipe, const CutTask& task, Quad* stage) {
  const u32 lane = threadIdx.x % 32;
  const Work work = work_of(recipe);
  const Rows rows = rows_of(task, task.width * T);
  const u32 across = recipe.width * T / 16, units = task.rows * across;
  const u64 band_stride = task.band_stride;
  u8* out = (u8*)task.dst;
  const bool aligned = (task.src | task.row_stride | band_stride) % 16 == 0, differences = recipe.predictor == 2;
  bool differs = false;
#pragma unroll 1
  for (u32 first = blockIdx.y * CUT_THREADS + threadIdx.x - lane; first < units; first += gridDim.y * CUT_THREADS) {
    const u32 unit = first + lane, y = unit / across, offset = (unit - y * across) * 16;
    const bool easy = unit < units && y < rows.far && offset + 16 <= rows.inside;
    u32 apart[S][4], packed[4 * S], back[S][1];
    if (easy) {
      const u8* from = row_at(rows, y) + offset;
      const bool begins = !differences || offset == 0;
#pragma unroll
      for (int s = 0; s < S; s++) {
        const u8* at = from + s * band_stride;
        const Quad quad = aligned ? *(const Quad*)at : load_quad(at, rows.end);
#pragma unroll
        for (int k = 0; k < 4; k++) apart[s][k] = quad.word[k];
        back[s][0] = 0;
        if (!begins && aligned) back[s][0] = ((const u32*)at)[-1];
        if (!begins && !aligned) load_words<u32, 1>(at - 4, rows.end, back[s]);
      }
#pragma unroll
      for (int s = 0; s < S; s++) {
        replace_nan(work, apart[s]);
        differs |= differ(work, apart[s]);
        if (differences) {
          replace_nan(work, back[s]);
          subtract<T, 1>(apart[s], back[s]);
        }
        reorder(work, apart[s]);
      }
      put_together<T, S>(apart, packed);
#pragma unroll
      for (int s = 0; s < S; s++) {
        stage[spread(lane * S + s)] = {packed[4 * s], packed[4 * s + 1], packed[4 * s + 2], packed[4 * s + 3]};
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
