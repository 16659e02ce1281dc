// Compression 5, LZW as specified by TIFF 6.0 (section 13): one CUDA block takes a tile or strip, segment by segment.
//
// Status 0: the strings fill the block and are followed by the end code or the end of the input, possibly after a
// Clear, and possibly by one surplus byte (Photoshop 7). Left to the host: the variant with reversed bit order, a full
// table without Clear, input that is mostly Clear codes, and anything else after a full block.
#include "lzw/lzw_emit.cuh"

namespace lzw {

// Even short segments cost time, and writers clear after thousands of codes.
DEVICE u32 most_segments(u32 src_len) { return 8192 + src_len / 512; }

DEVICE u32 decode(Segment& segment, const u8* src, u32 src_len, u8* dst, u32 dst_len) {
  if (src[0] != 0x80) return FAULT_UNSUPPORTED;
  if (src_len < 2) return FAULT_INPUT_TRUNCATED;
  if (src[1] & 0x80) return FAULT_OUTPUT_SHORT;
  Window window = {dst, 0, 0};
  u64 bit = 9;
  Staged staged = load_input(src, src_len, bit);
  for (u32 left = most_segments(src_len); left > 0; --left) {
    store_input(segment, staged);
    __syncthreads();
    const u64 bits = 8 * u64(src_len) - bit;
    const u32 skip = u32(u64(src + (bit >> 3)) % LINE * 8 + (bit & 7));
    fetch(segment, skip, bits);
    __syncthreads();
    const u32 stop = segment.stop;
    if (segment.invalid < stop) return FAULT_CORRUPT;
    u32 kind = OUT_OF_INPUT;
    if (stop < MOST_CODES) kind = u16(segment.parent[stop]);
    else if (bit_of(MOST_CODES + 1) <= bits) return FAULT_UNSUPPORTED;
    const u32 total = place_strings(segment, stop);
    if (total > dst_len + 1 - window.segment) return FAULT_OUTPUT_SURPLUS;
    const u32 filled = window.segment + total;
    if (kind != CLEARED && filled < dst_len) {
      return kind == ENDED ? FAULT_OUTPUT_SHORT : FAULT_INPUT_TRUNCATED;
    }
    bit += bit_of(stop) + width_of(stop);
    if (kind == CLEARED) staged = load_input(src, src_len, bit);
    emit(segment, window, stop);
    window.segment = filled;
    if (kind != CLEARED) {
      // The rest does not fill a line; it may consist only of the surplus byte.
      if (threadIdx.x == 0 && window.flushed < dst_len) *(Line*)(dst + window.flushed) = *(Line*)segment.out;
      return FAULT_NONE;
    }
  }
  return FAULT_UNSUPPORTED;
}

}  // namespace lzw

// The shared memory of a multiprocessor holds five tiles.
KERNEL_RESIDENT(lzw_decode, 256, 5, DecodeArgs) {
  SHARED(lzw::Segment, segment);
  if (blockIdx.x >= args.count) return;
  const DecodeBlock block = args.blocks[blockIdx.x];
  const u32 fault =
      lzw::decode(segment, args.encoded + block.src, block.src_len, args.decoded + block.dst, block.dst_len);
  if (threadIdx.x == 0) args.statuses[block.status] = fault;
}
