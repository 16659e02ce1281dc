// Decodes the sequences of a block (RFC 8878, 3.1.1.3.2), with a warp: first their three tables, then the sequences.
// FSE states are serial, so one lane does nothing but follow them; everything else is done by all lanes for 32
// sequences at a time.
//
// Recent offsets carry over from block to block, but blocks are decoded in parallel. So an offset that depends on an
// earlier block is stored symbolically: bit 29 set, the index of one of the three recent offsets in bits 26 and 27, and
// below these 2^25 minus the amount to subtract from it; subtracting 1 from an offset is then the same for both forms.
// Plain offsets are below 2^29.
#pragma once
#include "zstd/zstd_ring.cuh"

static const u32 ZSTD_INHERITED = 1u << 29;
static const u32 ZSTD_INHERITED_BIAS = 1u << 25;

DEVICE u32 zstd_inherit(u32 which) { return ZSTD_INHERITED | which << 26 | ZSTD_INHERITED_BIAS; }

// The actual offset, 0 if it is invalid.
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

// The description of one table.
struct ZstdDescription {
  u32 mode;
  u32 log;     // if it has counts, which are then in ZstdBuild
  u32 symbol;  // if it has one
  u32 used;    // bytes
};

// Reads the description at [at, stop); returns false for a fault. Called by all lanes, which return the same.
DEVICE bool zstd_describe(ZstdBuild& b, const u8* src, u32 at, u32 stop, u32 table, ZstdDescription& found,
                          u32 lane) {
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
  zstd_take_text(b, src + at, stop - at, lane);
  ZstdCounts counts = {0, 0};
  if (lane == 0) counts = zstd_read_counts(b, stop - at, table);
  found.log = __shfl_sync(ZSTD_WARP, counts.log, 0);
  found.used = __shfl_sync(ZSTD_WARP, counts.used, 0);
  return found.used != 0;
}

// Builds the tables of a block. A repeated table is found by walking the descriptions of the block that defined it, up
// to its own. Called by all lanes, which return the same.
DEVICE ZstdTableSet zstd_table_set(ZstdBuild& b, u32* cells, const u8* src, const ZstdBlock* blocks, u32 index,
                                   u32 lane) {
  ZstdTableSet set = {{0, 0, 0}, blocks[index].sequences, false};
#pragma unroll 1
  for (u32 table = 0; table < 3; ++table) {
    const u32 definer = blocks[index].tables[table];
    const ZstdBlock* block = blocks + definer;
    const u32 stop = block->src + block->src_len;
    ZstdDescription found = {0, 0, 0, 0};
    u32 at = definer == index ? set.bits : block->sequences;
#pragma unroll 1
    for (u32 i = definer == index ? table : 0; i <= table; ++i) {
      found.mode = block->modes >> (6 - 2 * i) & 3;
      if (!zstd_describe(b, src, at, stop, i, found, lane)) return set;
      at += found.used;
    }
    // A block's own descriptions are consecutive; a repeated table has none there.
    if (definer == index) set.bits = at;
    if (table == ZSTD_LENGTHS) set.log[ZSTD_LENGTHS] = found.log;
    if (table == ZSTD_OFFSETS) set.log[ZSTD_OFFSETS] = found.log;
    if (table == ZSTD_MATCHES) set.log[ZSTD_MATCHES] = found.log;
    u32* own = cells + zstd_table_at(table);
    if (found.mode == ZSTD_ONE_SYMBOL) {
      if (lane == 0) own[0] = zstd_entry(0, 0, table, found.symbol);
      continue;
    }
    if (found.mode == ZSTD_PREDEFINED) {
      __syncwarp();
      for (u32 s = lane; s < ZSTD_SYMBOLS; s += 32) b.counts[s] = s < 53 ? zstd_predefined[table][s] : 0;
    }
    __syncwarp();
    zstd_build(b, own, found.log, table, lane);
  }
  __syncwarp();
  set.good = true;
  return set;
}

// A sequence being decoded: the end of its bits, and the entries of its three states.
struct alignas(16) ZstdStep {
  i32 bit;
  u32 length, match, offset;
};

// Working memory of a warp for decoding sequences, in shared memory.
struct ZstdWork {
  ZstdRing ring;
  ZstdStep steps[32];
};

// Base values of the codes of lengths (from 0 on) and matches (from 64 on, minus 3) that are not powers of two, in
// shared memory.
struct ZstdBases {
  u8 of[128];
};

// the codes of 2^6 and 2^7, from which powers of two begin
static const u32 ZSTD_LENGTH_POWERS = 25, ZSTD_MATCH_POWERS = 43;

DEVICE void zstd_fill_bases(ZstdBases& bases, u32 thread) {
  if (thread < ZSTD_LENGTH_POWERS) bases.of[thread] = zstd_length_base[thread];
  if (thread < ZSTD_MATCH_POWERS) bases.of[64 + thread] = zstd_match_base[thread];
}

