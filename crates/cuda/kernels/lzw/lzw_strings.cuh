// The string table of an LZW encoder in shared memory, and the walk through a segment by one lane.
//
// A string is the code of all its bytes but the last, plus that byte. A slot holds these two above the string's own
// code, so that one exclusive or tells whether it matches, and yields its code. Four slots are read at once; if they
// are full, four others follow. Every byte waits for the table's result for the previous one, so everything that does
// not depend on that result is precomputed by all lanes for all bytes of a window.
#pragma once
#include "lzw/lzw_items.cuh"

namespace lzw_encode {

constexpr u32 BUCKETS = 1024;
constexpr u32 EMPTY = 0xFFFFFFFFu;
// Bits of the place of a bucket, in bytes.
constexpr u32 PLACES = (BUCKETS - 1) * 16;
constexpr u32 CODE_MASK = 0xFFF;
// The sum of the two products spreads similar codes and bytes over buckets.
constexpr u32 BYTE_FACTOR = 113, CODE_FACTOR = 1637;
// Bytes prepared at a time, four per lane.
constexpr u32 WINDOW = 128;

static_assert(GROUP < BUCKETS * 4, "there is always an empty slot");

// Thirteen of these, at most 16896 bytes each, fit on a multiprocessor of 228 KiB.
struct Shared {
  uint4 quads[WINDOW / 4 + BUCKETS];  // the window, then the table: its first entry is read ahead but not used
};

DEVICE uint4* window_of(Shared& shared) { return shared.quads; }
DEVICE uint4* buckets_of(Shared& shared) { return shared.quads + WINDOW / 4; }

// A prepared byte: its own bits where a slot has them, and below them its share of a bucket's place.
DEVICE u32 ready(u32 byte) { return byte << 12 | (byte * BYTE_FACTOR & 0xFF) << 4; }

DEVICE uint4 ready_four(u32 bytes) {
  return {ready(bytes & 0xFF), ready(bytes >> 8 & 0xFF), ready(bytes >> 16 & 0xFF), ready(bytes >> 24)};
}

// State of the walking lane.
struct Walk {
  u32 code;    // code of the bytes since the last code was written
  u32 next;    // code of the next new string
  u16* codes;  // destination of the next code
};

// The four slots at a place, and the smallest of them XORed with the string: its code if it is one of them.
struct Probe {
  uint4 slots;
  u32 found;
};

DEVICE Probe probe(Shared& shared, u32 place, u32 string) {
  const uint4 slots = *(const uint4*)((const u8*)buckets_of(shared) + place);
  return {slots, min(min(slots.x ^ string, slots.y ^ string), min(slots.z ^ string, slots.w ^ string))};
}

// Handles a string that was not among the first four: it is in another slot, or new. Returns the code to continue with.
DEVICE u32 further(Shared& shared, Walk& walk, Probe first, u32 place, u32 string, u32 byte) {
#pragma unroll 1
  while (first.slots.w != EMPTY) {
    // Advances by an odd number of buckets, so that all of them are visited.
    place = (place + (byte | 16)) & PLACES;
    first = probe(shared, place, string);
    if (first.found <= CODE_MASK) return (first.found ^ byte) & CODE_MASK;
  }
  const uint4& slots = first.slots;
  const u32 slot = slots.x == EMPTY ? 0 : slots.y == EMPTY ? 4 : slots.z == EMPTY ? 8 : 12;
  *(u32*)((u8*)buckets_of(shared) + place + slot) = (string & ~CODE_MASK) | walk.next;
  *walk.codes++ = u16(walk.code);
  if (++walk.next == FULL) {
    walk.next = FIRST;
#pragma unroll 1
    for (u32 i = 0; i < BUCKETS; ++i) buckets_of(shared)[i] = make_uint4(EMPTY, EMPTY, EMPTY, EMPTY);
  }
  return byte >> 12;
}

// Takes a prepared byte.
DEVICE void take(Shared& shared, Walk& walk, u32 byte) {
  const u32 string = walk.code << 20 | byte, place = (walk.code * (CODE_FACTOR * 16) + byte) & PLACES;
  const Probe first = probe(shared, place, string);
  u32 code = (first.found ^ byte) & CODE_MASK;
  if (__builtin_expect(first.found > CODE_MASK, 0)) code = further(shared, walk, first, place, string, byte);
  walk.code = code;
}

// Takes `count` bytes of the window, by one lane.
DEVICE void walk_window(Shared& shared, Walk& walk, u32 count) {
  uint4 ahead = window_of(shared)[0];
  u32 at = 0;
#pragma unroll 1
  for (; at + 4 <= count; at += 4) {
    const uint4 four = ahead;
    ahead = window_of(shared)[at / 4 + 1];
    take(shared, walk, four.x);
    take(shared, walk, four.y);
    take(shared, walk, four.z);
    take(shared, walk, four.w);
  }
#pragma unroll 1
  for (; at < count; ++at) take(shared, walk, ((const u32*)window_of(shared))[at]);
}

// Four bytes from `at` on of the `count` bytes behind the first. Bytes behind them may be read too: up to 64 bytes
// behind a block are readable.
DEVICE u32 four_bytes(const u8* src, u32 at, u32 count) {
  if (at >= count) return 0;
  const u32* words = (const u32*)(src + at);
  return __funnelshift_r(words[0], words[1], 8);
}

// Writes the codes of `len` bytes, by a warp; returns their number in lane 0. `src` is aligned to 4 bytes.
DEVICE u32 parse(Shared& shared, const u8* src, u32 len, u16* codes) {
  const u32 lane = threadIdx.x, count = len - 1;
#pragma unroll 4
  for (u32 i = lane; i < BUCKETS; i += 32) buckets_of(shared)[i] = make_uint4(EMPTY, EMPTY, EMPTY, EMPTY);
  Walk walk = {src[0], FIRST, codes};
  u32 ahead = four_bytes(src, lane * 4, count);
  for (u32 first = 0; first < count; first += WINDOW) {
    window_of(shared)[lane] = ready_four(ahead);
    __syncwarp();
    ahead = four_bytes(src, first + WINDOW + lane * 4, count);
    if (lane == 0) walk_window(shared, walk, min(WINDOW, count - first));
    __syncwarp();
  }
  if (lane == 0) *walk.codes++ = u16(walk.code);
  return u32(walk.codes - codes);
}

}  // namespace lzw_encode
