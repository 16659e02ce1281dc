// Resizes windows, bit for bit as specified by `resample.rs` of the engine crate. One launch for all windows and bands:
// a thread, or a CUDA block, takes one pixel of the result in all bands of its window, so that the weights of both axes
// are computed once. Products are never fused with sums.
#include "reduce/reduce_number.cuh"
#include "steps/resample_stretch.cuh"

DEVICE u64 load_sample(const u8* at, u32 size, bool aligned) {
  return aligned ? load_aligned(at, size) : load_by_bytes(at, size);
}

// Stores the low bytes of `bits` at any alignment.
DEVICE void store_anywhere(u8* at, u32 size, u64 bits, bool aligned) {
  if (aligned) {
    store_bits(at, size, bits);
    return;
  }
#pragma unroll 1
  for (u32 i = 0; i < size; i++) at[i] = (u8)(bits >> (8 * i));
}

// Valid samples in one piece of a band of a window: their sum and weights.
struct Piece {
  double sum, weights;
};

// Pieces per row of the stretch.
DEVICE u32 pieces_across(const Stretch& across) {
  return (across.end - across.first + RESAMPLE_PIECE - 1) / RESAMPLE_PIECE;
}

// Piece `piece` of row `y`.
DEVICE Piece piece_of(const ResampleArgs& args, const Validity& validity, const u8* band, const Stretch& across,
                      const Stretch& down, u32 y, u32 piece, bool aligned) {
  Piece found = {0, 0};
  const double high = weight_in(down, y);
  const u32 first = across.first + piece * RESAMPLE_PIECE;
  const u32 end = across.end - first < RESAMPLE_PIECE ? across.end : first + RESAMPLE_PIECE;
  const u8* at = band + (u64)y * args.src_row + (u64)first * args.src_column;
#pragma unroll 1
  for (u32 x = first; x < end; x++, at += args.src_column) {
    const double weight = __dmul_rn(high, weight_in(across, x));
    const u64 bits = load_sample(at, validity.number.size, aligned);
    if (weight > 0 && is_valid(validity, bits)) {
      found.sum = __dadd_rn(found.sum, __dmul_rn(to_double(validity.number, bits), weight));
      found.weights = __dadd_rn(found.weights, weight);
    }
  }
  return found;
}

DEVICE void add(Piece& total, const Piece& piece) {
  total.sum = __dadd_rn(total.sum, piece.sum);
  total.weights = __dadd_rn(total.weights, piece.weights);
}

// The mean, or `fill` if no sample is valid.
DEVICE u64 mean_of(const Validity& validity, const Piece& total, u64 fill) {
  if (!(total.weights > 0)) return fill;
  return settled(validity, of_double(validity.number, __ddiv_rn(total.sum, total.weights)));
}

// A pixel of the result, and the source pixels that contribute.
struct Spot {
  ResampleWindow window;
  Validity validity;
  Stretch across, down;
  u64 first_band;
  u32 row, column;
  bool counts, aligned;
};

DEVICE Spot spot_of(const ResampleArgs& args, u32 window_index, u32 pixel) {
  Spot spot;
  spot.window = args.windows[window_index];
  const ResampleWindow& window = spot.window;
  spot.row = pixel / args.columns, spot.column = pixel % args.columns;
  spot.across = stretch_of(window.left, window.width, spot.column, args.columns, window.columns, args.method);
  spot.down = stretch_of(window.top, window.height, spot.row, args.rows, window.rows, args.method);
  spot.counts = spot.across.first < spot.across.end && spot.down.first < spot.down.end;
  spot.aligned = (args.flags & RESAMPLE_UNALIGNED) == 0;
  spot.validity = {{args.kind, args.size}, window.nodata, (window.flags & RESAMPLE_HAS_NODATA) != 0};
  spot.first_band = (u64)window_index * args.bands;
  return spot;
}

DEVICE u8* result_at(const ResampleArgs& args, const Spot& spot, u64 band) {
  return args.dst + band * args.dst_band + spot.row * args.dst_row + spot.column * args.dst_column;
}

// One thread per pixel.
KERNEL(resample, RESAMPLE_THREADS, ResampleArgs) {
  const u32 pixel = blockIdx.x % args.tiles * RESAMPLE_THREADS + threadIdx.x;
  if (pixel >= args.columns * args.rows) return;
  const Spot spot = spot_of(args, blockIdx.x / args.tiles, pixel);
  // A complex sample has two halves; only nearest supports them.
  const u32 size = args.size > 8 ? 8 : args.size;
#pragma unroll 1
  for (u64 band = spot.first_band; band < spot.first_band + args.bands; band++) {
    const u8* src = args.src + band * args.src_band;
    u8* to = result_at(args, spot, band);
    if (args.method != RESAMPLE_NEAREST) {
      Piece total = {0, 0};
      const u32 pieces = spot.counts ? pieces_across(spot.across) : 0;
#pragma unroll 1
      for (u32 y = spot.down.first; y < spot.down.end; y++) {
#pragma unroll 1
        for (u32 i = 0; i < pieces; i++)
          add(total, piece_of(args, spot.validity, src, spot.across, spot.down, y, i, spot.aligned));
      }
      store_anywhere(to, size, mean_of(spot.validity, total, spot.window.fill[0]), spot.aligned);
      continue;
    }
    const u8* from = src + (u64)spot.down.first * args.src_row + (u64)spot.across.first * args.src_column;
    for (u32 half = 0; half < args.size; half += size) {
      const u64 bits = spot.counts ? load_sample(from + half, size, spot.aligned) : spot.window.fill[half / 8];
      store_anywhere(to + half, size, bits, spot.aligned);
    }
  }
}

// One CUDA block per pixel, for means of so many samples that one thread would take long: each thread takes a piece,
// and the first adds them up in order.
KERNEL(resample_wide, RESAMPLE_THREADS, ResampleArgs) {
  SHARED(Piece, pieces[RESAMPLE_THREADS]);
  const Spot spot = spot_of(args, blockIdx.x / args.tiles, blockIdx.x % args.tiles);
  const u32 in_row = spot.counts ? pieces_across(spot.across) : 0;
  const u64 count = (u64)in_row * (spot.down.end - spot.down.first);
#pragma unroll 1
  for (u64 band = spot.first_band; band < spot.first_band + args.bands; band++) {
    const u8* src = args.src + band * args.src_band;
    Piece total = {0, 0};
#pragma unroll 1
    for (u64 start = 0; start < count; start += RESAMPLE_THREADS) {
      const u64 mine = start + threadIdx.x;
      if (mine < count) {
        const u32 y = spot.down.first + (u32)(mine / in_row);
        pieces[threadIdx.x] =
            piece_of(args, spot.validity, src, spot.across, spot.down, y, (u32)(mine % in_row), spot.aligned);
      }
      __syncthreads();
      const u32 here = count - start < RESAMPLE_THREADS ? (u32)(count - start) : RESAMPLE_THREADS;
      if (threadIdx.x == 0) {
#pragma unroll 1
        for (u32 i = 0; i < here; i++) add(total, pieces[i]);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      const u64 mean = mean_of(spot.validity, total, spot.window.fill[0]);
      store_anywhere(result_at(args, spot, band), args.size, mean, spot.aligned);
    }
  }
}
