// Predictor 3 on rows of one sample a pixel, of N bytes: a row is N planes of bytes, the most significant
// first, and one running sum over all of them.
//
// A lane takes four pixels: a word of each plane. A plane begins with the sum of all planes before it, so
// these sums must be known first: of short rows all words are in registers, longer ones are read twice, the
// second time from cache.
#pragma once
#include "place_sums.cuh"

// Makes N words of samples, little end first, out of one word of each plane.
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

// From the totals of planes, two in a word, to what each plane begins with.
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

template <int N>
DEVICE void place_planes(const PlaceLayout& layout, const PlaceTask& task, const Share& share, u8* stage) {
  const int CHUNKS = N == 8 ? 1 : 2, PAIRS = N / 2;
  const u32 lane = share.lane, width = layout.width, upto = task.block_x + task.width;
  const bool at_once = width <= 128 * CHUNKS;
  const u8* src = (const u8*)task.src + (u64)task.block_y * layout.row_len;
  for (u32 y = share.warp; y < task.height; y += share.warps) {
    const u8* row = src + (u64)y * layout.row_len;
    u32 carry[PAIRS] = {};
    if (!at_once) {
      u32 totals[PAIRS] = {};
#pragma unroll 1
      for (u32 x = lane * 4; x < width; x += 128) {
#pragma unroll
        for (int p = 0; p < N - 1; p++) {
          const u8* plane = row + (u64)p * width;
          u32 word[1];
          load_words<u32, 1>(plane + x, plane + width, word);
          totals[p / 2] = (totals[p / 2] + (byte_total(word[0]) << 16 * (p % 2))) & EVEN_BYTES;
        }
      }
#pragma unroll
      for (u32 step = 16; step > 0; step /= 2) {
#pragma unroll
        for (int k = 0; k < PAIRS; k++) totals[k] += __shfl_xor_sync(0xFFFFFFFFu, totals[k], step);
      }
      plane_starts(totals, carry);
    }
    for (u32 x = 0; x < upto; x += 128 * CHUNKS) {
      u32 words[CHUNKS][N];
#pragma unroll
      for (int c = 0; c < CHUNKS; c++) {
#pragma unroll
        for (int p = 0; p < N; p++) {
          const u8* plane = row + (u64)p * width;
          u32 word[1];
          load_words<u32, 1>(plane + x + c * 128 + lane * 4, plane + width, word);
          words[c][p] = word[0];
        }
      }
      u32 before[CHUNKS][PAIRS], totals[PAIRS] = {};
#pragma unroll
      for (int c = 0; c < CHUNKS; c++) {
        u32 own[PAIRS], upto_here[PAIRS];
#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
          own[k] = byte_total(words[c][2 * k]) | byte_total(words[c][2 * k + 1]) << 16;
          upto_here[k] = own[k];
        }
        warp_sums(upto_here, lane);
#pragma unroll
        for (int k = 0; k < PAIRS; k++) {
          before[c][k] = totals[k] + upto_here[k] - own[k];
          totals[k] = (totals[k] + __shfl_sync(0xFFFFFFFFu, upto_here[k], 31)) & EVEN_BYTES;
        }
      }
      if (at_once) plane_starts(totals, carry);
#pragma unroll
      for (int c = 0; c < CHUNKS; c++) {
#pragma unroll
        for (int p = 0; p < N; p++) {
          u32 start = __byte_perm(before[c][p / 2] + carry[p / 2], 0, p % 2 == 0 ? 0x4040 : 0x4242);
          words[c][p] = byte_sums(words[c][p], start);
        }
        u32 woven[N];
        weave(words[c], woven);
        const u32 begin = x + c * 128;
        const Columns columns = {begin, max(begin, task.block_x), min(begin + 128, upto)};
#pragma unroll 1
        for (u32 band = 0; band < task.bands; band++) {
          u8* out = (u8*)task.dst + y * layout.row_stride + band * layout.band_stride;
          store_chunk<N>(out, woven, columns, task.block_x, N, stage, lane);
        }
      }
#pragma unroll
      for (int k = 0; k < PAIRS; k++) carry[k] = (carry[k] + totals[k]) & EVEN_BYTES;
    }
  }
}
