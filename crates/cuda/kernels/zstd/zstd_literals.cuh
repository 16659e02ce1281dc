// Decodes Huffman-coded literals (RFC 8878, 3.1.1.3.1 and 4.2): one stream or four, with a warp.
//
// A stream is cut into parts, one per lane. A lane does not know where the first code of its part begins: it starts
// some bits early, because a decoder that starts anywhere soon synchronises with the right one, and counts the symbols
// of its part. Then the end of each part must be the start of the next; otherwise that lane counts again from the right
// start, up to a place where it was before, until all agree. The counts give the places of each lane's literals, and
// they are decoded again to be written. Lane 0 of a stream starts right, so at most as many rounds as parts are needed.
#pragma once
#include "zstd/zstd_huffman.cuh"
#include "zstd/zstd_lane.cuh"

static const u32 ZSTD_PART_LEAST = 256;  // minimum bits of a part for a lane to be worthwhile
static const u32 ZSTD_RUN_IN = 1024;
static const i32 ZSTD_MARKS = 4;
static const i32 ZSTD_NO_MARK = -1 << 30;

// Skips codes while more than `limit` bits are left; returns their number. Called by all lanes together.
DEVICE u32 zstd_pass(ZstdLane& lane, const u16* entries, u32 log, i32 limit) {
  u32 count = 0;
  while (__any_sync(ZSTD_WARP, lane.bit > limit)) {
    zstd_lane_advance(lane);
    // Two codes per 32 bits, using at most 230 of the 256 available bits.
#pragma unroll
    for (u32 i = 0; i < 10; ++i) {
      u32 bits = zstd_lane_top(lane);
#pragma unroll
      for (u32 j = 0; j < 2; ++j) {
        const u32 size = lane.bit > limit ? entries[bits >> (32 - log)] >> 8 : 0;
        count += size != 0 ? 1 : 0;
        lane.bit -= (i32)size;
        bits <<= size;
      }
    }
  }
  return count;
}

// Writes the next `len` literals, mostly sixteen at a time. Called by all lanes together.
DEVICE void zstd_write(ZstdLane& lane, const u16* entries, u32 log, u8* dst, u32 len) {
  u32 part = min(len, (u32)(0 - (u64)dst) & 15u);
  for (bool first = true; __any_sync(ZSTD_WARP, len != 0); first = false) {
    if (!first) part = min(len, 16u);
    zstd_lane_advance(lane);
    ZstdQuad quad = {{0, 0, 0, 0}};
#pragma unroll
    for (u32 i = 0; i < 16; i += 2) {
      u32 bits = zstd_lane_top(lane);
#pragma unroll
      for (u32 j = 0; j < 2; ++j) {
        const u32 entry = i + j < part ? entries[bits >> (32 - log)] : 0;
        quad.words[i / 4] |= (entry & 255) << 8 * ((i + j) % 4);
        lane.bit -= (i32)(entry >> 8);
        bits <<= entry >> 8;
      }
    }
    if (part == 16) {
      *(ZstdQuad*)dst = quad;
    } else {
#pragma unroll
      for (u32 i = 0; i < 15; ++i) {
        if (i < part) dst[i] = (u8)(quad.words[i / 4] >> 8 * (i % 4));
      }
    }
    dst += part;
    len -= part;
  }
}

struct ZstdStream {
  const u8* src;
  u32 src_len;
  u8* dst;
  u32 len;
};

// The bit after which a lane is marked, from `from` down to `limit`; the last is `limit`.
DEVICE i32 zstd_mark(i32 from, i32 limit, i32 number) {
  return limit + (i32)((u32)(from - limit) / (u32)ZSTD_MARKS * (u32)(ZSTD_MARKS - 1 - number));
}

