// Inverse wavelets (ISO 15444-1, annex F; spec.md) of one line at a time: a thread makes some neighbouring pairs of
// items, an even and an odd one each, from all that they depend on. What two threads both need is computed by both, in
// the same order of operations, so a line may be cut anywhere.
#pragma once
#include "jpeg2000_abi.h"

namespace jpeg2000 {

// A line: low items, then high items. Places are counted from the even place at or before the first.
struct Line {
  const u32* items;
  u64 step;   // from item to item
  u32 count;
  u32 odd;    // the place of the first: 0 or 1
};

// The item of a place, mirrored about the ends of the line.
DEVICE u32 item_at(const Line& line, i32 place) {
  const i32 last = (i32)line.count - 1;
  i32 at = place - (i32)line.odd;
  while (at < 0 || at > last) at = at < 0 ? -at : 2 * last - at;
  const u32 found = (u32)at + line.odd;
  const u32 low = (line.count + 1 - line.odd) / 2;
  return line.items[((found & 1) != 0 ? low + found / 2 : found / 2 - line.odd) * line.step];
}

DEVICE u32 shifted(u32 a, u32 by) { return (u32)((i32)a >> by); }

// `PAIRS` pairs from place `first` on, which is even.
template <u32 PAIRS>
DEVICE void reversible(const Line& line, i32 first, u32 (&made)[2 * PAIRS]) {
  u32 even[PAIRS + 1], odd[PAIRS + 2];
  for (u32 i = 0; i < PAIRS + 2; ++i) odd[i] = item_at(line, first - 1 + 2 * (i32)i);
  for (u32 i = 0; i < PAIRS + 1; ++i) {
    even[i] = item_at(line, first + 2 * (i32)i) - shifted(odd[i] + odd[i + 1] + 2, 2);
  }
  for (u32 i = 0; i < PAIRS; ++i) {
    made[2 * i] = even[i];
    made[2 * i + 1] = odd[i + 1] + shifted(even[i] + even[i + 1], 1);
  }
}

DEVICE float lifted(float x, float by, float before, float after) {
  return __fsub_rn(x, __fmul_rn(by, __fadd_rn(before, after)));
}

template <u32 PAIRS>
DEVICE void irreversible(const Line& line, i32 first, u32 (&made)[2 * PAIRS]) {
  const float k = 1.230174105f, k_inverse = 0.812893066f;
  float even[PAIRS + 3], odd[PAIRS + 4];
  for (u32 i = 0; i < PAIRS + 4; ++i) {
    odd[i] = __fmul_rn(__uint_as_float(item_at(line, first - 3 + 2 * (i32)i)), k_inverse);
  }
  for (u32 i = 0; i < PAIRS + 3; ++i) {
    const float x = __fmul_rn(__uint_as_float(item_at(line, first - 2 + 2 * (i32)i)), k);
    even[i] = lifted(x, 0.443506852f, odd[i], odd[i + 1]);
  }
  for (u32 i = 0; i < PAIRS + 2; ++i) odd[i] = lifted(odd[i + 1], 0.882911075f, even[i], even[i + 1]);
  for (u32 i = 0; i < PAIRS + 1; ++i) even[i] = lifted(even[i + 1], -0.052980118f, odd[i], odd[i + 1]);
  for (u32 i = 0; i < PAIRS; ++i) {
    made[2 * i] = __float_as_uint(even[i]);
    made[2 * i + 1] = __float_as_uint(lifted(odd[i + 1], -1.586134342f, even[i], even[i + 1]));
  }
}

DEVICE u32 alone(u32 item, u32 odd, bool is_reversible) {
  if (odd == 0) return item;
  return is_reversible ? (u32)((i32)item / 2) : __float_as_uint(__fmul_rn(__uint_as_float(item), 0.5f));
}

DEVICE u32 pairs_of(u32 count, u32 odd) { return (count + odd + 1) / 2; }

// Pairs from pair `first` on of a line, to another of the same length and step.
template <u32 PAIRS>
DEVICE void synthesise(const Line& line, bool is_reversible, u32 first, u32* out) {
  if (line.count == 1) {
    *out = alone(*line.items, line.odd, is_reversible);
    return;
  }
  u32 made[2 * PAIRS];
  if (is_reversible) {
    reversible<PAIRS>(line, (i32)(2 * first), made);
  } else {
    irreversible<PAIRS>(line, (i32)(2 * first), made);
  }
  for (u32 i = 0; i < 2 * PAIRS; ++i) {
    // Before the first item this wraps.
    const u32 at = 2 * first + i - line.odd;
    if (at < line.count) out[at * line.step] = made[i];
  }
}

}  // namespace jpeg2000
