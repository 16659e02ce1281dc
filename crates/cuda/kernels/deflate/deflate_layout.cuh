// Computes where the parts of a block begin and which of them are stored, and writes the bytes before and behind them:
// one warp per block.
#pragma once
#include "deflate/adler.cuh"
#include "deflate/deflate_part.cuh"
#include "matches/match_bytes.cuh"

// Bits of a stored block of `len` bytes that begins at bit `at`.
DEVICE u32 stored_bits(u64 at, u32 len) { return 3 + ((0 - (u32)at - 3) & 7) + 32 + 8 * len; }

DEVICE void lay_out(const EncodeBlock& block, DeflateHead* head, DeflatePart* parts, u32* slab, u32 lane) {
  const u32 count = (block.len + PART - 1) / PART;
  u64 at = 16;
  AdlerSum sum = {0, 0};
#pragma unroll 1
  for (u32 first = 0; first < count; first += 32) {
    const u32 part = first + lane;
    const bool mine = part < count;
    const u32 start = part * PART, len = mine ? min(block.len - start, PART) : 0;
    const u32 dynamic = mine ? parts[part].bits : 0;
    if (mine) {
      sum.bytes += parts[part].adler_bytes;
      sum.weighted += (u64)start * parts[part].adler_bytes + parts[part].adler_weighted;
    }
    u64 begin = 0;
    u32 stored = 0;
#pragma unroll 1
    for (u32 k = 0; k < min(count - first, 32u); ++k) {
      const u32 as_stored = stored_bits(at, __shfl_sync(ALL_LANES, len, (int)k));
      const u32 as_dynamic = __shfl_sync(ALL_LANES, dynamic, (int)k);
      if (lane == k) {
        begin = at;
        stored = as_stored <= as_dynamic;
      }
      at += min(as_stored, as_dynamic);
    }
    if (mine) {
      parts[part].first = begin;
      parts[part].stored = stored;
      parts[part].last = part == count - 1;
    }
  }
  const u32 adler = adler_value(sum, block.len);
  if (lane == 0) {
    const u64 trailer = (at + 7) / 8;
    or_bits(slab, 0, 0x9C78);
    or_bits(slab, trailer * 8, __byte_perm(adler, 0, 0x0123));
    head->size = (u32)(trailer + 4);
  }
}
