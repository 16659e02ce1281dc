// Contexts of decisions by the neighbourhood of a coefficient (ISO 15444-1, tables D.1 to D.4), as tables in shared
// memory.
//
// A neighbourhood has nine bits, column by column: bits 0 to 2 the left column from top to bottom, 3 to 5 the
// coefficient's own, 6 to 8 the right column. The middle bit tells whether the coefficient itself is significant: if so
// its next bit is refined, else its significance is decoded.
#pragma once
#include "jpeg2000/jpeg2000_arithmetic.cuh"

namespace jpeg2000 {

// Tables of LL and LH, of HL, of HH, of signs, and those whose context does not depend on the neighbourhood.
enum : u32 {
  NEAR = 512,
  SIGNS = 3 * NEAR,
  ALWAYS = 4 * NEAR,
  ALWAYS_REFINED = ALWAYS,
  ALWAYS_RUN = ALWAYS + NEAR,
  ALWAYS_UNIFORM = ALWAYS + 2 * NEAR,
  ALWAYS_RAW = ALWAYS + 3 * NEAR,
  ENTRIES = 8 * NEAR,
  FLIPPED = 0x80,
};

// Aligned so that an index is added to the table's address with `or`.
struct __align__(512) Tables {
  u8 entries[ENTRIES];
};

DEVICE u32 table_of(u32 band) { return band == 1 ? NEAR : band == 3 ? 2 * NEAR : 0; }

DEVICE u32 zero_context(u32 around, u32 table) {
  const u32 beside = (around >> 1 & 1) + (around >> 7 & 1), above = (around >> 3 & 1) + (around >> 5 & 1);
  const u32 diagonal = (around & 1) + (around >> 2 & 1) + (around >> 6 & 1) + (around >> 8 & 1);
  if (table == 2) {
    const u32 straight = beside + above;
    if (diagonal >= 3) return 8;
    if (diagonal == 2) return straight >= 1 ? 7 : 6;
    if (diagonal == 1) return 3 + min(straight, 2u);
    return min(straight, 2u);
  }
  const u32 first = table == 1 ? above : beside, second = table == 1 ? beside : above;
  if (first == 2) return 8;
  if (first == 1) return second >= 1 ? 7 : diagonal >= 1 ? 6 : 5;
  if (second >= 1) return 2 + second;
  return min(diagonal, 2u);
}

// Two opposite neighbours; in each, the lower bit means significant and the higher bit negative.
DEVICE i32 together(u32 one, u32 other) {
  const i32 sum = ((one & 1) != 0 ? 1 - (i32)(one & 2) : 0) + ((other & 1) != 0 ? 1 - (i32)(other & 2) : 0);
  return max(-1, min(1, sum));
}

// Indexed by the pairs at bits 1 (left), 3 (above), 5 (below), 7 (right).
DEVICE u32 sign_context(u32 pairs) {
  const i32 beside = together(pairs >> 1, pairs >> 7), above = together(pairs >> 3, pairs >> 5);
  if (beside == 0) return above == 0 ? 9 : above > 0 ? 10 : 10 | FLIPPED;
  const u32 context = (u32)(12 + beside * above);
  return beside > 0 ? context : context | FLIPPED;
}

DEVICE u32 context_entry(u32 at) {
  const u32 table = at / NEAR, index = at % NEAR;
  if (at >= ALWAYS) return REFINED + table - ALWAYS / NEAR;
  if (table == 3) return sign_context(index);
  if ((index >> 4 & 1) != 0) return (index & ~16u) != 0 ? 15 : 14;
  return zero_context(index, table);
}

}  // namespace jpeg2000
