// Copies literals and matches into the page of a tile, in an order in which every source is written before it is read.
//
// Short copies are done by one thread each, all at the same time; long and odd ones by its whole warp, one after the
// other. Matches are copied in rounds: a match is ready if its source ends before the first pending match; the first
// pending one always is. A warp makes as many rounds as it can on its own before it waits for the warps with earlier
// matches.
#pragma once
#include "zstd/zstd_page.cuh"
#include "zstd/zstd_supply.cuh"

static const u32 ZSTD_LONG_LITERALS = 32;  // longer copies are done by the warp
static const u32 ZSTD_LONG_MATCH = 24;
static const u32 ZSTD_EARLY = 16;  // maximum bytes of a match whose source may be loaded before its turn
static const u32 ZSTD_STEPS = 4;   // words of a lane that are loaded before any of them is stored

// Source of literals: consecutive bytes, or the same byte for all of them.
struct ZstdLiterals {
  const u8* bytes;
  bool one;
};

// Bytes to be copied to `at`, from a place of literals or from a distance back. None if `len` is 0.
struct ZstdPiece {
  u32 at;
  u32 len;
  u32 from;
};

DEVICE ZstdPiece zstd_piece_of(const ZstdPiece& piece, u32 lane) {
  return ZstdPiece{__shfl_sync(ZSTD_WARP, piece.at, lane), __shfl_sync(ZSTD_WARP, piece.len, lane),
                   __shfl_sync(ZSTD_WARP, piece.from, lane)};
}

// Copies some literals of the supply with one lane.
template <class Shape>
DEVICE void zstd_few_literals(const ZstdOutput& out, const ZstdSupply<Shape>& supply, const ZstdPiece& piece) {
  u8* to = zstd_in_page(out, piece.at);
  u32 word = piece.from >> 2, left = piece.len, low = supply.words[word & (Shape::SUPPLY - 1)];
#pragma unroll 1
  for (;;) {
    const u32 high = supply.words[++word & (Shape::SUPPLY - 1)];
    zstd_put(to, __funnelshift_r(low, high, piece.from * 8), left);
    if (left <= 4) return;
    left -= 4;
    to += 4;
    low = high;
  }
}

// Copies the literals of all lanes from the supply; `from` holds their places.
template <class Shape>
DEVICE void zstd_copy_literals(const ZstdOutput& out, const ZstdSupply<Shape>& supply, const ZstdPiece& piece, u32 lane) {
  const bool few = piece.len <= ZSTD_LONG_LITERALS;
  if (few && piece.len != 0) zstd_few_literals(out, supply, piece);
#pragma unroll 1
  for (u32 many = __ballot_sync(ZSTD_WARP, !few); many != 0; many &= many - 1) {
    const ZstdPiece its = zstd_piece_of(piece, (u32)__ffs((i32)many) - 1);
    const u32 end = its.at + its.len;
#pragma unroll 1
    for (u32 at = (its.at & ~3u) + lane * 4; at < end; at += 128) {
      const u32 first = at < its.at ? its.at - at : 0;
      const u32 word = zstd_supply_four(supply, its.from + (at + first - its.at)) << first * 8;
      zstd_put_word(zstd_in_page(out, at), word, first, min(end - at, 4u));
    }
  }
}

// Copies any number of literals from global memory with all threads, one word of the page each, several in flight.
// Reads up to seven bytes around them.
template <class Shape>
DEVICE void zstd_many_literals(const ZstdOutput& out, const ZstdLiterals& literals, const ZstdPiece& piece,
                               u32 thread) {
  const u32 end = piece.at + piece.len;
  const u8* from = literals.bytes + piece.from;
#pragma unroll 1
  for (u32 base = (piece.at & ~3u) + thread * 4; base < end; base += 4 * Shape::THREADS * ZSTD_STEPS) {
    u32 word[ZSTD_STEPS];
#pragma unroll
    for (u32 i = 0; i < ZSTD_STEPS; ++i) {
      const u32 at = base + 4 * Shape::THREADS * i, first = at < piece.at ? piece.at - at : 0;
      word[i] = 0;
      if (at >= end) continue;
      if (literals.one) {
        word[i] = *literals.bytes * 0x01010101u;
      } else {
        const u8* p = from + (at + first - piece.at);
        const u32 lead = (u32)(u64)p & 3;
        const u32* words = (const u32*)(p - lead);
        word[i] = __funnelshift_r(words[0], words[1], lead * 8) << first * 8;
      }
    }
#pragma unroll
    for (u32 i = 0; i < ZSTD_STEPS; ++i) {
      const u32 at = base + 4 * Shape::THREADS * i, first = at < piece.at ? piece.at - at : 0;
      if (at < end) zstd_put_word(zstd_in_page(out, at), word[i], first, min(end - at, 4u));
    }
  }
}

