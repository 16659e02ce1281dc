// The header of a dynamic block (RFC 1951, 3.2.7): encodes the lengths of its codes. Called by all threads of a CUDA
// block, two lengths and two symbols each.
#pragma once
#include "block_scan.cuh"
#include "deflate/deflate_code.cuh"
#include "deflate/deflate_count.cuh"

constexpr u32 LENGTH_CODES = 19;
constexpr u32 LENGTH_CODE_LIMIT = 7;
CONSTANT u8 LENGTH_CODE_ORDER[LENGTH_CODES] = {16, 17, 18, 0,  8, 7,  9, 6,  10, 5,
                                               11, 4,  12, 3, 13, 2, 14, 1, 15};

struct LengthsWork {
  u32 literals, distances;         // number of symbols whose lengths are written
  u32 starts[11];                  // bit i: a run of equal lengths begins at length i, or all end there
  u8 lengths[SYMBOLS];             // of both codes, concatenated
  u16 list[LITERALS + DISTANCES];  // symbols that encode them, symbol | extra << 8
  u32 counts[32], codes[32];       // of those symbols
  u32 header[HEADER_WORDS + 1];
  u32 sums[COUNT_WARPS];
  CodeWork<32> work;
};

static_assert(COUNT_THREADS * 2 >= LITERALS + DISTANCES, "two lengths a thread");

// Calls `each` with the symbols and extra bits that encode a run of `run` times `length`, in order.
template <class Each>
DEVICE void each_symbol(u32 length, u32 run, Each each) {
  if (length == 0) {
    while (run >= 11) {
      const u32 taken = min(run, 138u);
      each(18u, taken - 11);
      run -= taken;
    }
    if (run >= 3) {
      each(17u, run - 3);
      run = 0;
    }
  } else {
    each(length, 0u);
    --run;
    while (run >= 3) {
      const u32 taken = min(run, 6u);
      each(16u, taken - 3);
      run -= taken;
    }
  }
  for (; run > 0; --run) each(length, 0u);
}

// Joins the lengths of both codes and finds the runs in them.
DEVICE void find_runs(LengthsWork& work, const u32* codes) {
  if (threadIdx.x == 0) {
    work.literals = 257;
    work.distances = 1;
  }
  if (threadIdx.x < 32) work.counts[threadIdx.x] = 0;
  if (threadIdx.x <= HEADER_WORDS) work.header[threadIdx.x] = 0;
  if (threadIdx.x < 11) work.starts[threadIdx.x] = 0;
  __syncthreads();
  for (u32 i = threadIdx.x; i < LITERALS; i += COUNT_THREADS) {
    if (codes[i] != 0) atomicMax(&work.literals, i + 1);
    if (i < DISTANCES && codes[DISTANCES_AT + i] != 0) atomicMax(&work.distances, i + 1);
  }
  __syncthreads();
  const u32 all = work.literals + work.distances;
  for (u32 i = threadIdx.x; i < all; i += COUNT_THREADS) {
    work.lengths[i] = (u8)(codes[i < work.literals ? i : i - work.literals + DISTANCES_AT] >> 16);
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i <= all; i += COUNT_THREADS) {
    const bool begins = i == 0 || i == all || work.lengths[i] != work.lengths[i - 1];
    if (begins) atomicOr(&work.starts[i / 32], 1u << (i & 31));
  }
  __syncthreads();
}

// Length of the run that begins at `i`, 0 if none does.
DEVICE u32 run_at(const LengthsWork& work, u32 i, u32 all) {
  if (i >= all || (work.starts[i / 32] >> (i & 31) & 1) == 0) return 0;
  u32 word = i / 32, later = work.starts[word] & ~((2u << (i & 31)) - 1);
  while (later == 0) later = work.starts[++word];
  return word * 32 + (u32)__ffs((int)later) - 1 - i;
}

// Lists the symbols of all runs and returns their number. Call after `find_runs`.
DEVICE u32 list_lengths(LengthsWork& work) {
  const u32 all = work.literals + work.distances;
  u32 runs[2], mine = 0;
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    const u32 i = threadIdx.x * 2 + k;
    runs[k] = run_at(work, i, all);
    if (runs[k] > 0) each_symbol(work.lengths[i], runs[k], [&](u32, u32) { ++mine; });
  }
  const Prefix prefix = block_prefix<COUNT_WARPS>(mine, work.sums);
  u32 at = prefix.before;
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    if (runs[k] == 0) continue;
    each_symbol(work.lengths[threadIdx.x * 2 + k], runs[k], [&](u32 symbol, u32 extra) {
      work.list[at++] = (u16)(symbol | extra << 8);
      atomicAdd(&work.counts[symbol], 1u);
    });
  }
  __syncthreads();
  return prefix.total;
}

// Assembles the header of `listed` symbols, once their code is made; returns its bits.
DEVICE u32 join_header(LengthsWork& work, u32 listed) {
  u32 codes = LENGTH_CODES;
  while (codes > 4 && work.codes[LENGTH_CODE_ORDER[codes - 1]] == 0) --codes;
  if (threadIdx.x == 0) {
    or_bits(work.header, 0, 4 | (work.literals - 257) << 3 | (work.distances - 1) << 8 | (codes - 4) << 13);
  }
  if (threadIdx.x < codes) {
    or_bits(work.header, 17 + 3 * threadIdx.x, work.codes[LENGTH_CODE_ORDER[threadIdx.x]] >> 16);
  }
  u32 bits[2], counts[2];
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    const u32 i = threadIdx.x * 2 + k;
    bits[k] = counts[k] = 0;
    if (i >= listed) continue;
    const u32 symbol = work.list[i] & 0xFF, code = work.codes[symbol];
    bits[k] = (code & 0xFFFF) | (u32)(work.list[i] >> 8) << (code >> 16);
    counts[k] = (code >> 16) + (symbol < 16 ? 0 : symbol == 16 ? 2 : symbol == 17 ? 3 : 7);
  }
  const Prefix prefix = block_prefix<COUNT_WARPS>(counts[0] + counts[1], work.sums);
  const u32 at = 17 + 3 * codes + prefix.before;
  if (counts[0] != 0) or_bits(work.header, at, bits[0]);
  if (counts[1] != 0) or_bits(work.header, at + counts[0], bits[1]);
  __syncthreads();
  return 17 + 3 * codes + prefix.total;
}
