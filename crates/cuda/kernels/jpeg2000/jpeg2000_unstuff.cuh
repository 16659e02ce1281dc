// Converts codeword segments to plain bits (ISO 15444-1, C.3.4 and D.6), in place: after a byte 0xFF only seven bits of
// the next byte count, and its eighth is a carry (arithmetic coding) or nothing (raw bits). If that byte is more than
// 0x8F, or after the end, everything that follows is ones. Words are written as numbers whose highest bit is the first.
//
// Because carries are resolved here, the decoder takes 32 bits at a time. Output never overtakes input, because it is
// no longer.
#pragma once
#include "jpeg2000/jpeg2000_abi.h"

namespace jpeg2000 {

// Adds 1 to the number that ends before word `end`.
DEVICE void carry(u32* words, u32 end) {
  while (end > 0 && ++words[--end] == 0) {
  }
}

// Returns whether any of four bytes is 0xFF.
DEVICE bool has_ones(u32 word) { return ((~word - 0x01010101u) & word & 0x80808080u) != 0; }

DEVICE void unstuff(const Jpeg2000Segment& segment) {
  u32* const words = (u32*)segment.words;
  const u32 count = (segment.len + 3) / 4;
  u64 bits = 0;
  u32 held = 0, done = 0, before = 0;
  bool ended = false;
  u32 next = words[0];
  for (u32 i = 0; i < count && !ended; ++i) {
    u32 word = next;
    next = words[i + 1];
    const u32 left = min(segment.len - 4 * i, 4u);
    if (left == 4 && before != 0xFF && !has_ones(word)) {
      bits = bits << 32 | __byte_perm(word, 0, 0x0123);
      words[done++] = (u32)(bits >> held);
      bits &= (1ull << held) - 1;
      before = word >> 24;
      continue;
    }
    for (u32 j = 0; j < left; ++j, word >>= 8) {
      const u32 byte = word & 0xFF;
      const bool stuffed = before == 0xFF;
      ended = stuffed && byte > 0x8F;
      if (ended) break;
      const u32 more = stuffed ? 7 : 8;
      held += more;
      bits = (bits << more) + (segment.raw && stuffed ? byte & 0x7F : byte);
      if (bits >> held != 0) {
        bits &= (1ull << held) - 1;
        carry(words, done);
      }
      before = byte;
    }
    if (held >= 32) {
      held -= 32;
      words[done++] = (u32)(bits >> held);
      bits &= (1ull << held) - 1;
    }
  }
  if (held > 0) words[done++] = (u32)(bits << (32 - held)) | 0xFFFFFFFFu >> held;
  while (done <= count) words[done++] = 0xFFFFFFFFu;
}

}  // namespace jpeg2000
