// Turns a list of sequences into bytes, in steps of a few words per thread.
//
// A byte is a literal or a copy of an earlier byte. A copy from before the step is a load; a copy from inside it is
// followed to the source of its source, by all threads at the same time, each storing what it found. A source always
// precedes its byte, so this ends, and any order of reads and writes gives the same result. Matches that repeat
// themselves refer to their first period at once.
//
// The list's offsets must lie inside the output and its literals inside the window; this is not checked here.
#pragma once
#include "lz4/lz4_window.cuh"

namespace lz4 {

// The source of a byte. With LITERAL: a place in the window. With INSIDE: the byte offset in Shared::source of the
// source of another byte of the step. Else: a position of the output, which is below 2^30.
constexpr u32 LITERAL = 0x80000000u;
constexpr u32 INSIDE = 0x40000000u;

DEVICE bool is_inside(u32 source) { return (i32)source >= (i32)INSIDE; }

// Place of the source of byte `d` of a step: the sources of the first, second, third and fourth bytes of all words are
// stored separately.
template <u32 STEP>
DEVICE u32 slot_of(u32 d) {
  return d * (STEP + 1) & (STEP - 1) << 2;
}

// The last of `count` sequences that starts at or before `position`.
template <class List>
DEVICE u32 sequence_at(const List& list, u32 count, u32 position) {
  u32 k = 0;
#pragma unroll 1
  for (u32 step = 1u << (31 - __clz(count)); step != 0; step >>= 1) {
    if (k + step < count && list.start[k + step] <= position) k += step;
  }
  return k;
}

// Sources of the four bytes from `first` on. They belong to at most two sequences, because the second has at least four
// bytes or nothing follows it. Bytes before `from` and after `to` get an arbitrary literal.
template <class List>
DEVICE void sources_of(const List& list, u32 k, u32 count, u32 first, u32 from, u32 to, u32* source) {
  const u32 start = list.start[k], next = list.start[k + 1];
  const Sequence one = list.each[k], two = list.each[min(k + 1, count - 1)];
  const u32 match = start + (one.literals >> 16), next_match = next + (two.literals >> 16);
  const u32 literal = LITERAL + (one.literals & 0xFFFF) - start;
  const u32 next_literal = LITERAL + (two.literals & 0xFFFF) - next;
  // If the match repeats itself, go back to its first period at once.
  u32 distance = one.offset;
  if (first >= match + distance) distance = first - match + distance - (first - match) % distance;
#pragma unroll
  for (u32 j = 0; j < 4; ++j) {
    const u32 p = first + j;
    const u32 in_one = p < match ? p + literal : p - distance;
    const u32 in_two = p < next_match ? p + next_literal : p - two.offset;
    source[j] = p < next ? in_one : in_two;
  }
  if (first >= from && first + 4 <= to) return;
  for (u32 j = 0; j < 4; ++j) {
    if (first + j < from || first + j >= to) source[j] = LITERAL;
  }
}

// Writes the output of `count` sequences. Literals are taken from `window` in memory, so that one load serves both
// kinds of bytes. Called by all threads, after a barrier that follows the listing; ends with one.
template <u32 THREADS>
DEVICE void emit(Shared<THREADS>& shared, const u8* window, u8* dst, u32 count) {
  constexpr u32 WORDS = Shared<THREADS>::WORDS, STEP = 4 * WORDS * THREADS;
  const u32 lane = threadIdx.x % 32, mine = threadIdx.x / 32 * 32 * WORDS + lane;
  constexpr u32 AT_ONCE = 2;
  const u8* slots = (const u8*)shared.source;
  const u8* literals = window - LITERAL;
  const u32 from = shared.list.start[0], to = shared.list.start[count];
#pragma unroll 1
  for (u32 base = from & ~3u; base < to; base += STEP) {
    const u32 written = max(base, from);
    // Beginning of the warp's part of the step; beyond the end there is nothing to do.
    const u32 part = base + 4 * (mine - lane);
    u32 source[WORDS][4];
    bool pending = false;
    if (part < to) {
      // Searched for every WORDS words, with those of a warp adjacent; the sequence of each word is not far behind.
      const u32 line = part + 4 * WORDS * lane;
      const u32 found = sequence_at(shared.list, count, min(max(line, from), to - 1));
      u32 k[WORDS];
#pragma unroll
      for (u32 w = 0; w < WORDS; ++w) k[w] = __shfl_sync(0xFFFFFFFFu, found, (32 * w + lane) / WORDS);
      // At most one sequence per word after the first.
#pragma unroll
      for (u32 i = 1; i < WORDS; ++i) {
#pragma unroll
        for (u32 w = 0; w < WORDS; ++w) {
          const u32 sought = min(max(base + 4 * (mine + 32 * w), from), to - 1);
          if (shared.list.start[k[w] + 1] <= sought) ++k[w];
        }
      }
#pragma unroll
      for (u32 w = 0; w < WORDS; ++w) {
        sources_of(shared.list, k[w], count, base + 4 * (mine + 32 * w), from, to, source[w]);
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
          u32& its = source[w][j];
          if (its - written < STEP) its = INSIDE | slot_of<STEP>(its - base);
          shared.source[j][mine + 32 * w] = its;
          pending |= is_inside(its);
        }
      }
    }
    __syncthreads();
    if (part < to) {
#pragma unroll 1
      while (pending) {
        pending = false;
        // Loads several words before their stores, so that loads overlap.
#pragma unroll
        for (u32 w = 0; w < WORDS; w += AT_ONCE) {
          u32 its[AT_ONCE][4];
#pragma unroll
          for (u32 i = 0; i < 4 * AT_ONCE; ++i) {
            const u32 now = source[w + i / 4][i % 4];
            its[i / 4][i % 4] = now;
            if (is_inside(now)) its[i / 4][i % 4] = relaxed_load((const u32*)(slots + (now - INSIDE)));
          }
#pragma unroll
          for (u32 i = 0; i < 4 * AT_ONCE; ++i) {
            u32& now = source[w + i / 4][i % 4];
            const u32 better = its[i / 4][i % 4];
            if (is_inside(now)) relaxed_store(&shared.source[i % 4][mine + 32 * (w + i / 4)], better);
            now = better;
            pending |= is_inside(better);
          }
        }
      }
      // Lanes that finished early wait for the others: the rest is done by all at once.
      __syncwarp();
      u32 words[WORDS];
#pragma unroll
      for (u32 w = 0; w < WORDS; ++w) {
        words[w] = 0;
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
          const u32 its = source[w][j];
          const u8* bytes = its >= LITERAL ? literals : dst;
          words[w] |= (u32)bytes[its] << 8 * j;
        }
      }
#pragma unroll
      for (u32 w = 0; w < WORDS; ++w) {
        const u32 first = base + 4 * (mine + 32 * w);
        if (first >= from && first + 4 <= to) {
          *(u32*)(dst + first) = words[w];
        } else {
          for (u32 j = 0; j < 4; ++j) {
            if (first + j >= from && first + j < to) dst[first + j] = (u8)(words[w] >> 8 * j);
          }
        }
      }
    }
    __syncthreads();
  }
}

}  // namespace lz4
