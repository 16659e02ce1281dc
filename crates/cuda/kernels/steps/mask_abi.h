// Interface between the host and `mask.cu`; counterparts of `src/steps/mask.rs`. The rules are in `mask.rs` of the
// engine crate.
#pragma once
#include "device.h"

const u32 MASK_THREADS = 256;
const u32 MASK_NONE_SPARED = 0xFFFFFFFF;

// The output bands that share one mask band.
struct MaskWindow {
  u32 first_band;
  u32 bands;
  u32 spared;  // an output band that is left unchanged, or MASK_NONE_SPARED
  u32 reserved;
};

struct MaskArgs {
  const MaskWindow* windows;
  const u8* masks;   // the first sample of the first mask
  u8* dst;
  u64 mask_band;     // bytes from one band to the next
  u64 mask_row;
  u64 mask_column;
  u64 dst_band;
  u64 dst_row;
  u64 dst_column;
  u64 value[2];      // bytes of a sample
  u32 columns, rows; // fewer than 2^31 pixels
  u32 tiles;         // CUDA blocks per window, of MASK_THREADS pixels each; the grid covers all windows
  u32 mask_size;     // bytes per sample of the masks
  u32 size;          // bytes per sample of the output
  u32 reserved;
};

static_assert(sizeof(MaskWindow) == 16, "twin of src/steps/mask.rs");
static_assert(sizeof(MaskArgs) == 112, "twin of src/steps/mask.rs");
