// What Deflate and ZSTD by nvCOMP have in common: handing a chunk over, and the part of the verdict that is nvCOMP's.
//
// nvCOMP's behaviour on streams that are not right is undefined, and a batch is one call: a block whose outside is not
// plainly right is handed over as an empty stream, and is a fault whatever nvCOMP says.
#pragma once
#include "copy.cuh"
#include "nvcomp/nvcomp_abi.h"

const u32 NVCOMP_THREADS = 128;

// Hands over `len` bytes at `payload`, or where the block is not `right` the empty stream. All threads call it.
DEVICE void nvcomp_hand_over(const NvcompArgs& args, u32 index, bool right, const u8* payload, u32 len,
                             const u8* empty, u32 empty_len) {
  const DecodeBlock block = args.decode.blocks[index];
  u8* to = args.decode.scratch + block.scratch;
  if (right) {
    copy_bytes<NVCOMP_THREADS>(to, payload, len, threadIdx.x);
  } else if (threadIdx.x < empty_len) {
    to[threadIdx.x] = empty[threadIdx.x];
  }
  if (threadIdx.x != 0) return;
  args.sources[index] = to;
  args.lengths[index] = right ? len : empty_len;
  args.rooms[index] = block.dst_len;
  args.written[index] = 0;
  args.targets[index] = args.decode.decoded + block.dst;
  args.said[index] = FAULT_PENDING;
  if (!right) args.decode.statuses[block.status] = FAULT_CORRUPT;
}

// Whether nvCOMP decompressed a block that was handed over, to exactly its bytes. What was refused before stays so.
DEVICE bool nvcomp_decoded(const NvcompArgs& args, u32 index, const DecodeBlock& block) {
  if (args.decode.statuses[block.status] != FAULT_PENDING) return false;
  return args.said[index] == 0 && args.written[index] == block.dst_len;
}
