// Copies bytes with a group of threads. Each aligned output word is made from the two input words that it straddles.
#pragma once
#include "group.cuh"

// Copies `len` bytes; the ranges must not overlap. Reads up to seven bytes around the input: the rest of the words it
// touches and of the next one. Ends with a group_sync.
template <u32 THREADS>
DEVICE void copy_bytes(u8* dst, const u8* src, u32 len, u32 thread) {
  const u32 head = min(len, (u32)(0 - (u64)dst) & 3u);
  if (thread < head) dst[thread] = src[thread];
  const u32 words = (len - head) >> 2;
  const u32 lead = (u32)(u64)(src + head) & 3;
  const u32* in = (const u32*)(src + head - lead);
  const u32 shift = lead * 8;
  u32* out = (u32*)(dst + head);
  u32 i = thread;
  for (; i + 3 * THREADS < words; i += 4 * THREADS) {
    u32 low[4], high[4];
    for (u32 j = 0; j < 4; ++j) low[j] = in[i + THREADS * j], high[j] = in[i + THREADS * j + 1];
    for (u32 j = 0; j < 4; ++j) out[i + THREADS * j] = __funnelshift_r(low[j], high[j], shift);
  }
  for (; i < words; i += THREADS) out[i] = __funnelshift_r(in[i], in[i + 1], shift);
  const u32 done = head + 4 * words;
  if (thread < len - done) dst[done + thread] = src[done + thread];
  group_sync<THREADS>();
}

// Writes the same byte `len` times. Ends with a group_sync.
template <u32 THREADS>
DEVICE void fill_bytes(u8* dst, u8 byte, u32 len, u32 thread) {
  const u32 head = min(len, (u32)(0 - (u64)dst) & 3u);
  if (thread < head) dst[thread] = byte;
  const u32 words = (len - head) >> 2;
  u32* out = (u32*)(dst + head);
  for (u32 i = thread; i < words; i += THREADS) out[i] = byte * 0x01010101u;
  const u32 done = head + 4 * words;
  if (thread < len - done) dst[done + thread] = byte;
  group_sync<THREADS>();
}
