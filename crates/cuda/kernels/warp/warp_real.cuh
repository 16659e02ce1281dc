// Numbers whose products and sums are rounded individually: nothing is fused, so the bits are the same on every
// processor.
#pragma once
#include "device.h"

struct Real {
  double v;
};

DEVICE Real real(double v) { return Real{v}; }

DEVICE Real operator+(Real a, Real b) { return real(__dadd_rn(a.v, b.v)); }
DEVICE Real operator-(Real a, Real b) { return real(__dadd_rn(a.v, -b.v)); }
DEVICE Real operator*(Real a, Real b) { return real(__dmul_rn(a.v, b.v)); }
DEVICE Real operator/(Real a, Real b) { return real(__ddiv_rn(a.v, b.v)); }
DEVICE bool operator<(Real a, Real b) { return a.v < b.v; }
DEVICE bool operator>(Real a, Real b) { return a.v > b.v; }
DEVICE bool operator<=(Real a, Real b) { return a.v <= b.v; }
DEVICE bool operator>=(Real a, Real b) { return a.v >= b.v; }

DEVICE Real size_of(Real a) { return real(a.v < 0 ? -a.v : a.v); }

// Rounds down; whole numbers, infinities and NaN are unchanged.
DEVICE Real floor_of(Real a) {
  if (!(size_of(a).v < 2251799813685248.0)) return a;
  const double cut = (double)(i64)a.v;
  return real(a.v < cut ? __dadd_rn(cut, -1.0) : cut);
}
DEVICE Real ceil_of(Real a) { return real(-floor_of(real(-a.v)).v); }

// Adding this, 1.5 * 2^52, to a number below 2^51 rounds it to a whole number, which is then in the low bits of the
// sum. Devices add several times as fast as they convert.
const double WARP_WHOLE = 6755399441055744.0;
const i64 WARP_WHOLE_BITS = 0x4338000000000000ll;

// Rounds down a number between -2^51 and 2^51; returns it as a real and as an integer.
DEVICE Real floor_and_whole(Real a, i64& whole) {
  const double sum = __dadd_rn(a.v, WARP_WHOLE), nearest = __dadd_rn(sum, -WARP_WHOLE);
  const bool above = nearest > a.v;
  whole = __double_as_longlong(sum) - WARP_WHOLE_BITS - (above ? 1 : 0);
  return real(above ? __dadd_rn(nearest, -1.0) : nearest);
}
DEVICE i64 whole_of(Real a) {
  i64 whole;
  floor_and_whole(a, whole);
  return whole;
}

// Converts a whole number without a conversion instruction: 2^52 with these low bits, minus 2^52.
DEVICE Real real_of(u32 whole) {
  return real(__dadd_rn(__longlong_as_double(0x4330000000000000ll | (i64)whole), -4503599627370496.0));
}

// With a constant.
DEVICE Real operator+(Real a, double b) { return a + real(b); }
DEVICE Real operator-(Real a, double b) { return a - real(b); }
DEVICE Real operator-(double a, Real b) { return real(a) - b; }
DEVICE Real operator*(Real a, double b) { return a * real(b); }
DEVICE Real operator*(double a, Real b) { return real(a) * b; }
DEVICE Real operator/(Real a, double b) { return a / real(b); }
