// A blob inside another codec's stream: its place in the scratch of its block, and its maximum length.
//
// Scratch of a block: a head, the blob, then the scratch of the outer codec, which the mask reuses afterwards.
#pragma once
#include "lerc/lerc_tile.cuh"

namespace lerc {

const u32 HEAD = 256;

struct Around {
  u32 len;  // of the blob
};

// The longest blob: raw samples, a mask, ranges and a header. The host handles longer ones.
DEVICE u32 longest(u32 dst_len) { return dst_len + dst_len / 8 + 1024; }

// Space for a blob, including the bytes that may be read behind it.
DEVICE u32 blob_room(u32 dst_len) { return (longest(dst_len) + 64 + 255) & ~255u; }

DEVICE Around* around_of(const DecodeArgs& args, const DecodeBlock& block) {
  return (Around*)(args.scratch + block.scratch);
}

DEVICE u8* blob_of(const DecodeArgs& args, const DecodeBlock& block) { return args.scratch + block.scratch + HEAD; }

// Scratch of the outer codec.
DEVICE u8* inner_scratch(const DecodeArgs& args, const DecodeBlock& block) {
  return blob_of(args, block) + blob_room(block.dst_len);
}

// The last pass: decodes the blob if the earlier passes unpacked it completely.
DEVICE void decode_around(Shared& shared, const DecodeArgs& args) {
  const DecodeBlock block = args.blocks[blockIdx.x];
  if (args.statuses[block.status] != FAULT_NONE) return;
  const u32 len = around_of(args, block)->len;
  u8* mask = inner_scratch(args, block);
  const u32 fault = decode(shared, blob_of(args, block), len, block, args.decoded + block.dst, mask);
  // All threads have read the status by now: the decoder has barriers.
  if (threadIdx.x == 0) args.statuses[block.status] = fault;
}

}  // namespace lerc
