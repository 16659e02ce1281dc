// The threads that work on one block of an image together: a warp, or all warps of a CUDA block. What is shared here is
// how they wait for each other and vote; a warp does both without shared memory.
#pragma once
#include "device.h"

// In shared memory, for groups larger than a warp. A vote uses one of three flags and clears the one after it, which
// nobody reads any more and nobody sets before this vote is over.
struct Votes {
  u32 flags[3];
};

template <u32 THREADS>
DEVICE void group_sync() {
  if (THREADS == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

// Before the first vote; `turn` starts as 0.
template <u32 THREADS>
DEVICE void group_open(Votes& votes, u32 thread) {
  if (THREADS != 32 && thread < 3) votes.flags[thread] = 0;
  group_sync<THREADS>();
}

// Whether it is so for any thread. Orders memory as group_sync does.
template <u32 THREADS>
DEVICE bool group_any(Votes& votes, u32& turn, bool value, u32 thread) {
  if (THREADS == 32) {
    __syncwarp();
    return __any_sync(0xFFFFFFFFu, value);
  }
  const u32 next = turn == 2 ? 0 : turn + 1;
  if (thread == 0) votes.flags[next] = 0;
  if (value) atomicOr(&votes.flags[turn], 1u);
  __syncthreads();
  const bool any = votes.flags[turn] != 0;
  turn = next;
  return any;
}
