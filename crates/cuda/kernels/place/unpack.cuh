// Converts one stored sample to a number, and a number to a sample in memory: every depth from 1 to 64 bits, mixed
// depths, 24-bit floats, pairs of integers, planes of bytes, chroma units. The result equals that of the CPU engine's
// `samples` and `ycbcr`.
//
// Reads no byte outside the packed row. Running sums are left to `place_each`.
#pragma once
#include "place/place_abi.h"
#include "words.cuh"

// A row as stored.
struct PackedRow {
  const u8* bytes;
  u32 sub_row;  // requested row within its chroma units
  bool reversed;
};

DEVICE u32 byte_of(const PackedRow& row, u64 at) {
  const u32 byte = row.bytes[at];
  return row.reversed ? __brev(byte) >> 24 : byte;
}

// Little-endian, at any alignment.
DEVICE u64 number_of(const PackedRow& row, u64 at, u32 bytes) {
  const u8* from = row.bytes + at;
  if (!row.reversed && bytes != 3 && misalignment(from, bytes) == 0) {
    switch (bytes) {
      case 1: return *from;
      case 2: return *(const u16*)from;
      case 4: return *(const u32*)from;
      default: return *(const u64*)from;
    }
  }
  u64 number = 0;
#pragma unroll 1
  for (u32 i = 0; i < bytes; i++) number |= (u64)byte_of(row, at + i) << 8 * i;
  return number;
}

// Reverses the bytes of each unit of a number.
DEVICE u64 swapped(u64 number, u32 unit) {
  u32 low = (u32)number, high = (u32)(number >> 32);
  if (unit == 3) return __byte_perm(low, 0, 0x4012);
  if (unit == 8) {
    const u32 first = __byte_perm(high, 0, 0x0123);
    high = __byte_perm(low, 0, 0x0123);
    low = first;
  } else if (unit == 2 || unit == 4) {
    const u32 order = unit == 4 ? 0x0123 : 0x2301;
    low = __byte_perm(low, 0, order);
    high = __byte_perm(high, 0, order);
  }
  return (u64)high << 32 | low;
}

// The `bits` (1 to 64) bits from bit `at` on, most significant first.
DEVICE u64 bits_of(const PackedRow& row, u64 at, u32 bits) {
  u64 byte = at / 8;
  const u32 there = 8 - (u32)(at % 8), first = byte_of(row, byte) & 0xFFu >> (8 - there);
  if (bits <= there) return first >> (there - bits);
  u64 number = first;
  u32 left = bits - there;
#pragma unroll 1
  for (; left >= 8; left -= 8) number = number << 8 | byte_of(row, ++byte);
  return left == 0 ? number : number << left | byte_of(row, ++byte) >> (8 - left);
}

// Sample `sample` of pixel `x` of a row of chroma units, as libtiff's `tif_color.c` computes it.
DEVICE u32 chroma_of(const PackedRow& row, const PlaceLayout& layout, const i32* tables, u32 x, u32 sample) {
  const u32 lumas = layout.across * layout.down, unit = x / layout.across;
  const u64 at = (u64)unit * (lumas + 2);
  const u32 cb = byte_of(row, at + lumas), cr = byte_of(row, at + lumas + 1);
  const i32 luma = tables[byte_of(row, at + row.sub_row * layout.across + x % layout.across)];
  const i32 *red_of_cr = tables + 256, *green_of_cr = tables + 512, *green_of_cb = tables + 768;
  const i32* blue_of_cb = tables + 1024;
  const i32 colour = sample == 0   ? red_of_cr[cr]
                     : sample == 1 ? (green_of_cb[cb] + green_of_cr[cr]) >> 16
                                   : blue_of_cb[cb];
  return (u32)min(max(luma + colour, 0), 255);
}

