// Finds the source place under a point of a pixel: counterpart of `WarpMap` of the engine crate.
#pragma once
#include "warp/warp_abi.h"
#include "warp/warp_real.cuh"

struct Place {
  Real x, y;
};

DEVICE Real nan_real() { return real(__longlong_as_double(0x7FF8000000000000ll)); }

// Interpolates the place a given part of the way across and down a cell.
DEVICE Place between_corners(const double* c, Real u, Real v) {
  const Real x0 = {c[0]}, y0 = {c[1]}, x1 = {c[2]}, y1 = {c[3]}, x2 = {c[4]}, y2 = {c[5]}, x3 = {c[6]}, y3 = {c[7]};
  const Real top_x = x0 + (x1 - x0) * u, top_y = y0 + (y1 - y0) * u;
  const Real low_x = x2 + (x3 - x2) * u, low_y = y2 + (y3 - y2) * u;
  return {top_x + (low_x - top_x) * v, top_y + (low_y - top_y) * v};
}

// The place of a point of the pixel in a column and row of the map. `right` and `down` are 0 or 1 for corners, in a map
// that has those, and both one half for centres. NaN if there is no place.
DEVICE Place place_of(const WarpWindow& window, u32 column, u32 row, double right, double down) {
  const bool corners = right != 0.5;
  u32 cell = window.cells[(u64)(row / WARP_LARGE) * window.across + column / WARP_LARGE];
  u32 size = WARP_LARGE;
  if ((cell & WARP_KIND) == WARP_CUT) {
    size = WARP_SMALL;
    const u32 at = row % WARP_LARGE / WARP_SMALL * (WARP_LARGE / WARP_SMALL) + column % WARP_LARGE / WARP_SMALL;
    cell = window.small[(cell & ~WARP_KIND) + at];
    if ((cell & WARP_KIND) == WARP_CUT) {
      const u32 across = corners ? WARP_SMALL + 1 : WARP_SMALL;
      const u32 x = column % WARP_SMALL + (corners && right == 1 ? 1 : 0);
      const u32 y = row % WARP_SMALL + (corners && down == 1 ? 1 : 0);
      const double* exact = window.exact + 2 * ((u64)(cell & ~WARP_KIND) + y * across + x);
      return {{exact[0]}, {exact[1]}};
    }
  }
  if ((cell & WARP_KIND) != WARP_SMOOTH) return {nan_real(), nan_real()};
  const double part = 1.0 / size;
  const Real u = (real_of(column % size) + right) * part, v = (real_of(row % size) + down) * part;
  return between_corners(window.corners + 8 * (u64)(cell & ~WARP_KIND), u, v);
}

DEVICE bool lies_in(const WarpWindow& window, Place at) {
  return at.x.v >= 0 && at.x.v < window.width && at.y.v >= 0 && at.y.v < window.height;
}

// Moves a place beside the source by one turn if it then lies in the source.
DEVICE Place in_source(const WarpWindow& window, Place at) {
  if ((window.flags & WARP_HAS_TURN) == 0 || lies_in(window, at)) return at;
  const Place ahead = {at.x + window.turn_x, at.y + window.turn_y};
  if (lies_in(window, ahead)) return ahead;
  const Place back = {at.x - window.turn_x, at.y - window.turn_y};
  return lies_in(window, back) ? back : at;
}
