// What the host and `place.cu` agree on: twins of `src/decode/place/abi.rs`. Which entry point takes a task is said
// by `src/decode/place/ways.rs`.
#pragma once
#include "abi.h"

// Which of the ways through the kernels blocks of a layout may take; all can be taken by EACH.
enum PlacePath : u32 {
  PATH_COPY = 0,    // stored bytes are those of memory, but for their order in units of `swap` bytes
  PATH_SUMS = 1,    // predictor 2 on samples of 1, 2 or 4 bytes, at most four interleaved
  PATH_PLANES = 2,  // predictor 3 on samples of 2, 4 or 8 bytes, one a pixel
  PATH_EACH = 3,    // all the rest, a sample a lane
};

// How a stored sample is read, on PATH_EACH.
enum PlaceLoad : u32 {
  LOAD_BYTES = 0,   // `stored` whole bytes
  LOAD_BITS = 1,    // bits, most significant first
  LOAD_PLANES = 2,  // a byte of each of `stored` planes, the most significant first
  LOAD_CHROMA = 3,  // a unit of luma and chroma
};

// What is still to be done to a number that was read, on PATH_EACH.
enum PlaceFinish : u32 {
  FINISH_NONE = 0,    // its low bytes are the sample
  FINISH_SIGN = 1,    // extend the sign
  FINISH_FLOAT24 = 2, // a float of 24 bits becomes one of 32
  FINISH_PAIR = 3,    // a pair of integers becomes a pair of floats of 32 or 64 bits
  FINISH_WIDEN = 4,   // repeat the bits to fill the sample
  FINISH_DOUBLE = 5,  // two numbers of 8 bytes are the sample
};

// What samples in memory are, where the output converts them to floats.
enum PlaceNumber : u32 {
  NUMBER_AS_IS = 0,  // they are not converted
  NUMBER_UNSIGNED = 1,
  NUMBER_SIGNED = 2,
  NUMBER_FLOAT = 3,
};

enum PlaceFlag : u32 {
  LAYOUT_SUMS = 1,         // of a layout: add each sample to the one a pixel before
  LAYOUT_REVERSE = 2,      // of a layout: the bits of every stored byte are reversed
  LAYOUT_NODATA = 4,       // of a layout: the conversion makes one value NaN
  TASK_FILL = 1,           // of a task: write the fill value, read nothing
  TASK_INTERLEAVED = 2,    // of a task: the output holds pixels as the block does, all samples in order
};

const u32 NO_STATUS = 0xFFFFFFFFu;

// How blocks of one layout go into one output.
struct PlaceLayout {
  u64 band_stride;    // bytes of the output from band to band
  u64 row_stride;
  u64 column_stride;
  u8 fill[16];        // one sample of the output
  u32 row_len;        // bytes of a packed row, or of a row of chroma units; at most 2^30
  u32 width;          // pixels of a packed row
  u32 samples;        // of a packed pixel
  u32 bits;           // of a stored sample where all have as many
  u32 pixel_bits;     // of a packed pixel
  u32 table;          // first of its numbers in `tables`: bits, first bit of each sample; or five times 256
  u8 path;
  u8 load;
  u8 finish;
  u8 flags;
  u8 size;            // bytes of a sample of the output
  u8 stored;          // bytes of a stored sample where they are whole: 1, 2, 3, 4 or 8
  u8 swap;            // bytes of the units whose order is reversed, 0 for none
  u8 across;          // pixels of a chroma unit
  u8 down;
  u8 native;          // bytes of a sample in memory before it is converted
  u8 number;          // not 0: samples are converted
  u8 reserved;
  u32 constants;      // first of the conversion's six numbers in `tables`: scale, offset, nodata
};

// The wanted rectangle of one block, which has at most 2^30 bytes.
// - The stored rows up to the last wanted one lie at `src`; what is before `src` back to a multiple of 16 may
//   be read.
// - `dst` is the first wanted sample of the first band.
struct PlaceTask {
  u64 src;        // device address, any alignment
  u64 dst;        // device address, any alignment
  u32 layout;     // index into `layouts`
  u32 status;     // index into `statuses`, or NO_STATUS
  u32 selection;  // index of the first of `bands` samples in `selections`
  u32 bands;
  u32 block_x;
  u32 block_y;
  u32 width;
  u32 height;
  u32 flags;
  u32 sought;     // not 0: the number of the value that `find.cu` looks for
};

struct PlaceArgs {
  const PlaceTask* tasks;
  const PlaceLayout* layouts;
  const u16* selections;
  const u32* statuses;  // blocks whose status is not 0 are left alone
  const i32* tables;
  u32 count;            // of tasks; the grid is (count, parts), parts at most 65535
  u32 reserved;
};

static_assert(sizeof(PlaceLayout) == 80, "twin of src/decode/place/abi.rs");
static_assert(sizeof(PlaceTask) == 56, "twin of src/decode/place/abi.rs");
static_assert(sizeof(PlaceArgs) == 48, "twin of src/decode/place/abi.rs");
