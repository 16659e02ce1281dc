// Changes samples and turns the image, as specified by `finish.rs` of the engine crate. In a single launch, each CUDA
// block takes a square of the pixels, in one band of the result. The square passes through shared memory, so that rows
// are read and written along their length even if they become columns. If nothing is turned, a thread writes the sample
// that it has read, so this may be done in place.
#include "steps/finish_abi.h"
#include "reduce/reduce_number.cuh"

// A sample, its low bytes first; `high` is the second half of 16-byte samples.
struct Halves {
  u64 low, high;
};

DEVICE u64 number_at(const u8* at, u32 size, bool aligned) {
  return aligned ? load_aligned(at, size) : load_by_bytes(at, size);
}

DEVICE Halves sample_at(const u8* at, u32 size, bool aligned) {
  if (size <= 8) return {number_at(at, size, aligned), 0};
  return {number_at(at, 8, aligned), number_at(at + 8, 8, aligned)};
}

DEVICE void store_number(u8* at, u32 size, u64 bits, bool aligned) {
  if (aligned) {
    store_bits(at, size, bits);
    return;
  }
#pragma unroll 1
  for (u32 i = 0; i < size; i++) at[i] = (u8)(bits >> (8 * i));
}

// The result for the sample at `at` in the first of its bands.
DEVICE Halves changed(const FinishArgs& args, const u8* at, bool aligned) {
  if (args.change == FINISH_DIFFERS) {
    bool all = true;
#pragma unroll 1
    for (u32 band = 0; band < args.bands; band++, at += args.src_band) {
      all = all && (number_at(at, args.counts, aligned) & args.mask) - args.low <= args.span;
    }
    return {all ? 0u : 255u, 0};
  }
  const Halves sample = sample_at(at, args.size, aligned);
  switch (args.change) {
    case FINISH_INVERT: return {sample.low ^ args.mask, sample.high};
    case FINISH_NOT_ZERO: return {(sample.low | sample.high) == 0 ? 0u : 255u, 0};
    case FINISH_ALPHA_16: {
      const u32 scaled = (u32)sample.low * 255 / 65535;
      return {scaled == 0 && sample.low != 0 ? 1 : scaled, 0};
    }
    default: return sample;
  }
}

KERNEL(finish, FINISH_THREADS, FinishArgs) {
  SHARED(u64, lows[FINISH_SIDE * (FINISH_SIDE + 1)]);
  SHARED(u64, highs[FINISH_SIDE * (FINISH_SIDE + 1)]);
  const u32 band = blockIdx.x / args.tiles, tile = blockIdx.x - band * args.tiles;
  const u32 top = tile / args.across * FINISH_SIDE, left = tile % args.across * FINISH_SIDE;
  const u32 lane = threadIdx.x % FINISH_SIDE, line = threadIdx.x / FINISH_SIDE;
  const u32 lines = FINISH_THREADS / FINISH_SIDE;
  const bool aligned = (args.flags & FINISH_UNALIGNED) == 0, swaps = (args.flags & FINISH_SWAP) != 0;
  const u8* src = args.src + (u64)band * args.bands * args.src_band;
#pragma unroll 1
  for (u32 y = line; y < FINISH_SIDE; y += lines) {
    const u32 row = top + y, column = left + lane;
    if (row >= args.rows || column >= args.columns) continue;
    const Halves made = changed(args, src + row * args.src_row + column * args.src_column, aligned);
    const u32 at = y * (FINISH_SIDE + 1) + lane;
    lows[at] = made.low;
    if (args.to_size > 8) highs[at] = made.high;
  }
  __syncthreads();
#pragma unroll 1
  for (u32 i = line; i < FINISH_SIDE; i += lines) {
    const u32 y = swaps ? lane : i, x = swaps ? i : lane;
    const u32 row = top + y, column = left + x;
    if (row >= args.rows || column >= args.columns) continue;
    const u32 down = (args.flags & FINISH_FLIP_ROWS) != 0 ? args.rows - 1 - row : row;
    const u32 along = (args.flags & FINISH_FLIP_COLUMNS) != 0 ? args.columns - 1 - column : column;
    const u64 to_row = swaps ? along : down, to_column = swaps ? down : along;
    u8* to = args.dst + band * args.dst_band + to_row * args.dst_row + to_column * args.dst_column;
    const u32 at = y * (FINISH_SIDE + 1) + x;
    store_number(to, args.to_size > 8 ? 8 : args.to_size, lows[at], aligned);
    if (args.to_size > 8) store_number(to + 8, 8, highs[at], aligned);
  }
}
