// Gauss, bilinear, cubic and Lanczos over a tile of one band: the samples above it go to shared memory as f64, NaN
// where they do not count; each row is filtered along itself, then the columns of what came of it.
#pragma once
#include "reduce_number.cuh"
#include "reduce_part.cuh"

const u32 MOST_TAPS = 12;
// Samples above a tile, across and down.
const u32 ABOVE_ACROSS = 2 * FILTER_ACROSS + MOST_TAPS - 2;
const u32 ABOVE_DOWN = 2 * FILTER_DOWN + MOST_TAPS - 2;
// Even columns of a row, then the odd ones: neighbours in a row of the result then read neighbours here.
const u32 ABOVE_HALF = ABOVE_ACROSS / 2;

CONSTANT double GAUSS_WEIGHTS[3] = {1.0, 2.0, 1.0};
CONSTANT double BILINEAR_WEIGHTS[4] = {0.25, 0.75, 0.75, 0.25};
CONSTANT double CUBIC_WEIGHTS[8] = {-0.0234375, -0.0703125, 0.2265625,  0.8671875,
                                    0.8671875,  0.2265625,  -0.0703125, -0.0234375};
CONSTANT double LANCZOS_WEIGHTS[12] = {
    0.00735592604719417,  0.030021091449581563, -0.06779133590054288, -0.13287101836506404,
    0.27018982304623407,  0.8900670517104946,   0.8900670517104946,   0.27018982304623407,
    -0.13287101836506404, -0.06779133590054288, 0.030021091449581563, 0.00735592604719417};

struct FilterTile {
  double above[ABOVE_DOWN * ABOVE_ACROSS];
  double along[ABOVE_DOWN * FILTER_ACROSS];   // rows filtered along themselves
  u8 weights[ABOVE_DOWN * FILTER_ACROSS];     // their weights: 1 where they are divided, 0 where there is no value
};

// Where a tile lies: its band, and its first column and row in the reduced image.
struct FilterSpot {
  u32 band, x, y;
};

// Taps of a reduced column or row that lie in an image of `size`.
template <u32 TAPS>
DEVICE u32 taps_inside(u32 target, u32 size) {
  const u32 before = TAPS == 3 ? 0 : TAPS / 2 - 1;
  const u32 skipped = before - min(before, 2 * target);
  const u32 start = 2 * target + skipped - before;
  return min(TAPS - skipped, size - start);
}

// sum / weight; by powers of two, the usual ones, the product is rounded as the quotient is.
DEVICE double divided(double sum, double weight) {
  return weight == 2.0 ? __dmul_rn(sum, 0.5) : weight == 16.0 ? __dmul_rn(sum, 0.0625) : __ddiv_rn(sum, weight);
}

// Loads what lies above the tile; whether all of it counts.
template <u32 TAPS>
DEVICE bool load_above(const ReducePart& part, const FilterSpot& spot, const Validity& validity, FilterTile& tile) {
  const u32 across = 2 * FILTER_ACROSS + TAPS - 2, down = 2 * FILTER_DOWN + TAPS - 2;
  const u32 before = TAPS == 3 ? 0 : TAPS / 2 - 1;
  const bool aligned = (part.flags & REDUCE_UNALIGNED) == 0;
  // Taps that only samples outside the part have need not be there.
  const u32 halo = TAPS == 3 ? 1 : before;
  const u32 end_x = min(2 * (part.target_x + part.width - 1) + 2 + halo, part.image_x);
  const u32 end_y = min(2 * (part.target_y + part.height - 1) + 2 + halo, part.image_y);
  const u64 band = spot.band * part.band_stride;
  bool all = true;
#pragma unroll 4
  for (u32 i = threadIdx.x; i < across * down; i += REDUCE_THREADS) {
    const u32 row = i / across, column = i % across;
    // Wrapped around where they lie before the image.
    const u32 x = 2 * spot.x + column - before, y = 2 * spot.y + row - before;
    double value = __longlong_as_double((i64)nan_bits(8));
    if (x < end_x && y < end_y) {
      const u64 bits = load_bits(pixel_row(part, y) + pixel_column(part, x) + band, validity.number.size, aligned);
      const bool unmasked = part.mask == 0 || mask_row(part, y)[mask_column(part, x)] != 0;
      if (unmasked && is_valid(validity, bits)) value = to_double(validity.number, bits);
    }
    all = all && value == value;
    tile.above[row * ABOVE_ACROSS + (column & 1) * ABOVE_HALF + (column >> 1)] = value;
  }
  return all;
}

// What the taps of a sample come to, where some may not count.
struct Taps {
  double sum, weight;
  u32 run, longest;
};

