// The sequences of a block (RFC 8878, 3.1.1.3.2): their three tables, by a warp, and the sequences, by one lane, because
// the states of FSE make them serial.
//
// Recent offsets go on from block to block, but blocks are decoded at the same time. So an offset that depends on what
// came before the block is written as such: bit 29 set, which of the three recent offsets in bits 26 and 27, and below
// 2^25 less what is to be subtracted from it; subtracting 1 from an offset is then the same for both forms. Offsets that
// are plain are below 2^29.
#pragma once
#include "zstd_fse.cuh"

static const u32 ZSTD_INHERITED = 1u << 29;
static const u32 ZSTD_INHERITED_BIAS = 1u << 25;

DEVICE u32 zstd_inherit(u32 which) { return ZSTD_INHERITED | which << 26 | ZSTD_INHERITED_BIAS; }

// The offset meant, 0 for one that is not valid.
DEVICE u32 zstd_resolve(u32 offset, u32 first, u32 second, u32 third) {
  if ((offset & ZSTD_INHERITED) == 0) return offset;
  const u32 which = offset >> 26 & 3, less = ZSTD_INHERITED_BIAS - (offset & 0x3FFFFFFu);
  const u32 recent = which == 0 ? first : which == 1 ? second : third;
  return recent > less ? recent - less : 0;
}

struct ZstdTableSet {
  u32 log[3];
  u32 bits;  // position where the bits of the sequences start
  bool good;
};

// The counts or the symbol of one table of a block, without building it: the bytes it takes. As one lane. `symbol` is
// that of a table with one symbol.
DEVICE bool zstd_describe(ZstdTables& t, const u8* src, u32 len, u32 mode, u32 table, ZstdCounts& counts,
                          u32& symbol) {
  counts = ZstdCounts{0, 0};
  if (mode == ZSTD_PREDEFINED) {
    for (u32 s = 0; s < ZSTD_SYMBOLS; ++s) t.counts[s] = s < 53 ? zstd_predefined[table][s] : 0;
    counts.log = table == ZSTD_OFFSETS ? 5 : 6;
  } else if (mode == ZSTD_ONE_SYMBOL) {
    if (len == 0 || src[0] > zstd_most_symbol[table]) return false;
    symbol = src[0];
    counts.used = 1;
  } else if (mode == ZSTD_DESCRIBED) {
    counts = zstd_read_counts(src, len, table, t.counts);
    return counts.used != 0;
  }
  return true;
}

// Builds the tables of a block. A table that is repeated is found by going through the descriptions of the block that
// defined it, which are before it in the order of tables. All lanes call it and get the same answer.
DEVICE ZstdTableSet zstd_table_set(ZstdTables& t, const u8* src, const ZstdBlock* blocks, u32 index,
                                   u32 lane) {
  ZstdTableSet set = {{0, 0, 0}, 0, false};
  const ZstdBlock* block = blocks + index;
  for (u32 table = 0; table < 3; ++table) {
    const ZstdBlock* definer = blocks + block->tables[table];
    const u32 stop = definer->src + definer->src_len;
    ZstdCounts counts = {0, 0};
    u32 symbol = 0;
    u32 good = 1, mode = 0;
    if (lane == 0) {
      u32 at = definer->sequences;
      for (u32 i = 0; i <= table && good != 0; ++i) {
        mode = definer->modes >> (6 - 2 * i) & 3;
        good = zstd_describe(t, src + at, stop - at, mode, i, counts, symbol) && counts.used <= stop - at;
        at += counts.used;
      }
    }
    __syncwarp();
    good = __shfl_sync(ZSTD_WARP, good, 0);
    if (good == 0) return set;
    mode = __shfl_sync(ZSTD_WARP, mode, 0);
    counts.log = __shfl_sync(ZSTD_WARP, counts.log, 0);
    u32* cells = t.cells + zstd_table_at(table);
    set.log[table] = counts.log;
    if (mode == ZSTD_ONE_SYMBOL) {
      if (lane == 0) cells[0] = zstd_entry(0, 0, table, symbol);
      __syncwarp();
    } else {
      zstd_build(t, cells, counts.log, table, lane);
    }
  }
  // Where this block's own descriptions end.
  u32 good = 1, at = block->sequences;
  if (lane == 0) {
    const u32 stop = block->src + block->src_len;
    for (u32 i = 0; i < 3 && good != 0; ++i) {
      ZstdCounts counts;
      u32 symbol = 0;
      const u32 mode = block->modes >> (6 - 2 * i) & 3;
      if (mode == ZSTD_PREDEFINED) continue;
      good = zstd_describe(t, src + at, stop - at, mode, i, counts, symbol) && counts.used <= stop - at;
      at += counts.used;
    }
  }
  __syncwarp();
  set.good = __shfl_sync(ZSTD_WARP, good, 0) != 0;
  set.bits = __shfl_sync(ZSTD_WARP, at, 0);
  return set;
}

