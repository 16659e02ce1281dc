// Walks a tile of a part of which every sample comes of the two by two pixels above it. A thread has one column of
// samples and several rows, all of whose loads are under way before the first is used.
#pragma once
#include "reduce_number.cuh"
#include "reduce_part.cuh"

// The rest of a row or column that an odd image lacks is a copy of the last.
struct Columns {
  u64 left, right;            // offsets of both pixels of the row, of this sample
  u64 mask_left, mask_right;
};

struct Spot {
  u32 sample;  // of the reduced row
  u32 row;     // the first one in the part
  u32 group;
  bool inside;
};

DEVICE Spot spot_of(const ReducePart& part, u32 tile) {
  const u32 across = part.width * part.samples, down = REDUCE_THREADS >> part.shift;
  const u32 rows = (part.height + down * FOUR_ROWS - 1) / (down * FOUR_ROWS);
  const u32 column = tile % part.tiles_across, rest = tile / part.tiles_across;
  Spot spot;
  spot.sample = (column << part.shift) + (threadIdx.x & ((1u << part.shift) - 1));
  spot.row = rest % rows * (down * FOUR_ROWS) + (threadIdx.x >> part.shift);
  spot.group = rest / rows;
  spot.inside = spot.sample < across && spot.row < part.height && spot.group < part.groups;
  return spot;
}

DEVICE Columns columns_of(const ReducePart& part, const Spot& spot) {
  const u32 pixel = part.samples == 1 ? spot.sample : spot.sample / part.samples;
  const u32 band = spot.sample - pixel * part.samples + spot.group;
  const u32 left = (part.target_x + pixel) * 2, right = min(left + 1, part.image_x - 1);
  const u64 first = band * part.band_stride;
  return {first + pixel_column(part, left), first + pixel_column(part, right), mask_column(part, left),
          mask_column(part, right)};
}

// Four samples of B, and a bit for each that the mask leaves.
template <class B>
struct Four {
  B at[4];
  u32 unmasked;
};

template <class B, bool MASKED, class Load>
DEVICE Four<B> load_four(const ReducePart& part, const Columns& columns, u32 row, const Load& load) {
  const u32 upper = (part.target_y + row) * 2, lower = min(upper + 1, part.image_y - 1);
  const u8 *top = pixel_row(part, upper), *bottom = pixel_row(part, lower);
  Four<B> four;
  four.at[0] = load(top + columns.left);
  four.at[1] = load(top + columns.right);
  four.at[2] = load(bottom + columns.left);
  four.at[3] = load(bottom + columns.right);
  four.unmasked = 15;
  if (MASKED && part.mask != 0) {
    const u8 *top = mask_row(part, upper), *bottom = mask_row(part, lower);
    four.unmasked = (top[columns.mask_left] != 0) | (u32)(top[columns.mask_right] != 0) << 1 |
                    (u32)(bottom[columns.mask_left] != 0) << 2 | (u32)(bottom[columns.mask_right] != 0) << 3;
  }
  return four;
}

// Computes this thread's samples of a tile, AHEAD of them at a time: `load` makes a B of an address, `store` writes to
// an address what comes of four and says whether all is well. Gives whether all was.
template <class B, u32 AHEAD, bool MASKED, class Load, class Store>
DEVICE bool each_four(const ReducePart& part, u8* dst, u32 size, u32 tile, const Load& load, const Store& store) {
  const Spot spot = spot_of(part, tile);
  if (!spot.inside) return true;
  const Columns columns = columns_of(part, spot);
  const u32 down = REDUCE_THREADS >> part.shift;
  const u64 row_len = (u64)part.width * part.samples * size;
  u8* to = dst + part.dst + ((u64)spot.group * part.height + spot.row) * row_len + (u64)spot.sample * size;
  bool well = true;
#pragma unroll 1
  for (u32 first = 0; first < FOUR_ROWS; first += AHEAD) {
    Four<B> fours[AHEAD];
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++) {
      const u32 row = min(spot.row + (first + i) * down, part.height - 1);
      fours[i] = load_four<B, MASKED>(part, columns, row, load);
    }
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++) {
      const u32 row = (first + i) * down;
      if (spot.row + row < part.height) well &= store(to + row * row_len, fours[i]);
    }
  }
  return well;
}
