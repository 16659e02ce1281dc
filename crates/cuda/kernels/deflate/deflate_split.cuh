// How a Deflate stream is split into segments that CUDA blocks decode in parallel, and what the passes hand to each
// other through scratch memory.
//
// The compressed bits are cut into chunks. A chunk has at most one segment: it begins at the first bit of the chunk
// where a dynamic block's header may be (`deflate_find.cuh`), and continues block by block until a block begins where
// another segment does, or the stream ends. One more segment begins with the stream. Once all segments have been
// walked, it is known which of them form the stream: those that the first one leads to.
//
// A segment does not write bytes but 32 bits per byte: the byte if it is known, or the place that it is copied from,
// which may lie in any earlier segment. Those places are followed afterwards (`deflate_resolve.cuh`).
#pragma once
#include "deflate/deflate_stream.cuh"

#define NO_SEGMENT 0xFFFFFFFFu   // a chunk without a segment, or a segment outside the stream
#define STREAM_END 0xFFFFFFFEu   // follows the last segment
#define FAULT_UNDECIDED 0x100u   // a segment is too long to be walked speculatively: the stream is decoded whole
// Maximum bits of a segment, except the first, which is not speculative. Without this limit the time for hostile
// streams would grow with the square of their size.
#define LONGEST_SEGMENT (8u << 20)

// Entries of `sources`: a byte, or the place of its source.
#define SOURCE_KNOWN 0x80000000u
// Bytes that are resolved together.
#define TILE_LEN 8192u

struct SplitHead {
  u32 walked;   // segments taken by deflate_measure
  u32 emitted;  // segments taken by deflate_emit
  u32 fault;
  u32 reserved;
  u64 end;      // the bit behind the last block
  u64 unused[5];
};

struct Segment {
  u64 end;     // the bit behind it
  u32 begin;   // first bit, relative to the chunk's, or NO_SEGMENT
  u32 next;    // the following segment, or STREAM_END
  u32 bytes;   // of output
  u32 fault;
  u32 offset;  // of its output; NO_SEGMENT if it is not part of the stream
  u32 reserved;
};

struct Tile {
  u32 done;             // its bytes are written
  u32 bytes, weighted;  // their share of the Adler-32
  u32 reserved;
};

static_assert(sizeof(SplitHead) == 64 && sizeof(Segment) == 32 && sizeof(Tile) == 16, "as src/decode/codec counts");

// One stream and its scratch memory.
struct Split {
  Stream in;  // from the first block's first bit on
  SplitHead* head;
  Segment* segments;
  Tile* tiles;
  u32* sources;
  u32 chunk_bits, segment_count, tile_count;
  bool whole;  // large enough for a header and a checksum
};

// Bytes per chunk of a stream of `src_len` bytes: short streams have short chunks, so that few blocks share one.
DEVICE u32 chunk_len(u32 src_len) {
  u32 len = 256;
#pragma unroll 1
  while (len < 8192 && len < src_len / 256) len *= 2;
  return len;
}

DEVICE Split open_split(const DecodeArgs& args, const DecodeBlock& block) {
  const u64 first = (block.src & 15) * 8;
  const u32 chunk = chunk_len(block.src_len);
  Split split;
  split.whole = block.src_len >= 7;
  const u64 end = split.whole ? first + (u64)(block.src_len - 4) * 8 : first + 16;
  split.in = {(const u32*)(args.encoded + (block.src & ~(u64)15)), first + 16, end};
  split.chunk_bits = chunk * 8;
  split.segment_count = (u32)((end + split.chunk_bits - 1) / split.chunk_bits) + 1;
  split.tile_count = (block.dst_len + TILE_LEN - 1) / TILE_LEN;
  u8* at = args.scratch + block.scratch;
  split.head = (SplitHead*)at;
  split.segments = (Segment*)(at + sizeof(SplitHead));
  split.tiles = (Tile*)(split.segments + split.segment_count);
  split.sources = (u32*)(split.tiles + split.tile_count);
  return split;
}

// First bit of an existing segment.
DEVICE u64 segment_bit(const Split& split, u32 segment) {
  if (segment == 0) return split.in.bit;
  return (u64)(segment - 1) * split.chunk_bits + split.segments[segment].begin;
}

// The segment that begins at a bit, or NO_SEGMENT.
DEVICE u32 segment_at(const Split& split, u64 bit) {
  if (bit >= split.in.end) return NO_SEGMENT;
  const u32 chunk = (u32)(bit / split.chunk_bits);
  const u32 begin = (u32)(bit - (u64)chunk * split.chunk_bits);
  return split.segments[chunk + 1].begin == begin ? chunk + 1 : NO_SEGMENT;
}

// CUDA blocks are assigned to streams round-robin: the stream of this one, its number within the stream, and their
// count.
struct Turn {
  u32 stream, number, count;
};

DEVICE Turn turn_of(const DecodeArgs& args) {
  return {blockIdx.x % args.count, blockIdx.x / args.count,
          (gridDim.x - blockIdx.x % args.count + args.count - 1) / args.count};
}
