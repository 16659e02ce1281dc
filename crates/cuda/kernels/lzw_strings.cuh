// The table of strings of an LZW encoder in shared memory, and the walk through a segment by one lane.
//
// A string is the code of all its bytes but the last, and that byte. Its slot has the byte's and the code's bits on top of those
// of its own code, so that one exclusive or tells whether it is the one looked for, and gives its code. Four slots are read
// at once; where they are full the next four follow. More than fifteen sixteenths of the table are never full.
#pragma once
#include "lzw_items.cuh"

namespace lzw_encode {

constexpr u32 BUCKETS = 1024;
constexpr u32 EMPTY = 0xFFFFFFFFu;
// Of the byte and of the code; the sum has to spread over buckets what differs little in either.
constexpr u32 BYTE_FACTOR = 945, CODE_FACTOR = 2533;
// Bytes that are in shared memory at a time.
constexpr u32 WINDOW = 256;

static_assert(GROUP < BUCKETS * 4, "there is always an empty slot");

struct Shared {
  uint4 buckets[BUCKETS];
  u8 window[WINDOW + 16];  // the byte after the last is read ahead and means nothing
};

DEVICE void clear(Shared& shared) {
  for (u32 i = threadIdx.x; i < BUCKETS; i += 32) shared.buckets[i] = {EMPTY, EMPTY, EMPTY, EMPTY};
  __syncwarp();
}

// What the lane that walks has come to.
struct Walk {
  u32 code;   // of the bytes since the last code was written
  u32 next;   // the code of the next new string
  u32 count;  // codes written
};

// Goes on from `at`, up to `end` in the window or until the table is full; where it came to.
DEVICE u32 walk(Shared& shared, Walk& walk, u32 at, u32 end, u16* codes) {
  u32 ahead = shared.window[at];
#pragma unroll 1
  while (at < end) {
    const u32 byte = ahead;
    ahead = shared.window[++at];
    const u32 string = walk.code << 20 | byte << 12;
    u32 bucket = (walk.code * CODE_FACTOR + byte * BYTE_FACTOR) % BUCKETS;
    uint4 slots;
    u32 found;
    for (;;) {
      slots = shared.buckets[bucket];
      found = min(min(slots.x ^ string, slots.y ^ string), min(slots.z ^ string, slots.w ^ string));
      if (found < 1u << 12 || slots.w == EMPTY) break;
      bucket = (bucket + 1) % BUCKETS;
    }
    if (found < 1u << 12) {
      walk.code = found;
      continue;
    }
    const u32 slot = slots.x == EMPTY ? 0 : slots.y == EMPTY ? 1 : slots.z == EMPTY ? 2 : 3;
    ((u32*)&shared.buckets[bucket])[slot] = string | walk.next;
    codes[walk.count++] = u16(walk.code);
    walk.code = byte;
    if (++walk.next == FULL) break;
  }
  return at;
}

// Writes the codes of `len` bytes, by a warp; how many, in lane 0.
DEVICE u32 parse(Shared& shared, const u8* src, u32 len, u16* codes) {
  const u32 lane = threadIdx.x;
  // Bytes after the segment are read and not walked over: there are up to 64, and those of the block's next segment.
  uint2 ahead = lane * 8 < len ? ((const uint2*)src)[lane] : make_uint2(0, 0);
  Walk state = {0, FIRST, 0};
  clear(shared);
  for (u32 first = 0; first < len; first += WINDOW) {
    ((uint2*)shared.window)[lane] = ahead;
    __syncwarp();
    const u32 after = first + WINDOW + lane * 8;
    if (after < len) ahead = ((const uint2*)(src + first + WINDOW))[lane];
    const u32 end = min(WINDOW, len - first);
    u32 at = 0;
    if (first == 0) {
      at = 1;
      state.code = shared.window[0];
    }
    for (;;) {
      if (lane == 0) at = walk(shared, state, at, end, codes);
      __syncwarp();
      const u32 next = __shfl_sync(0xFFFFFFFFu, state.next, 0);
      if (next < FULL) break;
      clear(shared);
      state.next = FIRST;
    }
  }
  if (lane == 0) codes[state.count++] = u16(state.code);
  return state.count;
}

}  // namespace lzw_encode
