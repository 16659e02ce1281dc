// Bytes of a block as words at any position, and the number of equal bytes at two places. Reads up to 8 bytes beyond
// the compared ones.
#pragma once
#include "device.h"

constexpr u32 ALL_LANES = 0xFFFFFFFFu;

// The four bytes from position `p` on; `words` is position 0, aligned.
DEVICE u32 word_at(const u32* words, u32 p) {
  const u32* at = words + (p >> 2);
  return __funnelshift_r(at[0], at[1], (p & 3) * 8);
}

// The position of a lane, and the maximum length of a match there. The positions of a warp are consecutive and belong
// to one part.
struct Spot {
  const u32* words;
  u32 p, most, lane;
};

// Bytes that every lane compares by itself; at least the number of lanes of a warp, see `agreed_far`.
constexpr u32 NEAR = 32;

// The number of equal bytes from the spot and from `c` on, up to NEAR; reads up to NEAR + 8 bytes. Compares eight at a
// time: in most warps some lanes are comparing, and the instruction count dominates.
DEVICE u32 agreed_near(const Spot& spot, u32 c) {
  const u32* left = spot.words + (spot.p >> 2);
  const u32* right = spot.words + (c >> 2);
  const u32 left_shift = (spot.p & 3) * 8, right_shift = (c & 3) * 8;
  u32 left_0 = left[0], right_0 = right[0], n = 0;
#pragma unroll
  while (n < NEAR) {
    const u32 left_1 = left[1], left_2 = left[2], right_1 = right[1], right_2 = right[2];
    const u32 low =
        __funnelshift_r(left_0, left_1, left_shift) ^ __funnelshift_r(right_0, right_1, right_shift);
    const u32 high =
        __funnelshift_r(left_1, left_2, left_shift) ^ __funnelshift_r(right_1, right_2, right_shift);
    if ((low | high) != 0) {
      n += low != 0 ? (u32)(__ffs((int)low) - 1) / 8 : 4 + (u32)(__ffs((int)high) - 1) / 8;
      break;
    }
    n += 8;
    left += 2;
    right += 2;
    left_0 = left_2;
    right_0 = right_2;
  }
  return min(n, spot.most);
}

// The same beyond NEAR, for all lanes of a warp at once: `near` is the result of `agreed_near`. Lanes that continue
// with the same distance end at the same place, because each has seen as many equal bytes as the warp has lanes: so all
// lanes together compare for the last of them.
DEVICE u32 agreed_far(const Spot& spot, u32 c, u32 near) {
  const bool open = near == NEAR && near < spot.most;
  const u32 until = spot.p + spot.most, distance = spot.p - c;
  u32 waiting = __ballot_sync(ALL_LANES, open);
  u32 agreed = near;
#pragma unroll 1
  while (waiting != 0) {
    const u32 last = 31 - (u32)__clz((int)waiting);
    const u32 its_distance = __shfl_sync(ALL_LANES, distance, (int)last);
    const u32 its_until = __shfl_sync(ALL_LANES, until, (int)last);
    u32 end = __shfl_sync(ALL_LANES, spot.p, (int)last) + NEAR;
#pragma unroll 1
    while (end < its_until) {
      const u32 at = end + spot.lane * 4;
      const u32 differ =
          at < its_until ? word_at(spot.words, at) ^ word_at(spot.words, at - its_distance) : 0;
      const u32 hits = __ballot_sync(ALL_LANES, differ != 0);
      if (hits != 0) {
        const u32 first = (u32)__ffs((int)hits) - 1;
        end += first * 4 + (u32)(__ffs((int)__shfl_sync(ALL_LANES, differ, (int)first)) - 1) / 8;
        break;
      }
      end += 128;
    }
    const bool mine = open && distance == its_distance;
    if (mine) agreed = min(end - spot.p, spot.most);
    waiting &= ~__ballot_sync(ALL_LANES, mine);
  }
  return agreed;
}
