// Methods that use samples around the place under a pixel's centre: counterpart of `warp/gather.rs` of the CPU engine.
// Each returns whether there is a value. `ANY` is for samples whose type is not known at compile time.
#pragma once
#include "warp/warp_sheet.cuh"
#include "warp/warp_weights.cuh"

DEVICE Real between(const Real (&four)[4], Real u, Real v) {
  const Real upper = four[0] * u + four[1] * (1.0 - u);
  const Real lower = four[2] * u + four[3] * (1.0 - u);
  return upper * v + lower * (1.0 - v);
}

// The weighted mean of the valid ones of two by two samples.
DEVICE bool mean_of_four(const Real (&four)[4], const bool (&counts)[4], Real u, Real v, Real& value) {
  if (counts[0] && counts[1] && counts[2] && counts[3]) {
    value = between(four, u, v);
    return true;
  }
  const Real weights[4] = {u * v, (1.0 - u) * v, u * (1.0 - v), (1.0 - u) * (1.0 - v)};
  Real sum = {0}, weight = {0};
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    if (!counts[i]) continue;
    sum = sum + four[i] * weights[i];
    weight = weight + weights[i];
  }
  value = sum / weight;
  return weight.v >= 0.00001;
}

// Two by two samples.
template <bool ANY>
DEVICE bool value_of_four(const Sheet& sheet, Place at, Real& value) {
  i64 column, row;
  const Real u = 1.5 - (at.x - floor_and_whole(at.x - 0.5, column));
  const Real v = 1.5 - (at.y - floor_and_whole(at.y - 0.5, row));
  Real four[4];
  bool counts[4];
#pragma unroll
  for (u32 i = 0; i < 4; i++) counts[i] = number_in<ANY>(sheet, column + (i & 1), row + (i >> 1), four[i]);
  return mean_of_four(four, counts, u, v, value);
}

DEVICE Real convolved(const Real (&four)[4], const Real (&weights)[4]) {
  return four[0] * weights[0] + four[1] * weights[1] + four[2] * weights[2] + four[3] * weights[3];
}

// Four by four samples; two by two if one of them is missing.
template <bool ANY>
DEVICE bool value_of_sixteen(const Sheet& sheet, Place at, Real& value) {
  i64 column, row;
  const Real left = floor_and_whole(at.x - 0.5, column), top = floor_and_whole(at.y - 0.5, row);
  bool all = column > sheet.left && row > sheet.top && column + 2 < sheet.right && row + 2 < sheet.bottom;
  if (all) {
    Real across[4], down[4], rows[4];
    weights_of_four(at.x - 0.5 - left, across);
    weights_of_four(at.y - 0.5 - top, down);
#pragma unroll
    for (i32 j = 0; j < 4; j++) {
      Real four[4];
#pragma unroll
      for (i32 i = 0; i < 4; i++) all = number_in<ANY>(sheet, column - 1 + i, row - 1 + j, four[i]) && all;
      rows[j] = convolved(four, across);
    }
    value = convolved(rows, down);
  }
  return all || value_of_four<ANY>(sheet, at, value);
}

// The first and the last contributing pixel that exist.
DEVICE void taps_of(i64 middle, Real taps, i64 low, i64 high, i64& first, i64& last) {
  const Real from = real((double)middle) + 1.0 - taps, to = real((double)middle) + taps;
  first = from.v > (double)low ? (i64)from.v : low;
  last = to.v < (double)(high - 1) ? (i64)to.v : high - 1;
}

DEVICE Real taps_for(u32 radius, double scale) {
  return scale < 1 ? ceil_of(real(radius) / scale) : real(radius);
}

// A kernel that may be wider than its samples.
template <bool ANY>
DEVICE bool value_of_kernel(const Sheet& sheet, const WarpWindow& window, u32 method, Place at, Real& value) {
  const u32 radius = method == WARP_BILINEAR ? 1 : method == WARP_LANCZOS ? 3 : 2;
  i64 column, row;
  const Real dx = at.x - 0.5 - floor_and_whole(at.x - 0.5, column);
  const Real dy = at.y - 0.5 - floor_and_whole(at.y - 0.5, row);
  const double scale_x = window.scale_x < 1 ? window.scale_x : 1, scale_y = window.scale_y < 1 ? window.scale_y : 1;
  i64 first, last, top, bottom;
  taps_of(column, taps_for(radius, window.scale_x), sheet.left, sheet.right, first, last);
  taps_of(row, taps_for(radius, window.scale_y), sheet.top, sheet.bottom, top, bottom);
  Real sum = {0}, weight = {0};
#pragma unroll 1
  for (i64 y = top; y <= bottom; y++) {
    const Real own = kernel_weight(method, (real((double)(y - row)) - dy) * scale_y);
    Real part = {0}, part_weight = {0};
#pragma unroll 1
    for (i64 x = first; x <= last; x++) {
      Real sample;
      if (!number_in<ANY>(sheet, x, y, sample)) continue;
      const Real across = kernel_weight(method, (real((double)(x - column)) - dx) * scale_x);
      part = part + sample * across;
      part_weight = part_weight + across;
    }
    sum = sum + part * own;
    weight = weight + part_weight * own;
  }
  value = sum / weight;
  return weight.v >= 0.000001;
}
