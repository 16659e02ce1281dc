// Extracts literals and sequences of a part from its tokens with a CUDA block: 1024 positions at a time, four per
// thread, at most one of which begins a match.
#pragma once
#include "block_scan.cuh"
#include "zstd/zstd_encode_part.cuh"

// Copies of the literal counts, so that lanes with the same literal wait less for each other.
constexpr u32 ZSTD_COPIES = 4;

struct ZstdGathering {
  u32 counts[256 * ZSTD_COPIES];
  u32 sums[ZSTD_WARPS];
};

struct ZstdGathered {
  u32 literals, sequences;
  bool same;  // all bytes of the part are equal
};

// Four positions: their bytes, and one bit each for literals and for begins of matches.
struct ZstdFour {
  u32 bytes, literals, matches;
};

// The four positions from `p` on, which may be past the end. A token is a match if no token begins at the next
// position.
DEVICE ZstdFour zstd_four_at(const ZstdWork& work, u32 p) {
  if (p >= work.end) return {0, 0, 0};
  const u32 left = work.end - p, valid = left < 4 ? (1u << left) - 1 : 15, shift = p & 31;
  u32 bits = work.match.starts[p / 32] >> shift;
  if (shift == 28 && left > 4) bits |= (work.match.starts[p / 32 + 1] & 1) << 4;
  // A token is assumed to begin past the end.
  const u32 next = left <= 4 ? (bits & valid) >> 1 | 1u << (left - 1) : bits >> 1;
  return {work.words[p / 4], bits & valid & next, bits & valid & ~next};
}

// The distance of the match that ends before `p`, 0 if a literal ends there.
DEVICE u32 zstd_distance_before(const ZstdWork& work, u32 p) {
  if (p == work.start) return 0;
  u32 at = (p - 1) / 32, last = p - 1;
  u32 bits = work.match.starts[at] << (31 - (last & 31));
  if (bits >> 31 != 0) return 0;
  while (bits == 0 && at > work.start / 32) {
    bits = work.match.starts[--at];
    last = at * 32 + 31;
  }
  return bits == 0 ? 0 : match_distance(work.match.matches[last - (u32)__clz((int)bits)]);
}

// Fills `literals`, `found` and the counts of literals. Called by all threads; ends with a barrier.
DEVICE ZstdGathered zstd_gather(ZstdGathering& shared, const ZstdWork& work) {
  for (u32 i = threadIdx.x; i < 256 * ZSTD_COPIES; i += ZSTD_THREADS) shared.counts[i] = 0;
  __syncthreads();
  const u32 first = (work.words[work.start / 4] & 0xFF) * 0x01010101u;
  u32 literals = 0, sequences = 0, differ = 0;
#pragma unroll 1
  for (u32 base = work.start; base < work.end; base += 4 * ZSTD_THREADS) {
    const u32 p = base + 4 * threadIdx.x;
    const ZstdFour four = zstd_four_at(work, p);
    if (p < work.end) differ |= (four.bytes ^ first) << (work.end - p < 4 ? 8 * (4 - (work.end - p)) : 0);
    u32 match = 0, place = 0;
    if (four.matches != 0) {
      place = (u32)__ffs((int)four.matches) - 1;
      const u32 distance = match_distance(work.match.matches[p + place]);
      if (zstd_distance_before(work, p + place) != distance) match = distance;
    }
    const Prefix prefix =
        block_prefix<ZSTD_WARPS>((u32)__popc(four.literals) | (match != 0 ? 1u << 16 : 0), shared.sums);
    u32 at = literals + (prefix.before & 0xFFFF);
    if (match != 0) {
      const u32 before = at + (u32)__popc(four.literals & ((1u << place) - 1));
      const u32 number = sequences + (prefix.before >> 16);
      work.found[-1 - (i32)number] = zstd_found(p + place - work.start, before, match);
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      if ((four.literals >> k & 1) == 0) continue;
      const u32 literal = four.bytes >> 8 * k & 0xFF;
      work.literals[at++] = (u8)literal;
      atomicAdd(shared.counts + literal * ZSTD_COPIES + (threadIdx.x & (ZSTD_COPIES - 1)), 1u);
    }
    literals += prefix.total & 0xFFFF;
    sequences += prefix.total >> 16;
    __syncthreads();
  }
  // They may be written as whole words.
  if (threadIdx.x < (0 - literals & 3)) work.literals[literals + threadIdx.x] = 0;
  const bool same = __syncthreads_or(differ != 0) == 0;
  return {literals, sequences, same};
}
