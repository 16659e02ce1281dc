// Decodes Huffman codes with the lanes of one or more warps, starting at guessed bits.
//
// A batch is 32 sub-sequences of `span` bits per warp. Lane 0 starts at the batch's first bit, which is exact. Every
// other lane starts `run_in` bits before its sub-sequence and decodes without storing until it passes the beginning;
// Deflate codes resynchronise by themselves, so by then it is nearly always on the true path. This is then checked:
// lane i must have begun to store where lane i - 1 ended; otherwise it decodes again from there, until all agree. Lanes
// after the first that stopped (end of block, no code, list full) are discarded, and the next batch begins at the exact
// bit where that lane ended. Lane 0 takes at least one code, so every batch makes progress. Lanes are numbered across
// all warps.
//
// The bits of a batch are first copied to shared memory: lanes read words far apart, one every few look-ups, and the
// loop waits for every one of them.
#pragma once
#include "group.cuh"
#include "deflate/huffman.cuh"
#include "lines.cuh"

// Slots of a lane's list. Divisible by 4, so that the reader can take four at a time, and a reader step, four slots per
// lane, takes a whole list.
#define LIST_SLOTS 104u
// Slots from one list to the next: a ListEnd follows the list, and the stride is an odd number of words, so that lanes
// that store at the same place of their lists, as they do with short codes, do not use the same bank.
#define LIST_STRIDE 110u
#define ALL_LANES 0xFFFFFFFFu

// The longest sub-sequence (for the same reason an odd number of words) and the words of a batch of them: up to 127
// bits before the first, less than 64 bits of a token past the last, and the two words that are read ahead.
#define MOST_SPAN 672u
// The shortest sub-sequence: a list has room for it even if every code has one bit. Not shorter than the longest token,
// 48 bits, so that no lane ends behind the next lane's sub-sequence.
#define LEAST_SPAN 96u
constexpr u32 batch_words(u32 warps) { return warps * MOST_SPAN + 12; }
// Lines of 16 bytes that a lane loads.
#define LANE_LINES ((batch_words(1) / 4 + 31) / 32)

// If the first failed lane is not below this share of a batch, in 32nds, the batch ends before it: decoding the lanes
// from there in the next batch costs less than repeating a whole sub-sequence.
#define CUT_LANES 12u

enum Stop : u32 { STOP_NONE, STOP_FULL, STOP_END, STOP_INVALID };

// Result of a lane: slots of its list, from bit `begin` to bit `end`.
struct Walk {
  u32 begin;
  u32 end;
  u32 slots;
  u32 stop;
  u32 pairs;  // sum of the slots of lengths, and above pairs_shift bits their number
};

// Tokens that are not stored fill no list, so there may be several times as many.
constexpr u32 pairs_shift(bool stores) { return stores ? 16 : 20; }

// Totals of a list, stored behind its slots for its readers.
struct ListEnd {
  u32 position;  // end in the output
  u32 matches;   // matches of the batch up to there
  u32 slots;
};

// What the warps of a group exchange about a batch, alternating between two copies.
template <u32 WARPS>
struct WalkNotes {
  u32 ends[2][WARPS];     // of the last lane
  u32 stopped[2][WARPS];  // lanes
  u32 wrong[2][WARPS];
};

// A value of `begin` that no lane's end equals.
#define NOWHERE 0xFFFFFFFFu

// Position of a warp in a stream. Bits are counted from the first of `words`, which is aligned to 16 bytes.
struct Stream {
  const u32* words;
  u64 bit;
  u64 end;  // first bit behind the compressed data
};

DEVICE u32 bits_at(const u32* words, u64 bit) {
  const u32* at = words + (bit >> 5);
  return __funnelshift_r(__ldg(at), __ldg(at + 1), (u32)bit & 31);
}

// Memory that lanes decode from and to.
struct WalkMemory {
  SharedAddress tables;
  SharedAddress bits;  // BATCH_WORDS words
  SharedAddress list;  // of this lane
};

