// Rows whose stored bytes are those of memory, but for the byte order, where a wanted row is one run of bytes
// in the output; and rectangles of the fill value.
//
// A lane takes 8 bytes aligned in the output, four times; bytes at the ends of a row go one by one.
#pragma once
#include "place_abi.h"
#include "words.cuh"

// Which of all the warps that work on a task this is.
struct Share {
  u32 warp;
  u32 warps;
  u32 lane;
};

// One run of bytes.
struct Run {
  u8* to;
  const u8* from;
  u32 len;
};

// Four pieces of runs at once: piece j is 32 times 8 bytes of `run[j]` from `at[j]` on, counted from the last
// multiple of 8 before the output's first byte.
DEVICE void copy_pieces(const Run (&run)[4], const u32 (&at)[4], u32 swap, u32 lane) {
  const u32 low = swap == 8 ? 0x4567 : swap == 4 ? 0x0123 : swap == 2 ? 0x2301 : 0x3210;
  const u32 high = swap == 8 ? 0x0123 : swap == 4 ? 0x4567 : swap == 2 ? 0x6745 : 0x7654;
  u64 words[4][1];
  bool whole[4];
#pragma unroll
  for (u32 j = 0; j < 4; j++) {
    const u32 skip = misalignment(run[j].to, 8), begin = at[j] + 8 * lane;
    whole[j] = begin >= skip && begin + 8 <= run[j].len + skip;
    if (whole[j]) load_words<u64, 1>(run[j].from + (begin - skip), run[j].from + run[j].len, words[j]);
  }
#pragma unroll
  for (u32 j = 0; j < 4; j++) {
    const u32 skip = misalignment(run[j].to, 8), begin = at[j] + 8 * lane;
    if (whole[j]) {
      const u32 a = (u32)words[j][0], b = (u32)(words[j][0] >> 32);
      const u64 word = (u64)__byte_perm(a, b, high) << 32 | __byte_perm(a, b, low);
      *(u64*)(run[j].to + (begin - skip)) = word;
      continue;
    }
    const u32 flip = swap != 0 ? swap - 1 : 0;
    const u32 first = max(begin, skip) - skip, last = min(begin + 8, run[j].len + skip);
#pragma unroll 1
    for (u32 i = first; i + skip < last; i++) run[j].to[i] = run[j].from[i ^ flip];
  }
}

// Needs the output at multiples of `swap`.
DEVICE void copy_rows(const PlaceLayout& layout, const PlaceTask& task, const Share& share) {
  const u32 pixel = layout.samples * layout.size, len = task.width * pixel;
  const u8* src = (const u8*)task.src + (u64)task.block_y * layout.row_len + (u64)task.block_x * pixel;
  u8* dst = (u8*)task.dst;
  Run run[4];
  u32 at[4];
  if (len <= 1024) {  // Four rows at a time, whole.
    for (u32 y = share.warp * 4; y < task.height; y += share.warps * 4) {
#pragma unroll
      for (u32 j = 0; j < 4; j++) {
        const u64 row = y + j;
        run[j] = {dst + row * layout.row_stride, src + row * layout.row_len, row < task.height ? len : 0};
      }
      for (u32 begin = 0; begin < len + 7; begin += 256) {
#pragma unroll
        for (u32 j = 0; j < 4; j++) at[j] = begin;
        copy_pieces(run, at, layout.swap, share.lane);
      }
    }
    return;
  }
  const u32 parts = (len + 7 + 1023) / 1024;
  const u64 items = (u64)task.height * parts;
  for (u64 item = share.warp; item < items; item += share.warps) {
    const u64 row = items >> 32 ? item / parts : (u32)item / parts;
    const u32 part = (u32)(item - row * parts);
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
      run[j] = {dst + row * layout.row_stride, src + row * layout.row_len, len};
      at[j] = part * 1024 + j * 256;
    }
    copy_pieces(run, at, layout.swap, share.lane);
  }
}

// Writes `fill`, one sample. `stage` is this warp's own, 1024 bytes and 4 more.
DEVICE void fill_rows(const PlaceLayout& layout, const u8* fill, const PlaceTask& task, const Share& share,
                      u8* stage) {
  const u32 size = layout.size;
  const bool pixels = (task.flags & TASK_INTERLEAVED) != 0;
  if (!pixels && layout.column_stride != size) {
    for (u32 y = share.warp; y < task.height; y += share.warps) {
      for (u32 band = 0; band < task.bands; band++) {
        u8* row = (u8*)task.dst + y * layout.row_stride + band * layout.band_stride;
        for (u32 x = share.lane; x < task.width; x += 32) {
          for (u32 i = 0; i < size; i++) row[x * layout.column_stride + i] = fill[i];
        }
      }
    }
    return;
  }
  for (u32 i = share.lane; i < 1024; i += 32) stage[i] = fill[i & (size - 1)];
  __syncwarp();
  const u32 runs = pixels ? 1 : task.bands;
  const u64 len = (u64)task.width * size * (pixels ? task.bands : 1);
  for (u32 y = share.warp; y < task.height; y += share.warps) {
    for (u32 band = 0; band < runs; band++) {
      u8* row = (u8*)task.dst + y * layout.row_stride + band * layout.band_stride;
      for (u64 at = 0; at < len; at += 1024) {
        write_run(row + at, stage, (u32)min(len - at, (u64)1024), share.lane);
      }
    }
  }
}
