// PackBits of the portable encoders (`portable/spec.md`): finds the positions that begin a token, as bitmaps.
//
// A run of three or more equal bytes always begins a token, and so does a row. From each of these heads on, one thread
// follows the tokens up to the next head; all heads are processed in parallel. A token depends only on the 128 bytes
// after it, and one bit of each is enough: whether the next byte of the row is equal.
#pragma once
#include "encode_abi.h"

namespace packbits_encode {

constexpr u32 THREADS = 256;
// Bytes per part; a part holds the rows that begin in it.
constexpr u32 PART = 16384;
constexpr u32 MOST = 128;

DEVICE u32 row_of(const EncodeBlock& block) { return max(block.row_len, 1u); }
DEVICE u32 parts_of(u32 len) { return (len + PART - 1) / PART; }

// `len` bytes from `first` on: whole rows; empty if no row begins in the part.
struct Rows {
  u32 first, len;
};

DEVICE u32 first_row_from(u32 at, const EncodeBlock& block) {
  const u32 row = row_of(block);
  return min((at + row - 1) / row * row, block.len);
}

DEVICE Rows rows_of(const EncodeBlock& block, u32 part) {
  const u32 first = first_row_from(part * PART, block);
  return {first, first_row_from(part * PART + PART, block) - first};
}

// Bitmaps of the rows of a part, one bit per byte, each beginning at its own word.
struct Maps {
  u32* equal;     // the next byte is of the same row and equal
  u32* starts;    // begins a token
  u32* literals;  // is part of a literal token
  u32 words;
};

// Scratch of a block: the offset of every part's output and of the end, then the three bitmaps of all parts.
DEVICE u32* offsets_of(const EncodeArgs& args, const EncodeBlock& block) {
  return (u32*)(args.scratch + block.scratch);
}

DEVICE Maps maps_of(const EncodeArgs& args, const EncodeBlock& block, u32 part, const Rows& rows) {
  const u32 parts = parts_of(block.len);
  const u32 all = block.len / 32 + parts + 1;
  u32* maps = offsets_of(args, block) + parts + 1 + rows.first / 32 + part;
  return {maps, maps + all, maps + 2 * u64(all), (rows.len + 31) / 32};
}

// 32 bits of a map from any bit on; 0 past its end.
DEVICE u32 bits_at(const u32* map, u32 words, u32 at) {
  const u32 word = at / 32;
  const u32 low = word < words ? map[word] : 0, high = word + 1 < words ? map[word + 1] : 0;
  return __funnelshift_r(low, high, at % 32);
}

// Bits of `equal` from a position on, more than MOST: all loaded at once, because a token waits for the one before it.
struct Ahead {
  u32 words[MOST / 32 + 1];
};

DEVICE Ahead equal_from(const Maps& maps, u32 at) {
  u32 raw[MOST / 32 + 2];
#pragma unroll
  for (u32 k = 0; k < MOST / 32 + 2; ++k) raw[k] = at / 32 + k < maps.words ? maps.equal[at / 32 + k] : 0;
  Ahead ahead;
#pragma unroll
  for (u32 k = 0; k < MOST / 32 + 1; ++k) ahead.words[k] = __funnelshift_r(raw[k], raw[k + 1], at % 32);
  return ahead;
}

// Number of bytes from the position on that are equal, at most MOST.
DEVICE u32 run_length(const Ahead& ahead) {
  u32 length = MOST;
#pragma unroll
  for (u32 k = MOST / 32; k-- > 0;) {
    const u32 other = ~ahead.words[k];
    if (other != 0) length = min(k * 32 + u32(__ffs(int(other))), MOST);
  }
  return length;
}

// Number of bytes from the position up to three equal ones, at most MOST.
DEVICE u32 literal_length(const Ahead& ahead) {
  u32 length = MOST;
#pragma unroll
  for (u32 k = MOST / 32; k-- > 0;) {
    const u32 three = ahead.words[k] & __funnelshift_r(ahead.words[k], ahead.words[k + 1], 1);
    if (three != 0) length = k * 32 + u32(__ffs(int(three))) - 1;
  }
  return length;
}

DEVICE void set_bits(u32* map, u32 at, u32 count) {
#pragma unroll 1
  for (const u32 end = at + count; at < end; at = (at / 32 + 1) * 32) {
    const u32 many = min(end - at, 32 - at % 32);
    atomicOr(map + at / 32, (0xFFFFFFFFu >> (32 - many)) << at % 32);
  }
}

// Returns whether a run of three or more begins at `at`, which is not the first of its row.
DEVICE bool begins_run(const Maps& maps, u32 at) {
  return (bits_at(maps.equal, maps.words, at - 1) & 7) == 6;
}

// Sets the bits of the tokens from the head `at` on, up to the next head or the end of the row.
DEVICE void follow(const Maps& maps, u32 at, u32 row_end) {
#pragma unroll 1
  do {
    set_bits(maps.starts, at, 1);
    const Ahead ahead = equal_from(maps, at);
    u32 taken;
    if ((ahead.words[0] & 1) != 0) {
      taken = run_length(ahead);
    } else {
      taken = min(literal_length(ahead), row_end - at);
      set_bits(maps.literals, at, taken);
    }
    at += taken;
  } while (at < row_end && !begins_run(maps, at));
}

// Follows the heads of word `word` of the maps.
DEVICE void follow_heads(const Maps& maps, u32 word, u32 row_len, u32 len) {
  const u32 equal = maps.equal[word], first = word * 32;
  const u32 before = word > 0 ? maps.equal[word - 1] : 0;
  const u32 after = bits_at(maps.equal, maps.words, first + 1);
  u32 heads = equal & after & ~(equal << 1 | before >> 31);
  for (u32 row = (first + row_len - 1) / row_len * row_len; row < min(first + 32, len); row += row_len) {
    heads |= 1u << row % 32;
  }
  for (; heads != 0; heads &= heads - 1) {
    const u32 at = first + u32(__ffs(int(heads))) - 1;
    follow(maps, at, min((at / row_len + 1) * row_len, len));
  }
}

// Output bytes for the bytes of a word: two per run; one more than its bytes per literal.
DEVICE u32 weight(u32 starts, u32 literals) {
  return u32(__popc(literals)) + u32(__popc(starts)) + u32(__popc(starts & ~literals));
}

}  // namespace packbits_encode
