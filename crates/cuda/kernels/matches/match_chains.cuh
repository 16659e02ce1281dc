// before(p) of `portable/spec.md`: finds for every position of a segment the last earlier one with the same key, with
// one warp.
//
// The table holds the last position of each key, counted from 1 at the beginning of the window before the segment; 32
// positions at a time are looked up, then entered. Those of the window before are only entered. Segments are
// independent: no position refers to anything before that window.
#pragma once
#include "matches/match_abi.h"
#include "matches/match_bytes.cuh"

// Bytes of a block that one warp takes.
constexpr u32 SEGMENT = 32768;

struct ChainTable {
  u16 last[1u << KEY_BITS];
};

// Positions 1 to 65535; the last of a segment may be 65536, which is never looked up.
static_assert(WINDOW % 128 == 0 && SEGMENT % 128 == 0 && WINDOW + SEGMENT <= 65536, "positions in 16 bits");
static_assert(KEY == 5, "what match_key takes");

// The key of the position with these four bytes and the following one.
DEVICE u32 match_key(u32 word, u32 byte) {
  return (word * 0x9E3779B1u + byte * 0x85EBCA77u) >> (32 - KEY_BITS);
}

// Groups of 32 positions whose words are loaded at once, one per lane.
constexpr u32 GROUPS = 4;
constexpr u32 CHUNK = 32 * GROUPS;

// This lane's word of the chunk at `p`; words past the block are not used.
DEVICE u32 chunk_word(const u32* words, u32 p, u32 len, u32 lane) {
  return words[min(p / 4 + lane, len / 4)];
}

// The key of position `group * 32 + lane` of a chunk with these words, which `next` follow.
DEVICE u32 key_in_chunk(u32 now, u32 next, u32 group, u32 lane) {
  const u32 at = group * 8 + lane / 4, shift = (lane & 3) * 8;
  const u32 low = __shfl_sync(ALL_LANES, now, (int)at);
  u32 high = __shfl_sync(ALL_LANES, now, (int)((at + 1) & 31));
  if (group == GROUPS - 1) {
    const u32 behind = __shfl_sync(ALL_LANES, next, 0);
    if (at == 31) high = behind;
  }
  return match_key(__funnelshift_r(low, high, shift), high >> shift & 0xFF);
}

// A lane's position of a group.
struct Keyed {
  u32 key;
  u32 peers;  // lanes with the same key
  bool has;   // whether the position has a key
};

// Looks up (if `wanted`) and enters the positions of a group, this lane's at `place`; returns its distance.
DEVICE u32 chain_group(ChainTable& table, const Keyed& keyed, u32 place, bool wanted, u32 lane) {
  const u32 nearer = keyed.peers & ((1u << lane) - 1);
  u32 distance = 0;
  if (nearer != 0) {
    distance = lane - (31 - (u32)__clz((int)nearer));
  } else if (keyed.has && wanted) {
    const u32 last = table.last[keyed.key];
    if (last != 0 && place - last <= WINDOW) distance = place - last;
  }
  __syncwarp();
  if (keyed.has && keyed.peers >> lane == 1) table.last[keyed.key] = (u16)place;
  __syncwarp();
  return distance;
}

// Makes the chains of a segment of a block of `len` bytes, with one warp.
DEVICE void chain_segment(ChainTable& table, const u32* words, u32 len, const Share& segment, u16* before) {
  const u32 lane = threadIdx.x & 31, from = segment.start - min(segment.start, WINDOW);
  const u32 keyed = len - min(len, KEY - 1);
  for (u32 i = lane; i < (1u << KEY_BITS) / 2; i += 32) ((u32*)table.last)[i] = 0;
  __syncwarp();
  u32 now = chunk_word(words, from, len, lane), next = chunk_word(words, from + CHUNK, len, lane);
#pragma unroll 1
  for (u32 chunk = from; chunk < segment.end; chunk += CHUNK) {
    const u32 ahead = chunk_word(words, chunk + 2 * CHUNK, len, lane);
    const bool wanted = chunk >= segment.start;
    Keyed groups[GROUPS];
#pragma unroll
    for (u32 k = 0; k < GROUPS; ++k) {
      groups[k].has = chunk + k * 32 + lane < keyed;
      groups[k].key = key_in_chunk(now, next, k, lane);
      groups[k].peers = __match_any_sync(ALL_LANES, groups[k].has ? groups[k].key : 0x80000000u | lane);
    }
#pragma unroll
    for (u32 k = 0; k < GROUPS; ++k) {
      const u32 p = chunk + k * 32 + lane;
      const u32 distance = chain_group(table, groups[k], p - from + 1, wanted, lane);
      if (wanted && p < segment.end) before[p] = (u16)distance;
    }
    now = next;
    next = ahead;
  }
}
