// The stream of the portable LZW encoder (`portable/spec.md`): positions of the items of a segment.
//
// After a first Clear of nine bits a segment is a list of items: its codes, a Clear after every GROUP of them except
// the last, and a final item: Clear, or End in the last segment. The width of an item depends only on the number of
// items since the last Clear, so the number of codes of a segment determines the positions of all of them.
#pragma once
#include "encode_abi.h"

namespace lzw_encode {

// Bytes per segment.
constexpr u32 SEGMENT = 16384;
constexpr u32 CLEAR = 256, END = 257, FIRST = 258;
// The code that is never assigned: the table is cleared before it.
constexpr u32 FULL = 4094;
// Codes between two Clears, and the same including the Clear.
constexpr u32 GROUP = FULL - FIRST, ITEMS = GROUP + 1;
// The first items of 10, 11 and 12 bits after a Clear, and the bits before them.
constexpr u32 TEN = 512 - FIRST, ELEVEN = 1024 - FIRST, TWELVE = 2048 - FIRST;
constexpr u32 TEN_BIT = TEN * 9, ELEVEN_BIT = TEN_BIT + (ELEVEN - TEN) * 10;
constexpr u32 TWELVE_BIT = ELEVEN_BIT + (TWELVE - ELEVEN) * 11;
constexpr u32 GROUP_BITS = TWELVE_BIT + (ITEMS - TWELVE) * 12;
constexpr u32 FIRST_BITS = 9;

DEVICE u32 width_of(u32 since) { return since < TEN ? 9 : since < ELEVEN ? 10 : since < TWELVE ? 11 : 12; }

// Bits between a Clear and an item that follows it after `since` other items.
DEVICE u32 bits_before(u32 since) {
  if (since < TEN) return since * 9;
  if (since < ELEVEN) return TEN_BIT + (since - TEN) * 10;
  if (since < TWELVE) return ELEVEN_BIT + (since - ELEVEN) * 11;
  return TWELVE_BIT + (since - TWELVE) * 12;
}

// The item that holds a bit, counted from a Clear.
DEVICE u32 item_at(u32 bit) {
  if (bit < TEN_BIT) return bit / 9;
  if (bit < ELEVEN_BIT) return TEN + (bit - TEN_BIT) / 10;
  if (bit < TWELVE_BIT) return ELEVEN + (bit - ELEVEN_BIT) / 11;
  return TWELVE + (bit - TWELVE_BIT) / 12;
}

DEVICE u32 items_of(u32 codes) { return codes + (codes - 1) / GROUP + 1; }

// Bits of the items before `item` of a segment.
DEVICE u32 segment_bits(u32 item) { return item / ITEMS * GROUP_BITS + bits_before(item % ITEMS); }

DEVICE u32 segments_of(u32 len) { return (len + SEGMENT - 1) / SEGMENT; }

// Scratch of a block: bits before every segment and in total, number of codes of every segment, and the codes; each
// segment has its own place for them.
struct Scratch {
  u64* bits;
  u32* counts;
  u16* codes;
};

DEVICE Scratch scratch_of(const EncodeArgs& args, const EncodeBlock& block) {
  const u32 segments = segments_of(block.len);
  u64* bits = (u64*)(args.scratch + block.scratch);
  u32* counts = (u32*)(bits + segments + 1);
  return {bits, counts, (u16*)(counts + segments)};
}

}  // namespace lzw_encode
