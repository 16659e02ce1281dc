// Interface between the host and `resample.cu`; counterparts of `src/steps/resample.rs`. The arithmetic is in
// `resample.rs` of the engine crate.
#pragma once
#include "device.h"

// The methods, in the order of `Sampling`.
enum ResampleMethod : u32 {
  RESAMPLE_NEAREST = 0,
  RESAMPLE_BILINEAR = 1,
  RESAMPLE_AVERAGE = 2,
};

enum ResampleFlag : u32 {
  RESAMPLE_HAS_NODATA = 1,  // of a window
  RESAMPLE_UNALIGNED = 1,   // of a launch: samples are not aligned to their size
};

const u32 RESAMPLE_THREADS = 256;
const u32 RESAMPLE_PIECE = 256;  // pixels of a row that are summed separately

// How one window is made.
struct ResampleWindow {
  double left, top, width, height;  // requested rectangle, in pixels from the window's first one; all finite,
                                    // width and height above 0
  u64 fill[2];                      // bytes of a sample
  u64 nodata;                       // bits of a sample
  u32 columns, rows;                // columns and rows of source pixels of the window
  u32 flags;
  u32 reserved;
};

struct ResampleArgs {
  const ResampleWindow* windows;
  const u8* src;       // the first sample of the first window
  u8* dst;
  u64 src_band;        // bytes from one band to the next, over all windows
  u64 src_row;
  u64 src_column;
  u64 dst_band;
  u64 dst_row;
  u64 dst_column;
  u32 bands;           // per window
  u32 columns, rows;   // of a result: fewer than 2^31 pixels
  // CUDA blocks per window, of RESAMPLE_THREADS pixels or, if wide, one; the grid covers all windows
  u32 tiles;
  u32 method;
  u32 kind;            // `ReduceKind`
  u32 size;            // bytes per sample
  u32 flags;
};

static_assert(sizeof(ResampleWindow) == 72, "twin of src/steps/resample.rs");
static_assert(sizeof(ResampleArgs) == 104, "twin of src/steps/resample.rs");