DEVICE u32 zstd_length_from(const ZstdBases& bases, u32 code) {
  return code < ZSTD_LENGTH_POWERS ? bases.of[code] : 64u << (code - ZSTD_LENGTH_POWERS);
}

DEVICE u32 zstd_match_from(const ZstdBases& bases, u32 code) {
  return 3 + (code < ZSTD_MATCH_POWERS ? bases.of[64 + code] : 128u << (code - ZSTD_MATCH_POWERS));
}

// The states, as addresses of their entries in shared memory.
struct ZstdStates {
  SharedAddress length, match, offset;
};

// Follows the states over `number` sequences from `bit` on, with one lane: only the strictly serial work. The last
// three numbers of a sequence are the low bits of the next states.
DEVICE i32 zstd_follow(ZstdWork& work, const u32* cells, ZstdStates& states, i32 bit, u32 number) {
  const SharedAddress lengths = shared_address(cells + zstd_table_at(ZSTD_LENGTHS));
  const SharedAddress offsets = shared_address(cells + zstd_table_at(ZSTD_OFFSETS));
  const SharedAddress matches = shared_address(cells + zstd_table_at(ZSTD_MATCHES));
  const SharedAddress ring = shared_address(work.ring.words);
  ZstdStates s = states;
#pragma unroll 2
  for (u32 i = 0; i < number; ++i) {
    const u32 length = shared_load(s.length), match = shared_load(s.match), offset = shared_load(s.offset);
    work.steps[i] = ZstdStep{bit, length, match, offset};
    const u32 offset_bits = zstd_entry_bits(offset), match_bits = zstd_entry_bits(match);
    const u32 more = (offset + match) & 31, length_bits = zstd_entry_bits(length);
    const SharedAddress next_offset = offsets + zstd_entry_offset(offset);
    const SharedAddress next_match = matches + zstd_entry_offset(match);
    const SharedAddress next_length = lengths + zstd_entry_offset(length);
    bit -= (i32)zstd_entry_both(length + match + offset);
    const SharedAddress at = ring + ((u32)(bit >> 3) & (4 * ZSTD_RING - 4));
    const u32 value = __funnelshift_r(shared_load(at), shared_load(at + 4), (u32)bit);
    s.offset = next_offset + 4 * zstd_low_bits(value, offset_bits);
    s.match = next_match + 4 * zstd_low_bits(value >> offset_bits, match_bits);
    s.length = next_length + 4 * zstd_low_bits(value >> more, length_bits);
  }
  states = s;
  return bit;
}

// The recent offsets after some sequences, each plain or in terms of the earlier ones.
struct ZstdRecent {
  u32 first, second, third;
};

DEVICE u32 zstd_apply(u32 offset, const ZstdRecent& before) {
  if ((offset & ZSTD_INHERITED) == 0) return offset;
  const u32 which = offset >> 26 & 3;
  const u32 recent = which == 0 ? before.first : which == 1 ? before.second : before.third;
  return recent - ZSTD_INHERITED_BIAS + (offset & 0x3FFFFFFu);
}

DEVICE ZstdRecent zstd_after(const ZstdRecent& before, const ZstdRecent& more) {
  return ZstdRecent{zstd_apply(more.first, before), zstd_apply(more.second, before),
                    zstd_apply(more.third, before)};
}

DEVICE ZstdRecent zstd_recent_of(const ZstdRecent& recent, u32 lane) {
  return ZstdRecent{__shfl_sync(ZSTD_WARP, recent.first, lane), __shfl_sync(ZSTD_WARP, recent.second, lane),
                    __shfl_sync(ZSTD_WARP, recent.third, lane)};
}

// Effect of this lane's sequence on the recent offsets. `repeated` is 0 for a plain offset, else 1 to 4: one of them,
// or the first minus one. Afterwards the first of them is the sequence's own offset.
DEVICE ZstdRecent zstd_recent_by(u32 offset, u32 repeated) {
  const u32 first = zstd_inherit(0), second = zstd_inherit(1), third = zstd_inherit(2);
  const u32 own = repeated == 0 ? offset : repeated == 2 ? second : repeated == 3 ? third
                                         : repeated == 4 ? first - 1 : first;
  return ZstdRecent{own, repeated == 1 ? second : first, repeated == 1 || repeated == 2 ? third : second};
}

