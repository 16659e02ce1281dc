// Output of a group of warps: the newest bytes in a page of shared memory, all older ones in global memory.
//
// The page begins at `origin`. Bytes are put into it anywhere ahead of `head`, up to page_len bytes from `origin` on.
// Then whole groups of lines are written out, 16 bytes per lane, while their Adler-32 is summed, and the rest, less
// than FLUSH bytes, moves to the beginning of the page. So every position has a fixed distance from the page's
// beginning, without wrap-around, and after a flush all of the page's memory but the first FLUSH bytes is free for
// other uses.
#pragma once
#include "deflate/adler.cuh"
#include "group.cuh"

#define FLUSH 512u  // 32 lanes of 16 bytes

// Less than a multiple of FLUSH, so that the bytes that a flush moves lie in the page.
constexpr u32 page_len(u32 warps) { return warps * 1792 - 1; }
constexpr u32 page_memory(u32 warps) { return page_len(warps) + 17; }  // a word may be read behind the page

struct Output {
  u8* bytes;   // in global memory, 16-byte aligned
  u8* page;    // in shared memory, 16-byte aligned
  u32 len;     // total output bytes
  u32 head;    // complete bytes
  u32 origin;  // bytes in global memory: a multiple of FLUSH
  AdlerSum sum;
};

DEVICE u8* in_page(const Output& out, u32 position) { return out.page + (position - out.origin); }

// Declares which bytes of loaded words are used.
DEVICE void uses_bytes(const Output& out, u32 position, u32 count) {
  const u32 below = position < out.origin ? out.origin - position : 0;
  if (below < count) uses(in_page(out, position + below), count - below);
}

// The four bytes at a multiple of four. Some of them may be written concurrently or later: the caller uses only the
// complete ones.
DEVICE u32 word_at(const Output& out, u32 position) {
  if (position >= out.origin) return partial_load((const u32*)in_page(out, position));
  return *(const u32*)(out.bytes + position);
}

// The four bytes at any position, of which the first `count` are complete.
DEVICE u32 bytes_at(const Output& out, u32 position, u32 count) {
  u32 word = position & ~3u;
  uses_bytes(out, position, count);
  return __funnelshift_r(word_at(out, word), word_at(out, word + 4), position * 8);
}

DEVICE u32 byte_at(const Output& out, u32 position) {
  return position >= out.origin ? *in_page(out, position) : out.bytes[position];
}

// Writes out the complete lines. Called by all threads, after a group_sync behind the last write into the page; ends
// with one.
template <u32 WARPS>
DEVICE void flush(Output& out, u32 thread) {
  const u32 lane = thread & 31, warp = thread / 32;
  u32 groups = (out.head - out.origin) / FLUSH;
  if (groups == 0) return;
#pragma unroll 1
  for (u32 i = warp; i < groups; i += WARPS) {
    u32 at = out.origin + i * FLUSH + lane * LINE;
    Line line = *(const Line*)in_page(out, at);
    *(Line*)(out.bytes + at) = line;
    adler_add(out.sum, line, at);
  }
  // The first group is written by the first warp: no other warp reads the destination of the rest.
  if (warp == 0) {
    Line rest = ((const Line*)(out.page + groups * FLUSH))[lane];
    __syncwarp();
    ((Line*)out.page)[lane] = rest;
  }
  out.origin += groups * FLUSH;
  group_sync<32 * WARPS>();
}

// Writes out the rest, the last line padded with zeros, and returns the Adler-32 of everything; `parts` is memory for
// it.
template <u32 WARPS>
DEVICE u32 finish(Output& out, AdlerPart* parts, u32 thread) {
  const u32 lane = thread & 31, warp = thread / 32;
  flush<WARPS>(out, thread);
  u32 at = out.origin + lane * LINE;
  if (warp == 0 && at < out.head) {
    Line line = *(const Line*)in_page(out, at);
    u32 left = out.head - at;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      u32 here = left > 4 * k ? left - 4 * k : 0;
      if (here < 4) line.words[k] &= (1u << here * 8) - 1;
    }
    *(Line*)(out.bytes + at) = line;
    adler_add(out.sum, line, at);
  }
  AdlerPart part = adler_part(out.sum), all = {0, 0};
  if (lane == 0) parts[warp] = part;
  group_sync<32 * WARPS>();
#pragma unroll
  for (u32 w = 0; w < WARPS; ++w) {
    all.bytes += parts[w].bytes;
    all.weighted += parts[w].weighted;
  }
  return adler_join(all, out.head);
}

// Appends `len` bytes of the input. Returns false if they do not fit.
template <u32 WARPS>
DEVICE bool append(Output& out, const u8* from, u32 len, u32 thread) {
  if (len > out.len - out.head) return false;
#pragma unroll 1
  while (len != 0) {
    u32 part = min(len, page_len(WARPS) - FLUSH);
#pragma unroll 1
    for (u32 i = thread; i < part; i += 32 * WARPS) *in_page(out, out.head + i) = __ldg(from + i);
    out.head += part;
    from += part;
    len -= part;
    group_sync<32 * WARPS>();
    flush<WARPS>(out, thread);
  }
  return true;
}
