// FSE tables (RFC 8878, 4.1): counts from their description, by one lane, and the decoding table from counts, by a warp.
//
// An entry holds the base of the next state (9 bits), the bits to add to it (4), the extra bits of the symbol (5) and the
// symbol (6). Which symbol a cell has follows from the order of cells alone, so every lane finds its own; which of a
// symbol's cells it is, from counting equal symbols in 32 cells at once.
#pragma once
#include "zstd_bits.cuh"

static const u32 ZSTD_WARP = 0xFFFFFFFFu;
static const u32 ZSTD_SYMBOLS = 64;  // room for the 53 that matches have

// What a warp builds tables with and in, in shared memory. Sequences have three tables in `cells`, Huffman one of 2048
// entries of 16 bits in the first 1024 words and that of its weights behind it.
struct ZstdTables {
  u32 cells[512 + 256 + 512];
  i16 counts[ZSTD_SYMBOLS];
  u16 before[ZSTD_SYMBOLS];  // cells of smaller symbols
  u16 next[ZSTD_SYMBOLS];
  u8 weights[256];
};

DEVICE u32 zstd_table_at(u32 table) { return table == ZSTD_LENGTHS ? 0 : table == ZSTD_OFFSETS ? 512 : 768; }
static const u32 ZSTD_WEIGHTS_AT = 1024;

CONSTANT u8 zstd_most_symbol[4] = {35, 31, 52, 15};
CONSTANT u8 zstd_most_log[4] = {9, 8, 9, 6};

CONSTANT u8 zstd_length_bits[36] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13,
    14, 15, 16};
CONSTANT u32 zstd_length_base[36] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128,
    256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
CONSTANT u8 zstd_match_bits[53] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1,
    1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
CONSTANT u32 zstd_match_base[53] = {
    3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
    30, 31, 32, 33, 34, 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195,
    16387, 32771, 65539};

// The predefined distributions (RFC 8878, 3.1.1.3.2.2), and their logs: 6, 5, 6.
CONSTANT i8 zstd_predefined[3][53] = {
    {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2,
     2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1},
    {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1},
    {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1, 1,
     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1},
};

struct ZstdCounts {
  u32 used;  // bytes of the description; 0 for a fault
  u32 log;
};

// 32 bits of the description from a bit on; bits after it are 0, as in libzstd. Reads the two words that they lie in.
DEVICE u32 zstd_forward(const u8* src, u32 len, u32 bit) {
  const i32 left = (i32)(8 * len - bit);
  if (left <= 0) return 0;
  const u32 lead = (u32)(u64)src & 3, from = 8 * lead + bit;
  const u32* words = (const u32*)(src - lead) + (from >> 5);
  const u32 value = __funnelshift_r(words[0], words[1], from & 31);
  return left < 32 ? value & ((1u << left) - 1) : value;
}

// Reads counts as one lane. Symbols that it does not name have 0. -1 is "less than one".
DEVICE ZstdCounts zstd_read_counts(const u8* src, u32 len, u32 table, i16* counts) {
  const ZstdCounts fault = {0, 0};
  const u32 most = zstd_most_symbol[table];
  for (u32 s = 0; s < ZSTD_SYMBOLS; ++s) counts[s] = 0;
  const u32 log = (zstd_forward(src, len, 0) & 15) + 5;
  if (log > zstd_most_log[table]) return fault;
  i32 remaining = (1 << log) + 1, threshold = 1 << log;
  u32 width = log + 1, bit = 4, symbol = 0;
  while (remaining > 1) {
    if (symbol > most || bit > 8 * len) return fault;
    const u32 bits = zstd_forward(src, len, bit);
    const i32 spare = 2 * threshold - 1 - remaining;
    i32 count = (i32)(bits & (u32)(threshold - 1));
    if (count < spare) {
      bit += width - 1;
    } else {
      count = (i32)(bits & (u32)(2 * threshold - 1));
      if (count >= threshold) count -= spare;
      bit += width;
    }
    --count;
    remaining -= count < 0 ? 1 : count;
    counts[symbol++] = (i16)count;
    while (remaining > 1 && remaining < threshold) threshold >>= 1, --width;
    if (count != 0) continue;
    for (u32 repeat = 3; repeat == 3;) {
      repeat = zstd_forward(src, len, bit) & 3;
      bit += 2;
      symbol += repeat;
      if (symbol > most) return fault;
    }
  }
  if (remaining != 1 || bit > 8 * len) return fault;
  return ZstdCounts{(bit + 7) >> 3, log};
}

