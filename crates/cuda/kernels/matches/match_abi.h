// Scratch of the encoders that search for matches (`portable/spec.md`, "Matches"), and the share of a block that a CUDA
// block takes; counterparts of `src/encode/codec/matches.rs`. Each array begins at a multiple of 256 bytes:
//
//   u16 before[len]      distance to before(p), 0 if there is none
//   u32 matches[len]     match(p) as distance | length << 20, 0 if there is none
//   u32 starts[len/32]   bit p: a token begins at p
//
// followed by the codec's own data.
#pragma once
#include "encode_abi.h"
#include "matches/match_rules.cuh"

constexpr u32 MATCH_LENGTH_SHIFT = 20;

// Bytes of a block that a CUDA block of `search` and `runs` takes: its threads work in one window, which the
// first-level cache holds.
constexpr u32 SEARCHED = 16384;

struct MatchScratch {
  u16* before;
  u32* matches;
  u32* starts;
  u8* rest;
};

DEVICE u64 match_aligned(u64 bytes) { return (bytes + 255) & ~(u64)255; }

DEVICE MatchScratch match_scratch(const EncodeArgs& args, const EncodeBlock& block) {
  u8* at = args.scratch + block.scratch;
  MatchScratch scratch;
  scratch.before = (u16*)at;
  at += match_aligned((u64)block.len * 2);
  scratch.matches = (u32*)at;
  at += match_aligned((u64)block.len * 4);
  scratch.starts = (u32*)at;
  at += match_aligned(((u64)block.len + 31) / 32 * 4);
  scratch.rest = at;
  return scratch;
}

DEVICE u32 match_length(u32 match) { return match >> MATCH_LENGTH_SHIFT; }
DEVICE u32 match_distance(u32 match) { return match & ((1u << MATCH_LENGTH_SHIFT) - 1); }

// Returns whether a block has bytes to compress: not if it is sparse or a value did not fit. A relaxed load, because
// the last pass reports ENCODE_DONE for a block while other parts of it are still being processed.
DEVICE bool has_bytes(const EncodeArgs& args, const EncodeBlock& block) {
  const u32 state = relaxed_load(args.states + block.index);
  return state == ENCODE_PACKED || state == ENCODE_DONE;
}

// The positions from `start` to `end` of a block: the share of this CUDA block in a pass that works on `size` bytes. It
// is empty if `start` equals `end`.
struct Share {
  u32 start, end;
};

DEVICE Share share_of(const EncodeArgs& args, const EncodeBlock& block, u32 size) {
  const u64 start = (u64)blockIdx.y * size;
  if (start >= block.len || !has_bytes(args, block)) return {0, 0};
  return {(u32)start, (u32)start + min(block.len - (u32)start, size)};
}

DEVICE const u32* packed_words(const EncodeArgs& args, const EncodeBlock& block) {
  return (const u32*)(args.packed + block.src);
}
