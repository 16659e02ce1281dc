// Shared by Deflate and ZSTD with nvCOMP: passing a chunk to it, and checking its result.
//
// nvCOMP's behaviour on invalid streams is undefined, and a batch is one call: a block whose framing is not plainly
// correct is passed as an empty stream, and is a fault regardless of nvCOMP's result.
#pragma once
#include "copy.cuh"
#include "nvcomp/nvcomp_abi.h"

const u32 NVCOMP_THREADS = 128;

// Passes `len` bytes at `payload` to nvCOMP, or the empty stream if the block is not `right`. Called by all threads.
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

// Returns whether nvCOMP decompressed a block to exactly its size. A block that was rejected before stays rejected.
DEVICE bool nvcomp_decoded(const NvcompArgs& args, u32 index, const DecodeBlock& block) {
  if (args.decode.statuses[block.status] != FAULT_PENDING) return false;
  return args.said[index] == 0 && args.written[index] == block.dst_len;
}
