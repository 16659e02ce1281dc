// Samples of any type as bits: validity, the value next to nodata, conversion to and from double. If the type is known
// at compile time, no code for other types remains.
#pragma once
#include "reduce/reduce_abi.h"

struct Number {
  u32 kind;
  u32 size;
};

DEVICE u64 sign_bit(Number number) { return 1ull << (8 * number.size - 1); }
DEVICE u64 all_bits(Number number) { return ~0ull >> (64 - 8 * number.size); }

DEVICE u64 infinity_bits(u32 size) {
  return size == 2 ? 0x7C00ull : size == 4 ? 0x7F800000ull : 0x7FF0000000000000ull;
}
DEVICE u64 nan_bits(u32 size) {
  return size == 2 ? 0x7E00ull : size == 4 ? 0x7FC00000ull : 0x7FF8000000000000ull;
}

// Value of a pixel without valid source samples if there is no nodata value.
DEVICE u64 void_bits(Number number) { return number.kind == KIND_FLOAT ? nan_bits(number.size) : 0; }

DEVICE bool is_nan(Number number, u64 bits) {
  return number.kind == KIND_FLOAT && (bits & ~sign_bit(number)) > infinity_bits(number.size);
}

// Returns whether two samples, of which none or both are NaN, are the same number.
DEVICE bool same_number(Number number, u64 a, u64 b) {
  return a == b || (number.kind == KIND_FLOAT && ((a | b) & ~sign_bit(number)) == 0);
}

// The next number upwards; for the last integer, the largest float and infinity, downwards.
DEVICE u64 beside(Number number, u64 bits) {
  const u64 sign = sign_bit(number);
  if (number.kind != KIND_FLOAT) {
    const u64 last = number.kind == KIND_SIGNED ? sign - 1 : all_bits(number);
    return (bits == last ? bits - 1 : bits + 1) & all_bits(number);
  }
  const u64 magnitude = bits & ~sign;
  if (magnitude == 0) return 1;
  return (bits & sign) != 0 || magnitude >= infinity_bits(number.size) - 1 ? bits - 1 : bits + 1;
}

DEVICE i64 extended(Number number, u64 bits) {
  const u64 sign = number.kind == KIND_SIGNED ? sign_bit(number) : 0;
  return (i64)((bits ^ sign) - sign);
}

DEVICE float as_float(Number number, u64 bits) {
  return number.size == 2 ? half_to_float((u16)bits) : __uint_as_float((u32)bits);
}

DEVICE double to_double(Number number, u64 bits) {
  if (number.kind == KIND_UNSIGNED) return number.size == 8 ? (double)bits : (double)(u32)bits;
  if (number.kind == KIND_SIGNED) {
    const i64 value = extended(number, bits);
    return number.size == 8 ? (double)value : (double)(i32)value;
  }
  return number.size == 8 ? __longlong_as_double((i64)bits) : (double)as_float(number, bits);
}

// Converts a float to the bits of the nearest binary16, ties to even.
DEVICE u32 half_of(float value) {
  const u32 bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7E00u;
  if (magnitude >= 0x477FF000u) return sign | 0x7C00u;
  if (magnitude < 0x38800000u) {
    // Subnormal: an integer multiple of 2^-24, rounded by the addition that shifts the rest out.
    const float shifted = __fadd_rn(__uint_as_float(magnitude), 0.5f);
    return sign | (__float_as_uint(shifted) - 0x3F000000u);
  }
  return sign | (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
}

// The bits of a float of the type; there is only one NaN.
DEVICE u64 float_bits(u32 size, double value) {
  if (value != value) return nan_bits(size);
  if (size == 8) return (u64)__double_as_longlong(value);
  const float narrow = (float)value;
  return size == 4 ? __float_as_uint(narrow) : half_of(narrow);
}

// The nearest number, for integers half away from zero, clamped to the range.
DEVICE u64 of_double(Number number, double value) {
  if (number.kind == KIND_FLOAT) return float_bits(number.size, value);
  const double end = 2.0 * (double)(1ull << (8 * number.size - 1));
  if (number.kind == KIND_UNSIGNED) {
    if (!(value > 0)) return 0;
    if (value >= end - 1) return all_bits(number);
    const u64 whole = (u64)value;
    return whole + (value - (double)whole >= 0.5);
  }
  if (!(value > -0.5 * end)) return sign_bit(number);
  if (value >= 0.5 * end - 1) return sign_bit(number) - 1;
  const i64 whole = (i64)value;
  const double rest = value - (double)whole;
  return (u64)(whole + (rest >= 0.5) - (rest <= -0.5)) & all_bits(number);
}

// Loads the bytes of a sample aligned to its size.
DEVICE u64 load_aligned(const u8* at, u32 size) {
  if (size == 1) return *at;
  if (size == 2) return *(const u16*)at;
  return size == 4 ? (u64)*(const u32*)at : *(const u64*)at;
}

// The same at any alignment.
DEVICE u64 load_by_bytes(const u8* at, u32 size) {
  u64 bits = 0;
#pragma unroll 1
  for (u32 i = 0; i < size; i++) bits |= (u64)at[i] << (8 * i);
  return bits;
}

DEVICE void store_bits(u8* at, u32 size, u64 bits) {
  if (size == 1) *at = (u8)bits;
  else if (size == 2) *(u16*)at = (u16)bits;
  else if (size == 4) *(u32*)at = (u32)bits;
  else *(u64*)at = bits;
}

// What makes samples invalid, and how results are adjusted.
struct Validity {
  Number number;
  u64 nodata;
  bool has_nodata;
};

DEVICE Validity validity_of(const ReducePart& part, Number number) {
  return {number, part.nodata[0], (part.flags & REDUCE_HAS_NODATA) != 0};
}

DEVICE bool is_valid(const Validity& validity, u64 bits) {
  return !is_nan(validity.number, bits) &&
         !(validity.has_nodata && same_number(validity.number, bits, validity.nodata));
}

DEVICE u64 nothing(const Validity& validity) {
  return validity.has_nodata ? validity.nodata : void_bits(validity.number);
}

// A result of valid samples, which must not equal nodata.
DEVICE u64 settled(const Validity& validity, u64 bits) {
  const bool by_accident = validity.has_nodata && !is_nan(validity.number, bits) &&
                           same_number(validity.number, bits, validity.nodata);
  return by_accident ? beside(validity.number, bits) : bits;
}
