// Gauss, bilinear, cubic and Lanczos over a tile of one band: the source samples go to shared memory as f64, invalid
// ones as NaN. First each row is filtered, then the columns of the result.
#pragma once
#include "reduce/reduce_number.cuh"
#include "reduce/reduce_part.cuh"

const u32 MOST_TAPS = 12;
// Source samples of a tile, across and down.
const u32 ABOVE_ACROSS = 2 * FILTER_ACROSS + MOST_TAPS - 2;
const u32 ABOVE_DOWN = 2 * FILTER_DOWN + MOST_TAPS - 2;
// A row stores its even columns, then the odd ones, so that neighbours in a result row read neighbours here.
const u32 ABOVE_HALF = ABOVE_ACROSS / 2;

// Weights by method, Gauss first.
CONSTANT double FILTER_WEIGHTS[4][MOST_TAPS] = {
    {1.0, 2.0, 1.0},
    {0.25, 0.75, 0.75, 0.25},
    {-0.0234375, -0.0703125, 0.2265625, 0.8671875, 0.8671875, 0.2265625, -0.0703125, -0.0234375},
    {0.00735592604719417, 0.030021091449581563, -0.06779133590054288, -0.13287101836506404,
     0.27018982304623407, 0.8900670517104946, 0.8900670517104946, 0.27018982304623407,
     -0.13287101836506404, -0.06779133590054288, 0.030021091449581563, 0.00735592604719417}};

// A filter along one axis.
struct Filter {
  u32 which;   // row of FILTER_WEIGHTS
  u32 taps;
  u32 before;  // distance of the first tap before the first of the two source pixels of a reduced one
  double total;  // sum of its weights

  bool divides_rows() const { return which != 0; }
  bool wants_run() const { return which >= 2; }
};

DEVICE Filter filter_of(u32 method) {
  const u32 which = method - REDUCE_GAUSS, taps = which == 0 ? 3 : which == 1 ? 4 : which == 2 ? 8 : 12;
  double total = 0;
#pragma unroll 1
  for (u32 t = 0; t < taps; t++) total = __dadd_rn(total, FILTER_WEIGHTS[which][t]);
  return {which, taps, which == 0 ? 0 : taps / 2 - 1, total};
}

struct FilterTile {
  double above[ABOVE_DOWN * ABOVE_ACROSS];
  double along[ABOVE_DOWN * FILTER_ACROSS];  // filtered rows
  u8 weights[ABOVE_DOWN * FILTER_ACROSS];    // their weights: 1 if divided, 0 if there is no value
};

// Position of a tile: its band, and its first column and row in the reduced image.
struct FilterSpot {
  u32 band, x, y;
};

// Taps of a reduced column or row that lie in an image of `size`.
DEVICE u32 taps_inside(const Filter& filter, u32 target, u32 size) {
  const u32 skipped = filter.before - min(filter.before, 2 * target);
  const u32 start = 2 * target + skipped - filter.before;
  return min(filter.taps - skipped, size - start);
}

// sum / weight; for powers of two, the usual case, the product is rounded like the quotient.
DEVICE double divided(double sum, double weight) {
  if (weight == 2.0) return __dmul_rn(sum, 0.5);
  return weight == 16.0 ? __dmul_rn(sum, 0.0625) : __ddiv_rn(sum, weight);
}

