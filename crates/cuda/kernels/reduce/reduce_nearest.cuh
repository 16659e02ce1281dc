// Nearest: takes the top left of two by two pixels, of any type, or of its mask.
#pragma once
#include "reduce/reduce_four.cuh"

template <u32 SIZE>
struct Whole {
  typedef u64 Word;
};
template <>
struct Whole<1> {
  typedef u8 Word;
};
template <>
struct Whole<2> {
  typedef u16 Word;
};
template <>
struct Whole<4> {
  typedef u32 Word;
};

// Rows loaded at a time.
const u32 NEAREST_AHEAD = 4;

// Copies this thread's samples of a tile; those of 16 bytes as two words.
template <u32 SIZE>
DEVICE void nearest_tile(const ReducePart& part, u8* dst, u32 tile, bool aligned) {
  typedef typename Whole<SIZE>::Word Word;
  const Spot spot = spot_of(part, tile);
  if (!spot.inside) return;
  const u32 words = SIZE == 16 ? 2 : 1, down = REDUCE_THREADS >> part.shift;
  const u32 rows = rows_of(part, spot);
  const u64 row_len = (u64)part.width * part.samples * SIZE, step = 2 * down * part.row_stride;
  const u8* at = pixel_row(part, (part.target_y + spot.row) * 2) + columns_of(part, spot).left;
  u8* to = dst + part.dst + ((u64)spot.group * part.height + spot.row) * row_len + (u64)spot.sample * SIZE;
  if (!aligned) {
#pragma unroll 1
    for (u32 i = 0; i < rows * SIZE; i++) {
      const u32 row = i / SIZE, byte = i % SIZE;
      to[row * (down * row_len) + byte] = at[row * step + byte];
    }
    return;
  }
#pragma unroll 1
  for (u32 first = 0; first < rows; first += NEAREST_AHEAD) {
    Word taken[NEAREST_AHEAD][words];
#pragma unroll
    for (u32 i = 0; i < NEAREST_AHEAD; i++) {
#pragma unroll
      for (u32 k = 0; k < words; k++) taken[i][k] = ((const Word*)at)[k];
      // Past the last row, the last one is loaded again.
      if (first + i + 1 < rows) at += step;
    }
#pragma unroll
    for (u32 i = 0; i < NEAREST_AHEAD; i++) {
      if (first + i >= rows) return;
#pragma unroll
      for (u32 k = 0; k < words; k++) ((Word*)to)[k] = taken[i][k];
      to += down * row_len;
    }
  }
}

DEVICE void nearest_mask(const ReducePart& part, u8* dst, u32 tile) {
  const Spot spot = spot_of(part, tile);
  if (!spot.inside) return;
  const u64 left = columns_of(part, spot).left;
  const u32 down = REDUCE_THREADS >> part.shift;
#pragma unroll 1
  for (u32 row = spot.row; row < min(part.height, spot.row + FOUR_ROWS * down); row += down) {
    const u8* at = pixel_row(part, (part.target_y + row) * 2) + left;
    dst[part.dst + (u64)row * part.width + spot.sample] = *at == 0 ? 0 : 255;
  }
}
