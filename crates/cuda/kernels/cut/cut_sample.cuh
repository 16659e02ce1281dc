// Loads one sample of a block from anywhere in the image or beyond it (strides, padding and NaN), and makes 16 packed
// bytes from such samples. Every variant of `cut.cu` uses this where it has nothing faster.
//
// Beyond the image the last column is repeated, and the last row up to a multiple of 16; all rows further down repeat
// the last pixel of the last row. The result equals that of the CPU engine's `cut` and `difference`.
#pragma once
#include "cut/cut_abi.h"
#include "words.cuh"

// A sample in memory, little-endian.
struct Number {
  u64 low;
  u64 high;
};

// First row that consists of a single repeated pixel.
DEVICE u32 far_row(const CutTask& task) { return (task.height + 15) / 16 * 16; }

// First sample of row `y` that repeats the previous pixel.
DEVICE u32 repeats_from(const CutRecipe& recipe, const CutTask& task, u32 y) {
  return recipe.samples * (y >= far_row(task) ? 1 : task.width);
}

// Address of the source of sample `i` of row `y`.
DEVICE const u8* sample_at(const CutRecipe& recipe, const CutTask& task, u32 y, u32 i) {
  const u32 pixel = i / recipe.samples, band = i - pixel * recipe.samples, last = task.width - 1;
  const u32 x = y >= far_row(task) ? last : min(pixel, last);
  return (const u8*)task.src + band * task.band_stride + min(y, task.height - 1) * task.row_stride +
         x * task.column_stride;
}

DEVICE Number load_number(const u8* at, u32 size) {
  if (misalignment(at, min(size, 8u)) == 0) {
    switch (size) {
      case 1: return {*at, 0};
      case 2: return {*(const u16*)at, 0};
      case 4: return {*(const u32*)at, 0};
      case 8: return {*(const u64*)at, 0};
      default: return {((const u64*)at)[0], ((const u64*)at)[1]};
    }
  }
  Number number = {0, 0};
#pragma unroll 1
  for (u32 k = 0; k < size; k++) (k < 8 ? number.low : number.high) |= (u64)at[k] << k % 8 * 8;
  return number;
}

DEVICE bool single_is_nan(u32 bits) { return (bits & 0x7FFFFFFFu) > 0x7F800000u; }

DEVICE bool double_is_nan(u64 bits) { return (bits & 0x7FFFFFFFFFFFFFFFull) > 0x7FF0000000000000ull; }

DEVICE bool number_is_nan(const Number& number, const CutRecipe& recipe) {
  switch (recipe.nan_of) {
    case NAN_KEPT: return false;
    case NAN_HALF: return (number.low & 0x7FFFu) > 0x7C00u;
    case NAN_SINGLE: return single_is_nan((u32)number.low) || single_is_nan((u32)(number.low >> 32));
    default: return double_is_nan(number.low) || double_is_nan(number.high);
  }
}

// The sample that a pattern of the recipe repeats.
DEVICE Number repeated(const u8* pattern, u32 size) {
  const u64* words = (const u64*)pattern;
  if (size == 16) return {words[0], words[1]};
  return {words[0] & ~0ull >> (64 - 8 * size), 0};
}

// Sample `i` of row `y`, with NaN replaced.
NOINLINE Number sample_of(const CutRecipe& recipe, const CutTask& task, u32 y, u32 i) {
  const Number number = load_number(sample_at(recipe, task, y, i), recipe.size);
  return number_is_nan(number, recipe) ? repeated(recipe.nan, recipe.size) : number;
}

DEVICE bool is_fill(const CutRecipe& recipe, const Number& number) {
  const Number fill = repeated(recipe.fill, recipe.size);
  return fill.low == number.low && fill.high == number.high;
}

// Reverses the bytes of each unit of 2, 4 or 8 bytes of a number; 0 leaves it unchanged.
DEVICE u64 reordered(u64 number, u32 unit) {
  const u32 low = (u32)number, high = (u32)(number >> 32), order = unit == 2 ? 0x2301 : 0x0123;
  if (unit == 0) return number;
  const u32 a = __byte_perm(low, 0, order), b = __byte_perm(high, 0, order);
  return unit == 8 ? (u64)a << 32 | b : (u64)b << 32 | a;
}

DEVICE Quad quad_of(const Number& number) {
  return {(u32)number.low, (u32)(number.low >> 32), (u32)number.high, (u32)(number.high >> 32)};
}

// Packed bytes of the block from `at` on, a multiple of 16, without predictor or with predictor 2; 0 past its end.
NOINLINE Quad packed_samples(const CutRecipe& recipe, const CutTask& task, u32 at, bool& differs) {
  const u32 size = recipe.size, row_samples = recipe.row_samples;
  Number out = {0, 0};
  u32 y = at / recipe.row_len, i = (at - y * recipe.row_len) / size;
  // From `edge` on a pixel is repeated: its differences are 0; pixels whose size divides 16 bytes are made once.
  const u32 edge = repeats_from(recipe, task, y), pixel = recipe.samples * size;
  u32 upto = 16;
  if (i + 16 / size <= row_samples) {
    if (recipe.predictor == 2) upto = i < edge ? min(16u, (edge - i) * size) : 0;
    if (recipe.predictor == 1 && i >= edge && 16 % pixel == 0) upto = pixel;
  }
#pragma unroll 1
  for (u32 done = 0; done < upto && y < task.rows; done += size) {
    Number number = sample_of(recipe, task, y, i);
    differs |= !is_fill(recipe, number);
    if (recipe.predictor == 2 && i >= recipe.samples) {
      number.low -= sample_of(recipe, task, y, i - recipe.samples).low;
      if (size < 8) number.low &= (1ull << 8 * size) - 1;
    }
    if (size < 8) {
      (done < 8 ? out.low : out.high) |= reordered(number.low, recipe.swap) << done % 8 * 8;
    } else if (size == 8) {
      (done < 8 ? out.low : out.high) = reordered(number.low, recipe.swap);
    } else {
      out = {reordered(number.low, recipe.swap), reordered(number.high, recipe.swap)};
    }
    if (++i == row_samples) i = 0, y++;
  }
  if (recipe.predictor == 1 && upto < 16) {
#pragma unroll 1
    for (u32 done = upto; done < 8; done *= 2) out.low |= out.low << 8 * done;
    out.high = out.low;
  }
  return quad_of(out);
}

// Byte `at` of row `y` in planes, the most significant bytes of all samples first.
DEVICE u32 plane_byte(const CutRecipe& recipe, const CutTask& task, u32 y, u32 at, bool& differs) {
  const u32 plane = at / recipe.row_samples;
  const Number number = sample_of(recipe, task, y, at - plane * recipe.row_samples);
  differs |= !is_fill(recipe, number);
  return (u32)(number.low >> 8 * (recipe.size - 1 - plane)) & 0xFF;
}

// Like packed_samples, with predictor 3.
NOINLINE Quad packed_planes(const CutRecipe& recipe, const CutTask& task, u32 at, bool& differs) {
  Number out = {0, 0};
  u32 y = at / recipe.row_len, i = at - y * recipe.row_len;
#pragma unroll 1
  for (u32 done = 0; done < 16 && y < task.rows; done++) {
    u32 byte = plane_byte(recipe, task, y, i, differs);
    if (i >= recipe.samples) byte -= plane_byte(recipe, task, y, i - recipe.samples, differs);
    (done < 8 ? out.low : out.high) |= (u64)(byte & 0xFF) << done % 8 * 8;
    if (++i == recipe.row_len) i = 0, y++;
  }
  return quad_of(out);
}
