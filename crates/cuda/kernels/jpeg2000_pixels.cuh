// Samples of a tile to the pixels of the block (spec.md): the codestream's colour transform, the level, the bits, chroma
// that has fewer samples than the picture has pixels, and YCbCr of the container.
#pragma once
#include "jpeg2000_abi.h"

namespace jpeg2000 {

// The coefficient of a plane that pixel (x, y) of the reference grid has.
DEVICE u32 sample_at(const Jpeg2000Plane& plane, u32 x, u32 y) {
  if (plane.dx != 1) x /= plane.dx;
  if (plane.dy != 1) y /= plane.dy;
  const u32 column = min(max(x, plane.x0) - plane.x0, plane.width - 1);
  const u32 row = min(max(y, plane.y0) - plane.y0, plane.height - 1);
  return ((const u32*)plane.plane)[(u64)row * plane.width + column];
}

// The sample of a coefficient, as its bits.
DEVICE u32 level(u32 coefficient, const Jpeg2000Plane& plane) {
  const i32 half = 1 << (plane.bits - 1);
  i32 value;
  if (plane.reversible) {
    value = min(max((i32)coefficient, -half), half - 1);
  } else {
    // What is not a number becomes the least.
    const float bounded = min(max(__uint_as_float(coefficient), (float)-half), (float)(half - 1));
    value = min(__float2int_rn(bounded), half - 1);
  }
  return (u32)(plane.is_signed ? value : value + half);
}

// Back from what the codestream did to the first three components.
DEVICE void unmix(u32 (&c)[3], u32 colour) {
  if (colour == JPEG2000_RCT) {
    const u32 green = c[0] - (u32)((i32)(c[1] + c[2]) >> 2);
    const u32 blue = c[1] + green;
    c[0] = c[2] + green;
    c[1] = green;
    c[2] = blue;
  } else if (colour == JPEG2000_ICT) {
    const float y = __uint_as_float(c[0]), cb = __uint_as_float(c[1]), cr = __uint_as_float(c[2]);
    c[0] = __float_as_uint(__fadd_rn(y, __fmul_rn(1.402f, cr)));
    c[1] = __float_as_uint(__fsub_rn(__fsub_rn(y, __fmul_rn(0.344136f, cb)), __fmul_rn(0.714136f, cr)));
    c[2] = __float_as_uint(__fadd_rn(y, __fmul_rn(1.772f, cb)));
  }
}

DEVICE u32 rounded(float value, u32 bits) {
  return (u32)__float2int_rn(min(max(value, 0.0f), (float)((1u << bits) - 1)));
}

// Samples of YCbCr to those of RGB.
DEVICE void to_rgb(u32 (&samples)[3], u32 bits) {
  const i32 half = 1 << (bits - 1);
  const float y = (float)samples[0], cb = (float)((i32)samples[1] - half), cr = (float)((i32)samples[2] - half);
  samples[0] = rounded(__fadd_rn(y, __fmul_rn(1.402f, cr)), bits);
  samples[1] = rounded(__fsub_rn(__fsub_rn(y, __fmul_rn(0.344136f, cb)), __fmul_rn(0.714136f, cr)), bits);
  samples[2] = rounded(__fadd_rn(y, __fmul_rn(1.772f, cb)), bits);
}

DEVICE void put(const Jpeg2000Tile& tile, u64 at, u32 value) {
  if (tile.bytes == 1) {
    ((u8*)tile.dst)[at] = (u8)value;
  } else {
    ((u16*)tile.dst)[at] = (u16)value;
  }
}

// Where the samples of pixel (x, y) of the tile begin.
DEVICE u64 place_of(const Jpeg2000Tile& tile, u32 x, u32 y) {
  return ((u64)(tile.top + y) * tile.row_pixels + tile.left + x) * tile.samples;
}

// Sample `index` of a pixel, by itself.
DEVICE void place_sample(const Jpeg2000Tile& tile, const Jpeg2000Plane& plane, u32 index, u32 x, u32 y) {
  put(tile, place_of(tile, x, y) + index, level(sample_at(plane, tile.x0 + x, tile.y0 + y), plane));
}

// The first three, which belong together.
DEVICE void place_three(const Jpeg2000Tile& tile, const Jpeg2000Plane (&planes)[3], u32 x, u32 y) {
  const u64 to = place_of(tile, x, y);
  u32 values[3];
  for (u32 i = 0; i < 3; ++i) values[i] = sample_at(planes[i], tile.x0 + x, tile.y0 + y);
  unmix(values, tile.colour);
  for (u32 i = 0; i < 3; ++i) values[i] = level(values[i], planes[i]);
  if (tile.ycbcr) to_rgb(values, planes[0].bits);
  for (u32 i = 0; i < 3; ++i) put(tile, to + i, values[i]);
}

}  // namespace jpeg2000
