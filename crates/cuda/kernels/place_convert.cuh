// A sample in memory to a float of the output: nodata to NaN, scaled, rounded. Every step is rounded by
// itself and every NaN is the one of `strile_engine::Convert`, whose arithmetic this is to the last bit.
#pragma once
#include "place_abi.h"

// The numbers of a conversion, as `tables` holds them: halves of 64 bits, the low one first.
struct Conversion {
  double scale;
  double offset;
  u64 nodata;  // of integers the value extended to 64 bits, of floats that of a double
};

DEVICE u64 two_words(const i32* words) { return (u64)(u32)words[1] << 32 | (u32)words[0]; }

DEVICE Conversion conversion_of(const PlaceLayout& layout, const i32* tables) {
  const i32* words = tables + layout.constants;
  return {__longlong_as_double((i64)two_words(words)), __longlong_as_double((i64)two_words(words + 2)),
          two_words(words + 4)};
}

// The value of a sample, of which the low bytes of `bits` count, and whether it is nodata.
DEVICE double value_of(const PlaceLayout& layout, const Conversion& conversion, u64 bits, bool& masked) {
  const u32 unused = 64 - 8 * layout.native;
  const bool masks = (layout.flags & LAYOUT_NODATA) != 0;
  if (layout.number == NUMBER_UNSIGNED) {
    const u64 value = bits << unused >> unused;
    masked = masks && value == conversion.nodata;
    return (double)value;
  }
  if (layout.number == NUMBER_SIGNED) {
    const i64 value = (i64)(bits << unused) >> unused;
    masked = masks && (u64)value == conversion.nodata;
    return (double)value;
  }
  const double value = layout.native == 2   ? (double)half_to_float((u16)bits)
                       : layout.native == 4 ? (double)__uint_as_float((u32)bits)
                                            : __longlong_as_double((i64)bits);
  const double nodata = __longlong_as_double((i64)conversion.nodata);
  masked = masks && (value == nodata || (value != value && nodata != nodata));
  return value;
}

// The bytes of the output's sample.
DEVICE u64 converted(const PlaceLayout& layout, const Conversion& conversion, u64 bits) {
  bool masked;
  const double value = value_of(layout, conversion, bits, masked);
  const double scaled = __dadd_rn(__dmul_rn(value, conversion.scale), conversion.offset);
  const bool nan = masked || scaled != scaled;
  if (layout.size == 4) return nan ? 0x7FC00000u : __float_as_uint((float)scaled);
  return nan ? 0x7FF8000000000000ull : (u64)__double_as_longlong(scaled);
}
