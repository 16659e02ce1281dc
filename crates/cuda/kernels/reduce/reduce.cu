// Halves images: makes parts of reduced images and their masks, bit for bit as specified by `reduce.md` of the engine
// crate.
//
// A CUDA block takes one tile of one part. The entry points differ in what is known about samples at compile time: size
// and kind for averages and nearest; little or nothing for the other methods, because they are rare or compute-bound
// anyway. Products are never fused with sums.
#include "reduce/reduce_abi.h"
#include "reduce/reduce_filter.cuh"
#include "reduce/reduce_four.cuh"
#include "reduce/reduce_mean.cuh"
#include "reduce/reduce_nearest.cuh"
#include "reduce/reduce_rank.cuh"
#include "reduce/reduce_rms.cuh"

template <u32 SIZE>
struct Bits {
  typedef u32 Type;
};
template <>
struct Bits<8> {
  typedef u64 Type;
};

// Finds the part of this CUDA block and the tile in it.
#define PART_AND_TILE()                                    \
  const ReducePart part = part_of_tile(args, blockIdx.x);  \
  const u32 tile = blockIdx.x - part.first_tile;           \
  [[maybe_unused]] const bool aligned = (part.flags & REDUCE_UNALIGNED) == 0;

// Plain parts of the usual types take a loop with many loads in flight; everything else, and tiles with a NaN, take
// another loop.
template <u32 SIZE, u32 AHEAD>
DEVICE void mean_tile(const ReducePart& part, u32 kind, u8* dst, u32 tile, bool aligned) {
  typedef typename Bits<SIZE>::Type B;
  const Validity validity = validity_of(part, {kind, SIZE});
  const Loading<B, SIZE> loading = {aligned, SIZE};
  const bool plain = !validity.has_nodata && part.mask == 0;
  if (AHEAD > 1 && plain && aligned) {
    const bool well = each_four<B, AHEAD, false>(
        part, dst, SIZE, tile, loading,
        [=](u8* to, const Four<B>& four) {
          u64 mean;
          const bool well = plain_mean_of({kind, SIZE}, four, mean);
          store_bits(to, SIZE, mean);
          return well;
        });
    if (well) return;
  }
  each_four<B, 1, true>(
      part, dst, SIZE, tile, loading,
      [&](u8* to, const Four<B>& four) {
        store_bits(to, SIZE, mean_of(validity, plain, four));
        return true;
      });
}

#define MEAN_ENTRY(name, KIND, SIZE, AHEAD)                      \
  KERNEL(name, REDUCE_THREADS, ReduceArgs) {                     \
    PART_AND_TILE()                                              \
    mean_tile<SIZE, AHEAD>(part, KIND, args.dst, tile, aligned); \
  }

// Signed or unsigned integers only.
#define INTEGERS (part.kind & KIND_SIGNED)

MEAN_ENTRY(reduce_mean_1, INTEGERS, 1, 4)
MEAN_ENTRY(reduce_mean_2, INTEGERS, 2, 4)
MEAN_ENTRY(reduce_mean_4, INTEGERS, 4, 1)
MEAN_ENTRY(reduce_mean_8, INTEGERS, 8, 1)
MEAN_ENTRY(reduce_mean_f16, KIND_FLOAT, 2, 1)
MEAN_ENTRY(reduce_mean_f32, KIND_FLOAT, 4, 4)
MEAN_ENTRY(reduce_mean_f64, KIND_FLOAT, 8, 1)

template <u32 SIZE>
DEVICE void complex_tile(const ReducePart& part, u8* dst, u32 tile, bool aligned) {
  typedef typename Bits<SIZE>::Type B;
  each_four<Pair<B>, 1, true>(
      part, dst, 2 * SIZE, tile, LoadingPairs<B>{aligned},
      [&](u8* to, const Four<Pair<B>>& four) {
        *(Pair<B>*)to = mean_of_pairs(part, four);
        return true;
      });
}

#define COMPLEX_ENTRY(name, SIZE)                       \
  KERNEL(name, REDUCE_THREADS, ReduceArgs) {            \
    PART_AND_TILE()                                     \
    complex_tile<SIZE>(part, args.dst, tile, aligned);  \
  }

COMPLEX_ENTRY(reduce_mean_c64, 4)
COMPLEX_ENTRY(reduce_mean_c128, 8)

template <class B>
DEVICE void rank_tile(const ReducePart& part, u32 size, u8* dst, u32 tile, bool aligned, u32 method) {
  const Validity validity = validity_of(part, {part.kind, size});
  each_four<B, 1, true>(
      part, dst, size, tile, Loading<B, sizeof(B) == 8 ? 8 : 0>{aligned, size},
      [&](u8* to, const Four<B>& four) {
        store_bits(to, size, rank_of(method, validity, four));
        return true;
      });
}

// Samples of at most 4 bytes, and of 8 bytes.
KERNEL(reduce_rank_narrow, REDUCE_THREADS, ReduceArgs) {
  PART_AND_TILE()
  rank_tile<u32>(part, part.size, args.dst, tile, aligned, args.method);
}

KERNEL(reduce_rank_wide, REDUCE_THREADS, ReduceArgs) {
  PART_AND_TILE()
  rank_tile<u64>(part, 8, args.dst, tile, aligned, args.method);
}

KERNEL(reduce_rms, REDUCE_THREADS, ReduceArgs) {
  PART_AND_TILE()
  const u32 size = part.size;
  const Validity validity = validity_of(part, {part.kind, size});
  const bool plain = !validity.has_nodata && part.mask == 0;
  each_four<u64, 1, true>(
      part, args.dst, size, tile, Loading<u64, 0>{aligned, size},
      [&](u8* to, const Four<u64>& four) {
        store_bits(to, size, rms_of(validity, plain, four));
        return true;
      });
}

#define NEAREST_ENTRY(name, SIZE)                           \
  KERNEL(name, REDUCE_THREADS, ReduceArgs) {                \
    PART_AND_TILE()                                         \
    nearest_tile<SIZE>(part, args.dst, tile, aligned);      \
  }

NEAREST_ENTRY(reduce_nearest_1, 1)
NEAREST_ENTRY(reduce_nearest_2, 2)
NEAREST_ENTRY(reduce_nearest_4, 4)
NEAREST_ENTRY(reduce_nearest_8, 8)
NEAREST_ENTRY(reduce_nearest_16, 16)

// Masks: 255 if the pixel that nearest takes is not 0, or if any of four is not.
KERNEL(reduce_nearest_mask, REDUCE_THREADS, ReduceArgs) {
  PART_AND_TILE()
  nearest_mask(part, args.dst, tile);
}

KERNEL(reduce_four_mask, REDUCE_THREADS, ReduceArgs) {
  PART_AND_TILE()
  each_four<u32, 4, false>(
      part, args.dst, 1, tile, Loading<u32, 1>{true, 1},
      [](u8* to, const Four<u32>& four) {
        *to = (four.at[0] | four.at[1] | four.at[2] | four.at[3]) == 0 ? 0 : 255;
        return true;
      });
}

KERNEL(reduce_filter, REDUCE_THREADS, ReduceArgs) {
  SHARED(FilterTile, above);
  PART_AND_TILE()
  const u32 bands = part.samples * part.groups;
  const FilterSpot spot = {tile % bands, part.target_x + tile / bands % part.tiles_across * FILTER_ACROSS,
                           part.target_y + tile / bands / part.tiles_across * FILTER_DOWN};
  filter_tile(part, spot, args.method, aligned, above, args.dst);
}
