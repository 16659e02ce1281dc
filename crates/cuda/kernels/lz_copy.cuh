// Turns lists of literals and matches into output, one warp, two lists a step, four slots of each a lane.
//
// A prefix sum of lengths and of matches gives every slot its place. Literals go into the page at once,
// matches into a queue, from which lanes take one each. They are copied in rounds: a match whose source ends
// before the first match that is not done is ready, and the first one always is. Short ones are copied by
// their lane, all at the same time; long and odd ones by the whole warp, one after the other.
#pragma once
#include "abi.h"
#include "deflate_walk.cuh"
#include "lz_output.cuh"

#define LONG_MATCH 24u                 // above this, copied by the warp
#define QUEUE LIST_SLOTS                // matches of two lists, at most

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

// Stores the first `count` bytes of `word`, at most four, at least one.
DEVICE void put_bytes(u8* to, u32 word, u32 count) {
  to[0] = (u8)word;
  if (count > 1) to[1] = (u8)(word >> 8);
  if (count > 2) to[2] = (u8)(word >> 16);
  if (count > 3) to[3] = (u8)(word >> 24);
}

// Copies one match by one lane, eight bytes at a time, so that the time of loads is waited for once for all
// of them. Its source is all in the page or all below it; where it overlaps itself, by at least 16, what is
// loaded was written.
DEVICE void copy_far(const Output& out, Match match) {
  u32 from = match.at - match.distance, word = from & ~3u, phase = from * 8;
  u32 last = (from + match.len - 1) & ~3u;
  bool inside = from >= out.origin;
  u8* to = in_page(out, match.at);
  u32 left = match.len;
#pragma unroll 1
  for (;;) {
    u32 next = min(word + 4, last), word0, word1, word2;
    word += 8;
    u32 after = min(word, last);
    if (inside) {
      word0 = relaxed_load((const u32*)in_page(out, word - 8));
      word1 = relaxed_load((const u32*)in_page(out, next));
      word2 = relaxed_load((const u32*)in_page(out, after));
    } else {
      word0 = *(const u32*)(out.bytes + (word - 8));
      word1 = *(const u32*)(out.bytes + next);
      word2 = *(const u32*)(out.bytes + after);
    }
    put_bytes(to, __funnelshift_r(word0, word1, phase), left);
    if (left <= 4) return;
    put_bytes(to + 4, __funnelshift_r(word1, word2, phase), left - 4);
    if (left <= 8) return;
    left -= 8;
    to += 8;
  }
}

// The same where the distance is one, two or three: 48 bits hold every phase of what repeats.
DEVICE void copy_near(const Output& out, Match match) {
  u32 low = bytes_at(out, match.at - match.distance), high, phase = 0;
  if (match.distance == 3) {
    high = (low & 0xFFFFFF) >> 8;
    low = (low & 0xFFFFFF) | low << 24;
  } else {
    high = low = match.distance == 1 ? (low & 0xFF) * 0x01010101u : (low & 0xFFFF) * 0x00010001u;
  }
  u8* to = in_page(out, match.at);
#pragma unroll 1
  for (u32 left = match.len;; left -= 4, to += 4) {
    put_bytes(to, __funnelshift_r(low, high, phase), left);
    if (left <= 4) return;
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
  bool whole = match.distance < 4 || ((match.distance >= 16 || match.distance >= match.len) &&
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
    if (ready && is_short) {
      if (match.distance < 4) {
        copy_near(out, match);
      } else {
        copy_far(out, match);
      }
    }
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

// Four slots of a list: their lane's share of a step.
struct Share {
  u32 slot[5];   // and the one after them
  u32 place[5];  // sizes added up, as slot_size gives them, from the step's begin
};

// A lane's share of a list whose `slots` slots are filled up to a multiple of four by distances.
DEVICE void load_share(Share& share, const u16* list, u32 slots, u32 lane) {
  u32 pair0 = SLOT_DISTANCE * 0x10001u, pair1 = pair0, after = 0;
  if (lane * 4 < slots) {
    pair0 = ((const u32*)list)[lane * 2];
    pair1 = ((const u32*)list)[lane * 2 + 1];
    after = list[lane * 4 + 4];
  }
  share.slot[0] = pair0 & 0xFFFF;
  share.slot[1] = pair0 >> 16;
  share.slot[2] = pair1 & 0xFFFF;
  share.slot[3] = pair1 >> 16;
  share.slot[4] = after;
  share.place[0] = 0;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) share.place[i + 1] = share.place[i] + slot_size(share.slot[i]);
}

// Puts literals into the page and matches into the queue. `start` is the step's position, `before` the
// matches of the step that are done.
DEVICE void place_share(const Output& out, QueuedMatch* queue, const Share& share, u32 start, u32 before) {
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    u32 size = share.place[i + 1] - share.place[i], position = start + (share.place[i] & 0xFFFF);
    if (size == 1) *in_page(out, position) = (u8)share.slot[i];
    if (size > 1) {
      queue[(share.place[i] >> 16) - before] = {position, (size & 0xFFFF) | share.slot[i + 1] << 16};
    }
  }
}

// Whether a lane's share has matches.
DEVICE bool has_matches(const Share& share) { return share.place[4] > 0xFFFF; }

// Puts the literals of a list without matches into the page.
DEVICE void place_literals(const Output& out, const Share& share, u32 position, u32 lane) {
  u8* to = in_page(out, position + lane * 4);
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    if (share.slot[i] < SLOT_LENGTH) to[i] = (u8)share.slot[i];
  }
}

