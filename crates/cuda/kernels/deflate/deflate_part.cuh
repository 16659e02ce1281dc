// State of each part between the Deflate passes: made by `deflate_count`, completed by `deflate_layout`, read by
// `deflate_emit`. It lies in scratch behind that of matches; counterparts of `src/encode/codec/deflate.rs`.
#pragma once
#include "deflate/deflate_token.cuh"

// The longest header of a dynamic block: 17 bits, 19 times 3 bits, 316 lengths of 7 bits each.
constexpr u32 HEADER_WORDS = 76;
static_assert(HEADER_WORDS * 32 >= 17 + 19 * 3 + 316 * 7, "the longest header");

struct DeflatePart {
  u64 first;           // bit of the block's compressed bytes at which it begins
  u32 bits;            // total, as a dynamic block
  u32 header_bits;     // part of those
  u32 adler_bytes;     // sum of its bytes and sum of (position in the part) * byte, both modulo 65521
  u32 adler_weighted;
  u32 stored;          // 1: written as a stored block
  u32 last;            // 1: last part of its block
  u32 codes[SYMBOLS];  // bits in output order | number << 16
  u32 header[HEADER_WORDS];  // without BFINAL; 0 behind its bits
};

struct DeflateHead {
  u32 size;  // total bytes
  u32 reserved[3];
};

static_assert(sizeof(DeflatePart) == 1616, "twin of src/encode/codec/deflate.rs");
static_assert(sizeof(DeflateHead) == 16, "twin of src/encode/codec/deflate.rs");

DEVICE DeflateHead* deflate_head(const MatchScratch& scratch) { return (DeflateHead*)scratch.rest; }
DEVICE DeflatePart* deflate_parts(const MatchScratch& scratch) {
  return (DeflatePart*)(scratch.rest + sizeof(DeflateHead));
}

// ORs bits into zeroed words from bit `at` on; other threads may write other bits of these words.
DEVICE void or_bits(u32* words, u64 at, u32 bits) {
  const u32 shift = (u32)at & 31;
  if (bits << shift != 0) atomicOr(words + (at >> 5), bits << shift);
  if (shift != 0 && bits >> (32 - shift) != 0) atomicOr(words + (at >> 5) + 1, bits >> (32 - shift));
}
