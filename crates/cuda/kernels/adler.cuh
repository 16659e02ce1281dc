// Adler-32 (RFC 1950) of output written as lines of 16 bytes: every lane adds up the lines that it writes,
// the warp adds up its lanes once at the end. 64-bit sums need no reduction on the way: an output has at most
// 2^30 bytes, so at most 2^26 lines, each adding less than 2^30 * 2^12 + 2^15.
#pragma once
#include "lines.cuh"

struct AdlerSum {
  u64 bytes;     // sum of d[i]
  u64 weighted;  // sum of i * d[i]
};

// Adds the 16 bytes at offset `at` of the output.
DEVICE void adler_add(AdlerSum& sum, const Line& line, u32 at) {
  // Two 16-bit sums a register: bytes 0 and 2 of a word, bytes 1 and 3.
  u32 pairs = 0, odd = 0, by_word = 0;
#pragma unroll
  for (u32 k = 0; k < 4; ++k) {
    u32 high = line.words[k] >> 8 & 0x00FF00FFu;
    u32 both = (line.words[k] & 0x00FF00FFu) + high;
    pairs += both;
    odd += high;
    by_word += k * both;
  }
  u32 all = (pairs & 0xFFFF) + (pairs >> 16);
  u32 inner = 4 * ((by_word & 0xFFFF) + (by_word >> 16)) + (odd & 0xFFFF) + (odd >> 16) + 2 * (pairs >> 16);
  sum.bytes += all;
  sum.weighted += (u64)at * all + inner;
}

// The checksum of `len` bytes from the sums of all lanes of a warp.
DEVICE u32 adler_value(const AdlerSum& sum, u32 len) {
  const u32 base = 65521;
  u32 bytes = (u32)(sum.bytes % base), weighted = (u32)(sum.weighted % base);
#pragma unroll
  for (u32 step = 16; step > 0; step >>= 1) {
    bytes += __shfl_xor_sync(0xFFFFFFFFu, bytes, step);
    weighted += __shfl_xor_sync(0xFFFFFFFFu, weighted, step);
  }
  u32 a = (1 + bytes) % base;
  // b = len + sum of (len - i) * d[i]
  u32 b = (u32)(((u64)len * a + base - weighted % base) % base);
  return b << 16 | a;
}
