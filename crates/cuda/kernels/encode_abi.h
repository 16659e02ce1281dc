// Interface between the host and the encoding kernels; counterparts of `src/encode/abi.rs`. A batch of blocks goes
// through passes, one launch each: first `cut`, which makes the packed bytes of all blocks, then those of the codec,
// then `compact`.
#pragma once
#include "device.h"

// State of a block.
enum EncodeState : u32 {
  ENCODE_DONE = 0,                // its bytes are in the slab; `sizes` has their number
  ENCODE_PACKED = 1,              // cut, not compressed yet
  ENCODE_SPARSE = 2,              // all samples equal the fill: it has no bytes, and later passes skip it
  // a value does not fit its sample type: it has no bytes, and the host reports the value
  ENCODE_UNFIT = 3,
  ENCODE_PENDING = 0xFFFFFFFFu,   // written by the host before the first pass: no report yet
};

// Bytes behind a block's packed bytes, rounded up to 16, that `cut` sets to 0.
constexpr u32 ENCODE_SLACK = 64;

// One block to compress. `packed`, `slab` and `scratch` of the arguments are aligned to 256 bytes.
// - The bytes of `packed` from `src` to `src + len` are its packed bytes; ENCODE_SLACK more may be read but have no
//   meaning.
// - The bytes of `slab` from `dst` to `dst + room` belong to this block alone. They are 0 before the first pass of a
//   codec that requests it, else uninitialised. `room` is at least the codec's bound.
// - `scratch` likewise: as many bytes as the codec requested, uninitialised.
struct EncodeBlock {
  u64 src;      // offset in `packed`, a multiple of 16
  u64 dst;      // offset in `slab`, a multiple of 16
  u64 scratch;  // offset in `scratch`, a multiple of 256
  u32 len;      // packed bytes, 1 to 2^30
  u32 room;     // its bytes of the slab, a multiple of 16
  u32 row_len;  // bytes per packed row
  u32 unit;     // bytes per pixel
  u32 index;    // index into `states` and `sizes`
  u32 reserved;
};

// The same for every pass of every codec. A launch has the grid (count, parts): blockIdx.x is the block. If a pass
// works on parts of a block, blockIdx.y is the part; parts past the end of the block do nothing.
struct EncodeArgs {
  const u8* packed;
  u8* slab;
  u8* scratch;
  const EncodeBlock* blocks;
  u32* states;   // one EncodeState each
  u32* sizes;    // bytes in the slab, written together with ENCODE_DONE by the last pass of a codec
  u32 count;     // number of blocks
  u32 depth;     // effort, see `portable/spec.md`
  u32 nice;
  u32 lazy;
};

static_assert(sizeof(EncodeBlock) == 48, "twin of src/encode/abi.rs");
static_assert(sizeof(EncodeArgs) == 64, "twin of src/encode/abi.rs");
