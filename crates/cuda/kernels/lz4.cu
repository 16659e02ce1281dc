// LZ4, as a bare block or as a frame: a warp a block of the image. Lane 0 walks the tokens, which is serial by nature;
// the warp writes what they say.
//
// Left to the host by a fault: frames with checksums of blocks or of the content, with a dictionary, or followed by
// other bytes; everything that is not plainly right. The checksum of a frame's header is checked.
#include "abi.h"
#include "copy.cuh"
#include "sequences.cuh"

static const u32 FRAME_MAGIC = 0x184D2204u;

// What lane 0 knows. All positions are in the block of the image; `output` never exceeds the size given.
struct Walk {
  const u8* src;
  u32 at;       // next byte of the input
  u32 stop;     // end of the LZ4 block
  u32 output;   // bytes that the sequences so far give
  u32 limit;    // most output of this LZ4 block, as a position
  u32 floor;    // matches start here or later
  bool fault;
  bool ended;   // the LZ4 block is complete
};

DEVICE u32 little_u32(const u8* p) { return (u32)p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24; }

// The rest of a length whose four bits are 15; more than 2^30 in all is a fault.
DEVICE u32 long_length(Walk& w) {
  u32 length = 15;
  for (;;) {
    if (w.at >= w.stop || length > 0x40000000u) {
      w.fault = true;
      return 0;
    }
    const u32 more = w.src[w.at++];
    length += more;
    if (more < 255) return length;
  }
}

// Fills up to 32 sequences; ends early at the end of the LZ4 block or at a fault.
DEVICE void walk_tokens(Walk& w, Sequences<32>& s) {
  u32 k = 0;
  while (k < 32 && !w.ended) {
    if (w.at >= w.stop) {
      w.fault = true;
      return;
    }
    const u32 token = w.src[w.at++];
    u32 literals = token >> 4;
    if (literals == 15) literals = long_length(w);
    if (w.fault || literals > w.stop - w.at || literals > w.limit - w.output) {
      w.fault = true;
      return;
    }
    Sequence sequence = {0, w.output + literals, w.at - w.output, 1};
    w.at += literals;
    w.output += literals;
    if (w.at == w.stop) {
      w.ended = true;
    } else {
      if (w.stop - w.at < 2) {
        w.fault = true;
        return;
      }
      const u32 offset = (u32)w.src[w.at] | (u32)w.src[w.at + 1] << 8;
      w.at += 2;
      u32 length = token & 15;
      if (length == 15) length = long_length(w);
      length += 4;
      if (w.fault || offset == 0 || offset > w.output - w.floor || length > w.limit - w.output) {
        w.fault = true;
        return;
      }
      w.output += length;
      sequence.offset = offset;
    }
    sequence.end = w.output;
    put_sequence(s, k++, sequence);
  }
  for (u32 i = k; i < 32; ++i) s.end[i] = w.output;
}

// XXH32 with seed 0 of fewer than 16 bytes.
DEVICE u32 short_xxh32(const u8* p, u32 len) {
  const u32 p1 = 2654435761u, p2 = 2246822519u, p3 = 3266489917u, p4 = 668265263u, p5 = 374761393u;
  u32 h = p5 + len, i = 0;
  for (; i + 4 <= len; i += 4) {
    h += little_u32(p + i) * p3;
    h = (h << 17 | h >> 15) * p4;
  }
  for (; i < len; ++i) {
    h += p[i] * p5;
    h = (h << 11 | h >> 21) * p1;
  }
  h = (h ^ h >> 15) * p2;
  h = (h ^ h >> 13) * p3;
  return h ^ h >> 16;
}

struct Frame {
  u32 body;        // where the first LZ4 block starts
  u32 block_most;  // most output of an LZ4 block
  bool independent;
  bool plain;      // nothing about it is left to the host
};

