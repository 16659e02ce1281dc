// Whole samples of 1, 2 or 4 bytes, one to four per pixel: shared by all paths for such rows. Undoes predictor 2, if
// used, and the byte order, and splits pixels if the output holds bands.
//
// A lane has 16 bytes of each sample of a chunk; 32 lanes, or a segment of them, take a row, so that several short rows
// are taken at once; sums carry over from chunk to chunk. Output that is not at multiples of 16 bytes passes through
// shared memory, which handles any crop and any alignment; so do converted numbers. Needs an output that holds pixels
// like the block or, for several samples, bands without gaps between columns.
#pragma once
#include "interleave.cuh"
#include "place/place_abi.h"
#include "place/place_convert.cuh"
#include "words.cuh"

// The number of this warp among all warps that work on a task.
struct Share {
  u32 warp;
  u32 warps;
  u32 lane;
};

// How rows are processed in registers.
struct Undo {
  u32 low;   // byte order of two words for __byte_perm: selector of the first
  u32 high;  // and of the second
  bool sums;
  u32 lanes;  // per segment
  u32 lane;
};

DEVICE Undo undo_of(const PlaceLayout& layout, u32 lanes, u32 lane) {
  const u32 swap = layout.swap;
  const u32 low = swap == 8 ? 0x4567 : swap == 4 ? 0x0123 : swap == 2 ? 0x2301 : 0x3210;
  const u32 high = swap == 8 ? 0x0123 : swap == 4 ? 0x4567 : swap == 2 ? 0x6745 : 0x7654;
  return {low, high, (layout.flags & LAYOUT_SUMS) != 0, lanes, lane};
}

// Number of values to sum over lanes: two bytes fit in one.
template <u32 T, int S>
struct Packed {
  static const int COUNT = T == 1 ? (S + 1) / 2 : S;
};

// Turns `packed`, pixel by pixel, into `apart`, sample by sample. `carry` is for `more` chunks of a row.
template <u32 T, int S>
DEVICE void undo_lane(const Undo& undo, u32 (&packed)[4 * S], u32 (&apart)[S][4],
                      u32 (&carry)[Packed<T, S>::COUNT], bool more) {
  const int PACKED = Packed<T, S>::COUNT;
#pragma unroll
  for (int k = 0; k < 4 * S && (T > 1 || S == 1); k += 2) {  // several samples of one byte have no byte order
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

// Sample `sample` of a lane's samples.
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

// The requested bytes of a row, and how a warp covers it.
struct Rows {
  u32 wanted;   // first byte requested
  u32 upto;     // the one after the last
  u32 begin;    // beginning of the first chunk
  u32 units;    // units of 16 bytes, from there on
  u32 lanes;    // per segment, which has one row
  u32 at_once;  // rows per chunk
  bool plain;   // requested bytes are whole units, at multiples of 16 in the output
};

// `pixel` is the bytes per pixel; chunks begin at multiples of `unit`.
DEVICE Rows rows_of(const PlaceLayout& layout, const PlaceTask& task, u32 pixel, u32 unit) {
  const u32 wanted = task.block_x * pixel, upto = wanted + task.width * pixel;
  const u32 begin = (layout.flags & LAYOUT_SUMS) != 0 ? 0 : wanted / unit * unit;
  const u32 units = (upto - begin + 15) / 16;
  const u32 lanes = units > 16 * (unit / 16) ? 32 : units > 8 * (unit / 16) ? 16 : 8;
  const bool plain = (task.dst | layout.row_stride | wanted | upto) % 16 == 0;
  return {wanted, upto, begin, units, lanes, 32 / lanes, plain};
}

// Writes the requested bytes of a chunk in shared memory: rows of `pitch` bytes, at most `count` of them present, whose
// first byte is byte `at` of the row and corresponds to `out`. Each byte there represents `scale` bytes of the row, if
// it holds one of `scale` bands.
template <u32 T, bool FLOATS>
DEVICE void write_rows(const PlaceLayout& layout, const Rows& rows, const i32* tables, u8* out, const u8* run,
                       u32 pitch, u32 count, u32 at, u32 scale, u32 lane) {
  const u32 from = max(at, rows.wanted), to = min(at + pitch * scale, rows.upto);
  if (from >= to) return;
  const u32 skip = (from - at) / scale, len = (to - from) / scale;
  // Converted numbers: one for every T bytes.
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

// Shared memory of a warp, including a word that is read past the end.
template <int S>
struct StageQuads {
  static const u32 COUNT = S == 1 ? 32 * 4 + 1 : 32 * S + (S % 2 == 0 ? 32 * S / 8 : 0) + 1;
};
