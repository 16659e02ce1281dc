// Converts samples of a tile to pixels of the block (spec.md): the codestream's colour transform, the level, the bits,
// subsampled chroma, and YCbCr of the container.
#pragma once
#include "jpeg2000/jpeg2000_abi.h"

namespace jpeg2000 {

// The row of a plane for row `y` of the reference grid.
DEVICE const u32* row_at(const Jpeg2000Plane& plane, u32 y) {
  if (plane.dy != 1) y /= plane.dy;
  return (const u32*)plane.plane + (u64)min(max(y, plane.y0) - plane.y0, plane.height - 1) * plane.width;
}

// The coefficient of a row for column `x` of the reference grid.
DEVICE u32 sample_at(const Jpeg2000Plane& plane, const u32* row, u32 x) {
  if (plane.dx != 1) x /= plane.dx;
  return row[min(max(x, plane.x0) - plane.x0, plane.width - 1)];
}

// The bits of a coefficient's sample.
DEVICE u32 level(u32 coefficient, const Jpeg2000Plane& plane) {
  const i32 half = 1 << (plane.bits - 1);
  i32 value;
  if (plane.reversible) {
    value = min(max((i32)coefficient, -half), half - 1);
  } else {
    // NaN becomes the minimum.
    const float bounded = min(max(__uint_as_float(coefficient), (float)-half), (float)(half - 1));
    value = min(__float2int_rn(bounded), half - 1);
  }
  return (u32)(plane.is_signed ? value : value + half);
}

// Inverts the codestream's transform of the first three components.
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

// Converts YCbCr samples to RGB.
DEVICE void to_rgb(u32 (&samples)[3], u32 bits) {
  const i32 half = 1 << (bits - 1);
  const float y = (float)samples[0], cb = (float)((i32)samples[1] - half), cr = (float)((i32)samples[2] - half);
  samples[0] = rounded(__fadd_rn(y, __fmul_rn(1.402f, cr)), bits);
  samples[1] = rounded(__fsub_rn(__fsub_rn(y, __fmul_rn(0.344136f, cb)), __fmul_rn(0.714136f, cr)), bits);
  samples[2] = rounded(__fadd_rn(y, __fmul_rn(1.772f, cb)), bits);
}

DEVICE void put(u64 dst, u32 bytes, u64 at, u32 value) {
  if (bytes == 1) {
    ((u8*)dst)[at] = (u8)value;
  } else {
    ((u16*)dst)[at] = (u16)value;
  }
}

// Columns of a tile's row that a lane places: every 32nd from `first` on, before `end`.
struct Columns {
  u32 first, end;
};

// Address of the samples of a row of the tile.
DEVICE u64 row_of(const Jpeg2000Tile& tile, u32 y) {
  return tile.dst + ((u64)(tile.top + y) * tile.row_pixels + tile.left) * tile.samples * tile.bytes;
}

// Places sample `index` of pixels on its own.
DEVICE void place_samples(const Jpeg2000Tile& tile, const Jpeg2000Plane& plane, u32 index, u32 y, Columns columns) {
  const u32* const from = row_at(plane, tile.y0 + y);
  const u64 to = row_of(tile, y);
  const u32 samples = tile.samples, bytes = tile.bytes, x0 = tile.x0;
  for (u32 x = columns.first; x < columns.end; x += 32) {
    put(to, bytes, (u64)x * samples + index, level(sample_at(plane, from, x0 + x), plane));
  }
}

// Places the first three samples together.
DEVICE void place_threes(const Jpeg2000Tile& tile, const Jpeg2000Plane (&planes)[3], u32 y, Columns columns) {
  const u32* const from[3] = {row_at(planes[0], tile.y0 + y), row_at(planes[1], tile.y0 + y),
                              row_at(planes[2], tile.y0 + y)};
  const u64 to = row_of(tile, y);
  for (u32 x = columns.first; x < columns.end; x += 32) {
    u32 values[3];
    for (u32 i = 0; i < 3; ++i) values[i] = sample_at(planes[i], from[i], tile.x0 + x);
    unmix(values, tile.colour);
    for (u32 i = 0; i < 3; ++i) values[i] = level(values[i], planes[i]);
    if (tile.ycbcr) to_rgb(values, planes[0].bits);
    for (u32 i = 0; i < 3; ++i) put(to, tile.bytes, (u64)x * tile.samples + i, values[i]);
  }
}

}  // namespace jpeg2000
