// Processing of sixteen bytes of samples in registers: NaN replacement, comparison with the fill, differences, byte
// order.
//
// Samples of 1 to 16 bytes divide sixteen, so one pattern of sixteen bytes serves all. Loading and storing is left to
// the callers.
#pragma once
#include "cut/cut_sample.cuh"

// Values that are constant for a task.
struct Work {
  Quad fill;
  Quad nan;
  u32 nan_of;
  u32 size;
  u32 low;   // byte order of two words for __byte_perm: selector of the first
  u32 high;  // and of the second
};

DEVICE Work work_of(const CutRecipe& recipe) {
  const u32 swap = recipe.swap;
  Work work;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    work.fill.word[k] = ((const u32*)recipe.fill)[k];
    work.nan.word[k] = ((const u32*)recipe.nan)[k];
  }
  work.nan_of = recipe.nan_of;
  work.size = recipe.size;
  work.low = swap == 8 ? 0x4567 : swap == 4 ? 0x0123 : swap == 2 ? 0x2301 : 0x3210;
  work.high = swap == 8 ? 0x0123 : swap == 4 ? 0x4567 : swap == 2 ? 0x6745 : 0x7654;
  return work;
}

DEVICE bool pair_is_nan(u32 low, u32 high) { return double_is_nan((u64)high << 32 | low); }

// Replaces NaN in N words of samples of T bytes, of any size if T is 0; the first word begins a sample.
template <u32 T, int N>
DEVICE void replace_nan(const Work& work, u32 (&words)[N]) {
  if (T == 1 || work.nan_of == NAN_KEPT) return;
  if (T == 2 || (T == 0 && work.nan_of == NAN_HALF)) {
#pragma unroll
    for (int k = 0; k < N; k++) {
      const u32 fill = work.nan.word[0];
      if ((words[k] & 0x7FFFu) > 0x7C00u) words[k] = __byte_perm(words[k], fill, 0x3254);
      if ((words[k] >> 16 & 0x7FFFu) > 0x7C00u) words[k] = __byte_perm(words[k], fill, 0x7610);
    }
  } else if (T == 4 || (T == 0 && work.size == 4)) {
#pragma unroll
    for (int k = 0; k < N; k++) words[k] = single_is_nan(words[k]) ? work.nan.word[0] : words[k];
  } else if (T == 8 || work.size == 8) {
#pragma unroll
    for (int k = 0; k + 1 < N; k += 2) {
      const u32 a = words[k], b = words[k + 1];
      if (work.nan_of == NAN_SINGLE ? single_is_nan(a) || single_is_nan(b) : pair_is_nan(a, b)) {
        words[k] = work.nan.word[0];
        words[k + 1] = work.nan.word[1];
      }
    }
  } else {
#pragma unroll
    for (int k = 0; k + 3 < N; k += 4) {
      if (pair_is_nan(words[k], words[k + 1]) || pair_is_nan(words[k + 2], words[k + 3])) {
#pragma unroll
        for (int j = 0; j < 4; j++) words[k + j] = work.nan.word[j];
      }
    }
  }
}

// Returns whether any of N words, the first of which begins a sample, differs from the fill.
template <int N>
DEVICE bool differ(const Work& work, const u32 (&words)[N]) {
  u32 bits = 0;
#pragma unroll
  for (int k = 0; k < N; k++) bits |= words[k] ^ work.fill.word[k % 4];
  return bits != 0;
}

// Subtracts `b` from `a`, per sample of T bytes (1, 2 or 4).
template <u32 T>
DEVICE u32 less(u32 a, u32 b) {
  if (T == 4) return a - b;
  const u32 top = T == 1 ? 0x80808080u : 0x80008000u;
  return ((a | top) - (b & ~top)) ^ ((a ^ ~b) & top);
}

// Turns pixels of S samples of T bytes into differences from the previous pixel. `back` holds the words before them;
// its last T * S bytes are that pixel.
template <u32 T, int S, int BACK>
DEVICE void subtract(u32 (&words)[4], const u32 (&back)[BACK]) {
  const int PIXEL = T * S;
  static_assert(BACK == (PIXEL + 3) / 4, "the words of a pixel");
  u32 all[BACK + 4];
#pragma unroll
  for (int k = 0; k < BACK; k++) all[k] = back[k];
#pragma unroll
  for (int k = 0; k < 4; k++) all[BACK + k] = words[k];
  if constexpr (T == 8) {
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
      const u64 before = (u64)all[k + 1] << 32 | all[k], now = (u64)words[k + 1] << 32 | words[k];
      words[k] = (u32)(now - before);
      words[k + 1] = (u32)((now - before) >> 32);
    }
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int at = BACK * 4 + k * 4 - PIXEL;
      const u32 low = all[at / 4], high = all[at / 4 + 1];
      const u32 before = at % 4 == 0 ? low : __funnelshift_r(low, high, at % 4 * 8);
      words[k] = less<T>(words[k], before);
    }
  }
}

// Applies the byte order to N words, an even number.
template <int N>
DEVICE void reorder(const Work& work, u32 (&words)[N]) {
#pragma unroll
  for (int k = 0; k < N; k += 2) {
    const u32 first = words[k];
    words[k] = __byte_perm(first, words[k + 1], work.low);
    words[k + 1] = __byte_perm(first, words[k + 1], work.high);
  }
}
