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

// What the description of one table says.
struct ZstdDescription {
  u32 mode;
  u32 log;     // where it has counts, which are then in ZstdTables
  u32 symbol;  // where it has one
  u32 used;    // bytes
};

// Reads the description at [at, stop), as one lane; false for a fault.
DEVICE bool zstd_describe(ZstdTables& t, const u8* src, u32 at, u32 stop, u32 table, ZstdDescription& found) {
  found.log = table == ZSTD_OFFSETS ? 5 : 6;
  found.symbol = found.used = 0;
  if (found.mode == ZSTD_ONE_SYMBOL) {
    if (at >= stop) return false;
    found.log = 0;
    found.symbol = src[at];
    found.used = 1;
    return found.symbol <= zstd_most_symbol[table];
  }
  if (found.mode != ZSTD_DESCRIBED) return true;
  const ZstdCounts counts = zstd_read_counts(src + at, stop - at, table, t.counts);
  found.log = counts.log;
  found.used = counts.used;
  return counts.used != 0;
}

// Builds the tables of a block. A table that is repeated is found by going through the descriptions of the block that
// defined it, up to its own. All lanes call it and get the same answer.
DEVICE ZstdTableSet zstd_table_set(ZstdTables& t, const u8* src, const ZstdBlock* blocks, u32 index,
                                   u32 lane) {
  ZstdTableSet set = {{0, 0, 0}, blocks[index].sequences, false};
  for (u32 table = 0; table < 3; ++table) {
    const u32 definer = blocks[index].tables[table];
    const ZstdBlock* block = blocks + definer;
    ZstdDescription found = {0, 0, 0, 0};
    u32 good = 1;
    if (lane == 0) {
      const u32 stop = block->src + block->src_len;
      u32 at = definer == index ? set.bits : block->sequences;
      for (u32 i = definer == index ? table : 0; i <= table && good != 0; ++i) {
        found.mode = block->modes >> (6 - 2 * i) & 3;
        good = zstd_describe(t, src, at, stop, i, found) ? 1 : 0;
        at += found.used;
      }
    }
    good = __shfl_sync(ZSTD_WARP, good, 0);
    if (good == 0) return set;
    found.mode = __shfl_sync(ZSTD_WARP, found.mode, 0);
    found.log = __shfl_sync(ZSTD_WARP, found.log, 0);
    found.used = __shfl_sync(ZSTD_WARP, found.used, 0);
    // A block's own descriptions follow one another; a repeated table has none there.
    if (definer == index) set.bits += found.used;
    set.log[table] = found.log;
    u32* cells = t.cells + zstd_table_at(table);
    if (found.mode == ZSTD_ONE_SYMBOL) {
      if (lane == 0) cells[0] = zstd_entry(0, 0, table, found.symbol);
      __syncwarp();
      continue;
    }
    if (found.mode == ZSTD_PREDEFINED) {
      for (u32 s = lane; s < ZSTD_SYMBOLS; s += 32) t.counts[s] = s < 53 ? zstd_predefined[table][s] : 0;
    }
    __syncwarp();
    zstd_build(t, cells, found.log, table, lane);
  }
  set.good = true;
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
    const u32 length_bits = zstd_entry_bits(length_entry), match_bits = zstd_entry_bits(match_entry);
    const u32 offset_bits = zstd_entry_bits(offset_entry);
    u32 match = zstd_match_base[zstd_entry_symbol(match_entry)], length = zstd_length_base[length_code];
    u32 extra, states;
    ++i;
    // The three states are the last of a sequence's bits; the last sequence has none.
    const u32 state_bits = i < count ? length_bits + match_bits + offset_bits : 0;
    const u32 value_bits = code + match_extra + length_extra;
    zstd_refill(bits);
    if (value_bits + state_bits <= (u32)bits.valid) {
      // Mostly all of them are there: each is read where it lies, none waits for another.
      extra = zstd_top(bits.window, code);
      match += zstd_top(bits.window << code, match_extra);
      length += zstd_top(bits.window << (code + match_extra), length_extra);
      states = zstd_top(bits.window << value_bits, state_bits);
      zstd_skip(bits, value_bits + state_bits);
    } else {
      // No more than 28 bits, then 32, then 26, of 32 that are valid at least.
      extra = zstd_read(bits, code);
      zstd_refill(bits);
      match += zstd_read(bits, match_extra);
      length += zstd_read(bits, length_extra);
      zstd_refill(bits);
      states = zstd_read(bits, state_bits);
    }
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
    out[i - 1] = zstd_pack(length, match, offset);
    if (i == count) break;
    length_state = zstd_entry_base(length_entry) + (states >> (match_bits + offset_bits));
    match_state = zstd_entry_base(match_entry) + (states >> offset_bits & ((1u << match_bits) - 1));
    offset_state = zstd_entry_base(offset_entry) + (states & ((1u << offset_bits) - 1));
  }
  if (bits.left != 0 || literals > block->literals_len) return false;
  block->size = output + block->literals_len - literals;
  block->recent[0] = first, block->recent[1] = second, block->recent[2] = third;
  return block->size <= block->most;
}
