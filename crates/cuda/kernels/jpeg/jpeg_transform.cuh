// Makes samples from coefficients: dequantises them and applies the inverse cosine transform of Loeffler, Ligtenberg
// and Moschytz with 13-bit constants, rounding bit for bit like libjpeg's accurate integer method ("islow").
//
// Eight threads per data unit: each takes a column, then a row. Sums wrap if corrupt data make them too large; results
// are clamped to 0 to 255.
#pragma once
#include "jpeg/jpeg_abi.h"
#include "lines.cuh"

namespace jpeg {

const u32 TRANSFORM_THREADS = 256;
const u32 TRANSFORM_WARPS = TRANSFORM_THREADS / 32;
// Words from one row of a data unit to the next, and from one unit to the next, chosen to avoid bank conflicts within a
// warp.
const u32 ROW_WORDS = 9, UNIT_WORDS = 72;

struct TransformShared {
  u32 words[TRANSFORM_WARPS][4 * UNIT_WORDS];
};

// One dimension of the transform; drops SHIFT bits with rounding.
template <u32 SHIFT>
DEVICE void inverse(u32 (&v)[8]) {
  const u32 half = 1u << (SHIFT - 1);
  u32 z1 = (v[2] + v[6]) * 4433u;
  u32 even2 = z1 - v[6] * 15137u, even3 = z1 + v[2] * 6270u;
  u32 even0 = ((v[0] + v[4]) << 13) + half, even1 = ((v[0] - v[4]) << 13) + half;
  u32 a0 = even0 + even3, a3 = even0 - even3, a1 = even1 + even2, a2 = even1 - even2;

  u32 z5 = (v[7] + v[3] + v[5] + v[1]) * 9633u;
  u32 y1 = (v[7] + v[1]) * 7373u, y2 = (v[5] + v[3]) * 20995u;
  u32 y3 = z5 - (v[7] + v[3]) * 16069u, y4 = z5 - (v[5] + v[1]) * 3196u;
  u32 b0 = v[7] * 2446u - y1 + y3, b1 = v[5] * 16819u - y2 + y4;
  u32 b2 = v[3] * 25172u - y2 + y3, b3 = v[1] * 12299u - y1 + y4;

  v[0] = (u32)((i32)(a0 + b3) >> SHIFT);
  v[7] = (u32)((i32)(a0 - b3) >> SHIFT);
  v[1] = (u32)((i32)(a1 + b2) >> SHIFT);
  v[6] = (u32)((i32)(a1 - b2) >> SHIFT);
  v[2] = (u32)((i32)(a2 + b1) >> SHIFT);
  v[5] = (u32)((i32)(a2 - b1) >> SHIFT);
  v[3] = (u32)((i32)(a3 + b0) >> SHIFT);
  v[4] = (u32)((i32)(a3 - b0) >> SHIFT);
}

// Number k of the eight 16-bit numbers in a line.
DEVICE i32 half_at(const Line& line, int k) { return (i32)(i16)(u16)(line.words[k / 2] >> (k % 2 * 16)); }

DEVICE u32 sample_of(u32 v) { return (u32)min(max((i32)v + 128, 0), 255); }

// Transforms four adjacent data units with one warp: those of `plane` from column 4 * `quad` and row `y` on.
DEVICE void transform_quad(u32* words, const JpegPlane& plane, u32 quad, u32 y) {
  const u32 lane = threadIdx.x & 31, part = lane & 7;
  const u32 x = quad * 4 + lane / 8;
  const bool inside = x < plane.blocks_across;
  const u32 column = inside ? x : plane.blocks_across - 1;
  const u32 mcu = y / plane.units_down * plane.mcus_across + column / plane.units_across;
  const u32 unit = mcu * plane.mcu_units + plane.first_unit + y % plane.units_down * plane.units_across +
                   column % plane.units_across;
  const Line stored = ((const Line*)plane.coefficients)[(u64)unit * (JPEG_UNIT_LEN / LINE) + part];
  const Line steps = ((const Line*)plane.quantisation)[part];
  u32 v[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) v[k] = (u32)half_at(stored, k) * (u32)(half_at(steps, k) & 0xFFFF);
  if (part == 0) v[0] = (u32)(i32)((const i16*)plane.dc)[unit] * (u32)(half_at(steps, 0) & 0xFFFF);
  inverse<11>(v);
  u32* mine = words + lane / 8 * UNIT_WORDS;
#pragma unroll
  for (int k = 0; k < 8; ++k) mine[k * ROW_WORDS + part] = v[k];
  __syncwarp();
#pragma unroll
  for (int k = 0; k < 8; ++k) v[k] = mine[part * ROW_WORDS + k];
  __syncwarp();
  inverse<18>(v);
  u32 low = 0, high = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    low |= sample_of(v[k]) << (8 * k);
    high |= sample_of(v[k + 4]) << (8 * k);
  }
  u64 stride = (u64)plane.blocks_across * 8;
  if (inside) *(uint2*)(plane.samples + ((u64)y * 8 + part) * stride + (u64)x * 8) = make_uint2(low, high);
}

// Transforms all data units that hold samples of a picture, with all CUDA blocks of a column of the grid.
DEVICE void transform_picture(TransformShared& shared, const JpegPicture& picture) {
  const u32 warp = threadIdx.x / 32;
  u32 first = blockIdx.y * TRANSFORM_WARPS + warp;
  for (u32 component = 0; component < picture.components; ++component) {
    const JpegPlane& plane = picture.planes[component];
    const u32 quads = (plane.blocks_across + 3) / 4, all = quads * plane.blocks_down;
    u32 number = first;
    for (; number < all; number += gridDim.y * TRANSFORM_WARPS) {
      transform_quad(shared.words[warp], plane, number % quads, number / quads);
    }
    first = number - all;
  }
}

}  // namespace jpeg
