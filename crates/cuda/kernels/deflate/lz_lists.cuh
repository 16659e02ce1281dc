// Turns lists of literals and matches into output, with a group of warps.
//
// Every list states where it ends, in bytes and in matches. As many lists as fit into the page and the queue of matches
// form a window. Warps take pairs of its lists in turn; two, because a step is bound by the latency of dependent
// operations, not by its amount of work. A prefix sum gives every slot its place, literals go into the page, matches
// into the queue, and then all warps copy the matches in the queue.
#pragma once
#include "deflate/lz_copy.cuh"

// Matches per window.
constexpr u32 queue_len(u32 warps) { return warps * 128; }

// What the warps of a group exchange about windows, in alternating copies.
template <u32 WARPS>
struct WindowNotes {
  Pending<WARPS> pending;
  u32 head[2];     // end of the window, in bytes
  u32 matches[2];  // in matches
  u32 wrong;       // a match begins before the output; 0 before the first window
};

// Memory of lists and windows.
template <u32 WARPS>
struct WindowMemory {
  const u16* lists;
  QueuedMatch* queue;
  WindowNotes<WARPS>& notes;
};

DEVICE const ListEnd& list_end(const u16* lists, u32 list) {
  return *(const ListEnd*)(lists + list * LIST_STRIDE + LIST_SLOTS);
}

// Bytes that a slot gives; bit 16 is set for a match.
DEVICE u32 slot_size(u32 slot) {
  u32 size = slot + 0x10003u - SLOT_LENGTH;
  if (slot < SLOT_LENGTH) size = 1;
  return slot >= SLOT_DISTANCE ? 0 : size;
}

// Four slots of a list: a lane's share of a step.
struct Share {
  u32 slot[5];   // and the one after them
  u32 place[5];  // running sums of sizes, as given by slot_size
};

// Loads a lane's share of a list. Distances fill up its `slots` slots to a multiple of four.
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

// A window: the lists from `first` on, of which `whole` end inside it, from `head` bytes and `matches` matches of the
// batch on, up to `limit` and `most`.
struct PageWindow {
  u32 first, whole;
  u32 head, matches;
  u32 limit, most;
};

// Puts the literals of a share into the page and its matches into the queue. The share begins at `position` and at
// match `index` of the window.
DEVICE void place_share(const Output& out, QueuedMatch* queue, const Share& share, u32 position, u32 index) {
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    u32 size = share.place[i + 1] - share.place[i], at = position + (share.place[i] & 0xFFFF);
    if (size == 1) *in_page(out, at) = (u8)share.slot[i];
    if (size > 1) {
      queue[index + (share.place[i] >> 16)] = {at, (size & 0xFFFF) | share.slot[i + 1] << 16};
    }
  }
}

// One list of a step: its share, and the position of the share.
struct Placed {
  Share share;
  u32 position, index;  // beginning of the share
  bool fits;            // the list ends inside the window
};

// `sum` is the prefix sum of the shares' sizes, `total` their total.
DEVICE void locate(Placed& placed, const ListEnd& end, const PageWindow& window, u32 sum, u32 total) {
  u32 size = placed.share.place[4], rest = total - sum;
  u32 behind = end.position - (rest & 0xFFFF), behind_index = end.matches - (rest >> 16);
  placed.position = behind - (size & 0xFFFF);
  placed.index = behind_index - (size >> 16) - window.matches;
  placed.fits = behind <= window.limit && behind_index <= window.most;
}

// Puts the literals of a list without matches into the page, four per lane.
DEVICE void place_literals(const Output& out, const u16* list, const ListEnd& end, u32 lane) {
  u32 first = lane * 4;
  if (first >= end.slots) return;
  const u32* pairs = (const u32*)(list + first);
  u32 pair0 = pairs[0], pair1 = pairs[1], left = end.slots - first;
  u8* to = in_page(out, end.position - left);
  to[0] = (u8)pair0;
  if (left > 1) to[1] = (u8)(pair0 >> 16);
  if (left > 2) to[2] = (u8)pair1;
  if (left > 3) to[3] = (u8)(pair1 >> 16);
}

