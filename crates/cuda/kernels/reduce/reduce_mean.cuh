// Averages of four samples, exact for integers, and of complex pairs.
#pragma once
#include "reduce/reduce_four.cuh"

// (|sum| + n / 2) / n for at most 66 bits, high:low, n from 1 to 4.
DEVICE u64 divided_wide(u64 high, u64 low, u32 n) {
  const u64 sum = low + n / 2;
  high += sum < low;
  if (n == 3) return high * 0x5555555555555555ull + sum / 3 + (sum % 3 + high) / 3;
  const u32 shift = n / 2;
  return shift == 0 ? sum : sum >> shift | high << (64 - shift);
}

// The exact mean of 8-byte integers.
DEVICE u64 mean_of_wide(Number number, const u64* at, u32 valid, u32 n) {
  u64 low = 0, high = 0;
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    const u64 value = valid >> i & 1 ? at[i] : 0;
    low += value;
    high += (low < value) + (number.kind == KIND_SIGNED && (i64)value < 0 ? ~0ull : 0);
  }
  const bool negative = (i64)high < 0;
  if (negative) {
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  const u64 mean = divided_wide(high, low, n);
  return negative ? ~mean + 1 : mean;
}

// The exact mean of integers with at most half the bits of W.
template <class W, class B>
DEVICE u64 mean_of_narrow(Number number, const B* at, u32 valid, u32 n) {
  W sum = 0;
#pragma unroll
  for (u32 i = 0; i < 4; i++) sum += valid >> i & 1 ? (W)extended(number, at[i]) : 0;
  W size = sum < 0 ? -sum : sum;
  size += n / 2;
  size = n == 4 ? size >> 2 : n == 3 ? size / 3 : size >> (n / 2);
  return (u64)(i64)(sum < 0 ? -size : size) & all_bits(number);
}

template <class B>
DEVICE u64 mean_of_integers(Number number, const B* at, u32 valid, u32 n) {
  if constexpr (sizeof(B) == 8) return mean_of_wide(number, at, valid, n);
  else if (number.size == 4) return mean_of_narrow<i64>(number, at, valid, n);
  else return mean_of_narrow<i32>(number, at, valid, n);
}

// value / n, n from 1 to 4; for powers of two, the product is rounded like the quotient.
DEVICE double over(double value, u32 n) {
  return n == 3 ? __ddiv_rn(value, 3.0) : __dmul_rn(value, n == 4 ? 0.25 : n == 2 ? 0.5 : 1.0);
}

// The mean of valid values in f64; others are 0.
DEVICE double mean_of_doubles(double* at, u32 n) {
  const double sum = __dadd_rn(__dadd_rn(at[0], at[1]), __dadd_rn(at[2], at[3]));
  const u64 infinity = 0x7FF0000000000000ull;
  if (((u64)__double_as_longlong(sum) & infinity) != infinity) return over(sum, n);
  // The sum overflowed; the mean does not.
#pragma unroll 1
  for (u32 i = 0; i < 4; i++) {
    const double first = at[0];
    at[0] = at[1], at[1] = at[2], at[2] = at[3], at[3] = over(first, n);
  }
  return __dadd_rn(__dadd_rn(at[0], at[1]), __dadd_rn(at[2], at[3]));
}

// Floats of a job in which all may be valid: computed in the type itself.
DEVICE u64 mean_of_quarters(Number number, const u64* at) {
  if (number.size == 8) {
    double q[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) q[i] = __dmul_rn(__longlong_as_double((i64)at[i]), 0.25);
    return float_bits(8, __dadd_rn(__dadd_rn(q[0], q[2]), __dadd_rn(q[1], q[3])));
  }
  float q[4];
#pragma unroll
  for (u32 i = 0; i < 4; i++) q[i] = __fmul_rn(as_float(number, at[i]), 0.25f);
  const float mean = __fadd_rn(__fadd_rn(q[0], q[2]), __fadd_rn(q[1], q[3]));
  if (mean != mean) return nan_bits(number.size);
  return number.size == 4 ? __float_as_uint(mean) : half_of(mean);
}

