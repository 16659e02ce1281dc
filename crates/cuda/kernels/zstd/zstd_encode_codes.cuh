// Converts the sequences of a part to the numbers that are written, with a CUDA block: literals, length, offset value,
// and the count of each code.
//
// The recent distances before a sequence are the last three distinct ones. Any stretch of sequences has such a list,
// and the list of two consecutive stretches follows from theirs; so this is a prefix sum with another operation.
#pragma once
#include "zstd/zstd_encode_part.cuh"
#include "zstd/zstd_encode_table.cuh"

// Codes of literals and of lengths minus 3; their extra bits are the lowest bits of the number.
DEVICE u32 zstd_literals_code(u32 n) {
  if (n < 16) return n;
  if (n < 24) return 16 + (n - 16) / 2;
  if (n < 32) return 20 + (n - 24) / 4;
  if (n < 48) return 22 + (n - 32) / 8;
  return n < 64 ? 24 : zstd_log2(n) + 19;
}
DEVICE u32 zstd_match_code(u32 n) {
  if (n < 32) return n;
  if (n < 40) return 32 + (n - 32) / 2;
  if (n < 48) return 36 + (n - 40) / 4;
  if (n < 64) return 38 + (n - 48) / 8;
  if (n < 96) return 40 + (n - 64) / 16;
  return n < 128 ? 42 : zstd_log2(n) + 36;
}

// Distances below 2^16, the latest first; 0 for none.
struct ZstdRecent {
  u32 first, second, third;
};

DEVICE u64 zstd_recent_bits(const ZstdRecent& r) { return r.first | r.second << 16 | (u64)r.third << 32; }
DEVICE ZstdRecent zstd_recent(u64 bits) {
  return {(u32)bits & 0xFFFF, (u32)bits >> 16, (u32)(bits >> 32)};
}

DEVICE void zstd_recent_add(ZstdRecent& list, u32 distance) {
  if (distance == 0 || distance == list.first || distance == list.second || distance == list.third) return;
  if (list.first == 0) {
    list.first = distance;
  } else if (list.second == 0) {
    list.second = distance;
  } else if (list.third == 0) {
    list.third = distance;
  }
}

// Joins the lists of a stretch and the one after it.
DEVICE u64 zstd_recent_join(u64 before, u64 after) {
  const ZstdRecent older = zstd_recent(before);
  ZstdRecent list = zstd_recent(after);
  zstd_recent_add(list, older.first);
  zstd_recent_add(list, older.second);
  zstd_recent_add(list, older.third);
  return zstd_recent_bits(list);
}

struct ZstdLists {
  u64 warps[ZSTD_WARPS];
};

// The lists before the sequence of each thread; `carry` is the list before all of them, and is set to the one after.
DEVICE ZstdRecent zstd_recent_before(ZstdLists& lists, u32 distance, u64& carry) {
  const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  u64 list = distance;
#pragma unroll 1
  for (u32 step = 1; step < 32; step *= 2) {
    const u64 before = __shfl_up_sync(ZSTD_WARP, list, step);
    if (lane >= step) list = zstd_recent_join(before, list);
  }
  if (lane == 31) lists.warps[warp] = list;
  __syncthreads();
  u64 before = __shfl_up_sync(ZSTD_WARP, list, 1);
  if (lane == 0) before = 0;
  u64 own = carry;
#pragma unroll 1
  for (u32 w = 0; w < ZSTD_WARPS; ++w) {
    if (w == warp) own = carry;
    carry = zstd_recent_join(carry, lists.warps[w]);
  }
  __syncthreads();
  return zstd_recent(zstd_recent_join(own, before));
}

DEVICE u32 zstd_offset_value(const ZstdRecent& recent, u32 distance, u32 literals) {
  const u32 latest = literals != 0 ? 1 : 0;
  if (distance == recent.first && latest != 0) return 1;
  if (distance == recent.second) return 1 + latest;
  if (distance == recent.third) return 2 + latest;
  return distance + 3;
}

// Fills `sequences` and the counts of the three tables, which must be 0 before. Returns the extra bits of this thread's
// sequences. Called by all threads after a barrier; ends without one.
DEVICE u32 zstd_code_sequences(ZstdLists& lists, ZstdCoder* coders, const ZstdWork& work, u32 count,
                               u32 literals) {
  u64 carry = 0;
  u32 extra = 0;
#pragma unroll 1
  for (u32 base = 0; base < count; base += ZSTD_THREADS) {
    const u32 i = base + threadIdx.x;
    const u64* found = work.found - 1 - (i32)min(i, count - 1);
    const u64 here = found[0];
    const u32 before = i == 0 ? 0 : zstd_found_literals(found[1]);
    const u64 next = i + 1 < count ? found[-1] : 0;
    const u32 next_start = i + 1 < count ? zstd_found_start(next) : work.len;
    const u32 next_literals = i + 1 < count ? zstd_found_literals(next) : literals;
    const u32 distance = i < count ? zstd_found_distance(here) : 0;
    const ZstdRecent recent = zstd_recent_before(lists, distance, carry);
    if (i >= count) continue;
    const u32 run = zstd_found_literals(here) - before;
    // Up to the literals before the next sequence.
    const u32 length = next_start - (next_literals - zstd_found_literals(here)) - zstd_found_start(here) - 3;
    const u32 offset = zstd_offset_value(recent, distance, run);
    work.sequences[i] = zstd_sequence(run, length, offset);
    const u32 literals_code = zstd_literals_code(run), match_code = zstd_match_code(length);
    const u32 offset_code = zstd_log2(offset);
    atomicAdd(coders[ZSTD_LENGTHS].counts + literals_code, 1u);
    atomicAdd(coders[ZSTD_OFFSETS].counts + offset_code, 1u);
    atomicAdd(coders[ZSTD_MATCHES].counts + match_code, 1u);
    extra += zstd_length_bits[literals_code] + zstd_match_bits[match_code] + offset_code;
  }
  return extra;
}
