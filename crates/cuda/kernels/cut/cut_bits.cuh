// Packs bytes of 0 and 1 into samples of one bit: eight per byte, most significant bit first, rows padded with 0 to a
// byte. Any other value is unfit.
#pragma once
#include "cut/cut_rows.cuh"

// Returns the low bits of eight bytes, the first of which becomes the most significant.
DEVICE u32 gathered_bits(u64 bytes) { return (u32)(bytes * 0x8040201008040201ull >> 56); }

// Each lane makes one byte.
DEVICE bool cut_bits(const CutRecipe& recipe, const CutTask& task, bool& unfit) {
  const u8* end = (const u8*)task.end;
  const u32 inside = recipe.samples == 1 && task.column_stride == 1 ? task.width : 0;
  bool differs = false;
#pragma unroll 1
  for (u32 at = blockIdx.y * CUT_THREADS + threadIdx.x; at < task.len; at += gridDim.y * CUT_THREADS) {
    const u32 y = at / recipe.row_len, i = (at - y * recipe.row_len) * 8;
    const u32 count = min(8u, recipe.row_samples - i);
    u64 bytes[1] = {0};
    if (y < far_row(task) && i + 8 <= inside) {
      load_words<u64, 1>((const u8*)task.src + min(y, task.height - 1) * task.row_stride + i, end, bytes);
    } else {
#pragma unroll 1
      for (u32 k = 0; k < count; k++) bytes[0] |= (u64)*sample_at(recipe, task, y, i + k) << 8 * k;
    }
    const u64 there = ~0ull >> (64 - 8 * count);
    differs |= ((bytes[0] ^ *(const u64*)recipe.fill) & there) != 0;
    unfit |= (bytes[0] & ~0x0101010101010101ull) != 0;
    ((u8*)task.dst)[at] = (u8)gathered_bits(bytes[0]);
  }
  clear_tail(task);
  return differs;
}
