// ZSTD (RFC 8878) on the device: definitions of the format, and the data that its passes leave for each other in the
// scratch of an image block. "Tile" here means an image block, to distinguish it from ZSTD's own blocks.
//
// Scratch of a tile: ZstdTile, an array of ZstdBlock, then the space for decoded literals, one byte each, and
// sequences, 8 bytes each.
#pragma once
#include "abi.h"

static const u32 ZSTD_WARP = 0xFFFFFFFFu;  // all lanes
static const u32 ZSTD_MAGIC = 0xFD2FB528u;
static const u32 ZSTD_BLOCK_MOST = 128 << 10;
static const u32 ZSTD_PADDING = 8;  // behind literals in scratch, so that they can be copied by words
static const u32 ZSTD_NONE = 0xFFFFFFFFu;

// Flags of a ZstdBlock.
static const u32 ZSTD_TYPE = 3;            // RAW, RLE, COMPRESSED
static const u32 ZSTD_RAW = 0, ZSTD_RLE = 1, ZSTD_COMPRESSED = 2;
static const u32 ZSTD_FIRST = 4;           // first block of its frame
static const u32 ZSTD_LAST = 8;            // last block of its frame
static const u32 ZSTD_CHECKSUM = 16;       // the frame's checksum follows this last block
static const u32 ZSTD_SIZED = 32;          // the frame states its size
static const u32 ZSTD_FOUR_STREAMS = 64;
static const u32 ZSTD_LITERALS = 3u << 8;  // the same numbers as types, and 3 for reuse of an earlier tree
static const u32 ZSTD_LITERALS_SHIFT = 8;
static const u32 ZSTD_TREELESS = 3;

// The three tables of sequences, in the order of their modes and descriptions.
enum ZstdTable : u32 { ZSTD_LENGTHS = 0, ZSTD_OFFSETS = 1, ZSTD_MATCHES = 2, ZSTD_WEIGHTS = 3 };
enum ZstdMode : u32 { ZSTD_PREDEFINED = 0, ZSTD_ONE_SYMBOL = 1, ZSTD_DESCRIBED = 2, ZSTD_REPEAT = 3 };

struct ZstdTile {
  u32 blocks;
  u32 fault;
  u32 next;  // next work item that no warp has taken
  u32 reserved[13];
};

// Positions are in the encoded tile; `..._at` are in its scratch.
struct ZstdBlock {
  u32 flags;
  u32 src, src_len;       // the content
  u32 literals;           // raw bytes, the one byte of RLE, or the tree or streams
  u32 literals_src_len;
  u32 literals_len;       // decoded length
  u32 literals_at;
  u32 tree;               // the ZSTD block that describes the Huffman tree
  u32 sequences;          // after the byte of modes
  u32 count;              // number of sequences
  u32 sequences_at;
  u32 modes;
  u32 tables[3];          // the ZSTD blocks that define them
  u32 content;            // decoded size of the frame
  u32 most;               // maximum output of a block of this frame
  u32 size;               // output of this block; for a compressed one known after its sequences
  u32 recent[3];          // the recent offsets after this block; see zstd_sequences.cuh
  u32 reserved[3];
};

static_assert(sizeof(ZstdTile) == 64 && sizeof(ZstdBlock) == 96, "twins of src/decode/codec/zstd.rs");

// Tiles with more blocks are left to the host. Blocks have 128 KiB; encoders split some of them, and if the window is
// small they have at least 1 KiB.
DEVICE u32 zstd_most_blocks(u32 dst_len) { return dst_len / 2048 + 32; }

// Beginning and end of the space for literals and sequences, with 16 bytes per block for alignment and padding. A
// sequence makes at least 3 bytes, but encoders of images make more than 5 per sequence, of 10 bits: so there is room
// for one sequence per 4 bytes of output and per 4 bits of input, and tiles that need more are left to the host.
DEVICE u64 zstd_room(u32 dst_len) {
  return sizeof(ZstdTile) + (u64)zstd_most_blocks(dst_len) * sizeof(ZstdBlock);
}
DEVICE u64 zstd_room_end(u32 src_len, u32 dst_len) {
  const u64 by_output = ((u64)dst_len * 9 + 3) / 4, by_input = (u64)dst_len + (u64)src_len * 16;
  return zstd_room(dst_len) + (u64)zstd_most_blocks(dst_len) * 16 + (by_output < by_input ? by_output : by_input);
}

// Packs a sequence: literals (17 bits), length of the match minus 3 (17 bits), offset (30 bits).
DEVICE u64 zstd_pack(u32 literals, u32 match, u32 offset) {
  return (u64)literals | (u64)(match - 3) << 17 | (u64)offset << 34;
}

DEVICE u32 zstd_u16(const u8* p) { return (u32)p[0] | (u32)p[1] << 8; }
DEVICE u32 zstd_u24(const u8* p) { return zstd_u16(p) | (u32)p[2] << 16; }
DEVICE u32 zstd_u32(const u8* p) { return zstd_u24(p) | (u32)p[3] << 24; }

// The highest set bit of a nonzero number.
DEVICE u32 zstd_log2(u32 x) { return 31 - __clz((i32)x); }
