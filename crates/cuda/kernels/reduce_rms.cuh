// The root of the mean of squares of four samples of any real type.
#pragma once
#include "reduce_mean.cuh"

// Of the two integers around the root the one whose square is nearer to the mean of squares, the lower of equals.
DEVICE u64 rms_of_squares(u64 sum, u32 n) {
  const u64 root = (u64)__dsqrt_rn((double)(sum / n));
  return root + (2 * sum > n * (2 * root * root + 2 * root + 1));
}

// In f32, scaled by the largest of the first three.
DEVICE float rms_in_floats(const double* at) {
  float v[4];
#pragma unroll
  for (u32 i = 0; i < 4; i++) v[i] = (float)(at[i] < 0 ? -at[i] : at[i]);
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
  // Squares left the range: of values over the largest they do not.
  double largest = 0;
#pragma unroll
  for (u32 i = 0; i < 4; i++) largest = max(largest, at[i] < 0 ? -at[i] : at[i]);
  if (largest == 0 || largest > 1.7976931348623157e308) return largest;
#pragma unroll
  for (u32 i = 0; i < 4; i++) at[i] = __ddiv_rn(at[i], largest);
  return __dmul_rn(largest, __dsqrt_rn(over(sum_of_squares(at), n)));
}

DEVICE u64 rms_of(const Validity& validity, bool plain, const Four<u64>& four) {
  const Number number = validity.number;
  const u32 valid = valid_of(validity, four), n = (u32)__popc(valid);
  if (n == 0) return nothing(validity);
  if (number.kind == KIND_UNSIGNED && number.size <= 2) {
    u64 sum = 0;
#pragma unroll
    for (u32 i = 0; i < 4; i++) sum += valid >> i & 1 ? four.at[i] * four.at[i] : 0;
    return settled(validity, rms_of_squares(sum, n));
  }
  double at[4];
  doubles_of(number, four, valid, at);
  double rms;
  if (number.kind == KIND_SIGNED && number.size <= 2) {
    rms = (double)(plain ? rms_in_floats(at) : (float)rms_in_doubles(at, n));
  } else {
    rms = rms_in_doubles(at, n);
  }
  return settled(validity, of_double(number, rms));
}
