// Methods that use all samples under a pixel: counterpart of `warp/footprint.rs` of the CPU engine.
#pragma once
#include "warp/warp_area.cuh"
#include "warp/warp_sheet.cuh"

const double WARP_HAIR = 1e-10;

// The samples under a pixel; columns may wrap around the Earth to a source's first one.
struct Footprint {
  Real left, top, right, bottom;
  i64 first, end, first_row, end_row;
};

// The corner `at`, moved to within half a turn of the first.
DEVICE Place near_first(const WarpWindow& window, Place first, Place at) {
  if ((window.flags & WARP_HAS_TURN) == 0) return at;
  const Real x = {window.turn_x}, y = {window.turn_y};
  const Real along = (at.x - first.x) * x + (at.y - first.y) * y;
  const Real turns = floor_of(along / (x * x + y * y) + 0.5);
  if (turns.v == 0) return at;
  return {at.x - turns * x, at.y - turns * y};
}

DEVICE bool box_meets(const WarpWindow& window, const Footprint& box) {
  return box.right.v > -WARP_HAIR && box.left < real(window.width) + WARP_HAIR && box.bottom.v > -WARP_HAIR &&
         box.top < real(window.height) + WARP_HAIR;
}

DEVICE bool box_fits(const WarpWindow& window, const Footprint& box) {
  return box_meets(window, box) && !((window.flags & WARP_WRAPS) != 0 && box.left.v < -WARP_HAIR);
}

DEVICE Footprint turned(const WarpWindow& window, const Footprint& box, double turns) {
  const Real x = turns * real(window.turn_x), y = turns * real(window.turn_y);
  Footprint to = box;
  to.left = box.left + x, to.right = box.right + x, to.top = box.top + y, to.bottom = box.bottom + y;
  return to;
}

// The first pixel of a range and the one after the last.
DEVICE void whole_range(Real low, Real high, i64 side, bool wraps, i64& first, i64& end) {
  const Real from = floor_of(low + WARP_HAIR), to = ceil_of(high - WARP_HAIR);
  first = from.v > 0 ? (i64)from.v : 0;
  const i64 most = wraps ? first + side : side;
  end = to.v < (double)most ? (i64)to.v : most;
  if (first == end && end < side) end++;
}

DEVICE Real margin_of(double scale) {
  const Real whole = ceil_of(real(1) / scale);
  return 2.0 * (whole.v > 1 ? whole : real(1));
}

// Finds the samples under the box between two corners; returns whether there are any.
DEVICE bool footprint_of(const WarpWindow& window, Place one, Place other, Footprint& box) {
  const bool by_x = one.x > other.x, by_y = one.y > other.y;
  box.left = by_x ? other.x : one.x, box.right = by_x ? one.x : other.x;
  box.top = by_y ? other.y : one.y, box.bottom = by_y ? one.y : other.y;
  const bool wraps = (window.flags & WARP_WRAPS) != 0;
  if ((window.flags & WARP_HAS_TURN) != 0 && !box_fits(window, box)) {
    const Footprint ahead = turned(window, box, 1), back = turned(window, box, -1);
    if (box_fits(window, ahead)) box = ahead;
    else if (box_fits(window, back)) box = back;
  }
  if (!box_meets(window, box)) return false;
  const Real mx = margin_of(window.scale_x), my = margin_of(window.scale_y);
  const Real end = wraps ? 2.0 * real(window.width) : real(window.width);
  if (!(box.left.v >= -mx.v && (box.right - end) <= mx && box.top.v >= -my.v &&
        (box.bottom - real(window.height)) <= my))
    return false;
  whole_range(box.left, box.right, window.width, wraps, box.first, box.end);
  whole_range(box.top, box.bottom, window.height, false, box.first_row, box.end_row);
  return true;
}

DEVICE i64 column_of(const Sheet& sheet, i64 at) { return at >= sheet.width ? at - sheet.width : at; }

// The rows that lie in the sheet.
DEVICE i64 first_row(const Sheet& sheet, const Footprint& box) {
  return box.first_row > sheet.top ? box.first_row : sheet.top;
}
DEVICE i64 end_row(const Sheet& sheet, const Footprint& box) {
  return box.end_row < sheet.bottom ? box.end_row : sheet.bottom;
}

// The part of a pixel that lies in a range.
DEVICE Real part_of(i64 at, i64 first, i64 end, Real low, Real high) {
  if (at == first) return first + 1 == end ? real(1) : 1.0 - (low - real((double)first));
  return at + 1 == end ? 1.0 - (real((double)end) - high) : real(1);
}

// Every sample of a footprint, in order.
#define FOR_EACH_SAMPLE(sheet, box, x, y)                                           \
  _Pragma("unroll 1") for (i64 y = first_row(sheet, box); y < end_row(sheet, box); y++) \
      _Pragma("unroll 1") for (i64 x = box.first; x < box.end; x++)

// The mean of the samples or of their squares.
DEVICE bool mean_under(const Sheet& sheet, const Footprint& box, bool squares, Real& value) {
  Real sum = {0}, weight = {0};
#pragma unroll 1
  for (i64 y = first_row(sheet, box); y < end_row(sheet, box); y++) {
    const Real high = part_of(y, box.first_row, box.end_row, box.top, box.bottom);
    Real row_sum = {0}, row_weight = {0};
#pragma unroll 1
    for (i64 x = box.first; x < box.end; x++) {
      Real sample;
      if (!number_at(sheet, column_of(sheet, x), y, sample)) continue;
      const Real wide = part_of(x, box.first, box.end, box.left, box.right);
      row_sum = row_sum + (squares ? sample * sample : sample) * wide;
      row_weight = row_weight + wide;
    }
    sum = sum + row_sum * high;
    weight = weight + row_weight * high;
  }
  value = sum / weight;
  return weight.v > 0;
}

