// Tables of Deflate's Huffman codes, built by one warp from code lengths.
//
// A table has two levels. The root is indexed by the next ROOT bits; a root entry for longer codes gives the offset of
// a second table and the number of bits that index it. Entries of literals, lengths and distances have the same form
// and hold everything that a decoder needs, so a step is always: look up, take `total` bits, value = base + extra bits.
//
//   bits  0-4   total: bits to take, code and extra
//   bits  5-8   code: bits of the code among them
//   bit   9     closed: no value; the code goes on in a second table, or is a stop
//   bit  10     pair: a length, followed by a distance code
//   bits 11-14  bits that index the next look-up
//   bit  15     a stop: end of block (base 0), or no code (base 1)
//   bits 16-31  base of the value; for a second table its offset in bytes
//
// A table is filled by index: every place finds its own symbol by comparing with the first code of each length
// (canonical codes are ordered by length), so no two lanes write one place. Lanes walk places in code order, which the
// bit-reversed index spreads over all banks.
#pragma once
#include "device.h"

#define ENTRY_CLOSED 0x200u
#define ENTRY_PAIR 0x400u
#define ENTRY_STOP 0x8000u

enum CodeKind : u32 { CODE_NONE, CODE_LENGTHS, CODE_LITERALS, CODE_DISTANCES };

#define LENGTHS_ROOT 7u
#define LITERALS_ROOT 10u
#define DISTANCES_ROOT 8u
// Maximum entries of complete codes of 288 symbols with a root of 10 bits, and of 32 with one of 8, computed by zlib's
// examples/enough.c ("enough 288 10 15", "enough 32 8 15").
#define LITERALS_ENTRIES 1334u
#define DISTANCES_ENTRIES 402u
#define TABLE_ENTRIES (LITERALS_ENTRIES + DISTANCES_ENTRIES)

// A slot of a token list: a literal (below 256), or a length - 3 + SLOT_LENGTH followed by its distance - 1 +
// SLOT_DISTANCE. For code lengths: a length, SLOT_LENGTH + the repeat count of the previous one, or SLOT_ZEROS + the
// number of zeros.
#define SLOT_LENGTH 0x100u
#define SLOT_ZEROS 0x200u
#define SLOT_DISTANCE 0x8000u

// Working memory of one warp for building tables.
struct CodeWork {
  u32 entries[288];  // by rank: in code order
  u32 limit[16];     // end of the codes of each length and shorter ones, extended to 15 bits
  u32 first[16];     // rank of the first code of each length
  u32 next[16];
};

DEVICE u32 make_entry(u32 flags, u32 code, u32 extra, u32 base, u32 next_bits) {
  return (code + extra) | code << 5 | flags | next_bits << 11 | base << 16;
}

DEVICE u32 stop_entry(u32 code, u32 invalid) {
  return make_entry(ENTRY_STOP | ENTRY_CLOSED, code, 0, invalid, 0);
}

DEVICE u32 symbol_entry(u32 kind, u32 symbol, u32 code) {
  if (kind == CODE_LENGTHS) {
    if (symbol < 16) return make_entry(0, code, 0, symbol, LENGTHS_ROOT);
    if (symbol == 16) return make_entry(0, code, 2, SLOT_LENGTH + 3, LENGTHS_ROOT);
    if (symbol == 17) return make_entry(0, code, 3, SLOT_ZEROS + 3, LENGTHS_ROOT);
    return make_entry(0, code, 7, SLOT_ZEROS + 11, LENGTHS_ROOT);
  }
  if (kind == CODE_LITERALS) {
    if (symbol < 256) return make_entry(0, code, 0, symbol, LITERALS_ROOT);
    if (symbol == 256) return stop_entry(code, 0);
    if (symbol > 285) return stop_entry(code, 1);
    u32 s = symbol - 257;
    if (s == 28) return make_entry(ENTRY_PAIR, code, 0, SLOT_LENGTH + 255, DISTANCES_ROOT);
    if (s < 8) return make_entry(ENTRY_PAIR, code, 0, SLOT_LENGTH + s, DISTANCES_ROOT);
    u32 extra = (s >> 2) - 1;
    return make_entry(ENTRY_PAIR, code, extra, SLOT_LENGTH + ((4 + (s & 3)) << extra), DISTANCES_ROOT);
  }
  if (symbol > 29) return stop_entry(code, 1);
  if (symbol < 4) return make_entry(0, code, 0, SLOT_DISTANCE + symbol, LITERALS_ROOT);
  u32 extra = (symbol >> 1) - 1;
  return make_entry(0, code, extra, SLOT_DISTANCE + ((2 + (symbol & 1)) << extra), LITERALS_ROOT);
}

