// Whole samples of 1, 2 or 4 bytes, one to four a pixel: predictor 2 undone where there is one, the byte
// order, and pixels taken apart where the output holds bands. Rows whose stored bytes are those of memory,
// but for their order, are taken for samples of one byte.
//
// A lane has 16 bytes of each sample of a chunk, 32 lanes or a segment of them a row, so that short rows are
// taken several at once; sums go from chunk to chunk. Pixels of several samples are read and written as they
// lie, 16 bytes a lane, and change lanes in shared memory. What does not go to multiples of 16 bytes passes
// through shared memory too, which takes any crop and any alignment; so do numbers that are converted.
// Needs an output that holds pixels as the block does, or, of several samples, bands without gaps between
// columns.
#pragma once
#include "interleave.cuh"
#include "place_abi.h"
#include "place_convert.cuh"
#include "words.cuh"

// Which of all the warps that work on a task this is.
struct Share {
  u32 warp;
  u32 warps;
  u32 lane;
};

// What rows go through in registers.
struct Undo {
  u32 low;   // the order of bytes in two words, for __byte_perm: those that the first gets
  u32 high;  // and the second
  bool sums;
  u32 lanes;  // of a segment
  u32 lane;
};

DEVICE Undo undo_of(const PlaceLayout& layout, u32 lanes, u32 lane) {
  const u32 swap = layout.swap;
  const u32 low = swap == 8 ? 0x4567 : swap == 4 ? 0x0123 : swap == 2 ? 0x2301 : 0x3210;
  const u32 high = swap == 8 ? 0x0123 : swap == 4 ? 0x4567 : swap == 2 ? 0x6745 : 0x7654;
  return {low, high, (layout.flags & LAYOUT_SUMS) != 0, lanes, lane};
}

// Numbers to sum over lanes: two bytes fit in one.
template <u32 T, int S>
struct Packed {
  static const int COUNT = T == 1 ? (S + 1) / 2 : S;
};

// `packed`, pixel after pixel, to `apart`, sample after sample. `carry` is for `more` chunks of a row.
template <u32 T, int S>
DEVICE void undo_lane(const Undo& undo, u32 (&packed)[4 * S], u32 (&apart)[S][4],
                      u32 (&carry)[Packed<T, S>::COUNT], bool more) {
  const int PACKED = Packed<T, S>::COUNT;
#pragma unroll
  for (int k = 0; k < 4 * S && (T > 1 || S == 1); k += 2) {  // several bytes a pixel have no order
    const u32 first = packed[k];
    packed[k] = __byte_perm(first, packed[k + 1], undo.low);
    packed[k + 1] = __byte_perm(first, packed[k + 1], undo.high);
  }
  take_apart<T, S>(packed, apart);
  if (!undo.sums) return;
  u32 own[PACKED], upto_here[PACKED];
#pragma unroll
  for (int k = 0; k < PACKED; k++) {
    own[k] = lane_total<T>(apart[T == 1 ? 2 * k : k]);
    if (T == 1 && 2 * k + 1 < S) {
      // Byte 3 of a total is 0.
      own[k] = __byte_perm(own[k], lane_total<T>(apart[2 * k + 1 < S ? 2 * k + 1 : 0]), 0x3430);
    }
    upto_here[k] = own[k];
  }
  warp_sums(upto_here, undo.lane, undo.lanes);
#pragma unroll
  for (int s = 0; s < S; s++) {
    const int k = T == 1 ? s / 2 : s;
    const u32 before = carry[k] + upto_here[k] - own[k];
    lane_sums<T>(apart[s], T == 1 ? in_both(before, s % 2) : before);
  }
  if (!more) return;
#pragma unroll
  for (int k = 0; k < PACKED; k++) {
    carry[k] += __shfl_sync(0xFFFFFFFFu, upto_here[k], 31);
    if (T == 1) carry[k] &= EVEN_BYTES;
  }
}

// Sample `sample` of those a lane has.
template <int S>
DEVICE Quad picked(const u32 (&apart)[S][4], u32 sample) {
  Quad quad = {apart[0][0], apart[0][1], apart[0][2], apart[0][3]};
#pragma unroll
  for (u32 s = 1; s < S; s++) {
#pragma unroll
    for (int k = 0; k < 4; k++) quad.word[k] = sample == s ? apart[s][k] : quad.word[k];
  }
  return quad;
}

