// Interface between the host and the kernels: plain structs with fixed sizes, counterparts of `src/abi.rs`, and fault
// numbers, counterparts of `FaultKind`. Every kernel takes exactly one of the structs named ...Args, by value.
#pragma once
#include "device.h"

// Faults. A decoder that only knows that a stream is not plainly correct reports CORRUPT. The host then decodes that
// block again and its result counts, so kernels need not know the oddities that a codec tolerates.
enum Fault : u32 {
  FAULT_NONE = 0,
  FAULT_INPUT_TRUNCATED = 1,
  FAULT_OUTPUT_SHORT = 2,
  FAULT_OUTPUT_SURPLUS = 3,
  FAULT_CHECKSUM = 4,
  FAULT_CORRUPT = 5,
  FAULT_WRONG_SHAPE = 6,
  FAULT_UNSUPPORTED = 7,
  FAULT_PENDING = 0xFFFFFFFFu,  // written by the host before a launch: a block without a report is a fault
};

// One block to decompress. `encoded` and `decoded` of the arguments are aligned to 256 bytes.
// - The bytes from `src` rounded down to 16, up to 64 bytes past `src + src_len`, may be read: they are initialised,
//   but bytes outside the block have no meaning.
// - The bytes of `decoded` from `dst` up to `dst + dst_len` rounded up to 16 belong to this block alone; `dst` is a
//   multiple of 16.
// - `scratch` likewise: as many bytes as the codec requested, a multiple of 256, uninitialised.
struct DecodeBlock {
  u64 src;       // offset in `encoded`, any alignment
  u64 dst;       // offset in `decoded`
  u64 scratch;   // offset in `scratch`
  u32 src_len;   // 1 to 2^30
  u32 dst_len;   // exact decoded size; 1 to 2^30
  u32 row_len;   // bytes per packed row
  u32 status;    // index into `statuses`
  u32 samples;   // interleaved samples per pixel
  u32 type;      // sample type: DecodeSample
  u64 missing;   // sample, in its low bytes, for pixels that a codec's own mask excludes
};

// Sample types in memory.
enum DecodeSample : u32 {
  SAMPLE_I8 = 0,
  SAMPLE_U8 = 1,
  SAMPLE_I16 = 2,
  SAMPLE_U16 = 3,
  SAMPLE_I32 = 4,
  SAMPLE_U32 = 5,
  SAMPLE_F32 = 6,
  SAMPLE_F64 = 7,
  SAMPLE_OTHER = 8,
};

struct DecodeArgs {
  const u8* encoded;
  u8* decoded;
  u8* scratch;
  const DecodeBlock* blocks;
  u32* statuses;   // one Fault each
  u32* counter;    // 0 at the launch of the first pass, for kernels that take blocks in turn
  u32 count;       // number of blocks
  u32 reserved;
};

static_assert(sizeof(DecodeBlock) == 56, "twin of src/abi.rs");
static_assert(sizeof(DecodeArgs) == 56, "twin of src/abi.rs");
