// 8-bit samples in Huffman codes: a table of code lengths and codes, then one code per sample, the first bit in the
// highest place of a little-endian word. Codes represent samples, or differences to the pixel on the left (in the first
// column: to the one above).
//
// Codes resynchronise by themselves: each thread decodes a part of a window of the stream, as if a code began there; if
// the code before a part extends into it, the part is decoded again from that code's end, until all agree. Then codes
// are counted and written.
#pragma once
#include "block_scan.cuh"
#include "lerc/lerc_values.cuh"
#include "prefix.cuh"

namespace lerc {

const u32 ROOT = 12;         // bits of a code that index the table
const u32 PART_WORDS = 8;    // words of the stream per thread and window
const u32 SYMBOLS = 256;
const u32 WRONG = 0xFFFFFFFFu;

struct Huffman {
  u16 table[1 << ROOT];      // length and symbol; 0 if the code is longer or invalid
  u32 codes[SYMBOLS];        // left-aligned in a word
  u8 lengths[SYMBOLS];
  u32 words[THREADS * PART_WORDS + 2];
  u32 ends[THREADS];         // end of each part's codes, in bits from the window's beginning
  u32 longest;
};

// The 32 bits of `words` from bit `at` on, the first in the highest place.
DEVICE u32 bits_from(const u32* words, u32 at) { return __funnelshift_l(words[at / 32 + 1], words[at / 32], at % 32); }

// The same for global memory at any alignment.
DEVICE u32 bits_from(const u8* words, u32 at) {
  const Bytes b = bytes_at(words + at / 32 * 4);
  return __funnelshift_l((u32)(b.low >> 32), (u32)b.low, at % 32);
}

// The code at the beginning of `bits`: its length and symbol; 0 if there is none.
DEVICE u32 code_of(const Huffman& huffman, u32 bits) {
  const u32 known = huffman.table[bits >> (32 - ROOT)];
  if (known != 0 || huffman.longest <= ROOT) return known;
#pragma unroll 1
  for (u32 symbol = 0; symbol < SYMBOLS; ++symbol) {
    const u32 len = huffman.lengths[symbol];
    if (len > ROOT && (bits ^ huffman.codes[symbol]) >> (32 - len) == 0) return len << 8 | symbol;
  }
  return 0;
}

// Reads lengths and codes, which begin at `at`; returns the position of the stream, or WRONG. Called by all threads,
// which return the same.
DEVICE u32 read_codes(Huffman& huffman, const Blob& blob, u32* parts, u32 at) {
  if (blob.len - at < 32) return WRONG;
  const u8* head = blob.src + at;
  const u32 version = (u32)number(head, 4), size = (u32)number(head + 4, 4);
  const u32 first = (u32)number(head + 8, 4), count = (u32)number(head + 12, 4) - first;
  // Bit-stuffed lengths, without a table and as many as there are symbols.
  const u32 how = head[16], wide = how >> 6, count_len = wide == 0 ? 4 : 3 - wide, bits = how & 31;
  const u32 stated = (u32)number(head + 17, count_len);
  if (version - 2 > 0x7FFFFFFDu || size - 1 >= SYMBOLS || first >= size || count - 1 >= size) return WRONG;
  if (count_len == 0 || (how & 32) != 0 || bits == 0 || bits > 6 || stated != count) return WRONG;
  const u8* stuffed = head + 17 + count_len;
  const u32 codes_at = at + 17 + count_len + stuffed_len(bits, count);
  if (codes_at >= blob.len) return WRONG;
  for (u32 i = threadIdx.x; i < SYMBOLS; i += THREADS) huffman.lengths[i] = 0;
  for (u32 i = threadIdx.x; i < 1 << ROOT; i += THREADS) huffman.table[i] = 0;
  __syncthreads();
  // Two symbols per thread, whose codes follow those of the previous thread.
  u32 lengths[2], total = 0;
  bool wrong = false;
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    const u32 i = 2 * threadIdx.x + k;
    lengths[k] = i < count ? field(stuffed, i * bits, bits) : 0;
    wrong = wrong || lengths[k] > 32;
    total += lengths[k];
  }
  const Prefix prefix = block_prefix<WARPS>(total, parts);
  const u32 coded = (prefix.total + 31) / 32 * 4;
  if (coded > blob.len - codes_at) wrong = true;
  if (__syncthreads_or(wrong)) return WRONG;
  u32 bit = prefix.before, longest = 0;
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    const u32 i = 2 * threadIdx.x + k, symbol = (first + i) % size;
    if (lengths[k] != 0) {
      const u32 code = bits_from(blob.src + codes_at, bit) & ~(u32)(0xFFFFFFFFull >> lengths[k]);
      huffman.lengths[symbol] = (u8)lengths[k];
      huffman.codes[symbol] = code;
      longest = max(longest, lengths[k]);
    }
    bit += lengths[k];
  }
  // The maximum over all threads.
