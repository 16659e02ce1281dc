// A single token that is too long for a window, or invalid. All warps read it redundantly with the same result; the
// whole CUDA block copies its bytes, so that incompressible data are copied at the speed of memory.
#pragma once
#include "copy.cuh"
#include "lz4/lz4_list.cuh"

namespace lz4 {

// Reads the rest of a length whose four bits are 15, 32 bytes at a time; returns false if it does not end before the
// input does.
DEVICE bool rest_of_length(const Walk& walk, u32& at, u32& length) {
  const u32 lane = threadIdx.x % 32;
  while (at < walk.stop && length < 0x40000000u) {
    const u32 more = walk.stop - at > lane ? walk.src[at + lane] : 0;
    const u32 ends = __ballot_sync(0xFFFFFFFFu, more != 255);
    const u32 full = ends == 0 ? 32 : __ffs(ends) - 1;
    length += 255 * full;
    at += full;
    if (ends == 0) continue;
    length += __shfl_sync(0xFFFFFFFFu, more, full);
    return at++ < walk.stop;
  }
  return false;
}

// Copies a match that starts at `at`, one word per thread. Bytes are taken from whole periods before it, so that no
// thread waits.
template <u32 THREADS>
DEVICE void copy_match(u8* dst, u32 at, u32 length, u32 offset) {
  const u32 end = at + length, period = at - offset;
#pragma unroll 1
  for (u32 first = (at & ~3u) + 4 * threadIdx.x; first < end; first += 4 * THREADS) {
    u32 phase = max(first, at) - at;
    if (phase >= offset) phase %= offset;
    u32 word = 0;
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      if (first + j < at) continue;
      word |= (u32)dst[period + phase] << 8 * j;
      phase = phase + 1 == offset ? 0 : phase + 1;
    }
    if (first >= at && first + 4 <= end) {
      *(u32*)(dst + first) = word;
    } else {
      for (u32 j = 0; j < 4; ++j) {
        if (first + j >= at && first + j < end) dst[first + j] = (u8)(word >> 8 * j);
      }
    }
  }
  __syncthreads();
}

// Takes one token; returns false for a fault. `ended`: it was the last.
template <u32 THREADS>
DEVICE bool take_alone(Walk& walk, bool& ended) {
  if (walk.at >= walk.stop) return false;
  const u32 token = walk.src[walk.at++];
  u32 count = token >> 4;
  if (count == 15 && !rest_of_length(walk, walk.at, count)) return false;
  if (count > walk.stop - walk.at || count > walk.limit - walk.output) return false;
  copy_bytes<THREADS>(walk.dst + walk.output, walk.src + walk.at, count, threadIdx.x);
  walk.at += count;
  walk.output += count;
  ended = walk.at == walk.stop;
  if (ended) return true;
  if (walk.stop - walk.at < 2) return false;
  const u32 offset = (u32)walk.src[walk.at] | (u32)walk.src[walk.at + 1] << 8;
  walk.at += 2;
  u32 length = token & 15;
  if (length == 15 && !rest_of_length(walk, walk.at, length)) return false;
  length += 4;
  if (offset == 0 || offset > walk.output - walk.floor || length > walk.limit - walk.output) return false;
  copy_match<THREADS>(walk.dst, walk.output, length, offset);
  walk.output += length;
  return true;
}

}  // namespace lz4
