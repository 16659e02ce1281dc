// What the host and the kernels agree on: plain structs with fixed sizes, twins of `src/abi.rs`, and the numbers of
// faults, twins of `FaultKind`. Every kernel takes exactly one of the structs named ...Args, by value.
#pragma once
#include "device.h"

// Faults. A decoder that is sure about nothing but "this stream is not plainly right" says CORRUPT: the host then
// decodes that block again and its verdict counts, so no kernel needs to know the tolerated oddities of a codec.
enum Fault : u32 {
  FAULT_NONE = 0,
  FAULT_INPUT_TRUNCATED = 1,
  FAULT_OUTPUT_SHORT = 2,
  FAULT_OUTPUT_SURPLUS = 3,
  FAULT_CHECKSUM = 4,
  FAULT_CORRUPT = 5,
  FAULT_WRONG_SHAPE = 6,
  FAULT_UNSUPPORTED = 7,
  FAULT_PENDING = 0xFFFFFFFFu,  // what the host writes before a launch: a block nobody reported on is a fault
};

// One block to decompress. `encoded` and `decoded` of the arguments are aligned to 256 bytes.
// - The bytes from `src` rounded down to 16, up to 64 bytes past `src + src_len`, may be read: they are initialised, but
//   what lies outside the block means nothing.
// - The bytes of `decoded` from `dst` up to `dst + dst_len` rounded up to 16 belong to this block alone; `dst` is a
//   multiple of 16.
// - `scratch` likewise, as many bytes as the codec asked for, a multiple of 256; nothing in it is initialised.
struct DecodeBlock {
  u64 src;       // offset in `encoded`, any alignment
  u64 dst;       // offset in `decoded`
  u64 scratch;   // offset in `scratch`
  u32 src_len;   // 1 to 2^30
  u32 dst_len;   // exactly so many bytes must come out; 1 to 2^30
  u32 row_len;   // bytes of a packed row
  u32 status;    // index into `statuses`
  u32 samples;   // interleaved samples of a pixel
  u32 type;      // of a sample: DecodeSample
  u64 missing;   // the sample, in its low bytes, where a codec's own mask leaves a pixel out
};

// What a sample is in memory.
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
  u32* statuses;   // a Fault each
  u32* counter;    // 0 at the launch of the first pass, for kernels that take blocks one after the other
  u32 count;       // of blocks
  u32 reserved;
};

static_assert(sizeof(DecodeBlock) == 56, "twin of src/abi.rs");
static_assert(sizeof(DecodeArgs) == 56, "twin of src/abi.rs");