// Bit window of a lane: the word that holds the next bit, and the two words after it.
struct Window {
  u32 low, high, ahead;
  SharedAddress next;
};

DEVICE void open_window(Window& window, const WalkMemory& memory, u32 bit) {
  SharedAddress at = memory.bits + (bit >> 5) * 4;
  window.low = shared_load(at);
  window.high = shared_load(at + 4);
  window.ahead = shared_load(at + 8);
  window.next = at + 12;
}

// Decodes from bit `from` to the first token that ends at or past `until`; stores from the first token that begins at
// or past `begin` on. One look-up per iteration, with the same instructions for every entry: a value that does not
// count (the offset of a second table) is stored too, and overwritten by the next. Without STORES, tokens are only
// counted, without a limit.
template <bool STORES>
DEVICE void walk(const WalkMemory& memory, u32 root, u32 from, u32 begin, u32 until, Walk& result) {
  const SharedAddress distances = memory.tables + LITERALS_ENTRIES * 4;
  Window window;
  open_window(window, memory, from);
  u32 bit = from, outside = 0xFFFFFFFFu << root, entry = 0;
  SharedAddress table = memory.tables;

  // The run-in: only finds where codes end.
#pragma unroll 1
  while (bit < begin || (entry & (ENTRY_PAIR | ENTRY_CLOSED)) != 0) {
    u32 bits = __funnelshift_r(window.low, window.high, bit);
    entry = shared_load(table + (bits & ~outside) * 4);
    u32 taken = bit + (entry & 31);
    shared_advance(window.low, window.high, window.ahead, window.next, (taken ^ bit) & 32);
    bit = taken;
    outside = __funnelshift_l(0, 0xFFFFFFFFu, entry >> 11);
    SharedAddress second = memory.tables + (entry >> 16);
    table = entry & ENTRY_PAIR ? distances : memory.tables;
    table = entry & ENTRY_CLOSED ? second : table;
    if (entry & ENTRY_STOP) break;
  }
  result.begin = entry & ENTRY_STOP ? NOWHERE : bit;
  result.end = bit;
  result.slots = 0;
  result.stop = STOP_INVALID;
  result.pairs = 0;
  if (entry & ENTRY_STOP) return;

  u32 pairs = 0;
  SharedAddress slot = memory.list;
  const SharedAddress full = memory.list + (LIST_SLOTS - 1) * 2;
#pragma unroll 1
  for (;;) {
    u32 bits = __funnelshift_r(window.low, window.high, bit);
    entry = shared_load(table + (bits & ~outside) * 4);
    u32 taken = bit + (entry & 31);
    shared_advance(window.low, window.high, window.ahead, window.next, (taken ^ bit) & 32);
    bit = taken;
    u32 extra = __funnelshift_r(bits & ~__funnelshift_l(0, 0xFFFFFFFFu, entry), 0, entry >> 5);
    u32 value = (entry >> 16) + extra;
    if (STORES) shared_store16(slot, value);
    add_where(pairs, value + (1u << pairs_shift(STORES)), entry & ENTRY_PAIR);
    outside = __funnelshift_l(0, 0xFFFFFFFFu, entry >> 11);
    SharedAddress second = memory.tables + value;
    table = entry & ENTRY_PAIR ? distances : memory.tables;
    table = entry & ENTRY_CLOSED ? second : table;
    add_unless(slot, 2, entry & ENTRY_CLOSED);
    if (bit >= until || (STORES && slot >= full) || (entry & ENTRY_STOP)) {
      if (entry & ENTRY_STOP) break;
      if ((entry & (ENTRY_PAIR | ENTRY_CLOSED)) == 0) break;
    }
  }
  result.end = bit;
  result.slots = (u32)(slot - memory.list) / 2;
  result.pairs = pairs;
  result.stop = bit < until ? STOP_FULL : STOP_NONE;
  if (entry & ENTRY_STOP) result.stop = entry >> 16 ? STOP_INVALID : STOP_END;
}

