// Min, max, median and mode: selects one of the four samples by comparing keys, which are ordered like the numbers; a
// median of two or four is the mean of two. Among equal numbers (0 and -0) it matters which is taken.
#pragma once
#include "reduce/reduce_mean.cuh"

// A sample and its key.
template <class B>
struct Ranked {
  B key, bits;
};

template <class B>
DEVICE Ranked<B> ranked(Number number, B bits) {
  const B sign = (B)sign_bit(number);
  if (number.kind == KIND_UNSIGNED) return {bits, bits};
  if (number.kind == KIND_SIGNED) return {(B)(bits ^ sign), bits};
  if ((B)(bits & ~sign) == 0) return {sign, bits};
  return {(B)(bits & sign ? ~bits & (B)all_bits(number) : bits | sign), bits};
}

template <class B>
DEVICE Ranked<B> least(Ranked<B> a, Ranked<B> b) {
  return b.key < a.key ? b : a;
}

template <class B>
DEVICE Ranked<B> most(Ranked<B> a, Ranked<B> b) {
  return b.key > a.key ? b : a;
}

// The valid sample that has `middle` others before it in numeric order; the first of equals.
template <class B>
DEVICE B at_rank(const Ranked<B>* at, u32 valid, u32 middle) {
  B found = 0;
#pragma unroll
  for (u32 i = 4; i-- > 0;) {
    u32 below = 0, upto = 0;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
      below += valid >> k & 1 && at[k].key < at[i].key;
      upto += valid >> k & 1 && at[k].key <= at[i].key;
    }
    if (valid >> i & 1 && below <= middle && middle < upto) found = at[i].bits;
  }
  return found;
}

// The middle sample; of two or four the mean of the two middle ones.
template <class B>
DEVICE B median_of(Number number, const Ranked<B>* at, u32 valid, u32 n) {
  const B low = at_rank(at, valid, (n - 1) / 2);
  if (n % 2 != 0) return low;
  const B middle[4] = {low, at_rank(at, valid, n / 2), 0, 0};
  if (number.kind != KIND_FLOAT) return (B)mean_of_integers(number, middle, 3, 2);
  double values[4] = {to_double(number, middle[0]), to_double(number, middle[1]), 0.0, 0.0};
  return (B)float_bits(number.size, mean_of_doubles(values, 2));
}

// The first sample to reach the largest count, in pixel order.
template <class B>
DEVICE B mode_of(const Ranked<B>* at, u32 valid, u32 n) {
  const B a = at[0].key, b = at[1].key, c = at[2].key, d = at[3].key;
  if (n == 4) {
    if (a == b || a == c || (b != c && a == d)) return at[0].bits;
    return b == c || b == d ? at[1].bits : c == d ? at[2].bits : at[0].bits;
  }
  B best = 0;
  u32 largest = 0;
#pragma unroll
  for (u32 i = 0; i < 4; i++) {
    u32 times = 0;
#pragma unroll
    for (u32 k = 0; k <= i; k++) times += valid >> k & 1 && at[k].key == at[i].key;
    if (valid >> i & 1 && times > largest) {
      best = at[i].bits;
      largest = times;
    }
  }
  return best;
}

template <class B>
DEVICE B rank_of(u32 method, const Validity& validity, const Four<B>& four) {
  const u32 valid = valid_of(validity, four), n = (u32)__popc(valid);
  if (n == 0) return (B)nothing(validity);
  Ranked<B> at[4];
#pragma unroll
  for (u32 i = 0; i < 4; i++) at[i] = ranked(validity.number, four.at[i]);
  B bits;
  if (method == REDUCE_MEDIAN) {
    bits = median_of(validity.number, at, valid, n);
  } else if (method == REDUCE_MODE) {
    bits = mode_of(at, valid, n);
  } else {
    const bool smallest = method == REDUCE_MIN;
    bool found = false;
    Ranked<B> best = at[0];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      if ((valid >> i & 1) == 0) continue;
      best = !found ? at[i] : smallest ? least(best, at[i]) : most(best, at[i]);
      found = true;
    }
    bits = best.bits;
  }
  return (B)settled(validity, bits);
}
