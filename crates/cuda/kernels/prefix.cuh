// Running sums of small integers, several in a 32-bit word, and over the lanes of a warp.
//
// Bytes are summed two by two in halves of a word: sums of a few bytes never reach the other half, and what
// is above the low byte of a half is dropped at the end. Samples of 16 bits keep what is above them until
// they are joined.
#pragma once
#include "device.h"

const u32 EVEN_BYTES = 0x00FF00FFu;

// The sum of the four bytes of a word, modulo 256.
DEVICE u32 byte_total(u32 word) {
  const u32 pairs = (word & EVEN_BYTES) + (word >> 8 & EVEN_BYTES);
  return (pairs + (pairs >> 16)) & 0xFF;
}

// The running sums of the four bytes of a word after `before`, which has a byte in each half; then `before`
// is the last sum in both halves.
DEVICE u32 byte_sums(u32 word, u32& before) {
  const u32 odd = word >> 8 & EVEN_BYTES, pairs = (word & EVEN_BYTES) + odd;
  const u32 odd_sums = pairs * 0x10001u + before;  // bytes 0 + 1 in the low half, all four in the high one
  before = __byte_perm(odd_sums, 0, 0x4242);
  return __byte_perm(odd_sums - odd, odd_sums, 0x6240);
}

// Sum of the samples of T bytes in two words; what is above T bytes means nothing, but for bytes, where it is
// 0.
template <u32 T>
DEVICE u32 lane_total(u32 low, u32 high) {
  if (T == 1) {
    const u32 even = (low & EVEN_BYTES) + (high & EVEN_BYTES);
    const u32 pairs = even + (low >> 8 & EVEN_BYTES) + (high >> 8 & EVEN_BYTES);
    return (pairs + (pairs >> 16)) & 0xFF;
  }
  if (T == 2) return low + (low >> 16) + high + (high >> 16);
  return low + high;
}

// Running sums of the samples of T bytes in two words, after `before`.
template <u32 T>
DEVICE void lane_sums(u32& low, u32& high, u32 before) {
  if (T == 1) {
    before = (before & 0xFF) * 0x10001u;
    low = byte_sums(low, before);
    high = byte_sums(high, before);
  } else if (T == 2) {
    const u32 a = before + low, b = a + (low >> 16), c = b + high, d = c + (high >> 16);
    low = __byte_perm(a, b, 0x5410);
    high = __byte_perm(c, d, 0x5410);
  } else {
    low += before;
    high += low;
  }
}

// Inclusive sums over the lanes of a warp, of N numbers at once.
template <class Number, int N>
DEVICE void warp_sums(Number (&numbers)[N], u32 lane) {
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
#pragma unroll
    for (int k = 0; k < N; k++) {
      const Number before = __shfl_up_sync(0xFFFFFFFFu, numbers[k], step);
      if (lane >= step) numbers[k] += before;
    }
  }
}

// Four words of four bytes, transposed; its own inverse.
DEVICE void transpose(u32& a, u32& b, u32& c, u32& d) {
  const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
  const u32 ef = __byte_perm(a, b, 0x7362), gh = __byte_perm(c, d, 0x7362);
  a = __byte_perm(ab, cd, 0x5410);
  b = __byte_perm(ab, cd, 0x7632);
  c = __byte_perm(ef, gh, 0x5410);
  d = __byte_perm(ef, gh, 0x7632);
}
