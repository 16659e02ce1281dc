// What the passes of PackBits and LZW share: whether a block is theirs, and where its parts begin in its
// output.
#pragma once
#include "block_scan.cuh"
#include "encode_abi.h"

// Whether a block has bytes: not where it is sparse, or a value did not fit. Relaxed, because the last pass
// writes ENCODE_DONE while other CUDA blocks of it begin.
DEVICE bool to_compress(const EncodeArgs& args, const EncodeBlock& block) {
  const u32 state = relaxed_load(args.states + block.index);
  return state == ENCODE_PACKED || state == ENCODE_DONE;
}

// By a CUDA block: replaces each of `count` sizes by the sum of those before it and writes the sum of all
// after the last: `count + 1` numbers from `sizes` on. `warp_sums` is shared memory.
template <u32 WARPS, class Number>
DEVICE void sizes_to_offsets(Number* sizes, u32 count, u32* warp_sums) {
  Number sum = 0;
  for (u32 at = 0; at < count; at += WARPS * 32) {
    const u32 own = at + threadIdx.x;
    const Prefix prefix = block_prefix<WARPS>(own < count ? u32(sizes[own]) : 0, warp_sums);
    if (own < count) sizes[own] = sum + prefix.before;
    sum += prefix.total;
    __syncthreads();
  }
  if (threadIdx.x == 0) sizes[count] = sum;
}
