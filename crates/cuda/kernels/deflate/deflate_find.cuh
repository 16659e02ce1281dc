// Finds where dynamic, non-final Deflate blocks may begin, at any bit.
//
// There are three sieves. First, the first 17 bits, for 32 positions at once: one in nine passes. Second, the code of
// code lengths is complete: one in 270 of those. Third, all code lengths can be read and form complete codes, as
// strictly as in `deflate_header.cuh`: chance passes are negligible. A false position only costs time: no block of the
// stream leads to it.
#pragma once
#include "deflate/deflate_split.cuh"

#define FIND_THREADS 128u
// Positions per chunk that the last sieve examines; further ones are ignored.
#define FIND_QUEUE 256u

struct FindShared {
  u16 weights[4096];             // of four code lengths of three bits: sum of 2^(7 - length)
  u8 codes[FIND_THREADS * 128];  // per thread: symbol and, above 5 bits, length of every code of 7 bits
  u32 queue[FIND_QUEUE];
  u32 queued;
  u32 first;
};

DEVICE void fill_weights(u16* weights, u32 thread) {
  for (u32 i = thread; i < 4096; i += FIND_THREADS) {
    u32 sum = 0;
#pragma unroll
    for (u32 shift = 0; shift < 12; shift += 3) {
      const u32 length = i >> shift & 7;
      if (length != 0) sum += 128u >> length;
    }
    weights[i] = (u16)sum;
  }
}

// Of the 32 positions from the first bit of `low` on, returns those whose 17 bits may belong to a header.
DEVICE u32 plausible(u32 low, u32 high) {
#define AT(n) __funnelshift_r(low, high, n)
  const u32 kind = ~low & ~AT(1) & AT(2);
  const u32 literals = AT(4) & AT(5) & AT(6) & AT(7), distances = AT(9) & AT(10) & AT(11) & AT(12);
#undef AT
  return kind & ~literals & ~distances;
}

// Returns whether the code of code lengths is complete at position `at` of the first of four words.
DEVICE bool complete_lengths(const u32 (&word)[4], u32 at, const u16* weights) {
  const u32 first = __funnelshift_r(word[0], word[1], at), second = __funnelshift_r(word[1], word[2], at);
  const u32 third = __funnelshift_r(word[2], word[3], at);
  const u32 given = (first >> 13 & 15) + 4;
  u64 lengths = (u64)__funnelshift_r(second, third, 17) << 32 | __funnelshift_r(first, second, 17);
  lengths &= ((u64)1 << 3 * given) - 1;
  u32 sum = 0;
#pragma unroll
  for (u32 i = 0; i < 5; ++i) sum += weights[(u32)(lengths >> 12 * i) & 4095];
  return sum == 128;
}

// Length of the code of code length `symbol`; `lengths` holds `given` of them.
DEVICE u32 length_of(u64 lengths, u32 given, u32 symbol) {
  const u32 place = length_place(symbol);
  return place < given ? (u32)(lengths >> 3 * place) & 7 : 0;
}

// Returns whether a whole header can be read at `bit`. The caller has checked that the code of code lengths is
// complete; `codes` is 128 bytes of memory for it.
DEVICE bool readable(const Stream& in, u64 bit, u8* codes) {
  if (bit + 17 > in.end) return false;
  const u32 counts = bits_at(in.words, bit + 3);
  const u32 literals = (counts & 31) + 257, wanted = literals + (counts >> 5 & 31) + 1;
  const u32 given = (counts >> 10 & 15) + 4;
  bit += 17;
  if (bit + 3 * given > in.end) return false;
  const u64 lengths = (u64)bits_at(in.words, bit + 32) << 32 | bits_at(in.words, bit);
  bit += 3 * given;
  u32 code = 0;
#pragma unroll 1
  for (u32 length = 1; length < 8; ++length, code <<= 1) {
#pragma unroll 1
    for (u32 symbol = 0; symbol < 19; ++symbol) {
      if (length_of(lengths, given, symbol) != length) continue;
#pragma unroll 1
      for (u32 i = __brev(code) >> (32 - length); i < 128; i += 1u << length) codes[i] = symbol | length << 5;
      ++code;
    }
  }
  u32 have = 0, value = LENGTH_UNKNOWN, literal_space = 0, distance_space = 0, lone = 0;
  bool has_end = false;
#pragma unroll 1
  while (have < wanted) {
    if (bit >= in.end) return false;
    u32 bits = bits_at(in.words, bit);
    const u32 entry = codes[bits & 127], symbol = entry & 31;
    bits >>= entry >> 5;
    bit += entry >> 5;
    u32 count = 1;
    if (symbol < 16) {
      value = symbol;
    } else {
      const u32 extra = symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
      count = (symbol == 18 ? 11 : 3) + (bits & ((1u << extra) - 1));
      bit += extra;
      if (symbol != 16) value = 0;
      if (value == LENGTH_UNKNOWN) return false;
    }
    if (have + count > wanted) return false;
    if (value != 0) {
      const u32 of_literals = have < literals ? min(count, literals - have) : 0;
      literal_space += of_literals * (32768u >> value);
      distance_space += (count - of_literals) * (32768u >> value);
      if (value == 1) lone += count - of_literals;
      if (have <= 256 && 256 < have + count) has_end = true;
      if (literal_space > 32768 || distance_space > 32768) return false;
    }
    have += count;
  }
  const bool few = distance_space == 0 || (distance_space == 16384 && lone == 1);
  return bit <= in.end && has_end && literal_space == 32768 && (distance_space == 32768 || few);
}

// Finds the first header in a chunk: returns its bit relative to the chunk's beginning, or NO_SEGMENT. Called by all
// threads; only the first thread's result is valid.
DEVICE u32 find_header(const Split& split, u32 chunk, FindShared& shared, u32 thread) {
  if (thread == 0) {
    shared.queued = 0;
    shared.first = NO_SEGMENT;
  }
  __syncthreads();
  const u64 begin = (u64)chunk * split.chunk_bits;
  const u32* words = split.in.words + (begin >> 5);
#pragma unroll 1
  for (u32 i = thread; i < split.chunk_bits / 32; i += FIND_THREADS) {
    if (begin + i * 32 >= split.in.end) break;
    const u32 word[4] = {__ldg(words + i), __ldg(words + i + 1), __ldg(words + i + 2), __ldg(words + i + 3)};
    u32 left = plausible(word[0], word[1]);
#pragma unroll 1
    while (left != 0) {
      const u32 at = (u32)__ffs((i32)left) - 1;
      left &= left - 1;
      if (!complete_lengths(word, at, shared.weights)) continue;
      const u32 slot = atomicAdd(&shared.queued, 1u);
      if (slot < FIND_QUEUE) shared.queue[slot] = i * 32 + at;
    }
  }
  __syncthreads();
  const u32 queued = min(shared.queued, FIND_QUEUE);
#pragma unroll 1
  for (u32 i = thread; i < queued; i += FIND_THREADS) {
    const u32 at = shared.queue[i];
    // The first block of the stream belongs to another segment.
    if (begin + at > split.in.bit && readable(split.in, begin + at, shared.codes + thread * 128)) {
      atomicMin(&shared.first, at);
    }
  }
  __syncthreads();
  // The first thread goes on to overwrite it.
  return thread == 0 ? shared.first : NO_SEGMENT;
}
