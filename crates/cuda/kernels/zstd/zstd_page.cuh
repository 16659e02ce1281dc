// Output of a tile, with the threads of a CUDA block: the newest bytes in a page of shared memory, all older ones in
// global memory.
//
// The page begins at `origin`. Bytes are put into it anywhere ahead of `head`, up to PAGE bytes from `origin` on. Then
// whole groups of lines are written out, one line per thread, and the rest moves to the beginning of the page.
#pragma once
#include "group.cuh"
#include "lines.cuh"
#include "zstd/zstd_format.cuh"

// The number of warps that write a tile, and derived constants.
template <u32 W>
struct ZstdShape {
  static constexpr u32 WARPS = W, THREADS = 32 * W;
  static constexpr u32 GROUP = THREADS * LINE;       // bytes that are written out at once
  static constexpr u32 GROUPS = W == 1 ? 8 : 4;
  static constexpr u32 PAGE = GROUPS * GROUP - 1;    // so that the bytes that a flush moves lie in the page
  static constexpr u32 SUPPLY = 16 * THREADS;        // words of literals; a power of two
  static constexpr u32 PIECE = 2 * SUPPLY;           // bytes of literals loaded at once: two lines per thread
};

// In shared memory. A word may be read behind the page.
template <class Shape>
struct ZstdPage {
  alignas(16) u8 bytes[Shape::GROUPS * Shape::GROUP + LINE];
};

struct ZstdOutput {
  u8* dst;     // in global memory, aligned to 16
  u8* page;    // in shared memory
  u32 head;    // complete bytes
  u32 origin;  // bytes in global memory, a multiple of GROUP
};

DEVICE u8* zstd_in_page(const ZstdOutput& out, u32 position) { return out.page + (position - out.origin); }

// Declares which bytes of loaded words are used.
DEVICE void zstd_uses(const ZstdOutput& out, u32 position, u32 count) {
  const u32 below = position < out.origin ? out.origin - position : 0;
  if (below < count) uses(zstd_in_page(out, position + below), count - below);
}

// The four bytes at a multiple of four. Some of them may be written concurrently or later: the caller uses only the
// complete ones.
DEVICE u32 zstd_word(const ZstdOutput& out, u32 position) {
  if (position >= out.origin) return partial_load((const u32*)zstd_in_page(out, position));
  return *(const u32*)(out.dst + position);
}

// The four bytes at any position, of which the first `count` are complete.
DEVICE u32 zstd_four(const ZstdOutput& out, u32 position, u32 count) {
  const u32 word = position & ~3u;
  zstd_uses(out, position, count);
  return __funnelshift_r(zstd_word(out, word), zstd_word(out, word + 4), position * 8);
}

DEVICE u32 zstd_byte(const ZstdOutput& out, u32 position) {
  return position >= out.origin ? *zstd_in_page(out, position) : out.dst[position];
}

// Stores the first `count` bytes of `word`, at least one; more than four count as four.
DEVICE void zstd_put(u8* to, u32 word, u32 count) {
  to[0] = (u8)word;
  if (count > 1) to[1] = (u8)(word >> 8);
  if (count > 2) to[2] = (u8)(word >> 16);
  if (count > 3) to[3] = (u8)(word >> 24);
}

// Stores the bytes `first` to `stop` of a word of the page.
DEVICE void zstd_put_word(u8* to, u32 word, u32 first, u32 stop) {
  if (first == 0 && stop == 4) {
    *(u32*)to = word;
    return;
  }
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    if (i >= first && i < stop) to[i] = (u8)(word >> i * 8);
  }
}

// Writes out the complete lines. Called by all threads, after they have put bytes into the page and `head` counts them.
template <class Shape>
DEVICE void zstd_flush(ZstdOutput& out, u32 thread) {
  group_sync<Shape::THREADS>();
  const u32 groups = (out.head - out.origin) / Shape::GROUP;
  if (groups == 0) return;
#pragma unroll 1
  for (u32 i = 0; i < groups; ++i) {
    const u32 at = i * Shape::GROUP + thread * LINE;
    *(Line*)(out.dst + out.origin + at) = *(const Line*)(out.page + at);
  }
  const Line rest = ((const Line*)(out.page + groups * Shape::GROUP))[thread];
  group_sync<Shape::THREADS>();
  ((Line*)out.page)[thread] = rest;
  out.origin += groups * Shape::GROUP;
  group_sync<Shape::THREADS>();
}

// Also writes out the rest, which stays in the page, padded with zeros to a whole line.
template <class Shape>
DEVICE void zstd_settle(ZstdOutput& out, u32 thread) {
  zstd_flush<Shape>(out, thread);
  const u32 at = out.origin + thread * LINE;
  if (at < out.head) {
    Line line = *(const Line*)zstd_in_page(out, at);
    const u32 left = out.head - at;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u32 here = left > 4 * k ? left - 4 * k : 0;
      if (here < 4) line.words[k] &= (1u << here * 8) - 1;
    }
    *(Line*)(out.dst + at) = line;
  }
  group_sync<Shape::THREADS>();
}