DEVICE u32 zstd_extra_bits(u32 table, u32 symbol) {
  switch (table) {
    case ZSTD_LENGTHS: return zstd_length_bits[symbol];
    case ZSTD_OFFSETS: return symbol;
    case ZSTD_MATCHES: return zstd_match_bits[symbol];
    default: return 0;
  }
}

DEVICE u32 zstd_entry(u32 base, u32 bits, u32 table, u32 symbol) {
  return base | bits << 9 | zstd_extra_bits(table, symbol) << 13 | symbol << 18;
}
DEVICE u32 zstd_entry_base(u32 entry) { return entry & 511; }
DEVICE u32 zstd_entry_bits(u32 entry) { return entry >> 9 & 15; }
DEVICE u32 zstd_entry_extra(u32 entry) { return entry >> 13 & 31; }
DEVICE u32 zstd_entry_symbol(u32 entry) { return entry >> 18; }

// Fills the table of 2^log cells, 5 <= log <= 9, from `t.counts`, whose sum with each -1 as 1 is 2^log. All lanes call it
// after a __syncwarp; it ends with one.
DEVICE void zstd_build(ZstdTables& t, u32* cells, u32 log, u32 table, u32 lane) {
  const u32 size = 1u << log, below = (1u << lane) - 1;
  u32 total = 0, low = 0;
  for (u32 s = lane; s < ZSTD_SYMBOLS; s += 32) {
    const i32 count = t.counts[s];
    const u32 rare = __ballot_sync(ZSTD_WARP, count < 0);
    // Those of "less than one" have a cell each, from the last on.
    if (count < 0) cells[size - 1 - low - __popc(rare & below)] = s;
    low += __popc(rare);
    u32 sum = count > 0 ? (u32)count : 0;
    const u32 own = sum;
    for (u32 d = 1; d < 32; d <<= 1) {
      const u32 other = __shfl_up_sync(ZSTD_WARP, sum, d);
      if (lane >= d) sum += other;
    }
    t.before[s] = (u16)(total + sum - own);
    t.next[s] = (u16)(count < 0 ? 1 : count);
    total += __shfl_sync(ZSTD_WARP, sum, 31);
  }
  __syncwarp();
  const u32 step = (size >> 1) + (size >> 3) + 3;
  u32 placed = 0;
  for (u32 i = lane; i < size; i += 32) {
    const u32 cell = i * step & (size - 1);
    const bool free = cell < size - low;
    const u32 mask = __ballot_sync(ZSTD_WARP, free);
    const u32 number = placed + __popc(mask & below);
    placed += __popc(mask);
    if (!free) continue;
    // The largest symbol with no more cells before it: those without cells have as many before as the next.
    u32 symbol = 0;
    for (u32 d = 32; d != 0; d >>= 1) {
      if (t.before[symbol + d] <= number) symbol += d;
    }
    cells[cell] = symbol;
  }
  __syncwarp();
  for (u32 i = lane; i < size; i += 32) {
    const u32 symbol = cells[i];
    const u32 equal = __match_any_sync(ZSTD_WARP, symbol);
    const u32 before = __popc(equal & below);
    const u32 state = t.next[symbol] + before;
    __syncwarp();
    if (before == 0) t.next[symbol] = (u16)(state + __popc(equal));
    __syncwarp();
    const u32 bits = log - zstd_log2(state);
    cells[i] = zstd_entry((state << bits) - size, bits, table, symbol);
  }
  __syncwarp();
}