// Sorts the symbols' entries by code. Returns false for lengths that need too many codes or leave codes unused.
// Distances are exempt from the latter: there may be none, or a lone one of one bit.
DEVICE bool rank_symbols(CodeWork& work, const u8* lengths, u32 symbols, u32 kind, u32 lane) {
  const u32 all = 0xFFFFFFFFu;
  u32 below = (1u << lane) - 1;
  if (lane < 16) work.next[lane] = 0;
  __syncwarp();
#pragma unroll 1
  for (u32 base = 0; base < symbols; base += 32) {
    u32 length = base + lane < symbols ? lengths[base + lane] : 0;
    u32 same = __match_any_sync(all, length);
    if (length != 0 && (same & below) == 0) work.next[length] += __popc(same);
    __syncwarp();
  }
  u32 count = lane < 16 ? work.next[lane] : 0;
  u32 limit = lane < 16 ? count << (15 - lane) : 0, ranks = count;
  for (u32 step = 1; step < 16; step <<= 1) {
    u32 l = __shfl_up_sync(all, limit, step), r = __shfl_up_sync(all, ranks, step);
    if (lane >= step) {
      limit += l;
      ranks += r;
    }
  }
  __syncwarp();
  if (lane < 16) {
    work.limit[lane] = limit;
    work.first[lane] = work.next[lane] = ranks - count;
  }
  u32 space = __shfl_sync(all, limit, 15), lone = __shfl_sync(all, count, 1);
  __syncwarp();
  bool few = space == 0 || (space == 16384 && lone == 1);
  if (space != 32768 && !(kind == CODE_DISTANCES && few)) return false;
#pragma unroll 1
  for (u32 base = 0; base < symbols; base += 32) {
    u32 length = base + lane < symbols ? lengths[base + lane] : 0;
    u32 same = __match_any_sync(all, length);
    u32 rank = work.next[length] + __popc(same & below);
    if (length != 0) work.entries[rank] = symbol_entry(kind, base + lane, length);
    __syncwarp();
    if (length != 0 && (same & below) == 0) work.next[length] += __popc(same);
    __syncwarp();
  }
  return true;
}

// Returns the entry of the code that `code` begins with; `code` has 15 bits, the first in the highest place. `length`
// is that code's length or a shorter one, and is set to that code's.
DEVICE u32 code_entry(const CodeWork& work, u32 code, u32& length) {
#pragma unroll 1
  while (code >= work.limit[length]) ++length;
  return work.entries[work.first[length] + ((code - work.limit[length - 1]) >> (15 - length))];
}

// Fills `table`, `capacity` entries at `offset` bytes of all tables. Returns false if the second level does not fit.
DEVICE bool fill_table(const CodeWork& work, u32* table, u32 offset, u32 root, u32 capacity, u32 lane) {
  const u32 all = 0xFFFFFFFFu;
  u32 rest = 15 - root, each = 1u << (root - 5), short_end = work.limit[root], end = work.limit[15];
  u32 length = 1;
#pragma unroll 1
  for (u32 i = 0; i < each; ++i) {
    u32 index = lane * each + i;
    if (index << rest >= short_end) break;
    table[__brev(index) >> (32 - root)] = code_entry(work, index << rest, length);
  }
  u32 used = 1u << root;
  bool fits = true;
#pragma unroll 1
  for (u32 base = short_end >> rest; base < 1u << root; base += 32) {
    u32 prefix = base + lane, code = prefix << rest, bits = 0;
    bool is_long = prefix < 1u << root && code < end;
    if (is_long) {
      u32 last = root + 1;
      while (code + (1u << rest) > work.limit[last]) ++last;
      bits = last - root;
    }
    u32 size = is_long ? 1u << bits : 0, sum = size;
    for (u32 step = 1; step < 32; step <<= 1) {
      u32 lower = __shfl_up_sync(all, sum, step);
      if (lane >= step) sum += lower;
    }
    u32 at = used + sum - size;
    used += __shfl_sync(all, sum, 31);
    fits = fits && used <= capacity;
    if (!fits) break;
    if (prefix < 1u << root) {
      u32 entry = is_long ? make_entry(ENTRY_CLOSED, root, 0, offset + at * 4, bits) : stop_entry(1, 1);
      table[__brev(prefix) >> (32 - root)] = entry;
    }
    u32 deeper = root + 1;
#pragma unroll 1
    for (u32 i = 0; i < size; ++i) {
      u32 entry = code_entry(work, code + (i << (rest - bits)), deeper);
      table[at + (__brev(i) >> (32 - bits))] = entry - (root | root << 5);
    }
  }
  __syncwarp();
  return fits;
}

// Builds the table of one code. Called by all lanes of a warp; returns false for a code that is not plainly correct.
DEVICE bool build_table(CodeWork& work, u32* tables, const u8* lengths, u32 symbols, u32 kind, u32 lane) {
  if (!rank_symbols(work, lengths, symbols, kind, lane)) return false;
  u32 from = kind == CODE_DISTANCES ? LITERALS_ENTRIES : 0;
  u32 root = kind == CODE_LENGTHS ? LENGTHS_ROOT : kind == CODE_LITERALS ? LITERALS_ROOT : DISTANCES_ROOT;
  u32 capacity = kind == CODE_DISTANCES ? DISTANCES_ENTRIES : LITERALS_ENTRIES;
  return fill_table(work, tables + from, from * 4, root, capacity, lane);
}
