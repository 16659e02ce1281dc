// LERC inside ZSTD: the ZSTD passes unpack the blob, which the last pass decodes. Frames that do not state their size
// are left to the host.
#include "lerc/lerc_around.cuh"
#include "zstd/zstd_passes.cuh"

KERNEL(lerc_zstd_scan, 32, DecodeArgs) {
  if (threadIdx.x != 0) return;
  const DecodeBlock block = args.blocks[blockIdx.x];
  const u8* src = args.encoded + block.src;
  u8* scratch = lerc::inner_scratch(args, block);
  ZstdHead head;
  const bool begins = block.src_len >= 4 && zstd_u32(src) == ZSTD_MAGIC && zstd_head(src, block.src_len, head);
  if (!begins || !head.sized || head.content == 0 || head.content > lerc::longest(block.dst_len)) {
    *(ZstdTile*)scratch = ZstdTile{0, FAULT_CORRUPT, 0, {}};
    return;
  }
  lerc::around_of(args, block)->len = (u32)head.content;
  zstd_scan_pass(src, block.src_len, (u32)head.content, scratch);
}

KERNEL_RESIDENT(lerc_zstd_entropy, 64, 16, DecodeArgs) {
  SHARED(ZstdEntropy, shared);
  const DecodeBlock block = args.blocks[blockIdx.x % args.count];
  zstd_entropy_pass(shared, args.encoded + block.src, lerc::inner_scratch(args, block));
}

KERNEL_RESIDENT(lerc_zstd_execute, 128, 8, DecodeArgs) {
  SHARED(ZstdExecution<ZstdShape<4>>, execution);
  const DecodeBlock block = args.blocks[blockIdx.x];
  const u8* scratch = lerc::inner_scratch(args, block);
  // Unset, and unused, if the first pass found a fault.
  const u32 len = lerc::around_of(args, block)->len;
  const u32 fault = zstd_execute_tile(execution, args.encoded + block.src, lerc::blob_of(args, block), len, scratch,
                                      threadIdx.x);
  if (threadIdx.x == 0) args.statuses[block.status] = fault;
}

KERNEL_RESIDENT(lerc_zstd_decode, 128, 6, DecodeArgs) {
  SHARED(lerc::Shared, shared);
  lerc::decode_around(shared, args);
}
