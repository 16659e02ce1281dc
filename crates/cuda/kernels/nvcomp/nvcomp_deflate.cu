// Deflate with nvCOMP, which takes raw Deflate: the header of a zlib stream is checked and removed first, and its
// Adler-32 is compared with the output afterwards. One CUDA block per image block.
#include "deflate/adler.cuh"
#include "nvcomp/nvcomp.cuh"

// An empty block in fixed codes.
CONSTANT u8 deflate_empty[2] = {0x03, 0x00};
const u32 ZLIB_HEAD = 2, ZLIB_AROUND = 6;

KERNEL(nvcomp_deflate_prepare, NVCOMP_THREADS, NvcompArgs) {
  if (blockIdx.x >= args.decode.count) return;
  const DecodeBlock block = args.decode.blocks[blockIdx.x];
  const u8* src = args.decode.encoded + block.src;
  bool right = block.src_len > ZLIB_AROUND;
  if (right) {
    const u32 method = src[0], flags = src[1];
    right = (method & 15) == 8 && method >> 4 <= 7 && (flags & 32) == 0 && (method << 8 | flags) % 31 == 0;
  }
  const u32 len = right ? block.src_len - ZLIB_AROUND : 0;
  nvcomp_hand_over(args, blockIdx.x, right, src + ZLIB_HEAD, len, deflate_empty, sizeof deflate_empty);
}

KERNEL(nvcomp_deflate_verify, 32, NvcompArgs) {
  if (blockIdx.x >= args.decode.count) return;
  const DecodeBlock block = args.decode.blocks[blockIdx.x];
  u32* status = args.decode.statuses + block.status;
  // The same for all lanes, which have all read it before one of them writes.
  const bool decoded = nvcomp_decoded(args, blockIdx.x, block);
  __syncwarp();
  if (!decoded) {
    if (threadIdx.x == 0) *status = FAULT_CORRUPT;
    return;
  }
  const u8* dst = args.decode.decoded + block.dst;
  AdlerSum sum = {0, 0};
#pragma unroll 4
  for (u32 at = threadIdx.x * LINE; at < block.dst_len; at += 32 * LINE) {
    Line line = *(const Line*)(dst + at);
    const u32 valid = block.dst_len - at;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u32 bytes = valid > 4 * k ? valid - 4 * k : 0;
      if (bytes < 4) line.words[k] &= (1u << 8 * bytes) - 1;
    }
    adler_add(sum, line, at);
  }
  const u32 found = adler_value(sum, block.dst_len);
  if (threadIdx.x != 0) return;
  const u8* end = args.decode.encoded + block.src + block.src_len - 4;
  const u32 expected = (u32)end[0] << 24 | (u32)end[1] << 16 | (u32)end[2] << 8 | end[3];
  *status = found == expected ? FAULT_NONE : FAULT_CHECKSUM;
}
