// Rows of two to four samples per pixel. A lane reads its own 16 bytes of each sample; pixels are reassembled in shared
// memory and written in order, 16 bytes per lane.
#pragma once
#include "place/place_rows.cuh"

// Place of the 16 bytes numbered `unit` in shared memory. If they need not be consecutive, it is chosen so that lanes
// that write S of them have no bank conflicts.
template <int S>
DEVICE u32 spread(u32 unit, bool apart) {
  return S % 2 == 0 && apart ? unit + unit / 8 : unit;
}

// Rows of several samples per pixel.
template <u32 T, int S, bool FLOATS>
DEVICE void place_pixels(const PlaceLayout& layout, const PlaceTask& task, const u16* selection,
                         const i32* tables, const Share& share, Quad* stage) {
  Rows rows = rows_of(layout, task, T * S, 16 * S);
  const u32 row_len = layout.row_len, lane = share.lane;
  // Consecutive rows form one run of units; others are taken one by one.
  if (row_len != rows.lanes * (16 * S) || rows.units * 16 != row_len || layout.row_stride >> 28 != 0) {
    rows.lanes = 32, rows.at_once = 1;
  }
  const u32 lanes = rows.lanes, at_once = rows.at_once;
  const u32 own_y = lane / lanes, own_x = lane - own_y * lanes;
  const bool pixels = (task.flags & TASK_INTERLEAVED) != 0, aligned = (task.src | row_len) % 16 == 0;
  const bool plain = !FLOATS && rows.plain && rows.wanted == 0 && rows.upto % (16 * S) == 0 &&
                     (pixels || layout.band_stride % 16 == 0);
  const u8* end = (const u8*)task.src + (u64)(task.block_y + task.height) * row_len;
  const Undo undo = undo_of(layout, lanes, lane);
  u32 to[S];  // destination of the units that this lane reads
#pragma unroll
  for (u32 c = 0; c < S; c++) {
    const u32 unit = c * 32 + lane, y = unit / lanes / S;
    to[c] = y * (u32)layout.row_stride + 16 * (unit - y * lanes * S);
  }
#pragma unroll 1
  for (u32 first = share.warp * at_once; first < task.height; first += share.warps * at_once) {
    const u8* row = (const u8*)task.src + (u64)(task.block_y + first) * row_len + rows.begin;
    u8* out = (u8*)task.dst + first * layout.row_stride;
    u32 carry[Packed<T, S>::COUNT] = {};
#pragma unroll 1
    for (u32 chunk = 0; chunk < rows.units; chunk += 32 * S) {
      const u32 left = at_once > 1 ? (task.height - first) * rows.units : rows.units - chunk;
      u32 packed[4 * S], apart[S][4];
      if (aligned) {
        // Lanes read their own bytes: the first of S loads brings the bytes of the others into the cache.
#pragma unroll
        for (u32 c = 0; c < S; c++) {
          Quad quad = {0, 0, 0, 0};
          if (lane * S + c < left) quad = *(const Quad*)(row + 16 * (chunk + lane * S) + c * 16);
#pragma unroll
          for (int k = 0; k < 4; k++) packed[4 * c + k] = quad.word[k];
        }
      } else {
#pragma unroll 1
        for (u32 c = 0; c < S; c++) {
          stage[spread<S>(c * 32 + lane, plain)] = load_quad(row + 16 * (chunk + c * 32 + lane), end);
        }
        __syncwarp();
#pragma unroll
        for (u32 c = 0; c < S; c++) {
          const Quad quad = stage[spread<S>(lane * S + c, plain)];
#pragma unroll
          for (int k = 0; k < 4; k++) packed[4 * c + k] = quad.word[k];
        }
      }
      undo_lane<T, S>(undo, packed, apart, carry, at_once == 1);
      const u32 at = rows.begin + 16 * chunk;
      if (pixels) {
        put_together<T, S>(apart, packed);
#pragma unroll
        for (u32 c = 0; c < S; c++) {
          const u32* words = packed + 4 * c;
          stage[spread<S>(lane * S + c, plain)] = {words[0], words[1], words[2], words[3]};
        }
        __syncwarp();
        if (plain) {
#pragma unroll
          for (u32 c = 0; c < S; c++) {
            const Quad quad = stage[spread<S>(c * 32 + lane, plain)];
            if (c * 32 + lane < left) *(Quad*)(out + 16 * chunk + to[c]) = quad;
          }
        } else {
          write_rows<T, FLOATS>(layout, rows, tables, out, (const u8*)stage, 16 * S * lanes,
                                task.height - first, at, 1, lane);
        }
      } else {
        const bool there = at_once > 1 ? first + own_y < task.height : own_x * S < left;
#pragma unroll 1
        for (u32 band = 0; band < task.bands; band++) {
          const Quad quad = picked<S>(apart, selection[band]);
          u8* in_band = out + band * layout.band_stride;
          if (plain) {
            if (there) *(Quad*)(in_band + own_y * layout.row_stride + 16 * (chunk / S + own_x)) = quad;
            continue;
          }
          __syncwarp();
          stage[lane] = quad;
          __syncwarp();
          write_rows<T, FLOATS>(layout, rows, tables, in_band, (const u8*)stage, 16 * lanes,
                                task.height - first, at, S, lane);
        }
      }
      __syncwarp();
    }
  }
}
