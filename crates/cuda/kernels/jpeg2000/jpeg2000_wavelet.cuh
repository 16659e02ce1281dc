// Inverse wavelets (ISO 15444-1, annex F; spec.md), one line at a time: a thread makes some neighbouring pairs of
// items, an even and an odd one each, from all items that they depend on. Items needed by two threads are computed by
// both, in the same order of operations, so a line may be cut anywhere.
#pragma once
#include "jpeg2000/jpeg2000_abi.h"

namespace jpeg2000 {

// A line: low items, then high items. Places are counted from the even place at or before the first item.
struct Line {
  const u32* items;
  u64 step;   // from one item to the next
  u32 count;
  u32 odd;    // place of the first item: 0 or 1
};

DEVICE u32 low_of(const Line& line) { return (line.count + 1 - line.odd) / 2; }

// The item at a place, mirrored at the ends of the line.
DEVICE u32 item_at(const Line& line, i32 place) {
  const i32 last = (i32)line.count - 1;
  i32 at = place - (i32)line.odd;
  while (at < 0 || at > last) at = at < 0 ? -at : 2 * last - at;
  const u32 found = (u32)at + line.odd;
  return line.items[((found & 1) != 0 ? low_of(line) + found / 2 : found / 2 - line.odd) * line.step];
}

// Every second place: `EVEN` items from even place `first_even` on and `ODD` items from odd place `first_odd` on.
template <u32 EVEN, u32 ODD>
DEVICE void load(const Line& line, i32 first_even, i32 first_odd, u32 (&even)[EVEN], u32 (&odd)[ODD]) {
  const i32 least = min(first_even, first_odd), end = (i32)(line.count + line.odd);
  const i32 most = max(first_even + 2 * (i32)EVEN, first_odd + 2 * (i32)ODD) - 2;
  if (least >= (i32)line.odd && most < end) {
    const u32* low = line.items + ((u32)first_even / 2 - line.odd) * line.step;
    const u32* high = line.items + (low_of(line) + (u32)first_odd / 2) * line.step;
    for (u32 i = 0; i < EVEN; ++i) even[i] = low[i * line.step];
    for (u32 i = 0; i < ODD; ++i) odd[i] = high[i * line.step];
  } else {
    for (u32 i = 0; i < EVEN; ++i) even[i] = item_at(line, first_even + 2 * (i32)i);
    for (u32 i = 0; i < ODD; ++i) odd[i] = item_at(line, first_odd + 2 * (i32)i);
  }
}

DEVICE u32 shifted(u32 a, u32 by) { return (u32)((i32)a >> by); }

// `PAIRS` pairs from place `first` on, which is even.
template <u32 PAIRS>
DEVICE void reversible(const Line& line, i32 first, u32 (&made)[2 * PAIRS]) {
  u32 even[PAIRS + 1], odd[PAIRS + 2];
  load(line, first, first - 1, even, odd);
  for (u32 i = 0; i < PAIRS + 1; ++i) even[i] -= shifted(odd[i] + odd[i + 1] + 2, 2);
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
  u32 low[PAIRS + 3], high[PAIRS + 4];
  load(line, first - 2, first - 3, low, high);
  float even[PAIRS + 3], odd[PAIRS + 4];
  for (u32 i = 0; i < PAIRS + 4; ++i) odd[i] = __fmul_rn(__uint_as_float(high[i]), k_inverse);
  for (u32 i = 0; i < PAIRS + 3; ++i) {
    even[i] = lifted(__fmul_rn(__uint_as_float(low[i]), k), 0.443506852f, odd[i], odd[i + 1]);
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

// Transforms pairs from pair `first` on of a line into another line of the same length and step.
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
    // Wraps before the first item.
    const u32 at = 2 * first + i - line.odd;
    if (at < line.count) out[at * line.step] = made[i];
  }
}

}  // namespace jpeg2000
