// One band of the part of a source that a window is made from. Columns and rows are those of the source.
#pragma once
#include "reduce/reduce_number.cuh"
#include "warp/warp_place.cuh"

struct Sheet {
  const u8* src;
  const u8* valid;  // or null
  u64 row, column, valid_row, valid_column;
  i64 left, top, right, bottom;
  i64 width, height;  // of the source
  u32 valid_size;
  bool aligned;
  Validity validity;
};

DEVICE Sheet sheet_of(const WarpArgs& args, const WarpWindow& window, u32 band, Number number, bool aligned) {
  Sheet sheet;
  sheet.src = window.src + band * args.src_band;
  sheet.valid = window.valid;
  sheet.row = args.src_row, sheet.column = args.src_column;
  sheet.valid_row = args.valid_row, sheet.valid_column = args.valid_column;
  sheet.left = window.left, sheet.top = window.top, sheet.right = window.right, sheet.bottom = window.bottom;
  sheet.width = window.width, sheet.height = window.height;
  sheet.valid_size = args.valid_size;
  sheet.aligned = aligned;
  sheet.validity = {number, window.nodata[0], (window.flags & WARP_HAS_NODATA) != 0};
  return sheet;
}

DEVICE bool has(const Sheet& sheet, i64 x, i64 y) {
  return x >= sheet.left && x < sheet.right && y >= sheet.top && y < sheet.bottom;
}

// The bits of the sample at a column and row inside the sheet.
DEVICE u64 load_at(const Sheet& sheet, i64 x, i64 y) {
  const u8* at = sheet.src + (u64)(y - sheet.top) * sheet.row + (u64)(x - sheet.left) * sheet.column;
  const u32 size = sheet.validity.number.size;
  return sheet.aligned ? load_aligned(at, size) : load_by_bytes(at, size);
}

DEVICE bool mask_has(const Sheet& sheet, i64 x, i64 y) {
  if (sheet.valid == nullptr) return true;
  const u8* at = sheet.valid + (u64)(y - sheet.top) * sheet.valid_row + (u64)(x - sheet.left) * sheet.valid_column;
  u32 bits = 0;
#pragma unroll 1
  for (u32 i = 0; i < sheet.valid_size; i++) bits |= at[i];
  return bits != 0;
}

// The bits of a sample, and whether it is valid.
DEVICE bool sample_at(const Sheet& sheet, i64 x, i64 y, u64& bits) {
  bits = 0;
  if (!has(sheet, x, y) || !mask_has(sheet, x, y)) return false;
  bits = load_at(sheet, x, y);
  return is_valid(sheet.validity, bits);
}

DEVICE Real number_of(const Sheet& sheet, u64 bits) { return real(to_double(sheet.validity.number, bits)); }

// The same as a number.
DEVICE bool number_at(const Sheet& sheet, i64 x, i64 y, Real& number) {
  u64 bits;
  const bool counts = sample_at(sheet, x, y, bits);
  number = number_of(sheet, bits);
  return counts;
}

// The same for samples of any type, as a function that is not inlined: copies of it would make compilation take
// minutes.
NOINLINE bool any_number_at(const Sheet& sheet, i64 x, i64 y, Real& number) { return number_at(sheet, x, y, number); }

// Either of them.
template <bool ANY>
DEVICE bool number_in(const Sheet& sheet, i64 x, i64 y, Real& number) {
  return ANY ? any_number_at(sheet, x, y, number) : number_at(sheet, x, y, number);
}

DEVICE i64 index_of(Real place, i64 side) {
  const i64 at = whole_of(place + 1e-10);
  return at >= side ? side - 1 : at;
}

// The source pixel that contains a place.
DEVICE bool pixel_of(const Sheet& sheet, Place at, i64& x, i64& y) {
  const Real width = real_of((u32)sheet.width), height = real_of((u32)sheet.height);
  if (!(at.x.v >= 0 && at.x <= width && at.y.v >= 0 && at.y <= height)) return false;
  x = index_of(at.x, sheet.width), y = index_of(at.y, sheet.height);
  return true;
}
