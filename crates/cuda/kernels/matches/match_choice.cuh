// Chooses the positions of a part that begin a token (`portable/spec.md`, "Choice"), with a CUDA block.
//
// Every position has one successor, so the starts form a path. It is split into groups of 32 positions. For each
// position a warp finds, by doubling, where a path through it leaves the group and which positions it touches. Then one
// warp follows the path from group to group, several groups per lane, first from their beginning, then from where the
// previous lane left, until nothing changes: paths soon merge. The entry into a group selects the actual path among
// those through it.
#pragma once
#include "matches/match_abi.h"
#include "matches/match_bytes.cuh"

constexpr u32 CHOICE_THREADS = 512;
constexpr u32 CHOICE_WARPS = CHOICE_THREADS / 32;
constexpr u32 CHOICE_WINDOW = 4096;  // positions at a time
constexpr u32 CHOICE_TURNS = CHOICE_WINDOW / CHOICE_THREADS;  // groups per warp and window
constexpr u32 NO_ENTRY = 32;

struct Choice {
  u16 exits[CHOICE_WINDOW];  // per position: where its path leaves its group
  // Per group: the position at which it is entered, or NO_ENTRY.
  alignas(4) u8 entries[CHOICE_WINDOW / 32];
  u32 carry;  // where the path enters the next window, relative to its beginning
};

static_assert(CHOICE_WINDOW + (1u << (32 - MATCH_LENGTH_SHIFT)) <= 65536, "an exit in 16 bits");

// Where a path leaves its group, relative to the group's beginning, and the positions that it touches.
struct GroupPath {
  u32 exit, touched;
};

// Gain of a match; that of no match is less than any other.
DEVICE i32 gain_of(u32 match) {
  if (match == 0) return -(1 << 20);
  return GAIN_A_BYTE * (i32)match_length(match) - (32 - __clz((int)match_distance(match)));
}

// The path from the position of this lane, for all lanes of a warp at once; `p` may be past `end`.
DEVICE GroupPath group_path(const u32* matches, u32 p, u32 end, bool lazy, u32 lane) {
  const u32 match = p < end ? matches[p] : 0;
  u32 after = __shfl_down_sync(ALL_LANES, match, 1);
  if (lane == 31) after = p + 1 < end ? matches[p + 1] : 0;
  const bool taken = match != 0 && !(lazy && gain_of(after) > gain_of(match) + GAIN_AHEAD);
  GroupPath path = {lane + (taken ? match_length(match) : 1), 1u << lane};
#pragma unroll
  for (u32 round = 0; round < 5; ++round) {
    const u32 exit = __shfl_sync(ALL_LANES, path.exit, (int)(path.exit & 31));
    const u32 touched = __shfl_sync(ALL_LANES, path.touched, (int)(path.exit & 31));
    if (path.exit < 32) path = {exit, path.touched | touched};
  }
  return path;
}

// Groups per lane.
constexpr u32 CHOICE_SPAN = CHOICE_WINDOW / 32 / 32;
static_assert(CHOICE_SPAN == 4 && NO_ENTRY == 32, "the entries of a lane are one word");

// Follows the path from `at` through the groups of a lane, up to position `end` of the window; returns where it leaves.
DEVICE u32 follow(Choice& choice, u32 at, u32 end, u32 lane) {
  ((u32*)choice.entries)[lane] = NO_ENTRY * 0x01010101u;
#pragma unroll 1
  while (at < end) {
    choice.entries[at / 32] = (u8)(at & 31);
    at = choice.exits[at];
  }
  return at;
}

// Finds where the path enters each group of a window of `len` positions, with one warp. Every round makes at least one
// more lane right.
DEVICE void enter_groups(Choice& choice, u32 len, u32 lane) {
  const u32 end = min((lane + 1) * CHOICE_SPAN * 32, len);
  u32 entry = lane == 0 ? choice.carry : lane * CHOICE_SPAN * 32;
  u32 exit = follow(choice, entry, end, lane);
#pragma unroll 1
  for (;;) {
    const u32 before = __shfl_up_sync(ALL_LANES, exit, 1);
    const bool other = lane > 0 && before != entry;
    if (!__any_sync(ALL_LANES, other)) break;
    if (other) {
      entry = before;
      exit = follow(choice, entry, end, lane);
    }
  }
  __syncwarp();
  if (lane == 31) choice.carry = exit - len;
}

// Bits of `starts` past the end of the block have no meaning.
DEVICE void choose_part(Choice& choice, const MatchScratch& scratch, const Share& part, bool lazy) {
  const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) choice.carry = 0;
#pragma unroll 1
  for (u32 window = part.start; window < part.end; window += CHOICE_WINDOW) {
    const u32 len = min(part.end - window, CHOICE_WINDOW);
    u32 touched[CHOICE_TURNS];
#pragma unroll
    for (u32 turn = 0; turn < CHOICE_TURNS; ++turn) {
      const u32 at = turn * CHOICE_THREADS + warp * 32;
      const GroupPath path = group_path(scratch.matches, window + at + lane, part.end, lazy, lane);
      choice.exits[at + lane] = (u16)(at + path.exit);
      touched[turn] = path.touched;
    }
    __syncthreads();
    if (warp == 0) enter_groups(choice, len, lane);
    __syncthreads();
#pragma unroll
    for (u32 turn = 0; turn < CHOICE_TURNS; ++turn) {
      const u32 group = turn * CHOICE_WARPS + warp;
      const u32 entry = choice.entries[group];
      const u32 path = __shfl_sync(ALL_LANES, touched[turn], (int)(entry & 31));
      if (lane == 0 && group * 32 < len) scratch.starts[window / 32 + group] = entry == NO_ENTRY ? 0 : path;
    }
    __syncthreads();
  }
}