DEVICE void add_tap(Taps& taps, double weight, double value, double its) {
  taps.sum = __dadd_rn(taps.sum, __dmul_rn(weight, value));
  taps.weight = __dadd_rn(taps.weight, __dmul_rn(weight, its));
  taps.run++;
  taps.longest = max(taps.longest, taps.run);
}

template <u32 TAPS>
DEVICE bool gives_value(const Taps& taps, u32 inside) {
  return taps.weight > 0 && (TAPS < 8 || taps.longest >= inside / 2);
}

// Filters the rows.
template <u32 TAPS>
DEVICE void filter_rows(const ReducePart& part, const FilterSpot& spot, const double* weights, bool all,
                        FilterTile& tile) {
  const u32 lane = threadIdx.x % 32, down = 2 * FILTER_DOWN + TAPS - 2;
  double total = 0;
#pragma unroll
  for (u32 t = 0; t < TAPS; t++) total = __dadd_rn(total, weights[t]);
  for (u32 row = threadIdx.x / 32; row < down; row += REDUCE_THREADS / 32) {
    const double* above = tile.above + row * ABOVE_ACROSS + lane;
    double value = 0;
    u32 weight = TAPS == 3 ? 4 : 1;
    if (all) {
#pragma unroll
      for (u32 t = 0; t < TAPS; t++) {
        value = __dadd_rn(value, __dmul_rn(weights[t], above[(t & 1) * ABOVE_HALF + t / 2]));
      }
      if (TAPS != 3) value = divided(value, total);
    } else {
      Taps taps = {0, 0, 0, 0};
#pragma unroll 1
      for (u32 t = 0; t < TAPS; t++) {
        const double sample = above[(t & 1) * ABOVE_HALF + t / 2];
        if (sample == sample) add_tap(taps, weights[t], sample, 1.0);
        else taps.run = 0;
      }
      const u32 x = min(spot.x + lane, part.target_x + part.width - 1);
      const bool gives = gives_value<TAPS>(taps, taps_inside<TAPS>(x, part.image_x));
      if (gives) value = TAPS == 3 ? taps.sum : divided(taps.sum, taps.weight);
      weight = !gives ? 0 : TAPS == 3 ? (u32)taps.weight : 1;
    }
    tile.along[row * FILTER_ACROSS + lane] = value;
    tile.weights[row * FILTER_ACROSS + lane] = (u8)weight;
  }
}

// Filters the columns of filtered rows and writes what comes of them.
template <u32 TAPS>
DEVICE void filter_columns(const ReducePart& part, const FilterSpot& spot, const double* weights, bool all,
                           const Validity& validity, const FilterTile& tile, u8* dst) {
  const u32 lane = threadIdx.x % 32, size = validity.number.size;
  const u32 column = spot.x - part.target_x + lane;
  const u64 pixel = (u64)part.samples * size;
  const u64 plane = part.samples == 1 ? spot.band * (u64)part.height * part.width * size : (u64)spot.band * size;
  for (u32 down = threadIdx.x / 32; down < FILTER_DOWN; down += REDUCE_THREADS / 32) {
    const u32 row = spot.y - part.target_y + down;
    if (column >= part.width || row >= part.height) continue;
    const double* along = tile.along + 2 * down * FILTER_ACROSS + lane;
    const u8* its = tile.weights + 2 * down * FILTER_ACROSS + lane;
    Taps taps = {0, 0, 0, 0};
    bool gives = true;
    if (all) {
#pragma unroll
      for (u32 t = 0; t < TAPS; t++) add_tap(taps, weights[t], along[t * FILTER_ACROSS], TAPS == 3 ? 4.0 : 1.0);
    } else {
#pragma unroll 1
      for (u32 t = 0; t < TAPS; t++) {
        const u32 weight = its[t * FILTER_ACROSS];
        if (weight != 0) add_tap(taps, weights[t], along[t * FILTER_ACROSS], (double)weight);
        else taps.run = 0;
      }
      gives = gives_value<TAPS>(taps, taps_inside<TAPS>(part.target_y + row, part.image_y));
    }
    u64 bits;
    if ((part.flags & REDUCE_IS_MASK) != 0) bits = gives ? 255 : 0;
    else if (!gives) bits = nothing(validity);
    else bits = settled(validity, of_double(validity.number, divided(taps.sum, taps.weight)));
    store_bits(dst + part.dst + plane + ((u64)row * part.width + column) * pixel, size, bits);
  }
}

template <u32 TAPS>
DEVICE void filter_tile(const ReducePart& part, const FilterSpot& spot, const double* weights, FilterTile& tile,
                        u8* dst) {
  const Validity validity = validity_of(part, {part.kind, part.size});
  const bool all = __syncthreads_and(load_above<TAPS>(part, spot, validity, tile)) != 0;
  filter_rows<TAPS>(part, spot, weights, all, tile);
  __syncthreads();
  filter_columns<TAPS>(part, spot, weights, all, validity, tile, dst);
}
