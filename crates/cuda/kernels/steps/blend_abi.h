// Interface between the host and `blend.cu`; counterparts of `src/steps/blend.rs`. The rules are in `blend.rs` of the
// engine crate.
#pragma once
#include "device.h"

const u32 BLEND_THREADS = 256;

// Operation on each sample.
enum BlendWay : u32 {
  BLEND_COPY = 0,
  BLEND_CONVERT = 1,
  BLEND_UNLESS = 2,  // skipped if its bytes equal `sample`
  BLEND_CHANGE = 3,
};

enum BlendFlag : u32 {
  BLEND_UNALIGNED = 1,  // numbers are not aligned to their size
  BLEND_DOUBLE = 2,     // computed in double precision
  BLEND_HAS_NODATA = 4,
  BLEND_HAS_LARGEST = 8,
  BLEND_SCALED = 16,    // by `ratio` and `offset`
  BLEND_BYTE = 32,      // results are first rounded to singles
};

struct BlendArgs {
  const u8* src;        // the first sample of the layer
  const u8* mask;       // one byte per pixel of the layer, 0 if the pixel below shows; or null
  u8* dst;              // the first sample of the rectangle
  const u32* columns;   // the pixel of each column, or null for consecutive ones
  const u32* rows;      // the same for rows
  const double* table;  // input values and their results
  u64 src_row;          // bytes from one row to the next
  u64 src_column;
  u64 mask_row;
  u64 mask_column;
  u64 dst_row;
  u64 dst_column;
  u64 sample;           // for BLEND_UNLESS
  double nodata;
  double largest;
  double offset;
  double ratio;
  u32 width, height;    // of the rectangle: fewer than 2^31 pixels
  u32 entries;          // of the table
  u32 way;
  u32 kind;             // `ReduceKind` of the layer, and bytes per sample
  u32 size;
  u32 to_kind;
  u32 to_size;
  u32 flags;
  u32 reserved;
};

static_assert(sizeof(BlendArgs) == 176, "twin of src/steps/blend.rs");
