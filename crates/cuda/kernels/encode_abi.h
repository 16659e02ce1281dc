// What the host and the kernels that write agree on; twins of `src/encode/abi.rs`. A batch of blocks goes through passes, every
// pass a launch: first `cut`, which makes the packed bytes of all blocks, then those of the codec, then `compact`.
#pragma once
#include "device.h"

// What became of a block.
enum EncodeState : u32 {
  ENCODE_DONE = 0,                // its bytes are in the slab, as many as `sizes` says
  ENCODE_PACKED = 1,              // cut; not compressed yet
  ENCODE_SPARSE = 2,              // all samples are the fill: it has no bytes, later passes leave it alone
  ENCODE_UNFIT = 3,               // a value has no place in its sample: it has no bytes, and the host says which value
  ENCODE_PENDING = 0xFFFFFFFFu,   // what the host writes before the first pass: nobody reported on it
};

// Bytes behind a block's packed bytes, rounded up to 16, that `cut` makes 0.
constexpr u32 ENCODE_SLACK = 64;

// One block to compress. `packed`, `slab` and `scratch` of the arguments are aligned to 256 bytes.
// - The bytes of `packed` from `src` to `src + len` are its packed bytes; ENCODE_SLACK more may be read and mean nothing.
// - The bytes of `slab` from `dst` to `dst + room` belong to this block alone, 0 before the first pass of a codec that asks for
//   that, else uninitialised; `room` is at least the codec's bound.
// - `scratch` likewise, as many bytes as the codec asked for, uninitialised.
struct EncodeBlock {
  u64 src;      // offset in `packed`, a multiple of 16
  u64 dst;      // offset in `slab`, a multiple of 16
  u64 scratch;  // offset in `scratch`, a multiple of 256
  u32 len;      // packed bytes, 1 to 2^30
  u32 room;     // bytes of the slab, a multiple of 16
  u32 row_len;  // bytes of a packed row
  u32 unit;     // bytes of a pixel
  u32 index;    // into `states` and `sizes`
  u32 reserved;
};

// The same for every pass of every codec. A launch has the grid (count, parts): blockIdx.x is the block; where a pass works on
// parts of a block, blockIdx.y is the part, and those past the end of the block do nothing.
struct EncodeArgs {
  const u8* packed;
  u8* slab;
  u8* scratch;
  const EncodeBlock* blocks;
  u32* states;   // an EncodeState each
  u32* sizes;    // bytes in the slab, written by the last pass of a codec together with ENCODE_DONE
  u32 count;     // of blocks
  u32 depth;     // efforts of `portable/spec.md`
  u32 nice;
  u32 lazy;
};

static_assert(sizeof(EncodeBlock) == 48, "twin of src/encode/abi.rs");
static_assert(sizeof(EncodeArgs) == 64, "twin of src/encode/abi.rs");