// A key that is larger for larger samples and equal for equal ones; and its inverse.
DEVICE u64 key_of(Number number, u64 bits) {
  const u64 sign = sign_bit(number);
  if (number.kind == KIND_UNSIGNED) return bits;
  if (number.kind == KIND_SIGNED) return bits ^ sign;
  if (bits == sign) bits = 0;
  return (bits & sign) == 0 ? bits | sign : ~bits & all_bits(number);
}
DEVICE u64 bits_of(Number number, u64 key) {
  const u64 sign = sign_bit(number);
  if (number.kind == KIND_UNSIGNED) return key;
  if (number.kind == KIND_SIGNED) return key ^ sign;
  return (key & sign) == 0 ? ~key & all_bits(number) : key & ~sign;
}

DEVICE bool key_at(const Sheet& sheet, i64 x, i64 y, u64& key) {
  u64 bits;
  if (!sample_at(sheet, column_of(sheet, x), y, bits)) return false;
  key = key_of(sheet.validity.number, bits);
  return true;
}

DEVICE bool extreme_under(const Sheet& sheet, const Footprint& box, bool most, u64& found) {
  bool any = false;
  FOR_EACH_SAMPLE(sheet, box, x, y) {
    u64 key;
    if (!key_at(sheet, x, y, key)) continue;
    if (!any || (most ? key > found : key < found)) found = key;
    any = true;
  }
  return any;
}

// The sample at `quarters` quarters of the sorted ones, found bit by bit by counting the samples below.
DEVICE bool rank_under(const Sheet& sheet, const Footprint& box, u32 quarters, u64& found) {
  u64 count = 0, key;
  FOR_EACH_SAMPLE(sheet, box, x, y) count += key_at(sheet, x, y, key) ? 1 : 0;
  if (count == 0) return false;
  const u64 place = (count * quarters + 3) / 4 - 1;
  found = 0;
#pragma unroll 1
  for (u32 bit = 8 * sheet.validity.number.size; bit-- > 0;) {
    const u64 next = found | 1ull << bit;
    u64 below = 0;
    FOR_EACH_SAMPLE(sheet, box, x, y) below += key_at(sheet, x, y, key) && key < next ? 1 : 0;
    if (below <= place) found = next;
  }
  return true;
}

DEVICE float weight_under(const Footprint& box, i64 x, i64 y) {
  return (float)(part_of(y, box.first_row, box.end_row, box.top, box.bottom) *
                 part_of(x, box.first, box.end, box.left, box.right))
      .v;
}

// The sample that covers most. Counts are not stored: a sample's count so far is recomputed.
DEVICE bool mode_under(const Sheet& sheet, const Footprint& box, u64& found) {
  const Number number = sheet.validity.number;
  const bool is_short = number.kind != KIND_FLOAT && number.size <= 2;
  bool any = false;
  float most = 0;
  FOR_EACH_SAMPLE(sheet, box, x, y) {
    u64 key, other;
    if (!key_at(sheet, x, y, key)) continue;
    bool seen = false;
    float count = 0;
    FOR_EACH_SAMPLE(sheet, box, u, v) {
      if (v > y || (v == y && u >= x)) break;
      if (!key_at(sheet, u, v, other) || other != key) continue;
      const float weight = weight_under(box, u, v);
      count = seen ? __fadd_rn(count, weight) : weight;
      seen = true;
    }
    const float weight = weight_under(box, x, y);
    count = seen ? __fadd_rn(count, weight) : weight;
    if (!any || key == found || ((is_short || seen) && count > most)) found = key, most = count;
    any = true;
  }
  return any;
}

DEVICE Real least_of(Real a, Real b) { return b < a ? b : a; }
DEVICE Real most_of(Real a, Real b) { return b > a ? b : a; }

// The sum of samples, weighted by the part of each that the pixel covers; corners are taken in order.
DEVICE bool sum_under(const Sheet& sheet, const WarpWindow& window, const Place (&corners)[4], Real& value) {
  Place low = corners[0], high = corners[0];
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    if (corners[i].x.v != corners[i].x.v || corners[i].y.v != corners[i].y.v) return false;
    low = {least_of(low.x, corners[i].x), least_of(low.y, corners[i].y)};
    high = {most_of(high.x, corners[i].x), most_of(high.y, corners[i].y)};
  }
  Footprint box;
  if (!footprint_of(window, low, high, box)) return false;
  const Real by_x = box.left - low.x, by_y = box.top - low.y;
  Polygon quad;
  quad.count = 4;
#pragma unroll
  for (u32 i = 0; i < 4; i++) quad.x[i] = corners[i].x + by_x, quad.y[i] = corners[i].y + by_y;
  Real sum = {0};
  bool any = false;
#pragma unroll 1
  for (i64 y = first_row(sheet, box); y < end_row(sheet, box); y++) {
    Polygon strip;
    strip_of(quad, (double)y, strip);
    Real part = {0};
#pragma unroll 1
    for (i64 x = box.first; x < box.end; x++) {
      const Real area = area_in(strip, (double)x, (double)y);
      Real sample;
      if (!(area.v > 0) || !number_at(sheet, column_of(sheet, x), y, sample)) continue;
      part = part + sample * area;
      any = true;
    }
    sum = sum + part;
  }
  value = sum;
  return any;
}
