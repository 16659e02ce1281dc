// Halves images: parts of reduced images and their masks, as `reduce.md` of the engine crate says, to the last bit.
//
// A CUDA block has one tile of one part. The entry points differ in what is known of the samples at compile time:
// averages have one for each type, nearest and the methods that pick one of four samples one for each size, the roots
// of means of squares and the filters one for all. No product is fused with a sum.
#include "reduce_abi.h"
#include "reduce_filter.cuh"
#include "reduce_four.cuh"
#include "reduce_mean.cuh"
#include "reduce_nearest.cuh"
#include "reduce_rank.cuh"
#include "reduce_rms.cuh"

// The mask of methods over four pixels: where any of them is not 0.
DEVICE void mask_of_four(const ReducePart& part, u8* dst, u32 tile) {
  each_four<u32, 2, false>(
      part, dst, 1, tile, [](const u8* at) { return (u32)*at; },
      [](u8* to, const Four<u32>& four) {
        *to = (four.at[0] | four.at[1] | four.at[2] | four.at[3]) == 0 ? 0 : 255;
        return true;
      });
}

template <u32 SIZE>
struct Bits {
  typedef u32 Type;
};
template <>
struct Bits<8> {
  typedef u64 Type;
};

// How many rows of four samples are loaded at a time.
template <u32 SIZE>
struct Ahead {
  static const u32 ROWS = SIZE <= 2 ? 8 : SIZE == 4 ? 4 : 2;
};

// The part and the tile in it of this CUDA block; masks are done with.
#define FOUR_BEGIN()                                       \
  const ReducePart part = part_of_tile(args, blockIdx.x);  \
  const u32 tile = blockIdx.x - part.first_tile;           \
  const bool aligned = (part.flags & REDUCE_UNALIGNED) == 0; \
  if ((part.flags & REDUCE_IS_MASK) != 0) return mask_of_four(part, args.dst, tile);

// Plain parts with many loads under way; what is not plain, or had a NaN, in another loop.
template <u32 KIND, u32 SIZE>
DEVICE void mean_tile(const ReducePart& part, u8* dst, u32 tile, bool aligned) {
  typedef typename Bits<SIZE>::Type B;
  const Validity validity = validity_of(part, {KIND, SIZE});
  const bool plain = !validity.has_nodata && part.mask == 0;
  if (plain && aligned) {
    const bool well = each_four<B, Ahead<SIZE>::ROWS, false>(
        part, dst, SIZE, tile, [](const u8* at) { return (B)load_aligned(at, SIZE); },
        [](u8* to, const Four<B>& four) {
          u64 mean;
          const bool well = plain_mean_of({KIND, SIZE}, four, mean);
          store_bits(to, SIZE, mean);
          return well;
        });
    if (well) return;
  }
  each_four<B, 2, true>(
      part, dst, SIZE, tile, [=](const u8* at) { return (B)load_bits(at, SIZE, aligned); },
      [&](u8* to, const Four<B>& four) {
        store_bits(to, SIZE, mean_of(validity, plain, four));
        return true;
      });
}

#define MEAN_ENTRY(name, KIND, SIZE)                         \
  KERNEL(name, REDUCE_THREADS, ReduceArgs) {                 \
    FOUR_BEGIN()                                             \
    mean_tile<KIND, SIZE>(part, args.dst, tile, aligned);    \
  }

MEAN_ENTRY(reduce_mean_u8, KIND_UNSIGNED, 1)
MEAN_ENTRY(reduce_mean_i8, KIND_SIGNED, 1)
MEAN_ENTRY(reduce_mean_u16, KIND_UNSIGNED, 2)
MEAN_ENTRY(reduce_mean_i16, KIND_SIGNED, 2)
MEAN_ENTRY(reduce_mean_u32, KIND_UNSIGNED, 4)
MEAN_ENTRY(reduce_mean_i32, KIND_SIGNED, 4)
MEAN_ENTRY(reduce_mean_u64, KIND_UNSIGNED, 8)
MEAN_ENTRY(reduce_mean_i64, KIND_SIGNED, 8)
MEAN_ENTRY(reduce_mean_f16, KIND_FLOAT, 2)
MEAN_ENTRY(reduce_mean_f32, KIND_FLOAT, 4)
MEAN_ENTRY(reduce_mean_f64, KIND_FLOAT, 8)

