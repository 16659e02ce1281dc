// FSE tables (RFC 8878, 4.1): reads counts from their description, with one lane, and makes the decoding table from
// counts, with a warp.
//
// An entry holds the number of bits of the next state (5 bits), its base in words (13), the symbol (7), and on top the
// total of the next state's bits and the symbol's extra bits, so that the sum of three entries contains the bits of a
// sequence.
//
// The symbol of a cell follows from the order of cells alone, so every lane finds its own; its rank among the symbol's
// cells follows from counting equal symbols in 32 cells at once.
#pragma once
#include "zstd/zstd_format.cuh"

static const u32 ZSTD_SYMBOLS = 64;  // room for the 53 symbols of matches

// Working memory of a warp for building tables, in shared memory: not needed afterwards.
struct ZstdBuild {
  i16 counts[ZSTD_SYMBOLS];
  u16 before[ZSTD_SYMBOLS];  // cells of smaller symbols
  u16 next[ZSTD_SYMBOLS];
  u8 weights[256];
  u32 text[36];  // a description, up to its maximum length
};

DEVICE u32 zstd_table_at(u32 table) { return table == ZSTD_LENGTHS ? 0 : table == ZSTD_OFFSETS ? 512 : 768; }
static const u32 ZSTD_CELLS = 512 + 256 + 512;  // all three tables

CONSTANT u8 zstd_most_symbol[4] = {35, 31, 52, 15};
CONSTANT u8 zstd_most_log[4] = {9, 8, 9, 6};

CONSTANT u8 zstd_length_bits[36] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13,
    14, 15, 16};
CONSTANT u8 zstd_length_base[25] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48};
CONSTANT u8 zstd_match_bits[53] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1,
    1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
CONSTANT u8 zstd_match_base[43] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
    28, 29, 30, 31, 32, 34, 36, 38, 40, 44, 48, 56, 64, 80, 96};

// The predefined distributions (RFC 8878, 3.1.1.3.2.2), and their logs: 6, 5, 6.
CONSTANT i8 zstd_predefined[3][53] = {
    {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2,
     2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1},
    {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1},
    {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1, 1,
     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1},
};

// Number of bits of a stream that is read from its end, without the end mark; negative if there is none.
DEVICE i32 zstd_bit_length(const u8* src, u32 len) {
  const u32 mark = len != 0 ? src[len - 1] : 0;
  return mark != 0 ? (i32)((len - 1) * 8 + zstd_log2(mark)) : -1;
}

DEVICE u32 zstd_low_bits(u32 value, u32 count) { return value & ((1u << count) - 1); }

struct ZstdCounts {
  u32 used;  // bytes of the description; 0 for a fault
  u32 log;
};

// Maximum length of a description of counts: 53 of 10 bits, and 2 bits for those that follow a 0.
static const u32 ZSTD_TEXT = 128;

// Loads a description into shared memory. Called by all lanes; starts and ends with a __syncwarp.
DEVICE void zstd_take_text(ZstdBuild& b, const u8* src, u32 len, u32 lane) {
  __syncwarp();
  const u32 lead = (u32)(u64)src & 3;
  const u32* words = (const u32*)(src - lead) + lane;
  b.text[lane] = 4 * lane < len ? __funnelshift_r(words[0], words[1], 8 * lead) : 0;
  if (lane < 4) b.text[32 + lane] = 0;
  __syncwarp();
}

DEVICE u32 zstd_text_at(const u32* text, u32 bit) {
  const u32* words = text + (bit >> 5);
  return __funnelshift_r(words[0], words[1], bit);
}

// The 32 bits from a bit on; bits after the description are 0, as in libzstd.
DEVICE u32 zstd_forward(const u32* text, u32 len, u32 bit) {
  const i32 left = (i32)(8 * len - bit);
  if (left <= 0) return 0;
  const u32 value = zstd_text_at(text, bit);
  return left < 32 ? value & ((1u << left) - 1) : value;
}

// Reads counts with one lane, from a description in `len` bytes, at most ZSTD_TEXT of which are used. Symbols that it
// does not name get 0. -1 is "less than one".
DEVICE ZstdCounts zstd_read_counts(ZstdBuild& b, u32 len, u32 table) {
  const ZstdCounts fault = {0, 0};
  const u32* src = b.text;
  i16* counts = b.counts;
  len = min(len, ZSTD_TEXT);
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
  return bits | base << 7 | symbol << 18 | (bits + zstd_extra_bits(table, symbol)) << 25;
}
DEVICE u32 zstd_entry_bits(u32 entry) { return entry & 31; }
DEVICE u32 zstd_entry_base(u32 entry) { return entry >> 7 & 511; }
DEVICE u32 zstd_entry_offset(u32 entry) { return entry >> 5 & 0x7FC; }  // the base, in bytes
DEVICE u32 zstd_entry_symbol(u32 entry) { return entry >> 18 & 127; }
DEVICE u32 zstd_entry_both(u32 entry) { return entry >> 25; }

// Fills the table of 2^log cells, 5 <= log <= 9, from `t.counts`, whose sum, with each -1 counted as 1, is 2^log.
// Called by all lanes after a __syncwarp; ends with one.
DEVICE void zstd_build(ZstdBuild& t, u32* cells, u32 log, u32 table, u32 lane) {
  const u32 size = 1u << log, below = (1u << lane) - 1;
  u32 total = 0, low = 0;
  for (u32 s = lane; s < ZSTD_SYMBOLS; s += 32) {
    const i32 count = t.counts[s];
    const u32 rare = __ballot_sync(ZSTD_WARP, count < 0);
    // Symbols with "less than one" get one cell each, from the last on.
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
    // The largest symbol with no more cells before it: symbols without cells have as many before them as the next one.
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