#pragma unroll
  for (u32 step = 16; step > 0; step >>= 1) longest = max(longest, (u32)__shfl_xor_sync(ALL, longest, step));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = longest;
  __syncthreads();
  for (u32 w = 0; w < WARPS; ++w) longest = max(longest, parts[w]);
  if (threadIdx.x == 0) huffman.longest = longest;
  // No code may be a prefix of another.
  for (u32 i = threadIdx.x; i < SYMBOLS * SYMBOLS; i += THREADS) {
    const u32 a = i % SYMBOLS, b = i / SYMBOLS, len = huffman.lengths[a];
    if (a == b || len == 0 || huffman.lengths[b] < len) continue;
    if ((huffman.codes[a] ^ huffman.codes[b]) >> (32 - len) == 0) wrong = true;
  }
  if (__syncthreads_or(wrong || longest == 0)) return WRONG;
  for (u32 symbol = threadIdx.x; symbol < SYMBOLS; symbol += THREADS) {
    const u32 len = huffman.lengths[symbol];
    if (len == 0 || len > ROOT) continue;
    const u32 from = huffman.codes[symbol] >> (32 - ROOT);
    for (u32 i = 0; i < 1u << (ROOT - len); ++i) huffman.table[from + i] = (u16)(len << 8 | symbol);
  }
  __syncthreads();
  return codes_at + coded;
}

// Walks at most `most` codes, from bit `from` on, that begin before bit `stop`; returns where they end, or WRONG, and
// sets `count` to their number.
template <class Write>
DEVICE u32 read_part(const Huffman& huffman, u32 from, u32 stop, u32 most, u32& count, const Write& write) {
  count = 0;
#pragma unroll 1
  while (from < stop && count < most) {
    const u32 code = code_of(huffman, bits_from(huffman.words, from));
    if (code == 0) return WRONG;
    put_symbol(write, count, code & 255);
    from += code >> 8;
    ++count;
  }
  return from;
}

struct NoSymbols {};
DEVICE void put_symbol(const NoSymbols&, u32, u32) {}

// Destination of samples, in code order.
struct Symbols {
  u8* out;
  u32 first, all;         // number of the first one, and of all
  u32 pixels, depth;
  bool by_depth;          // one depth after the other
  u32 flip;               // symbol minus sample
};

DEVICE void put_symbol(const Symbols& to, u32 i, u32 symbol) {
  const u32 number = to.first + i;
  const u32 depth = to.by_depth ? number / to.pixels : 0;
  const u32 at = to.by_depth ? (number - depth * to.pixels) * to.depth + depth : number;
  to.out[at] = (u8)(symbol - to.flip);
}

