// Turns lists of literals and matches into output, one warp, one list a step, four slots a lane.
//
// A prefix sum of lengths and of matches gives every slot its place. Literals go into the page at once, matches into a
// queue, from which lanes take one each. They are copied in rounds: a match whose source ends before the first match
// that is not done is ready, and the first one always is. Short ones are copied by their lane, all at the same time;
// long and odd ones by the whole warp, one after the other.
#pragma once
#include "abi.h"
#include "deflate_walk.cuh"
#include "lz_output.cuh"

#define LONG_MATCH 32u                // above this, copied by the warp
#define LIST_MATCHES (LIST_SLOTS / 2) // of a list, at most

struct Match {
  u32 at;
  u32 len;  // 0: none
  u32 distance;
};

struct alignas(8) QueuedMatch {
  u32 at;
  u32 what;  // the length, and the slot of the distance above 16 bits
};

// Bytes that a slot gives, and above 16 bits whether it is a match.
DEVICE u32 slot_size(u32 slot) {
  u32 size = slot & SLOT_LENGTH ? (slot & 0xFF) + 0x10003u : 1;
  return slot & SLOT_DISTANCE ? 0 : size;
}

// Copies one match by one lane, four bytes at a time. Its source is all in the page or all below it.
DEVICE void copy_alone(const Output& out, Match match) {
  u8* to = in_page(out, match.at);
  u32 from = match.at - match.distance, low, high, phase;
  const u32 *source = nullptr, *last = nullptr;
  if (match.distance >= 4) {
    // Overlapping itself by at least 8, what it reads was written at least one iteration ago.
    const u8* base = from >= out.origin ? in_page(out, from & ~3u) : out.bytes + (from & ~3u);
    source = (const u32*)base;
    last = source + ((from & 3) + match.len - 1) / 4;
    phase = (from & 3) * 8;
    low = relaxed_load(source);
    high = 0;
  } else {
    // The bytes repeat with a period of one, two or three: 48 bits hold every phase of it.
    low = bytes_at(out, from);
    phase = 0;
    if (match.distance == 3) {
      high = (low & 0xFFFFFF) >> 8;
      low = (low & 0xFFFFFF) | low << 24;
    } else {
      high = low = match.distance == 1 ? (low & 0xFF) * 0x01010101u : (low & 0xFFFF) * 0x00010001u;
    }
  }
  u32 left = match.len;
#pragma unroll 1
  for (;;) {
    if (source != nullptr) {
      if (source < last) ++source;
      high = relaxed_load(source);
    }
    u32 word = __funnelshift_r(low, high, phase);
    to[0] = (u8)word;
    if (left > 1) to[1] = (u8)(word >> 8);
    if (left > 2) to[2] = (u8)(word >> 16);
    if (left > 3) to[3] = (u8)(word >> 24);
    if (left <= 4) return;
    left -= 4;
    to += 4;
    if (source != nullptr) low = high;
    if (match.distance == 3) phase = phase == 16 ? 0 : phase + 8;
  }
}

// Copies one match by all lanes, a word of the page each.
DEVICE void copy_together(const Output& out, Match match, u32 lane) {
  u32 end = match.at + match.len;
  bool apart = match.distance >= match.len || match.distance >= 128;
#pragma unroll 1
  for (u32 base = match.at & ~3u; base < end; base += 128) {
    u32 at = base + lane * 4;
    if (at < end) {
      u32 first = at < match.at ? match.at - at : 0, count = min(end - at, 4u);
      u32 word = 0;
      if (apart) {
        // Bytes before the match are read and not used; before the output's begin there are none.
        u32 from = at + first - match.distance;
        word = bytes_at(out, from) << first * 8;
      } else if (match.distance == 1) {
        word = byte_at(out, match.at - 1) * 0x01010101u;
      } else {
        u32 offset = (at + first - match.at) % match.distance, from = match.at - match.distance;
#pragma unroll 1
        for (u32 i = first; i < count; ++i) {
          word |= byte_at(out, from + offset) << i * 8;
          if (++offset == match.distance) offset = 0;
        }
      }
      u8* to = in_page(out, at);
      if (first == 0 && count == 4) {
        *(u32*)to = word;
      } else {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
          if (i >= first && i < count) to[i] = (u8)(word >> i * 8);
        }
      }
    }
    __syncwarp();  // the next 128 bytes may repeat these
  }
}

