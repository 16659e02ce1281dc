// Writes values as samples of the output: counterpart of `warp/store.rs` of the CPU engine.
#pragma once
#include "place/place_convert.cuh"
#include "warp/warp_sheet.cuh"

// The nearest sample: integers round halves up and are clamped; there is only one NaN.
DEVICE u64 rounded(Number number, Real value) {
  if (number.kind == KIND_FLOAT) {
    if (value.v != value.v) return nan_bits(number.size);
    if (number.size == 2) return half_of_double(value.v);
    return number.size == 4 ? (u64)__float_as_uint((float)value.v) : (u64)__double_as_longlong(value.v);
  }
  const double whole = floor_of(value + 0.5).v;
  const double end = number.size == 8 ? 18446744073709551616.0 : (double)(1ull << (8 * number.size & 63));
  if (number.kind == KIND_UNSIGNED) {
    if (!(whole > 0)) return 0;
    return whole >= end ? all_bits(number) : (u64)whole;
  }
  if (whole != whole) return 0;
  if (whole >= 0.5 * end) return sign_bit(number) - 1;
  return whole <= -0.5 * end ? sign_bit(number) : (u64)(i64)whole & all_bits(number);
}

// Replacement for a value that is to be avoided.
DEVICE u64 avoided(Number number, u64 bits) {
  if (number.kind == KIND_FLOAT) return beside(number, bits);
  const u64 least = number.kind == KIND_SIGNED ? sign_bit(number) : 0;
  return (bits == least ? bits + 1 : bits - 1) & all_bits(number);
}

DEVICE void store_at(u8* at, u32 size, u64 bits, bool aligned) {
  if (aligned) {
    store_bits(at, size, bits);
    return;
  }
#pragma unroll 1
  for (u32 i = 0; i < size; i++) at[i] = (u8)(bits >> (8 * i));
}

// Converts a chosen sample of the source to one of the output.
DEVICE u64 taken(Number from, Number to, u64 bits) {
  if (from.kind == to.kind && from.size == to.size) return bits;
  // 64-bit integers are not exact in `double`: values that do not fit are clamped to the range.
  if (from.size == 8 && to.size == 8 && from.kind != KIND_FLOAT && to.kind != KIND_FLOAT)
    return bits >> 63 == 0 ? bits : to.kind == KIND_SIGNED ? ~0ull >> 1 : 0;
  return rounded(to, real(to_double(from, bits)));
}

DEVICE void put(const WarpWindow& window, Number to, u8* at, bool aligned, bool found, u64 bits) {
  if (found) {
    if ((window.flags & WARP_HAS_AVOID) != 0 && !is_nan(to, bits) && same_number(to, bits, window.avoid))
      bits = avoided(to, bits);
  } else if ((window.flags & WARP_KEEP) != 0) {
    return;
  } else {
    bits = window.fill[0];
  }
  store_at(at, to.size, bits, aligned);
}
