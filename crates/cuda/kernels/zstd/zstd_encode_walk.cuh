// Walks the states of the three tables over the sequences of a part, from the last to the first, with a warp: one lane
// per table, because each state depends on the previous one. All lanes look up the codes, 32 sequences at a time.
#pragma once
#include "zstd/zstd_encode_codes.cuh"

struct ZstdWalk {
  u32 states, state_bits;  // final states: of match, offset, literals, packed one above the other
};

// Input of the steps of 32 sequences, per table: `bits` of the symbol and, above, 2 * `at`.
struct ZstdSteps {
  u64 steps[3][32];
};

DEVICE u32 zstd_codes_of(u64 sequence) {
  return zstd_literals_code(zstd_sequence_literals(sequence)) |
         zstd_log2(zstd_sequence_offset(sequence)) << 8 |
         zstd_match_code(zstd_sequence_length(sequence)) << 16;
}

// One step of a table; returns what it writes.
DEVICE u32 zstd_walk_step(const u16* states, u32& state, u64 step) {
  const u32 count = (state + (u32)step) >> 16, written = zstd_written(state, count);
  state = *(const u16*)((const u8*)states + (i32)(step >> 32) + 2 * (state >> count));
  return written;
}

// Fills `bits` of all `count` sequences, at least one. Called by all lanes, which return the same result; lanes without
// a table follow the last one.
DEVICE ZstdWalk zstd_walk(ZstdSteps& shared, const ZstdCoder* coders, const ZstdWork& work, u32 count,
                          u32 lane) {
  const u32 table = min(lane, 2u);
  const ZstdCoder& coder = coders[table];
  const u32 last = zstd_codes_of(work.sequences[count - 1]);
  u32 state = zstd_first_state(coder, last >> 8 * table & 0xFF);
  if (lane < 3) work.bits[4 * (u64)(count - 1) + lane] = 0;
  const u64* steps = shared.steps[table];
#pragma unroll 1
  for (u32 left = count - 1; left > 0; left -= min(left, 32u)) {
    if (lane < left) {
      const u32 codes = zstd_codes_of(work.sequences[left - 1 - lane]);
#pragma unroll
      for (u32 t = 0; t < 3; ++t) {
        const u32 step = coders[t].steps[codes >> 8 * t & 0xFF];
        shared.steps[t][lane] = (u64)(2 * zstd_place(step, 0)) << 32 | zstd_step_bits(step);
      }
    }
    __syncwarp();
    u16* out = work.bits + 4 * (u64)(left - 1) + lane;
    if (left >= 32) {
#pragma unroll
      for (u32 k = 0; k < 32; ++k) {
        const u32 written = zstd_walk_step(coder.states, state, steps[k]);
        if (lane < 3) out[-4 * (i32)k] = (u16)written;
      }
    } else {
#pragma unroll 1
      for (u32 k = 0; k < left; ++k) {
        const u32 written = zstd_walk_step(coder.states, state, steps[k]);
        if (lane < 3) out[-4 * (i32)k] = (u16)written;
      }
    }
    __syncwarp();
  }
  const u32 log = coder.log;
  state -= log != 0 ? 1u << log : 0;
  ZstdWalk walk;
  const u32 match_log = __shfl_sync(ZSTD_WARP, log, ZSTD_MATCHES);
  const u32 offset_log = __shfl_sync(ZSTD_WARP, log, ZSTD_OFFSETS);
  walk.states = __shfl_sync(ZSTD_WARP, state, ZSTD_MATCHES) |
                __shfl_sync(ZSTD_WARP, state, ZSTD_OFFSETS) << match_log |
                __shfl_sync(ZSTD_WARP, state, ZSTD_LENGTHS) << (match_log + offset_log);
  walk.state_bits = match_log + offset_log + __shfl_sync(ZSTD_WARP, log, ZSTD_LENGTHS);
  return walk;
}

// The bits that the states write for the sequences of this thread.
DEVICE u32 zstd_walked_bits(const ZstdWork& work, u32 count) {
  u32 bits = 0;
  for (u32 i = threadIdx.x; i < count; i += ZSTD_THREADS) {
    const u64 written = *(const u64*)(work.bits + 4 * (u64)i);
    bits += zstd_written_count((u32)written & 0xFFFF) + zstd_written_count((u32)written >> 16) +
            zstd_written_count((u32)(written >> 32) & 0xFFFF);
  }
  return bits;
}