// Copies the matches of all lanes, in order of lanes; everything else is in place up to the last of them.
DEVICE void copy_matches(const Output& out, Match match, u32 lane) {
  u32 from = match.at - match.distance;
  bool whole = match.distance < 4 || ((match.distance >= 8 || match.distance >= match.len) &&
                                      (from >= out.origin || from + match.len <= out.origin));
  bool is_short = match.len <= LONG_MATCH && whole;
  u32 need = from + min(match.len, match.distance);
#pragma unroll 1
  for (;;) {
    __syncwarp();
    u32 pending = __ballot_sync(ALL_LANES, match.len != 0);
    if (pending == 0) return;
    u32 complete = __shfl_sync(ALL_LANES, match.at, __ffs(pending) - 1);
    bool ready = match.len != 0 && need <= complete;
    if (ready && is_short) copy_alone(out, match);
    u32 together = __ballot_sync(ALL_LANES, ready && !is_short);
#pragma unroll 1
    while (together != 0) {
      u32 owner = __ffs(together) - 1;
      Match its = {__shfl_sync(ALL_LANES, match.at, owner), __shfl_sync(ALL_LANES, match.len, owner),
                   __shfl_sync(ALL_LANES, match.distance, owner)};
      copy_together(out, its, lane);
      together &= together - 1;
    }
    if (ready) match.len = 0;
  }
}

// Appends what `list` says, whose `slots` slots are filled up to a multiple of four by distances.
DEVICE u32 append_list(Output& out, QueuedMatch* queue, const u16* list, u32 slots, u32 lane) {
  u32 pair0 = SLOT_DISTANCE * 0x10001u, pair1 = pair0, after = 0;
  if (lane * 4 < slots) {
    pair0 = ((const u32*)list)[lane * 2];
    pair1 = ((const u32*)list)[lane * 2 + 1];
    after = list[lane * 4 + 4];
  }
  u32 slot[5] = {pair0 & 0xFFFF, pair0 >> 16, pair1 & 0xFFFF, pair1 >> 16, after};
  u32 place[5];
  place[0] = 0;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) place[i + 1] = place[i] + slot_size(slot[i]);
  u32 sum = place[4];
#pragma unroll
  for (u32 step = 1; step < 32; step <<= 1) {
    u32 lower = __shfl_up_sync(ALL_LANES, sum, step);
    if (lane >= step) sum += lower;
  }
  u32 begin = sum - place[4], total = __shfl_sync(ALL_LANES, sum, 31), start = out.head;
  if ((total & 0xFFFF) > out.len - start) return FAULT_OUTPUT_SURPLUS;

  // All lanes at once, but for matches so long that they fill the page: then as many lanes as have room. One always
  // has: two matches of 258 bytes and what was not flushed are less.
  u32 left = ALL_LANES, before = 0;
#pragma unroll 1
  while (left != 0) {
    bool now = (left >> lane & 1) != 0 && start + (sum & 0xFFFF) - out.origin <= PAGE;
    u32 lanes = __ballot_sync(ALL_LANES, now);
    u32 stop = __shfl_sync(ALL_LANES, sum, 31 - __clz(lanes));
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      u32 size = place[i + 1] - place[i], at = begin + place[i];
      u32 position = start + (at & 0xFFFF);
      if (now && size == 1) *in_page(out, position) = (u8)slot[i];
      if (now && size > 1) queue[(at >> 16) - before] = {position, (size & 0xFFFF) | slot[i + 1] << 16};
    }
    u32 matches = (stop >> 16) - before;
#pragma unroll 1
    for (u32 first = 0; first < matches; first += 32) {
      __syncwarp();
      Match match = {0, 0, 1};
      if (first + lane < matches) {
        QueuedMatch queued = queue[first + lane];
        match = {queued.at, queued.what & 0xFFFF, (queued.what >> 16 & 0x7FFF) + 1};
      }
      if (__any_sync(ALL_LANES, match.len != 0 && match.distance > match.at)) return FAULT_CORRUPT;
      copy_matches(out, match, lane);
    }
    before = stop >> 16;
    out.head = start + (stop & 0xFFFF);
    flush(out, lane);
    left &= ~lanes;
  }
  return FAULT_NONE;
}
