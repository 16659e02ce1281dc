// Predictor 3 on rows whose order in the image is that of the block: samples of N bytes become N planes of bytes, the
// most significant first, and then differences along all planes of a row.
//
// A lane takes four samples: one word of each plane. Their predecessors are the four samples before; at the beginning
// of a row, for every plane but the first, they are the last four of the row in the previous plane. Needs at most four
// samples per pixel, and rows of a multiple of four samples.
#pragma once
#include "cut/cut_rows.cuh"
#include "prefix.cuh"

// Splits N words of four samples into one word per plane; the inverse of `weave`.
template <int N>
DEVICE void unweave(const u32 (&words)[N], u32 (&planes)[N]) {
  if constexpr (N == 2) {
    planes[0] = __byte_perm(words[0], words[1], 0x7531);
    planes[1] = __byte_perm(words[0], words[1], 0x6420);
  } else if constexpr (N == 4) {
    u32 a = words[0], b = words[1], c = words[2], d = words[3];
    transpose(a, b, c, d);
    planes[3] = a, planes[2] = b, planes[1] = c, planes[0] = d;
  } else {
    u32 a = words[0], b = words[2], c = words[4], d = words[6];
    transpose(a, b, c, d);
    planes[7] = a, planes[6] = b, planes[5] = c, planes[4] = d;
    u32 e = words[1], f = words[3], g = words[5], h = words[7];
    transpose(e, f, g, h);
    planes[3] = e, planes[2] = f, planes[1] = g, planes[0] = h;
  }
}

// The four samples of N bytes at `at`: N words, and one more that is needed to shift them.
template <int N>
DEVICE void load_four(const u8* at, bool aligned, u32 (&words)[N + 1]) {
  if (!aligned) {
    load_any<N>(at, words);
  } else if constexpr (N == 2) {
    const u64 both = *(const u64*)at;
    words[0] = (u32)both, words[1] = (u32)(both >> 32);
  } else {
#pragma unroll
    for (int k = 0; k < N; k += 4) {
      const Quad quad = ((const Quad*)at)[k / 4];
#pragma unroll
      for (int j = 0; j < 4; j++) words[k + j] = quad.word[j];
    }
  }
}

// The same, shifted into place.
template <int N>
DEVICE void take_four(const u8* at, bool aligned, u32 (&loaded)[N + 1], u32 (&words)[N]) {
  if (!aligned) align(at, loaded);
#pragma unroll
  for (int k = 0; k < N; k++) words[k] = loaded[k];
}

// The four samples from sample `i` of row `y` on, loaded one by one.
template <int N>
DEVICE void gather_four(const CutRecipe& recipe, const CutTask& task, u32 y, u32 i, u32 (&words)[N]) {
#pragma unroll 1
  for (u32 j = 0; j < 4; j++) {
    const Number number = load_number(sample_at(recipe, task, y, i + j), N);
#pragma unroll
    for (int k = 0; k < N; k++) {
      const u32 at = j * N / 4;
      if (N == 2 && (u32)k == at) words[k] = j % 2 == 0 ? (u32)number.low : words[k] | (u32)number.low << 16;
      if (N == 4 && (u32)k == at) words[k] = (u32)number.low;
      if (N == 8 && (u32)k == at) words[k] = (u32)number.low;
      if (N == 8 && (u32)k == at + 1) words[k] = (u32)(number.low >> 32);
    }
  }
}

// Writes the differences of four samples after `back` to the planes of a row of `plane` samples.
template <int N>
DEVICE bool write_planes(const Work& work, u32 samples, u32 (&words)[N], u32 (&back)[N], bool begins, u8* to,
                         u32 plane) {
  u32 planes[N], before[N];
  replace_nan<N>(work, words);
  replace_nan<N>(work, back);
  const bool differs = differ(work, words);
  unweave(words, planes);
  unweave(back, before);
#pragma unroll
  for (int p = 0; p < N; p++) {
    const u32 last = !begins ? before[p] : p > 0 ? before[p > 0 ? p - 1 : 0] : 0;
    const u32 shifted = samples == 4 ? last : __funnelshift_l(last, planes[p], 8 * samples);
    *(u32*)(to + (u64)p * plane) = less<1>(planes[p], shifted);
  }
  return differs;
}

template <int N>
DEVICE bool cut_planes(const CutRecipe& recipe, const CutTask& task) {
  const u32 DEEP = N == 8 ? 2 : 4, PIECE = DEEP * CUT_THREADS;
  const Work work = work_of(recipe);
  const u32 samples = recipe.samples, plane = recipe.row_samples;
  const u32 fours = plane / 4, units = task.rows * fours;
  const bool aligned = (task.src | task.row_stride) % (N == 2 ? 8 : 16) == 0;
  const Rows rows = rows_of(task, task.width * samples * N, aligned);
  u8* out = (u8*)task.dst;
  bool differs = false;
#pragma unroll 1
  for (u32 piece = blockIdx.y * PIECE; piece < units; piece += gridDim.y * PIECE) {
    u32 loaded[DEEP][N + 1], loaded_back[DEEP][N + 1], y, i;
    const u32 first = piece + threadIdx.x, last = min(piece + PIECE, units);
    // The first of the four samples before sample `i`.
    const auto before = [&](u32 i) { return i > 0 ? i - 4 : plane - 4; };
    // Finds the row of a unit and its first sample; returns whether its samples and the ones before lie in the image.
    const auto easy = [&](u32 unit, u32& y, u32& i) {
      y = unit / fours;
      i = (unit - y * fours) * 4;
      return unit < units && y < rows.far && (max(i, before(i)) + 4) * N <= rows.inside &&
             loads(rows, row_at(rows, y) + max(i, before(i)) * N, 4 * N);
    };
    bool every = true;
#pragma unroll
    for (u32 k = 0; k < DEEP; k++) {
      if (!easy(first + k * CUT_THREADS, y, i)) continue;
      load_four<N>(row_at(rows, y) + i * N, rows.aligned, loaded[k]);
      load_four<N>(row_at(rows, y) + before(i) * N, rows.aligned, loaded_back[k]);
    }
#pragma unroll
    for (u32 k = 0; k < DEEP; k++) {
      const bool is_easy = easy(first + k * CUT_THREADS, y, i);
      every &= is_easy;
      if (!is_easy) continue;
      u32 words[N], back[N];
      take_four<N>(row_at(rows, y) + i * N, rows.aligned, loaded[k], words);
      take_four<N>(row_at(rows, y) + before(i) * N, rows.aligned, loaded_back[k], back);
      differs |= write_planes<N>(work, samples, words, back, i == 0, out + y * N * plane + i, plane);
    }
    if (every) continue;
#pragma unroll 1
    for (u32 unit = first; unit < last; unit += CUT_THREADS) {
      if (easy(unit, y, i)) continue;
      u8* to = out + y * N * plane + i;
      if (i > 0 && i >= repeats_from(recipe, task, y)) {
        for (u32 p = 0; p < N; p++) *(u32*)(to + p * plane) = 0;
        continue;
      }
      u32 words[N], back[N];
      gather_four<N>(recipe, task, y, i, words);
      gather_four<N>(recipe, task, y, before(i), back);
      differs |= write_planes<N>(work, samples, words, back, i == 0, to, plane);
    }
  }
  clear_tail(task);
  return differs;
}
