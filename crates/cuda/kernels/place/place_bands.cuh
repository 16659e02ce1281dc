// Rows of many interleaved samples: whole numbers of 1, 2 or 4 bytes, any number per pixel, into any output.
//
// A warp processes a row. Each lane has neighbouring pixels: as many as fill a word with their samples of one band, or
// one if they are converted. It loops over the bands: loads of one pixel hit the same cache lines, and an output
// without gaps between columns gets whole words. Sums of predictor 2 cross the lanes by shuffles. The lane with a
// band's number keeps the sum that one run of pixels passes to the next, so at most 32 bands are processed at once.
#pragma once
#include "place/place_convert.cuh"
#include "place/place_rows.cuh"

// Pixels per lane, and bands whose samples are loaded before the first of them is used. A conversion is long code, so
// it appears only once.
template <u32 T, bool FLOATS>
struct BandShape {
  static const u32 PIXELS = FLOATS ? 1 : 4 / T;
  static const u32 AHEAD = FLOATS ? 1 : 4;
};

// Returns the number of T bytes at `at`; `swap` reverses its bytes.
template <u32 T>
DEVICE u32 number_at(const u8* at, bool swap) {
  if constexpr (T == 1) return *at;
  if constexpr (T == 2) return __byte_perm(*(const u16*)at, 0, swap ? 0x4401 : 0x4410);
  return __byte_perm(*(const u32*)at, 0, swap ? 0x0123 : 0x3210);
}

// Returns the sum over the lanes up to and including this one.
DEVICE u32 sum_of_lanes(u32 own, u32 lane) {
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 before = __shfl_up_sync(0xFFFFFFFFu, own, step);
    if (lane >= step) own += before;
  }
  return own;
}

// Writes a lane's requested pixels: of the PIXELS from `x` on, those from `from` up to, but excluding, `upto`.
template <u32 T, u32 PIXELS, bool FLOATS>
DEVICE void write_band(const PlaceLayout& layout, const Conversion& conversion, const u32 (&numbers)[PIXELS], u8* out,
                       u32 x, u32 from, u32 upto) {
  out += ((i64)x - (i64)from) * (i64)layout.column_stride;
  if (!FLOATS && layout.column_stride == T && x >= from && x + PIXELS <= upto && misalignment(out, 4) == 0) {
    u32 word = 0;
#pragma unroll
    for (u32 p = 0; p < PIXELS; p++) word |= (T == 4 ? numbers[p] : numbers[p] & ((1u << (8 * T % 32)) - 1)) << 8 * T * p % 32;
    *(u32*)out = word;
    return;
  }
#pragma unroll
  for (u32 p = 0; p < PIXELS; p++) {
    if (x + p < from || x + p >= upto) continue;
    const u64 number = FLOATS ? converted(layout, conversion, numbers[p]) : numbers[p];
    store_sample(out + p * layout.column_stride, {number, 0}, FLOATS ? layout.size : T);
  }
}

template <u32 T, bool FLOATS>
DEVICE void place_bands(const PlaceLayout& layout, const PlaceTask& task, const u16* selection, const i32* tables,
                        const Share& share) {
  const u32 PIXELS = BandShape<T, FLOATS>::PIXELS, AHEAD = BandShape<T, FLOATS>::AHEAD, lane = share.lane;
  const bool sums = (layout.flags & LAYOUT_SUMS) != 0, swap = layout.swap != 0;
  const u32 from = task.block_x, upto = from + task.width, pixel = layout.samples * T;
  const Conversion conversion = FLOATS ? conversion_of(layout, tables) : Conversion{};
#pragma unroll 1
  for (u32 y = share.warp; y < task.height; y += share.warps) {
    const u8* row = (const u8*)task.src + (u64)(task.block_y + y) * layout.row_len;
#pragma unroll 1
    for (u32 base = 0; base < task.bands; base += 32) {
      const u32 count = min(task.bands - base, 32u), sample = selection[base + min(lane, count - 1)];
      u32 carry = 0;
#pragma unroll 1
      for (u32 begin = sums ? 0 : from; begin < upto; begin += 32 * PIXELS) {
        const u32 x = begin + lane * PIXELS;
        u8* out = (u8*)task.dst + y * layout.row_stride + base * layout.band_stride;
#pragma unroll 1
        for (u32 band = 0; band < count; band += AHEAD) {
          u32 numbers[AHEAD][PIXELS];
#pragma unroll
          for (u32 k = 0; k < AHEAD; k++) {
            const u32 at = __shfl_sync(0xFFFFFFFFu, sample, min(band + k, count - 1)) * T;
#pragma unroll
            for (u32 p = 0; p < PIXELS; p++) {
              numbers[k][p] = x + p < upto ? number_at<T>(row + (u64)(x + p) * pixel + at, swap) : 0;
            }
          }
#pragma unroll
          for (u32 k = 0; k < AHEAD; k++) {
            if (band + k >= count) break;
            if (sums) {
#pragma unroll
              for (u32 p = 1; p < PIXELS; p++) numbers[k][p] += numbers[k][p - 1];
              const u32 own = numbers[k][PIXELS - 1], upto_here = sum_of_lanes(own, lane);
              const u32 before = __shfl_sync(0xFFFFFFFFu, carry, band + k) + upto_here - own;
#pragma unroll
              for (u32 p = 0; p < PIXELS; p++) numbers[k][p] += before;
              const u32 last = __shfl_sync(0xFFFFFFFFu, numbers[k][PIXELS - 1], 31);
              if (lane == band + k) carry = last;
            }
            write_band<T, PIXELS, FLOATS>(layout, conversion, numbers[k], out, x, from, upto);
            out += layout.band_stride;
          }
        }
      }
    }
  }
}
