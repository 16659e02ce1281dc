// JPEG 2000: interface between the host and the kernels of `jpeg2000.cu`; counterparts of
// `src/decode/picture/jpeg2000/abi.rs`. Addresses are device addresses.
//
// The kernels of a batch, in this order: `jpeg2000_unstuff` (one thread per codeword segment), `jpeg2000_blocks` (one
// lane per code-block), `jpeg2000_coefficients` (one CUDA block per code-block), for each wavelet level `jpeg2000_rows`
// and `jpeg2000_columns` (over the planes that have it), `jpeg2000_pixels` (over the tiles). Planes of coefficients are
// 0 before the first kernel: absent code-blocks are not in the tables.
#pragma once
#include "abi.h"

// A codeword segment. Its words hold its bytes and at least one word more; `jpeg2000_unstuff` turns them into plain
// bits.
struct Jpeg2000Segment {
  u64 words;   // address, a multiple of 4, of (len + 3) / 4 + 1 words
  u32 len;     // bytes; may be 0
  u16 passes;  // at least 1
  u16 raw;     // 1: raw bits instead of arithmetic coding
};

enum Jpeg2000Flags : u32 {
  JPEG2000_RESET = 1,         // probabilities are reset at every pass
  JPEG2000_CAUSAL = 2,        // contexts ignore the stripe below
  JPEG2000_SEGMENTATION = 4,  // four symbols end every cleanup pass
  JPEG2000_REVERSIBLE = 8,    // coefficients are integers
};

// A code-block of the arithmetic coder.
// - `state` has room for `jpeg2000::state_len(width, height, planes)` bytes, uninitialised.
// - The passes of its segments add up to `passes`, which is at most 3 * planes - 2.
struct Jpeg2000Block {
  u64 state;    // address of its working memory, a multiple of 16
  u64 out;      // address of its first coefficient
  u32 segment;  // its first segment
  u32 status;   // index into `statuses`
  u32 stride;   // coefficients from one row to the next
  float scale;  // of half units, if it is not reversible
  u16 width;    // 1 to 1024
  u16 height;   // 1 to 1024; at most 4096 coefficients in all
  u8 band;      // 0 LL, 1 HL, 2 LH, 3 HH
  u8 planes;    // 1 to 30
  u8 passes;
  u8 flags;
};

struct Jpeg2000BlockArgs {
  const Jpeg2000Segment* segments;
  const Jpeg2000Block* blocks;
  u32* statuses;
  u32 segment_count;
  u32 count;  // number of code-blocks
  u32 lanes;  // lanes of a warp that take a code-block, 1 to 32: fewer spread a small batch over the device
  u32 reserved;
};

// A step of the inverse wavelet: a plane's corner of `width` x `height`, which holds four bands, becomes a resolution.
struct Jpeg2000Level {
  u64 plane;   // address of the coefficients
  u64 spare;   // address of as much spare memory: rows are written there, columns are written back
  u32 stride;  // coefficients from one row to the next, in both
  u32 width;
  u32 height;
  u8 odd_x;    // the first column is odd on its grid
  u8 odd_y;
  u8 reversible;
  u8 reserved;
};

struct Jpeg2000LevelArgs {
  const Jpeg2000Level* levels;
  u32 count;
  u32 reserved;
};

// A component of a tile.
struct Jpeg2000Plane {
  u64 plane;   // address of its samples
  u32 x0, y0;  // origin of its rectangle on its own grid
  u32 width, height;
  u32 dx, dy;  // pixels of the reference grid between samples
  u32 bits;    // 1 to 16
  u16 is_signed;
  u16 reversible;  // samples are integers, not floats
};

enum Jpeg2000Colour : u32 {
  JPEG2000_PLAIN = 0,
  JPEG2000_RCT = 1,
  JPEG2000_ICT = 2,
};

// A tile of a picture, limited to the block's rows. An empty one (width 0) represents a picture.
struct Jpeg2000Tile {
  u64 dst;         // address of the picture's first sample
  u32 planes;      // index of its first plane; one plane per sample of a pixel
  u32 samples;     // per pixel
  u32 x0, y0;      // of the tile, on the reference grid at the kept resolution
  u32 width, height;
  u32 left, top;   // position of its first pixel in the block
  u32 row_pixels;  // pixels per row of the block
  u32 status;      // index into `statuses`
  u8 colour;       // Jpeg2000Colour
  u8 ycbcr;        // the first three samples become RGB
  u8 bytes;        // bytes per sample in `dst`: 1 or 2
  u8 reserved0;
  u32 reserved;
};

struct Jpeg2000TileArgs {
  const Jpeg2000Tile* tiles;
  const Jpeg2000Plane* planes;
  u32* statuses;
  u32 count;
  u32 reserved;
};

static_assert(sizeof(Jpeg2000Segment) == 16 && sizeof(Jpeg2000Block) == 40, "twins of abi.rs");
static_assert(sizeof(Jpeg2000Level) == 32 && sizeof(Jpeg2000Plane) == 40, "twins of abi.rs");
static_assert(sizeof(Jpeg2000Tile) == 56, "twin of abi.rs");
static_assert(sizeof(Jpeg2000BlockArgs) == 40 && sizeof(Jpeg2000LevelArgs) == 16, "twins of abi.rs");
static_assert(sizeof(Jpeg2000TileArgs) == 32, "twin of abi.rs");
