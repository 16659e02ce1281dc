// The output of one warp: the last bytes in a ring in shared memory, everything older in global memory.
//
// Bytes are put into the ring anywhere ahead of `head`, up to RING bytes ahead of `flushed`; whole groups of lines are
// then written out, 16 bytes a lane, and their Adler-32 is added up on the way. A position below `low`, which the caller
// derives from how far it is about to write, is read from global memory, the rest from the ring.
#pragma once
#include "adler.cuh"

#define RING 2048u
#define FLUSH 512u  // 32 lanes of 16 bytes

struct Output {
  u8* bytes;    // in global memory, 16-byte aligned
  u8* ring;     // in shared memory, 16-byte aligned
  u32 len;      // bytes that have to come out
  u32 head;     // bytes that are complete
  u32 flushed;  // bytes that are in global memory: a multiple of FLUSH
  AdlerSum sum;
};

DEVICE u8& ring_at(const Output& out, u32 position) { return out.ring[position & (RING - 1)]; }

// The four bytes at a multiple of four. Some of them may be written at the same time, or not yet: the caller takes those
// that are complete.
DEVICE u32 word_at(const Output& out, u32 low, u32 position) {
  if (position >= low) return relaxed_load((const u32*)(out.ring + (position & (RING - 1))));
  return *(const u32*)(out.bytes + position);
}

// The four bytes at any position, of which the same holds.
DEVICE u32 bytes_at(const Output& out, u32 low, u32 position) {
  u32 word = position & ~3u;
  return __funnelshift_r(word_at(out, low, word), word_at(out, low, word + 4), position * 8);
}

DEVICE u32 byte_at(const Output& out, u32 low, u32 position) {
  return position >= low ? ring_at(out, position) : out.bytes[position];
}

// Writes out the lines that are complete. All lanes, after they put bytes into the ring and `head` counts them.
DEVICE void flush(Output& out, u32 lane) {
  __syncwarp();
#pragma unroll 1
  while (out.head - out.flushed >= FLUSH) {
    u32 at = out.flushed + lane * LINE;
    Line line = *(const Line*)&ring_at(out, at);
    *(Line*)(out.bytes + at) = line;
    adler_add(out.sum, line, at);
    out.flushed += FLUSH;
  }
  __syncwarp();
}

// Writes out the rest, the last line filled up with zeros, and gives the Adler-32 of all.
DEVICE u32 finish(Output& out, u32 lane) {
  flush(out, lane);
  u32 at = out.flushed + lane * LINE;
  if (at < out.head) {
    Line line = *(const Line*)&ring_at(out, at);
    u32 left = out.head - at;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      u32 here = left > 4 * k ? left - 4 * k : 0;
      if (here < 4) line.words[k] &= (1u << here * 8) - 1;
    }
    *(Line*)(out.bytes + at) = line;
    adler_add(out.sum, line, at);
  }
  return adler_value(out.sum, out.head);
}

// Appends `len` bytes of the input. False where there is no room.
DEVICE bool append(Output& out, const u8* from, u32 len, u32 lane) {
  if (len > out.len - out.head) return false;
  while (len != 0) {
    u32 part = min(len, RING - FLUSH);
#pragma unroll 1
    for (u32 i = lane; i < part; i += 32) ring_at(out, out.head + i) = __ldg(from + i);
    out.head += part;
    from += part;
    len -= part;
    flush(out, lane);
  }
  return true;
}
