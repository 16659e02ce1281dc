// The header of a dynamic block (RFC 1951, 3.2.7): how the lengths of its codes are written.
#pragma once
#include "deflate_code.cuh"
#include "deflate_part.cuh"

constexpr u32 LENGTH_CODES = 19;
constexpr u32 LENGTH_CODE_LIMIT = 7;
CONSTANT u8 LENGTH_CODE_ORDER[LENGTH_CODES] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

struct LengthsWork {
  u16 list[LITERALS + DISTANCES];  // symbol | extra << 8
  u32 listed;
  u32 literals, distances;         // symbols that are given
  u32 counts[32], codes[32];
  CodeWork<32> work;
};

DEVICE void list_length(LengthsWork& lengths, u32 symbol, u32 extra) {
  lengths.list[lengths.listed++] = (u16)(symbol | extra << 8);
  ++lengths.counts[symbol];
}

// A run of `run` times `length`.
DEVICE void list_run(LengthsWork& lengths, u32 length, u32 run) {
  if (length == 0) {
    while (run >= 11) {
      const u32 taken = min(run, 138u);
      list_length(lengths, 18, taken - 11);
      run -= taken;
    }
    if (run >= 3) {
      list_length(lengths, 17, run - 3);
      run = 0;
    }
  } else {
    list_length(lengths, length, 0);
    --run;
    while (run >= 3) {
      const u32 taken = min(run, 6u);
      list_length(lengths, 16, taken - 3);
      run -= taken;
    }
  }
  for (; run > 0; --run) list_length(lengths, length, 0);
}

DEVICE u32 given(const u32* codes, u32 size, u32 least) {
  while (size > least && codes[size - 1] == 0) --size;
  return size;
}

// Lists the lengths of both codes as symbols; by one thread.
DEVICE void list_lengths(LengthsWork& lengths, const u32* codes) {
  for (u32 i = 0; i < LENGTH_CODES; ++i) lengths.counts[i] = 0;
  lengths.listed = 0;
  lengths.literals = given(codes, LITERALS, 257);
  lengths.distances = given(codes + DISTANCES_AT, DISTANCES, 1);
  const u32 all = lengths.literals + lengths.distances;
  u32 previous = 0, run = 0;
#pragma unroll 1
  for (u32 i = 0; i < all; ++i) {
    const u32 length = codes[i < lengths.literals ? i : i - lengths.literals + DISTANCES_AT] >> 16;
    if (run > 0 && length != previous) {
      list_run(lengths, previous, run);
      run = 0;
    }
    previous = length;
    ++run;
  }
  list_run(lengths, previous, run);
}

// Bits one behind the other.
struct HeaderBits {
  u32* words;
  u64 pending;
  u32 count, at;
};

DEVICE void add_bits(HeaderBits& out, u32 bits, u32 count) {
  out.pending |= (u64)bits << out.count;
  out.count += count;
  if (out.count >= 32) {
    out.words[out.at++] = (u32)out.pending;
    out.pending >>= 32;
    out.count -= 32;
  }
}

// Writes the header; by one thread, once the code of the lengths is made. Its bits.
DEVICE u32 write_header(const LengthsWork& lengths, u32* header) {
  HeaderBits out = {header, 0, 0, 0};
  u32 codes = LENGTH_CODES;
  while (codes > 4 && lengths.codes[LENGTH_CODE_ORDER[codes - 1]] == 0) --codes;
  add_bits(out, 4 | (lengths.literals - 257) << 3 | (lengths.distances - 1) << 8 | (codes - 4) << 13, 17);
#pragma unroll 1
  for (u32 i = 0; i < codes; ++i) add_bits(out, lengths.codes[LENGTH_CODE_ORDER[i]] >> 16, 3);
#pragma unroll 1
  for (u32 i = 0; i < lengths.listed; ++i) {
    const u32 symbol = lengths.list[i] & 0xFF, code = lengths.codes[symbol];
    add_bits(out, code & 0xFFFF, code >> 16);
    if (symbol >= 16) add_bits(out, lengths.list[i] >> 8, symbol == 16 ? 2 : symbol == 17 ? 3 : 7);
  }
  const u32 bits = out.at * 32 + out.count;
  if (out.count > 0) out.words[out.at] = (u32)out.pending;
  return bits;
}
