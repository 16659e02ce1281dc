// Interface between the host and the JPEG kernels; counterparts of `src/decode/picture/jpeg/abi.rs`. Offsets are in
// bytes: `u32` offsets are relative to the picture's own bytes or to the tables, as stated; `u64` ones are addresses.
#pragma once
#include "abi.h"

// Maximum entries of all look-up tables of a scan together.
#define JPEG_TABLE_ENTRIES 4096u
// Index bits of the first look-up.
#define JPEG_FIRST_BITS 9u
// Maximum bytes of a piece.
#define JPEG_MOST_PIECE 192u
// Minimum bytes of a piece that is not alone in its interval: no code then ends behind the next piece.
#define JPEG_LEAST_PIECE 8u
// Maximum data units per MCU.
#define JPEG_MOST_UNITS 10u
// Bytes from one data unit to the next: 64 coefficients of 16 bits, column by column.
#define JPEG_UNIT_LEN 128u

// An entry of a look-up table, 16 bits. Bits 0 to 4: bits of the code and of the value behind it; 5 to 8: bits of the
// value; 9 to 15: coefficients to advance by, 64 for the end of a block. If bits 0 to 4 are 0, the code is longer: bits
// 5 to 7 are the number of further index bits, 8 to 15 the place to look at next, counted from the table's beginning in
// units of 8 entries. JPEG_NO_CODE is eight bits, plus more for a value, and advances by nothing: the bits that fill
// the last byte of an interval have no room for it, so they end the interval.
#define JPEG_NO_CODE 0x01E8u

// Part of a scan that one thread decodes: whole bytes of one interval. One more piece follows the last; it begins at
// the end of the data and belongs to the interval after the last.
struct JpegPiece {
  u32 begin;     // byte of the scan's data
  u32 interval;
};

struct JpegScan {
  u64 data;          // aligned to 16; 64 bytes behind the data may be read
  u64 pieces;        // one JpegPiece each
  u64 intervals;     // u32 each: first byte of each interval, and finally the length of the data
  u64 coefficients;  // of its first unit, aligned to 256
  u64 differences;   // i16 each: DC difference of every unit, then DC; aligned to 16
  u64 tables;        // u16 entries
  u32 data_len;
  u32 piece_count;
  u32 table_entries;  // at most JPEG_TABLE_ENTRIES; a multiple of 8
  u32 units;          // total data units
  u32 mcu_units;      // data units per MCU
  u32 interval_units; // data units per interval, except the last
  u32 run_in;         // bits that a thread decodes before its piece
  u32 components;     // component of each data unit of an MCU, two bits each
  u32 lookups[JPEG_MOST_UNITS];  // per data unit of an MCU: byte offset of its DC table, above 16 bits of AC
};

// How the samples of a component are scaled to those of a picture.
enum JpegWay : u32 {
  JPEG_SAME = 0,        // as many samples as pixels
  JPEG_ACROSS = 1,      // half as many across, interpolated like libjpeg
  JPEG_DOWN = 2,        // half as many down, likewise
  JPEG_BOTH = 3,        // half as many both across and down
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
  u32 first_unit;          // first data unit of an MCU that belongs to this component
  u32 units_across, units_down;  // data units per MCU
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
  u32 status;        // index into `statuses`
  u32 reserved;
  JpegPlane planes[4];
};

struct JpegArgs {
  const JpegScan* scans;
  const JpegPicture* pictures;
  u32* faults;       // per scan: a Fault
  u32* statuses;     // per picture: a Fault
  u32 scan_count;
  u32 picture_count;
};

static_assert(sizeof(JpegPiece) == 8, "twin of src/decode/picture/jpeg/abi.rs");
static_assert(sizeof(JpegScan) == 120, "twin of src/decode/picture/jpeg/abi.rs");
static_assert(sizeof(JpegPlane) == 80, "twin of src/decode/picture/jpeg/abi.rs");
static_assert(sizeof(JpegPicture) == 360, "twin of src/decode/picture/jpeg/abi.rs");
static_assert(sizeof(JpegArgs) == 40, "twin of src/decode/picture/jpeg/abi.rs");
