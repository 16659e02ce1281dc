// Converts the bit planes of a code-block to its coefficients in the plane: half units (spec.md), halved for integers,
// scaled for floats. A thread takes a column of a stripe.
#pragma once
#include "jpeg2000/jpeg2000_groups.cuh"

namespace jpeg2000 {

DEVICE u32 coefficient(u32 half, bool negative, const Jpeg2000Block& block) {
  if ((block.flags & JPEG2000_REVERSIBLE) != 0) return negative ? 0 - half / 2 : half / 2;
  const float value = __fmul_rn((float)half, block.scale);
  return __float_as_uint(negative ? -value : value);
}

DEVICE void place_column(const Jpeg2000Block& block, const Grid& grid, const Kept& kept, u32 stripe, u32 x) {
  const u32 index = stripe * grid.stride + x / 8, shift = x % 8 * 4;
  // The lowest plane reached, and whether only some of its coefficients were.
  const u32 last = block.planes - 1u - (block.passes + 1u) / 3;
  const bool partly = (block.passes + 1u) % 3 == 0;
  u32 bits[4] = {};
  for (u32 plane = block.planes; plane-- > last;) {
    const u32 word = kept.planes[plane * kept.plane_len + index] >> shift;
    for (u32 y = 0; y < 4; ++y) bits[y] = bits[y] << 1 | (word >> y & 1);
  }
  const u32 negative = (u32)(kept.signs[index].negative >> (6 * (x % 8) + 8));
  const u32 visited = partly ? kept.groups[index].visited >> shift : ~0u;
  u32* out = (u32*)block.out + (u64)(4 * stripe) * block.stride + x;
  const u32 rows = min(block.height - 4 * stripe, 4u);
  for (u32 y = 0; y < rows; ++y, out += block.stride) {
    const u32 half = bits[y] == 0 ? 0 : bits[y] << (last + 1) | 1u << (last + 1 - (visited >> y & 1));
    *out = coefficient(half, (negative >> y & 1) != 0, block);
  }
}

}  // namespace jpeg2000
