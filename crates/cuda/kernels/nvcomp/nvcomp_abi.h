// Arguments of the passes before and after nvCOMP's batched decompressors; the counterpart of
// `src/vendor/nvcomp/queue.rs`. The six lists are nvCOMP's, one entry per `decode.blocks`: the first pass writes them
// all, nvCOMP reads the chunks and reports, the last pass checks. The scratch of a block holds its payload, aligned,
// and at least 16 bytes.
#pragma once
#include "abi.h"

struct NvcompArgs {
  DecodeArgs decode;
  const u8** sources;  // address of a chunk's payload
  u64* lengths;        // bytes of the payload
  u64* rooms;          // expected output bytes
  u64* written;        // actual output bytes
  u8** targets;
  u32* said;           // nvCOMP's status
};

static_assert(sizeof(NvcompArgs) == 104, "twin of src/vendor/nvcomp/queue.rs");
