// What the host and `compact.cu` agree on: twins of `src/encode/compact.rs`.
#pragma once
#include "encode_abi.h"

// Bytes that a CUDA block copies at a time.
const u32 COMPACT_PIECE = 16384;

// What the table begins with.
struct CompactHead {
  u64 total;  // bytes of all blocks together
  u64 reserved;
};

// What the table says of the block of each index.
struct CompactEntry {
  u64 offset;  // the sum of all sizes before
  u32 size;    // 0 where its state is not ENCODE_DONE
  u32 state;
};

struct CompactArgs {
  const u8* slab;
  const EncodeBlock* blocks;  // in any order; what `dst` and `room` say is read
  const u32* states;
  const u32* sizes;           // of blocks that are ENCODE_DONE
  u8* table;                  // a CompactHead, then `count` times a CompactEntry; a multiple of 16
  u8* out;                    // a multiple of 16
  u64 room;                   // bytes there; where they are less than the total, nothing is copied
  u32 count;                  // of states and sizes
  u32 blocks_count;
};

static_assert(sizeof(CompactHead) == 16 && sizeof(CompactEntry) == 16, "twins of src/encode/compact.rs");
static_assert(sizeof(CompactArgs) == 64, "twin of src/encode/compact.rs");