// The source of a short match, loaded before its turn because it was already in global memory.
struct ZstdEarly {
  u32 words[5];
  bool loaded;
};

DEVICE ZstdEarly zstd_early(const ZstdOutput& out, const ZstdPiece& match) {
  ZstdEarly early = {{0, 0, 0, 0, 0}, false};
  const u32 from = match.at - match.from;
  early.loaded = match.len != 0 && match.len <= ZSTD_EARLY && from + match.len <= out.origin;
  if (early.loaded) {
    const u32 last = (from + match.len - 1) & ~3u;
#pragma unroll
    for (u32 i = 0; i < 5; ++i) early.words[i] = *(const u32*)(out.dst + min((from & ~3u) + 4 * i, last));
  }
  return early;
}

DEVICE void zstd_put_early(const ZstdOutput& out, const ZstdEarly& early, const ZstdPiece& match) {
  u8* to = zstd_in_page(out, match.at);
  const u32 phase = (match.at - match.from) * 8;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    if (match.len > 4 * i) {
      zstd_put(to + 4 * i, __funnelshift_r(early.words[i], early.words[i + 1], phase), match.len - 4 * i);
    }
  }
}

// Copies one match with one lane, eight bytes at a time, so that the load latency is paid once for all of them. The
// source lies entirely in the page or entirely below it; if it overlaps the match (distance at least 16), the loaded
// bytes have already been written.
DEVICE void zstd_far(const ZstdOutput& out, const ZstdPiece& match) {
  const u32 from = match.at - match.from, phase = from * 8, last = (from + match.len - 1) & ~3u;
  const bool inside = from >= out.origin;
  u8* to = zstd_in_page(out, match.at);
  u32 word = from & ~3u, left = match.len;
  zstd_uses(out, from, min(match.len, match.from));
#pragma unroll 1
  for (;;) {
    const u32 next = min(word + 4, last);
    u32 word0, word1, word2;
    word += 8;
    const u32 after = min(word, last);
    if (inside) {
      word0 = partial_load((const u32*)zstd_in_page(out, word - 8));
      word1 = partial_load((const u32*)zstd_in_page(out, next));
      word2 = partial_load((const u32*)zstd_in_page(out, after));
    } else {
      word0 = *(const u32*)(out.dst + (word - 8));
      word1 = *(const u32*)(out.dst + next);
      word2 = *(const u32*)(out.dst + after);
    }
    zstd_put(to, __funnelshift_r(word0, word1, phase), left);
    if (left <= 4) return;
    zstd_put(to + 4, __funnelshift_r(word1, word2, phase), left - 4);
    if (left <= 8) return;
    left -= 8;
    to += 8;
  }
}

// The same for a distance of one, two or three: 48 bits hold every phase of the repeated pattern.
DEVICE void zstd_near(const ZstdOutput& out, const ZstdPiece& match) {
  u32 low = zstd_four(out, match.at - match.from, match.from), high, phase = 0;
  if (match.from == 3) {
    high = (low & 0xFFFFFF) >> 8;
    low = (low & 0xFFFFFF) | low << 24;
  } else {
    high = low = match.from == 1 ? (low & 0xFF) * 0x01010101u : (low & 0xFFFF) * 0x00010001u;
  }
  u8* to = zstd_in_page(out, match.at);
#pragma unroll 1
  for (u32 left = match.len;; left -= 4, to += 4) {
    zstd_put(to, __funnelshift_r(low, high, phase), left);
    if (left <= 4) return;
    if (match.from == 3) phase = phase == 16 ? 0 : phase + 8;
  }
}

// Copies one match with all lanes, one word of the page each; several in flight if none of them repeats another.
DEVICE void zstd_together(const ZstdOutput& out, const ZstdPiece& match, u32 lane) {
  const u32 end = match.at + match.len;
  if (match.from >= match.len || match.from >= 128 * ZSTD_STEPS) {
#pragma unroll 1
    for (u32 base = (match.at & ~3u) + lane * 4; base - lane * 4 < end; base += 128 * ZSTD_STEPS) {
      u32 word[ZSTD_STEPS];
#pragma unroll
      for (u32 i = 0; i < ZSTD_STEPS; ++i) {
        const u32 at = base + 128 * i, first = at < match.at ? match.at - at : 0;
        word[i] = at < end ? zstd_four(out, at + first - match.from, min(end - at, 4u) - first) << first * 8 : 0;
      }
#pragma unroll
      for (u32 i = 0; i < ZSTD_STEPS; ++i) {
        const u32 at = base + 128 * i, first = at < match.at ? match.at - at : 0;
        if (at < end) zstd_put_word(zstd_in_page(out, at), word[i], first, min(end - at, 4u));
      }
      __syncwarp();  // the next words may repeat these
    }
    return;
  }
#pragma unroll 1
  for (u32 base = match.at & ~3u; base < end; base += 128) {
    const u32 at = base + lane * 4;
    if (at < end) {
      const u32 first = at < match.at ? match.at - at : 0, stop = min(end - at, 4u);
      u32 word = 0;
      if (match.from >= 128) {
        word = zstd_four(out, at + first - match.from, stop - first) << first * 8;
      } else if (match.from == 1) {
        word = zstd_byte(out, match.at - 1) * 0x01010101u;
      } else {
        u32 offset = (at + first - match.at) % match.from;
        const u32 from = match.at - match.from;
#pragma unroll 1
        for (u32 i = first; i < stop; ++i) {
          word |= zstd_byte(out, from + offset) << i * 8;
          if (++offset == match.from) offset = 0;
        }
      }
      zstd_put_word(zstd_in_page(out, at), word, first, stop);
    }
    __syncwarp();  // the next 128 bytes may repeat these
  }
}