DEVICE Frame frame_header(const u8* src, u32 src_len, u32 dst_len) {
  Frame frame = {0, 0, false, false};
  if (src_len < 7) return frame;
  const u32 flags = src[4], size = src[5];
  // Version 01, no checksum of blocks, none of the content, reserved bit 0, no dictionary.
  if ((flags & 0xD7u) != 0x40u || (size & 0x8Fu) != 0 || size >> 4 < 4) return frame;
  const bool sized = (flags & 8) != 0;
  frame.body = sized ? 15 : 7;
  if (src_len < frame.body) return frame;
  if (sized && (little_u32(src + 6) != dst_len || little_u32(src + 10) != 0)) return frame;
  if ((short_xxh32(src + 4, frame.body - 5) >> 8 & 0xFF) != src[frame.body - 1]) return frame;
  frame.block_most = 1u << (8 + 2 * (size >> 4));
  frame.independent = (flags & 0x20) != 0;
  frame.plain = true;
  return frame;
}

// Decodes the LZ4 block [at, stop) behind `output` bytes; the position of the output after it, or 0 for a fault. All
// lanes call it and all get the same answer.
DEVICE u32 decode_block(Sequences<32>& s, const u8* src, u8* dst, Walk w, u32 lane) {
  u32 turn = 0;
  for (;;) {
    const u32 before = w.output;
    if (lane == 0) walk_tokens(w, s);
    // Lane 0 has written before the shuffle, the others read after it.
    __syncwarp();
    w.output = __shfl_sync(WARP, w.output, 0);
    const bool fault = __shfl_sync(WARP, (u32)w.fault, 0) != 0;
    w.ended = __shfl_sync(WARP, (u32)w.ended, 0) != 0;
    if (fault) return 0;
    execute_sequences(s, dst, Literals{src, WARP}, before, turn, lane);
    if (w.ended) return w.output;
  }
}

DEVICE u32 decode_frame(Sequences<32>& s, const u8* src, u32 src_len, u8* dst, u32 dst_len, u32 lane) {
  const Frame frame = frame_header(src, src_len, dst_len);
  if (!frame.plain) return FAULT_CORRUPT;
  u32 at = frame.body, output = 0;
  for (;;) {
    if (src_len - at < 4) return FAULT_INPUT_TRUNCATED;
    const u32 word = little_u32(src + at), size = word & 0x7FFFFFFFu;
    at += 4;
    if (word == 0) break;
    if (size == 0 || size > frame.block_most) return FAULT_CORRUPT;
    if (size > src_len - at) return FAULT_INPUT_TRUNCATED;
    if (word != size) {
      if (size > dst_len - output) return FAULT_OUTPUT_SURPLUS;
      copy_bytes<32>(dst + output, src + at, size, lane);
      output += size;
    } else {
      const u32 limit = dst_len - output < frame.block_most ? dst_len : output + frame.block_most;
      const u32 floor = frame.independent ? output : 0;
      const Walk walk = {src, at, at + size, output, limit, floor, false, false};
      const u32 after = decode_block(s, src, dst, walk, lane);
      if (after <= output) return FAULT_CORRUPT;
      output = after;
    }
    at += size;
  }
  if (at != src_len) return FAULT_CORRUPT;
  return output == dst_len ? FAULT_NONE : FAULT_OUTPUT_SHORT;
}

KERNEL(lz4, 32, DecodeArgs) {
  SHARED(Sequences<32>, sequences);
  const u32 lane = threadIdx.x;
  const DecodeBlock block = args.blocks[blockIdx.x];
  const u8* src = args.encoded + block.src;
  u8* dst = args.decoded + block.dst;
  u32 fault;
  if (block.src_len >= 4 && little_u32(src) == FRAME_MAGIC) {
    fault = decode_frame(sequences, src, block.src_len, dst, block.dst_len, lane);
  } else {
    const Walk walk = {src, 0, block.src_len, 0, block.dst_len, 0, false, false};
    const u32 output = decode_block(sequences, src, dst, walk, lane);
    fault = output == block.dst_len ? FAULT_NONE : FAULT_CORRUPT;
  }
  if (lane == 0) args.statuses[block.status] = fault;
}
