// Huffman-coded literals (RFC 8878, 3.1.1.3.1 and 4.2): one stream or four, by a warp.
//
// A stream is cut into parts, a lane each. A lane does not know where the first code of its part begins: it starts some
// bits early, since a decoder that starts anywhere soon falls into step with the right one, and counts the symbols of
// its part. Then the end of each part must be the start of the next; where it is not, that lane counts again from the
// right start, until all agree. The counts say where each lane's literals go, and they are decoded once more to be
// written. Lane 0 of a stream starts right, so no more rounds than parts are needed.
#pragma once
#include "zstd_huffman.cuh"

static const u32 ZSTD_PART_LEAST = 256;  // bits of a part, or it is not worth a lane
static const u32 ZSTD_RUN_IN = 512;

// A code: an entry of the table. Eleven bits must be valid.
DEVICE u32 zstd_code(ZstdBits& bits, const u16* entries, u32 log) {
  const u32 entry = entries[(u32)(bits.window >> 32) >> (32 - log)];
  zstd_skip(bits, entry >> 8);
  return entry;
}

// Passes over codes until no more than `limit` bits are left; how many.
DEVICE u32 zstd_pass(ZstdBits& bits, const u16* entries, u32 log, i32 limit) {
  u32 count = 0;
  while (bits.left > limit) {
    zstd_refill(bits);
    zstd_code(bits, entries, log);
    ++count;
    if (bits.left > limit) {
      zstd_code(bits, entries, log);
      ++count;
    }
  }
  return count;
}

// Writes the next `len` literals, a word at a time where it can.
DEVICE void zstd_write(ZstdBits& bits, const u16* entries, u32 log, u8* dst, u32 len) {
  const u32 head = min(len, (u32)(0 - (u64)dst) & 3u);
  for (u32 i = 0; i < head; ++i) {
    zstd_refill(bits);
    dst[i] = (u8)zstd_code(bits, entries, log);
  }
  u32* words = (u32*)(dst + head);
  const u32 count = (len - head) >> 2;
  for (u32 i = 0; i < count; ++i) {
    zstd_refill(bits);
    const u32 a = zstd_code(bits, entries, log), b = zstd_code(bits, entries, log);
    zstd_refill(bits);
    const u32 c = zstd_code(bits, entries, log), d = zstd_code(bits, entries, log);
    words[i] = (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24;
  }
  for (u32 i = head + 4 * count; i < len; ++i) {
    zstd_refill(bits);
    dst[i] = (u8)zstd_code(bits, entries, log);
  }
}

struct ZstdStream {
  const u8* src;
  u32 src_len;
  u8* dst;
  u32 len;
};

// The streams, each by `lanes` lanes, a power of two; false for a fault, the same for all lanes.
DEVICE bool zstd_streams(const u16* entries, u32 log, ZstdStream stream, u32 lanes, u32 lane) {
  const u32 part = lane & (lanes - 1);
  const i32 length = zstd_bit_length(stream.src, stream.src_len);
  if (__any_sync(ZSTD_WARP, length < 0)) return false;
  const i32 span = (i32)max(((u32)length + lanes - 1) / lanes, ZSTD_PART_LEAST);
  const i32 from = max(length - (i32)part * span, 0), limit = max(from - span, 0);
  ZstdBits bits;
  i32 start = from;
  u32 count = 0;
  if (from > 0) {
    zstd_seek(bits, stream.src, (u32)min(length, part == 0 ? from : from + (i32)ZSTD_RUN_IN));
    zstd_pass(bits, entries, log, from);
    start = bits.left;
    count = zstd_pass(bits, entries, log, limit);
  }
  i32 end = from > 0 ? bits.left : 0;
  for (;;) {
    const i32 right = __shfl_up_sync(ZSTD_WARP, end, 1);
    const bool again = part != 0 && right != start;
    if (!__any_sync(ZSTD_WARP, again)) break;
    if (!again) continue;
    start = end = right;
    count = 0;
    if (start > limit) {
      zstd_seek(bits, stream.src, (u32)start);
      count = zstd_pass(bits, entries, log, limit);
      end = bits.left;
    }
  }
  u32 sum = count;
  for (u32 d = 1; d < lanes; d <<= 1) {
    const u32 other = __shfl_up_sync(ZSTD_WARP, sum, d);
    if (part >= d) sum += other;
  }
  const bool bad = part == lanes - 1 && (end != 0 || sum != stream.len);
  if (__any_sync(ZSTD_WARP, bad)) return false;
  if (count != 0) {
    zstd_seek(bits, stream.src, (u32)start);
    zstd_write(bits, entries, log, stream.dst + (sum - count), count);
  }
  return true;
}

// The literals of a block; false for a fault, the same for all lanes. The tree is described at the head of the section
// of `described`: the block itself or an earlier one.
DEVICE bool zstd_literals(ZstdTables& t, const u8* src, const ZstdBlock& block, const ZstdBlock& described,
                          u8* dst, u32 lane) {
  const ZstdTree tree = zstd_tree(t, src + described.literals, described.literals_src_len, lane);
  if (tree.used == 0) return false;
  const bool own = (block.flags & ZSTD_LITERALS) >> ZSTD_LITERALS_SHIFT == ZSTD_COMPRESSED;
  const u32 skipped = own ? tree.used : 0;
  const u8* streams = src + block.literals + skipped;
  const u32 space = block.literals_src_len - skipped, len = block.literals_len;
  const u16* entries = (const u16*)t.cells;
  if (lane < ZSTD_PADDING) dst[len + lane] = 0;
  if ((block.flags & ZSTD_FOUR_STREAMS) == 0) {
    return zstd_streams(entries, tree.log, ZstdStream{streams, space, dst, len}, 32, lane);
  }
  // Three sizes of 16 bits, the fourth is the rest; libzstd wants ten bytes and 6 literals at least.
  if (space < 10) return false;
  const u32 a = zstd_u16(streams), b = zstd_u16(streams + 2), c = zstd_u16(streams + 4);
  const u32 quarter = (len + 3) / 4;
  if (a + b + c > space - 6 || 3 * quarter > len) return false;
  const u32 number = lane / 8;
  const u32 from = number == 0 ? 0 : number == 1 ? a : number == 2 ? a + b : a + b + c;
  const u32 size = number == 0 ? a : number == 1 ? b : number == 2 ? c : space - 6 - from;
  const u32 output = number < 3 ? quarter : len - 3 * quarter;
  const ZstdStream stream = {streams + 6 + from, size, dst + number * quarter, output};
  return zstd_streams(entries, tree.log, stream, 8, lane);
}
