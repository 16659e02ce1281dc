// Interface between the host and `finish.cu`; counterparts of `src/steps/finish.rs`. The rules are in `finish.rs` of
// the engine crate.
#pragma once
#include "device.h"

const u32 FINISH_THREADS = 256;
const u32 FINISH_SIDE = 32;  // rows and columns of pixels per CUDA block

// Changes of samples.
enum FinishChange : u32 {
  FINISH_AS_IS = 0,
  FINISH_INVERT = 1,    // the bits of `mask` are flipped
  FINISH_NOT_ZERO = 2,  // 0, or 255 if any byte is not 0
  FINISH_ALPHA_16 = 3,  // 16 bits scaled to 8; values above 0 stay above 0
  FINISH_DIFFERS = 4,   // 0 if (bits & mask) - low is at most span in all bands, else 255
};

enum FinishFlag : u32 {
  FINISH_SWAP = 1,          // rows become columns
  FINISH_FLIP_ROWS = 2,     // the last row of pixels comes first
  FINISH_FLIP_COLUMNS = 4,
  FINISH_UNALIGNED = 8,     // samples are not aligned to their size
};

struct FinishArgs {
  const u8* src;      // the first sample of the pixels
  u8* dst;            // first sample of the result; the same address if done in place
  u64 src_band;       // bytes from one band to the next
  u64 src_row;
  u64 src_column;
  u64 dst_band;
  u64 dst_row;
  u64 dst_column;
  u64 mask;           // of the bits flipped or compared
  u64 low;
  u64 span;
  u32 columns, rows;  // of the pixels: fewer than 2^31
  u32 across;         // number of CUDA blocks across
  u32 tiles;          // CUDA blocks per band of the result; the grid covers all bands
  u32 bands;          // source bands that make one band of the result
  u32 size;           // bytes per source sample
  u32 counts;         // bytes per sample that are compared
  u32 to_size;        // bytes per sample of the result
  u32 change;
  u32 flags;
};

static_assert(sizeof(FinishArgs) == 128, "twin of src/steps/finish.rs");
