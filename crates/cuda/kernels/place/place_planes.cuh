// Predictor 3 on rows of one sample per pixel, of N bytes: a row is N planes of bytes, the most significant first, with
// one running sum over all of them.
//
// A lane takes four pixels: one word of each plane. A plane begins with the sum of all planes before it, so these sums
// must be known first: for short rows all words are kept in registers; longer rows are read twice, the second time from
// the cache. Needs planes at multiples of 4 bytes.
#pragma once
#include "place/place_rows.cuh"

// Makes N words of samples, little-endian, from one word of each plane.
template <int N>
DEVICE void weave(const u32 (&planes)[N], u32 (&words)[N]) {
  if constexpr (N == 2) {
    words[0] = __byte_perm(planes[1], planes[0], 0x5140);
    words[1] = __byte_perm(planes[1], planes[0], 0x7362);
  } else if constexpr (N == 4) {
    u32 a = planes[3], b = planes[2], c = planes[1], d = planes[0];
    transpose(a, b, c, d);
    words[0] = a, words[1] = b, words[2] = c, words[3] = d;
  } else {
    u32 a = planes[7], b = planes[6], c = planes[5], d = planes[4];
    transpose(a, b, c, d);
    u32 e = planes[3], f = planes[2], g = planes[1], h = planes[0];
    transpose(e, f, g, h);
    words[0] = a, words[2] = b, words[4] = c, words[6] = d;
    words[1] = e, words[3] = f, words[5] = g, words[7] = h;
  }
}

// Turns the totals of planes, two per word, into the start value of each plane.
template <int PAIRS>
DEVICE void plane_starts(const u32 (&totals)[PAIRS], u32 (&starts)[PAIRS]) {
  u32 before = 0;
#pragma unroll
  for (int k = 0; k < PAIRS; k++) {
    const u32 middle = before + (totals[k] & 0xFF);
    starts[k] = (before & 0xFF) | (middle & 0xFF) << 16;
    before = middle + (totals[k] >> 16 & 0xFF);
  }
}

// The sums of the bytes of words: those of planes 2k and 2k + 1 in the halves of a word.
template <int N>
DEVICE void word_totals(const u32 (&words)[N], u32 (&totals)[N / 2]) {
#pragma unroll
  for (int k = 0; k < N / 2; k++) {
    totals[k] = dot_bytes(words[2 * k], ONES, 0u) + (dot_bytes(words[2 * k + 1], ONES, 0u) << 16);
  }
}

// Sums a lane's share of each plane after `before`, and weaves it into samples.
template <int N>
DEVICE void weave_sums(u32 (&words)[N], const u32 (&before)[N / 2], u32 (&woven)[N]) {
#pragma unroll
  for (int p = 0; p < N; p++) {
    u32 start = in_both(before[p / 2], p % 2);
    words[p] = byte_sums(words[p], start);
  }
  weave(words, woven);
}

// Shared memory of a warp, including a word that is read past the end.
const u32 PLANE_QUADS = 2048 / 16 + 1;

// The words of the first UPTO planes, of CHUNKS times 128 pixels from `x` on; 0 from `width` on.
template <int N, int CHUNKS, int UPTO>
DEVICE void load_planes(const u8* row, u32 width, u32 x, bool there, u32 (&words)[CHUNKS][N]) {
#pragma unroll
  for (int p = 0; p < N; p++) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
      words[c][p] = 0;
      if (p < UPTO && there && x + c * 128 < width) {
        words[c][p] = *(const u32*)(row + (p * width + x) + c * 128);
      }
    }
  }
}

// Adds up the totals of all lanes.
template <int PAIRS>
DEVICE void add_lanes(u32 (&totals)[PAIRS]) {
#pragma unroll
  for (u32 step = 16; step > 0; step /= 2) {
#pragma unroll
    for (int k = 0; k < PAIRS; k++) totals[k] += __shfl_xor_sync(0xFFFFFFFFu, totals[k], step);
  }
}

