// The checksum of a frame: the low half of XXH64 with seed 0 over its content, computed by four lanes, one per
// accumulator.
#pragma once
#include "zstd/zstd_format.cuh"

static const u64 XXH_1 = 0x9E3779B185EBCA87ull, XXH_2 = 0xC2B2AE3D27D4EB4Full, XXH_3 = 0x165667B19E3779F9ull,
                 XXH_4 = 0x85EBCA77C2B2AE63ull, XXH_5 = 0x27D4EB2F165667C5ull;

DEVICE u64 xxh_rotate(u64 x, u32 by) { return x << by | x >> (64 - by); }
DEVICE u64 xxh_round(u64 lane, u64 word) { return xxh_rotate(lane + word * XXH_2, 31) * XXH_1; }

DEVICE u64 xxh_load(const u8* p) {
  if (((u64)p & 7) == 0) return *(const u64*)p;
  return (u64)zstd_u32(p) | (u64)zstd_u32(p + 4) << 32;
}

DEVICE u64 xxh_shuffle(u64 value, u32 from) {
  const u32 low = __shfl_sync(0xFFFFFFFFu, (u32)value, from);
  const u32 high = __shfl_sync(0xFFFFFFFFu, (u32)(value >> 32), from);
  return (u64)high << 32 | low;
}

// Called by all lanes, which return the same.
DEVICE u32 zstd_checksum(const u8* data, u32 len, u32 lane) {
  u64 acc = lane == 0 ? XXH_1 + XXH_2 : lane == 1 ? XXH_2 : lane == 2 ? 0 : 0 - XXH_1;
  const u32 stripes = len / 32;
  if (lane < 4) {
    const u8* p = data + 8 * lane;
    u32 i = 0;
    for (; i + 4 <= stripes; i += 4) {
      u64 words[4];
      for (u32 j = 0; j < 4; ++j) words[j] = xxh_load(p + 32 * (i + j));
      for (u32 j = 0; j < 4; ++j) acc = xxh_round(acc, words[j]);
    }
    for (; i < stripes; ++i) acc = xxh_round(acc, xxh_load(p + 32 * i));
  }
  const u64 v[4] = {xxh_shuffle(acc, 0), xxh_shuffle(acc, 1), xxh_shuffle(acc, 2), xxh_shuffle(acc, 3)};
  u64 h = XXH_5;
  if (stripes != 0) {
    h = xxh_rotate(v[0], 1) + xxh_rotate(v[1], 7) + xxh_rotate(v[2], 12) + xxh_rotate(v[3], 18);
    for (u32 i = 0; i < 4; ++i) h = (h ^ xxh_round(0, v[i])) * XXH_1 + XXH_4;
  }
  h += len;
  u32 at = stripes * 32;
  for (; at + 8 <= len; at += 8) h = xxh_rotate(h ^ xxh_round(0, xxh_load(data + at)), 27) * XXH_1 + XXH_4;
  if (at + 4 <= len) {
    h = xxh_rotate(h ^ zstd_u32(data + at) * XXH_1, 23) * XXH_2 + XXH_3;
    at += 4;
  }
  for (; at < len; ++at) h = xxh_rotate(h ^ data[at] * XXH_5, 11) * XXH_1;
  h = (h ^ h >> 33) * XXH_2;
  h = (h ^ h >> 29) * XXH_3;
  return (u32)(h ^ h >> 32);
}
