// The LZ4 encoder (`portable/spec.md`, "LZ4"): makes the sequences of a part from its tokens with one CUDA block, 32
// positions per thread.
//
// Parts are LZ4 blocks; "block" here means an image block. Once tokens are chosen the chains are no longer needed:
// their two bytes per byte hold the list of a part's sequences, followed by the places of the literals of each. No
// match is shorter than four bytes and the last twelve bytes begin none, so there is room for both. The bits of
// `starts` become those of literals. Behind the scratch of matches follow the offset of every part's output and of the
// end, then one bit per byte for the positions of matches; counterparts of `src/encode/codec/lz4.rs`.
#pragma once
#include "block_scan.cuh"
#include "matches/match_abi.h"

namespace lz4_encode {

constexpr u32 THREADS = 1024;
constexpr u32 WARPS = THREADS / 32;
// No match begins in the last NO_START bytes of a part, and none extends into the last NO_MATCH.
constexpr u32 NO_START = 12, NO_MATCH = 5;
constexpr u32 LEAST_MATCH = 4;

static_assert(PART / 32 <= THREADS && PART <= 32768, "a word a thread; places in 16 bits");

struct Work {
  MatchScratch match;
  u32 part, parts;
  u32 start, len;   // of the part
  u32* literals;    // bits of its literal bytes
  u32* heads;       // bits of the first bytes of its matches
  u32* list;        // per sequence with a match: its begin << 16 | number of earlier literals of the part
  u32* offsets;     // of all parts
};

DEVICE Work work_of(const EncodeArgs& args, const EncodeBlock& block, u32 part) {
  Work work;
  work.match = match_scratch(args, block);
  work.part = part;
  work.parts = (block.len + PART - 1) / PART;
  work.start = part * PART;
  work.len = min(block.len - work.start, PART);
  work.offsets = (u32*)work.match.rest;
  work.literals = work.match.starts + work.start / 32;
  work.heads = work.offsets + work.parts + 1 + work.start / 32;
  work.list = (u32*)(work.match.before + work.start);
  return work;
}

// Bytes that a length takes beyond its four bits.
DEVICE u32 extra_bytes(u32 length) { return length < 15 ? 0 : (length - 15) / 255 + 1; }

// A sequence of a part: `literals` bytes and a match.
struct Sequence {
  u32 literals, length;
  u32 before;  // literals of the part before it
  u32 at;      // position of the match
};

DEVICE u32 sequence_size(const Sequence& sequence) {
  const u32 length = sequence.length - LEAST_MATCH;
  return 1 + extra_bytes(sequence.literals) + sequence.literals + 2 + extra_bytes(length);
}

// Counts of a part, or of everything before a thread's positions.
struct Counts {
  u32 literals, heads;
};

// The match of a sequence ends where the literals before the next begin.
DEVICE Sequence sequence_of(const Work& work, const Counts& all, u32 i) {
  const u32 own = work.list[i];
  const u32 next = i + 1 < all.heads ? work.list[i + 1] : work.len << 16 | all.literals;
  const u32 before = i > 0 ? work.list[i - 1] & 0xFFFF : 0;
  const u32 literals = own & 0xFFFF, at = own >> 16;
  return {literals - before, (next >> 16) - ((next & 0xFFFF) - literals) - at, before, at};
}

// The starts of a part's tokens, and the starts behind them: if all bits are set, all bytes are literals.
struct Starts {
  u32 words[PART / 32 + 1];
};

DEVICE void load_starts(Starts& starts, const Work& work) {
  const u32 first = threadIdx.x * 32;
  u32 word = 0xFFFFFFFFu;
  if (first < work.len) {
    word = work.match.starts[work.start / 32 + threadIdx.x];
    if (work.len - first < 32) word |= 0xFFFFFFFFu << (work.len - first);
  }
  if (threadIdx.x < PART / 32) starts.words[threadIdx.x] = word;
  if (threadIdx.x == 0) starts.words[PART / 32] = 0xFFFFFFFFu;
  __syncthreads();
  if (threadIdx.x == 0) {
    bool begun = false;
    for (u32 at = work.len < NO_START ? 0 : work.len - NO_START + 1; at < work.len; ++at) {
      begun = begun || at + NO_MATCH >= work.len || (starts.words[at / 32] >> at % 32 & 1) != 0;
      if (begun) starts.words[at / 32] |= 1u << at % 32;
    }
  }
  __syncthreads();
}

// The distance of the match that ends before `at`, 0 if a literal ends there.
DEVICE u32 distance_before(const Starts& starts, const Work& work, u32 at) {
  if (at == 0) return 0;
  u32 word = (at - 1) / 32;
  u32 bits = starts.words[word] & 0xFFFFFFFFu >> (31 - (at - 1) % 32);
  while (bits == 0 && word > 0) bits = starts.words[--word];
  const u32 last = word * 32 + 31 - u32(__clz(int(bits)));
  return last + 1 == at ? 0 : match_distance(work.match.matches[work.start + last]);
}

// Makes the bits of literals and of heads, and the list; returns their total counts. Ends with a barrier.
DEVICE Counts list_sequences(const Starts& starts, const Work& work, u32* warp_sums) {
  const u32 first = threadIdx.x * 32;
  u32 literals = 0, heads = 0;
  if (first < work.len) {
    const u32 own = starts.words[threadIdx.x], left = work.len - first;
    const u32 valid = left < 32 ? (1u << left) - 1 : 0xFFFFFFFFu;
    const u32 next = own >> 1 | starts.words[threadIdx.x + 1] << 31;
    literals = own & next & valid;
#pragma unroll 1
    for (u32 rest = own & ~next & valid; rest != 0; rest &= rest - 1) {
      const u32 bit = u32(__ffs(int(rest))) - 1;
      const u32 distance = match_distance(work.match.matches[work.start + first + bit]);
      if (distance_before(starts, work, first + bit) != distance) heads |= 1u << bit;
    }
    work.literals[threadIdx.x] = literals;
    work.heads[threadIdx.x] = heads;
  }
  const Prefix prefix = block_prefix<WARPS>(u32(__popc(literals)) | u32(__popc(heads)) << 16, warp_sums);
  u32 number = prefix.before >> 16;
  for (u32 rest = heads; rest != 0; rest &= rest - 1) {
    const u32 bit = u32(__ffs(int(rest))) - 1;
    const u32 before = (prefix.before & 0xFFFF) + u32(__popc(literals & ((1u << bit) - 1)));
    work.list[number++] = (first + bit) << 16 | before;
  }
  __syncthreads();
  return {prefix.total & 0xFFFF, prefix.total >> 16};
}

// Stores for every sequence the place of its literals, minus the number of earlier literals of the part. Returns the
// bytes of the whole LZ4 block, without its size.
DEVICE u32 place_sequences(const Work& work, const Counts& all, u32* warp_sums) {
  u32 size = 0;
  for (u32 first = 0; first < all.heads; first += THREADS) {
    const u32 i = first + threadIdx.x;
    Sequence sequence = {0, LEAST_MATCH, 0, 0};
    if (i < all.heads) sequence = sequence_of(work, all, i);
    const Prefix prefix = block_prefix<WARPS>(i < all.heads ? sequence_size(sequence) : 0, warp_sums);
    if (i < all.heads) {
      work.list[all.heads + i] = size + prefix.before + 1 + extra_bytes(sequence.literals) - sequence.before;
    }
    size += prefix.total;
    __syncthreads();
  }
  const u32 left = all.literals - (all.heads > 0 ? work.list[all.heads - 1] & 0xFFFF : 0);
  return size + 1 + extra_bytes(left) + left;
}

}  // namespace lz4_encode
