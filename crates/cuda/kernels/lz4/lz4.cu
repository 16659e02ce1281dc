// LZ4, as a bare block or as a frame: one CUDA block per image block, window by window of its input.
//
// Left to the host, by a fault: frames with checksums of blocks or of the content, with a dictionary, or followed by
// other bytes; everything that is not plainly correct.
#include "lz4/lz4_alone.cuh"
#include "lz4/lz4_emit.cuh"
#include "lz4/lz4_frame.cuh"

namespace lz4 {

// Decodes an LZ4 block; returns false for a fault. Called by all threads, which return the same.
template <u32 THREADS>
DEVICE bool decode_block(Shared<THREADS>& shared, Walk& walk) {
  for (;;) {
    const u32 start = u32(u64(walk.src + walk.at) % LINE);
    const u32 rest = start + (walk.stop - walk.at), limit = min(rest, Shared<THREADS>::STAGED);
    const u32 stop = rest == limit ? rest : NOT_HERE;
    stage(shared, walk.src + walk.at - start, limit);
    bool ended = false;
    if (token_at((const u8*)shared.lines, start, limit, stop).next == start) {
      if (!take_alone<THREADS>(walk, ended)) return false;
    } else {
      if (stop == NOT_HERE) find_next<true>(shared, limit, stop);
      else find_next<false>(shared, limit, stop);
      find_exits(shared, stop);
      const Chain chain = follow(shared, start);
      const Totals totals = list_tokens(shared, walk, chain.own, limit, stop);
      if (totals.bytes > walk.limit - walk.output) return false;
      __syncthreads();
      if (shared.fault != 0) return false;
      ended = shared.ended != 0;
      emit(shared, walk.src + walk.at - start, walk.dst, totals.tokens);
      walk.at += chain.end - start;
      walk.output += totals.bytes;
    }
    // No thread reads the window any more.
    __syncthreads();
    if (ended) return true;
  }
}

// Decodes an image block: LZ4 blocks one after the other, or a bare one. One loop, so that their decoder is compiled
// once.
template <u32 THREADS>
DEVICE u32 decode_all(Shared<THREADS>& shared, const u8* src, u32 src_len, u8* dst, u32 dst_len) {
  const bool framed = src_len >= 4 && little_u32(src) == FRAME_MAGIC;
  const Frame frame = framed ? frame_header(src, src_len, dst_len) : Frame{0, dst_len, false, true};
  if (!frame.plain) return FAULT_CORRUPT;
  u32 at = frame.body, output = 0;
  for (;;) {
    u32 size = src_len;
    if (framed) {
      if (src_len - at < 4) return FAULT_INPUT_TRUNCATED;
      const u32 word = little_u32(src + at);
      at += 4;
      if (word == 0) break;
      size = word & 0x7FFFFFFFu;
      if (size == 0 || size > frame.block_most) return FAULT_CORRUPT;
      if (size > src_len - at) return FAULT_INPUT_TRUNCATED;
      if (word != size) {
        if (size > dst_len - output) return FAULT_OUTPUT_SURPLUS;
        copy_bytes<THREADS>(dst + output, src + at, size, threadIdx.x);
        output += size;
        at += size;
        continue;
      }
    }
    const u32 limit = dst_len - output < frame.block_most ? dst_len : output + frame.block_most;
    Walk walk = {src, dst, at, at + size, output, limit, frame.independent ? output : 0};
    if (!decode_block(shared, walk) || walk.output == output) return FAULT_CORRUPT;
    output = walk.output;
    at += size;
    if (!framed) break;
  }
  if (at != src_len) return FAULT_CORRUPT;
  return output == dst_len ? FAULT_NONE : FAULT_OUTPUT_SHORT;
}

template <u32 THREADS>
DEVICE void decode(Shared<THREADS>& shared, const DecodeArgs& args) {
  if (blockIdx.x >= args.count) return;
  const DecodeBlock block = args.blocks[blockIdx.x];
  const u32 fault =
      decode_all(shared, args.encoded + block.src, block.src_len, args.decoded + block.dst, block.dst_len);
  if (threadIdx.x == 0) args.statuses[block.status] = fault;
}

}  // namespace lz4

KERNEL_RESIDENT(lz4_128, 128, 8, DecodeArgs) {
  SHARED(lz4::Shared<128>, shared);
  lz4::decode(shared, args);
}

KERNEL_RESIDENT(lz4_256, 256, 4, DecodeArgs) {
  SHARED(lz4::Shared<256>, shared);
  lz4::decode(shared, args);
}

KERNEL_RESIDENT(lz4_512, 512, 2, DecodeArgs) {
  SHARED(lz4::Shared<512>, shared);
  lz4::decode(shared, args);
}
