// Arguments of the passes before and after nvCOMP's batched compressors; the counterpart of
// `src/vendor/nvcomp/compress.rs`. The five lists are nvCOMP's, one entry per `encode.blocks`. With `zlib`, a block's
// `dst` is two bytes before a multiple of 16: the stream that nvCOMP makes begins behind the header.
#pragma once
#include "encode_abi.h"

// Not a status of nvCOMP.
constexpr u32 NVCOMP_SAID_NOTHING = 0xFFFFFFFFu;

struct NvcompEncodeArgs {
  EncodeArgs encode;
  const u8** sources;  // packed bytes of a block
  u64* lengths;
  u8** targets;
  u64* written;        // output bytes
  u32* said;           // nvCOMP's status
  u32 zlib;            // not 0: add the zlib header and Adler-32
  u32 reserved;
};

static_assert(sizeof(NvcompEncodeArgs) == 112, "twin of src/vendor/nvcomp/compress.rs");
