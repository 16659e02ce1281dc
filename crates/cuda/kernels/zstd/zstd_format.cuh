// ZSTD (RFC 8878) on the device: the words of the format, and what its passes leave for each other in the scratch of a
// block of the image. "Tile" here is a block of the image, to tell it from ZSTD's own blocks.
//
// Scratch of a tile: ZstdTile, an array of ZstdBlock, then the room for decoded literals, a byte each, and sequences, 8
// bytes each.
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
static const u32 ZSTD_FIRST = 4;           // of its frame
static const u32 ZSTD_LAST = 8;            // of its frame
static const u32 ZSTD_CHECKSUM = 16;       // of the frame follows this last block
static const u32 ZSTD_SIZED = 32;          // the frame states its size
static const u32 ZSTD_FOUR_STREAMS = 64;
static const u32 ZSTD_LITERALS = 3u << 8;  // the same numbers as types, and 3 for an earlier tree
static const u32 ZSTD_LITERALS_SHIFT = 8;
static const u32 ZSTD_TREELESS = 3;

// The three tables of sequences, in the order of their modes and descriptions.
enum ZstdTable : u32 { ZSTD_LENGTHS = 0, ZSTD_OFFSETS = 1, ZSTD_MATCHES = 2, ZSTD_WEIGHTS = 3 };
enum ZstdMode : u32 { ZSTD_PREDEFINED = 0, ZSTD_ONE_SYMBOL = 1, ZSTD_DESCRIBED = 2, ZSTD_REPEAT = 3 };

struct ZstdTile {
  u32 blocks;
  u32 fault;
  u32 next;  // work that no warp has taken
  u32 reserved[13];
};

// Positions are in the encoded tile, `..._at` in its scratch.
struct ZstdBlock {
  u32 flags;
  u32 src, src_len;       // the content
  u32 literals;           // raw bytes, the one byte of RLE, or the tree or streams
  u32 literals_src_len;
  u32 literals_len;       // decoded
  u32 literals_at;
  u32 tree;               // the ZSTD block that describes the Huffman tree
  u32 sequences;          // after the byte of modes
  u32 count;              // of sequences
  u32 sequences_at;
  u32 modes;
  u32 tables[3];          // the ZSTD blocks that define them
  u32 content;            // size of the frame
  u32 most;               // output of a block of this frame
  u32 size;               // output of this block: of a compressed one known after the sequences
  u32 recent[3];          // the recent offsets after this block; see zstd_sequences.cuh
  u32 reserved[3];
};

static_assert(sizeof(ZstdTile) == 64 && sizeof(ZstdBlock) == 96, "twins of src/decode/codec/zstd.rs");

// Tiles of more blocks are left to the host: blocks have 128 KiB, where an encoder splits them some, and 1 KiB at least
// where the window is so small.
DEVICE u32 zstd_most_blocks(u32 dst_len) { return dst_len / 2048 + 32; }

// Where the room for literals and sequences starts, and where it ends, with 16 bytes a block for alignment and padding.
// No sequence makes less than 3 bytes, but encoders of images make more than 5 a sequence, of 10 bits: so there is room
// for one in 4 bytes of output and in 4 bits of input, and tiles that need more are left to the host.
DEVICE u64 zstd_room(u32 dst_len) {
  return sizeof(ZstdTile) + (u64)zstd_most_blocks(dst_len) * sizeof(ZstdBlock);
}
DEVICE u64 zstd_room_end(u32 src_len, u32 dst_len) {
  const u64 by_output = ((u64)dst_len * 9 + 3) / 4, by_input = (u64)dst_len + (u64)src_len * 16;
  return zstd_room(dst_len) + (u64)zstd_most_blocks(dst_len) * 16 + (by_output < by_input ? by_output : by_input);
}

// A sequence: literals (17 bits), length of the match less 3 (17 bits), offset (30 bits).
DEVICE u64 zstd_pack(u32 literals, u32 match, u32 offset) {
  return (u64)literals | (u64)(match - 3) << 17 | (u64)offset << 34;
}

DEVICE u32 zstd_u16(const u8* p) { return (u32)p[0] | (u32)p[1] << 8; }
DEVICE u32 zstd_u24(const u8* p) { return zstd_u16(p) | (u32)p[2] << 16; }
DEVICE u32 zstd_u32(const u8* p) { return zstd_u24(p) | (u32)p[3] << 24; }

// The highest set bit of a number that is not 0.
DEVICE u32 zstd_log2(u32 x) { return 31 - __clz((i32)x); }
