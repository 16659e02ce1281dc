// Interface between the host and `place.cu`: counterparts of `src/decode/place/abi.rs`. `src/decode/place/ways.rs`
// chooses the entry point of a task.
#pragma once
#include "abi.h"

// The kernel paths that blocks of a layout may take; EACH handles all of them.
enum PlacePath : u32 {
  PATH_COPY = 0,    // stored bytes equal those in memory, except for byte order in units of `swap` bytes
  PATH_SUMS = 1,    // predictor 2 on samples of 1, 2 or 4 bytes, at most four interleaved
  PATH_PLANES = 2,  // predictor 3 on samples of 2, 4 or 8 bytes, one per pixel
  PATH_EACH = 3,    // everything else, one sample per lane
};

// How a stored sample is read on PATH_EACH.
enum PlaceLoad : u32 {
  LOAD_BYTES = 0,   // `stored` whole bytes
  LOAD_BITS = 1,    // bits, most significant first
  LOAD_PLANES = 2,  // one byte of each of `stored` planes, the most significant first
  LOAD_CHROMA = 3,  // a unit of luma and chroma
};

// How a number is processed after it was read, on PATH_EACH.
enum PlaceFinish : u32 {
  FINISH_NONE = 0,    // its low bytes are the sample
  FINISH_SIGN = 1,    // sign-extend
  FINISH_FLOAT24 = 2, // a 24-bit float becomes a 32-bit one
  FINISH_PAIR = 3,    // a pair of integers becomes a pair of 32-bit or 64-bit floats
  FINISH_WIDEN = 4,   // repeat the bits to fill the sample
  FINISH_DOUBLE = 5,  // two numbers of 8 bytes form the sample
};

// Sample types in memory, if the output converts them to floats.
enum PlaceNumber : u32 {
  NUMBER_AS_IS = 0,  // not converted
  NUMBER_UNSIGNED = 1,
  NUMBER_SIGNED = 2,
  NUMBER_FLOAT = 3,
};

enum PlaceFlag : u32 {
  LAYOUT_SUMS = 1,         // of a layout: add to each sample that of the previous pixel
  LAYOUT_REVERSE = 2,      // of a layout: reverse the bits of every stored byte
  LAYOUT_NODATA = 4,       // of a layout: the conversion turns one value into NaN
  TASK_FILL = 1,           // of a task: write the fill value, read nothing
  TASK_INTERLEAVED = 2,    // of a task: the output holds pixels like the block, all samples in order
};

const u32 NO_STATUS = 0xFFFFFFFFu;

// How blocks of one layout are written to one output.
struct PlaceLayout {
  u64 band_stride;    // bytes of the output from one band to the next
  u64 row_stride;
  u64 column_stride;
  u8 fill[16];        // one sample of the output
  u32 row_len;        // bytes per packed row, or per row of chroma units; at most 2^30
  u32 width;          // pixels per packed row
  u32 samples;        // per packed pixel
  u32 bits;           // bits of a stored sample, if all have the same number
  u32 pixel_bits;     // bits of a packed pixel
  u32 table;          // index of its first number in `tables`: bits and first bit of each sample; or five times 256
  u8 path;
  u8 load;
  u8 finish;
  u8 flags;
  u8 size;            // bytes per sample of the output
  u8 stored;          // bytes per stored sample, if whole: 1, 2, 3, 4 or 8
  u8 swap;            // size in bytes of the units whose byte order is reversed, 0 for none
  u8 across;          // pixels per chroma unit
  u8 down;
  u8 native;          // bytes per sample in memory before conversion
  u8 number;          // not 0: samples are converted
  u8 reserved;
  u32 constants;      // index of the conversion's six numbers in `tables`: scale, offset, nodata
};

// The requested rectangle of one block, which has at most 2^30 bytes.
// - The stored rows up to the last requested one lie at `src`; bytes before `src` back to a multiple of 16 may be read.
// - `dst` is the first requested sample of the first band.
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
  u32 sought;     // not 0: number of the value that `find.cu` looks for
};

struct PlaceArgs {
  const PlaceTask* tasks;
  const PlaceLayout* layouts;
  const u16* selections;
  const u32* statuses;  // blocks whose status is not 0 are skipped
  const i32* tables;
  u32 count;            // number of tasks; the grid is (count, parts), parts at most 65535
  u32 reserved;
};

static_assert(sizeof(PlaceLayout) == 80, "twin of src/decode/place/abi.rs");
static_assert(sizeof(PlaceTask) == 56, "twin of src/decode/place/abi.rs");
static_assert(sizeof(PlaceArgs) == 48, "twin of src/decode/place/abi.rs");
