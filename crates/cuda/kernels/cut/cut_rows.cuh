// Rows whose pixels lie in the image in the block's order: any bytes without predictor, or predictor 2 with one to four
// samples of 1, 2 or 4 bytes, or one of 8.
//
// A lane makes 16 packed bytes at a multiple of 16 of the output, DEEP such units in flight. Units that do not come
// from a single row of the image are made sample by sample.
#pragma once
#include "cut/cut_quad.cuh"

const u32 CUT_THREADS = 128;

// For variants that do not write 16 bytes at a time: sets the rest of the last 16 bytes to 0.
DEVICE void clear_tail(const CutTask& task) {
  const u64 at = (u64)task.len + threadIdx.x;
  if (blockIdx.y == 0 && at < ((u64)task.len + 15) / 16 * 16) ((u8*)task.dst)[at] = 0;
}

// Image rows of a task, in registers.
struct Rows {
  const u8* src;
  const u8* end;
  u64 stride;
  u32 last;      // last row of the image
  u32 far;       // first row of the block that is beyond the image and its repeated rows
  u32 inside;    // bytes of a row that lie in the image
  bool aligned;  // loads are aligned to their size
};

DEVICE Rows rows_of(const CutTask& task, u32 inside, bool aligned) {
  const u8 *src = (const u8*)task.src, *end = (const u8*)task.end;
  return {src, end, task.row_stride, task.height - 1, far_row(task), inside, aligned};
}

DEVICE const u8* row_at(const Rows& rows, u32 y) { return rows.src + min(y, rows.last) * rows.stride; }

// Returns whether `len` bytes from `from` on may be loaded as words that hold one of them or lie directly behind.
DEVICE bool loads(const Rows& rows, const u8* from, u32 len) {
  return rows.aligned || from + len + 4 <= rows.end;
}

// Loads the N words from `at` on, at any alignment; reads up to four bytes more.
template <int N>
DEVICE void load_any(const u8* at, u32 (&words)[N + 1]) {
  const u32* base = (const u32*)(at - misalignment(at, 4));
#pragma unroll
  for (int k = 0; k <= N; k++) words[k] = base[k];
}

// Shifts the result of load_any into place; the last word is then meaningless.
template <int N>
DEVICE void align(const u8* at, u32 (&words)[N]) {
  const u32 skip = misalignment(at, 4) * 8;
#pragma unroll
  for (int k = 0; k + 1 < N; k++) words[k] = __funnelshift_r(words[k], words[k + 1], skip);
}

// Source of 16 packed bytes.
struct Origin {
  const u8* from;
  u32 offset;  // offset in the row
  bool easy;   // consecutive bytes of the image, preceded by at least `need` bytes of its row, or by none
};

DEVICE Origin origin_of(const Rows& rows, u32 row_len, u32 len, u32 at, u32 need) {
  const u32 y = at / row_len, offset = at - y * row_len;
  const u8* from = row_at(rows, y) + offset;
  const bool inside = at < len && y < rows.far && offset + 16 <= rows.inside;
  return {from, offset, inside && (offset == 0 || offset >= need) && loads(rows, from, 16)};
}

// Packed bytes of one task. T is 0 without predictor; else a pixel is S samples of T bytes.
template <u32 T, int S>
DEVICE bool cut_rows(const CutRecipe& recipe, const CutTask& task) {
  const u32 DEEP = T * S > 8 ? 2 : 4, STEP = CUT_THREADS * 16, PIECE = DEEP * STEP;
  const int BACK = (T * S + 3) / 4;
  const Work work = work_of(recipe);
  const u32 row_len = recipe.row_len, len = task.len;
  const Rows rows = rows_of(task, task.width * recipe.samples * recipe.size,
                            (task.src | task.row_stride | row_len) % 16 == 0);
  u8* out = (u8*)task.dst;
  bool differs = false;
#pragma unroll 1
  for (u32 piece = blockIdx.y * PIECE; piece < len; piece += gridDim.y * PIECE) {
    // For each: the words of the previous pixel, its own, and one that is needed to shift them.
    u32 all[DEEP][BACK + 5];
    bool easy[DEEP], every = true;
    const u32 first = piece + threadIdx.x * 16;
#pragma unroll
    for (u32 i = 0; i < DEEP; i++) {
      const Origin origin = origin_of(rows, row_len, len, first + i * STEP, 4 * BACK);
      easy[i] = origin.easy;
      if (!easy[i]) continue;
      if (rows.aligned) {
        const Quad quad = *(const Quad*)origin.from;
#pragma unroll
        for (int k = 0; k < 4; k++) all[i][BACK + k] = quad.word[k];
#pragma unroll
        for (int k = 0; k < BACK; k++) {
          all[i][k] = origin.offset == 0 ? 0 : ((const u32*)origin.from)[k - BACK];
        }
      } else if (origin.offset != 0) {
        load_any<BACK + 4>(origin.from - 4 * BACK, all[i]);
      } else {
        u32 own[5];
        load_any<4>(origin.from, own);
#pragma unroll
        for (int k = 0; k < BACK + 5; k++) all[i][k] = k < BACK ? 0 : own[k < BACK ? 0 : k - BACK];
      }
    }
#pragma unroll
    for (u32 i = 0; i < DEEP; i++) {
      every &= easy[i];
      if (!easy[i]) continue;
      const u32 at = first + i * STEP;
      if (!rows.aligned) {
        const Origin origin = origin_of(rows, row_len, len, at, 4 * BACK);
        align(origin.from, all[i]);
        // Bytes before the row do not belong to it.
#pragma unroll
        for (int k = 0; k < BACK; k++) all[i][k] = origin.offset == 0 ? 0 : all[i][k];
      }
      u32 words[4];
#pragma unroll
      for (int k = 0; k < 4; k++) words[k] = all[i][BACK + k];
      replace_nan<T>(work, words);
      differs |= differ(work, words);
      if constexpr (T > 0) {
        u32 back[BACK];
#pragma unroll
        for (int k = 0; k < BACK; k++) back[k] = all[i][k];
        replace_nan<T>(work, back);
        subtract<T, S>(words, back);
      }
      reorder(work, words);
      *(Quad*)(out + at) = {words[0], words[1], words[2], words[3]};
    }
    if (every) continue;
#pragma unroll 1
    for (u32 at = first; at < min(piece + PIECE, len); at += STEP) {
      if (origin_of(rows, row_len, len, at, 4 * BACK).easy) continue;
      *(Quad*)(out + at) = packed_samples(recipe, task, at, differs);
    }
  }
  return differs;
}
