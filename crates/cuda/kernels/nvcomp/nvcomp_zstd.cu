// ZSTD with nvCOMP: one frame whose header and chain of blocks end where the image block does. A checksum, if the frame
// has one, is compared afterwards. One CUDA block per image block.
#include "nvcomp/nvcomp.cuh"
#include "zstd/zstd_checksum.cuh"

// An empty frame: a single segment of size 0, in one raw block.
CONSTANT u8 zstd_empty[9] = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x00, 0x01, 0x00, 0x00};
const u32 ZSTD_HAS_CHECKSUM = 4;

// Returns whether the whole framing of a frame is correct for `dst_len` bytes. Reads at most as many block headers as
// that many bytes may have.
DEVICE bool zstd_outside_right(const u8* src, u32 src_len, u32 dst_len) {
  if (src_len < 9 || zstd_u32(src) != ZSTD_MAGIC) return false;
  const u32 descriptor = src[4];
  const bool single = (descriptor & 32) != 0;
  const u32 sized = descriptor >> 6;
  // A dictionary or the reserved bit.
  if ((descriptor & 11) != 0) return false;
  const u32 size_len = sized == 0 ? (single ? 1 : 0) : 1u << sized;
  u32 at = 5 + (single ? 0 : 1);
  // The exponent of windows up to 1 GiB.
  if (!single && src[5] >> 3 > 20) return false;
  if (src_len - at < size_len + 3) return false;
  u64 content = 0;
  for (u32 i = 0; i < size_len; ++i) content |= (u64)src[at + i] << 8 * i;
  if (sized == 1) content += 256;
  if (size_len != 0 && content != dst_len) return false;
  at += size_len;
  const u32 most = zstd_most_blocks(dst_len);
#pragma unroll 1
  for (u32 i = 0; i < most; ++i) {
    if (src_len - at < 3) return false;
    const u32 head = zstd_u24(src + at), type = head >> 1 & 3, len = head >> 3;
    const u32 stored = type == ZSTD_RLE ? 1 : len;
    at += 3;
    if (type == 3 || len > ZSTD_BLOCK_MOST || stored > src_len - at) return false;
    at += stored;
    if ((head & 1) != 0) return src_len - at == ((descriptor & ZSTD_HAS_CHECKSUM) != 0 ? 4u : 0u);
  }
  return false;
}

KERNEL(nvcomp_zstd_prepare, NVCOMP_THREADS, NvcompArgs) {
  if (blockIdx.x >= args.decode.count) return;
  const DecodeBlock block = args.decode.blocks[blockIdx.x];
  const u8* src = args.decode.encoded + block.src;
  const bool right = zstd_outside_right(src, block.src_len, block.dst_len);
  nvcomp_hand_over(args, blockIdx.x, right, src, block.src_len, zstd_empty, sizeof zstd_empty);
}

KERNEL(nvcomp_zstd_verify, 32, NvcompArgs) {
  if (blockIdx.x >= args.decode.count) return;
  const DecodeBlock block = args.decode.blocks[blockIdx.x];
  u32* status = args.decode.statuses + block.status;
  // The same for all lanes, which have all read it before one of them writes.
  const bool decoded = nvcomp_decoded(args, blockIdx.x, block);
  __syncwarp();
  u32 verdict = decoded ? FAULT_NONE : FAULT_CORRUPT;
  const u8* src = args.decode.encoded + block.src;
  if (decoded && (src[4] & ZSTD_HAS_CHECKSUM) != 0) {
    const u32 found = zstd_checksum(args.decode.decoded + block.dst, block.dst_len, threadIdx.x);
    if (found != zstd_u32(src + block.src_len - 4)) verdict = FAULT_CHECKSUM;
  }
  if (threadIdx.x == 0) *status = verdict;
}
