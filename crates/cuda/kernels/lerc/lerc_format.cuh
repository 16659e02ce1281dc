// LERC2 (versions 3 to 6) on the device: definitions, the header, and reading numbers of a blob at any alignment.
//
// A blob has a header, a mask of valid pixels (run-length coded bytes of a bit set), the ranges of its samples, and
// then either all samples raw, or micro-blocks one after the other, each with one unit per sample of a pixel. Positions
// are byte offsets in the blob.
#pragma once
#include "lines.cuh"

namespace lerc {

const u32 THREADS = 128, WARPS = THREADS / 32;
const u32 ALL = 0xFFFFFFFFu;  // lanes of a warp

// Longer blocks are left to the host's decoder.
const u32 LARGEST = 512u << 20;

struct Blob {
  const u8* src;
  u32 len;
  u32 version;
  u32 type;      // DecodeSample, which uses LERC's numbers
  u32 size;      // bytes per sample
  u32 width, height, depth;
  u32 micro;     // side of a micro-block
  u32 across;    // micro-blocks per row
  u32 units;
  u32 pixels, valid;
  u32 mask_at, mask_len;
  u32 ranges;    // position of the minimum, then the maximum of every sample; 0 if there are none
  u32 payload;   // position of the data that follow
  u32 checksum;
  bool good;
  bool constant; // all samples equal `z_max`
  bool flagged;  // a byte with the coding follows the one for raw samples
  double error, z_max;
};

// The bytes from `at` on as a number; used for headers.
DEVICE u64 number(const u8* at, u32 len) {
  u64 bits = 0;
  for (u32 i = 0; i < len; ++i) bits |= (u64)at[i] << 8 * i;
  return bits;
}

DEVICE double real(const u8* at) { return __longlong_as_double((i64)number(at, 8)); }

DEVICE bool is_finite(double v) { return ((u64)__double_as_longlong(v) >> 52 & 0x7FF) != 0x7FF; }

DEVICE u32 size_of(u32 type) { return type < SAMPLE_I16 ? 1 : type < SAMPLE_I32 ? 2 : type < SAMPLE_F64 ? 4 : 8; }

// Converts a sample of a type, which is in the low bytes of `bits`.
DEVICE double to_real(u32 type, u64 bits) {
  switch (type) {
    case SAMPLE_I8: return (double)(i8)bits;
    case SAMPLE_U8: return (double)(u8)bits;
    case SAMPLE_I16: return (double)(i16)bits;
    case SAMPLE_U16: return (double)(u16)bits;
    case SAMPLE_I32: return (double)(i32)bits;
    case SAMPLE_U32: return (double)(u32)bits;
    case SAMPLE_F32: return (double)__uint_as_float((u32)bits);
    default: return __longlong_as_double((i64)bits);
  }
}

// Reads the header of a blob that holds all samples of an image block. Called by one thread.
DEVICE Blob read_header(const u8* src, u32 src_len, const DecodeBlock& block) {
  Blob b = {};
  const char* magic = "Lerc2 ";
  if (src_len < 66 || block.dst_len > LARGEST) return b;
  for (u32 i = 0; i < 6; ++i) {
    if (src[i] != (u8)magic[i]) return b;
  }
  b.src = src;
  b.version = (u32)number(src + 6, 4);
  if (b.version < 3 || b.version > 6) return b;
  const u32 more = b.version >= 4 ? 4 : 0, head = b.version >= 6 ? 94 : 66 + more;
  if (src_len < head) return b;
  b.checksum = (u32)number(src + 10, 4);
  b.height = (u32)number(src + 14, 4);
  b.width = (u32)number(src + 18, 4);
  b.depth = more != 0 ? (u32)number(src + 22, 4) : 1;
  const u8* at = src + 22 + more;
  b.valid = (u32)number(at, 4);
  b.micro = (u32)number(at + 4, 4);
  b.len = (u32)number(at + 8, 4);
  b.type = (u32)number(at + 12, 4);
  at += 16;
  bool right = b.type == block.type && b.type <= SAMPLE_F64 && b.depth == block.samples;
  if (b.version >= 6) {
    // Following bands and a missing-sample value, which are left to the host.
    right = right && at[3] < 128 && at[4] == 0 && is_finite(real(at + 32)) && is_finite(real(at + 40));
    at += 8;
  }
  b.error = real(at);
  const double z_min = real(at + 8);
  b.z_max = real(at + 16);
  b.mask_len = (u32)number(src + head - 4, 4);
  b.mask_at = head;
  right = right && b.micro - 1 < 32 && b.len >= head && b.len <= src_len && is_finite(b.error) && b.error >= 0;
  right = right && is_finite(z_min) && is_finite(b.z_max) && z_min <= b.z_max;
  if (!right) return b;
  b.size = size_of(b.type);
  const u64 row = (u64)b.width * b.depth * b.size;
  if (row != block.row_len || row == 0 || b.height * row != block.dst_len || b.mask_len > b.len - head) return b;
  b.pixels = b.width * b.height;
  // Otherwise the mask is not stored in the blob.
  const bool whole = b.valid == b.pixels || b.valid == 0;
  if (b.valid > b.pixels || (b.mask_len == 0) != whole) return b;
  b.payload = head + b.mask_len;
  if (b.version >= 4 && b.valid != 0 && z_min != b.z_max) {
    b.ranges = b.payload;
    if (2 * b.depth * b.size > b.len - b.payload) return b;
    b.payload += 2 * b.depth * b.size;
  }
  b.across = (b.width + b.micro - 1) / b.micro;
  b.units = b.across * ((b.height + b.micro - 1) / b.micro) * b.depth;
  const double half = b.error - 0.5;
  b.flagged = b.type < SAMPLE_I16 ? half < 1e-5 && half > -1e-5
                                  : b.version >= 6 && b.type >= SAMPLE_F32 && b.error == 0;
  b.constant = z_min == b.z_max;
  b.good = true;
  return b;
}

}  // namespace lerc
