// Writes the bits of a part, by a CUDA block: 1024 positions at a time, four per thread. Prefix sums of the threads'
// bit counts give the place of each thread's bits in a window in shared memory, which is written out in whole words. A
// part shares its first and last word with its neighbours, so these are OR-ed into a slab that was 0.
#pragma once
#include "block_scan.cuh"
#include "deflate/deflate_part.cuh"

constexpr u32 EMIT_THREADS = 256;
// At most 48 bits for every three positions, the remainder of the last turn, and two words behind that a put may touch.
constexpr u32 EMIT_WORDS = (EMIT_THREADS * 4 / 3 + 2) * 48 / 32 + 1 + 2;
static_assert(EMIT_WORDS >= HEADER_WORDS + 3, "a header goes through the window, too");

struct Emission {
  u32 codes[SYMBOLS];
  u32 window[2][EMIT_WORDS];  // alternating; 0 except for pending bits
  u32 sums[EMIT_THREADS / 32];
};

// Place of the window; the same in all threads.
struct EmitPlace {
  u32* out;     // output word at which the window begins
  u32 filled;   // bits in the window
  u32 turn;
  bool first;   // the window begins with the part's first word
};

// Puts at most 64 bits into a window.
DEVICE void put_bits(u32* window, u32 at, u64 bits) {
  const u32 shift = at & 31;
  u32* words = window + at / 32;
  const u64 low = bits << shift;
  const u32 high = shift == 0 ? 0 : (u32)(bits >> 32 >> (32 - shift));
  if ((u32)low != 0) atomicOr(words, (u32)low);
  if ((u32)(low >> 32) != 0) atomicOr(words + 1, (u32)(low >> 32));
  if (high != 0) atomicOr(words + 2, high);
}

// Accounts for `bits` that all threads have put into this turn's window behind its earlier content, and writes out
// whole words.
DEVICE void flush(Emission& emission, EmitPlace& place, u32 bits) {
  __syncthreads();
  u32* window = emission.window[place.turn];
  place.turn ^= 1;
  const u32 filled = place.filled + bits, whole = filled / 32;
  for (u32 i = threadIdx.x; i <= whole; i += EMIT_THREADS) {
    const u32 word = window[i];
    window[i] = 0;
    if (i == whole) {
      // Other threads may already be working on the next turn.
      if (word != 0) atomicOr(emission.window[place.turn], word);
    } else if (i == 0 && place.first) {
      atomicOr(place.out, word);
    } else {
      place.out[i] = word;
    }
  }
  place.out += whole;
  place.filled = filled & 31;
  place.first = place.first && whole == 0;
}

struct TokenBits {
  u64 bits;
  u32 count;
};

DEVICE void add_code(TokenBits& token, u32 code) {
  token.bits |= (u64)(code & 0xFFFF) << token.count;
  token.count += code >> 16;
}

DEVICE TokenBits match_bits(const u32* codes, u32 match) {
  const Symbol length = length_symbol(match_length(match)), distance = distance_symbol(match_distance(match));
  TokenBits token = {0, 0};
  add_code(token, codes[length.symbol]);
  add_code(token, length.extra | length.extra_bits << 16);
  add_code(token, codes[DISTANCES_AT + distance.symbol]);
  add_code(token, distance.extra | distance.extra_bits << 16);
  return token;
}

// Emits the tokens of four positions: literals, at most 60 bits, then possibly a match.
DEVICE void emit_tokens(Emission& emission, EmitPlace& place, const Tokens& tokens, u32 p) {
  const Quadruple four = quadruple_at(tokens, p);
  TokenBits literals = {0, 0}, match = {0, 0};
#pragma unroll
  for (u32 k = 0; k < 4; ++k) {
    if (four.literals >> k & 1) add_code(literals, emission.codes[four.bytes >> 8 * k & 0xFF]);
  }
  if (four.match != 0) match = match_bits(emission.codes, four.match);
  const Prefix prefix = block_prefix<EMIT_THREADS / 32>(literals.count + match.count, emission.sums);
  u32* window = emission.window[place.turn];
  const u32 at = place.filled + prefix.before;
  if (literals.count != 0) put_bits(window, at, literals.bits);
  if (match.count != 0) put_bits(window, at + literals.count, match.bits);
  flush(emission, place, prefix.total);
}

// Emits a dynamic block: header, tokens, end.
DEVICE void emit_dynamic(Emission& emission, const DeflatePart& part, const Tokens& tokens, u32 start,
                         u32* slab) {
  for (u32 i = threadIdx.x; i < SYMBOLS; i += EMIT_THREADS) emission.codes[i] = part.codes[i];
  for (u32 i = threadIdx.x; i < 2 * EMIT_WORDS; i += EMIT_THREADS) (&emission.window[0][0])[i] = 0;
  __syncthreads();
  EmitPlace place = {slab + (part.first >> 5), (u32)part.first & 31, 0, true};
  for (u32 i = threadIdx.x; i * 32 < part.header_bits; i += EMIT_THREADS) {
    put_bits(emission.window[0], place.filled + i * 32, part.header[i] | (i == 0 ? part.last : 0));
  }
  flush(emission, place, part.header_bits);
#pragma unroll 1
  for (u32 p = start; p < tokens.end; p += EMIT_THREADS * 4) {
    emit_tokens(emission, place, tokens, p + threadIdx.x * 4);
  }
  const u32 code = emission.codes[END_OF_BLOCK];
  if (threadIdx.x == 0) put_bits(emission.window[place.turn], place.filled, code & 0xFFFF);
  flush(emission, place, code >> 16);
  __syncthreads();
  if (threadIdx.x == 0 && place.filled != 0) atomicOr(place.out, emission.window[place.turn][0]);
}

// Emits a stored block.
DEVICE void emit_stored(const DeflatePart& part, const u32* words, const Share& share, u32* slab) {
  const u32 len = share.end - share.start;
  const u64 bytes_at = (part.first + 3 + 7) / 8 + 4;
  if (threadIdx.x == 0) {
    or_bits(slab, part.first, part.last);
    or_bits(slab, (bytes_at - 4) * 8, len | ~len << 16);
  }
  // Word i of the slab from `out` on takes the bytes that begin `skip` before 4 * i.
  u32* out = slab + bytes_at / 4;
  const u32 skip = (u32)bytes_at & 3, shift = 32 - 8 * skip;
  const u32* from = words + share.start / 4;
  for (u32 i = threadIdx.x; i * 4 < len + skip; i += EMIT_THREADS) {
    // Bytes past the end do not belong to the block.
    const u32 left = len + skip - i * 4;
    const u32 mask = left < 4 ? (1u << 8 * left) - 1 : 0xFFFFFFFFu;
    const u32 low = i == 0 ? 0 : from[i - 1];
    const u32 word = (skip == 0 ? from[i] : __funnelshift_r(low, from[i], shift)) & mask;
    if (i == 0 || left <= 4) {
      atomicOr(out + i, word);
    } else {
      out[i] = word;
    }
  }
}
