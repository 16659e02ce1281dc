// match(p) of `portable/spec.md`: the best of a position's candidates, one position per lane, 32 positions at a time
// per warp. A warp continues as long as one of its lanes has candidates, so that its lanes can compare long matches
// together.
#pragma once
#include "matches/match_abi.h"
#include "matches/match_bytes.cuh"

// The best match so far of a position. Its length starts one below the minimum: candidates that are not longer are
// ignored.
struct BestMatch {
  u32 length, distance;
  u32 tail;  // the bytes that a longer match must have from three before this one's end to one behind it
};

static_assert(LEAST >= 4, "the first tail has four bytes");

DEVICE BestMatch no_match(const Spot& spot) {
  return {LEAST - 1, 0, word_at(spot.words, spot.p + LEAST - 4)};
}

// Tries one candidate for each lane that has one (`alive`).
DEVICE void try_candidate(const Spot& spot, u32 c, bool alive, BestMatch& best) {
  u32 agreed = 0;
  if (alive && word_at(spot.words, c + best.length - 3) == best.tail) agreed = agreed_near(spot, c);
  agreed = agreed_far(spot, c, agreed);
  if (agreed > best.length) best = {agreed, spot.p - c, word_at(spot.words, spot.p + agreed - 3)};
}

DEVICE u32 match_of(const BestMatch& best) {
  return best.length < LEAST ? 0 : best.distance | best.length << MATCH_LENGTH_SHIFT;
}

// The match of a spot among the candidates of its chain and the row above. No match is longer than the spot's `most`,
// so a match of that length also ends the search.
DEVICE u32 search_chain(const EncodeArgs& args, const u16* before, u32 row, const Spot& spot) {
  const u32 enough = min(args.nice, spot.most);
  BestMatch best = no_match(spot);
  u32 c = spot.p;
  u32 step = spot.most >= LEAST ? before[spot.p] : 0;
#pragma unroll 1
  for (u32 i = 0; i < args.depth; ++i) {
    c -= step;
    const bool alive = step != 0 && spot.p - c <= WINDOW;
    if (!__any_sync(ALL_LANES, alive)) break;
    step = alive ? before[c] : 0;
    try_candidate(spot, c, alive, best);
    if (best.length >= enough) step = 0;
  }
  const bool further = spot.most >= LEAST && best.length < enough && row <= WINDOW && spot.p >= row;
  try_candidate(spot, spot.p - row, further, best);
  return match_of(best);
}

// All positions of this CUDA block's share.
template <u32 THREADS>
DEVICE void search_share(const EncodeArgs& args) {
  static_assert(PART % 32 == 0 && SEARCHED % THREADS == 0, "a warp is in one part");
  const EncodeBlock block = args.blocks[blockIdx.x];
  const Share share = share_of(args, block, SEARCHED);
  const MatchScratch scratch = match_scratch(args, block);
  Spot spot = {packed_words(args, block), share.start + threadIdx.x, 0, threadIdx.x & 31};
  // Only whole warps continue or stop.
#pragma unroll 1
  for (; spot.p - spot.lane < share.end; spot.p += THREADS) {
    const u32 part_end = min(block.len, (spot.p / PART + 1) * PART);
    spot.most = spot.p < share.end ? min(MOST, part_end - spot.p) : 0;
    const u32 match = search_chain(args, scratch.before, block.row_len, spot);
    if (spot.p < share.end) scratch.matches[spot.p] = match;
  }
}
