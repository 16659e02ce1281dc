// Counts the symbols of a part and computes its share of the Adler-32, by a CUDA block.
#pragma once
#include "deflate/adler.cuh"
#include "deflate/deflate_part.cuh"

constexpr u32 COUNT_THREADS = 256;
constexpr u32 COUNT_WARPS = COUNT_THREADS / 32;

struct Counting {
  // One array per warp, so that warps do not wait for each other; later the first holds their sums.
  u32 counts[COUNT_WARPS][SYMBOLS];
  AdlerPart sums[COUNT_WARPS];
};

// Counts the tokens of a part that begins at `start`, and its end-of-block symbol.
DEVICE void count_symbols(Counting& counting, const Tokens& tokens, u32 start) {
  const u32 warp = threadIdx.x / 32;
  for (u32 i = threadIdx.x; i < COUNT_WARPS * SYMBOLS; i += COUNT_THREADS) (&counting.counts[0][0])[i] = 0;
  __syncthreads();
  u32* counts = counting.counts[warp];
  AdlerSum sum = {0, 0};
#pragma unroll 1
  for (u32 p = start + threadIdx.x * 4; p < tokens.end; p += COUNT_THREADS * 4) {
    const Quadruple four = quadruple_at(tokens, p);
    const u32 left = tokens.end - p;
    const u32 bytes = left < 4 ? four.bytes & ((1u << 8 * left) - 1) : four.bytes;
    const u32 all = dot_bytes(bytes, 0x01010101u, 0);
    sum.bytes += all;
    sum.weighted += (u64)(p - start) * all + dot_bytes(bytes, 0x03020100u, 0);
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      if (four.literals >> k & 1) atomicAdd(counts + (bytes >> 8 * k & 0xFF), 1u);
    }
    if (four.match != 0) {
      atomicAdd(counts + length_symbol(match_length(four.match)).symbol, 1u);
      atomicAdd(counts + DISTANCES_AT + distance_symbol(match_distance(four.match)).symbol, 1u);
    }
  }
  __syncwarp();
  const AdlerPart adler = adler_part(sum);
  if ((threadIdx.x & 31) == 0) counting.sums[warp] = adler;
  __syncthreads();
  for (u32 i = threadIdx.x; i < SYMBOLS; i += COUNT_THREADS) {
    u32 count = i == END_OF_BLOCK ? 1 : 0;
#pragma unroll
    for (u32 k = 0; k < COUNT_WARPS; ++k) count += counting.counts[k][i];
    counting.counts[0][i] = count;
  }
  __syncthreads();
}

// The sums of a part as stored in `DeflatePart`; call after `count_symbols`.
DEVICE AdlerPart counted_adler(const Counting& counting) {
  AdlerPart all = {0, 0};
  for (u32 k = 0; k < COUNT_WARPS; ++k) {
    all.bytes += counting.sums[k].bytes;
    all.weighted += counting.sums[k].weighted;
  }
  return {all.bytes % 65521u, all.weighted % 65521u};
}