// Decodes the sequences into `out`, as one lane; false for a fault. Sets the block's size and recent offsets.
DEVICE bool zstd_sequences(const u32* cells, const ZstdTableSet& set, const u8* src, ZstdBlock* block,
                           u64* out) {
  ZstdBits bits;
  if (!zstd_open(bits, src + set.bits, block->src + block->src_len - set.bits)) return false;
  const u32* lengths = cells + zstd_table_at(ZSTD_LENGTHS);
  const u32* offsets = cells + zstd_table_at(ZSTD_OFFSETS);
  const u32* matches = cells + zstd_table_at(ZSTD_MATCHES);
  const u32 count = block->count;
  zstd_refill(bits);
  u32 length_state = zstd_read(bits, set.log[ZSTD_LENGTHS]);
  u32 offset_state = zstd_read(bits, set.log[ZSTD_OFFSETS]);
  u32 match_state = zstd_read(bits, set.log[ZSTD_MATCHES]);
  u32 first = zstd_inherit(0), second = zstd_inherit(1), third = zstd_inherit(2);
  u32 literals = 0, output = 0;
  for (u32 i = 0;;) {
    const u32 length_entry = lengths[length_state], match_entry = matches[match_state];
    const u32 offset_entry = offsets[offset_state];
    const u32 code = zstd_entry_extra(offset_entry);
    const u32 match_extra = zstd_entry_extra(match_entry), length_extra = zstd_entry_extra(length_entry);
    const u32 length_code = zstd_entry_symbol(length_entry);
    // Larger codes are offsets from 2^29 on.
    if (code > 28) return false;
    // No more than 28 bits, then 32, then 26.
    zstd_refill(bits);
    const u32 extra = zstd_read(bits, code);
    zstd_refill(bits);
    const u32 match = zstd_match_base[zstd_entry_symbol(match_entry)] + zstd_read(bits, match_extra);
    const u32 length = zstd_length_base[length_code] + zstd_read(bits, length_extra);
    u32 offset;
    if (code > 1) {
      offset = (1u << code) - 3 + extra;
      third = second, second = first, first = offset;
    } else {
      // 0 to 3: one of the recent offsets, counted from the next one where there are no literals.
      const u32 which = code + extra + (length_code == 0 ? 1 : 0);
      offset = which == 0 ? first : which == 1 ? second : which == 2 ? third : first - 1;
      if (offset == 0) return false;
      if (which > 1) third = second;
      if (which > 0) second = first;
      first = offset;
    }
    literals += length;
    output += length + match;
    if (output > ZSTD_BLOCK_MOST) return false;
    out[i] = zstd_pack(length, match, offset);
    if (++i == count) break;
    zstd_refill(bits);
    length_state = zstd_entry_base(length_entry) + zstd_read(bits, zstd_entry_bits(length_entry));
    match_state = zstd_entry_base(match_entry) + zstd_read(bits, zstd_entry_bits(match_entry));
    offset_state = zstd_entry_base(offset_entry) + zstd_read(bits, zstd_entry_bits(offset_entry));
  }
  if (bits.left != 0 || literals > block->literals_len) return false;
  block->size = output + block->literals_len - literals;
  block->recent[0] = first, block->recent[1] = second, block->recent[2] = third;
  return block->size <= block->most;
}
