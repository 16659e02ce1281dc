// Executes LZ sequences (literals, then a match) by one warp, 32 at a time: for LZ4 and ZSTD.
//
// The output is written in steps of 512 bytes, four words of adjacent bytes a lane. A byte is a literal or a copy of an
// earlier byte. A copy from before the step is a load; a copy from inside it is chased to what its source is itself a
// copy of, every lane at once and doubling the distance each round, so that runs cost no more than nine rounds and no
// byte is read before it was written.
//
// The caller guarantees, for every sequence: 1 <= offset <= start of the match, literals inside their buffer, the end of
// the last one inside the output, three bytes at least in each but the last. Nothing here checks a size.
#pragma once
#include "device.h"

static const u32 WARP = 0xFFFFFFFFu;
static const u32 LANE_WORDS = 4;
static const u32 STEP_BYTES = 128 * LANE_WORDS;
// In the source of a byte: an index of a literal, else a position of the output. Both are below 2^30.
static const u32 LITERAL = 0x80000000u;

struct alignas(16) Sequence {
  u32 end;      // position of the output after it
  u32 match;    // where its literals end and its match starts
  u32 literal;  // index of a literal less its position in the output, modulo 2^32
  u32 offset;   // distance back of the match
};

// One for each warp, in shared memory. Entries after the last sequence have the same end as it.
struct Sequences {
  Sequence each[32];
  u32 end[32];  // those of `each`, ascending, to be searched
  u32 source[STEP_BYTES];
};

// Where literals come from: a byte each, or the same byte for all of them (mask 0).
struct Literals {
  const u8* bytes;
  u32 mask;
};

DEVICE void put_sequence(Sequences& s, u32 k, Sequence sequence) {
  s.each[k] = sequence;
  s.end[k] = sequence.end;
}

// Writes the output from `at` to the end of the last sequence. All 32 lanes call it, after a __syncwarp that follows the
// filling of `s`; it ends with one.
DEVICE void execute_sequences(Sequences& s, u8* dst, Literals literals, u32 at, u32 lane) {
  const u32 end = s.end[31];
  for (u32 base = at & ~3u; base < end; base += STEP_BYTES) {
    const u32 unwritten = max(base, at);
    // The first sequence that ends after a word's first byte that counts.
    u32 k[LANE_WORDS];
    for (u32 w = 0; w < LANE_WORDS; ++w) k[w] = 0;
    for (u32 step = 16; step != 0; step >>= 1) {
      for (u32 w = 0; w < LANE_WORDS; ++w) {
        const u32 sought = min(max(base + 128 * w + 4 * lane, at), end - 1);
        if (s.end[k[w] + step - 1] <= sought) k[w] += step;
      }
    }
    u32 source[LANE_WORDS][4];
    bool chase = false;
    for (u32 w = 0; w < LANE_WORDS; ++w) {
      const u32 first = base + 128 * w + 4 * lane;
      // Four bytes belong to two sequences at most, since the second has three or nothing follows it.
      const Sequence one = s.each[k[w]], two = s.each[min(k[w] + 1, 31u)];
      for (u32 j = 0; j < 4; ++j) {
        const u32 p = first + j;
        const bool other = p >= one.end;
        const u32 match = other ? two.match : one.match, literal = other ? two.literal : one.literal;
        const u32 copied = p - (other ? two.offset : one.offset);
        source[w][j] = p < at || p >= end ? LITERAL : p < match ? LITERAL | (p + literal) : copied;
        chase |= source[w][j] < LITERAL && source[w][j] >= unwritten;
      }
    }
    if (__any_sync(WARP, chase)) {
      for (;;) {
        for (u32 w = 0; w < LANE_WORDS; ++w) {
          for (u32 j = 0; j < 4; ++j) s.source[128 * w + 4 * lane + j] = source[w][j];
        }
        __syncwarp();
        bool more = false;
        for (u32 w = 0; w < LANE_WORDS; ++w) {
          for (u32 j = 0; j < 4; ++j) {
            u32& from = source[w][j];
            if (from < LITERAL && from >= unwritten) from = s.source[from - base];
            more |= from < LITERAL && from >= unwritten;
          }
        }
        __syncwarp();
        if (!__any_sync(WARP, more)) break;
      }
    }
    u32 words[LANE_WORDS];
    for (u32 w = 0; w < LANE_WORDS; ++w) {
      words[w] = 0;
      for (u32 j = 0; j < 4; ++j) {
        const u32 p = base + 128 * w + 4 * lane + j, from = source[w][j];
        if (p < at || p >= end) continue;
        const u8* byte = from >= LITERAL ? literals.bytes + (from & ~LITERAL & literals.mask) : dst + from;
        words[w] |= (u32)*byte << 8 * j;
      }
    }
    for (u32 w = 0; w < LANE_WORDS; ++w) {
      const u32 first = base + 128 * w + 4 * lane;
      if (first >= at && first + 4 <= end) {
        *(u32*)(dst + first) = words[w];
      } else {
        for (u32 j = 0; j < 4; ++j) {
          if (first + j >= at && first + j < end) dst[first + j] = (u8)(words[w] >> 8 * j);
        }
      }
    }
    __syncwarp();
  }
}
