// Builds a length-limited prefix code from the counts of an alphabet (`portable/spec.md`, "Code lengths"), by a group
// of warps: all threads sort by rank, one thread merges, all compute depths and codes.
#pragma once
#include "deflate/deflate_token.cuh"
#include "matches/match_bytes.cuh"

constexpr u32 LONGEST_CODE = 15;

template <u32 SIZE>
struct CodeWork {
  static_assert(SIZE % 4 == 0, "keys are compared by fours");
  alignas(16) u32 keys[SIZE];  // per symbol: count << 9 | symbol; for unused symbols, more than any of these
  u32 sorted[SIZE + 2];        // keys of used symbols, ascending; higher values behind them
  u32 weights[SIZE + 2];       // of inner nodes, in order of creation; higher values behind them
  u16 leaf_up[SIZE];           // the inner node above each leaf of `sorted`, and above each inner node
  u16 inner_up[SIZE];
  u32 used;
  u32 per_length[LONGEST_CODE + 1];
};

// The participating threads: `count` threads of whole warps, the number `thread` of this one, and their barrier. A
// single warp needs none: racecheck treats accesses of other warps at the block's barrier as unordered after a one-warp
// barrier.
struct CodeGroup {
  u32 thread, count, barrier;
  DEVICE void wait(const CodeGroup& group) {
    if (group.count == 32) {
      __syncwarp();
    } else {
      bar_sync(group.barrier, group.count);
    }
  }
};

// Two queues, leaves and inner nodes, both ascending; on ties the leaf is taken first. The first two entries of both
// queues are read before any is needed: a single thread runs this, and memory latency dominates.
template <u32 SIZE>
DEVICE void merge(CodeWork<SIZE>& work, u32 used) {
  u32 leaf = 0, inner = 0;
#pragma unroll 1
  for (u32 made = 0; made + 1 < used; ++made) {
    const u32 leaf_0 = work.sorted[leaf] >> 9, leaf_1 = work.sorted[leaf + 1] >> 9;
    const u32 inner_0 = work.weights[inner], inner_1 = work.weights[inner + 1];
    const bool first = leaf_0 <= inner_0, second = first ? leaf_1 <= inner_0 : leaf_0 <= inner_1;
    const u32 leaves = (first ? 1 : 0) + (second ? 1 : 0);
    if (leaves > 0) work.leaf_up[leaf] = (u16)made;
    if (leaves > 1) work.leaf_up[leaf + 1] = (u16)made;
    if (leaves < 2) work.inner_up[inner] = (u16)made;
    if (leaves < 1) work.inner_up[inner + 1] = (u16)made;
    work.weights[made] = leaves == 2 ? leaf_0 + leaf_1 : leaves == 1 ? leaf_0 + inner_0 : inner_0 + inner_1;
    leaf += leaves;
    inner += 2 - leaves;
  }
}

// Number of keys less than `key`.
template <u32 SIZE>
DEVICE u32 rank_of(const CodeWork<SIZE>& work, u32 key) {
  const uint4* keys = (const uint4*)work.keys;
  u32 rank = 0;
#pragma unroll 2
  for (u32 i = 0; i < SIZE / 4; ++i) {
    const uint4 four = keys[i];
    rank += (four.x < key ? 1 : 0) + (four.y < key ? 1 : 0) + (four.z < key ? 1 : 0) + (four.w < key ? 1 : 0);
  }
  return rank;
}

// Makes the code complete again after its lengths were cut to `limit`.
DEVICE void limit_lengths(u32* per_length, u32 limit) {
  u32 sum = 0;
#pragma unroll 1
  for (u32 length = 1; length <= limit; ++length) sum += per_length[length] << (limit - length);
#pragma unroll 1
  while (sum > 1u << limit) {
    u32 length = limit - 1;
    while (per_length[length] == 0) --length;
    --per_length[length];
    per_length[length + 1] += 2;
    --per_length[limit];
    --sum;
  }
}

// Symbols 0 to `size` - 1 and the maximum length of their codes. Each code is stored as its bits in output order |
// length << 16.
struct Alphabet {
  const u32* counts;
  u32* codes;
  u32 size, limit;
};

template <u32 SIZE>
DEVICE void make_code(CodeWork<SIZE>& work, const Alphabet& alphabet, const CodeGroup& group) {
  const u32* counts = alphabet.counts;
  const u32 size = alphabet.size, limit = alphabet.limit;
  u32* codes = alphabet.codes;
  for (u32 i = group.thread; i <= LONGEST_CODE; i += group.count) work.per_length[i] = 0;
  for (u32 i = group.thread; i < SIZE + 2; i += group.count) {
    if (i < SIZE) work.keys[i] = i < size && counts[i] != 0 ? counts[i] << 9 | i : ~0u;
    if (i < size) codes[i] = 0;
    work.sorted[i] = work.weights[i] = ~0u;
  }
  if (group.thread == 0) work.used = 0;
  CodeGroup::wait(group);
  for (u32 i = group.thread; i < size; i += group.count) {
    const u32 key = work.keys[i];
    if (key == ~0u) continue;
    work.sorted[rank_of(work, key)] = key;
    atomicAdd(&work.used, 1u);
  }
  CodeGroup::wait(group);
  const u32 used = work.used;
  if (group.thread == 0) merge(work, used);
  CodeGroup::wait(group);
  for (u32 i = group.thread; i < used; i += group.count) {
    u32 depth = 1;
    if (used > 1) {
      for (u32 node = work.leaf_up[i]; node != used - 2; node = work.inner_up[node]) ++depth;
    }
    atomicAdd(work.per_length + min(depth, limit), 1u);
  }
  CodeGroup::wait(group);
  if (group.thread == 0) limit_lengths(work.per_length, limit);
  CodeGroup::wait(group);
  // The rarest symbols get the longest codes.
  for (u32 i = group.thread; i < used; i += group.count) {
    u32 length = limit, longer = work.per_length[limit];
    while (longer <= i) longer += work.per_length[--length];
    codes[work.sorted[i] & 511] = length << 16;
  }
  CodeGroup::wait(group);
  if (group.thread < 32) {
    u32* next = work.weights;
    if (group.thread == 0) {
      u32 code = 0;
      for (u32 length = 1; length <= limit; ++length) {
        next[length] = code;
        code = (code + work.per_length[length]) << 1;
      }
    }
    __syncwarp();
#pragma unroll 1
    for (u32 i = group.thread; i - group.thread < size; i += 32) {
      const u32 length = i < size ? codes[i] >> 16 : 0;
      const u32 peers = __match_any_sync(ALL_LANES, length), before = peers & ((1u << group.thread) - 1);
      const u32 code = length != 0 ? next[length] + (u32)__popc(before) : 0;
      __syncwarp();
      if (length != 0) codes[i] = __brev(code) >> (32 - length) | length << 16;
      if (length != 0 && peers >> group.thread == 1) next[length] = code + 1;
      __syncwarp();
    }
  }
  CodeGroup::wait(group);
}
