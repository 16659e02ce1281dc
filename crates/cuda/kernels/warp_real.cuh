// Numbers whose products and sums are rounded one by one: nothing is fused, so every processor has the same bits.
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

// Rounded down; a number that is whole, infinite or none as it is.
DEVICE Real floor_of(Real a) {
  if (!(size_of(a).v < 2251799813685248.0)) return a;
  const double cut = (double)(i64)a.v;
  return real(a.v < cut ? __dadd_rn(cut, -1.0) : cut);
}
DEVICE Real ceil_of(Real a) { return real(-floor_of(real(-a.v)).v); }

// The same as a whole number, of one between -2^51 and 2^51.
DEVICE i64 whole_of(Real a) {
  const i64 cut = (i64)a.v;
  return cut - (a.v < (double)cut ? 1 : 0);
}

// With a constant.
DEVICE Real operator+(Real a, double b) { return a + real(b); }
DEVICE Real operator-(Real a, double b) { return a - real(b); }
DEVICE Real operator-(double a, Real b) { return real(a) - b; }
DEVICE Real operator*(Real a, double b) { return a * real(b); }
DEVICE Real operator*(double a, Real b) { return real(a) * b; }
DEVICE Real operator/(Real a, double b) { return a / real(b); }
