// Turns the sources that segments wrote into bytes, tile by tile, in rounds.
//
// A source is a byte or the place of another source, always an earlier one. A round replaces every place by what is
// found HOPS places further on; a tile with only bytes left writes them out and is done. Threads read sources that
// others replace at the same time: old and new values lead to the same byte, and the new one is nearer to it. So a
// round leaves at most one in HOPS of the steps from any place to its byte, rounded up, and ROUNDS rounds leave none:
// an output has at most 2^30 bytes.
#pragma once
#include "deflate/deflate_split.cuh"

#define RESOLVE_THREADS 256u
#define HOPS 16u
#define ROUNDS 8u
#define TILE_QUADS (TILE_LEN / 4 / RESOLVE_THREADS)
static_assert(TILE_QUADS * 4 <= 32, "a bit for each source of a thread");

constexpr u64 steps_left(u64 steps, u32 rounds) {
  return rounds == 0 ? steps : steps_left((steps + HOPS - 1) / HOPS, rounds - 1);
}
static_assert(steps_left((u64)1 << 30, ROUNDS) <= 1, "a round more");

// Follows a thread's unresolved sources, all of them hop by hop, so that their loads overlap. Returns true if all led
// to bytes.
DEVICE bool follow(const u32* sources, u32 (&found)[TILE_QUADS * 4]) {
  u32 open = 1;
#pragma unroll 1
  for (u32 hop = 0; hop < HOPS && open != 0; ++hop) {
    open = 0;
#pragma unroll
    for (u32 i = 0; i < TILE_QUADS * 4; ++i) {
      if ((found[i] & SOURCE_KNOWN) == 0) found[i] = relaxed_load(sources + found[i]);
    }
#pragma unroll
    for (u32 i = 0; i < TILE_QUADS * 4; ++i) open |= ~found[i] & SOURCE_KNOWN;
  }
  return open == 0;
}

// Runs one round of a tile. Called by all threads.
DEVICE void resolve_tile(const Split& split, u32 tile, u8* decoded, u32 len, AdlerPart* parts, u32 thread) {
  u32 found[TILE_QUADS * 4], copied = 0;
#pragma unroll
  for (u32 i = 0; i < TILE_QUADS; ++i) {
    const u32 at = tile * TILE_LEN + (i * RESOLVE_THREADS + thread) * 4;
    Line line = {{SOURCE_KNOWN, SOURCE_KNOWN, SOURCE_KNOWN, SOURCE_KNOWN}};
    if (at < len) line = *(const Line*)(split.sources + at);
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      found[4 * i + k] = line.words[k];
      if ((line.words[k] & SOURCE_KNOWN) == 0) copied |= 1u << (4 * i + k);
    }
  }
  const bool all = follow(split.sources, found);
  // Sources that refer to these bytes now have one hop to go.
#pragma unroll
  for (u32 i = 0; i < TILE_QUADS * 4; ++i) {
    const u32 at = tile * TILE_LEN + (i / 4 * RESOLVE_THREADS + thread) * 4 + i % 4;
    if ((copied >> i & 1) != 0) relaxed_store(split.sources + at, found[i]);
  }
  if (!__syncthreads_and(all)) return;
  AdlerSum sum = {0, 0};
#pragma unroll
  for (u32 i = 0; i < TILE_QUADS; ++i) {
    const u32 at = tile * TILE_LEN + (i * RESOLVE_THREADS + thread) * 4;
    u32 bytes = 0;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) bytes |= (found[4 * i + k] & 0xFF) << 8 * k;
    if (at < len) *(u32*)(decoded + at) = bytes;
    const u32 four = dot_bytes(bytes, 0x01010101u, 0);
    sum.bytes += four;
    sum.weighted += (u64)at * four + dot_bytes(bytes, 0x03020100u, 0);
  }
  const AdlerPart part = adler_part(sum);
  if ((thread & 31) == 0) parts[thread / 32] = part;
  __syncthreads();
  if (thread == 0) {
    AdlerPart joined = {0, 0};
    for (u32 w = 0; w < RESOLVE_THREADS / 32; ++w) {
      joined.bytes += parts[w].bytes;
      joined.weighted += parts[w].weighted;
    }
    split.tiles[tile] = {1, joined.bytes, joined.weighted, 0};
  }
  // The parts are overwritten for the next tile.
  __syncthreads();
}
