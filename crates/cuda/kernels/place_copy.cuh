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

// Four pieces of 32 times 8 bytes, the next piece always a step further: runs of `len` bytes to copy, and the
// place in them where each piece begins, counted from the last multiple of 8 before the output's first byte.
struct Pieces {
  u8* to;
  const u8* from;
  u64 to_step;
  u32 from_step;
  u32 begin;
  u32 begin_step;
  u32 len;
  u32 count;  // of pieces that there are
};

DEVICE void copy_pieces(const Pieces& pieces, u32 swap, u32 lane) {
  const u32 low = swap == 8 ? 0x4567 : swap == 4 ? 0x0123 : swap == 2 ? 0x2301 : 0x3210;
  const u32 high = swap == 8 ? 0x0123 : swap == 4 ? 0x4567 : swap == 2 ? 0x6745 : 0x7654;
  const u32 len = pieces.len;
  u64 words[4][1];
#pragma unroll
  for (u32 j = 0; j < 4; j++) {
    const u8* from = pieces.from + (u64)j * pieces.from_step;
    const u32 skip = misalignment(pieces.to + j * pieces.to_step, 8);
    const u32 begin = pieces.begin + j * pieces.begin_step + 8 * lane;
    const bool whole = begin >= skip && begin + 8 <= len + skip && j < pieces.count;
    if (whole) load_words<u64, 1>(from + (begin - skip), from + len, words[j]);
  }
#pragma unroll
  for (u32 j = 0; j < 4; j++) {
    if (j >= pieces.count) return;
    u8* to = pieces.to + j * pieces.to_step;
    const u32 skip = misalignment(to, 8), begin = pieces.begin + j * pieces.begin_step + 8 * lane;
    if (begin >= skip && begin + 8 <= len + skip) {
      const u32 a = (u32)words[j][0], b = (u32)(words[j][0] >> 32);
      *(u64*)(to + (begin - skip)) = (u64)__byte_perm(a, b, high) << 32 | __byte_perm(a, b, low);
      continue;
    }
    const u8* from = pieces.from + (u64)j * pieces.from_step;
    const u32 flip = swap != 0 ? swap - 1 : 0;
    const u32 first = max(begin, skip) - skip, last = min(begin + 8, len + skip);
#pragma unroll 1
    for (u32 i = first; i + skip < last; i++) to[i] = from[i ^ flip];
  }
}

// Needs the output at multiples of `swap`.
DEVICE void copy_rows(const PlaceLayout& layout, const PlaceTask& task, const Share& share) {
  const u32 pixel = layout.samples * layout.size, len = task.width * pixel;
  const u8* src = (const u8*)task.src + (u64)task.block_y * layout.row_len + (u64)task.block_x * pixel;
  u8* dst = (u8*)task.dst;
  if (len <= 1024) {  // Four rows at a time, whole.
    for (u32 y = share.warp * 4; y < task.height; y += share.warps * 4) {
      Pieces pieces = {dst + y * layout.row_stride, src + (u64)y * layout.row_len, layout.row_stride,
                       layout.row_len, 0, 0, len, task.height - y};
      for (; pieces.begin < len + 7; pieces.begin += 256) copy_pieces(pieces, layout.swap, share.lane);
    }
    return;
  }
  // A block has at most 2^30 bytes, so there are not too many items to count.
  const u32 parts = (len + 7 + 1023) / 1024, items = task.height * parts;
  for (u32 item = share.warp; item < items; item += share.warps) {
    const u32 y = item / parts;
    const Pieces pieces = {dst + y * layout.row_stride, src + (u64)y * layout.row_len, 0, 0,
                           (item - y * parts) * 1024, 256, len, 4};
    copy_pieces(pieces, layout.swap, share.lane);
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
