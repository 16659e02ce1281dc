// The first pass: finds the blocks of a tile, their content and its destination, from headers alone. One lane per tile.
// Afterwards every position and every size of an entry lies inside the input and the scratch.
#pragma once
#include "zstd/zstd_format.cuh"

struct ZstdScan {
  const u8* src;
  u32 src_len, dst_len;
  ZstdBlock* blocks;
  u32 count;      // blocks so far
  u64 room, room_end;
  u32 tree;       // the last block that described one in this frame
  u32 tables[3];
};

// Takes `bytes` of the scratch. Sizes are below 2^21, so nothing overflows.
DEVICE bool zstd_take(ZstdScan& scan, u32 bytes, u32* at) {
  const u32 padded = (bytes + 7) & ~7u;
  if (scan.room_end - scan.room < padded) return false;
  *at = (u32)scan.room;
  scan.room += padded;
  return true;
}

// Scans the literals section at [at, stop); returns its length, or 0 for a fault.
DEVICE u32 zstd_scan_literals(ZstdScan& scan, ZstdBlock& block, u32 at, u32 stop) {
  const u8* p = scan.src + at;
  const u32 space = stop - at;
  if (space < 2) return 0;
  const u32 type = p[0] & 3, format = p[0] >> 2 & 3;
  u32 header, len, encoded;
  if (type == ZSTD_RAW || type == ZSTD_RLE) {
    header = format == 1 ? 2 : format == 3 ? 3 : 1;
    if (space < header) return 0;
    len = format == 1 ? zstd_u16(p) >> 4 : format == 3 ? zstd_u24(p) >> 4 : p[0] >> 3;
    encoded = type == ZSTD_RAW ? len : 1;
  } else {
    if (space < 5) return 0;
    const u32 word = zstd_u32(p);
    header = format < 2 ? 3 : format + 2;
    len = word >> 4 & (format < 2 ? 0x3FFu : format == 2 ? 0x3FFFu : 0x3FFFFu);
    encoded = format < 2 ? word >> 14 & 0x3FF : format == 2 ? word >> 18 : word >> 22 | (u32)p[4] << 10;
    if (len < (format == 0 ? 1u : 6u) || encoded == 0) return 0;
    if (format != 0) block.flags |= ZSTD_FOUR_STREAMS;
    if (type == ZSTD_COMPRESSED) scan.tree = scan.count;
    if (scan.tree == ZSTD_NONE) return 0;
    block.tree = scan.tree;
    if (len > block.most || !zstd_take(scan, len + ZSTD_PADDING, &block.literals_at)) return 0;
  }
  if (len > block.most || encoded > space - header) return 0;
  block.flags |= type << ZSTD_LITERALS_SHIFT;
  block.literals = at + header;
  block.literals_src_len = encoded;
  block.literals_len = len;
  return header + encoded;
}

// Scans a compressed block, up to the modes of its tables.
DEVICE bool zstd_scan_compressed(ZstdScan& scan, ZstdBlock& block) {
  const u32 stop = block.src + block.src_len;
  const u32 literals = zstd_scan_literals(scan, block, block.src, stop);
  if (literals == 0) return false;
  u32 at = block.src + literals;
  if (at >= stop) return false;
  u32 count = scan.src[at++];
  if (count == 255) {
    if (stop - at < 2) return false;
    count = zstd_u16(scan.src + at) + 0x7F00;
    at += 2;
  } else if (count > 127) {
    if (stop - at < 1) return false;
    count = (count - 128) << 8 | scan.src[at++];
  }
  block.count = count;
  if (count == 0) {
    block.size = block.literals_len;
    return at == stop;
  }
  if (at >= stop) return false;
  block.modes = scan.src[at++];
  block.sequences = at;
  if ((block.modes & 3) != 0) return false;
  for (u32 table = 0; table < 3; ++table) {
    if ((block.modes >> (6 - 2 * table) & 3) != ZSTD_REPEAT) scan.tables[table] = scan.count;
    if (scan.tables[table] == ZSTD_NONE) return false;
    block.tables[table] = scan.tables[table];
  }
  return zstd_take(scan, count * 8, &block.sequences_at);
}