// Takes CHUNKS times 128 pixels at a time, of ROWS rows if they have no more pixels.
template <int N, int CHUNKS, int ROWS, bool FLOATS>
DEVICE void place_planes_words(const PlaceLayout& layout, const PlaceTask& task, const i32* tables,
                               const Share& share, Quad* stage) {
  const int PAIRS = N / 2;
  const u32 PIECE = 128 * CHUNKS, lane = share.lane, width = layout.width, row_len = layout.row_len;
  const u32 upto = task.block_x + task.width;
  const bool wide = width > PIECE;
  const bool plain = (task.dst | layout.row_stride) % 16 == 0 && (task.block_x | task.width) % 4 == 0;
  Floats<4> floats = FLOATS ? floats_of<4>(layout, tables) : Floats<4>{};
  floats.number = NUMBER_FLOAT;
#pragma unroll 1
  for (u32 first = share.warp * ROWS; first < task.height; first += share.warps * ROWS) {
    const u8* row = (const u8*)task.src + (u64)(task.block_y + first) * row_len;
    u32 words[ROWS][CHUNKS][N], carry[PAIRS] = {};
    if (ROWS == 1 && wide) {
      u32 totals[PAIRS] = {};
#pragma unroll 1
      for (u32 x = lane * 4; x < width; x += PIECE) {
        load_planes<N, CHUNKS, N - 1>(row, width, x, true, words[0]);
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
          u32 own[PAIRS];
          word_totals<N>(words[0][c], own);
#pragma unroll
          for (int k = 0; k < PAIRS; k++) totals[k] = (totals[k] + own[k]) & EVEN_BYTES;
        }
      }
      add_lanes(totals);
      plane_starts(totals, carry);
    }
#pragma unroll 1
    for (u32 x = 0; x < upto; x += PIECE) {
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        load_planes<N, CHUNKS, N>(row + r * row_len, width, x + lane * 4, first + r < task.height, words[r]);
      }
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        u32 before[CHUNKS][PAIRS], totals[PAIRS] = {};
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
          u32 own[PAIRS], upto_here[PAIRS];
          word_totals<N>(words[r][c], own);
#pragma unroll
          for (int k = 0; k < PAIRS; k++) upto_here[k] = own[k];
          warp_sums(upto_here, lane);
#pragma unroll
          for (int k = 0; k < PAIRS; k++) {
            before[c][k] = totals[k] + upto_here[k] - own[k];
            totals[k] = (totals[k] + __shfl_sync(0xFFFFFFFFu, upto_here[k], 31)) & EVEN_BYTES;
          }
        }
        if (ROWS > 1 || !wide) plane_starts(totals, carry);
        if (r > 0 && first + r >= task.height) break;
        u8* out = (u8*)task.dst + (u64)(first + r) * layout.row_stride;
        if (!plain) __syncwarp();
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
          u32 woven[N];
#pragma unroll
          for (int k = 0; k < PAIRS; k++) before[c][k] += carry[k];
          weave_sums<N>(words[r][c], before[c], woven);
          if constexpr (FLOATS) {
#pragma unroll
            for (int k = 0; k < N; k++) woven[k] = to_float<4>(floats, woven[k]);
          }
          const u32 at = x + c * 128 + lane * 4;
          u8* to = plain ? out + (u64)(at - task.block_x) * N : (u8*)stage + (c * 128 + lane * 4) * N;
          if (plain && (at < task.block_x || at >= upto)) continue;
          if constexpr (N == 2) {
            *(u64*)to = (u64)woven[1] << 32 | woven[0];
          } else {
#pragma unroll
            for (int k = 0; k < N; k += 4) {
              ((Quad*)to)[k / 4] = {woven[k], woven[k + 1], woven[k + 2], woven[k + 3]};
            }
          }
        }
        if (!plain) {
          __syncwarp();
          const u32 from = max(x, task.block_x), to = min(x + PIECE, upto);
          if (from < to) {
            const u8* run = (const u8*)stage + (from - x) * N;
            write_run(out + (u64)(from - task.block_x) * N, run, (to - from) * N, lane);
          }
        }
        if (ROWS == 1) {
#pragma unroll
          for (int k = 0; k < PAIRS; k++) carry[k] = (carry[k] + totals[k]) & EVEN_BYTES;
        }
      }
    }
  }
}

// Rows whose planes lie at multiples of 4 bytes. With FLOATS, floats are converted to floats of the same size, which
// requires N to be 4.
template <int N, bool FLOATS>
DEVICE void place_planes(const PlaceLayout& layout, const PlaceTask& task, const i32* tables,
                         const Share& share, Quad* stage) {
  if (N == 4 && !FLOATS && layout.width <= 256) {
    place_planes_words<N, 2, 2, FLOATS>(layout, task, tables, share, stage);
  } else {
    place_planes_words<N, N == 8 ? 2 : 4, 1, FLOATS>(layout, task, tables, share, stage);
  }
}
