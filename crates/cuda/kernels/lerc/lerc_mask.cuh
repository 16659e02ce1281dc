// The mask of a blob: one bit per pixel, row by row, the first pixel in the highest bit of a byte. In the blob its
// bytes are run-length coded: a 16-bit count followed by that many bytes, or a negative count followed by one byte to
// repeat; the smallest number ends the runs.
#pragma once
#include "lerc/lerc_window.cuh"

namespace lerc {

// Unpacks the mask; returns false if it is invalid. Called by all lanes of one warp.
DEVICE bool unpack_mask(Window& window, const Blob& blob, u8* mask, u32 lane) {
  const u32 size = (blob.pixels + 7) / 8, stop = blob.mask_at + blob.mask_len;
  Walk walk = walk_from(blob);
  u32 at = blob.mask_at, made = 0;
#pragma unroll 1
  for (;;) {
    if (stop - at < 2) return false;
    const Bytes b = bytes_at(window, walk, blob, at);
    const i32 count = (i16)b.low;
    at += 2;
    if (count == -32768) break;
    const u32 len = (u32)(count < 0 ? -count : count), taken = count > 0 ? len : 1;
    // An empty run would take input without output.
    if (len == 0 || len > size - made || taken > stop - at) return false;
    const u8* from = blob.src + at;
    for (u32 i = lane; i < len; i += 32) mask[made + i] = count > 0 ? from[i] : (u8)(b.low >> 16);
    made += len;
    at += taken;
  }
  return made == size && at == stop;
}

// Returns whether a pixel is valid.
DEVICE bool is_valid(const u8* mask, u32 pixel) { return (mask[pixel >> 3] >> (7 - (pixel & 7)) & 1) != 0; }

// This thread's share of the number of valid pixels.
DEVICE u32 own_valid(const Blob& blob, const u8* mask) {
  u32 valid = 0;
  for (u32 i = threadIdx.x; i < (blob.pixels + 7) / 8; i += THREADS) {
    const u32 left = blob.pixels - 8 * i, unused = left < 8 ? 8 - left : 0;
    valid += (u32)__popc((u32)mask[i] >> unused);
  }
  return valid;
}

// Number of valid pixels of a micro-block. Called by all lanes of one warp.
DEVICE u32 valid_of(const Blob& blob, const u8* mask, const Place& place, u32 lane) {
  u32 valid = 0;
  for (u32 i = 0; i < place.width * place.height; i += 32) {
    const u32 pixel = i + lane, y = pixel / place.width, x = pixel - y * place.width;
    const bool inside = pixel < place.width * place.height;
    const bool set = inside && is_valid(mask, (place.y + y) * blob.width + place.x + x);
    valid += (u32)__popc(__ballot_sync(ALL, set));
  }
  return valid;
}

}  // namespace lerc
