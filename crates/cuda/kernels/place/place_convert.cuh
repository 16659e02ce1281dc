// Converts a sample in memory to a float of the output: nodata to NaN, scaled, rounded. Every step is rounded
// separately and every NaN is that of `strile_engine::Convert`, which this matches bit for bit.
#pragma once
#include "place/place_abi.h"
#include "place/unpack.cuh"

// The numbers of a conversion, stored in `tables` as halves of 64 bits, the low one first.
struct Conversion {
  double scale;
  double offset;
  u64 nodata;  // integers: the value extended to 64 bits; floats: that of a double
};

DEVICE u64 two_words(const i32* words) { return (u64)(u32)words[1] << 32 | (u32)words[0]; }

DEVICE Conversion conversion_of(const PlaceLayout& layout, const i32* tables) {
  const i32* words = tables + layout.constants;
  return {__longlong_as_double((i64)two_words(words)), __longlong_as_double((i64)two_words(words + 2)),
          two_words(words + 4)};
}

// The value of a sample, given by the low bytes of `bits`, and whether it is nodata.
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

// The bits of the binary16 nearest to a number that is not NaN, ties to even: rounded once.
DEVICE u32 half_of_double(double value) {
  const u64 bits = (u64)__double_as_longlong(value), magnitude = bits & ~(1ull << 63);
  const u32 sign = (u32)(bits >> 48) & 0x8000u;
  if (magnitude >= 0x40EFFE0000000000ull) return sign | 0x7C00u;
  if (magnitude < 0x3F10000000000000ull) {
    // Subnormal: an integer multiple of 2^-24, rounded by the addition that shifts the rest out.
    const double shifted = __dadd_rn(__longlong_as_double((i64)magnitude), 268435456.0);
    return sign | (u32)((u64)__double_as_longlong(shifted) - 0x41B0000000000000ull);
  }
  const u64 rebased = magnitude - (1008ull << 52);
  return sign | (u32)((rebased + ((1ull << 41) - 1) + (magnitude >> 42 & 1)) >> 42);
}

// The bytes of the output sample.
DEVICE u64 converted(const PlaceLayout& layout, const Conversion& conversion, u64 bits) {
  bool masked;
  const double value = value_of(layout, conversion, bits, masked);
  const double scaled = __dadd_rn(__dmul_rn(value, conversion.scale), conversion.offset);
  const bool nan = masked || scaled != scaled;
  if (layout.size == 2) return nan ? 0x7E00u : half_of_double(scaled);
  if (layout.size == 4) return nan ? 0x7FC00000u : __float_as_uint((float)scaled);
  return nan ? 0x7FF8000000000000ull : (u64)__double_as_longlong(scaled);
}

// The same for samples of T bytes, at most 4, and an output of 32-bit floats, in few registers.
template <u32 T>
struct Floats {
  double scale;
  double offset;
  u32 nodata;  // as the sample extended to 32 bits, or as a float
  u32 number;
  bool masks;
  bool as_is;  // neither scaled nor offset: a number is rounded once, like a conversion through a double
};

template <u32 T>
DEVICE Floats<T> floats_of(const PlaceLayout& layout, const i32* tables) {
  const Conversion all = conversion_of(layout, tables);
  const bool as_is = all.scale == 1 && all.offset == 0 && __double_as_longlong(all.offset) != 0;
  const u32 nodata = layout.number == NUMBER_FLOAT
                         ? __float_as_uint((float)__longlong_as_double((i64)all.nodata))
                         : (u32)all.nodata;
  return {all.scale, all.offset, nodata, layout.number, (layout.flags & LAYOUT_NODATA) != 0, as_is};
}

template <u32 T>
DEVICE u32 to_float(const Floats<T>& floats, u32 bits) {
  const u32 unused = 32 - 8 * T;
  float number;
  double value;
  bool masked;
  if (floats.number == NUMBER_FLOAT) {
    number = T == 2 ? half_to_float((u16)bits) : __uint_as_float(bits);
    value = (double)number;
    const float nodata = __uint_as_float(floats.nodata);
    masked = number == nodata || (number != number && nodata != nodata);
  } else if (floats.number == NUMBER_SIGNED) {
    const i32 whole = (i32)(bits << unused) >> unused;
    number = (float)whole, value = (double)whole;
    masked = (u32)whole == floats.nodata;
  } else {
    const u32 whole = bits << unused >> unused;
    number = (float)whole, value = (double)whole;
    masked = whole == floats.nodata;
  }
  if (!floats.as_is) number = (float)__dadd_rn(__dmul_rn(value, floats.scale), floats.offset);
  return number != number || (masked && floats.masks) ? 0x7FC00000u : __float_as_uint(number);
}

template <u32 T>
DEVICE u32 number_at(const u8* run, u32 i) {
  return T == 1 ? run[i] : T == 2 ? ((const u16*)run)[i] : ((const u32*)run)[i];
}

// Converts `count` samples of T bytes from shared memory and writes them consecutively to `to`, at any alignment.
// Called by a whole warp, after a __syncwarp.
template <u32 T>
DEVICE void write_converted(u8* to, const u8* run, u32 count, const PlaceLayout& layout, const i32* tables,
                            u32 lane) {
  if (layout.size == 4 && misalignment(to, 4) == 0) {
    const Floats<T> floats = floats_of<T>(layout, tables);
#pragma unroll 2
    for (u32 i = lane; i < count; i += 32) ((u32*)to)[i] = to_float(floats, number_at<T>(run, i));
    return;
  }
  const Conversion conversion = conversion_of(layout, tables);
#pragma unroll 1
  for (u32 i = lane; i < count; i += 32) {
    const Sample sample = {converted(layout, conversion, number_at<T>(run, i)), 0};
    store_sample(to + i * layout.size, sample, layout.size);
  }
}
