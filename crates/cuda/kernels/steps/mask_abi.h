// What the host and `mask.cu` agree on; twins of `src/steps/mask.rs`. The rule is in `mask.rs` of the engine crate.
#pragma once
#include "device.h"

const u32 MASK_THREADS = 256;
const u32 MASK_NONE_SPARED = 0xFFFFFFFF;

// The bands of the output that one band of the masks belongs to.
struct MaskWindow {
  u32 first_band;
  u32 bands;
  u32 spared;  // a band of the output that stays as it is, or MASK_NONE_SPARED
  u32 reserved;
};

struct MaskArgs {
  const MaskWindow* windows;
  const u8* masks;   // the first sample of the first mask
  u8* dst;
  u64 mask_band;     // bytes from band to band
  u64 mask_row;
  u64 mask_column;
  u64 dst_band;
  u64 dst_row;
  u64 dst_column;
  u64 value[2];      // bytes of a sample
  u32 columns, rows; // fewer than 2^31 pixels
  u32 tiles;         // CUDA blocks of a window, of MASK_THREADS pixels; the grid has those of all windows
  u32 mask_size;     // bytes of a sample of the masks
  u32 size;          // bytes of a sample of the output
  u32 reserved;
};

static_assert(sizeof(MaskWindow) == 16, "twin of src/steps/mask.rs");
static_assert(sizeof(MaskArgs) == 112, "twin of src/steps/mask.rs");
