// Splits pixels of up to four interleaved samples of 1, 2 or 4 bytes into four words per sample, and joins them again:
// 16 bytes per sample, so 16, 8 or 4 pixels.
#pragma once
#include "prefix.cuh"

// `packed` has 4 * S words, pixel by pixel; `apart[s]` the four words of sample s.
template <u32 T, int S>
DEVICE void take_apart(const u32 (&packed)[4 * S], u32 (&apart)[S][4]) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const u32* in = packed + k * S;
    if constexpr (S == 1) {
      apart[0][k] = in[0];
    } else if constexpr (T == 4) {
#pragma unroll
      for (int s = 0; s < S; s++) apart[s][k] = in[s];
    } else if constexpr (S == 2) {
      apart[0][k] = __byte_perm(in[0], in[1], T == 1 ? 0x6420 : 0x5410);
      apart[1][k] = __byte_perm(in[0], in[1], T == 1 ? 0x7531 : 0x7632);
    } else if constexpr (S == 3 && T == 1) {
      apart[0][k] = __byte_perm(__byte_perm(in[0], in[1], 0x0630), in[2], 0x5210);
      apart[1][k] = __byte_perm(__byte_perm(in[0], in[1], 0x0741), in[2], 0x6210);
      apart[2][k] = __byte_perm(__byte_perm(in[0], in[1], 0x0052), in[2], 0x7410);
    } else if constexpr (S == 3) {
      apart[0][k] = __byte_perm(in[0], in[1], 0x7610);
      apart[1][k] = __byte_perm(in[0], in[2], 0x5432);
      apart[2][k] = __byte_perm(in[1], in[2], 0x7610);
    } else if constexpr (T == 1) {
      u32 a = in[0], b = in[1], c = in[2], d = in[3];
      transpose(a, b, c, d);
      apart[0][k] = a, apart[1][k] = b, apart[2][k] = c, apart[3][k] = d;
    } else {
      apart[0][k] = __byte_perm(in[0], in[2], 0x5410);
      apart[1][k] = __byte_perm(in[0], in[2], 0x7632);
      apart[2][k] = __byte_perm(in[1], in[3], 0x5410);
      apart[3][k] = __byte_perm(in[1], in[3], 0x7632);
    }
  }
}

// The inverse.
template <u32 T, int S>
DEVICE void put_together(const u32 (&apart)[S][4], u32 (&packed)[4 * S]) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    u32* out = packed + k * S;
    if constexpr (S == 1) {
      out[0] = apart[0][k];
    } else if constexpr (T == 4) {
#pragma unroll
      for (int s = 0; s < S; s++) out[s] = apart[s][k];
    } else if constexpr (S == 2) {
      out[0] = __byte_perm(apart[0][k], apart[1][k], T == 1 ? 0x5140 : 0x5410);
      out[1] = __byte_perm(apart[0][k], apart[1][k], T == 1 ? 0x7362 : 0x7632);
    } else if constexpr (S == 3 && T == 1) {
      const u32 a = apart[0][k], b = apart[1][k], c = apart[2][k];
      out[0] = __byte_perm(__byte_perm(a, b, 0x1040), c, 0x3410);
      out[1] = __byte_perm(__byte_perm(b, a, 0x2601), c, 0x3250);
      out[2] = __byte_perm(__byte_perm(a, b, 0x0730), c, 0x7216);
    } else if constexpr (S == 3) {
      const u32 a = apart[0][k], b = apart[1][k], c = apart[2][k];
      out[0] = __byte_perm(a, b, 0x5410);
      out[1] = __byte_perm(a, c, 0x3254);
      out[2] = __byte_perm(b, c, 0x7632);
    } else if constexpr (T == 1) {
      u32 a = apart[0][k], b = apart[1][k], c = apart[2][k], d = apart[3][k];
      transpose(a, b, c, d);
      out[0] = a, out[1] = b, out[2] = c, out[3] = d;
    } else {
      out[0] = __byte_perm(apart[0][k], apart[1][k], 0x5410);
      out[1] = __byte_perm(apart[2][k], apart[3][k], 0x5410);
      out[2] = __byte_perm(apart[0][k], apart[1][k], 0x7632);
      out[3] = __byte_perm(apart[2][k], apart[3][k], 0x7632);
    }
  }
}
