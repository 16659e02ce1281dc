// match(p) of `portable/spec.md`: the best of the candidates of a position, a lane each, 32 positions one after the other a
// warp. A warp goes on as long as one of its lanes has candidates, so that its lanes can compare long matches together.
#pragma once
#include "match_abi.h"
#include "match_bytes.cuh"

// Bytes of a block that a CUDA block takes: the threads of one are at work in one window, which the first-level cache holds.
constexpr u32 SEARCHED = 16384;

// The best match so far of a position. It begins one below the least: a candidate that is not longer need not be known.
struct BestMatch {
  u32 length, distance;
  u32 tail;  // what a longer one has at the place of its last byte but three to one beyond it
};

static_assert(LEAST >= 4, "the first tail has four bytes");

DEVICE BestMatch no_match(const u32* words, u32 p) { return {LEAST - 1, 0, word_at(words, p + LEAST - 4)}; }

// One candidate each for the lanes that have one (`alive`).
DEVICE void try_candidate(const u32* words, u32 p, u32 c, u32 most, bool alive, BestMatch& best, u32 lane) {
  u32 agreed = 0;
  if (alive && word_at(words, c + best.length - 3) == best.tail) agreed = agreed_near(words, p, c, most);
  agreed = agreed_far(words, p, c, agreed, most, lane);
  if (agreed > best.length) best = {agreed, p - c, word_at(words, p + agreed - 3)};
}

DEVICE u32 match_of(const BestMatch& best) {
  return best.length < LEAST ? 0 : best.distance | best.length << MATCH_LENGTH_SHIFT;
}

// The match of position `p` among the candidates of its chain and the row above; `most` is 0 where there is nothing to look
// for. Nothing is longer than `most`, so that a match of so many bytes ends the search, too.
DEVICE u32 search_chain(const EncodeArgs& args, const u32* words, const u16* before, u32 row, u32 p, u32 most, u32 lane) {
  const u32 enough = min(args.nice, most);
  BestMatch best = no_match(words, p);
  u32 c = p;
  u32 step = most >= LEAST ? before[p] : 0;
#pragma unroll 1
  for (u32 i = 0; i < args.depth; ++i) {
    c -= step;
    const bool alive = step != 0 && p - c <= WINDOW;
    if (!__any_sync(ALL_LANES, alive)) break;
    step = alive ? before[c] : 0;
    try_candidate(words, p, c, most, alive, best, lane);
    if (best.length >= enough) step = 0;
  }
  const bool further = most >= LEAST && best.length < enough && row <= WINDOW && p >= row;
  try_candidate(words, p, p - row, most, further, best, lane);
  return match_of(best);
}

// The same for the effort without chains.
DEVICE u32 search_runs(const EncodeArgs& args, const u32* words, u32 unit, u32 p, u32 most, u32 lane) {
  const u32 enough = min(args.nice, most);
  BestMatch best = no_match(words, p);
  try_candidate(words, p, p - 1, most, most >= LEAST && p >= 1, best, lane);
  const bool further = most >= LEAST && best.length < enough && unit <= WINDOW && p >= unit;
  if (unit > 1) try_candidate(words, p, p - unit, most, further, best, lane);
  return match_of(best);
}

// All positions of this CUDA block's share.
template <u32 THREADS, bool RUNS>
DEVICE void search_share(const EncodeArgs& args) {
  static_assert(PART % 32 == 0 && SEARCHED % THREADS == 0, "a warp is in one part");
  const EncodeBlock block = args.blocks[blockIdx.x];
  const Share share = share_of(args, block, SEARCHED);
  const u32* words = packed_words(args, block);
  const MatchScratch scratch = match_scratch(args, block);
  const u32 lane = threadIdx.x & 31;
  // Whole warps go on or stop.
#pragma unroll 1
  for (u32 p = share.start + threadIdx.x; p - lane < share.end; p += THREADS) {
    const u32 part_end = min(block.len, (p / PART + 1) * PART);
    const u32 most = p < share.end ? min(MOST, part_end - p) : 0;
    const u32 match = RUNS ? search_runs(args, words, block.unit, p, most, lane)
                           : search_chain(args, words, scratch.before, block.row_len, p, most, lane);
    if (p < share.end) scratch.matches[p] = match;
  }
}
