// The cleanup pass of a high-throughput code-block (ISO 15444-15, 7.3), by one lane: quads of two by two coefficients,
// two quads at a time. A single loop goes over all pairs of all rows, so that lanes stay together for any widths.
#pragma once
#include "jpeg2000/jpeg2000_coefficients.cuh"
#include "jpeg2000/jpeg2000_ht_bits.cuh"
#include "jpeg2000/jpeg2000_ht_codes.cuh"

namespace jpeg2000_ht {

enum : u32 { MOST_SUFFIX = 4079 };

// Destination of coefficients: final ones go into the plane; if passes follow, half units with the sign in bit 31.
struct Target {
  u32* first;
  u32 stride;
  bool half_units;
};

// For each quad of a row and one more: the larger exponent of the coefficients above at the column before it and at its
// first column; 0 if both are 0. Uninitialised before the first row.
struct Line {
  u8* first;
  u32 step;
};

struct Prefix {
  u32 len, suffix, value;
};

DEVICE Prefix prefix(u32 bits) {
  if ((bits & 1) != 0) return {1, 0, 1};
  if ((bits & 2) != 0) return {2, 0, 2};
  if ((bits & 4) != 0) return {3, 1, 3};
  return {3, 5, 5};
}

struct Exponents {
  u32 left, right;
  u32 len;
};

// Decodes the exponents of a pair relative to their known bounds: first both prefixes, then both suffixes. In the first
// row `more` adds 2 to both; without it, a long first code leaves one bit to the second.
DEVICE Exponents exponents(u32 bits, u32 offsets, bool first_row, bool more) {
  Prefix a = {0, 0, 0}, b = {0, 0, 0};
  if ((offsets & 1) != 0) a = prefix(bits);
  if ((offsets & 2) != 0) {
    const u32 rest = bits >> a.len;
    const bool brief = first_row && !more && a.len > 2;
    b = prefix(rest);
    if (brief) b = {1, 0, 1 + (rest & 1)};
  }
  const u32 suffixes = bits >> (a.len + b.len), add = more ? 2 : 0;
  Exponents made;
  made.left = a.value + (suffixes & ((1u << a.suffix) - 1)) + add;
  made.right = b.value + (suffixes >> a.suffix & ((1u << b.suffix) - 1)) + add;
  made.len = a.len + b.len + a.suffix + b.suffix;
  return made;
}

DEVICE u32 significance(u32 quad) { return quad >> 4 & 15; }

// With several significant coefficients, the exponents above give a lower bound on the number of bits.
DEVICE u32 bound_of(u32 quad, u32 told, u32 above) {
  const u32 own = significance(quad);
  return told + ((own & (own - 1)) != 0 && above > 2 ? above - 1 : 1);
}

// This quad's contribution to the context of the next quad to the right.
DEVICE u32 west_of(u32 quad, bool first_row) {
  if (first_row) return (quad >> 4 & 1) | (quad >> 5 & 7);
  return (quad >> 6 & 3) != 0 ? 2 : 0;
}

DEVICE void store(const Target& target, u32 x, u32 y, u32 columns, const u32 values[4]) {
  u32* const to = target.first + (u64)y * target.stride + x;
  if (columns == 4 && ((u64)to & 15) == 0) {
    *(uint4*)to = make_uint4(values[0], values[1], values[2], values[3]);
    return;
  }
  for (u32 i = 0; i < columns; ++i) to[i] = values[i];
}

// Returns false if the pass is invalid. `bytes` are those of its segment, `zero_planes` is the number of planes above
// the coded ones.
DEVICE bool cleanup(const Jpeg2000Block& block, u32 zero_planes, const Jpeg2000Segment& segment, const Target& target,
                    const Line& line, const u16* first_codes, const u16* other_codes) {
  const u8* const bytes = (const u8*)segment.words;
  if (segment.len < 2) return false;
  const u32 half = bytes[segment.len - 2], suffix = (u32)bytes[segment.len - 1] << 4 | (half & 15);
  if (suffix < 2 || suffix > segment.len || suffix > MOST_SUFFIX) return false;
  const u32 start = segment.len - suffix;
  Forward magnitudes = forward((const u32*)segment.words, start, ~0u);
  Backward codes = backward_codes(bytes + start, suffix - 2, half);
  Runs events = runs(bytes + start, suffix - 1);
  const u32 most = min(zero_planes + 2, 31u), width = block.width, height = block.height;
  // Exponents above: before the pair and at its first column; those that the previous pair left for the row below.
  u32 above = 0, below = 0, west = 0;
  for (u32 x = 0, y = 0; y < height;) {
    const bool first_row = y == 0, two = x + 2 < width;
    u8* const at = line.first + x / 2 * line.step;
    const u32 middle = first_row ? 0 : at[line.step];
    const u32 after = first_row || !two ? 0 : at[2 * line.step];
    const u16* const table = first_row ? first_codes : other_codes;
    u32 bits = peek(codes);
    u32 quads[2] = {0, 0};
    u32 context = west | (first_row ? 0 : (above != 0) | (u32)(middle != 0) << 2);
    if (context != 0 || event(events)) quads[0] = table[context << 7 | (bits & 127)];
    u32 used = quads[0] & 7;
    west = west_of(quads[0], first_row);
    if (two) {
      context = west | (first_row ? 0 : (middle != 0) | (u32)(after != 0) << 2);
      if (context != 0 || event(events)) quads[1] = table[context << 7 | (bits >> used & 127)];
      used += quads[1] & 7;
      west = west_of(quads[1], first_row);
    }
    const u32 offsets = (quads[0] >> 3 & 1) | (quads[1] >> 2 & 2);
    const bool more = first_row && offsets == 3 && event(events);
    const Exponents told = exponents(bits >> used, offsets, first_row, more);
    skip(codes, used + told.len);
    const u32 bounds[2] = {bound_of(quads[0], told.left, max(above, middle)),
                           bound_of(quads[1], told.right, max(middle, after))};
    const u32 columns = min(width - x, 4u);
    const u32 inside = 0xFFu >> 2 * (4 - columns) & (y + 1 < height ? 0xFFu : 0x55u);
    const u32 significant = significance(quads[0]) | significance(quads[1]) << 4;
    if (max(bounds[0], bounds[1]) > most || (significant & ~inside) != 0) return false;
    u32 values[2][4];
    u32 lower[4];
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const u32 quad = quads[i], bound = bounds[i];
      // Peeks 32 bits, which serve as many coefficients as they suffice for.
      u32 word = peek(magnitudes), used = 0;
#pragma unroll
      for (u32 k = 0; k < 4; ++k) {
        if ((k == 2 && bound > 8) || (k % 2 == 1 && bound > 16)) {
          skip(magnitudes, used);
          used = 0;
          word = peek(magnitudes);
        }
        const u32 is = quad >> (4 + k) & 1, len = (bound & (0 - is)) - (quad >> (12 + k) & 1);
        const u32 bits_told = (word & ((1u << len) - 1)) | (quad >> (8 + k) & 1) << len | is;
        const u32 units = (bits_told + 2 * is) << (block.planes - 1) & 0x7FFFFFFF, negative = word & is;
        values[k % 2][2 * i + k / 2] =
            target.half_units ? units | negative << 31 : jpeg2000::coefficient(units, negative != 0, block);
        if (k % 2 == 1) lower[2 * i + k / 2] = 32 - (u32)__clz((i32)bits_told);
        word >>= len;
        used += len;
      }
      skip(magnitudes, used);
    }
    store(target, x, y, columns, values[0]);
    if (y + 1 < height) store(target, x, y + 1, columns, values[1]);
    at[0] = (u8)max(below, lower[0]);
    at[line.step] = (u8)max(lower[1], lower[2]);
    below = lower[3];
    above = after;
    x += 4;
    if (x >= width) {
      if (two) at[2 * line.step] = (u8)below;
      x = 0;
      y += 2;
      above = line.first[0];
      below = west = 0;
    }
  }
  return true;
}

}  // namespace jpeg2000_ht
