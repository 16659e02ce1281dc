// Makes pixels from the samples of components: upsamples components to the number of pixels, converts YCbCr to RGB, and
// writes eight pixels of a row per thread.
//
// Everything as in libjpeg: triangle filters with its alternating rounding for half as many samples across, down or
// both, else each sample repeated; BT.601 in 16-bit fixed point.
#pragma once
#include "jpeg/jpeg_abi.h"

namespace jpeg {

const u32 PIXELS_THREADS = 256;
const u32 GROUP = 8;

// Eight samples of a component.
struct Samples {
  i32 v[GROUP];
};

// Unpacks four bytes.
DEVICE void unpack4(u32 word, i32* into) {
#pragma unroll
  for (int k = 0; k < 4; ++k) into[k] = (i32)(word >> (8 * k) & 0xFF);
}

// The row of a component's samples, or the nearest existing one.
DEVICE const u8* row_of(const JpegPlane& plane, i32 y) {
  u32 row = (u32)min(max(y, 0), (i32)plane.height - 1);
  return (const u8*)plane.samples + (u64)row * plane.blocks_across * 8;
}

DEVICE Samples eight_at(const u8* at) {
  const uint2 words = *(const uint2*)at;
  Samples samples;
  unpack4(words.x, samples.v);
  unpack4(words.y, samples.v + 4);
  return samples;
}

// Six samples of a row: four from column `x` on, a multiple of 4, and one on each side, or the nearest existing one.
DEVICE void six_at(const JpegPlane& plane, const u8* row, u32 x, i32 (&six)[6]) {
  unpack4(*(const u32*)(row + x), six + 1);
  six[0] = row[x == 0 ? 0 : x - 1];
  six[5] = row[min(x + 4, plane.width - 1)];
  // The last sample of the row is its own neighbour.
#pragma unroll
  for (int k = 2; k < 6; ++k) {
    if (x + k - 1 >= plane.width) six[k] = six[k - 1];
  }
}

// Eight samples of a component for the pixels from (x, y) on; those right of the picture have no meaning.
DEVICE Samples samples_at(const JpegPlane& plane, u32 x, u32 y) {
  Samples samples;
  if (plane.way == JPEG_SAME) return eight_at(row_of(plane, (i32)y) + x);
  if (plane.way == JPEG_DOWN) {
    const Samples near = eight_at(row_of(plane, (i32)(y / 2)) + x);
    const Samples far = eight_at(row_of(plane, (i32)(y / 2) + (y % 2 == 0 ? -1 : 1)) + x);
    const i32 bias = y % 2 == 0 ? 1 : 2;
#pragma unroll
    for (u32 k = 0; k < GROUP; ++k) samples.v[k] = (near.v[k] * 3 + far.v[k] + bias) >> 2;
    return samples;
  }
  if (plane.way == JPEG_ACROSS) {
    i32 six[6];
    six_at(plane, row_of(plane, (i32)y), x / 2, six);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      samples.v[2 * k] = (six[k + 1] * 3 + six[k] + 1) >> 2;
      samples.v[2 * k + 1] = (six[k + 1] * 3 + six[k + 2] + 2) >> 2;
    }
    return samples;
  }
  if (plane.way == JPEG_BOTH) {
    i32 near[6], far[6];
    six_at(plane, row_of(plane, (i32)(y / 2)), x / 2, near);
    six_at(plane, row_of(plane, (i32)(y / 2) + (y % 2 == 0 ? -1 : 1)), x / 2, far);
#pragma unroll
    for (int k = 0; k < 6; ++k) near[k] = near[k] * 3 + far[k];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      samples.v[2 * k] = (near[k + 1] * 3 + near[k] + 8) >> 4;
      samples.v[2 * k + 1] = (near[k + 1] * 3 + near[k + 2] + 7) >> 4;
    }
    return samples;
  }
  const u8* row = row_of(plane, (i32)(y / plane.repeats_down));
#pragma unroll
  for (u32 k = 0; k < GROUP; ++k) samples.v[k] = row[min((x + k) / plane.repeats_across, plane.width - 1)];
  return samples;
}

DEVICE i32 clamped(i32 v) { return min(max(v, 0), 255); }

// BT.601 with constants scaled by 2^16.
DEVICE void to_rgb(i32& a, i32& b, i32& c) {
  const i32 y = a, cb = b - 128, cr = c - 128, half = 1 << 15;
  a = clamped(y + ((91881 * cr + half) >> 16));
  b = clamped(y + ((-22554 * cb - 46802 * cr + half) >> 16));
  c = clamped(y + ((116130 * cb + half) >> 16));
}

// The words of eight pixels of C bytes each.
template <u32 C>
DEVICE void pack_pixels(const Samples (&from)[C], u32 (&words)[2 * C]) {
#pragma unroll
  for (u32 w = 0; w < 2 * C; ++w) {
    words[w] = 0;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) words[w] |= (u32)from[(w * 4 + k) % C].v[(w * 4 + k) / C] << (8 * k);
  }
}

// Writes eight pixels, or as many as are left in the row.
template <u32 C>
DEVICE void store_each(u8* to, const Samples (&from)[C], u32 count) {
#pragma unroll
  for (u32 k = 0; k < GROUP; ++k) {
    if (k < count) {
#pragma unroll
      for (u32 c = 0; c < C; ++c) to[k * C + c] = (u8)from[c].v[k];
    }
  }
}

struct PixelsShared {
  u32 words[PIXELS_THREADS / 32][32 * 8];
};

template <u32 C>
DEVICE void make_pixels(PixelsShared& shared, const JpegPicture& picture) {
  const u32 lane = threadIdx.x & 31;
  u32* staged = shared.words[threadIdx.x / 32];
  const u32 groups = (picture.width + GROUP - 1) / GROUP, all = groups * picture.rows;
  // If rows consist of whole groups, those of a warp are adjacent, and so are the words written.
  const bool whole = picture.width % GROUP == 0;
  for (u32 i = blockIdx.y * PIXELS_THREADS + threadIdx.x; i - lane < all; i += gridDim.y * PIXELS_THREADS) {
    const u32 mine = min(i, all - 1), y = mine / groups, x = mine % groups * GROUP;
    Samples samples[C];
#pragma unroll
    for (u32 c = 0; c < C; ++c) samples[c] = samples_at(picture.planes[c], x, y);
    if (C == 3 && picture.is_ycbcr != 0) {
#pragma unroll
      for (u32 k = 0; k < GROUP; ++k) to_rgb(samples[0].v[k], samples[C / 2].v[k], samples[C - 1].v[k]);
    }
    if (whole && i - lane + 32 <= all) {
      u32 words[2 * C];
      pack_pixels<C>(samples, words);
#pragma unroll
      for (u32 k = 0; k < 2 * C; ++k) staged[lane * 2 * C + k] = words[k];
      __syncwarp();
      u32* to = (u32*)picture.dst + (u64)(i - lane) * 2 * C;
#pragma unroll
      for (u32 k = 0; k < 2 * C; ++k) to[k * 32 + lane] = staged[k * 32 + lane];
      __syncwarp();
    } else if (i < all) {
      store_each<C>((u8*)picture.dst + ((u64)y * picture.width + x) * C, samples, min(GROUP, picture.width - x));
    }
  }
}

}  // namespace jpeg
