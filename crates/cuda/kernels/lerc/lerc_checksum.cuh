// LERC's Fletcher-32 of everything behind the checksum: bytes are taken in pairs, the first in the higher place; a
// single last byte is the higher one of a final pair. All threads sum lines of 16 bytes: with N pairs, the first sum is
// that of all pairs, the second that of pair i times N - i, both modulo 65535.
#pragma once
#include "lerc/lerc_format.cuh"

namespace lerc {

const u32 MODULUS = 65535;
const u32 SUMMED_FROM = 14;

struct Sums {
  u64 first, second;
};

// Adds a line. `at` is 16 more than the index, within the summed bytes, of the line's first byte. Bytes outside the
// summed ones are 0.
DEVICE void add_line(Sums& sums, const Line& line, u32 at, u32 pairs) {
  // The higher bytes of pairs are at even positions; a pair's number is half its position.
  const u32 odd = at & 1, high = odd ? 0x01000100u : 0x00010001u;
  const u32 steps = odd ? 0x02010100u : 0x01010000u;
  u32 highs = 0, lows = 0, high_steps = 0, low_steps = 0;
#pragma unroll
  for (u32 k = 0; k < 4; ++k) {
    const u32 word = line.words[k], step = steps + 0x02020202u * k;
    const u32 above = word & high * 255, below = word & ~(high * 255);
    highs = dot_bytes(above, 0x01010101u, highs);
    lows = dot_bytes(below, 0x01010101u, lows);
    high_steps = dot_bytes(above, step, high_steps);
    low_steps = dot_bytes(below, step, low_steps);
  }
  const u32 sum = highs * 256 + lows, stepped = high_steps * 256 + low_steps;
  // 8 more pairs, because `at` is 16 more.
  const u32 weight = (pairs + 8 - at / 2) % MODULUS + MODULUS;
  sums.first += sum;
  sums.second += (u64)weight * sum - stepped;
}

// Returns whether the checksum is correct; the same in all threads. `parts` is memory for it.
DEVICE bool is_sum_right(const Blob& blob, u32* parts) {
  const u8* from = blob.src + SUMMED_FROM;
  const u32 len = blob.len - SUMMED_FROM, pairs = (len + 1) / 2, lead = (u32)((u64)from & 15);
  const u8* lines = from - lead;
  Sums sums = {0, 0};
#pragma unroll 1
  for (u32 at = threadIdx.x * LINE; at < lead + len; at += THREADS * LINE) {
    Line line = *(const Line*)(lines + at);
    if (at < lead || at + LINE > lead + len) {
      u8* bytes = (u8*)line.words;
#pragma unroll
      for (u32 i = 0; i < LINE; ++i) {
        if (at + i < lead || at + i >= lead + len) bytes[i] = 0;
      }
    }
    add_line(sums, line, at + 16 - lead, pairs);
  }
  u32 first = (u32)(sums.first % MODULUS), second = (u32)(sums.second % MODULUS);
#pragma unroll
  for (u32 step = 16; step > 0; step >>= 1) {
    first += __shfl_xor_sync(ALL, first, step);
    second += __shfl_xor_sync(ALL, second, step);
  }
  if (threadIdx.x % 32 == 0) {
    parts[threadIdx.x / 32] = first;
    parts[WARPS + threadIdx.x / 32] = second;
  }
  __syncthreads();
  first = second = 0;
  for (u32 w = 0; w < WARPS; ++w) {
    first += parts[w];
    second += parts[WARPS + w];
  }
  __syncthreads();
  first %= MODULUS;
  second %= MODULUS;
  // Sums start at 65535, so a writer never has a 0. With an odd byte it may leave a carry: the host knows these cases.
  if (len % 2 != 0 && (first < 4 || second < 4)) return false;
  const u32 low = first == 0 ? MODULUS : first, high = second == 0 ? MODULUS : second;
  return blob.checksum == (high << 16 | low);
}

}  // namespace lerc
