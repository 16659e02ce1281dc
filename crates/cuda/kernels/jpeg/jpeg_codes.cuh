// Decodes Huffman codes of a sequential scan one after the other, from one state to the next. A state is a bit, a data
// unit of the MCU and a coefficient of it.
//
// Works on bits in shared memory, in words whose most significant bit comes first, and on tables there. Invalid codes
// and too many coefficients are reported in `wrong`; they cause no reads out of bounds.
#pragma once
#include "jpeg/jpeg_abi.h"

namespace jpeg {

// State between two codes.
struct State {
  u32 bit;    // of the scan
  u32 unit;   // of the MCU
  u32 index;  // of the next coefficient in zigzag order; 0 is DC
};

DEVICE bool same(const State& a, const State& b) {
  return a.bit == b.bit && a.unit == b.unit && a.index == b.index;
}

// Data shared by all threads of a scan.
struct Codes {
  SharedAddress tables;   // entries of the look-up tables
  SharedAddress lookups;  // of the data units of an MCU
  SharedAddress order;    // u16 each: destination of a coefficient, by zigzag index
  SharedAddress bits;     // address that the word of bit 0 would have
  u32 mcu_units;
};

// Destination of coefficients.
struct Target {
  i16* coefficients;  // of the scan
  i16* differences;
  u32 unit;           // unit within the scan of the next coefficient
};

// Totals of a walk.
struct Passed {
  u32 units;  // data units that ended
  u32 wrong;  // not 0: invalid code, or more than 64 coefficients
};

DEVICE u32 look_up(SharedAddress table, u32 next_bits) {
  u32 entry = shared_load16(table + (next_bits >> (32 - JPEG_FIRST_BITS)) * 2);
  if ((entry & 31) == 0) {
    u32 more = entry >> 5 & 7;
    u32 index = (entry >> 8) * 8 + (next_bits << JPEG_FIRST_BITS >> (32 - more));
    entry = shared_load16(table + index * 2);
  }
  return entry;
}

// The value of the `size` bits that follow a code (T.81, F.2.2.1); `bits` begins with it, `size` is not 0.
DEVICE i32 value_of(u32 bits, u32 size) {
  i32 value = (i32)(bits >> (32 - size));
  return (i32)bits < 0 ? value : value - (i32)((1u << size) - 1);
}

// Decodes from `state` until a code ends at `until` or behind it, or the interval that ends at `end` has no more codes.
// The last code may end up to 30 bits behind `until`, never behind `end`.
//
// Written for a warp whose lanes are at different places in their data units: lanes select values instead of branching,
// and what a data unit begins with is loaded one unit ahead.
template <bool WRITES>
DEVICE Passed walk(const Codes& codes, State& state, u32 until, u32 end, Target target) {
  Passed passed = {0, 0};
  u32 bit = state.bit, unit = state.unit, index = state.index;
  SharedAddress next = codes.bits + (u64)(bit >> 5) * 4;
  u32 low = shared_load(next), high = shared_load(next + 4), ahead = shared_load(next + 8);
  next += 12;
  u32 lookup = shared_load(codes.lookups + unit * 4);
  u32 ac = lookup >> 16, table = index == 0 ? lookup & 0xFFFF : ac;
  unit = unit + 1 == codes.mcu_units ? 0 : unit + 1;  // from here on the next one
  u32 following = shared_load(codes.lookups + unit * 4);
  while (bit < until) {
    u32 bits = __funnelshift_l(high, low, bit);
    u32 entry = look_up(codes.tables + table, bits);
    u32 len = entry & 31;
    const bool ends = len > end - bit;
    if (ends) {
      entry = len = 0;
      until = 0;
    }
    u32 size = entry >> 5 & 15, after = index + (entry >> 9);
    // Invalid code, or more than 64 coefficients.
    bool wrong = size > len || (after > 64 && entry < 0x8000u);
    passed.wrong = wrong ? 1 : passed.wrong;
    if (WRITES && size <= len && !ends) {
      i32 value = size == 0 ? 0 : value_of(bits << (len - size), size);
      if (index == 0) {
        target.differences[target.unit] = (i16)value;
      } else if (size != 0) {
        u32 place = shared_load16(codes.order + (after - 1) * 2);
        target.coefficients[(u64)target.unit * 64 + place] = (i16)value;
      }
    }
    const bool complete = after >= 64;
    index = complete ? 0 : after;
    table = index != 0 ? ac : complete ? following & 0xFFFF : table;
    ac = complete ? following >> 16 : ac;
    unit = complete ? (unit + 1 == codes.mcu_units ? 0 : unit + 1) : unit;
    shared_load_where(following, codes.lookups + unit * 4, complete);
    if (WRITES) target.unit += complete ? 1 : 0;
    else passed.units += complete ? 1 : 0;
    shared_advance(low, high, ahead, next, (bit ^ (bit + len)) & 32);
    bit += len;
  }
  state = {bit, unit == 0 ? codes.mcu_units - 1 : unit - 1, index};
  return passed;
}

}  // namespace jpeg
