// The states of the three tables over the sequences of a part, from the last to the first, by a warp: one
// lane a table, because a state follows from the one before. The other lanes find the codes, 32 sequences
// at a time.
#pragma once
#include "zstd_encode_codes.cuh"

struct ZstdWalk {
  u32 bits;                // written by all states
  u32 states, state_bits;  // at the end: of match, offset, literals, one above the other
};

DEVICE u32 zstd_codes_of(u64 sequence) {
  return zstd_literals_code(zstd_sequence_literals(sequence)) |
         zstd_log2(zstd_sequence_offset(sequence)) << 8 |
         zstd_match_code(zstd_sequence_length(sequence)) << 16;
}

// Fills `bits` of all `count` sequences, at least one. All lanes call it and have the result; those without a
// table follow the last one.
DEVICE ZstdWalk zstd_walk(const ZstdCoder* coders, const ZstdWork& work, u32 count, u32 lane) {
  const u32 table = min(lane, 2u), shift = 8 * table;
  const ZstdCoder& coder = coders[table];
  const u32 last = zstd_codes_of(work.sequences[count - 1]);
  u32 state = zstd_first_state(coder, last >> shift & 0xFF), bits = 0;
  if (lane < 3) work.bits[4 * (u64)(count - 1) + lane] = 0;
#pragma unroll 1
  for (u32 left = count - 1; left > 0; left -= min(left, 32u)) {
    const u32 codes = lane < left ? zstd_codes_of(work.sequences[left - 1 - lane]) : 0;
    const u32 steps = min(left, 32u);
    u16* out = work.bits + 4 * (u64)(left - 1) + lane;
#pragma unroll 8
    for (u32 k = 0; k < steps; ++k) {
      const u32 code = __shfl_sync(ZSTD_WARP, codes, (int)k) >> shift & 0xFF;
      const u32 written = zstd_next_state(coder, state, code);
      bits += written >> 9;
      if (lane < 3) *out = (u16)written;
      out -= 4;
    }
  }
  const u32 log = coder.log;
  state -= log != 0 ? 1u << log : 0;
  ZstdWalk walk;
  walk.bits = zstd_sum_of_warp(lane < 3 ? bits : 0);
  const u32 match_log = __shfl_sync(ZSTD_WARP, log, ZSTD_MATCHES);
  const u32 offset_log = __shfl_sync(ZSTD_WARP, log, ZSTD_OFFSETS);
  walk.states = __shfl_sync(ZSTD_WARP, state, ZSTD_MATCHES) |
                __shfl_sync(ZSTD_WARP, state, ZSTD_OFFSETS) << match_log |
                __shfl_sync(ZSTD_WARP, state, ZSTD_LENGTHS) << (match_log + offset_log);
  walk.state_bits = match_log + offset_log + __shfl_sync(ZSTD_WARP, log, ZSTD_LENGTHS);
  return walk;
}