// The wanted bytes of a row, and how a warp goes over it.
struct Rows {
  u32 wanted;   // first byte wanted
  u32 upto;     // the one after the last
  u32 begin;    // where the first chunk begins
  u32 units;    // of 16 bytes, from there on
  u32 lanes;    // of a segment, which has one row
  u32 at_once;  // rows of a chunk
  bool plain;   // wanted bytes are whole units, at multiples of 16 in the output
};

// `pixel` has so many bytes, and chunks begin at multiples of `unit`.
DEVICE Rows rows_of(const PlaceLayout& layout, const PlaceTask& task, u32 pixel, u32 unit) {
  const u32 wanted = task.block_x * pixel, upto = wanted + task.width * pixel;
  const u32 begin = (layout.flags & LAYOUT_SUMS) != 0 ? 0 : wanted / unit * unit;
  const u32 units = (upto - begin + 15) / 16;
  const u32 lanes = units > 16 * (unit / 16) ? 32 : units > 8 * (unit / 16) ? 16 : 8;
  const bool plain = (task.dst | layout.row_stride | wanted | upto) % 16 == 0;
  return {wanted, upto, begin, units, lanes, 32 / lanes, plain};
}

// Writes the wanted bytes of a chunk that lies in shared memory: rows of `pitch` bytes, of which at most
// `count` are there, whose first byte is byte `at` of the row and would go to `out`. A byte there stands
// for `scale` of the row, where it holds one of so many bands.
template <u32 T, bool FLOATS>
DEVICE void write_rows(const PlaceLayout& layout, const Rows& rows, const i32* tables, u8* out, const u8* run,
                       u32 pitch, u32 count, u32 at, u32 scale, u32 lane) {
  const u32 from = max(at, rows.wanted), to = min(at + pitch * scale, rows.upto);
  if (from >= to) return;
  const u32 skip = (from - at) / scale, len = (to - from) / scale;
  // Of converted numbers as many as bytes, T of which are one.
  out += FLOATS ? (u64)((from - rows.wanted) / scale / T) * layout.size : (u64)((from - rows.wanted) / scale);
  const u32 n = min(rows.at_once, count);
#pragma unroll 1
  for (u32 r = 0; r < n; r++) {
    if constexpr (FLOATS) {
      write_converted<T>(out, run + skip, len / T, layout, tables, lane);
    } else {
      write_run(out, run + skip, len, lane);
    }
    out += layout.row_stride;
    run += pitch;
  }
}

// What a warp needs of shared memory, and a word that is read past the end.
template <int S>
struct StageQuads {
  static const u32 COUNT = S == 1 ? 32 * 4 + 1 : 32 * S + (S % 2 == 0 ? 32 * S / 8 : 0) + 1;
};

// Rows of one sample a pixel, or of numbers of T bytes one after the other: DEEP chunks under way at a time,
// of as many rows or of the same.
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
      // Of a chunk of these: its first row after `first`, its first unit, and whether this lane has one.
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

// Where the 16 bytes numbered `unit` lie in shared memory: where they need not lie one after the other, such
// that lanes that write S of them do not meet in a bank.
template <int S>
DEVICE u32 spread(u32 unit, bool apart) {
  return S % 2 == 0 && apart ? unit + unit / 8 : unit;
}

// Rows of several samples a pixel.
template <u32 T, int S, bool FLOATS>
DEVICE void place_pixels(const PlaceLayout& layout, const PlaceTask& task, const u16* selection,
                         const i32* tables, const Share& share, Quad* stage) {
  Rows rows = rows_of(layout, task, T * S, 16 * S);
  const u32 row_len = layout.row_len, lane = share.lane;
  // Rows that lie one after the other are one run of units; others are taken one by one.
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
  u32 to[S];  // where the units that this lane reads go
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
        // Lanes read what is theirs: the first of S loads brings what the others find in cache.
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

// Rows of whole pixels of T times S bytes, or, where S is 1, of numbers of T bytes, or, where both are, of
// any bytes; converted to floats where FLOATS says so.
template <u32 T, int S, bool FLOATS>
DEVICE void place_rows(const PlaceLayout& layout, const PlaceTask& task, const u16* selection,
                       const i32* tables, const Share& share, Quad* stage) {
  if constexpr (S == 1) {
    place_runs<T, FLOATS>(layout, task, tables, share, stage);
  } else {
    place_pixels<T, S, FLOATS>(layout, task, selection, tables, share, stage);
  }
}
