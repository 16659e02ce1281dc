// Nearest: of two by two pixels the one at the top left, whatever its type, and its mask.
#pragma once
#include "reduce_four.cuh"

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

// Copies this thread's samples of a tile, of 16 bytes by two words.
template <u32 SIZE>
DEVICE void nearest_samples(const ReducePart& part, u8* dst, const Spot& spot) {
  typedef typename Whole<SIZE>::Word Word;
  const u32 words = SIZE == 16 ? 2 : 1, down = REDUCE_THREADS >> part.shift;
  const u64 left = columns_of(part, spot).left, row_len = (u64)part.width * part.samples * SIZE;
  const bool aligned = (part.flags & REDUCE_UNALIGNED) == 0;
  u8* to = dst + part.dst + ((u64)spot.group * part.height + spot.row) * row_len + (u64)spot.sample * SIZE;
  Word taken[FOUR_ROWS][words];
#pragma unroll
  for (u32 i = 0; i < FOUR_ROWS; i++) {
    const u32 row = min(spot.row + i * down, part.height - 1);
    const u8* at = pixel_row(part, (part.target_y + row) * 2) + left;
#pragma unroll
    for (u32 k = 0; k < words; k++) taken[i][k] = (Word)load_bits(at + 8 * k, sizeof(Word), aligned);
  }
#pragma unroll
  for (u32 i = 0; i < FOUR_ROWS; i++) {
    if (spot.row + i * down >= part.height) break;
#pragma unroll
    for (u32 k = 0; k < words; k++) ((Word*)(to + i * down * row_len))[k] = taken[i][k];
  }
}

template <u32 SIZE>
DEVICE void nearest_tile(const ReducePart& part, u8* dst, u32 tile) {
  const Spot spot = spot_of(part, tile);
  if (!spot.inside) return;
  if ((part.flags & REDUCE_IS_MASK) == 0) return nearest_samples<SIZE>(part, dst, spot);
  const u64 left = columns_of(part, spot).left;
  const u32 down = REDUCE_THREADS >> part.shift;
#pragma unroll 1
  for (u32 row = spot.row; row < min(part.height, spot.row + FOUR_ROWS * down); row += down) {
    const u8* at = pixel_row(part, (part.target_y + row) * 2) + left;
    dst[part.dst + (u64)row * part.width + spot.sample] = *at == 0 ? 0 : 255;
  }
}
