// Weights of kernels by the distance from the place: counterpart of `warp/weights.rs` of the CPU engine.
#pragma once
#include "warp/warp_abi.h"
#include "warp/warp_real.cuh"

// (-1)^n / (2n + 1)! for n from 10 down to 0.
CONSTANT double warp_sine[11] = {
    1.957294106339126e-20, -8.22063524662433e-18,  2.8114572543455206e-15, -7.647163731819816e-13,
    1.6059043836821613e-10, -2.505210838544172e-8, 2.7557319223985893e-6,  -1.984126984126984e-4,
    8.333333333333333e-3,  -0.16666666666666666,   1.0,
};

// sin(pi t) for t from 0 to 1.
DEVICE Real sine_of_pi(Real t) {
  const Real a = 3.141592653589793 * (t.v > 0.5 ? 1.0 - t : t);
  const Real square = a * a;
  Real sum = {warp_sine[0]};
#pragma unroll
  for (int i = 1; i < 11; i++) sum = sum * square + warp_sine[i];
  return a * sum;
}

DEVICE Real lanczos(Real x) {
  if (x.v == 0) return real(1);
  if (x.v >= 3) return real(0);
  const Real sine = sine_of_pi(x / 3.0);
  const Real square = sine * sine;
  return (3.0 - 4.0 * square) * square / (3.2898681336964526 * (x * x));
}

// The weight at a distance, in pixels of the kernel.
DEVICE Real kernel_weight(u32 method, Real distance) {
  const Real x = size_of(distance);
  if (method == WARP_LANCZOS) return lanczos(x);
  if (method == WARP_BILINEAR) return x.v <= 1 ? 1.0 - x : real(0);
  if (x.v > 2) return real(0);
  if (method == WARP_CUBIC) {
    const Real square = x * x;
    return x.v <= 1 ? square * (1.5 * x - 2.5) + 1.0 : square * (-0.5 * x + 2.5) - 4.0 * x + 2.0;
  }
  return x.v <= 1 ? x * x * (3.0 * x - 6.0) + 4.0 : (2.0 - x) * (2.0 - x) * (2.0 - x);
}

// Weights of four samples in a row for a place `x` of the way from the second to the third.
DEVICE void weights_of_four(Real x, Real (&weights)[4]) {
  const Real half = 0.5 * x, three = 3.0 * x, half_square = half * x;
  weights[0] = half * (real(-1) + x * (2.0 - x));
  weights[1] = real(1) + half_square * (real(-5) + three);
  weights[2] = half * (real(1) + x * (4.0 - three));
  weights[3] = half_square * (real(-1) + x);
}
