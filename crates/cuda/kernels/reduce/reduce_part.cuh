// Finds the part that a CUDA block works on, and the position of the tile in its image.
#pragma once
#include "reduce/reduce_abi.h"

// The part of this CUDA block's tile: the last that does not begin after it.
DEVICE ReducePart part_of_tile(const ReduceArgs& args, u32 tile) {
  u32 low = 0, high = args.count;
#pragma unroll 1
  while (high - low > 1) {
    const u32 middle = low + (high - low) / 2;
    if (args.parts[middle].first_tile <= tile) low = middle;
    else high = middle;
  }
  return args.parts[low];
}

// Addresses of pixels of the source image, by their column and row in it.
DEVICE const u8* pixel_row(const ReducePart& part, u32 row) {
  return (const u8*)(part.src + (u64)(row - part.origin_y) * part.row_stride);
}
DEVICE u64 pixel_column(const ReducePart& part, u32 column) {
  return (u64)(column - part.origin_x) * part.column_stride;
}
DEVICE const u8* mask_row(const ReducePart& part, u32 row) {
  return (const u8*)(part.mask + (u64)(row - part.origin_y) * part.mask_row_stride);
}
DEVICE u64 mask_column(const ReducePart& part, u32 column) {
  return (u64)(column - part.origin_x) * part.mask_column_stride;
}
