// Whole samples of 1, 2 or 4 bytes, one to four a pixel: predictor 2 undone where there is one, the byte
// order, and pixels taken apart where the output holds bands.
//
// A warp takes rows, several at once where a lane has few bytes of each, in chunks of 32 lanes with 8 bytes
// of each sample; sums go from chunk to chunk. Chunks that fill aligned memory are stored at once, the others
// pass through shared memory, which takes any crop and any alignment. Needs an output that holds pixels as
// the block does, or bands without gaps between columns.
#pragma once
#include "interleave.cuh"
#include "place_abi.h"
#include "place_copy.cuh"
#include "words.cuh"

// The columns of a chunk that are wanted.
struct Columns {
  u32 begin;   // first column of the chunk in the block
  u32 from;    // first one wanted of it
  u32 upto;    // the one after the last wanted
};

// Stores `words` of each lane (8 or more bytes, the next lane's follow) as part of a row that begins at
// `row`, the place of column `task.block_x`; `pixel` is the bytes of a column.
template <int N>
DEVICE void store_chunk(u8* row, const u32 (&words)[N], const Columns& columns, u32 block_x, u32 pixel,
                        u8* stage, u32 lane) {
  static_assert(N % 2 == 0, "whole units of 8 bytes");
  if (columns.from >= columns.upto) return;
  const u32 chunk = 32 * N * 4 / pixel;
  u8* to = row + (u64)(columns.from - block_x) * pixel;
  const bool whole = columns.upto - columns.from == chunk;
  if (N == 4 && whole && misalignment(to, 16) == 0) {
    ((Quad*)to)[lane] = {words[0], words[1], words[2], words[3]};
    return;
  }
  if (N == 2 && whole && misalignment(to, 8) == 0) {
    ((u64*)to)[lane] = (u64)words[1] << 32 | words[0];
    return;
  }
  __syncwarp();
  u64* own = (u64*)stage + lane * (N / 2);
#pragma unroll
  for (int k = 0; k < N / 2; k++) own[k] = (u64)words[2 * k + 1] << 32 | words[2 * k];
  __syncwarp();
  write_run(to, stage + (columns.from - columns.begin) * pixel, (columns.upto - columns.from) * pixel, lane);
}

template <u32 T, int S>
DEVICE void place_sums(const PlaceLayout& layout, const PlaceTask& task, const u16* selection,
                       const Share& share, u8* stage) {
  const int ROWS = S == 1 ? 4 : S == 4 ? 1 : 2;
  const u32 CHUNK = 32 * (8 / T);
  const int PACKED = T == 1 ? (S + 1) / 2 : S;  // numbers to sum over lanes: two bytes fit in one
  const bool sums = (layout.flags & LAYOUT_SUMS) != 0, pixels = (task.flags & TASK_INTERLEAVED) != 0;
  const u32 order = layout.swap == 4 ? 0x0123 : layout.swap == 2 ? 0x2301 : 0x3210;
  const u32 upto = task.block_x + task.width, lane = share.lane;
  const u8* src = (const u8*)task.src + (u64)task.block_y * layout.row_len;
  for (u32 first = share.warp * ROWS; first < task.height; first += share.warps * ROWS) {
    u32 carry[ROWS][PACKED] = {};
    for (u32 x = sums ? 0 : task.block_x; x < upto; x += CHUNK) {
      u64 loaded[ROWS][S];
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const u8* row = src + (u64)(first + r) * layout.row_len;
        const u8* end = first + r < task.height ? row + (u64)upto * (S * T) : row;
        load_words<u64, S>(row + (u64)(x + lane * (8 / T)) * (S * T), end, loaded[r]);
      }
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        u32 packed[2 * S], apart[S][2];
#pragma unroll
        for (int k = 0; k < S; k++) {
          packed[2 * k] = __byte_perm((u32)loaded[r][k], 0, order);
          packed[2 * k + 1] = __byte_perm((u32)(loaded[r][k] >> 32), 0, order);
        }
        take_apart<T, S>(packed, apart);
        if (sums) {
          u32 own[PACKED] = {}, upto_here[PACKED];
#pragma unroll
          for (int s = 0; s < S; s++) {
            const u32 total = lane_total<T>(apart[s][0], apart[s][1]);
            own[T == 1 ? s / 2 : s] += T == 1 ? total << 16 * (s % 2) : total;
          }
#pragma unroll
          for (int k = 0; k < PACKED; k++) upto_here[k] = own[k];
          warp_sums(upto_here, lane);
#pragma unroll
          for (int s = 0; s < S; s++) {
            const int k = T == 1 ? s / 2 : s;
            const u32 before = carry[r][k] + upto_here[k] - own[k];
            lane_sums<T>(apart[s][0], apart[s][1], T == 1 ? before >> 16 * (s % 2) : before);
          }
#pragma unroll
          for (int k = 0; k < PACKED; k++) {
            carry[r][k] += __shfl_sync(0xFFFFFFFFu, upto_here[k], 31);
            if (T == 1) carry[r][k] &= EVEN_BYTES;
          }
        }
        if (first + r >= task.height) continue;
        const Columns columns = {x, max(x, task.block_x), min(x + CHUNK, upto)};
        u8* out = (u8*)task.dst + (u64)(first + r) * layout.row_stride;
        if (pixels) {
          put_together<T, S>(apart, packed);
          store_chunk<2 * S>(out, packed, columns, task.block_x, S * T, stage, lane);
          continue;
        }
#pragma unroll 1
        for (u32 band = 0; band < task.bands; band++) {
          const u32 sample = selection[band];
          u32 words[2] = {apart[0][0], apart[0][1]};
#pragma unroll
          for (u32 s = 1; s < S; s++) {
            words[0] = sample == s ? apart[s][0] : words[0];
            words[1] = sample == s ? apart[s][1] : words[1];
          }
          store_chunk<2>(out + band * layout.band_stride, words, columns, task.block_x, T, stage, lane);
        }
      }
    }
  }
}