// Appends what two lists say, the second of which may be empty: two, because a step takes the time of the
// operations that wait for each other, whatever it has to do.
DEVICE u32 append_lists(Output& out, QueuedMatch* queue, const u16* lists, u32 slots0, u32 slots1, u32 lane) {
  Share first, second;
  load_share(first, lists, slots0, lane);
  load_share(second, lists + LIST_STRIDE, slots1, lane);
  if (!__any_sync(ALL_LANES, has_matches(first) || has_matches(second))) {
    if (slots0 + slots1 > out.len - out.head) return FAULT_OUTPUT_SURPLUS;
    place_literals(out, first, out.head, lane);
    place_literals(out, second, out.head + slots0, lane);
    out.head += slots0 + slots1;
    flush(out, lane);
    return FAULT_NONE;
  }
  u32 end0 = first.place[4], end1 = second.place[4];
#pragma unroll
  for (u32 step = 1; step < 32; step <<= 1) {
    u32 lower0 = __shfl_up_sync(ALL_LANES, end0, step), lower1 = __shfl_up_sync(ALL_LANES, end1, step);
    if (lane >= step) {
      end0 += lower0;
      end1 += lower1;
    }
  }
  end1 += __shfl_sync(ALL_LANES, end0, 31);
  u32 total = __shfl_sync(ALL_LANES, end1, 31), start = out.head;
  u32 begin0 = end0 - first.place[4], begin1 = end1 - second.place[4];
#pragma unroll
  for (u32 i = 0; i < 5; ++i) {
    first.place[i] += begin0;
    second.place[i] += begin1;
  }
  if ((total & 0xFFFF) > out.len - start) return FAULT_OUTPUT_SURPLUS;

  // All at once, but for matches so long that they fill the page: then as much as has room. One lane's share
  // always has: two matches of 258 bytes and what was not flushed are less.
  u32 done = 0;
#pragma unroll 1
  while (done != total) {
    u32 stop = total, room = PAGE - (start - out.origin);
    if ((total & 0xFFFF) > room) {
      u32 fits0 = __ballot_sync(ALL_LANES, (end0 & 0xFFFF) <= room);
      u32 fits1 = __ballot_sync(ALL_LANES, (end1 & 0xFFFF) <= room);
      u32 stop0 = __shfl_sync(ALL_LANES, end0, 31 - __clz(fits0));
      u32 stop1 = __shfl_sync(ALL_LANES, end1, 31 - __clz(fits1 | 1));
      stop = fits1 != 0 ? stop1 : stop0;
    }
    if (end0 > done && end0 <= stop) place_share(out, queue, first, start, done >> 16);
    if (end1 > done && end1 <= stop) place_share(out, queue, second, start, done >> 16);
    u32 matches = (stop >> 16) - (done >> 16);
#pragma unroll 1
    for (u32 base = 0; base < matches; base += 32) {
      __syncwarp();
      Match match = {0, 0, 1};
      if (base + lane < matches) {
        QueuedMatch queued = queue[base + lane];
        match = {queued.at, queued.what & 0xFFFF, (queued.what >> 16 & 0x7FFF) + 1};
      }
      if (__any_sync(ALL_LANES, match.len != 0 && match.distance > match.at)) return FAULT_CORRUPT;
      copy_matches(out, match, lane);
    }
    done = stop;
    out.head = start + (stop & 0xFFFF);
    flush(out, lane);
  }
  return FAULT_NONE;
}
