// What the host and the kernels of JPEG agree on; twins of `src/decode/picture/jpeg/abi.rs`. Offsets are bytes: `u32` ones from
// the begin of the picture's own bytes or of the tables, as said; `u64` ones are addresses.
#pragma once
#include "abi.h"

// Entries of all look-up tables of a scan together.
#define JPEG_TABLE_ENTRIES 4096u
// Bits that the first look-up takes.
#define JPEG_FIRST_BITS 9u
// The most bytes of a piece.
#define JPEG_MOST_PIECE 192u
// The least bytes of a piece that is not alone in its interval: no code ends behind the next piece.
#define JPEG_LEAST_PIECE 8u
// Data units of an MCU.
#define JPEG_MOST_UNITS 10u
// Bytes from one data unit to the next: 64 coefficients of 16 bits, column by column.
#define JPEG_UNIT_LEN 128u

// An entry of a look-up table, 16 bits. Bits 0 to 4: bits of the code and of the value behind it; 5 to 8: bits of the
// value; 9 to 15: coefficients to go on by, 64 for the end of a block. Where bits 0 to 4 are 0 the code is longer: bits 5
// to 7 say by how many more bits to look, 8 to 15 where, in units of 8 entries from the table on. JPEG_NO_CODE is eight
// bits, with more for a value, that go on by nothing: in the bits that fill the last byte of an interval there is no room
// for it, so that these end the interval.
#define JPEG_NO_CODE 0x01E8u

// Part of a scan that one thread decodes: whole bytes of one interval. Behind the last there is one more, which begins
// where the data end, of the interval after the last.
struct JpegPiece {
  u32 begin;     // byte of the scan's data
  u32 interval;
};

struct JpegScan {
  u64 data;          // aligned to 16; 64 bytes behind the data may be read
  u64 pieces;        // JpegPiece each
  u64 intervals;     // u32 each: first byte of each interval, and behind the last one the data's length
  u64 coefficients;  // of its first unit, aligned to 256
  u64 differences;   // i16 each: DC difference of every unit, then DC; aligned to 16
  u64 tables;        // u16 entries
  u32 data_len;
  u32 piece_count;
  u32 table_entries;  // at most JPEG_TABLE_ENTRIES; a multiple of 8
  u32 units;          // data units in all
  u32 mcu_units;      // data units of an MCU
  u32 interval_units; // data units of an interval but the last
  u32 run_in;         // bits that a thread decodes before its piece
  u32 components;     // of its data units, two bits each
  u32 lookups[JPEG_MOST_UNITS];  // of data units of an MCU: byte of its DC table, above 16 bits AC
};

// Where the samples of a component lie, and how they become those of a picture.
enum JpegWay : u32 {
  JPEG_SAME = 0,        // as many samples as pixels
  JPEG_ACROSS = 1,      // half as many across, interpolated as libjpeg does
  JPEG_DOWN = 2,        // half as many down, likewise
  JPEG_BOTH = 3,        // both
  JPEG_REPEATED = 4,    // each sample `repeats` times
};

struct JpegPlane {
  u64 coefficients;   // of the scan's first unit
  u64 dc;             // of the scan's first unit, i16 each
  u64 samples;        // u8 each, rows `blocks_across * 8` apart; aligned to 256
  u64 quantisation;   // u16 each, column by column; aligned to 16
  u32 width, height;  // samples
  u32 blocks_across, blocks_down;
  u32 mcus_across;
  u32 mcu_units;
  u32 first_unit;          // of an MCU that is this component's
  u32 units_across, units_down;  // of an MCU
  u32 way;            // JpegWay
  u32 repeats_across, repeats_down;
};

struct JpegPicture {
  u64 dst;           // its samples, aligned to 16
  u32 width, rows;   // pixels
  u32 components;    // 1, 3 or 4
  u32 is_ycbcr;
  u32 scan_count;
  u32 first_scan;    // in the list of all scans
  u32 status;        // index
  u32 reserved;
  JpegPlane planes[4];
};

struct JpegArgs {
  const JpegScan* scans;
  const JpegPicture* pictures;
  u32* faults;       // of each scan: a Fault
  u32* statuses;     // of pictures: a Fault
  u32 scan_count;
  u32 picture_count;
};

static_assert(sizeof(JpegPiece) == 8, "twin of src/decode/picture/jpeg/abi.rs");
static_assert(sizeof(JpegScan) == 120, "twin of src/decode/picture/jpeg/abi.rs");
static_assert(sizeof(JpegPlane) == 80, "twin of src/decode/picture/jpeg/abi.rs");
static_assert(sizeof(JpegPicture) == 360, "twin of src/decode/picture/jpeg/abi.rs");
static_assert(sizeof(JpegArgs) == 40, "twin of src/decode/picture/jpeg/abi.rs");
