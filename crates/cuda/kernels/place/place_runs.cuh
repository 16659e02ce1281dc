// Rows of one sample per pixel; or of bytes that equal those in memory except for their order, which are treated as
// samples of one byte.
#pragma once
#include "place/place_rows.cuh"

// Rows of one sample per pixel, or of consecutive numbers of T bytes: DEEP chunks in flight at a time, of several rows
// or of one.
template <u32 T, bool FLOATS>
DEVICE void place_runs(const PlaceLayout& layout, const PlaceTask& task, const i32* tables,
                       const Share& share, Quad* stage) {
  const Rows rows = rows_of(layout, task, layout.samples * layout.native, 16);
  const u32 lane = share.lane, at_once = rows.at_once, row_len = layout.row_len;
  const u32 DEEP = FLOATS ? 2 : 4, LOG = FLOATS ? 1 : 2;
  const u32 shift = min(rows.units > 64 ? 2 : rows.units > 32 ? 1 : 0, LOG), step = (DEEP >> shift) * at_once;
  const u32 y = lane / rows.lanes, x = lane - y * rows.lanes;
  const Undo undo = undo_of(layout, rows.lanes, lane);
  const u8* end = (const u8*)task.src + (u64)(task.block_y + task.height) * row_len;
  const bool aligned = (task.src | row_len) % 16 == 0, plain = !FLOATS && rows.plain;
#pragma unroll 1
  for (u32 first = share.warp * step; first < task.height; first += share.warps * step) {
    const u8* row = (const u8*)task.src + (u64)(task.block_y + first + y) * row_len + (rows.begin + 16 * x);
    u8* out = (u8*)task.dst + first * layout.row_stride;
    u32 carry[1] = {0};
#pragma unroll 1
    for (u32 chunk = 0; chunk < rows.units; chunk += 32 * DEEP) {
      u32 words[DEEP][4];
      // For one of these chunks: its first row after `first`, its first unit, and whether this lane has a unit.
      const auto down = [&](u32 i) { return (i >> shift) * at_once; };
      const auto along = [&](u32 i) { return chunk + (i & ((1u << shift) - 1)) * 32; };
      const auto there = [&](u32 i) {
        return along(i) + x < rows.units && first + y + down(i) < task.height;
      };
      if (aligned) {
#pragma unroll
        for (u32 i = 0; i < DEEP; i++) {
          Quad quad = {0, 0, 0, 0};
          if (there(i)) quad = *(const Quad*)(row + (down(i) * row_len + 16 * along(i)));
#pragma unroll
          for (int k = 0; k < 4; k++) words[i][k] = quad.word[k];
        }
      } else {
        u32 raw[DEEP][5];
#pragma unroll
        for (u32 i = 0; i < DEEP; i++) {
#pragma unroll
          for (int k = 0; k < 5; k++) raw[i][k] = 0;
          if (there(i)) load_raw(row + (down(i) * row_len + 16 * along(i)), end, raw[i]);
        }
#pragma unroll
        for (u32 i = 0; i < DEEP; i++) {
          const u32 skip = 8 * misalignment(row + down(i) * row_len, 4);
#pragma unroll
          for (int k = 0; k < 4; k++) words[i][k] = __funnelshift_r(raw[i][k], raw[i][k + 1], skip);
        }
      }
#pragma unroll
      for (u32 i = 0; i < DEEP; i++) {
        u32 apart[1][4];
        if (shift < LOG && (i & ((1u << shift) - 1)) == 0) carry[0] = 0;
        undo_lane<T, 1>(undo, words[i], apart, carry, shift > 0);
        const Quad quad = {apart[0][0], apart[0][1], apart[0][2], apart[0][3]};
        if (plain) {
          const u32 at = rows.begin + 16 * (along(i) + x);
          u8* to = out + (down(i) + y) * layout.row_stride + at - rows.wanted;
          if (there(i) && at >= rows.wanted) *(Quad*)to = quad;
        } else {
          stage[i * 32 + lane] = quad;
        }
      }
      if (plain) continue;
      __syncwarp();
#pragma unroll 1
      for (u32 i = 0; i < DEEP && first + down(i) < task.height; i++) {
        const u8* run = (const u8*)(stage + i * 32);
        write_rows<T, FLOATS>(layout, rows, tables, out + down(i) * layout.row_stride, run, 16 * rows.lanes,
                              task.height - first - down(i), rows.begin + 16 * along(i), 1, lane);
      }
      __syncwarp();
    }
  }
}
