// The tree of Huffman-coded literals (RFC 8878, 4.2): makes the table from its weights, with a warp.
//
// An entry of the table holds the symbol (8 bits) and the number of bits of its code. Codes are ordered by weight, then
// by symbol, so the table is filled without sorting: a symbol's place follows from counting equal weights before it.
#pragma once
#include "zstd/zstd_fse.cuh"

static const u32 ZSTD_HUFFMAN_MOST = 11;
static const u32 ZSTD_HUFFMAN_WORDS = 1024;  // 2^11 entries of 16 bits

struct ZstdTree {
  u32 used;  // bytes of the description; 0 for a fault
  u32 log;
};

// Reads weights coded by FSE with two alternating states, with one lane, from the `stop - start` bytes of the text;
// returns their number, 0 for a fault. Reading ends with the bits: the state that could not be updated has yielded its
// symbol, and the other one yields the last.
DEVICE u32 zstd_read_weights(ZstdBuild& b, const u32* cells, u32 start, u32 stop, u32 log) {
  const i32 length = zstd_bit_length((const u8*)b.text + start, stop - start);
  if (length < (i32)(2 * log)) return 0;
  u32 bit = 8 * start + (u32)length - log;
  u32 state = zstd_low_bits(zstd_text_at(b.text, bit), log);
  bit -= log;
  u32 other = zstd_low_bits(zstd_text_at(b.text, bit), log);
  for (u32 n = 0; n < 254;) {
    const u32 entry = cells[state], bits = zstd_entry_bits(entry);
    b.weights[n++] = (u8)zstd_entry_symbol(entry);
    if (bit < 8 * start + bits) {
      b.weights[n++] = (u8)zstd_entry_symbol(cells[other]);
      return n;
    }
    bit -= bits;
    state = other;
    other = zstd_entry_base(entry) + zstd_low_bits(zstd_text_at(b.text, bit), bits);
  }
  return 0;
}

// Reads the description at `src` and fills the table: ZSTD_HUFFMAN_WORDS, and behind them as many cells as the weights
// need. Called by all lanes, which return the same.
DEVICE ZstdTree zstd_tree(ZstdBuild& t, u32* table, const u8* src, u32 len, u32 lane) {
  const ZstdTree fault = {0, 0};
  const u32 below = (1u << lane) - 1;
  const u32 head = src[0];
  u32 number, used;
  if (head >= 128) {
    number = head - 127;
    used = 1 + (number + 1) / 2;
    if (used > len) return fault;
    for (u32 i = lane; i < number; i += 32) {
      const u32 pair = src[1 + i / 2];
      t.weights[i] = (u8)((i & 1) != 0 ? pair & 15 : pair >> 4);
    }
  } else {
    used = 1 + head;
    if (used > len) return fault;
    ZstdCounts counts = {0, 0};
    zstd_take_text(t, src + 1, head, lane);
    if (lane == 0) counts = zstd_read_counts(t, head, ZSTD_WEIGHTS);
    __syncwarp();
    counts.used = __shfl_sync(ZSTD_WARP, counts.used, 0);
    counts.log = __shfl_sync(ZSTD_WARP, counts.log, 0);
    if (counts.used == 0) return fault;
    u32* cells = table + ZSTD_HUFFMAN_WORDS;
    zstd_build(t, cells, counts.log, ZSTD_WEIGHTS, lane);
    number = 0;
    if (lane == 0) number = zstd_read_weights(t, cells, counts.used, head, counts.log);
    number = __shfl_sync(ZSTD_WARP, number, 0);
    if (number == 0) return fault;
  }
  __syncwarp();
  // Number of symbols with the weight of this lane, and the sum over all.
  u32 count = 0, total = 0;
  bool bad = false;
  for (u32 i = lane; i < 256; i += 32) {
    const u32 weight = i < number ? t.weights[i] : 0;
    bad |= weight > ZSTD_HUFFMAN_MOST;
    for (u32 w = 1; w <= ZSTD_HUFFMAN_MOST; ++w) {
      const u32 equal = __popc(__ballot_sync(ZSTD_WARP, weight == w));
      if (lane == w) count += equal;
      total += equal << (w - 1);
    }
  }
  if (__any_sync(ZSTD_WARP, bad) || total == 0) return fault;
  const u32 log = zstd_log2(total) + 1;
  const u32 rest = (1u << log) - total, last = zstd_log2(rest) + 1;
  if (log > ZSTD_HUFFMAN_MOST || (rest & (rest - 1)) != 0) return fault;
  if (lane == last) ++count;
  if (lane == 0) t.weights[number] = (u8)last;
  const u32 ones = __shfl_sync(ZSTD_WARP, count, 1);
  if (ones < 2 || (ones & 1) != 0) return fault;
  // Start of the codes of each weight.
  const u32 own = lane >= 1 && lane <= ZSTD_HUFFMAN_MOST ? count << (lane - 1) : 0;
  u32 sum = own;
  for (u32 d = 1; d < 16; d <<= 1) {
    const u32 other = __shfl_up_sync(ZSTD_WARP, sum, d);
    if (lane >= d) sum += other;
  }
  if (lane < 16) t.next[lane] = (u16)(sum - own);
  __syncwarp();
  u16* entries = (u16*)table;
  for (u32 i = lane; i < 256; i += 32) {
    const u32 weight = i <= number ? t.weights[i] : 0;
    const u32 equal = __match_any_sync(ZSTD_WARP, weight);
    const u32 before = __popc(equal & below);
    const u32 length = weight == 0 ? 0 : 1u << (weight - 1);
    const u32 start = t.next[weight] + before * length;
    __syncwarp();
    if (before == 0) t.next[weight] = (u16)(start + __popc(equal) * length);
    __syncwarp();
    const u32 entry = i | (log + 1 - weight) << 8;
    if (length <= 8) {
      for (u32 j = 0; j < length; ++j) entries[start + j] = (u16)entry;
    }
    // Long ranges are filled by all lanes.
    for (u32 mask = __ballot_sync(ZSTD_WARP, length > 8); mask != 0; mask &= mask - 1) {
      const u32 from = (u32)__ffs((i32)mask) - 1;
      const u32 whole = __shfl_sync(ZSTD_WARP, entry, from), at = __shfl_sync(ZSTD_WARP, start, from);
      const u32 cells = __shfl_sync(ZSTD_WARP, length, from);
      for (u32 j = lane; j < cells; j += 32) entries[at + j] = (u16)whole;
    }
  }
  __syncwarp();
  return ZstdTree{used, log};
}