template <u32 SIZE>
DEVICE void complex_tile(const ReducePart& part, u8* dst, u32 tile, bool aligned) {
  typedef typename Bits<SIZE>::Type B;
  each_four<Pair<B>, 1, true>(
      part, dst, 2 * SIZE, tile,
      [=](const u8* at) {
        return Pair<B>{(B)load_bits(at, SIZE, aligned), (B)load_bits(at + SIZE, SIZE, aligned)};
      },
      [&](u8* to, const Four<Pair<B>>& four) {
        *(Pair<B>*)to = mean_of_pairs(part, four);
        return true;
      });
}

#define COMPLEX_ENTRY(name, SIZE)                       \
  KERNEL(name, REDUCE_THREADS, ReduceArgs) {            \
    FOUR_BEGIN()                                        \
    complex_tile<SIZE>(part, args.dst, tile, aligned);  \
  }

COMPLEX_ENTRY(reduce_mean_c64, 4)
COMPLEX_ENTRY(reduce_mean_c128, 8)

template <u32 SIZE>
DEVICE void rank_tile(const ReducePart& part, u8* dst, u32 tile, bool aligned, u32 method) {
  typedef typename Bits<SIZE>::Type B;
  const Validity validity = validity_of(part, {part.kind, SIZE});
  each_four<B, 1, true>(
      part, dst, SIZE, tile, [=](const u8* at) { return (B)load_bits(at, SIZE, aligned); },
      [&](u8* to, const Four<B>& four) {
        store_bits(to, SIZE, rank_of(method, validity, four));
        return true;
      });
}

#define RANK_ENTRY(name, SIZE)                                     \
  KERNEL(name, REDUCE_THREADS, ReduceArgs) {                       \
    FOUR_BEGIN()                                                   \
    rank_tile<SIZE>(part, args.dst, tile, aligned, args.method);   \
  }

RANK_ENTRY(reduce_rank_1, 1)
RANK_ENTRY(reduce_rank_2, 2)
RANK_ENTRY(reduce_rank_4, 4)
RANK_ENTRY(reduce_rank_8, 8)

KERNEL(reduce_rms, REDUCE_THREADS, ReduceArgs) {
  FOUR_BEGIN()
  const u32 size = part.size;
  const Validity validity = validity_of(part, {part.kind, size});
  const bool plain = !validity.has_nodata && part.mask == 0;
  each_four<u64, 1, true>(
      part, args.dst, size, tile, [=](const u8* at) { return load_bits(at, size, aligned); },
      [&](u8* to, const Four<u64>& four) {
        store_bits(to, size, rms_of(validity, plain, four));
        return true;
      });
}

#define NEAREST_ENTRY(name, SIZE)                                                \
  KERNEL(name, REDUCE_THREADS, ReduceArgs) {                                     \
    const ReducePart part = part_of_tile(args, blockIdx.x);                      \
    nearest_tile<SIZE>(part, args.dst, blockIdx.x - part.first_tile);            \
  }

NEAREST_ENTRY(reduce_nearest_1, 1)
NEAREST_ENTRY(reduce_nearest_2, 2)
NEAREST_ENTRY(reduce_nearest_4, 4)
NEAREST_ENTRY(reduce_nearest_8, 8)
NEAREST_ENTRY(reduce_nearest_16, 16)

KERNEL(reduce_filter, REDUCE_THREADS, ReduceArgs) {
  SHARED(FilterTile, above);
  const ReducePart part = part_of_tile(args, blockIdx.x);
  const u32 tile = blockIdx.x - part.first_tile, bands = part.samples * part.groups;
  const FilterSpot spot = {tile % bands, part.target_x + tile / bands % part.tiles_across * FILTER_ACROSS,
                           part.target_y + tile / bands / part.tiles_across * FILTER_DOWN};
  if (args.method == REDUCE_GAUSS) filter_tile<3>(part, spot, GAUSS_WEIGHTS, above, args.dst);
  else if (args.method == REDUCE_BILINEAR) filter_tile<4>(part, spot, BILINEAR_WEIGHTS, above, args.dst);
  else if (args.method == REDUCE_CUBIC) filter_tile<8>(part, spot, CUBIC_WEIGHTS, above, args.dst);
  else filter_tile<12>(part, spot, LANCZOS_WEIGHTS, above, args.dst);
}
