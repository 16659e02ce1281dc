// Interface between the host and `reduce.cu`; counterparts of `src/encode/reduce.rs`. The arithmetic is specified in
// `reduce.md` of the engine crate.
#pragma once
#include "device.h"

// The methods, in the order of `Resampling::ALL`.
enum ReduceMethod : u32 {
  REDUCE_NEAREST = 0,
  REDUCE_AVERAGE = 1,
  REDUCE_MIN = 2,
  REDUCE_MAX = 3,
  REDUCE_MEDIAN = 4,
  REDUCE_MODE = 5,
  REDUCE_RMS = 6,
  REDUCE_GAUSS = 7,
  REDUCE_BILINEAR = 8,
  REDUCE_CUBIC = 9,
  REDUCE_LANCZOS = 10,
};

enum ReduceKind : u32 {
  KIND_UNSIGNED = 0,
  KIND_SIGNED = 1,
  KIND_FLOAT = 2,
  KIND_COMPLEX = 3,
};

enum ReduceFlag : u32 {
  REDUCE_HAS_NODATA = 1,
  REDUCE_IS_MASK = 2,    // of a part of a filter: a mask is reduced; the result is 0 or 255
  REDUCE_UNALIGNED = 4,  // of a part: samples are not aligned to their size
};

const u32 REDUCE_THREADS_LOG = 8;
const u32 REDUCE_THREADS = 1 << REDUCE_THREADS_LOG;
// Log of the reduced rows of a tile per thread, for methods that make one pixel from four.
const u32 FOUR_ROWS_LOG = 3;
const u32 FOUR_ROWS = 1 << FOUR_ROWS_LOG;
// A tile of a filter: columns and rows of one band.
const u32 FILTER_ACROSS = 32;
const u32 FILTER_DOWN = 16;

// A part of a reduced image, as in `ReduceTask`, or its mask, which is one band of u8 in which 0 is nodata. It is cut
// into tiles, one per CUDA block:
// - nearest and methods over four pixels: 2^shift samples by (REDUCE_THREADS >> shift) * FOUR_ROWS rows of one group of
//   interleaved bands; the samples of a row are numbered across all pixels;
// - filters: FILTER_ACROSS pixels by FILTER_DOWN rows of one band; the band varies fastest, then the column, then the
//   row.
struct ReducePart {
  u64 src;            // device address of the pixel at `origin`, first band
  u64 mask;           // device address of its mask, 0 if none
  u64 dst;            // offset in the output, a multiple of 16; results are contiguous
  u64 band_stride;    // byte strides of the source
  u64 row_stride;
  u64 column_stride;
  u64 mask_row_stride;
  u64 mask_column_stride;
  u64 nodata[2];      // bits of a sample, the real part first
  u32 origin_x, origin_y;
  u32 image_x, image_y;    // size of the source image
  u32 target_x, target_y;  // position of the part in the reduced image
  u32 width, height;       // size of the part
  u32 samples;        // interleaved samples per pixel: all bands or 1
  u32 groups;         // groups of bands: 1 or all
  u32 kind;
  u32 size;           // bytes per sample
  u32 flags;
  u32 shift;
  u32 tiles_across;
  u32 first_tile;     // number of its first tile in the launch
};

struct ReduceArgs {
  const ReducePart* parts;  // of the launch, ordered by `first_tile`, which is 0 for the first
  u8* dst;                  // aligned to 16 bytes
  u32 count;                // number of parts, at least 1
  u32 method;
};

static_assert(sizeof(ReducePart) == 144, "twin of src/encode/reduce.rs");
static_assert(sizeof(ReduceArgs) == 24, "twin of src/encode/reduce.rs");