// Decodes all samples from `at` on. Called by all threads, which return the same.
DEVICE bool read_symbols(Huffman& huffman, const Blob& blob, u32* parts, u32 at, Symbols to) {
  const u8* stream = blob.src + at;
  const u32 words = (blob.len - at) / 4;
  const u32 window = THREADS * PART_WORDS;
  u32 word = 0, from = 0;  // word of the window, and the bit in it at which the next code begins
#pragma unroll 1
  while (to.first < to.all) {
    if (word >= words) return false;
    for (u32 i = threadIdx.x; i < window + 2; i += THREADS) {
      huffman.words[i] = word + i < words ? (u32)stored_at<4>(stream + 4 * (word + i)) : 0;
    }
    __syncthreads();
    // A part continues as long as codes begin in the stream; bits behind it are ignored.
    const u32 end = min(window, words - word) * 32;
    const u32 stop = min((threadIdx.x + 1) * PART_WORDS * 32, end);
    u32 start = threadIdx.x == 0 ? from : threadIdx.x * PART_WORDS * 32, count = 0, reached = 0;
    bool changed = true;
#pragma unroll 1
    for (u32 round = 0; round <= THREADS; ++round) {
      if (changed) {
        reached = read_part(huffman, start, stop, WRONG, count, NoSymbols{});
        if (reached == WRONG) reached = stop;
        huffman.ends[threadIdx.x] = max(reached, start);
      }
      __syncthreads();
      const u32 before = threadIdx.x == 0 ? from : huffman.ends[threadIdx.x - 1];
      changed = before != start;
      start = before;
      if (!__syncthreads_or(changed)) break;
    }
    const Prefix prefix = block_prefix<WARPS>(count, parts);
    Symbols own = to;
    own.first += prefix.before;
    // All required codes must lie in the stream.
    bool wrong = false;
    if (own.first < own.all) {
      reached = read_part(huffman, start, stop, own.all - own.first, count, own);
      wrong = reached == WRONG || (reached > end && word + window >= words);
    }
    if (__syncthreads_or(wrong)) return false;
    to.first += prefix.total;
    from = huffman.ends[THREADS - 1] - end;
    word += window;
    __syncthreads();
  }
  return true;
}

// Turns differences into samples: the first column from above, then every row. Sums of bytes, which wrap. Called by all
// threads.
DEVICE void add_differences(const Blob& blob, u8* out) {
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, row_len = blob.width * blob.depth;
#pragma unroll 1
  for (u32 depth = warp; depth < blob.depth; depth += WARPS) {
    u32 carry = 0;
    for (u32 y = 0; y < blob.height; y += 32) {
      u8* at = out + (u64)min(y + lane, blob.height - 1) * row_len + depth;
      u32 sums[1] = {y + lane < blob.height ? *at : 0u};
      warp_sums(sums, lane);
      if (y + lane < blob.height) *at = (u8)(sums[0] + carry);
      carry += __shfl_sync(ALL, sums[0], 31);
    }
  }
  __syncthreads();
#pragma unroll 1
  for (u32 y = warp; y < blob.height; y += WARPS) {
    for (u32 depth = 0; depth < blob.depth; ++depth) {
      u8* row = out + (u64)y * row_len + depth;
      u32 carry = 0;
      for (u32 x = 0; x < blob.width; x += 32) {
        u8* at = row + (u64)min(x + lane, blob.width - 1) * blob.depth;
        u32 sums[1] = {x + lane < blob.width ? *at : 0u};
        warp_sums(sums, lane);
        if (x + lane < blob.width) *at = (u8)(sums[0] + carry);
        carry += __shfl_sync(ALL, sums[0], 31);
      }
    }
  }
}

// Writes all samples of a blob without a mask, whose codes represent differences or samples. Called by all threads,
// which return the same.
DEVICE bool write_codes(Huffman& huffman, const Blob& blob, u32* parts, u8* out, u32 at, bool differences) {
  const u32 stream = read_codes(huffman, blob, parts, at);
  if (stream == WRONG) return false;
  const u32 flip = blob.type == SAMPLE_I8 ? 128 : 0;
  const bool by_depth = differences && blob.depth > 1;
  const Symbols to = {out, 0, blob.pixels * blob.depth, blob.pixels, blob.depth, by_depth, flip};
  if (!read_symbols(huffman, blob, parts, stream, to)) return false;
  if (differences) add_differences(blob, out);
  return true;
}

}  // namespace lerc