// The stored number of sample `sample` of pixel `x`; `second` selects the second half of samples of 16 bytes.
DEVICE u64 stored_number(const PackedRow& row, const PlaceLayout& layout, const i32* tables, u32 x,
                         u32 sample, bool second) {
  const u64 index = (u64)x * layout.samples + sample;
  const u32 bytes = layout.stored;
  if (layout.load == LOAD_BYTES) {
    const u64 at = layout.finish == FINISH_DOUBLE ? index * 16 + (second ? 8 : 0) : index * bytes;
    return swapped(number_of(row, at, bytes), layout.swap);
  }
  if (layout.load == LOAD_BITS) {
    if (layout.finish != FINISH_WIDEN) return bits_of(row, index * layout.bits, layout.bits);
    const i32* entry = tables + 2 * sample;
    return bits_of(row, (u64)x * layout.pixel_bits + (u32)entry[1], (u32)entry[0]);
  }
  if (layout.load == LOAD_CHROMA) return chroma_of(row, layout, tables, x, sample);
  const u64 plane = layout.row_len / bytes;
  u64 number = 0;
#pragma unroll 1
  for (u32 p = 0; p < bytes; p++) number = number << 8 | byte_of(row, p * plane + index);
  return number;
}

// A number of `bits` bits with its bits repeated to fill `width`.
DEVICE u64 widened(u64 number, u32 bits, u32 width) {
  u64 out = 0;
#pragma unroll 1
  for (u32 filled = 0; filled < width;) {
    const u32 take = min(bits, width - filled);
    out = (take < 64 ? out << take : 0) | number >> (bits - take);
    filled += take;
  }
  return out;
}

// 1 sign, 7 exponent (less 63), 16 mantissa bits to a 32-bit float.
DEVICE u32 float24(u32 number) {
  const u32 sign = number >> 23 << 31, exponent = number >> 16 & 0x7F, mantissa = number & 0xFFFF;
  if (exponent == 0 && mantissa == 0) return sign;
  if (exponent == 0) {
    const u32 up = __clz((i32)mantissa) - 15;
    return sign | (127 - 63 + 1 - up) << 23 | (mantissa << up & 0xFFFF) << 7;
  }
  if (exponent == 0x7F) return sign | 0x7F800000u | mantissa << 7;
  return sign | (exponent + 127 - 63) << 23 | mantissa << 7;
}

DEVICE i64 sign_extended(u64 number, u32 bits) { return (i64)(number << (64 - bits)) >> (64 - bits); }

// A sample in memory, little-endian.
struct Sample {
  u64 low;
  u64 high;
};

DEVICE Sample finished(u64 number, const PlaceLayout& layout, const i32* tables, u32 sample) {
  switch (layout.finish) {
    case FINISH_SIGN: return {(u64)sign_extended(number, layout.bits), 0};
    case FINISH_FLOAT24: return {float24((u32)number & 0xFFFFFF), 0};
    case FINISH_WIDEN: return {widened(number, (u32)tables[2 * sample], layout.native * 8u), 0};
    case FINISH_PAIR: {
      const u32 half = layout.bits / 2;
      const i32 a = (i32)sign_extended(number, half), b = (i32)sign_extended(number >> half, half);
      if (layout.native == 8) return {(u64)__float_as_uint((float)b) << 32 | __float_as_uint((float)a), 0};
      return {(u64)__double_as_longlong((double)a), (u64)__double_as_longlong((double)b)};
    }
    default: return {number, 0};
  }
}

// Stores a sample at any alignment.
DEVICE void store_sample(u8* to, const Sample& sample, u32 size) {
  if (misalignment(to, min(size, 8u)) == 0) {
    switch (size) {
      case 1: *to = (u8)sample.low; return;
      case 2: *(u16*)to = (u16)sample.low; return;
      case 4: *(u32*)to = (u32)sample.low; return;
      case 8: *(u64*)to = sample.low; return;
      default:
        ((u64*)to)[0] = sample.low;
        ((u64*)to)[1] = sample.high;
        return;
    }
  }
#pragma unroll 1
  for (u32 i = 0; i < size; i++) to[i] = (u8)((i < 8 ? sample.low : sample.high) >> 8 * (i % 8));
}
