// A length-limited prefix code from the counts of an alphabet (`portable/spec.md`, "Code lengths"), by a group of warps: sorted
// by ranks, merged by one thread, depths and codes by all.
#pragma once
#include "deflate_token.cuh"
#include "match_bytes.cuh"

constexpr u32 LONGEST_CODE = 15;

template <u32 SIZE>
struct CodeWork {
  u32 sorted[SIZE];    // symbols that come, count << 9 | symbol, ascending
  u32 weights[SIZE];   // of inner nodes, in the order in which they are made
  u16 leaf_up[SIZE];   // the inner node above a leaf of `sorted`, and above an inner node
  u16 inner_up[SIZE];
  u32 used;
  u32 per_length[LONGEST_CODE + 1];
};

// The threads at work: `count` of them, whole warps, this one number `thread`, and their barrier.
struct CodeGroup {
  u32 thread, count, barrier;
  DEVICE void wait(const CodeGroup& group) { bar_sync(group.barrier, group.count); }
};

// Two queues, leaves and inner nodes, both ascending; of equals the leaf is taken first.
template <u32 SIZE>
DEVICE void merge(CodeWork<SIZE>& work, u32 used) {
  u32 leaf = 0, inner = 0;
  u32 leaf_weight = work.sorted[0] >> 9, inner_weight = ~0u;
#pragma unroll 1
  for (u32 made = 0; made + 1 < used; ++made) {
    u32 weight = 0;
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
      if (leaf_weight <= inner_weight) {
        weight += leaf_weight;
        work.leaf_up[leaf++] = (u16)made;
        leaf_weight = leaf < used ? work.sorted[leaf] >> 9 : ~0u;
      } else {
        weight += inner_weight;
        work.inner_up[inner++] = (u16)made;
        inner_weight = inner < made ? work.weights[inner] : ~0u;
      }
    }
    work.weights[made] = weight;
    if (inner == made) inner_weight = weight;
  }
}

// Makes the code complete again after lengths were cut to `limit`.
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

// Lengths of all `size` symbols, and their codes: bits as they are written | length << 16.
template <u32 SIZE>
DEVICE void make_code(CodeWork<SIZE>& work, const u32* counts, u32 size, u32 limit, u32* codes, const CodeGroup& group) {
  for (u32 i = group.thread; i <= LONGEST_CODE; i += group.count) work.per_length[i] = 0;
  if (group.thread == 0) work.used = 0;
  CodeGroup::wait(group);
  for (u32 i = group.thread; i < size; i += group.count) {
    codes[i] = 0;
    const u32 key = counts[i] << 9 | i;
    if (counts[i] == 0) continue;
    u32 rank = 0;
#pragma unroll 4
    for (u32 j = 0; j < size; ++j) rank += counts[j] != 0 && (counts[j] << 9 | j) < key;
    work.sorted[rank] = key;
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
  // The rarest have the longest.
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
