// Interface between the host and `assemble.cu`: counterparts of `src/encode/assemble.rs`.
#pragma once
#include "abi.h"

// A rectangle of samples to copy from one image into another. Samples without gaps on both sides are passed as bytes.
struct AssembleItem {
  u64 src;             // device address of its first sample
  u64 dst;
  u64 src_strides[3];  // bytes from band to band, row to row, column to column
  u64 dst_strides[3];
  u32 bands;
  u32 rows;
  u32 columns;
  u32 size;            // bytes per sample: 1, 2, 4, 8 or 16
  u32 mask;            // not 0: each sample becomes one byte, 1 if any of its bytes is not 0
  u32 reserved;
};

struct AssembleArgs {
  const AssembleItem* items;
  u32 count;  // the grid is (count, parts)
  u32 reserved;
};

static_assert(sizeof(AssembleItem) == 88, "twin of src/encode/assemble.rs");
static_assert(sizeof(AssembleArgs) == 16, "twin of src/encode/assemble.rs");
