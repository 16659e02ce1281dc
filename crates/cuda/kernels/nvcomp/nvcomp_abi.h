// What the passes before and after nvCOMP's batched decompressors are told; the twin of `src/vendor/nvcomp/queue.rs`. The six
// lists are nvCOMP's, an entry for each of `decode.blocks`: the first pass writes them all, nvCOMP reads the chunks and
// reports, the last pass judges. Scratch of a block holds its payload, aligned, and no less than 16 bytes.
#pragma once
#include "abi.h"

struct NvcompArgs {
  DecodeArgs decode;
  const u8** sources;  // where a chunk's payload is
  u64* lengths;        // its bytes
  u64* rooms;          // bytes that shall come out
  u64* written;        // bytes that came out
  u8** targets;
  u32* said;           // nvCOMP's status
};

static_assert(sizeof(NvcompArgs) == 104, "twin of src/vendor/nvcomp/queue.rs");
