// Running sums of small integers, several per 32-bit word, and over the lanes of a warp.
//
// Bytes are summed in pairs in the halves of a word: sums of a few bytes never reach the other half, and bits above the
// low byte of a half are dropped at the end. 16-bit samples keep the bits above them until they are joined.
#pragma once
#include "device.h"

const u32 EVEN_BYTES = 0x00FF00FFu;
const u32 ONES = 0x01010101u;

// Selects by `half` one of the two bytes of `sums`, the low ones of its halves, and returns it in both halves.
DEVICE u32 in_both(u32 sums, u32 half) { return __byte_perm(sums, 0, half == 0 ? 0x4040 : 0x4242); }

// The running sums of the four bytes of a word after `before`, which has a byte in each half; sets `before` to the last
// sum in both halves.
DEVICE u32 byte_sums(u32 word, u32& before) {
  const u32 odd = __byte_perm(word, 0, 0x4341), pairs = (word & EVEN_BYTES) + odd;
  const u32 odd_sums = pairs * 0x10001u + before;  // bytes 0 + 1 in the low half, all four in the high one
  before = in_both(odd_sums, 1);
  return __byte_perm(odd_sums - odd, odd_sums, 0x6240);
}

// Sum of the samples of T bytes in four words. Bits above T bytes have no meaning, except for bytes, where they belong
// to the sum, which is less than 2^12.
template <u32 T>
DEVICE u32 lane_total(const u32 (&words)[4]) {
  u32 total = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (T == 1) total = dot_bytes(words[k], ONES, total);
    if (T == 2) total += words[k] + (words[k] >> 16);
    if (T == 4) total += words[k];
  }
  return total;
}

// Running sums of the samples of T bytes in four words, after `before`; bytes: one in each half.
template <u32 T>
DEVICE void lane_sums(u32 (&words)[4], u32 before) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (T == 1) {
      words[k] = byte_sums(words[k], before);
    } else if (T == 2) {
      const u32 first = before + words[k];
      before = first + (words[k] >> 16);
      words[k] = __byte_perm(first, before, 0x5410);
    } else {
      before += words[k];
      words[k] = before;
    }
  }
}

// Inclusive sums over the lanes of a warp, or over each of its segments of `lanes`, for N numbers at once.
template <class Number, int N>
DEVICE void warp_sums(Number (&numbers)[N], u32 lane, u32 lanes = 32) {
  const u32 within = lane & (lanes - 1);
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
#pragma unroll
    for (int k = 0; k < N; k++) {
      const Number before = __shfl_up_sync(0xFFFFFFFFu, numbers[k], step, (int)lanes);
      if (within >= step) numbers[k] += before;
    }
  }
}

// Transposes four words of four bytes; its own inverse.
DEVICE void transpose(u32& a, u32& b, u32& c, u32& d) {
  const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
  const u32 ef = __byte_perm(a, b, 0x7362), gh = __byte_perm(c, d, 0x7362);
  a = __byte_perm(ab, cd, 0x5410);
  b = __byte_perm(ab, cd, 0x7632);
  c = __byte_perm(ef, gh, 0x5410);
  d = __byte_perm(ef, gh, 0x7632);
}
