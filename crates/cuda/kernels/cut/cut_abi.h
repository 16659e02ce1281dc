// What the host and `cut.cu` agree on: twins of `src/encode/cut.rs`. Which entry point takes a task is said
// by `src/encode/cut/ways.rs`.
#pragma once
#include "encode_abi.h"

// Which numbers are looked at for NaN: halves of complex samples count each.
enum CutNan : u32 {
  NAN_KEPT = 0,
  NAN_HALF = 1,    // floats of 16 bits
  NAN_SINGLE = 2,  // of 32
  NAN_DOUBLE = 3,  // of 64
};

// How the blocks of one layout are made of samples in memory.
struct CutRecipe {
  u8 fill[16];      // a sample, repeated to 16 bytes: blocks of nothing else are sparse, if `sparse` is not 0
  u8 nan[16];       // what NaN becomes, repeated to 16 bytes
  u32 row_len;      // bytes of a packed row, at most 2^30
  u32 width;        // pixels of a packed row
  u32 samples;      // of a pixel
  u32 row_samples;  // of a row: width * samples, at most 2^30
  u8 size;          // bytes of a sample in memory: 1, 2, 4, 8 or 16
  u8 swap;          // bytes of the units whose order is reversed: 2, 4 or 8; 0 for none
  u8 predictor;     // 1, 2 (samples of at most 8 bytes) or 3 (of 2, 4 or 8)
  u8 nan_of;        // a CutNan
  u8 sparse;
  u8 bits;          // 1: samples are bytes of 0 and 1, packed to bits
  u8 reserved[2];
};

// One block to cut.
// - Bytes of the image are read up to `end` alone, and from `src` rounded down to 16 on.
// - The bytes from `dst` to `dst + len` rounded up to 16 belong to this block alone, and where it is not
//   stored ENCODE_SLACK more; `dst` is a multiple of 16.
struct CutTask {
  u64 src;            // device address of its first sample
  u64 end;            // of what follows the last sample of the image
  u64 dst;            // device address of its first packed byte
  u64 band_stride;    // bytes of the image from band to band
  u64 row_stride;
  u64 column_stride;
  u32 recipe;         // index into `recipes`
  u32 width;          // columns that have pixels, 1 to those of the recipe
  u32 height;         // rows that have pixels, at least 1
  u32 rows;           // of the block, `height` or more
  u32 len;            // rows * row_len: 1 to 2^30
  u32 index;          // into `states` and `sizes`
  u32 stored;         // not 0: no codec follows, `dst` is in the slab
  u32 reserved;
};

// `states` are ENCODE_PENDING before the launch. A block becomes ENCODE_SPARSE, ENCODE_UNFIT, or
// ENCODE_PACKED, or, where it is stored, ENCODE_DONE with its size.
struct CutArgs {
  const CutTask* tasks;
  const CutRecipe* recipes;
  u32* states;
  u32* sizes;
  u32 count;  // of tasks; the grid is (count, parts)
  u32 reserved;
};

static_assert(sizeof(CutRecipe) == 56, "twin of src/encode/cut.rs");
static_assert(sizeof(CutTask) == 80, "twin of src/encode/cut.rs");
static_assert(sizeof(CutArgs) == 40, "twin of src/encode/cut.rs");
