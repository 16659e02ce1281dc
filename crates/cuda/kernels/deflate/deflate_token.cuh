// Tokens of a part as Deflate symbols (RFC 1951, 3.2.5), from the bitmap of starts and the matches.
#pragma once
#include "matches/match_abi.h"

constexpr u32 END_OF_BLOCK = 256;
constexpr u32 LITERALS = 286;   // symbols of literals, lengths and end-of-block
constexpr u32 DISTANCES = 30;
constexpr u32 DISTANCES_AT = 288;  // offset of distances in arrays of both
constexpr u32 SYMBOLS = 320;       // size of such arrays

struct Symbol {
  u32 symbol;
  u32 extra;       // value of its extra bits
  u32 extra_bits;
};

DEVICE u32 log2_of(u32 v) { return 31 - (u32)__clz((int)v); }

DEVICE Symbol length_symbol(u32 length) {
  const u32 v = length - 3;
  if (length == 258) return {285, 0, 0};
  if (v < 8) return {257 + v, 0, 0};
  const u32 bits = log2_of(v) - 2;
  return {257 + 4 * bits + (v >> bits), v & ((1u << bits) - 1), bits};
}

DEVICE Symbol distance_symbol(u32 distance) {
  const u32 v = distance - 1;
  if (v < 4) return {v, 0, 0};
  const u32 bits = log2_of(v) - 1;
  return {2 * bits + (v >> bits), v & ((1u << bits) - 1), bits};
}

// Extra bits of a symbol; distances are counted from DISTANCES_AT.
DEVICE u32 extra_bits_of(u32 symbol) {
  if (symbol >= DISTANCES_AT) return symbol < DISTANCES_AT + 4 ? 0 : (symbol - DISTANCES_AT) / 2 - 1;
  return symbol < 265 || symbol >= 285 ? 0 : (symbol - 261) / 4;
}

// Positions that a thread takes at a time, aligned. At most one match begins among them, and no literal follows it.
struct Quadruple {
  u32 bytes;
  u32 literals;  // bit k: the token at position k is a literal
  u32 match;     // the match that begins among them, or 0
};

static_assert(LEAST >= 4, "one match among four positions");

// Input of the tokens of a part, which ends at `end`.
struct Tokens {
  const u32* words;
  MatchScratch scratch;
  u32 end;
};

// The four positions from `p` on, which may be past the end. A token is a match if no token begins at the next
// position.
DEVICE Quadruple quadruple_at(const Tokens& tokens, u32 p) {
  if (p >= tokens.end) return {0, 0, 0};
  const u32 left = tokens.end - p;
  const u32 count = min(left, 4u), valid = (1u << count) - 1, shift = p & 31;
  u32 bits = tokens.scratch.starts[p / 32] >> shift;
  if (shift == 28 && left > 4) bits |= (tokens.scratch.starts[p / 32 + 1] & 1) << 4;
  const u32 begin = bits & valid;
  // A token is assumed to begin past the end.
  const u32 next = bits >> 1 | (left <= 4 ? 1u << (count - 1) : 0);
  const u32 match = begin & ~next;
  const u32* matches = tokens.scratch.matches + p;
  return {tokens.words[p / 4], begin & next, match == 0 ? 0 : matches[__ffs((int)match) - 1]};
}
