// Shared by the passes of PackBits and LZW: whether a block is to be compressed, and where its parts begin in its
// output.
#pragma once
#include "block_scan.cuh"
#include "encode_abi.h"

// Returns whether a block has bytes: not if it is sparse or a value did not fit. A relaxed load, because the last pass
// writes ENCODE_DONE while other CUDA blocks of it begin.
DEVICE bool to_compress(const EncodeArgs& args, const EncodeBlock& block) {
  const u32 state = relaxed_load(args.states + block.index);
  return state == ENCODE_PACKED || state == ENCODE_DONE;
}

// With one CUDA block, replaces each of `count` sizes by the sum of those before it and writes the total after the
// last: `count + 1` numbers from `sizes` on. `warp_sums` is shared memory.
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
