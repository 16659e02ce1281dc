// The header of an LZ4 frame. Frames with checksums of blocks or of the content and those with a dictionary are left to
// the host; the checksum of the header is verified.
#pragma once
#include "abi.h"

namespace lz4 {

constexpr u32 FRAME_MAGIC = 0x184D2204u;

DEVICE u32 little_u32(const u8* p) { return (u32)p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24; }

// XXH32 with seed 0 of fewer than 16 bytes.
DEVICE u32 short_xxh32(const u8* p, u32 len) {
  const u32 p1 = 2654435761u, p2 = 2246822519u, p3 = 3266489917u, p4 = 668265263u, p5 = 374761393u;
  u32 h = p5 + len, i = 0;
  for (; i + 4 <= len; i += 4) {
    h += little_u32(p + i) * p3;
    h = (h << 17 | h >> 15) * p4;
  }
  for (; i < len; ++i) {
    h += p[i] * p5;
    h = (h << 11 | h >> 21) * p1;
  }
  h = (h ^ h >> 15) * p2;
  h = (h ^ h >> 13) * p3;
  return h ^ h >> 16;
}

struct Frame {
  u32 body;        // beginning of the first LZ4 block
  u32 block_most;  // maximum output of an LZ4 block
  bool independent;
  bool plain;      // no part is left to the host
};

DEVICE Frame frame_header(const u8* src, u32 src_len, u32 dst_len) {
  Frame frame = {0, 0, false, false};
  if (src_len < 7) return frame;
  const u32 flags = src[4], size = src[5];
  // Version 01, no checksum of blocks, none of the content, reserved bit 0, no dictionary.
  if ((flags & 0xD7u) != 0x40u || (size & 0x8Fu) != 0 || size >> 4 < 4) return frame;
  const bool sized = (flags & 8) != 0;
  frame.body = sized ? 15 : 7;
  if (src_len < frame.body) return frame;
  if (sized && (little_u32(src + 6) != dst_len || little_u32(src + 10) != 0)) return frame;
  if ((short_xxh32(src + 4, frame.body - 5) >> 8 & 0xFF) != src[frame.body - 1]) return frame;
  frame.block_most = 1u << (8 + 2 * (size >> 4));
  frame.independent = (flags & 0x20) != 0;
  frame.plain = true;
  return frame;
}

}  // namespace lz4