// Loads the source samples of the tile, numbers of this type; returns whether all of them are valid.
DEVICE bool load_above(const ReducePart& part, Number number, const FilterSpot& spot, const Filter& filter,
                       bool aligned, FilterTile& tile) {
  const Validity validity = validity_of(part, number);
  const u32 across = 2 * FILTER_ACROSS + filter.taps - 2, down = 2 * FILTER_DOWN + filter.taps - 2;
  const u32 before = filter.before, halo = max(before, 1u), lane = threadIdx.x % 32;
  // Pixels needed only outside the part may be absent.
  const u32 end_x = min(2 * (part.target_x + part.width - 1) + 2 + halo, part.image_x);
  const u32 end_y = min(2 * (part.target_y + part.height - 1) + 2 + halo, part.image_y);
  // Columns lane, lane + 32, lane + 64; before the image, coordinates and addresses wrap.
  const u32 x = 2 * spot.x + lane - before;
  const u64 column = 2 * (u64)spot.x + lane - before - part.origin_x;
  const u64 first = spot.band * part.band_stride + column * part.column_stride;
  const u64 mask_first = column * part.mask_column_stride;
  bool all = true;
#pragma unroll 1
  for (u32 row = threadIdx.x / 32; row < down; row += REDUCE_THREADS / 32) {
    const u32 y = 2 * spot.y + row - before;
    const u8 *from = pixel_row(part, y) + first, *mask = mask_row(part, y) + mask_first;
    u64 bits[3];
    bool counts[3];
#pragma unroll
    for (u32 i = 0; i < 3; i++) {
      counts[i] = lane + 32 * i < across && x + 32 * i < end_x && y < end_y;
      bits[i] = 0;
      if (!counts[i]) continue;
      const u8* at = from + 32 * i * part.column_stride;
      bits[i] = aligned ? load_aligned(at, number.size) : load_by_bytes(at, number.size);
      if (part.mask != 0) counts[i] = mask[32 * i * part.mask_column_stride] != 0;
    }
    double* to = tile.above + row * ABOVE_ACROSS + (lane & 1) * ABOVE_HALF + lane / 2;
#pragma unroll
    for (u32 i = 0; i < 3; i++) {
      if (lane + 32 * i >= across) continue;
      const bool valid = counts[i] && is_valid(validity, bits[i]);
      all = all && valid;
      to[16 * i] = valid ? to_double(number, bits[i]) : __longlong_as_double((i64)nan_bits(8));
    }
  }
  return all;
}

// The same, dispatched by type: the usual types have their own code.
DEVICE bool load_above(const ReducePart& part, const FilterSpot& spot, const Filter& filter, bool aligned,
                       FilterTile& tile) {
  const u32 kind = part.kind, size = part.size;
  if (aligned && kind == KIND_UNSIGNED && size == 1) {
    return load_above(part, {KIND_UNSIGNED, 1}, spot, filter, true, tile);
  }
  if (aligned && kind == KIND_UNSIGNED && size == 2) {
    return load_above(part, {KIND_UNSIGNED, 2}, spot, filter, true, tile);
  }
  if (aligned && kind == KIND_FLOAT && size == 4) {
    return load_above(part, {KIND_FLOAT, 4}, spot, filter, true, tile);
  }
  return load_above(part, {kind, size}, spot, filter, aligned, tile);
}

// Place of tap `t` of a sample: for rows in the source samples, for columns in the filtered rows.
template <bool ROWS>
DEVICE u32 tap_at(u32 t) {
  return ROWS ? (t & 1) * ABOVE_HALF + t / 2 : t * FILTER_ACROSS;
}

// The weighted sum if all taps are valid.
template <u32 WHICH, u32 TAPS, bool ROWS>
DEVICE double sum_of_all(const double* from) {
  double sum = 0;
#pragma unroll
  for (u32 t = 0; t < TAPS; t++) {
    sum = __dadd_rn(sum, __dmul_rn(FILTER_WEIGHTS[WHICH][t], from[tap_at<ROWS>(t)]));
  }
  return sum;
}

template <bool ROWS>
DEVICE double sum_of_all(const Filter& filter, const double* from) {
  if (filter.which == 0) return sum_of_all<0, 3, ROWS>(from);
  if (filter.which == 1) return sum_of_all<1, 4, ROWS>(from);
  if (filter.which == 2) return sum_of_all<2, 8, ROWS>(from);
  return sum_of_all<3, 12, ROWS>(from);
}

// A weighted sum and the weight of the valid taps, 0 if there is no value.
struct Sums {
  double value, weight;
};