// Batch sizes, adapted while decoding.
struct Pace {
  u32 span;    // bits per sub-sequence
  u32 run_in;  // bits that a lane decodes before its own
};

// Decodes one batch with all lanes of a group: the tokens of lane i are in list i, for the lanes up to the returned
// one; `mine` is this lane's result. Bits are counted from the 16-byte line that holds the stream's next bit; `end` is
// the end of the stream, counted likewise. `lines` is the memory at address `memory.bits`.
//
// Reads less than 64 bytes past the end: a lane stops at the first token that ends at or past its limit, which is not
// past the end; a token has less than 64 bits, and two words are read ahead.
template <u32 WARPS, bool STORES>
DEVICE u32 walk_batch(const Stream& in, const WalkMemory& memory, Line* lines, WalkNotes<WARPS>& notes,
                      u32 root, u32 end, Pace& pace, u32 thread, Walk& mine) {
  const u32 lanes = 32 * WARPS, lane = thread & 31, warp = thread / 32;
  const Line* stored = (const Line*)in.words + (in.bit >> 7);
  u32 from = (u32)in.bit & 127;
  u32 need = (min(from + lanes * pace.span, end) + 128 + 127) / 128;
  // All loads come before the first store, so the latency is paid once.
  Line loaded[LANE_LINES];
#pragma unroll
  for (u32 i = 0; i < LANE_LINES; ++i) {
    if (i * lanes + thread < need) loaded[i] = stored[i * lanes + thread];
  }
#pragma unroll
  for (u32 i = 0; i < LANE_LINES; ++i) {
    if (i * lanes + thread < need) lines[i * lanes + thread] = loaded[i];
  }
  group_sync<lanes>();

  u32 begin = from + thread * pace.span, until = min(begin + pace.span, end);
  bool active = thread == 0 || begin < end, again = active;
  u32 start = begin >= from + pace.run_in ? begin - pace.run_in : from;
  if (thread == 0) start = from;
  bool last_active = active && (thread == lanes - 1 || begin + pace.span >= end);
  mine.begin = mine.end = NOWHERE;
  mine.slots = mine.pairs = 0;
  mine.stop = STOP_NONE;
  u32 failed = 0;
  for (u32 round = 0;; ++round) {
    u32 side = round & 1;
    if (again) walk<STORES>(memory, root, start, begin, until, mine);
    __syncwarp();
    u32 stopped = __ballot_sync(ALL_LANES, mine.stop != STOP_NONE || last_active);
    if (lane == 31) {
      notes.ends[side][warp] = mine.end;
      notes.stopped[side][warp] = stopped;
    }
    u32 before = __shfl_up_sync(ALL_LANES, mine.end, 1);
    group_sync<lanes>();
    if (lane == 0 && warp != 0) before = notes.ends[side][warp - 1];
    u32 last = 0;
#pragma unroll
    for (u32 w = WARPS; w-- > 0;) {
      u32 word = notes.stopped[side][w];
      if (word != 0) last = w * 32 + __ffs(word) - 1;
    }
    again = thread != 0 && thread <= last && mine.begin != before;
    u32 mask = __ballot_sync(ALL_LANES, again);
    if (lane == 0) notes.wrong[side][warp] = mask;
    group_sync<lanes>();
    u32 wrong = 0, first = NOWHERE;
#pragma unroll
    for (u32 w = WARPS; w-- > 0;) {
      u32 word = notes.wrong[side][w];
      wrong += __popc(word);
      if (word != 0) first = w * 32 + __ffs(word) - 1;
    }
    if (round == 0) failed = wrong;
    if (wrong != 0 && first >= CUT_LANES * WARPS) {
      last = first - 1;
      wrong = 0;
    }
    if (wrong == 0) {
      // After a clean batch, try a shorter run-in; a failed lane costs part of a batch.
      u32 less = max(pace.run_in - pace.run_in / 16, 96u), more = min(pace.run_in + failed * 64, 1024u);
      pace.run_in = failed == 0 ? less : more;
      return last;
    }
    if (again) start = begin = before;
  }
}
