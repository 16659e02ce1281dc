// Deflate and ZSTD with nvCOMP's batched compressors: `nvcomp_encode_prepare` fills the lists that they read,
// `nvcomp_encode_finish` adds the zlib framing around raw Deflate and reports. The former uses one thread per image
// block, the latter one CUDA block.
#include "deflate/adler.cuh"
#include "matches/match_abi.h"
#include "nvcomp/nvcomp_encode_abi.h"

const u32 FINISH_THREADS = 256;
const u32 ZLIB_HEAD = 2, ZLIB_TAIL = 4;

// A block without bytes is passed as its first byte: the lists have one entry per block, and a compressor may not
// support empty chunks.
KERNEL(nvcomp_encode_prepare, 128, NvcompEncodeArgs) {
  const u32 i = blockIdx.x * 128 + threadIdx.x;
  if (i >= args.encode.count) return;
  const EncodeBlock& block = args.encode.blocks[i];
  args.sources[i] = args.encode.packed + block.src;
  args.lengths[i] = has_bytes(args.encode, block) ? block.len : 1;
  args.targets[i] = args.encode.slab + block.dst + (args.zlib != 0 ? ZLIB_HEAD : 0);
  args.written[i] = 0;
  args.said[i] = NVCOMP_SAID_NOTHING;
}

// The Adler-32 of a block's packed bytes, in the first thread; called by all threads.
DEVICE u32 packed_adler(const EncodeArgs& args, const EncodeBlock& block, AdlerPart* parts) {
  const u8* packed = args.packed + block.src;
  AdlerSum sum = {0, 0};
#pragma unroll 2
  for (u32 at = threadIdx.x * LINE; at < block.len; at += FINISH_THREADS * LINE) {
    Line line = *(const Line*)(packed + at);
    const u32 valid = block.len - at;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u32 bytes = valid > 4 * k ? valid - 4 * k : 0;
      if (bytes < 4) line.words[k] &= (1u << 8 * bytes) - 1;
    }
    adler_add(sum, line, at);
  }
  __syncwarp();
  const AdlerPart part = adler_part(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  AdlerPart all = {0, 0};
  for (u32 k = 0; k < FINISH_THREADS / 32; ++k) {
    all.bytes += parts[k].bytes % 65521u;
    all.weighted += parts[k].weighted % 65521u;
  }
  return adler_join(all, block.len);
}

// A block that nvCOMP did not compress stays ENCODE_PACKED, which is an error of the job.
KERNEL(nvcomp_encode_finish, FINISH_THREADS, NvcompEncodeArgs) {
  SHARED(AdlerPart, parts[FINISH_THREADS / 32]);
  const EncodeBlock block = args.encode.blocks[blockIdx.x];
  const u64 written = args.written[blockIdx.x];
  const u32 around = args.zlib != 0 ? ZLIB_HEAD + ZLIB_TAIL : 0;
  const bool made = args.said[blockIdx.x] == 0 && written != 0 && written <= block.room - around;
  if (!made || args.encode.states[block.index] != ENCODE_PACKED) return;
  u32 adler = 0;
  if (args.zlib != 0) adler = packed_adler(args.encode, block, parts);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (args.zlib != 0) {
    u8* out = args.encode.slab + block.dst;
    out[0] = 0x78;
    out[1] = 0x9C;
    for (u32 k = 0; k < ZLIB_TAIL; ++k) out[ZLIB_HEAD + written + k] = (u8)(adler >> (24 - 8 * k));
  }
  args.encode.sizes[block.index] = (u32)written + around;
  args.encode.states[block.index] = ENCODE_DONE;
}
