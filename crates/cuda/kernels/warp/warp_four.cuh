// Two by two samples whose type is known at compile time: like `value_of_four`, with 32-bit places and no sample loaded
// twice. For a place in the source, the first column and row are at most one before the source's first, so 32-bit
// differences that wrap are beyond any sheet.
#pragma once
#include "warp/warp_gather.cuh"
#include "warp/warp_store.cuh"

struct FourPlace {
  u32 column, row;  // the first of them in the sheet; may wrap
  u32 holder;       // which of the four contains the place
  u32 inside;       // bit i: sample i lies in the sheet
  Real u, v;
};

// Finds the four samples around a place; returns false if it is not in the source. The source has more than one column
// and row.
DEVICE bool four_around(const WarpWindow& window, Place at, FourPlace& four) {
  if (!(at.x.v >= 0 && at.x <= real_of(window.width) && at.y.v >= 0 && at.y <= real_of(window.height))) return false;
  i64 column, row;
  four.u = 1.5 - (at.x - floor_and_whole(at.x - 0.5, column));
  four.v = 1.5 - (at.y - floor_and_whole(at.y - 0.5, row));
  const u32 x = min((u32)whole_of(at.x + 1e-10), window.width - 1);
  const u32 y = min((u32)whole_of(at.y + 1e-10), window.height - 1);
  four.holder = (x - (u32)column & 1) | (y - (u32)row & 1) << 1;
  four.column = (u32)column - window.left, four.row = (u32)row - window.top;
  const u32 columns = window.right - window.left, rows = window.bottom - window.top;
  const u32 across = (four.column < columns ? 1u : 0u) | (four.column + 1 < columns ? 2u : 0u);
  four.inside = (four.row < rows ? across : 0u) | (four.row + 1 < rows ? across << 2 : 0u);
  return true;
}

DEVICE bool mask_counts(const WarpArgs& args, const u8* valid, u32 column, u32 row) {
  const u8* at = valid + row * args.valid_row + column * args.valid_column;
  u32 bits = 0;
#pragma unroll 1
  for (u32 i = 0; i < args.valid_size; i++) bits |= at[i];
  return bits != 0;
}

// The mean of the four in a band; false if the sample that contains the place is invalid.
DEVICE bool mean_in_band(const WarpArgs& args, const WarpWindow& window, const FourPlace& place, u32 band,
                         Number number, Real& value) {
  const u8* src = window.src + band * args.src_band;
  const Validity validity = {number, window.nodata[0], (window.flags & WARP_HAS_NODATA) != 0};
  Real four[4];
  bool counts[4];
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    const u32 column = place.column + (i & 1), row = place.row + (i >> 1);
    counts[i] = (place.inside >> i & 1) != 0;
    u64 bits = 0;
    if (counts[i]) bits = load_aligned(src + row * args.src_row + column * args.src_column, number.size);
    counts[i] = counts[i] && is_valid(validity, bits);
    if (window.valid != nullptr) counts[i] = counts[i] && mask_counts(args, window.valid, column, row);
    four[i] = real(to_double(number, bits));
  }
  const bool held = place.holder == 0 ? counts[0] : place.holder == 1 ? counts[1] : place.holder == 2 ? counts[2] : counts[3];
  return held && mean_of_four(four, counts, place.u, place.v, value);
}