// Decodes the streams, each with `lanes` lanes, a power of two; returns false for a fault, the same for all lanes.
// `words` holds ZSTD_LANE_WORDS of every lane.
DEVICE bool zstd_streams(u32* words, const u16* entries, u32 log, ZstdStream stream, u32 lanes, u32 lane) {
  const u32 part = lane & (lanes - 1);
  const i32 length = zstd_bit_length(stream.src, stream.src_len);
  if (__any_sync(ZSTD_WARP, length < 0)) return false;
  ZstdLane bits = zstd_lane_of(stream.src, stream.src_len, shared_address(words + lane));
  const i32 bottom = (i32)(8 * ((u64)stream.src & 15)), top = bottom + length;
  const i32 span = (i32)max(((u32)length + lanes - 1) / lanes, ZSTD_PART_LEAST);
  const i32 from = max(top - (i32)part * span, bottom), limit = max(from - span, bottom);
  zstd_lane_seek(bits, part == 0 || from == bottom ? from : min(top, from + (i32)ZSTD_RUN_IN));
  // Places that the lane passed, and the number of codes from each to the end.
  i32 marks[ZSTD_MARKS] = {}, start = 0;
  u32 rest[ZSTD_MARKS] = {}, count = 0;
#pragma unroll 1
  for (i32 i = -1; i < ZSTD_MARKS; ++i) {
    const u32 more = zstd_pass(bits, entries, log, i < 0 ? from : zstd_mark(from, limit, i));
    if (i < 0) start = bits.bit;
    count = i < 0 ? 0 : count + more;
#pragma unroll
    for (i32 j = 0; j < ZSTD_MARKS; ++j) {
      if (j == i) marks[j] = bits.bit;
      if (j < i) rest[j] += more;
    }
  }
  i32 end = bits.bit;
  for (;;) {
    const i32 right = __shfl_up_sync(ZSTD_WARP, end, 1);
    bool again = part != 0 && right != start;
    if (!__any_sync(ZSTD_WARP, again)) break;
    if (again) {
      zstd_lane_seek(bits, right);
      start = right;
      count = 0;
    }
    // It mostly soon reaches a place where it was before.
#pragma unroll 1
    for (i32 i = 0; i < ZSTD_MARKS && __any_sync(ZSTD_WARP, again); ++i) {
      count += zstd_pass(bits, entries, log, again ? zstd_mark(from, limit, i) : bits.bit);
      bool met = false;
#pragma unroll
      for (i32 j = 0; j < ZSTD_MARKS; ++j) {
        if (!again || j != i || bits.bit != marks[j]) continue;
        met = true;
        count += rest[j];
      }
      again = again && !met;
    }
    if (!again) continue;
    end = bits.bit;
#pragma unroll
    for (i32 j = 0; j < ZSTD_MARKS; ++j) marks[j] = ZSTD_NO_MARK;
  }
  u32 sum = count;
  for (u32 d = 1; d < lanes; d <<= 1) {
    const u32 other = __shfl_up_sync(ZSTD_WARP, sum, d);
    if (part >= d) sum += other;
  }
  const bool bad = part == lanes - 1 && (end != bottom || sum != stream.len);
  if (__any_sync(ZSTD_WARP, bad)) return false;
  zstd_lane_seek(bits, start);
  zstd_write(bits, entries, log, stream.dst + (sum - count), count);
  return true;
}

// Decodes the literals of a block; returns false for a fault, the same for all lanes. The tree is described at the head
// of the literals section of `described`: the block itself or an earlier one.
DEVICE bool zstd_literals(ZstdBuild& b, u32* table, u32* words, const u8* src, const ZstdBlock& block,
                          const ZstdBlock& described, u8* dst, u32 lane) {
  const ZstdTree tree = zstd_tree(b, table, src + described.literals, described.literals_src_len, lane);
  if (tree.used == 0) return false;
  const bool own = (block.flags & ZSTD_LITERALS) >> ZSTD_LITERALS_SHIFT == ZSTD_COMPRESSED;
  const u32 skipped = own ? tree.used : 0;
  const u8* streams = src + block.literals + skipped;
  const u32 space = block.literals_src_len - skipped, len = block.literals_len;
  const u16* entries = (const u16*)table;
  if (lane < ZSTD_PADDING) dst[len + lane] = 0;
  u32 lanes = 32;
  ZstdStream stream = {streams, space, dst, len};
  if ((block.flags & ZSTD_FOUR_STREAMS) != 0) {
    // Three sizes of 16 bits, the fourth is the rest; libzstd requires at least ten bytes and 6 literals.
    if (space < 10) return false;
    const u32 one = zstd_u16(streams), two = zstd_u16(streams + 2), three = zstd_u16(streams + 4);
    const u32 quarter = (len + 3) / 4;
    if (one + two + three > space - 6 || 3 * quarter > len) return false;
    lanes = 8;
    const u32 number = lane / lanes;
    const u32 from = number == 0 ? 0 : number == 1 ? one : number == 2 ? one + two : one + two + three;
    const u32 size = number == 0 ? one : number == 1 ? two : number == 2 ? three : space - 6 - from;
    stream = ZstdStream{streams + 6 + from, size, dst + number * quarter,
                        number < 3 ? quarter : len - 3 * quarter};
  }
  return zstd_streams(words, entries, tree.log, stream, lanes, lane);
}
