// match(p) of `portable/spec.md` for the effort without chains. There are only two distances, so one bit per position
// and distance tells whether its byte equals the one that far before, and a match is a run of ones. A CUDA block takes
// its share at once.
#pragma once
#include "matches/match_abi.h"
#include "matches/match_bytes.cuh"

constexpr u32 RUNS_THREADS = 256;
// Words of bits of a share, including the reach of a match at its end.
constexpr u32 RUN_WORDS = (SEARCHED + MOST + 31) / 32;

struct RunBits {
  u32 near[RUN_WORDS];  // equal to the previous byte
  u32 far[RUN_WORDS];   // equal to that of the previous pixel
};

// Fills the bits of the positions from `start` on; past the block they are 0.
DEVICE void find_equal(RunBits& bits, const u8* bytes, u32 start, u32 len, u32 unit) {
  const u32 lane = threadIdx.x & 31;
#pragma unroll 4
  for (u32 word = threadIdx.x / 32; word < RUN_WORDS; word += RUNS_THREADS / 32) {
    const u32 p = start + word * 32 + lane;
    const u32 byte = p < len ? bytes[p] : 256;
    const u32 near = __ballot_sync(ALL_LANES, p >= 1 && byte < 256 && bytes[p - 1] == byte);
    const u32 far = __ballot_sync(ALL_LANES, p >= unit && byte < 256 && bytes[p - unit] == byte);
    if (lane == 0) {
      bits.near[word] = near;
      bits.far[word] = far;
    }
  }
}

// The number of consecutive ones from `at` on, at most `most`.
DEVICE u32 ones_at(const u32* bits, u32 at, u32 most) {
  u32 word = at / 32, n = 32 - (at & 31);
  u32 zeros = ~bits[word] >> (at & 31);
  if (zeros != 0) return min((u32)__ffs((int)zeros) - 1, most);
#pragma unroll 1
  while (n < most) {
    zeros = ~bits[++word];
    if (zeros != 0) return min(n + (u32)__ffs((int)zeros) - 1, most);
    n += 32;
  }
  return most;
}

DEVICE void runs_of_share(RunBits& bits, const EncodeArgs& args, const EncodeBlock& block,
                          const Share& share) {
  const bool pixels = block.unit > 1 && block.unit <= WINDOW;
  find_equal(bits, args.packed + block.src, share.start, block.len, pixels ? block.unit : 1);
  __syncthreads();
  u32* matches = match_scratch(args, block).matches;
#pragma unroll 2
  for (u32 p = share.start + threadIdx.x; p < share.end; p += RUNS_THREADS) {
    const u32 most = min(MOST, min(block.len, (p / PART + 1) * PART) - p);
    u32 length = ones_at(bits.near, p - share.start, most), distance = 1;
    if (pixels && length < min(args.nice, most)) {
      const u32 other = ones_at(bits.far, p - share.start, most);
      if (other > length) {
        length = other;
        distance = block.unit;
      }
    }
    matches[p] = length < LEAST ? 0 : distance | length << MATCH_LENGTH_SHIFT;
  }
}
