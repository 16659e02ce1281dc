// Computes DC coefficients from their differences: running sums over the data units of each component, from 0 at the
// beginning of every interval. One CUDA block per scan; each thread takes consecutive MCUs.
//
// The sums of up to four components are kept as 16 bits each in one 64-bit word, modulo 2^16 like the coefficients.
#pragma once
#include "jpeg/jpeg_abi.h"

namespace jpeg {

const u32 DC_THREADS = 256;

const u64 TOP_BITS = 0x8000800080008000ull;

// Adds four numbers of 16 bits.
DEVICE u64 add_quads(u64 a, u64 b) { return ((a & ~TOP_BITS) + (b & ~TOP_BITS)) ^ ((a ^ b) & TOP_BITS); }

// Sums since the last restart, and whether there was a restart.
struct Run {
  u64 sums;
  u32 restarted;
};

DEVICE Run joined(const Run& before, const Run& after) {
  return {after.restarted != 0 ? after.sums : add_quads(before.sums, after.sums), before.restarted | after.restarted};
}

struct DcShared {
  Run warps[DC_THREADS / 32];
};

// Continues `run` over this thread's MCUs and returns the result; writes sums if `WRITES`.
template <bool WRITES>
DEVICE Run sum_mcus(const JpegScan& scan, u32 from, u32 to, Run run) {
  i16* values = (i16*)scan.differences;
  const u32 interval = scan.interval_units / scan.mcu_units;
  u32 until_restart = from % interval == 0 ? 0 : interval - from % interval;
  for (u32 mcu = from; mcu < to; ++mcu) {
    if (until_restart == 0) {
      run = {0, 1};
      until_restart = interval;
    }
    --until_restart;
    i16* at = values + (u64)mcu * scan.mcu_units;
    u32 components = scan.components;
    for (u32 unit = 0; unit < scan.mcu_units; ++unit) {
      u32 shift = (components & 3) * 16;
      components >>= 2;
      run.sums = add_quads(run.sums, (u64)(u16)at[unit] << shift);
      if (WRITES) at[unit] = (i16)(u16)(run.sums >> shift);
    }
  }
  return run;
}

// Called by all threads.
DEVICE void sum_differences(DcShared& shared, const JpegScan& scan) {
  const u32 thread = threadIdx.x, lane = thread & 31, warp = thread / 32;
  const u32 mcus = scan.units / scan.mcu_units, each = (mcus + DC_THREADS - 1) / DC_THREADS;
  const u32 from = min(thread * each, mcus), to = min(from + each, mcus);
  Run run = sum_mcus<false>(scan, from, to, {0, 0});
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    Run lower = {__shfl_up_sync(0xFFFFFFFFu, run.sums, step), __shfl_up_sync(0xFFFFFFFFu, run.restarted, step)};
    if (lane >= step) run = joined(lower, run);
  }
  if (lane == 31) shared.warps[warp] = run;
  Run before = {__shfl_up_sync(0xFFFFFFFFu, run.sums, 1), __shfl_up_sync(0xFFFFFFFFu, run.restarted, 1)};
  if (lane == 0) before = {0, 0};
  __syncthreads();
  Run warps = {0, 0};
  for (u32 w = 0; w < warp; ++w) warps = joined(warps, shared.warps[w]);
  sum_mcus<true>(scan, from, to, joined(warps, before));
}

}  // namespace jpeg
