// The area of a quadrilateral in a pixel: counterpart of `warp/area.rs` of the CPU engine.
#pragma once
#include "warp/warp_real.cuh"

const u32 WARP_POLYGON = 12;  // corners: a cut adds at most one for each of two crossings

struct Polygon {
  Real x[WARP_POLYGON], y[WARP_POLYGON];
  u32 count;
};

// Cuts `from` to the part whose x, or y, is on one side of an edge.
DEVICE void cut_polygon(const Polygon& from, Polygon& to, bool by_y, double edge, bool above) {
  to.count = 0;
  const u32 last = from.count == 0 ? 0 : from.count - 1;
  Real before = by_y ? from.y[last] : from.x[last], other_before = by_y ? from.x[last] : from.y[last];
#pragma unroll 1
  for (u32 i = 0; i < from.count; i++) {
    const Real at = by_y ? from.y[i] : from.x[i], other = by_y ? from.x[i] : from.y[i];
    const bool was = above ? before.v >= edge : before.v <= edge, is = above ? at.v >= edge : at.v <= edge;
    if (was != is && to.count < WARP_POLYGON) {
      const Real part = (edge - before) / (at - before);
      const Real crossing = other_before + (other - other_before) * part;
      (by_y ? to.y : to.x)[to.count] = real(edge);
      (by_y ? to.x : to.y)[to.count] = crossing;
      to.count++;
    }
    if (is && to.count < WARP_POLYGON) {
      (by_y ? to.y : to.x)[to.count] = at;
      (by_y ? to.x : to.y)[to.count] = other;
      to.count++;
    }
    before = at, other_before = other;
  }
}

// Cuts it to the part between a row and the next.
DEVICE void strip_of(const Polygon& quad, double row, Polygon& strip) {
  Polygon half;
  cut_polygon(quad, half, true, row, true);
  cut_polygon(half, strip, true, row + 1, false);
}

// The area of a strip in a column.
DEVICE Real area_in(const Polygon& strip, double column, double row) {
  Polygon half, cut;
  cut_polygon(strip, half, false, column, true);
  cut_polygon(half, cut, false, column + 1, false);
  Real twice = {0};
  const u32 last = cut.count == 0 ? 0 : cut.count - 1;
  if (cut.count == 0) return twice;
  Real x = cut.x[last] - column, y = cut.y[last] - row;
#pragma unroll 1
  for (u32 i = 0; i < cut.count; i++) {
    const Real next_x = cut.x[i] - column, next_y = cut.y[i] - row;
    twice = twice + (x * next_y - next_x * y);
    x = next_x, y = next_y;
  }
  return 0.5 * size_of(twice);
}
