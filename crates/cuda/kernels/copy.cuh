// Copies bytes by one warp: whole aligned words out, each made of the two words of the input that it straddles.
#pragma once
#include "device.h"

// Copies `len` bytes; the ranges do not overlap. Up to seven bytes around the input, those of the words that it
// touches and of the next, are read. Ends with a __syncwarp.
DEVICE void copy_bytes(u8* dst, const u8* src, u32 len, u32 lane) {
  const u32 head = min(len, (u32)(0 - (u64)dst) & 3u);
  if (lane < head) dst[lane] = src[lane];
  const u32 words = (len - head) >> 2;
  const u32 lead = (u32)(u64)(src + head) & 3;
  const u32* in = (const u32*)(src + head - lead);
  const u32 shift = lead * 8;
  u32* out = (u32*)(dst + head);
  u32 i = lane;
  for (; i + 96 < words; i += 128) {
    u32 low[4], high[4];
    for (u32 j = 0; j < 4; ++j) low[j] = in[i + 32 * j], high[j] = in[i + 32 * j + 1];
    for (u32 j = 0; j < 4; ++j) out[i + 32 * j] = __funnelshift_r(low[j], high[j], shift);
  }
  for (; i < words; i += 32) out[i] = __funnelshift_r(in[i], in[i + 1], shift);
  const u32 done = head + 4 * words;
  if (lane < len - done) dst[done + lane] = src[done + lane];
  __syncwarp();
}

// Writes `len` times the same byte. Ends with a __syncwarp.
DEVICE void fill_bytes(u8* dst, u8 byte, u32 len, u32 lane) {
  const u32 head = min(len, (u32)(0 - (u64)dst) & 3u);
  if (lane < head) dst[lane] = byte;
  const u32 words = (len - head) >> 2;
  u32* out = (u32*)(dst + head);
  for (u32 i = lane; i < words; i += 32) out[i] = byte * 0x01010101u;
  const u32 done = head + 4 * words;
  if (lane < len - done) dst[done + lane] = byte;
  __syncwarp();
}
