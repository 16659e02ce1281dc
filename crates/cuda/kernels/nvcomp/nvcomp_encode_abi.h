// What the passes before and after nvCOMP's batched compressors are told; the twin of `src/vendor/nvcomp/compress.rs`. The five
// lists are nvCOMP's, an entry for each of `encode.blocks`. With `zlib` a block's `dst` is two bytes before a multiple of
// 16: the stream that nvCOMP makes begins behind the header.
#pragma once
#include "encode_abi.h"

// No status of nvCOMP.
constexpr u32 NVCOMP_SAID_NOTHING = 0xFFFFFFFFu;

struct NvcompEncodeArgs {
  EncodeArgs encode;
  const u8** sources;  // packed bytes of a block
  u64* lengths;
  u8** targets;
  u64* written;        // bytes that came out
  u32* said;           // nvCOMP's status
  u32 zlib;            // not 0: header and Adler-32 are put around
  u32 reserved;
};

static_assert(sizeof(NvcompEncodeArgs) == 112, "twin of src/vendor/nvcomp/compress.rs");
