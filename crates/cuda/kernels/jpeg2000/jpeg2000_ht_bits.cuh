// The bit streams of high-throughput code-blocks (ISO 15444-15, 7.1): forwards and backwards, low bits first, and the
// adaptive run lengths (MEL), high bits first. Beyond their ends they yield what the standard prescribes, without
// limit.
#pragma once
#include "device.h"

namespace jpeg2000_ht {

// Words are loaded one ahead of use, so that the latency overlaps with using the previous word's bits.

// Low bits first; after 0xFF the next byte has seven bits.
struct Forward {
  const u32* next;
  u32 ahead;    // the word before `next`
  u32 left;     // bytes from `ahead` on
  u32 fill;     // four bytes that follow the last one
  u32 stuffed;  // 1 if the last byte was 0xFF
  u32 count;    // number of bits held
  u64 held;
};

DEVICE Forward forward(const u32* words, u32 len, u32 fill) {
  return {words + 1, len > 0 ? *words : 0, len, fill, 0, 0, 0};
}

DEVICE void fetch(Forward& bits) {
  u32 word = bits.ahead;
  if (bits.left < 4) {
    const u32 own = (1u << 8 * bits.left) - 1;
    word = (word & own) | (bits.fill & ~own);
  }
  bits.left -= min(bits.left, 4u);
  if (bits.left > 0) bits.ahead = *bits.next;
  ++bits.next;
  const bool ones = ((~word - 0x01010101u) & word & 0x80808080u) != 0;
  if (!ones && bits.stuffed == 0) {
    bits.held |= (u64)word << bits.count;
    bits.count += 32;
    return;
  }
#pragma unroll 1
  for (u32 i = 0; i < 4; ++i, word >>= 8) {
    const u32 byte = word & 0xFF;
    bits.held |= (u64)(byte & 0xFFu >> bits.stuffed) << bits.count;
    bits.count += 8 - bits.stuffed;
    bits.stuffed = byte == 0xFF;
  }
}

// The next 32 bits, the first in the lowest place.
DEVICE u32 peek(Forward& bits) {
#pragma unroll 1
  while (bits.count < 32) fetch(bits);
  return (u32)bits.held;
}

DEVICE void skip(Forward& bits, u32 count) {
  bits.held >>= count;
  bits.count -= count;
}

// From the last byte to the first. A byte whose lower seven bits are ones has only these bits if the byte before was
// above 0x8F. Zeros follow the last bit.
struct Backward {
  const u32* next;  // the word before `ahead`
  u32 ahead;        // its first byte is in the lowest place
  u32 bytes;        // valid bytes of `ahead`, 1 to 4
  u32 left;         // bytes from `ahead` on
  u32 stuffed;
  u32 count;
  u64 held;
};

DEVICE u32 reversed(u32 word) { return __byte_perm(word, 0, 0x0123); }

DEVICE Backward backward(const u8* bytes, u32 len, u32 stuffed, u32 count, u32 held) {
  const u64 last = (u64)bytes + len - 1;
  const u32* const word = (const u32*)(last & ~3ull);
  const u32 there = (u32)(last & 3) + 1;
  return {word - 1, len > 0 ? reversed(*word) >> 8 * (4 - there) : 0, there, len, stuffed, count, held};
}

// Codes of quads: the last byte and a half hold the length of the stream; `half` has the other half.
DEVICE Backward backward_codes(const u8* bytes, u32 len, u32 half) {
  const u32 count = (half >> 4 & 7) == 7 ? 3 : 4;
  return backward(bytes, len, (half | 15) > 0x8F, count, half >> 4 & ((1u << count) - 1));
}

DEVICE Backward backward_refinement(const u8* bytes, u32 len) { return backward(bytes, len, 1, 0, 0); }

DEVICE void fetch(Backward& bits) {
  u32 word = bits.ahead;
  const u32 bytes = bits.bytes;
  if (bits.left < 4) word &= (1u << 8 * bits.left) - 1;
  bits.left -= min(bits.left, bytes);
  bits.bytes = 4;
  if (bits.left > 0) bits.ahead = reversed(*bits.next);
  --bits.next;
  const u32 sevens = word | 0x80808080u;
  if (((~sevens - 0x01010101u) & sevens & 0x80808080u) == 0) {
    bits.held |= (u64)word << bits.count;
    bits.count += 8 * bytes;
    bits.stuffed = word >> 8 * (bytes - 1) > 0x8F;
    return;
  }
#pragma unroll 1
  for (u32 i = 0; i < bytes; ++i, word >>= 8) {
    const u32 byte = word & 0xFF, short_by = bits.stuffed != 0 && (byte & 0x7F) == 0x7F ? 1 : 0;
    bits.held |= (u64)(byte & 0xFFu >> short_by) << bits.count;
    bits.count += 8 - short_by;
    bits.stuffed = byte > 0x8F;
  }
}

DEVICE u32 peek(Backward& bits) {
#pragma unroll 1
  while (bits.count < 32) fetch(bits);
  return (u32)bits.held;
}

DEVICE void skip(Backward& bits, u32 count) {
  bits.held >>= count;
  bits.count -= count;
}

// Events that are mostly 0, coded as lengths of runs. The low half of the last byte reads as ones.
struct Runs {
  const u8* bytes;
  u32 left;
  u32 last;
  u32 bits;   // bits of `last` that are left
  u32 state;  // 0 to 12
  u32 zeros;  // events of 0 still to come
  bool one;   // followed by a 1
};

DEVICE Runs runs(const u8* bytes, u32 len) { return {bytes, len, 0, 0, 0, 0, false}; }

DEVICE u32 bit(Runs& runs) {
  if (runs.bits == 0) {
    runs.bits = runs.last == 0xFF ? 7 : 8;
    runs.last = runs.left > 0 ? *runs.bytes | (runs.left == 1 ? 15u : 0u) : 0xFFu;
    ++runs.bytes;
    runs.left -= min(runs.left, 1u);
  }
  --runs.bits;
  return runs.last >> runs.bits & 1;
}

DEVICE bool event(Runs& runs) {
  if (runs.zeros == 0 && !runs.one) {
    // Number of bits of run lengths for each state, four bits each.
    const u32 len = (u32)(0x5433222111000ull >> 4 * runs.state) & 15;
    if (bit(runs) != 0) {
      runs.zeros = 1u << len;
      runs.state = min(runs.state + 1, 12u);
    } else {
      for (u32 i = 0; i < len; ++i) runs.zeros = runs.zeros << 1 | bit(runs);
      runs.one = true;
      runs.state -= min(runs.state, 1u);
    }
  }
  const bool is_one = runs.zeros == 0;
  runs.zeros -= min(runs.zeros, 1u);
  if (is_one) runs.one = false;
  return is_one;
}

}  // namespace jpeg2000_ht
