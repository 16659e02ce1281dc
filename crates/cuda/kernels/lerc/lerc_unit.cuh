// Units: the samples of a micro-block at one depth. Their headers give their length without unpacking, so one warp can
// walk over them.
#pragma once
#include "lerc/lerc_format.cuh"

namespace lerc {

enum Kind : u32 { RAW = 0, STUFFED = 1, ZERO = 2, EQUAL = 3 };

// Sixteen bytes; no unit header is longer.
struct Bytes {
  u64 low, high;
};

DEVICE Bytes shifted(const u32* words, u32 byte) {
  const u32 shift = byte * 8;
  u32 out[4];
#pragma unroll
  for (u32 k = 0; k < 4; ++k) out[k] = __funnelshift_r(words[k], words[k + 1], shift);
  return {(u64)out[1] << 32 | out[0], (u64)out[3] << 32 | out[2]};
}

// The bytes from `at` on, in global memory; reads up to 19 bytes after `at`.
DEVICE Bytes bytes_at(const u8* at) {
  const u32 byte = (u32)((u64)at & 3);
  return shifted((const u32*)(at - byte), byte);
}

// The bytes from byte `at` on, at most 15.
DEVICE u64 tail(const Bytes& b, u32 at) {
  if (at >= 8) return b.high >> 8 * (at - 8);
  return at == 0 ? b.low : b.low >> 8 * at | b.high << (64 - 8 * at);
}

struct Unit {
  u32 kind;
  u32 scalar;   // type of the offset
  u64 offset;   // bytes of the offset
  u32 count;    // number of values
  u32 bits;     // bits per value
  u32 entries;  // entries of the table besides the offset
  u32 index;    // bits of an index into the table, if there is one
  u32 data;     // bytes before the table or the numbers
  u32 len;      // total bytes, without the samples of a raw unit
  bool table;
  bool good;
};

// The types that may store the offsets of a type, four bits each, narrower ones in higher places.
CONSTANT u16 NARROWED[8] = {0x0000, 0x1111, 0x8012, 0x8813, 0x1234, 0x8135, 0x1126, 0x2467};

// Selects one of them by two bits of the header; SAMPLE_OTHER if there is none.
DEVICE u32 narrowed(u32 type, u32 by) { return (u32)NARROWED[type & 7] >> 4 * by & 15; }

DEVICE u32 stuffed_len(u32 bits, u32 count) { return (bits * count + 7) / 8; }

// Reads the header of a unit of a micro-block that begins in `column` of the image. More than 1024 values make it
// invalid.
DEVICE Unit read_unit(const Bytes& b, const Blob& blob, u32 column) {
  Unit u = {};
  const u32 head = (u32)b.low & 255;
  // From version 5 on a bit means that differences to the previous sample are stored, which is left to the host.
  const u32 known = blob.version >= 5 ? 14 : 15;
  const bool differs = blob.version >= 5 && (head & 4) != 0;
  u.kind = head & 3;
  u.len = 1;
  u.good = ((head >> 2 ^ column >> 3) & known) == 0 && !differs;
  if (u.kind == RAW || u.kind == ZERO) {
    u.data = 1;
    return u;
  }
  u.scalar = narrowed(blob.type, head >> 6);
  if (u.scalar == SAMPLE_OTHER) u.good = false;
  const u32 size = size_of(u.scalar & 7);
  u.offset = tail(b, 1);
  if (size < 8) u.offset &= ((u64)1 << 8 * size) - 1;
  u.len = 1 + size;
  if (!is_finite(to_real(u.scalar, u.offset))) u.good = false;
  if (u.kind == EQUAL) return u;
  const u64 rest = tail(b, 1 + size);
  const u32 how = (u32)rest & 255, wide = how >> 6;
  const u32 count_len = wide == 0 ? 4 : 3 - wide;
  u.count = (u32)(rest >> 8);
  if (count_len < 4) u.count &= (1u << 8 * count_len) - 1;
  u.bits = how & 31;
  u.table = (how & 32) != 0;
  u.data = 2 + size + count_len;
  if (count_len == 0 || u.count > 1024) {
    u.good = false;
    return u;
  }
  u32 numbers = u.bits;
  if (u.table) {
    const u32 entries = (u32)(rest >> 8 * (1 + count_len)) & 255;
    if (entries == 0) u.good = false;
    u.entries = entries == 0 ? 0 : entries - 1;
    u.index = 32 - (u32)__clz((i32)u.entries);
    u.data += 1;
    numbers = u.index;
  }
  u.len = u.data + (u.table ? stuffed_len(u.bits, u.entries) : 0) + stuffed_len(numbers, u.count);
  return u;
}

// Position of a micro-block.
struct Place {
  u32 x, y;           // its first pixel
  u32 width, height;
};

DEVICE Place place_of(const Blob& blob, u32 column, u32 row) {
  const u32 x = column * blob.micro, y = row * blob.micro;
  return {x, y, min(blob.micro, blob.width - x), min(blob.micro, blob.height - y)};
}

}  // namespace lerc
