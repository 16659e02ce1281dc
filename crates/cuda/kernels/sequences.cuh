// Executes LZ sequences (literals, then a match) by one warp, 32 at a time: for LZ4 and ZSTD.
//
// The output is written in steps of 128 bytes, four adjacent bytes a lane. A byte is a literal or a copy of an earlier
// byte. A copy from before the step is a load; a copy from inside it is chased to what its source is itself a copy of,
// every lane at once and doubling the distance each round, so that runs cost no more than seven rounds and no byte is
// read before it was written.
//
// The caller guarantees, for every sequence: 1 <= offset <= start of the match, literals inside their buffer, the end of
// the last one inside the output. Nothing here checks a size.
#pragma once
#include "device.h"

static const u32 WARP = 0xFFFFFFFFu;
static const u32 STEP_BYTES = 128;
// In the source of a byte: an index of a literal, else a position of the output. Both are below 2^30.
static const u32 LITERAL = 0x80000000u;

// One for each warp, in shared memory. Entries after the last sequence have the same `end` as it.
struct Sequences {
  u32 end[32];      // position of the output after the sequence, ascending
  u32 match[32];    // where its literals end and its match starts
  u32 literal[32];  // index of a literal less its position in the output, modulo 2^32
  u32 offset[32];   // distance back of the match
  u32 source[STEP_BYTES];
};

// Where literals come from: a byte each, or the same byte for all of them (mask 0).
struct Literals {
  const u8* bytes;
  u32 mask;
};

// Writes the output from `at` to the end of the last sequence. All 32 lanes call it, after a __syncwarp that follows the
// filling of `s`; it ends with one.
DEVICE void execute_sequences(Sequences& s, u8* dst, Literals literals, u32 at, u32 lane) {
  const u32 end = s.end[31];
  for (u32 base = at & ~3u; base < end; base += STEP_BYTES) {
    const u32 unwritten = max(base, at);
    const u32 first = base + 4 * lane;
    u32 source[4];
    if (first < end) {
      // The first sequence that ends after the lane's first byte.
      const u32 sought = max(first, at);
      u32 k = 0;
      for (u32 step = 16; step != 0; step >>= 1) {
        if (s.end[k + step - 1] <= sought) k += step;
      }
      u32 stop = s.end[k], match = s.match[k], literal = s.literal[k], offset = s.offset[k];
      for (u32 j = 0; j < 4; ++j) {
        const u32 p = first + j;
        source[j] = LITERAL;
        if (p < at || p >= end) continue;
        if (p >= stop) {
          ++k;
          stop = s.end[k], match = s.match[k], literal = s.literal[k], offset = s.offset[k];
        }
        source[j] = p < match ? LITERAL | (p + literal) : p - offset;
      }
    } else {
      for (u32 j = 0; j < 4; ++j) source[j] = LITERAL;
    }
    bool chase = false;
    for (u32 j = 0; j < 4; ++j) chase |= source[j] < LITERAL && source[j] >= unwritten;
    if (__any_sync(WARP, chase)) {
      for (;;) {
        for (u32 j = 0; j < 4; ++j) s.source[4 * lane + j] = source[j];
        __syncwarp();
        bool more = false;
        for (u32 j = 0; j < 4; ++j) {
          if (source[j] < LITERAL && source[j] >= unwritten) source[j] = s.source[source[j] - base];
          more |= source[j] < LITERAL && source[j] >= unwritten;
        }
        __syncwarp();
        if (!__any_sync(WARP, more)) break;
      }
    }
    if (first < end && first + 4 > at) {
      u32 bytes[4];
      for (u32 j = 0; j < 4; ++j) {
        const u32 p = first + j;
        bytes[j] = 0;
        if (p < at || p >= end) continue;
        const u8* from =
            source[j] >= LITERAL ? literals.bytes + (source[j] & ~LITERAL & literals.mask) : dst + source[j];
        bytes[j] = *from;
      }
      if (first >= at && first + 4 <= end) {
        *(u32*)(dst + first) = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
      } else {
        for (u32 j = 0; j < 4; ++j) {
          const u32 p = first + j;
          if (p >= at && p < end) dst[p] = (u8)bytes[j];
        }
      }
    }
    __syncwarp();
  }
}
