// The pixels of an axis that contribute to a result pixel, and their weights: the same steps as in the CPU engine, each
// rounded separately.
#pragma once
#include "steps/resample_abi.h"

// From `low` to `high`, in pixels `first` to `end`; empty if these are equal.
struct Stretch {
  double low, high;
  u32 first, end;
};

DEVICE double place_of(double start, double len, double index, double count) {
  return __dadd_rn(start, __ddiv_rn(__dmul_rn(index, len), count));
}

// The stretch of result pixel `index` of `count`, over `len` from `start`, in an axis of `size` pixels.
DEVICE Stretch stretch_of(double start, double len, u32 index, u32 count, u32 size, u32 method) {
  const double i = (double)index, n = (double)count, ends = (double)size;
  const double centre = place_of(start, len, i + 0.5, n);
  if (!(centre >= 0 && centre < ends)) return {0, 0, 0, 0};
  double low = 0, high = 0;
  if (method == RESAMPLE_BILINEAR) {
    low = centre - 0.5, high = centre + 0.5;
  } else if (method == RESAMPLE_AVERAGE) {
    low = place_of(start, len, i, n), high = place_of(start, len, i + 1, n);
  }
  low = low > 0 ? low : 0;
  high = high < ends ? high : ends;
  if (method == RESAMPLE_NEAREST || low >= high) {
    const u32 pixel = (u32)centre;
    return {(double)pixel, (double)pixel + 1, pixel, pixel + 1};
  }
  const u32 whole = (u32)high;
  return {low, high, (u32)low, (double)whole < high ? whole + 1 : whole};
}

// The length of a pixel's part in a stretch.
DEVICE double weight_in(const Stretch& stretch, u32 pixel) {
  const double from = (double)pixel, to = from + 1;
  return (stretch.high < to ? stretch.high : to) - (stretch.low > from ? stretch.low : from);
}
