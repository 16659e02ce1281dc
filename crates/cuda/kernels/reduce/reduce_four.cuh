// Walks a tile of a part in which every sample is made from two by two source pixels. A thread takes one column of
// samples and several rows, and issues all their loads before the first is used.
#pragma once
#include "reduce/reduce_number.cuh"
#include "reduce/reduce_part.cuh"

// In an odd image the missing row or column is a copy of the last.
struct Columns {
  u64 left, right;            // offsets of this sample in both pixels of the row
  u64 mask_left, mask_right;
};

struct Spot {
  u32 sample;  // in the reduced row
  u32 row;     // first row in the part
  u32 group;
  bool inside;
};

DEVICE Spot spot_of(const ReducePart& part, u32 tile) {
  const u32 across = part.width * part.samples;
  // Rows per tile, as a power of two, and tiles down the part.
  const u32 deep = FOUR_ROWS_LOG + REDUCE_THREADS_LOG - part.shift;
  const u32 rows = (part.height + (1u << deep) - 1) >> deep;
  const u32 rest = tile / part.tiles_across, column = tile - rest * part.tiles_across;
  Spot spot;
  spot.sample = (column << part.shift) + (threadIdx.x & ((1u << part.shift) - 1));
  spot.group = rest / rows;
  spot.row = ((rest - spot.group * rows) << deep) + (threadIdx.x >> part.shift);
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

// Four samples of B, and one bit for each that the mask keeps.
template <class B>
struct Four {
  B at[4];
  u32 unmasked;
};

// Reduced rows of this thread.
DEVICE u32 rows_of(const ReducePart& part, const Spot& spot) {
  const u32 shift = REDUCE_THREADS_LOG - part.shift;
  return min(FOUR_ROWS, (part.height - spot.row + (1u << shift) - 1) >> shift);
}

// Loads four samples; unaligned ones, which are rare, one after the other.
template <bool ANY, class B, class Loading>
DEVICE void load_four(const Loading& loading, const u8* top, const u8* bottom, const Columns& columns,
                      B* at) {
  if (!ANY || loading.aligned) {
    at[0] = loading.whole(top + columns.left);
    at[1] = loading.whole(top + columns.right);
    at[2] = loading.whole(bottom + columns.left);
    at[3] = loading.whole(bottom + columns.right);
  } else {
#pragma unroll 1
    for (u32 i = 0; i < 4; i++) {
      at[0] = at[1], at[1] = at[2], at[2] = at[3];
      at[3] = loading.by_bytes((i < 2 ? top : bottom) + (i % 2 == 0 ? columns.left : columns.right));
    }
  }
}

// How samples are loaded as a B: SIZE bytes each, or `size` if SIZE is 0.
template <class B, u32 SIZE>
struct Loading {
  bool aligned;
  u32 size;

  B whole(const u8* at) const { return (B)load_aligned(at, SIZE != 0 ? SIZE : size); }
  B by_bytes(const u8* at) const { return (B)load_by_bytes(at, SIZE != 0 ? SIZE : size); }
};

// Computes this thread's samples of a tile, AHEAD of them at a time: `store` writes the result of four samples to an
// address and returns whether it is valid. Returns whether all are. Masks and unaligned samples occur only with ANY.
template <class B, u32 AHEAD, bool ANY, class Loading, class Store>
DEVICE bool each_four(const ReducePart& part, u8* dst, u32 size, u32 tile, const Loading& loading,
                      const Store& store) {
  const Spot spot = spot_of(part, tile);
  if (!spot.inside) return true;
  const Columns columns = columns_of(part, spot);
  const u32 down = REDUCE_THREADS >> part.shift;
  const u64 row_len = (u64)part.width * part.samples * size;
  const u32 upper = (part.target_y + spot.row) * 2;
  const u8 *top = pixel_row(part, upper), *mask = mask_row(part, upper);
  u8* to = dst + part.dst + ((u64)spot.group * part.height + spot.row) * row_len + (u64)spot.sample * size;
  const u64 step = 2 * down * part.row_stride, mask_step = 2 * down * part.mask_row_stride;
  const u64 step_to = down * row_len;
  // Rows of this thread, and those whose lower source row is not a copy of the upper one.
  const u32 rows = rows_of(part, spot);
  const u32 whole = upper + 2 * down * (rows - 1) + 1 < part.image_y ? rows : rows - 1;
  bool well = true;
#pragma unroll 1
  for (u32 first = 0; first < rows; first += AHEAD) {
    Four<B> fours[AHEAD];
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++) {
      Four<B>& four = fours[i];
      const u8* bottom = top + (first + i < whole ? part.row_stride : 0);
      load_four<ANY>(loading, top, bottom, columns, four.at);
      four.unmasked = 15;
      if (ANY && part.mask != 0) {
        const u8* below = mask + (first + i < whole ? part.mask_row_stride : 0);
        four.unmasked = (mask[columns.mask_left] != 0) | (u32)(mask[columns.mask_right] != 0) << 1 |
                        (u32)(below[columns.mask_left] != 0) << 2 |
                        (u32)(below[columns.mask_right] != 0) << 3;
      }
      // Past the last row, the last one is loaded again.
      if (first + i + 1 < rows) {
        top += step;
        mask += mask_step;
      }
    }
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++) {
      if (first + i < rows) well &= store(to, fours[i]);
      to += step_to;
    }
  }
  return well;
}