// Decodes the sequences into `out`; returns false for a fault, the same for all lanes. Sets the block's size and recent
// offsets. One lane follows the states of 32 sequences, then all lanes read the values of one each.
DEVICE bool zstd_sequences(ZstdWork& work, const ZstdBases& bases, const u32* cells, const ZstdTableSet& set,
                           const u8* src, ZstdBlock* block, u64* out, u32 lane) {
  const u8* stream = src + set.bits;
  const u32 len = block->src + block->src_len - set.bits, count = block->count;
  const i32 length = zstd_bit_length(stream, len);
  if (length < 0) return false;
  ZstdRingSource source = zstd_ring_source(stream, len);
  const i32 start = (i32)(source.lead * 8);
  i32 bit = start + length;
  zstd_ring_open(work.ring, source, bit, lane);
  __syncwarp();
  ZstdStates states = {0, 0, 0};
  bit -= (i32)set.log[ZSTD_LENGTHS];
  states.length = shared_address(cells + zstd_table_at(ZSTD_LENGTHS) +
                                 zstd_low_bits(zstd_ring_at(work.ring, bit), set.log[ZSTD_LENGTHS]));
  bit -= (i32)set.log[ZSTD_OFFSETS];
  states.offset = shared_address(cells + zstd_table_at(ZSTD_OFFSETS) +
                                 zstd_low_bits(zstd_ring_at(work.ring, bit), set.log[ZSTD_OFFSETS]));
  bit -= (i32)set.log[ZSTD_MATCHES];
  states.match = shared_address(cells + zstd_table_at(ZSTD_MATCHES) +
                                zstd_low_bits(zstd_ring_at(work.ring, bit), set.log[ZSTD_MATCHES]));
  ZstdRecent recent = {zstd_inherit(0), zstd_inherit(1), zstd_inherit(2)};
  u32 literals = 0, output = 0;
  bool bad = false;
  for (u32 done = 0; done < count; done += 32) {
    if (bit < start) return false;
    const u32 number = min(count - done, 32u);
    zstd_ring_advance(work.ring, source, bit, lane);
    __syncwarp();
    if (lane == 0) bit = zstd_follow(work, cells, states, bit, number);
    __syncwarp();
    u32 offset = 1, repeated = 1, own_length = 0, own_match = 3;
    if (lane < number) {
      const ZstdStep step = work.steps[lane];
      const u32 code = zstd_entry_symbol(step.offset);
      const u32 match_extra = zstd_entry_both(step.match) - zstd_entry_bits(step.match);
      const u32 length_extra = zstd_entry_both(step.length) - zstd_entry_bits(step.length);
      const i32 first = step.bit - (i32)code, second = first - (i32)match_extra;
      const i32 third = second - (i32)length_extra;
      const u32 extra = zstd_low_bits(zstd_ring_at(work.ring, first), code);
      own_match = zstd_match_from(bases, zstd_entry_symbol(step.match)) +
                  zstd_low_bits(zstd_ring_at(work.ring, second), match_extra);
      own_length = zstd_length_from(bases, zstd_entry_symbol(step.length)) +
                   zstd_low_bits(zstd_ring_at(work.ring, third), length_extra);
      // Larger codes are offsets from 2^29 on.
      bad |= code > 28;
      offset = (1u << code) - 3 + extra;
      repeated = code > 1 ? 0 : 1 + code + extra + (own_length == 0 ? 1 : 0);
      literals += own_length;
      output += own_match;
      // No states follow the last sequence.
      if (done + lane + 1 == count) bad |= third != start;
    }
    ZstdRecent after = zstd_recent_by(offset, repeated);
    if (__any_sync(ZSTD_WARP, lane < number && repeated != 0)) {
      for (u32 d = 1; d < 32; d <<= 1) {
        const ZstdRecent before = {__shfl_up_sync(ZSTD_WARP, after.first, d),
                                   __shfl_up_sync(ZSTD_WARP, after.second, d),
                                   __shfl_up_sync(ZSTD_WARP, after.third, d)};
        if (lane >= d) after = zstd_after(before, after);
      }
      after = zstd_after(recent, after);
      recent = zstd_recent_of(after, 31);
    } else {
      const u32 second = __shfl_up_sync(ZSTD_WARP, offset, 1), third = __shfl_up_sync(ZSTD_WARP, offset, 2);
      after.second = lane >= 1 ? second : recent.first;
      after.third = lane >= 2 ? third : lane == 1 ? recent.first : recent.second;
      recent = zstd_recent_of(after, number - 1);
    }
    bad |= after.first == 0;
    if (lane < number) out[done + lane] = zstd_pack(own_length, own_match, after.first);
    bit = __shfl_sync(ZSTD_WARP, bit, 0);
  }
  bad |= literals > ZSTD_BLOCK_MOST || output > ZSTD_BLOCK_MOST;
  for (u32 d = 16; d != 0; d >>= 1) {
    literals += __shfl_xor_sync(ZSTD_WARP, literals, d);
    output += __shfl_xor_sync(ZSTD_WARP, output, d);
  }
  if (__any_sync(ZSTD_WARP, bad) || literals > block->literals_len || output > ZSTD_BLOCK_MOST) return false;
  const u32 size = output + block->literals_len;
  if (lane == 0) {
    block->size = size;
    block->recent[0] = recent.first, block->recent[1] = recent.second, block->recent[2] = recent.third;
  }
  return size <= block->most;
}
