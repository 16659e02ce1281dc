// Rows that lie in the image as the block wants them, pixel after pixel: without predictor of any bytes, with predictor 2
// of one to four samples of 1, 2 or 4 bytes, or one of 8.
//
// A lane makes 16 packed bytes at a multiple of 16 of the output, DEEP of them under way at a time. Those that do not come
// from one row of the image are made sample by sample.
#pragma once
#include "cut_quad.cuh"

const u32 CUT_THREADS = 128;

// The rows of the image that a task needs, in registers.
struct Rows {
  const u8* src;
  const u8* end;
  u64 stride;
  u32 last;    // row of the image
  u32 far;     // row of the block that is not in the image, nor near it
  u32 inside;  // bytes of a row, or samples, that the image has
};

DEVICE Rows rows_of(const CutTask& task, u32 inside) {
  return {(const u8*)task.src, (const u8*)task.end, task.row_stride, task.height - 1, far_row(task), inside};
}

DEVICE const u8* row_at(const Rows& rows, u32 y) { return rows.src + min(y, rows.last) * rows.stride; }

// Where 16 packed bytes come from.
struct Origin {
  const u8* from;
  u32 offset;  // in the row
  bool easy;   // from bytes of the image one after the other, and after as many as `need` of the same row, or none
};

DEVICE Origin origin_of(const Rows& rows, u32 row_len, u32 len, u32 at, u32 need) {
  const u32 y = at / row_len, offset = at - y * row_len;
  const bool easy = at < len && y < rows.far && offset + 16 <= rows.inside && (offset == 0 || offset >= need);
  return {row_at(rows, y) + offset, offset, easy};
}

// Packed bytes of one task; DIFFERENCES tells predictor 2.
template <u32 T, int S, bool DIFFERENCES>
DEVICE bool cut_rows(const CutRecipe& recipe, const CutTask& task) {
  const u32 DEEP = T * S > 8 ? 2 : 4, STEP = CUT_THREADS * 16, PIECE = DEEP * STEP;
  const int BACK = DIFFERENCES ? (T * S + 3) / 4 : 1;
  const Work work = work_of(recipe);
  const Rows rows = rows_of(task, task.width * recipe.samples * recipe.size);
  const u32 row_len = recipe.row_len, len = task.len, need = DIFFERENCES ? 4 * BACK : 0;
  u8* out = (u8*)task.dst;
  const bool aligned = (task.src | task.row_stride | row_len) % 16 == 0;
  bool differs = false;
#pragma unroll 1
  for (u32 piece = blockIdx.y * PIECE; piece < len; piece += gridDim.y * PIECE) {
    u32 words[DEEP][4], back[DEEP][BACK];
    bool easy[DEEP], all = true;
    const u32 first = piece + threadIdx.x * 16;
    if (aligned) {
#pragma unroll
      for (u32 i = 0; i < DEEP; i++) {
        const Origin origin = origin_of(rows, row_len, len, first + i * STEP, need);
        easy[i] = origin.easy;
        if (!easy[i]) continue;
        const Quad quad = *(const Quad*)origin.from;
#pragma unroll
        for (int k = 0; k < 4; k++) words[i][k] = quad.word[k];
#pragma unroll
        for (int k = 0; k < BACK && DIFFERENCES; k++) {
          back[i][k] = origin.offset == 0 ? 0 : ((const u32*)origin.from)[k - BACK];
        }
      }
    } else {
      u32 raw[DEEP][5], skip[DEEP];
#pragma unroll
      for (u32 i = 0; i < DEEP; i++) {
        const Origin origin = origin_of(rows, row_len, len, first + i * STEP, need);
        easy[i] = origin.easy;
        skip[i] = misalignment(origin.from, 4) * 8;
        if (easy[i]) load_raw(origin.from, rows.end, raw[i]);
        if (!easy[i] || !DIFFERENCES) continue;
#pragma unroll
        for (int k = 0; k < BACK; k++) back[i][k] = 0;
        if (origin.offset != 0) load_words<u32, BACK>(origin.from - 4 * BACK, rows.end, back[i]);
      }
#pragma unroll
      for (u32 i = 0; i < DEEP; i++) {
        if (!easy[i]) continue;
#pragma unroll
        for (int k = 0; k < 4; k++) words[i][k] = __funnelshift_r(raw[i][k], raw[i][k + 1], skip[i]);
      }
    }
#pragma unroll
    for (u32 i = 0; i < DEEP; i++) {
      all &= easy[i];
      if (!easy[i]) continue;
      replace_nan(work, words[i]);
      differs |= differ(work, words[i]);
      if constexpr (DIFFERENCES) {
        replace_nan(work, back[i]);
        subtract<T, S>(words[i], back[i]);
      }
      reorder(work, words[i]);
      *(Quad*)(out + first + i * STEP) = {words[i][0], words[i][1], words[i][2], words[i][3]};
    }
    if (all) continue;
#pragma unroll 1
    for (u32 at = first; at < min(piece + PIECE, len); at += STEP) {
      if (origin_of(rows, row_len, len, at, need).easy) continue;
      *(Quad*)(out + at) = packed_samples(recipe, task, at, differs);
    }
  }
  return differs;
}
