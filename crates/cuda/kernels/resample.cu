// Makes windows another size, as `resample.rs` of the engine crate says, to the last bit. One launch for all windows
// and bands: a thread has one pixel of the result, in all bands of its window, so that what of both axes counts is
// worked out once. No product is fused with a sum.
#include "reduce_number.cuh"
#include "resample_stretch.cuh"

DEVICE u64 load_sample(const u8* at, u32 size, bool aligned) {
  return aligned ? load_aligned(at, size) : load_by_bytes(at, size);
}

// The low bytes of `bits`, anywhere.
DEVICE void store_anywhere(u8* at, u32 size, u64 bits, bool aligned) {
  if (aligned) {
    store_bits(at, size, bits);
    return;
  }
#pragma unroll 1
  for (u32 i = 0; i < size; i++) at[i] = (u8)(bits >> (8 * i));
}

// The mean of what counts in one band of a window; false where nothing does.
DEVICE bool mean_of(const ResampleArgs& args, const Validity& validity, const u8* band, const Stretch& across,
                    const Stretch& down, bool aligned, u64& mean) {
  double sum = 0, weights = 0;
#pragma unroll 1
  for (u32 y = down.first; y < down.end; y++) {
    const double high = weight_in(down, y);
    const u8* at = band + (u64)y * args.src_row + (u64)across.first * args.src_column;
#pragma unroll 1
    for (u32 x = across.first; x < across.end; x++, at += args.src_column) {
      const double weight = __dmul_rn(high, weight_in(across, x));
      const u64 bits = load_sample(at, validity.number.size, aligned);
      if (weight > 0 && is_valid(validity, bits)) {
        sum = __dadd_rn(sum, __dmul_rn(to_double(validity.number, bits), weight));
        weights = __dadd_rn(weights, weight);
      }
    }
  }
  if (!(weights > 0)) return false;
  mean = settled(validity, of_double(validity.number, __ddiv_rn(sum, weights)));
  return true;
}

KERNEL(resample, RESAMPLE_THREADS, ResampleArgs) {
  const u32 window_index = blockIdx.x / args.tiles;
  const u32 pixel = blockIdx.x % args.tiles * RESAMPLE_THREADS + threadIdx.x;
  if (pixel >= args.columns * args.rows) return;
  const u32 row = pixel / args.columns, column = pixel % args.columns;
  const ResampleWindow window = args.windows[window_index];
  const Stretch across =
      stretch_of(window.left, window.width, column, args.columns, window.columns, args.method);
  const Stretch down = stretch_of(window.top, window.height, row, args.rows, window.rows, args.method);
  const bool counts = across.first < across.end && down.first < down.end;
  const bool aligned = (args.flags & RESAMPLE_UNALIGNED) == 0;
  const Validity validity = {{args.kind, args.size}, window.nodata, (window.flags & RESAMPLE_HAS_NODATA) != 0};
  // A complex sample has two halves; only nearest takes them.
  const u32 size = args.size > 8 ? 8 : args.size;
  const u64 first_band = (u64)window_index * args.bands;
#pragma unroll 1
  for (u64 band = first_band; band < first_band + args.bands; band++) {
    const u8* src = args.src + band * args.src_band;
    u8* to = args.dst + band * args.dst_band + row * args.dst_row + column * args.dst_column;
    if (args.method != RESAMPLE_NEAREST) {
      u64 mean = window.fill[0];
      if (counts) mean_of(args, validity, src, across, down, aligned, mean);
      store_anywhere(to, size, mean, aligned);
      continue;
    }
    const u8* from = src + (u64)down.first * args.src_row + (u64)across.first * args.src_column;
    for (u32 half = 0; half < args.size; half += size) {
      const u64 bits = counts ? load_sample(from + half, size, aligned) : window.fill[half / 8];
      store_anywhere(to + half, size, bits, aligned);
    }
  }
}
