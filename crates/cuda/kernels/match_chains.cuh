// before(p) of `portable/spec.md`: for every position of a segment the last earlier one with the same key, by one warp.
//
// The table holds for each key the last position that had it, counted from 1 at the beginning of the window before the
// segment; 32 positions are looked up, then entered, at a time. Those of the window are entered only. Segments know nothing
// of each other: the window before is all that can be asked for.
#pragma once
#include "match_abi.h"
#include "match_bytes.cuh"

// Bytes of a block that one warp takes.
constexpr u32 SEGMENT = 32768;

struct ChainTable {
  u16 last[1u << KEY_BITS];
};

// Positions 1 to 65535; the last of a segment may be 65536, which nobody asks for any more.
static_assert(WINDOW % 32 == 0 && SEGMENT % 32 == 0 && WINDOW + SEGMENT <= 65536, "positions in 16 bits");
static_assert(KEY == 5, "what match_key takes");

// The key of the position with these four bytes and the one behind.
DEVICE u32 match_key(u32 word, u32 byte) { return (word * 0x9E3779B1u + byte * 0x85EBCA77u) >> (32 - KEY_BITS); }

DEVICE u32 key_at(const u32* words, u32 p) {
  return match_key(word_at(words, p), ((const u8*)words)[p + 4]);
}

DEVICE void chain_segment(ChainTable& table, const u32* words, u32 len, const Share& segment, u16* before, u32 lane) {
  const u32 from = segment.start - min(segment.start, WINDOW);
  const u32 keyed = len - min(len, KEY - 1);
  for (u32 i = lane; i < (1u << KEY_BITS) / 2; i += 32) ((u32*)table.last)[i] = 0;
  __syncwarp();
  const u32 lower = (1u << lane) - 1;
  u32 ahead = key_at(words, min(from + lane, len));
#pragma unroll 1
  for (u32 group = from; group < segment.end; group += 32) {
    const u32 p = group + lane, place = p - from + 1;
    const bool has = p < keyed;
    const u32 key = has ? ahead : 0x80000000u | lane;
    ahead = key_at(words, min(p + 32, len));
    const u32 peers = __match_any_sync(ALL_LANES, key);
    const u32 nearer = peers & lower;
    u32 distance = 0;
    if (nearer != 0) {
      distance = lane - (31 - (u32)__clz((int)nearer));
    } else if (has && group >= segment.start) {
      const u32 last = table.last[key];
      if (last != 0 && place - last <= WINDOW) distance = place - last;
    }
    __syncwarp();
    if (has && peers >> lane == 1) table.last[key] = (u16)place;
    __syncwarp();
    if (p >= segment.start && p < segment.end) before[p] = (u16)distance;
  }
}
