// The root mean square of four samples of any real type.
#pragma once
#include "reduce/reduce_mean.cuh"

// Of the two integers around the root, the one whose square is nearer to the mean of squares; the lower on ties.
DEVICE u64 rms_of_squares(u64 sum, u32 n) {
  const u64 root = (u64)__dsqrt_rn((double)(sum / n));
  return root + (2 * sum > n * (2 * root * root + 2 * root + 1));
}

DEVICE double absolute(double value) {
  return __longlong_as_double(__double_as_longlong(value) & 0x7FFFFFFFFFFFFFFFll);
}

// In f32, scaled by the largest of the first three.
DEVICE float rms_in_floats(const double* at) {
  float v[4];
#pragma unroll
  for (u32 i = 0; i < 4; i++) v[i] = (float)absolute(at[i]);
  const float scale = max(max(v[0], v[1]), v[2]);
  if (scale == 0) return __fmul_rn(v[3], 0.5f);
  const float inverse = __fdiv_rn(1.0f, scale);
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    v[i] = __fmul_rn(v[i], inverse);
    v[i] = __fmul_rn(v[i], v[i]);
  }
  const float sum = __fadd_rn(__fadd_rn(v[0], v[1]), __fadd_rn(v[2], v[3]));
  return __fmul_rn(scale, __fsqrt_rn(__fmul_rn(sum, 0.25f)));
}

DEVICE double sum_of_squares(const double* at) {
  return __dadd_rn(__dadd_rn(__dmul_rn(at[0], at[0]), __dmul_rn(at[1], at[1])),
                   __dadd_rn(__dmul_rn(at[2], at[2]), __dmul_rn(at[3], at[3])));
}

DEVICE double rms_in_doubles(double* at, u32 n) {
  const double sum = sum_of_squares(at);
  const u32 exponent = (u32)((u64)__double_as_longlong(sum) >> 52) & 0x7FFu;
  if (exponent != 0 && exponent != 0x7FFu) return __dsqrt_rn(over(sum, n));
  // Squares overflowed; those of values divided by the largest do not.
  double largest = 0;
#pragma unroll
  for (u32 i = 0; i < 4; i++) largest = max(largest, absolute(at[i]));
  if (largest == 0 || largest > 1.7976931348623157e308) return largest;
#pragma unroll
  for (u32 i = 0; i < 4; i++) at[i] = __ddiv_rn(at[i], largest);
  return __dmul_rn(largest, __dsqrt_rn(over(sum_of_squares(at), n)));
}

DEVICE u64 rms_of(const Validity& validity, bool plain, const Four<u64>& four) {
  const Number number = validity.number;
  u64 bits[4] = {four.at[0], four.at[1], four.at[2], four.at[3]};
  double at[4] = {0, 0, 0, 0};
  u64 squares = 0;
  u32 n = 0;
  // One copy of the code for all types, instead of four.
#pragma unroll 1
  for (u32 i = 0; i < 4; i++) {
    const bool valid = (four.unmasked >> i & 1) != 0 && is_valid(validity, bits[0]);
    at[0] = at[1], at[1] = at[2], at[2] = at[3];
    at[3] = valid ? to_double(number, bits[0]) : 0.0;
    squares += valid ? bits[0] * bits[0] : 0;
    n += valid;
    bits[0] = bits[1], bits[1] = bits[2], bits[2] = bits[3];
  }
  if (n == 0) return nothing(validity);
  const bool is_short = number.size <= 2;
  if (number.kind == KIND_UNSIGNED && is_short) return settled(validity, rms_of_squares(squares, n));
  double rms;
  if (number.kind == KIND_SIGNED && is_short && plain) {
    rms = (double)rms_in_floats(at);
  } else {
    rms = rms_in_doubles(at, n);
    if (number.kind == KIND_SIGNED && is_short) rms = (double)(float)rms;
  }
  return settled(validity, of_double(number, rms));
}