// Sums over taps of which some may be invalid: for rows NaN, for columns those without weight.
template <bool ROWS>
DEVICE Sums sums_of_some(const Filter& filter, const double* from, const u8* weights, u32 inside) {
  Sums sums = {0, 0};
  u32 run = 0, longest = 0;
#pragma unroll 1
  for (u32 t = 0; t < filter.taps; t++) {
    const double value = from[tap_at<ROWS>(t)], weight = FILTER_WEIGHTS[filter.which][t];
    const u32 its = ROWS ? value == value : weights[tap_at<ROWS>(t)];
    run = its != 0 ? run + 1 : 0;
    longest = max(longest, run);
    if (its == 0) continue;
    sums.value = __dadd_rn(sums.value, __dmul_rn(weight, value));
    sums.weight = __dadd_rn(sums.weight, __dmul_rn(weight, (double)its));
  }
  const bool gives = sums.weight > 0 && (!filter.wants_run() || longest >= inside / 2);
  return gives ? sums : Sums{0, 0};
}

// Filters the rows.
DEVICE void filter_rows(const ReducePart& part, const FilterSpot& spot, const Filter& filter, bool all,
                        FilterTile& tile) {
  const u32 lane = threadIdx.x % 32, down = 2 * FILTER_DOWN + filter.taps - 2;
  const u32 x = min(spot.x + lane, part.target_x + part.width - 1);
#pragma unroll 1
  for (u32 row = threadIdx.x / 32; row < down; row += REDUCE_THREADS / 32) {
    const double* above = tile.above + row * ABOVE_ACROSS + lane;
    Sums sums;
    if (all) sums = {sum_of_all<true>(filter, above), filter.total};
    else sums = sums_of_some<true>(filter, above, nullptr, taps_inside(filter, x, part.image_x));
    u32 weight = (u32)sums.weight;
    if (filter.divides_rows()) {
      weight = sums.weight > 0;
      if (weight != 0) sums.value = divided(sums.value, sums.weight);
    }
    tile.along[row * FILTER_ACROSS + lane] = sums.value;
    tile.weights[row * FILTER_ACROSS + lane] = (u8)weight;
  }
}

// Filters the columns of filtered rows and writes the result.
DEVICE void filter_columns(const ReducePart& part, const FilterSpot& spot, const Filter& filter, bool all,
                           const Validity& validity, const FilterTile& tile, u8* dst) {
  const u32 lane = threadIdx.x % 32, size = part.size, column = spot.x - part.target_x + lane;
  if (column >= part.width) return;
  const u64 before = part.samples == 1 ? (u64)part.height * part.width * spot.band : spot.band;
#pragma unroll 1
  for (u32 down = threadIdx.x / 32; down < FILTER_DOWN; down += REDUCE_THREADS / 32) {
    const u32 y = spot.y + down, row = y - part.target_y, at = 2 * down * FILTER_ACROSS + lane;
    if (row >= part.height) return;
    Sums sums;
    if (all) {
      sums = {sum_of_all<false>(filter, tile.along + at), filter.divides_rows() ? filter.total : 16.0};
    } else {
      const u32 inside = taps_inside(filter, y, part.image_y);
      sums = sums_of_some<false>(filter, tile.along + at, tile.weights + at, inside);
    }
    const bool gives = sums.weight > 0;
    u64 bits;
    if ((part.flags & REDUCE_IS_MASK) != 0) bits = gives ? 255 : 0;
    else if (!gives) bits = nothing(validity);
    else bits = settled(validity, of_double(validity.number, divided(sums.value, sums.weight)));
    const u64 sample = before + ((u64)row * part.width + column) * part.samples;
    store_bits(dst + part.dst + sample * size, size, bits);
  }
}

DEVICE void filter_tile(const ReducePart& part, const FilterSpot& spot, u32 method, bool aligned,
                        FilterTile& tile, u8* dst) {
  const Validity validity = validity_of(part, {part.kind, part.size});
  const Filter filter = filter_of(method);
  const bool all = __syncthreads_and(load_above(part, spot, filter, aligned, tile)) != 0;
  filter_rows(part, spot, filter, all, tile);
  __syncthreads();
  filter_columns(part, spot, filter, all, validity, tile, dst);
}
