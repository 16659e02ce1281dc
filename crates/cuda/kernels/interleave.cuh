// Pixels of up to four interleaved samples of 1, 2 or 4 bytes, taken apart into a pair of words a sample and
// put together again: 8 bytes of each sample, so 8, 4 or 2 pixels.
#pragma once
#include "prefix.cuh"

// `packed` has 2 * S words, pixel after pixel; `apart[s]` the two words of sample s.
template <u32 T, int S>
DEVICE void take_apart(const u32 (&packed)[2 * S], u32 (&apart)[S][2]) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const u32* in = packed + half * S;
    if constexpr (S == 1) {
      apart[0][half] = in[0];
    } else if constexpr (T == 4) {
#pragma unroll
      for (int s = 0; s < S; s++) apart[s][half] = in[s];
    } else if constexpr (S == 2) {
      apart[0][half] = __byte_perm(in[0], in[1], T == 1 ? 0x6420 : 0x5410);
      apart[1][half] = __byte_perm(in[0], in[1], T == 1 ? 0x7531 : 0x7632);
    } else if constexpr (S == 3 && T == 1) {
      apart[0][half] = __byte_perm(__byte_perm(in[0], in[1], 0x0630), in[2], 0x5210);
      apart[1][half] = __byte_perm(__byte_perm(in[0], in[1], 0x0741), in[2], 0x6210);
      apart[2][half] = __byte_perm(__byte_perm(in[0], in[1], 0x0052), in[2], 0x7410);
    } else if constexpr (S == 3) {
      apart[0][half] = __byte_perm(in[0], in[1], 0x7610);
      apart[1][half] = __byte_perm(in[0], in[2], 0x5432);
      apart[2][half] = __byte_perm(in[1], in[2], 0x7610);
    } else if constexpr (T == 1) {
      u32 a = in[0], b = in[1], c = in[2], d = in[3];
      transpose(a, b, c, d);
      apart[0][half] = a, apart[1][half] = b, apart[2][half] = c, apart[3][half] = d;
    } else {
      apart[0][half] = __byte_perm(in[0], in[2], 0x5410);
      apart[1][half] = __byte_perm(in[0], in[2], 0x7632);
      apart[2][half] = __byte_perm(in[1], in[3], 0x5410);
      apart[3][half] = __byte_perm(in[1], in[3], 0x7632);
    }
  }
}

// The inverse.
template <u32 T, int S>
DEVICE void put_together(const u32 (&apart)[S][2], u32 (&packed)[2 * S]) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    u32* out = packed + half * S;
    if constexpr (S == 1) {
      out[0] = apart[0][half];
    } else if constexpr (T == 4) {
#pragma unroll
      for (int s = 0; s < S; s++) out[s] = apart[s][half];
    } else if constexpr (S == 2) {
      out[0] = __byte_perm(apart[0][half], apart[1][half], T == 1 ? 0x5140 : 0x5410);
      out[1] = __byte_perm(apart[0][half], apart[1][half], T == 1 ? 0x7362 : 0x7632);
    } else if constexpr (S == 3 && T == 1) {
      const u32 a = apart[0][half], b = apart[1][half], c = apart[2][half];
      out[0] = __byte_perm(__byte_perm(a, b, 0x1040), c, 0x3410);
      out[1] = __byte_perm(__byte_perm(b, a, 0x2601), c, 0x3250);
      out[2] = __byte_perm(__byte_perm(a, b, 0x0730), c, 0x7216);
    } else if constexpr (S == 3) {
      const u32 a = apart[0][half], b = apart[1][half], c = apart[2][half];
      out[0] = __byte_perm(a, b, 0x5410);
      out[1] = __byte_perm(a, c, 0x3254);
      out[2] = __byte_perm(b, c, 0x7632);
    } else if constexpr (T == 1) {
      u32 a = apart[0][half], b = apart[1][half], c = apart[2][half], d = apart[3][half];
      transpose(a, b, c, d);
      out[0] = a, out[1] = b, out[2] = c, out[3] = d;
    } else {
      out[0] = __byte_perm(apart[0][half], apart[1][half], 0x5410);
      out[1] = __byte_perm(apart[2][half], apart[3][half], 0x5410);
      out[2] = __byte_perm(apart[0][half], apart[1][half], 0x7632);
      out[3] = __byte_perm(apart[2][half], apart[3][half], 0x7632);
    }
  }
}
