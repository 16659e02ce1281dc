// Any layout into any output, one sample per lane: handles everything that the other paths do not.
//
// A warp takes a row of one band at a time; predictor sums propagate along the row by shuffles. Predictor 3 sums each
// byte of the number separately, which is the same loop with another addition. A converting output takes this path too.
#pragma once
#include "place/place_convert.cuh"
#include "place/place_rows.cuh"
#include "place/unpack.cuh"

// Adds byte by byte, without carries between bytes.
DEVICE u64 add_bytes(u64 a, u64 b) {
  const u64 tops = 0x8080808080808080ull;
  return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

DEVICE u64 add_stored(u64 a, u64 b, bool bytes) { return bytes ? add_bytes(a, b) : a + b; }

// Start value of each plane: the sum of all planes before it, over the whole row.
DEVICE u64 starts_of_planes(const PackedRow& row, const PlaceLayout& layout, const i32* tables, u32 sample,
                            u32 lane) {
  u64 totals = 0;
#pragma unroll 1
  for (u32 x = lane; x < layout.width; x += 32) {
    totals = add_bytes(totals, stored_number(row, layout, tables, x, sample, false));
  }
#pragma unroll 1
  for (u32 step = 16; step > 0; step /= 2) {
    totals = add_bytes(totals, __shfl_xor_sync(0xFFFFFFFFu, totals, step));
  }
  u64 starts = 0;
  u32 before = 0;
#pragma unroll 1
  for (u32 plane = 1; plane < layout.stored; plane++) {
    const u32 shift = 8 * (layout.stored - plane);
    before += (u32)(totals >> shift) & 0xFF;
    starts |= (u64)(before & 0xFF) << (shift - 8);
  }
  return starts;
}

DEVICE void place_each(const PlaceLayout& layout, const PlaceTask& task, const u16* selection,
                       const i32* all_tables, const Share& share) {
  const bool sums = (layout.flags & LAYOUT_SUMS) != 0, planes = layout.load == LOAD_PLANES;
  const u32 upto = task.block_x + task.width, lane = share.lane, down = layout.down;
  const u64 mask = layout.load == LOAD_BITS || layout.stored == 3 ? ~0ull >> (64 - layout.bits) : ~0ull;
  const i32* tables = all_tables + layout.table;
  const bool converts = layout.number != NUMBER_AS_IS;
  const Conversion conversion = converts ? conversion_of(layout, all_tables) : Conversion{};
  u32 y = share.warp, band = 0;
#pragma unroll 1
  while (y < task.height) {
    const u32 sample = selection[band], in_block = task.block_y + y;
    const PackedRow row = {(const u8*)task.src + (u64)(in_block / down) * layout.row_len, in_block % down,
                           (layout.flags & LAYOUT_REVERSE) != 0};
    u8* out = (u8*)task.dst + y * layout.row_stride + band * layout.band_stride;
    band++;
    if (band == task.bands) band = 0, y += share.warps;
    u64 carry = planes ? starts_of_planes(row, layout, tables, sample, lane) : 0;
#pragma unroll 1
    for (u32 begin = sums ? 0 : task.block_x; begin < upto; begin += 32) {
      const u32 x = begin + lane;
      u64 number = x < upto ? stored_number(row, layout, tables, x, sample, false) : 0;
      if (sums) {
#pragma unroll 1
        for (u32 step = 1; step < 32; step *= 2) {
          const u64 before = __shfl_up_sync(0xFFFFFFFFu, number, step);
          if (lane >= step) number = add_stored(number, before, planes);
        }
        number = add_stored(number, carry, planes) & mask;
        carry = __shfl_sync(0xFFFFFFFFu, number, 31);
      }
      if (x < task.block_x || x >= upto) continue;
      Sample finish = finished(number, layout, tables, sample);
      if (layout.finish == FINISH_DOUBLE) finish.high = stored_number(row, layout, tables, x, sample, true);
      if (converts) finish.low = converted(layout, conversion, finish.low);
      store_sample(out + (x - task.block_x) * layout.column_stride, finish, layout.size);
    }
  }
}
