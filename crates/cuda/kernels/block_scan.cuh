// Prefix sums over all threads of a CUDA block of WARPS warps. The sums of the warps go through shared memory that the
// caller provides. There is one barrier inside; the caller needs another before the memory is reused.
#pragma once
#include "abi.h"

struct Prefix {
  u32 before;  // sum over the threads before this one
  u32 total;   // sum over all threads
};

template <u32 WARPS>
DEVICE Prefix block_prefix(u32 value, u32* warp_sums) {
  const u32 lane = threadIdx.x & 31;
  u32 sum = value;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 other = __shfl_up_sync(0xFFFFFFFFu, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  Prefix prefix = {sum - value, 0};
#pragma unroll
  for (u32 warp = 0; warp < WARPS; ++warp) {
    if (warp == threadIdx.x / 32) prefix.before += prefix.total;
    prefix.total += warp_sums[warp];
  }
  return prefix;
}
