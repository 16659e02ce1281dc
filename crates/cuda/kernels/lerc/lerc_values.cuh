// Samples: unpacks the values of a unit, rescales them and writes them to their places.
#pragma once
#include "lerc/lerc_mask.cuh"

namespace lerc {

// The field of `bits` bits, at most 31, whose first bit is bit `at` of the bytes at `from`.
DEVICE u32 field(const u8* from, u32 at, u32 bits) {
  if (bits == 0) return 0;
  const u64 bit = (u64)from * 8 + at;
  const u32* word = (const u32*)(bit / 32 * 4);
  const u32 shift = (u32)bit & 31;
  const u32 high = shift + bits > 32 ? word[1] : 0;
  return __funnelshift_r(word[0], high, shift) & ((1u << bits) - 1);
}

// Converts a number to a sample: truncated towards 0, and clamped to the range of the type.
template <class T>
DEVICE void convert(double v, T& sample) {
  const bool negative = (T)-1 < (T)0;
  const double least = negative ? -(double)((u64)1 << (8 * sizeof(T) - 1)) : 0;
  const double most = (double)(((u64)1 << (8 * sizeof(T) - (negative ? 1 : 0))) - 1);
  sample = (T)(i64)(v <= least ? least : v >= most ? most : v);
}
DEVICE void convert(double v, float& sample) { sample = (float)v; }
DEVICE void convert(double v, double& sample) { sample = v; }

template <class T>
DEVICE void from_bits(u64 bits, T& sample) {
  sample = (T)bits;
}
DEVICE void from_bits(u64 bits, float& sample) { sample = __uint_as_float((u32)bits); }
DEVICE void from_bits(u64 bits, double& sample) { sample = __longlong_as_double((i64)bits); }

// The sample of LEN bytes at `at`, at any alignment.
template <u32 LEN>
DEVICE u64 stored_at(const u8* at) {
  const u32 byte = (u32)((u64)at & 3);
  const u32* words = (const u32*)(at - byte);
  const u32 low = words[0], high = byte + LEN > 4 ? words[1] : 0;
  const u64 bits = __funnelshift_r(low, high, byte * 8);
  if (LEN < 8) return bits;
  const u32 last = byte != 0 ? words[2] : 0;
  return bits | (u64)__funnelshift_r(high, last, byte * 8) << 32;
}

// How values are scaled back to samples.
struct Scale {
  double offset, step, limit, most;
};

DEVICE double on_scale(const Scale& scale, u32 n) {
  const double v = (double)n;
  // Values at or above the limit are the maximum, which need not be a whole number of steps from the minimum.
  return v < scale.limit ? __dadd_rn(scale.offset, __dmul_rn(v, scale.step)) : scale.most;
}

// The maximum of the samples at a depth.
DEVICE double most_of(const Blob& blob, u32 depth) {
  if (blob.ranges == 0) return blob.z_max;
  return to_real(blob.type, bytes_at(blob.src + blob.ranges + (blob.depth + depth) * blob.size).low);
}

DEVICE Scale scale_of(const Blob& blob, const Unit& unit, u32 depth) {
  Scale scale = {to_real(unit.scalar, unit.offset), 2 * blob.error, 0, most_of(blob, depth)};
  scale.limit = scale.step == 0 ? __longlong_as_double(0x7FF0000000000000ll)
                                : __ddiv_rn(__dadd_rn(scale.most, -scale.offset), scale.step);
  return scale;
}

// Writes the samples of a unit that begins at `at`. The walk has checked that it lies in the blob and has one value per
// valid pixel. Called by all lanes of one warp; returns false if an index is not in the table.
template <class T>
DEVICE bool write_unit(const Blob& blob, const u8* mask, u32 number, u32 at, u64 missing, T* out, u32 lane) {
  const u32 block = number / blob.depth, depth = number - block * blob.depth, row = block / blob.across;
  const Place place = place_of(blob, block - row * blob.across, row);
  const Unit unit = read_unit(bytes_at(blob.src + at), blob, place.x);
  const u8* data = blob.src + at + unit.data;
  const u8* numbers = unit.table ? data + stuffed_len(unit.bits, unit.entries) : data;
  Scale scale = {0, 0, 0, 0};
  if (unit.kind == STUFFED) scale = scale_of(blob, unit, depth);
  if (unit.kind == EQUAL) scale.offset = to_real(unit.scalar, unit.offset);
  const u32 area = place.width * place.height;
  // Micro-blocks are 8 pixels wide, except at the edge and where an encoder chose larger ones.
  const u32 shift = 31 - (u32)__clz((i32)place.width);
  const bool shifts = (place.width & (place.width - 1)) == 0;
  bool good = true;
  u32 before = 0;
#pragma unroll 1
  for (u32 first = 0; first < area; first += 32) {
    const u32 i = first + lane, y = shifts ? i >> shift : i / place.width, x = i - y * place.width;
    const u32 pixel = (place.y + y) * blob.width + place.x + x;
    const bool inside = i < area;
    bool valid = inside;
    u32 rank = i;
    if (mask != nullptr) {
      valid = inside && is_valid(mask, pixel);
      const u32 all = __ballot_sync(ALL, valid);
      rank = before + (u32)__popc(all & ((1u << lane) - 1));
      before += (u32)__popc(all);
    }
    if (!inside) continue;
    T sample;
    if (!valid) {
      from_bits(missing, sample);
    } else if (unit.kind == RAW) {
      from_bits(stored_at<sizeof(T)>(data + rank * sizeof(T)), sample);
    } else if (unit.kind != STUFFED) {
      convert(scale.offset, sample);
    } else if (unit.table) {
      const u32 index = field(numbers, rank * unit.index, unit.index);
      good = good && index <= unit.entries;
      const bool stored = index != 0 && good;
      const double v = stored ? on_scale(scale, field(data, (index - 1) * unit.bits, unit.bits)) : scale.offset;
      convert(v, sample);
    } else if (unit.bits == 0) {
      convert(scale.offset, sample);
    } else {
      convert(on_scale(scale, field(numbers, rank * unit.bits, unit.bits)), sample);
    }
    out[pixel * blob.depth + depth] = sample;
  }
  return good;
}

}  // namespace lerc
