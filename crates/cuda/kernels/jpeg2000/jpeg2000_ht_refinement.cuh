// The passes after the cleanup pass (ISO 15444-15, 7.4 and 7.5), by one lane, on half units with their signs in bit 31:
// stripes of four rows, column by column. They share a segment: significance propagation reads it forwards, magnitude
// refinement backwards. Few encoders write them, so they are not optimised.
#pragma once
#include "jpeg2000/jpeg2000_ht_cleanup.cuh"

namespace jpeg2000_ht {

// Refines every nonzero coefficient by one bit.
DEVICE void refine_magnitudes(const Jpeg2000Block& block, const Jpeg2000Segment& segment, u32* values) {
  Backward bits = backward_refinement((const u8*)segment.words, segment.len);
  const u32 bit = 1u << (block.planes - 1), half = 1u << (block.planes - 2);
  for (u32 top = 0; top < block.height; top += 4) {
    for (u32 x = 0; x < block.width; ++x) {
      for (u32 y = top; y < min(top + 4, (u32)block.height); ++y) {
        u32& value = values[y * block.width + x];
        if (value == 0) continue;
        const bool keep = (peek(bits) & 1) != 0;
        skip(bits, 1);
        value = (value ^ (keep ? 0 : bit)) | half;
      }
    }
  }
}

// Returns whether a coefficient is 0 and has a nonzero neighbour; `bottom` is the row after the last that counts.
DEVICE bool may_become(const u32* values, u32 width, u32 bottom, u32 x, u32 y) {
  if (values[y * width + x] != 0) return false;
  for (u32 row = y - min(y, 1u); row < min(y + 2, bottom); ++row) {
    for (u32 column = x - min(x, 1u); column < min(x + 2, width); ++column) {
      if (values[row * width + column] != 0) return true;
    }
  }
  return false;
}

DEVICE void propagate_significance(const Jpeg2000Block& block, const Jpeg2000Segment& segment, u32* values) {
  Forward bits = forward((const u32*)segment.words, segment.len, 0);
  const u32 width = block.width, height = block.height, value = 3u << (block.planes - 2);
  for (u32 top = 0; top < height; top += 4) {
    const u32 bottom = min(top + 4, height);
    const u32 counts_to = (block.flags & JPEG2000_CAUSAL) != 0 ? bottom : height;
    for (u32 left = 0; left < width; left += 4) {
      const u32 right = min(left + 4, width);
      u32 found = 0;
      for (u32 x = left; x < right; ++x) {
        for (u32 y = top; y < bottom; ++y) {
          if (!may_become(values, width, counts_to, x, y)) continue;
          const u32 becomes = peek(bits) & 1;
          skip(bits, 1);
          if (becomes == 0) continue;
          values[y * width + x] = value;
          found |= 1u << (4 * (x - left) + (y - top));
        }
      }
      // Signs follow after every four columns.
      for (; found != 0; found &= found - 1) {
        const u32 place = (u32)__ffs((i32)found) - 1;
        values[(top + place % 4) * width + left + place / 4] |= (peek(bits) & 1) << 31;
        skip(bits, 1);
      }
    }
  }
}

// Writes half units to their places in the plane.
DEVICE void place(const Jpeg2000Block& block, const u32* values) {
  for (u32 y = 0; y < block.height; ++y) {
    u32* const row = (u32*)block.out + (u64)y * block.stride;
    for (u32 x = 0; x < block.width; ++x) {
      const u32 value = values[y * block.width + x];
      row[x] = jpeg2000::coefficient(value & 0x7FFFFFFF, value >> 31 != 0, block);
    }
  }
}

}  // namespace jpeg2000_ht