// Content of a frame header.
struct ZstdHead {
  u32 len;              // of the header
  u64 window, content;
  bool sized;           // it states `content`
  bool checksum;
};

// Reads the header of a frame, behind its magic number; returns false for a fault.
DEVICE bool zstd_head(const u8* p, u32 space, ZstdHead& head) {
  if (space < 9) return false;
  const u32 descriptor = p[4];
  const bool single = (descriptor & 32) != 0;
  const u32 sized = descriptor >> 6;
  // A dictionary or the reserved bit.
  if ((descriptor & 11) != 0) return false;
  const u32 size_len = sized == 0 ? (single ? 1 : 0) : 1u << sized;
  const u32 header = 5 + (single ? 0 : 1) + size_len;
  if (space < header + 3) return false;
  u64 window = 0, content = 0;
  if (!single) {
    const u32 log = 10 + (p[5] >> 3);
    if (log > 30) return false;
    window = ((u64)1 << log) + (((u64)1 << log) >> 3) * (p[5] & 7);
  }
  const u8* size = p + header - size_len;
  for (u32 i = 0; i < size_len; ++i) content |= (u64)size[i] << 8 * i;
  if (sized == 1) content += 256;
  head = {header, single ? content : window, content, size_len != 0, (descriptor & 4) != 0};
  return true;
}

// Scans the frame at `at`; returns the position after it, or 0 for a fault.
DEVICE u32 zstd_scan_frame(ZstdScan& scan, u32 at) {
  ZstdHead frame;
  if (!zstd_head(scan.src + at, scan.src_len - at, frame) || frame.content > scan.dst_len) return 0;
  u32 flags = ZSTD_FIRST;
  scan.tree = scan.tables[0] = scan.tables[1] = scan.tables[2] = ZSTD_NONE;
  at += frame.len;
  for (;;) {
    if (scan.src_len - at < 3) return 0;
    const u32 head = zstd_u24(scan.src + at), type = head >> 1 & 3, len = head >> 3;
    at += 3;
    ZstdBlock block = {};
    block.flags = flags | type;
    block.src = at;
    block.src_len = type == ZSTD_RLE ? 1 : len;
    block.most = frame.window < ZSTD_BLOCK_MOST ? (u32)frame.window : ZSTD_BLOCK_MOST;
    block.size = len;
    block.content = (u32)frame.content;
    if (type == 3 || len > block.most || block.src_len > scan.src_len - at) return 0;
    if (scan.count == zstd_most_blocks(scan.dst_len)) return 0;
    if (type == ZSTD_COMPRESSED && !zstd_scan_compressed(scan, block)) return 0;
    at += block.src_len;
    const bool last = (head & 1) != 0;
    if (last) {
      block.flags |= ZSTD_LAST | (frame.sized ? ZSTD_SIZED : 0);
      if (frame.checksum) {
        if (scan.src_len - at < 4) return 0;
        block.flags |= ZSTD_CHECKSUM;
        at += 4;
      }
    }
    scan.blocks[scan.count++] = block;
    if (last) return at;
    flags = 0;
  }
}

// Tiles with more skippable frames are left to the host: these make no output, so nothing else bounds their time.
static const u32 ZSTD_MOST_SKIPPED = 64;

// Scans all frames; returns false for a fault. Bytes after the last frame are a fault: the host knows which are
// padding.
DEVICE bool zstd_scan_tile(ZstdScan& scan) {
  u32 at = 0, skippable = 0;
  while (at < scan.src_len) {
    const u32 space = scan.src_len - at;
    if (space < 8) return false;
    const u32 magic = zstd_u32(scan.src + at);
    if ((magic & ~15u) == 0x184D2A50u) {
      const u32 skipped = zstd_u32(scan.src + at + 4);
      if (skipped > space - 8 || ++skippable > ZSTD_MOST_SKIPPED) return false;
      at += 8 + skipped;
    } else {
      if (magic != ZSTD_MAGIC) return false;
      at = zstd_scan_frame(scan, at);
      if (at == 0) return false;
    }
  }
  return scan.count != 0;
}
