// One stream per lane, read from its end, with the bits that are needed next in shared memory.
//
// Lanes advance at their own pace, but the whole warp waits for every load from global memory. So a lane's bits come in
// pieces of 32 bytes: the piece being read and the one below it lie in shared memory, and the next is on its way in
// registers. All lanes check at the same time, after enough codes that the load has completed, whether they need it.
//
// Word k of the two pieces of lane i is word 32 k + i: no two lanes use the same bank.
#pragma once
#include "zstd/zstd_ring.cuh"

static const u32 ZSTD_LANE_WORDS = 16;  // per lane

struct ZstdLane {
  const u8* base;       // aligned to 16
  u32 last;             // from there to the last byte of the stream
  i32 piece;            // the upper piece in shared memory
  i32 bit;              // bits below it have not been read; counted from `base`
  SharedAddress words;  // the lane's first word
  ZstdQuad ahead[2];
};

DEVICE ZstdLane zstd_lane_of(const u8* src, u32 len, SharedAddress words) {
  const u32 lead = (u32)((u64)src & 15);
  return ZstdLane{src - lead, lead + len - 1, 0, 0, words, {}};
}

// Reads only the quads that hold a byte of the stream.
DEVICE void zstd_lane_load(ZstdLane& lane, i32 piece) {
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    const u32 at = (u32)piece * 32 + i * 16;
    lane.ahead[i] = ZstdQuad{{0, 0, 0, 0}};
    if (piece >= 0 && at <= lane.last) lane.ahead[i] = *(const ZstdQuad*)(lane.base + at);
  }
}

DEVICE void zstd_lane_put(const ZstdLane& lane, i32 piece) {
  const SharedAddress at = lane.words + (u32)(piece & 1) * (8 * 128);
#pragma unroll
  for (u32 i = 0; i < 8; ++i) shared_store(at + i * 128, lane.ahead[i / 4].words[i % 4]);
}

// Moves to `bit`.
DEVICE void zstd_lane_seek(ZstdLane& lane, i32 bit) {
  lane.bit = bit;
  lane.piece = bit >> 8;
  zstd_lane_load(lane, lane.piece);
  zstd_lane_put(lane, lane.piece);
  zstd_lane_load(lane, lane.piece - 1);
  zstd_lane_put(lane, lane.piece - 1);
  zstd_lane_load(lane, lane.piece - 2);
}

// Makes the 256 bits below `bit` available; at most that many may have been read since the last call.
DEVICE void zstd_lane_advance(ZstdLane& lane) {
  if (lane.bit >> 8 == lane.piece) return;
  --lane.piece;
  zstd_lane_put(lane, lane.piece - 1);
  zstd_lane_load(lane, lane.piece - 2);
}

// The next 32 bits.
DEVICE u32 zstd_lane_top(const ZstdLane& lane) {
  const u32 word = (u32)(lane.bit >> 5);
  const u32 low = shared_load(lane.words + ((word - 1) & 15) * 128);
  const u32 high = shared_load(lane.words + (word & 15) * 128);
  return __funnelshift_r(low, high, (u32)lane.bit);
}