template <class B>
DEVICE u32 valid_of(const Validity& validity, const Four<B>& four) {
  u32 valid = four.unmasked;
  if (validity.has_nodata || validity.number.kind == KIND_FLOAT) {
#pragma unroll
    for (u32 i = 0; i < 4; i++) valid &= ~((u32)!is_valid(validity, four.at[i]) << i);
  }
  return valid;
}

// Valid samples as f64, others as 0.
template <class B>
DEVICE void doubles_of(Number number, const Four<B>& four, u32 valid, double* to) {
#pragma unroll
  for (u32 i = 0; i < 4; i++) to[i] = valid >> i & 1 ? to_double(number, four.at[i]) : 0.0;
}

// The mean if only NaN makes samples invalid, and whether it holds: otherwise they include NaN, or infinities of both
// signs.
template <class B>
DEVICE bool plain_mean_of(Number number, const Four<B>& four, u64& mean) {
  if (number.kind == KIND_FLOAT) {
    const u64 at[4] = {four.at[0], four.at[1], four.at[2], four.at[3]};
    mean = mean_of_quarters(number, at);
    return !is_nan(number, mean);
  }
  mean = mean_of_integers(number, four.at, 15, 4);
  return true;
}

template <class B>
DEVICE u64 mean_of(const Validity& validity, bool plain, const Four<B>& four) {
  const Number number = validity.number;
  const u32 valid = valid_of(validity, four), n = (u32)__popc(valid);
  if (n == 0) return nothing(validity);
  u64 mean;
  if (number.kind == KIND_FLOAT) {
    if (plain && n == 4) {
      plain_mean_of(number, four, mean);
      return mean;
    }
    double at[4];
    doubles_of(number, four, valid, at);
    mean = float_bits(number.size, mean_of_doubles(at, n));
  } else {
    mean = mean_of_integers(number, four.at, valid, n);
  }
  return settled(validity, mean);
}

// A complex sample of two numbers with the bits of F.
template <class F>
struct Pair {
  F re, im;
};

template <class F>
struct LoadingPairs {
  bool aligned;

  Pair<F> whole(const u8* at) const { return {((const F*)at)[0], ((const F*)at)[1]}; }
  Pair<F> by_bytes(const u8* at) const {
    return {(F)load_by_bytes(at, sizeof(F)), (F)load_by_bytes(at + sizeof(F), sizeof(F))};
  }
};

template <class F>
DEVICE Pair<F> mean_of_pairs(const ReducePart& part, const Four<Pair<F>>& four) {
  const Number number = {KIND_FLOAT, sizeof(F)};
  const bool has_nodata = (part.flags & REDUCE_HAS_NODATA) != 0;
  const Pair<F> nodata = {(F)part.nodata[0], (F)part.nodata[1]};
  const auto is_nodata = [&](const Pair<F>& pair) {
    return has_nodata && !is_nan(number, pair.re) && !is_nan(number, pair.im) &&
           same_number(number, pair.re, nodata.re) && same_number(number, pair.im, nodata.im);
  };
  u32 valid = four.unmasked;
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    const Pair<F>& pair = four.at[i];
    if (is_nan(number, pair.re) || is_nan(number, pair.im) || is_nodata(pair)) valid &= ~(1u << i);
  }
  const u32 n = (u32)__popc(valid);
  if (n == 0) return has_nodata ? nodata : Pair<F>{(F)void_bits(number), (F)void_bits(number)};
  double re[4], im[4];
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    re[i] = valid >> i & 1 ? to_double(number, four.at[i].re) : 0.0;
    im[i] = valid >> i & 1 ? to_double(number, four.at[i].im) : 0.0;
  }
  Pair<F> mean = {(F)float_bits(sizeof(F), mean_of_doubles(re, n)),
                  (F)float_bits(sizeof(F), mean_of_doubles(im, n))};
  if (is_nodata(mean)) mean.re = (F)beside(number, mean.re);
  return mean;
}