// Start of the first pending match of each warp, for two alternating rounds; in shared memory.
template <class Shape>
struct ZstdRounds {
  u32 first[2][Shape::WARPS];
};

template <class Shape>
DEVICE void zstd_tell_first(ZstdRounds<Shape>& rounds, u32 turn, const ZstdPiece& match, u32 thread) {
  const u32 pending = __ballot_sync(ZSTD_WARP, match.len != 0);
  const u32 at = __shfl_sync(ZSTD_WARP, match.at, pending != 0 ? (u32)__ffs((i32)pending) - 1 : 0);
  if ((thread & 31) == 0) rounds.first[turn][thread >> 5] = pending != 0 ? at : ZSTD_NONE;
}

// Copies the matches of all threads, which are in order; literals may still be on their way into the page. Ends with a
// barrier after the last match.
template <class Shape>
DEVICE void zstd_copy_matches(ZstdRounds<Shape>& rounds, const ZstdOutput& out, ZstdPiece match, const ZstdEarly& early,
                              u32 thread) {
  if (early.loaded && match.len != 0) {
    zstd_put_early(out, early, match);
    match.len = 0;
  }
  const u32 from = match.at - match.from;
  const bool whole = match.from < 4 || ((match.from >= 16 || match.from >= match.len) &&
                                        (from >= out.origin || from + match.len <= out.origin));
  const bool alone = match.len <= ZSTD_LONG_MATCH && whole;
  const u32 need = from + min(match.len, match.from);
  zstd_tell_first(rounds, 0, match, thread);
#pragma unroll 1
  for (u32 turn = 0;; turn ^= 1) {
    group_sync<Shape::THREADS>();
    u32 before = ZSTD_NONE, all = ZSTD_NONE;
#pragma unroll
    for (u32 w = 0; w < Shape::WARPS; ++w) {
      all = min(all, rounds.first[turn][w]);
      if (w < thread >> 5) before = all;
    }
    if (all == ZSTD_NONE) return;
    // As far as the warp gets on its own.
#pragma unroll 1
    for (;;) {
      const u32 pending = __ballot_sync(ZSTD_WARP, match.len != 0);
      if (pending == 0) break;
      const u32 complete = min(before, __shfl_sync(ZSTD_WARP, match.at, (u32)__ffs((i32)pending) - 1));
      const bool ready = match.len != 0 && need <= complete;
      if (!__any_sync(ZSTD_WARP, ready)) break;
      if (ready && alone) {
        if (match.from < 4) {
          zstd_near(out, match);
        } else {
          zstd_far(out, match);
        }
      }
#pragma unroll 1
      for (u32 together = __ballot_sync(ZSTD_WARP, ready && !alone); together != 0; together &= together - 1) {
        zstd_together(out, zstd_piece_of(match, (u32)__ffs((i32)together) - 1), thread & 31);
      }
      if (ready) match.len = 0;
      __syncwarp();
    }
    zstd_tell_first(rounds, turn ^ 1, match, thread);
  }
}

// Appends any number of literals, or repetitions of one byte.
template <class Shape>
DEVICE void zstd_append(ZstdOutput& out, const ZstdLiterals& literals, u32 from, u32 len, u32 thread) {
#pragma unroll 1
  while (len != 0) {
    const u32 part = min(len, Shape::PAGE - (out.head - out.origin));
    zstd_many_literals<Shape>(out, literals, ZstdPiece{out.head, part, from}, thread);
    out.head += part;
    from += part;
    len -= part;
    zstd_flush<Shape>(out, thread);
  }
}

// Appends a match of any length, with one warp.
template <class Shape>
DEVICE void zstd_append_match(ZstdOutput& out, u32 offset, u32 len, u32 thread) {
#pragma unroll 1
  while (len != 0) {
    const u32 part = min(len, Shape::PAGE - (out.head - out.origin));
    if (thread < 32) zstd_together(out, ZstdPiece{out.head, part, offset}, thread);
    out.head += part;
    len -= part;
    zstd_flush<Shape>(out, thread);
  }
}
