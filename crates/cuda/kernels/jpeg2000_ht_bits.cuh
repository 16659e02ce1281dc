// The bit streams of high-throughput code-blocks (ISO 15444-15, 7.1): forwards and backwards, low bits first, and the
// adaptive run lengths (MEL), high bits first. Beyond their ends they give what the standard says, for ever.
#pragma once
#include "device.h"

namespace jpeg2000_ht {

// Low bits first; after 0xFF the next byte has seven bits.
struct Forward {
  const u32* next;
  u32 left;     // bytes
  u32 fill;     // four bytes that follow the last
  u32 stuffed;  // 1 where the last byte was 0xFF
  u32 count;    // of bits held
  u64 held;
};

DEVICE Forward forward(const u32* words, u32 len, u32 fill) { return {words, len, fill, 0, 0, 0}; }

DEVICE void fetch(Forward& bits) {
  u32 word = bits.left > 0 ? *bits.next : bits.fill;
  if (bits.left < 4) {
    const u32 own = (1u << 8 * bits.left) - 1;
    word = (word & own) | (bits.fill & ~own);
  }
  ++bits.next;
  bits.left -= min(bits.left, 4u);
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

// The next 32 bits, the first of them lowest.
DEVICE u32 peek(Forward& bits) {
#pragma unroll 1
  while (bits.count < 32) fetch(bits);
  return (u32)bits.held;
}

DEVICE void skip(Forward& bits, u32 count) {
  bits.held >>= count;
  bits.count -= count;
}

// From the last byte to the first; a byte whose lower seven bits are ones has only those where the byte before was above
// 0x8F. Zeros follow the last.
struct Backward {
  const u8* bytes;
  u32 left;
  u32 stuffed;
  u32 count;
  u64 held;
};

// Codes of quads: the last byte and a half tell the length of the stream, `half` has the other half.
DEVICE Backward backward_codes(const u8* bytes, u32 len, u32 half) {
  const u32 count = (half >> 4 & 7) == 7 ? 3 : 4;
  return {bytes, len, (half | 15) > 0x8F, count, half >> 4 & ((1u << count) - 1)};
}

DEVICE Backward backward_refinement(const u8* bytes, u32 len) { return {bytes, len, 1, 0, 0}; }

DEVICE u32 peek(Backward& bits) {
#pragma unroll 1
  while (bits.count < 32) {
    const u32 byte = bits.left > 0 ? bits.bytes[bits.left - 1] : 0;
    bits.left -= min(bits.left, 1u);
    const u32 short_by = bits.stuffed != 0 && (byte & 0x7F) == 0x7F ? 1 : 0;
    bits.held |= (u64)(byte & 0xFFu >> short_by) << bits.count;
    bits.count += 8 - short_by;
    bits.stuffed = byte > 0x8F;
  }
  return (u32)bits.held;
}

DEVICE void skip(Backward& bits, u32 count) {
  bits.held >>= count;
  bits.count -= count;
}

// Events that are mostly 0, told as lengths of runs. The low half of the last byte reads as ones.
struct Runs {
  const u8* bytes;
  u32 left;
  u32 last;
  u32 bits;   // of `last` that are left
  u32 state;  // 0 to 12
  u32 zeros;  // events of 0 to come
  bool one;   // and a 1 after them
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
    // Bits of run lengths for each state, four bits each.
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
