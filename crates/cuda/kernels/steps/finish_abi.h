// What the host and `finish.cu` agree on; twins of `src/steps/finish.rs`. The rule is in `finish.rs` of the engine crate.
#pragma once
#include "device.h"

const u32 FINISH_THREADS = 256;
const u32 FINISH_SIDE = 32;  // rows and columns of the pixels that a CUDA block has

// What becomes of samples.
enum FinishChange : u32 {
  FINISH_AS_IS = 0,
  FINISH_INVERT = 1,    // the bits of `mask` are flipped
  FINISH_NOT_ZERO = 2,  // 0, or 255 where a byte is not 0
  FINISH_ALPHA_16 = 3,  // 16 bits scaled to 8; above 0 they stay above 0
  FINISH_DIFFERS = 4,   // 0 where (bits & mask) - low is at most span in all bands, else 255
};

enum FinishFlag : u32 {
  FINISH_SWAP = 1,          // rows become columns
  FINISH_FLIP_ROWS = 2,     // the last row of the pixels comes first
  FINISH_FLIP_COLUMNS = 4,
  FINISH_UNALIGNED = 8,     // samples do not lie at multiples of their size
};

struct FinishArgs {
  const u8* src;      // the first sample of the pixels
  u8* dst;            // that of the result; the same where it is done in place
  u64 src_band;       // bytes from band to band
  u64 src_row;
  u64 src_column;
  u64 dst_band;
  u64 dst_row;
  u64 dst_column;
  u64 mask;           // of what is flipped or compared
  u64 low;
  u64 span;
  u32 columns, rows;  // of the pixels: fewer than 2^31
  u32 across;         // CUDA blocks beside each other
  u32 tiles;          // CUDA blocks of a band of the result; the grid has those of all
  u32 bands;          // of the pixels that make one band of the result
  u32 size;           // bytes of a sample of the pixels
  u32 counts;         // bytes of a sample that are compared
  u32 to_size;        // bytes of a sample of the result
  u32 change;
  u32 flags;
};

static_assert(sizeof(FinishArgs) == 128, "twin of src/steps/finish.rs");
