// Interface between the host and `gather.cu`: counterparts of `src/decode/gather.rs`.
#pragma once
#include "abi.h"

// Bytes that a CUDA block copies at a time.
const u32 GATHER_PIECE = 16384;

// One block to copy. Bytes before its first byte, back to a multiple of 16, may be read.
struct GatherItem {
  u64 src;  // offset in `src`, any alignment
  u64 dst;  // offset in `dst`, any alignment
  u64 len;  // may be 0
};

struct GatherArgs {
  const u8* src;
  u8* dst;
  const GatherItem* items;
  u32 count;
  u32 reserved;
};

static_assert(sizeof(GatherItem) == 24, "twin of src/decode/gather.rs");
static_assert(sizeof(GatherArgs) == 32, "twin of src/decode/gather.rs");