// Places two lists of a window, `list` and the one after it.
template <u32 WARPS>
DEVICE void place_pair(const Output& out, WindowMemory<WARPS>& memory, const PageWindow& window, u32 list,
                       u32 count, u32 side, u32 lane) {
  const u16* slots = memory.lists + list * LIST_STRIDE;
  u32 before = list != 0 ? list_end(memory.lists, list - 1).matches : 0, behind = window.first + window.whole;
  ListEnd end[2] = {list_end(memory.lists, list), {0, 0, 0}};
  if (list + 1 < count) end[1] = list_end(memory.lists, list + 1);
  if (list + 2 <= behind && end[1].matches == before && end[0].position - end[0].slots >= window.head) {
    place_literals(out, slots, end[0], lane);
    place_literals(out, slots + LIST_STRIDE, end[1], lane);
    return;
  }
  Placed placed[2];
  load_share(placed[0].share, slots, end[0].slots, lane);
  load_share(placed[1].share, slots + LIST_STRIDE, end[1].slots, lane);
  u32 sum0 = placed[0].share.place[4], sum1 = placed[1].share.place[4];
#pragma unroll
  for (u32 step = 1; step < 32; step <<= 1) {
    u32 lower0 = __shfl_up_sync(ALL_LANES, sum0, step), lower1 = __shfl_up_sync(ALL_LANES, sum1, step);
    if (lane >= step) {
      sum0 += lower0;
      sum1 += lower1;
    }
  }
  locate(placed[0], end[0], window, sum0, __shfl_sync(ALL_LANES, sum0, 31));
  locate(placed[1], end[1], window, sum1, __shfl_sync(ALL_LANES, sum1, 31));
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    // The part of the first list that an earlier window took is skipped.
    const Placed& one = placed[i];
    if (list + i <= behind && one.fits && one.position >= window.head) {
      place_share(out, memory.queue, one.share, one.position, one.index);
    }
    if (list + i == behind && list + i < count) {
      // The list in which the window ends.
      u32 fits = __ballot_sync(ALL_LANES, one.fits), size = fits != 0 ? one.share.place[4] : 0;
      if (lane == (fits != 0 ? 31 - __clz(fits) : 0)) {
        memory.notes.head[side] = one.position + (size & 0xFFFF);
        memory.notes.matches[side] = window.matches + one.index + (size >> 16);
      }
    }
  }
}

// Appends the output of a batch's lists; the output has room for all of it. Returns false if a match begins before the
// output. Called by all threads, after a group_sync behind the last write into the lists; leaves less than FLUSH bytes
// in the page.
template <u32 WARPS>
DEVICE bool append_lists(Output& out, WindowMemory<WARPS>& memory, u32 count, u32& side, u32 thread) {
  const u32 threads = 32 * WARPS, lane = thread & 31, warp = thread / 32;
  u32 first = 0, matches = 0, turn = 0;
#pragma unroll 1
  while (first < count) {
    u32 limit = out.origin + page_len(WARPS), most = matches + queue_len(WARPS);
    PageWindow window = {first, 0, out.head, matches, limit, most};
    bool inside = false;
    if (first + lane < count) {
      ListEnd end = list_end(memory.lists, first + lane);
      inside = end.position <= window.limit && end.matches <= window.most;
    }
    window.whole = __popc(__ballot_sync(ALL_LANES, inside));
    u32 end = min(first + window.whole + (window.whole < 32 ? 1 : 0), count);
#pragma unroll 1
    for (u32 list = first + warp * 2; list < end; list += WARPS * 2) {
      place_pair(out, memory, window, list, count, turn, lane);
    }
    group_sync<threads>();
    first += window.whole;
    if (first < end) {
      out.head = memory.notes.head[turn];
      matches = memory.notes.matches[turn];
    } else {
      ListEnd last = list_end(memory.lists, first - 1);
      out.head = last.position;
      matches = last.matches;
    }
    turn ^= 1;
    u32 queued = matches - window.matches;
#pragma unroll 1
    for (u32 base = 0; base < queued; base += threads) {
      copy_matches<WARPS>(out, memory.queue + base, min(queued - base, threads), memory.notes.pending,
                          memory.notes.wrong, side, thread);
    }
    // Flush if little room is left; a lane's share, two matches of 258 bytes, always fits.
    if (first >= count || out.head - out.origin > page_len(WARPS) / 2) flush<WARPS>(out, thread);
  }
  return memory.notes.wrong == 0;
}
