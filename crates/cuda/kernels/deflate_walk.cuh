// Decoding Huffman codes by 32 lanes that start at guessed places.
//
// A batch is 32 sub-sequences of `span` bits. Lane 0 starts at the batch's first bit, which is exact. Every other lane
// starts `run_in` bits before its sub-sequence and decodes without storing until it passes its begin; Deflate codes
// resynchronise by themselves, so by then it is nearly always on the true path. That is then checked: where lane i - 1
// ended must be where lane i began to store; lanes for which it is not decode again from there, until all agree.
// Lanes after the first that stopped (end of block, no code, list full) count for nothing, and the next batch begins
// at the exact bit where that lane ended. Lane 0 takes at least one code, so every batch makes progress.
//
// Reads no further than 64 bytes past the end that it is given: a lane stops at the first token that ends at or past its
// limit, which is not past the end; a token has less than 64 bits and a lane reads at most three words ahead.
#pragma once
#include "huffman.cuh"

// Slots of a lane's list. Divisible by 4, so that the reader can take four at a time, and a step of the reader, four
// slots a lane, takes a whole list.
#define LIST_SLOTS 124u
#define ALL_LANES 0xFFFFFFFFu

enum Stop : u32 { STOP_NONE, STOP_FULL, STOP_END, STOP_INVALID };

// What a lane decoded: slots of its list, from bit `begin` to bit `end`.
struct Walk {
  u32 begin;
  u32 end;
  u32 slots;
  u32 stop;
};

// A value for `begin` that no lane's end equals.
#define NOWHERE 0xFFFFFFFFu

// Bits of the input, positions relative to a word.
struct BitsFrom {
  const u32* words;
  u32 end;  // no code may take a bit from here on
};

DEVICE u32 bits_at(const u32* words, u64 bit) {
  const u32* at = words + (bit >> 5);
  return __funnelshift_r(__ldg(at), __ldg(at + 1), (u32)bit & 31);
}

// Decodes from bit `from` to the first token that ends at or past `until`; stores from the first that begins at or past
// `begin` on. One look-up an iteration, the same instructions whatever it finds.
DEVICE void walk(const u32* tables, u16* list, const u32* words, u32 root, u32 from, u32 begin, u32 until, Walk& result) {
  const u8* entries = (const u8*)tables;
  u32 bit = from, next = (from >> 5) + 3;
  u32 low = __ldg(words + next - 3), high = __ldg(words + next - 2), ahead = __ldg(words + next - 1);
  u32 table = 0, outside = 0xFFFFFFFFu << root;
  u32 slot = 0, step = from >= begin ? 1 : 0, limit = step ? until : begin;
  u32 stop = STOP_NONE;
  result.begin = step ? from : NOWHERE;
  for (;;) {
    u32 window = __funnelshift_r(low, high, bit);
    u32 entry = *(const u32*)(entries + (table + (window & ~outside) * 4));
    u32 taken = bit + (entry & 31);
    u32 extra = (window & ~__funnelshift_l(0, 0xFFFFFFFFu, entry)) >> (entry >> 5 & 31);
    u32 value = (entry >> 10 & 0xFFFF) + extra;
    if ((taken ^ bit) & 32) {
      low = high;
      high = ahead;
      ahead = __ldg(words + next);
      ++next;
    }
    bit = taken;
    // A value that does not count (before `begin`, or the offset of a second table) is overwritten by the next.
    list[slot] = (u16)value;
    outside = 0xFFFFFFFFu << (entry >> 28);
    if (entry & ENTRY_CLOSED) {
      if (entry >= ENTRY_STOPS) {
        stop = (entry >> 10 & 1) ? STOP_INVALID : STOP_END;
        break;
      }
      table = value;
    } else {
      slot += step;
      table = entry & ENTRY_PAIR ? LITERALS_ENTRIES * 4 : 0;
      if ((entry & ENTRY_PAIR) == 0 && (bit >= limit || slot >= LIST_SLOTS - 1)) {
        if (step) {
          if (bit < limit) stop = STOP_FULL;
          break;
        }
        result.begin = bit;
        limit = until;
        step = 1;
      }
    }
  }
  result.end = bit;
  result.slots = slot;
  result.stop = stop;
}

// Sizes of batches, learned on the way.
struct Pace {
  u32 span;    // bits of a sub-sequence
  u32 run_in;  // bits that a lane decodes before its own
};

// Decodes one batch from bit `from` of `bits`, all lanes of a warp together. Lane i's tokens are in `list` of lane i,
// for the lanes up to the one returned; `mine` is what this lane did.
DEVICE u32 walk_batch(const u32* tables, u16* list, BitsFrom bits, u32 root, u32 from, Pace& pace, u32 lane, Walk& mine) {
  u32 begin = from + lane * pace.span, until = min(begin + pace.span, bits.end);
  bool active = lane == 0 || begin < bits.end;
  u32 start = begin >= from + pace.run_in && lane != 0 ? begin - pace.run_in : from;
  mine.begin = mine.end = NOWHERE;
  mine.slots = 0;
  mine.stop = STOP_INVALID;
  if (active) walk(tables, list, bits.words, root, start, begin, until, mine);
  u32 failed = 0;
  for (u32 round = 0;; ++round) {
    __syncwarp();
    u32 before = __shfl_up_sync(ALL_LANES, mine.end, 1);
    u32 last_active = 31 - __clz(__ballot_sync(ALL_LANES, active));
    u32 stopped = __ballot_sync(ALL_LANES, active && mine.stop != STOP_NONE) | 1u << last_active;
    u32 last = __ffs(stopped) - 1;
    bool again = lane != 0 && lane <= last && mine.begin != before;
    u32 wrong = __ballot_sync(ALL_LANES, again);
    if (round == 0) failed = __popc(wrong);
    if (wrong == 0) {
      // A clean batch tries less, a failed lane costs a whole sub-sequence.
      pace.run_in = failed == 0 ? max(pace.run_in - pace.run_in / 8, 96u) : min(pace.run_in + failed * 128, 1024u);
      return last;
    }
    if (again) walk(tables, list, bits.words, root, before, before, until, mine);
  }
}
