// Interface between the host and `cut.cu`: counterparts of `src/encode/cut.rs`. `src/encode/cut/ways.rs` chooses the
// entry point of a task.
#pragma once
#include "encode_abi.h"

// Number types checked for NaN; each half of a complex sample counts as a number.
enum CutNan : u32 {
  NAN_KEPT = 0,
  NAN_HALF = 1,    // 16-bit floats
  NAN_SINGLE = 2,  // 32-bit floats
  NAN_DOUBLE = 3,  // 64-bit floats
};

// How the blocks of one layout are made from samples in memory.
struct CutRecipe {
  u8 fill[16];      // a sample, repeated to 16 bytes: blocks that hold nothing else are sparse if `sparse` is not 0
  u8 nan[16];       // replacement for NaN, repeated to 16 bytes
  u32 row_len;      // bytes per packed row, at most 2^30
  u32 width;        // pixels per packed row
  u32 samples;      // per pixel
  u32 row_samples;  // per row: width * samples, at most 2^30
  u8 size;          // bytes per sample in memory: 1, 2, 4, 8 or 16
  u8 swap;          // size in bytes of the units whose byte order is reversed: 2, 4 or 8; 0 for none
  u8 predictor;     // 1, 2 (samples of at most 8 bytes) or 3 (of 2, 4 or 8)
  u8 nan_of;        // a CutNan
  u8 sparse;
  u8 bits;          // 1: samples are bytes of 0 and 1, packed to bits
  u8 reserved[2];
};

// One block to cut.
// - Bytes of the image are read only up to `end`, starting at `src` rounded down to 16.
// - The bytes from `dst` to `dst + len` rounded up to 16 belong to this block alone, plus ENCODE_SLACK more if it is
//   not stored; `dst` is a multiple of 16.
struct CutTask {
  u64 src;            // device address of its first sample
  u64 end;            // device address behind the last sample of the image
  u64 dst;            // device address of its first packed byte
  u64 band_stride;    // bytes of the image from one band to the next
  u64 row_stride;
  u64 column_stride;
  u32 recipe;         // index into `recipes`
  u32 width;          // columns that have pixels, 1 to the recipe's width
  u32 height;         // rows that have pixels, at least 1
  u32 rows;           // rows of the block, `height` or more
  u32 len;            // rows * row_len: 1 to 2^30
  u32 index;          // index into `states` and `sizes`
  u32 stored;         // not 0: no codec follows, `dst` is in the slab
  u32 reserved;
};

// `states` are ENCODE_PENDING before the launch. A block becomes ENCODE_SPARSE, ENCODE_UNFIT or ENCODE_PACKED; a stored
// block becomes ENCODE_DONE with its size instead of ENCODE_PACKED.
struct CutArgs {
  const CutTask* tasks;
  const CutRecipe* recipes;
  u32* states;
  u32* sizes;
  u32 count;  // number of tasks; the grid is (count, parts)
  u32 reserved;
};

static_assert(sizeof(CutRecipe) == 56, "twin of src/encode/cut.rs");
static_assert(sizeof(CutTask) == 80, "twin of src/encode/cut.rs");
static_assert(sizeof(CutArgs) == 40, "twin of src/encode/cut.rs");
