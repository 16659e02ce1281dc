// Interface between the host and `compact.cu`: counterparts of `src/encode/compact.rs`.
#pragma once
#include "encode_abi.h"

// Bytes that a CUDA block copies at a time.
const u32 COMPACT_PIECE = 16384;

// Head of the table.
struct CompactHead {
  u64 total;  // total bytes of all blocks
  u64 reserved;
};

// Table entry of the block of each index.
struct CompactEntry {
  u64 offset;  // sum of all sizes before it
  u32 size;    // 0 if its state is not ENCODE_DONE
  u32 state;
};

struct CompactArgs {
  const u8* slab;
  const EncodeBlock* blocks;  // in any order; `index`, `dst` and `room` are used
  const u32* states;
  const u32* sizes;           // sizes of blocks that are ENCODE_DONE
  u8* table;                  // a CompactHead, then `count` CompactEntry; a multiple of 16
  u8* out;                    // a multiple of 16
  u64 room;                   // bytes available there; if less than the total, nothing is copied
  u32 count;                  // number of states and sizes
  u32 blocks_count;
};

static_assert(sizeof(CompactHead) == 16 && sizeof(CompactEntry) == 16, "twins of src/encode/compact.rs");
static_assert(sizeof(CompactArgs) == 64, "twin of src/encode/compact.rs");
