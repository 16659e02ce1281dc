// Executes LZ sequences (literals, then a match) by a group, one a thread: for LZ4 and ZSTD.
//
// The output is written in steps of 16 bytes a thread, four words of adjacent bytes each. A byte is a literal or a copy of
// an earlier byte. A copy from before the step is a load; a copy from inside it is chased to what its source is itself a
// copy of, all threads at once and doubling the distance each round, so that the longest run costs as many rounds as the
// step's size has bits and no byte is read before it was written.
//
// The caller guarantees, for every sequence: 1 <= offset <= start of the match, literals inside their buffer, the end of
// the last one inside the output, three bytes at least in each but the last. Nothing here checks a size.
#pragma once
#include "group.cuh"

static const u32 WARP = 0xFFFFFFFFu;
static const u32 THREAD_WORDS = 4;
// In the source of a byte: an index of a literal, else a position of the output. Both are below 2^30.
static const u32 LITERAL = 0x80000000u;

struct alignas(16) Sequence {
  u32 end;      // position of the output after it
  u32 match;    // where its literals end and its match starts
  u32 literal;  // index of a literal less its position in the output, modulo 2^32
  u32 offset;   // distance back of the match
};

// In shared memory. Entries after the last sequence have the same end as it.
template <u32 THREADS>
struct Sequences {
  Sequence each[THREADS];
  u32 end[THREADS];  // those of `each`, ascending, to be searched
  u32 source[4 * THREAD_WORDS * THREADS];
  Votes votes;
};

// Where literals come from: a byte each, or the same byte for all of them (mask 0).
struct Literals {
  const u8* bytes;
  u32 mask;
};

template <u32 THREADS>
DEVICE void put_sequence(Sequences<THREADS>& s, u32 k, Sequence sequence) {
  s.each[k] = sequence;
  s.end[k] = sequence.end;
}

// Writes the output from `at` to the end of the last sequence. All threads call it, after a group_sync that follows the
// filling of `s`; it ends with one. `turn` counts the votes.
template <u32 THREADS>
DEVICE void execute_sequences(Sequences<THREADS>& s, u8* dst, Literals literals, u32 at, u32& turn,
                              u32 thread) {
  const u32 end = s.end[THREADS - 1];
  for (u32 base = at & ~3u; base < end; base += 4 * THREAD_WORDS * THREADS) {
    const u32 unwritten = max(base, at);
    // The first sequence that ends after a word's first byte that counts.
    u32 k[THREAD_WORDS];
    for (u32 w = 0; w < THREAD_WORDS; ++w) k[w] = 0;
    for (u32 step = THREADS / 2; step != 0; step >>= 1) {
      for (u32 w = 0; w < THREAD_WORDS; ++w) {
        const u32 sought = min(max(base + 4 * (THREADS * w + thread), at), end - 1);
        if (s.end[k[w] + step - 1] <= sought) k[w] += step;
      }
    }
    u32 source[THREAD_WORDS][4];
    bool chase = false;
    for (u32 w = 0; w < THREAD_WORDS; ++w) {
      const u32 first = base + 4 * (THREADS * w + thread);
      // Four bytes belong to two sequences at most, since the second has three or nothing follows it.
      const Sequence one = s.each[k[w]], two = s.each[min(k[w] + 1, THREADS - 1)];
      for (u32 j = 0; j < 4; ++j) {
        const u32 p = first + j;
        const bool other = p >= one.end;
        const u32 match = other ? two.match : one.match, literal = other ? two.literal : one.literal;
        const u32 copied = p - (other ? two.offset : one.offset);
        source[w][j] = p < at || p >= end ? LITERAL : p < match ? LITERAL | (p + literal) : copied;
        chase |= source[w][j] < LITERAL && source[w][j] >= unwritten;
      }
    }
    if (group_any<THREADS>(s.votes, turn, chase, thread)) {
      for (;;) {
        for (u32 w = 0; w < THREAD_WORDS; ++w) {
          for (u32 j = 0; j < 4; ++j) s.source[4 * (THREADS * w + thread) + j] = source[w][j];
        }
        group_sync<THREADS>();
        bool more = false;
        for (u32 w = 0; w < THREAD_WORDS; ++w) {
          for (u32 j = 0; j < 4; ++j) {
            u32& from = source[w][j];
            if (from < LITERAL && from >= unwritten) from = s.source[from - base];
            more |= from < LITERAL && from >= unwritten;
          }
        }
        if (!group_any<THREADS>(s.votes, turn, more, thread)) break;
      }
    }
    u32 words[THREAD_WORDS];
    for (u32 w = 0; w < THREAD_WORDS; ++w) {
      words[w] = 0;
      for (u32 j = 0; j < 4; ++j) {
        const u32 p = base + 4 * (THREADS * w + thread) + j, from = source[w][j];
        if (p < at || p >= end) continue;
        const u8* byte = from >= LITERAL ? literals.bytes + (from & ~LITERAL & literals.mask) : dst + from;
        words[w] |= (u32)*byte << 8 * j;
      }
    }
    for (u32 w = 0; w < THREAD_WORDS; ++w) {
      const u32 first = base + 4 * (THREADS * w + thread);
      if (first >= at && first + 4 <= end) {
        *(u32*)(dst + first) = words[w];
      } else {
        for (u32 j = 0; j < 4; ++j) {
          if (first + j >= at && first + j < end) dst[first + j] = (u8)(words[w] >> 8 * j);
        }
      }
    }
    group_sync<THREADS>();
  }
}
