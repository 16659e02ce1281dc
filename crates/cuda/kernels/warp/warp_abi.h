// Interface between the host and `warp.cu`; counterparts of `src/steps/warp.rs`. The arithmetic is in `warp.md` of the
// engine crate.
#pragma once
#include "device.h"

// The methods, in the order of `WarpSampling`.
enum WarpMethod : u32 {
  WARP_NEAREST = 0,
  WARP_BILINEAR = 1,
  WARP_CUBIC = 2,
  WARP_SPLINE = 3,
  WARP_LANCZOS = 4,
  WARP_AVERAGE = 5,
  WARP_MODE = 6,
  WARP_MIN = 7,
  WARP_MAX = 8,
  WARP_MEDIAN = 9,
  WARP_Q1 = 10,
  WARP_Q3 = 11,
  WARP_RMS = 12,
  WARP_SUM = 13,
};

enum WarpFlag : u32 {
  WARP_HAS_NODATA = 1,  // of a window
  WARP_HAS_AVOID = 2,
  WARP_KEEP = 4,        // pixels without a value are left unchanged
  WARP_HAS_TURN = 8,
  WARP_WRAPS = 16,
  WARP_UNALIGNED = 1,   // of a launch: samples are not aligned to their size
};

const u32 WARP_THREADS = 256;
const u32 WARP_TILE_COLUMNS = 32;  // pixels per CUDA block
const u32 WARP_TILE_ROWS = 8;
const u32 WARP_LARGE = 64;         // side in pixels of a cell, and of a small one
const u32 WARP_SMALL = 8;
const u32 WARP_SMOOTH = 1u << 30;  // cell kinds, in the two upper bits; 0 is outside
const u32 WARP_CUT = 2u << 30;
const u32 WARP_KIND = 3u << 30;

// How one window is made.
struct WarpWindow {
  const u32* cells;     // the arrays of `WarpMap`, whose entries were validated
  const u32* small;
  const double* corners;
  const double* exact;
  const u8* src;        // the first sample of the sheet
  const u8* valid;      // of its mask, or null
  u8* dst;              // the first sample to write
  double turn_x, turn_y;
  double scale_x, scale_y;  // above 0 and finite
  u64 nodata[2];        // bytes of a source sample
  u64 fill[2];          // of an output sample
  u64 avoid;
  u32 columns, rows;    // to be made
  u32 map_column, map_row;  // the first of them in the map
  u32 across;           // large cells per row of the map
  u32 width, height;    // of the source
  u32 left, top, right, bottom;  // the sheet in the source
  u32 bands;
  u32 first_block;      // CUDA blocks of all earlier windows
  u32 tiles;            // CUDA blocks per row of tiles
  u32 flags;
  u32 reserved;
};

struct WarpArgs {
  const WarpWindow* windows;
  u64 src_band;         // bytes from one band, row or column to the next
  u64 src_row;
  u64 src_column;
  u64 valid_row;
  u64 valid_column;
  u64 dst_band;
  u64 dst_row;
  u64 dst_column;
  u32 count;            // number of windows
  u32 method;
  u32 from_kind;        // `ReduceKind` of source samples, and their bytes
  u32 from_size;
  u32 to_kind;
  u32 to_size;
  u32 valid_size;
  u32 flags;
};

static_assert(sizeof(WarpWindow) == 192, "twin of src/steps/warp.rs");
static_assert(sizeof(WarpArgs) == 104, "twin of src/steps/warp.rs");
