// Adler-32 (RFC 1950) of output written as lines of 16 bytes. Every lane sums the lines that it writes; the warp adds
// up its lanes once at the end. 64-bit sums need no intermediate reduction: an output has at most 2^30 bytes, so at
// most 2^26 lines, each adding less than 2^30 * 2^12 + 2^15.
#pragma once
#include "lines.cuh"

struct AdlerSum {
  u64 bytes;     // sum of d[i]
  u64 weighted;  // sum of i * d[i]
};

// Adds the 16 bytes at offset `at` of the output.
DEVICE void adler_add(AdlerSum& sum, const Line& line, u32 at) {
  u32 all = 0, inner = 0;
#pragma unroll
  for (u32 k = 0; k < 4; ++k) {
    all = dot_bytes(line.words[k], 0x01010101u, all);
    inner = dot_bytes(line.words[k], 0x03020100u + k * 0x04040404u, inner);
  }
  sum.bytes += all;
  sum.weighted += (u64)at * all + inner;
}

// The combined sums of a warp's lanes.
struct AdlerPart {
  u32 bytes, weighted;
};

DEVICE AdlerPart adler_part(const AdlerSum& sum) {
  const u32 base = 65521;
  u32 bytes = (u32)(sum.bytes % base), weighted = (u32)(sum.weighted % base);
#pragma unroll
  for (u32 step = 16; step > 0; step >>= 1) {
    bytes += __shfl_xor_sync(0xFFFFFFFFu, bytes, step);
    weighted += __shfl_xor_sync(0xFFFFFFFFu, weighted, step);
  }
  return {bytes, weighted};
}

// Checksum of `len` bytes from the summed parts of all warps, at most 16.
DEVICE u32 adler_join(AdlerPart all, u32 len) {
  const u32 base = 65521;
  u32 a = (1 + all.bytes) % base;
  // b = len + sum of (len - i) * d[i]
  u32 b = (u32)(((u64)len * a + base - all.weighted % base) % base);
  return b << 16 | a;
}

// Checksum of `len` bytes from the sums of all lanes of a warp.
DEVICE u32 adler_value(const AdlerSum& sum, u32 len) { return adler_join(adler_part(sum), len); }
