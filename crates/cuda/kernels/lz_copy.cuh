// Turns lists of literals and matches into output, one warp, one list a step, four slots a lane.
//
// A prefix sum of lengths gives every slot its place. Literals go into the ring at once. Then matches, in rounds: a
// match whose source ends before the first match that is not done is ready, and the first one always is. Short ones are
// copied by their lane, all at the same time; long ones by the whole warp, one after the other.
#pragma once
#include "abi.h"
#include "deflate_walk.cuh"
#include "lz_output.cuh"

#define LONG_MATCH 32u  // above this, copied by the warp

struct Match {
  u32 at;
  u32 len;  // 0: none
  u32 distance;
};

DEVICE u32 slot_length(u32 slot) { return slot & SLOT_DISTANCE ? 0 : slot & SLOT_LENGTH ? (slot & 0xFF) + 3 : 1; }

// Stores the first `count` bytes of `word`, at most four.
DEVICE void put_bytes(const Output& out, u32 at, u32 word, u32 count) {
  ring_at(out, at) = (u8)word;
  if (count > 1) ring_at(out, at + 1) = (u8)(word >> 8);
  if (count > 2) ring_at(out, at + 2) = (u8)(word >> 16);
  if (count > 3) ring_at(out, at + 3) = (u8)(word >> 24);
}

// Copies one match by one lane, four bytes at a time.
DEVICE void copy_alone(const Output& out, u32 low, Match match) {
  u32 from = match.at - match.distance;
  if (match.distance >= 4) {
    // What it repeats of itself was written at least one iteration ago.
    for (u32 i = 0; i < match.len; i += 4) {
      put_bytes(out, match.at + i, bytes_at(out, low, from + i), match.len - i);
    }
    return;
  }
  // The bytes repeat with a period of one, two or three: 48 bits hold every phase of it.
  u32 word = bytes_at(out, low, from), high, phase = 0;
  if (match.distance == 3) {
    high = (word & 0xFFFFFF) >> 8;
    word = (word & 0xFFFFFF) | word << 24;
  } else {
    word = match.distance == 1 ? (word & 0xFF) * 0x01010101u : (word & 0xFFFF) * 0x00010001u;
    high = word;
  }
  for (u32 i = 0; i < match.len; i += 4) {
    put_bytes(out, match.at + i, __funnelshift_r(word, high, phase), match.len - i);
    if (match.distance == 3) phase = phase == 16 ? 0 : phase + 8;
  }
}

// Copies one match by all lanes, a word of the ring each.
DEVICE void copy_together(const Output& out, u32 low, Match match, u32 lane) {
  u32 end = match.at + match.len;
  bool apart = match.distance >= match.len || match.distance >= 128;
  for (u32 base = match.at & ~3u; base < end; base += 128) {
    u32 at = base + lane * 4;
    if (at < end) {
      u32 first = at < match.at ? match.at - at : 0, count = min(end - at, 4u);
      u32 word = 0;
      if (apart) {
        // Bytes before the match itself are read and not used; before the output's begin that is a place in the ring.
        word = bytes_at(out, low, at - match.distance);
      } else {
        u32 offset = (at + first - match.at) % match.distance, from = match.at - match.distance;
        for (u32 i = first; i < count; ++i) {
          word |= byte_at(out, low, from + offset) << i * 8;
          if (++offset == match.distance) offset = 0;
        }
      }
      if (first == 0 && count == 4) {
        *(u32*)&ring_at(out, at) = word;
      } else if (first < count) {
        put_bytes(out, at + first, word >> first * 8, count - first);
      }
    }
    __syncwarp();  // the next 128 bytes may repeat these
  }
}

// Copies the matches of all lanes, two each in order; everything below `end` that is no match is in place.
DEVICE void copy_matches(const Output& out, Match now, Match then, u32 end, u32 lane) {
  u32 low = end > RING ? end - RING : 0;
  for (;;) {
    __syncwarp();
    u32 pending = __ballot_sync(ALL_LANES, now.len != 0);
    if (pending == 0) return;
    u32 complete = __shfl_sync(ALL_LANES, now.at, __ffs(pending) - 1);
    bool ready = now.len != 0 && now.at - now.distance + min(now.len, now.distance) <= complete;
    bool alone = ready && now.len <= LONG_MATCH;
    if (alone) copy_alone(out, low, now);
    u32 together = __ballot_sync(ALL_LANES, ready && !alone);
    while (together != 0) {
      u32 owner = __ffs(together) - 1;
      Match match = {__shfl_sync(ALL_LANES, now.at, owner), __shfl_sync(ALL_LANES, now.len, owner),
                     __shfl_sync(ALL_LANES, now.distance, owner)};
      copy_together(out, low, match, lane);
      together &= together - 1;
    }
    if (ready) {
      now = then;
      then.len = 0;
    }
  }
}

// Appends what the first `slots` slots of `list` say. `list` may be read up to five slots past LIST_SLOTS.
DEVICE u32 append_list(Output& out, const u16* list, u32 slots, u32 lane) {
  const u32* pairs = (const u32*)(list + lane * 4);
  u32 pair0 = pairs[0], pair1 = pairs[1], after = list[lane * 4 + 4];
  u32 mine = slots > lane * 4 ? min(slots - lane * 4, 4u) : 0;
  u32 slot[5] = {pair0 & 0xFFFF, pair0 >> 16, pair1 & 0xFFFF, pair1 >> 16, after};
  u32 place[5] = {0, 0, 0, 0, 0};
#pragma unroll
  for (u32 i = 0; i < 4; ++i) place[i + 1] = place[i] + (i < mine ? slot_length(slot[i]) : 0);
  u32 sum = place[4];
#pragma unroll
  for (u32 step = 1; step < 32; step <<= 1) {
    u32 lower = __shfl_up_sync(ALL_LANES, sum, step);
    if (lane >= step) sum += lower;
  }
  u32 begin = out.head + sum - place[4], end = out.head + sum;
  if (__shfl_sync(ALL_LANES, end, 31) > out.len) return FAULT_OUTPUT_SURPLUS;

  Match first = {0, 0, 0}, second = {0, 0, 0};
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    Match match = {begin + place[i], place[i + 1] - place[i], (slot[i + 1] & 0x7FFF) + 1};
    if (match.len > 1) {
      if (first.len == 0) {
        first = match;
      } else {
        second = match;
      }
    }
  }
  bool before_begin = (first.len != 0 && first.distance > first.at) || (second.len != 0 && second.distance > second.at);
  if (__any_sync(ALL_LANES, before_begin)) return FAULT_CORRUPT;

  // All lanes at once, but for matches so long that they fill the ring: then as many lanes as have room. One always
  // has: two matches of 258 bytes and what was not flushed are less.
  u32 left = __ballot_sync(ALL_LANES, mine != 0);
  while (left != 0) {
    bool now = (left >> lane & 1) != 0 && end - out.flushed <= RING;
    u32 lanes = __ballot_sync(ALL_LANES, now);
    u32 stop = __shfl_sync(ALL_LANES, end, 31 - __clz(lanes));
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      if (now && place[i + 1] - place[i] == 1) ring_at(out, begin + place[i]) = (u8)slot[i];
    }
    Match none = {0, 0, 0};
    if (__any_sync(ALL_LANES, now && first.len != 0)) {
      copy_matches(out, now ? first : none, now ? second : none, stop, lane);
    }
    out.head = stop;
    flush(out, lane);
    left &= ~lanes;
  }
  return FAULT_NONE;
}
