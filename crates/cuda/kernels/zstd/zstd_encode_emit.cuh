// Writes the bytes of a part with a CUDA block: head, literals, tail, sequences, one after the other. Bits are
// collected in a window of shared memory, which is written out in whole words; the first and last word, which are
// shared with neighbours, are written as bytes.
#pragma once
#include "block_scan.cuh"
#include "zstd/zstd_encode_codes.cuh"

// The bits of the sequences of all threads, the remainder of the last turn, and two words behind that a put may touch.
constexpr u32 ZSTD_WINDOW = ZSTD_THREADS * 74 / 32 + 1 + 2;

struct ZstdEmission {
  u32 window[2][ZSTD_WINDOW];  // alternating; 0 except for pending bits
  u32 sums[ZSTD_WARPS];
  u16 codes[256];
};

// Place of the window; the same in all threads.
struct ZstdPlace {
  u32* out;    // output word at which the window begins
  u32 filled;  // bits in the window
  u32 skip;    // bytes of that word that belong to a neighbour
  u32 turn;
};

// Puts at most 64 bits into the window, behind `at` other new ones.
DEVICE void zstd_put(ZstdEmission& emission, const ZstdPlace& place, u32 at, u64 bits) {
  at += place.filled;
  const u32 shift = at & 31;
  u32* words = emission.window[place.turn] + at / 32;
  const u64 low = bits << shift;
  const u32 high = shift == 0 ? 0 : (u32)(bits >> 32 >> (32 - shift));
  if ((u32)low != 0) atomicOr(words, (u32)low);
  if ((u32)(low >> 32) != 0) atomicOr(words + 1, (u32)(low >> 32));
  if (high != 0) atomicOr(words + 2, high);
}

DEVICE void zstd_out_bytes(u32* out, u32 word, u32 from, u32 to) {
  for (u32 k = from; k < to; ++k) ((u8*)out)[k] = (u8)(word >> 8 * k);
}

// Accounts for `bits` that the threads have put behind earlier content, and writes out whole words.
DEVICE void zstd_flush(ZstdEmission& emission, ZstdPlace& place, u32 bits) {
  __syncthreads();
  u32* window = emission.window[place.turn];
  place.turn ^= 1;
  const u32 filled = place.filled + bits, whole = filled / 32;
  for (u32 i = threadIdx.x; i <= whole; i += ZSTD_THREADS) {
    const u32 word = window[i];
    window[i] = 0;
    if (i == whole) {
      // Other threads may already be working on the next turn.
      if (word != 0) atomicOr(emission.window[place.turn], word);
    } else if (i == 0 && place.skip != 0) {
      zstd_out_bytes(place.out, word, place.skip, 4);
    } else {
      place.out[i] = word;
    }
  }
  place.out += whole;
  place.filled = filled & 31;
  if (whole != 0) place.skip = 0;
}

// Emits bytes of words; called by all threads with the same arguments.
DEVICE void zstd_emit_bytes(ZstdEmission& emission, ZstdPlace& place, const u32* words, u32 len) {
#pragma unroll 1
  for (u32 base = 0; base < len; base += 4 * ZSTD_THREADS) {
    const u32 i = base + 4 * threadIdx.x, left = i < len ? len - i : 0;
    if (left != 0) {
      const u32 word = words[i / 4];
      zstd_put(emission, place, 32 * threadIdx.x, left < 4 ? word & ((1u << 8 * left) - 1) : word);
    }
    zstd_flush(emission, place, 8 * min(len - base, 4 * ZSTD_THREADS));
  }
}

// The end mark of a stream, after `bits` more, and zeros up to the next byte.
DEVICE void zstd_emit_mark(ZstdEmission& emission, ZstdPlace& place, u32 value, u32 bits) {
  if (threadIdx.x == 0) zstd_put(emission, place, 0, value | (u64)1 << bits);
  const u32 marked = bits + 1;
  zstd_flush(emission, place, marked + ((0 - (place.filled + marked)) & 7));
}

// Emits one stream of literals, the last first.
DEVICE void zstd_emit_stream(ZstdEmission& emission, ZstdPlace& place, const u8* literals, u32 count) {
#pragma unroll 1
  for (u32 base = 0; base < count; base += 4 * ZSTD_THREADS) {
    u64 bits = 0;
    u32 len = 0;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u32 i = base + 4 * threadIdx.x + k;
      const u32 code = i < count ? emission.codes[literals[count - 1 - i]] : 0;
      bits |= (u64)(code & 0xFFF) << len;
      len += code >> 12;
    }
    const Prefix prefix = block_prefix<ZSTD_WARPS>(len, emission.sums);
    if (len != 0) zstd_put(emission, place, prefix.before, bits);
    zstd_flush(emission, place, prefix.total);
  }
  zstd_emit_mark(emission, place, 0, 0);
}

struct ZstdBits {
  u64 bits;
  u32 count;
};

DEVICE void zstd_add(ZstdBits& all, u32 value, u32 count) {
  all.bits |= (u64)(value & ((1u << count) - 1)) << all.count;
  all.count += count;
}

// Emits the stream of sequences, the last first.
DEVICE void zstd_emit_sequences(ZstdEmission& emission, ZstdPlace& place, const ZstdWork& work,
                                const ZstdPart& part) {
#pragma unroll 1
  for (u32 base = 0; base < part.sequences; base += ZSTD_THREADS) {
    const u32 i = base + threadIdx.x;
    ZstdBits all = {0, 0};
    u32 offset = 0, offset_bits = 0;
    if (i < part.sequences) {
      const u32 at = part.sequences - 1 - i;
      const u64 sequence = work.sequences[at];
      const u64 states = *(const u64*)(work.bits + 4 * (u64)at);
      const u32 of_literals = (u32)states & 0xFFFF, of_offset = (u32)states >> 16;
      const u32 of_match = (u32)(states >> 32) & 0xFFFF;
      zstd_add(all, of_offset, zstd_written_count(of_offset));
      zstd_add(all, of_match, zstd_written_count(of_match));
      zstd_add(all, of_literals, zstd_written_count(of_literals));
      const u32 literals = zstd_sequence_literals(sequence), length = zstd_sequence_length(sequence);
      zstd_add(all, literals, zstd_length_bits[zstd_literals_code(literals)]);
      zstd_add(all, length, zstd_match_bits[zstd_match_code(length)]);
      offset = zstd_sequence_offset(sequence);
      offset_bits = zstd_log2(offset);
    }
    const Prefix prefix = block_prefix<ZSTD_WARPS>(all.count + offset_bits, emission.sums);
    if (all.count != 0) zstd_put(emission, place, prefix.before, all.bits);
    if (offset_bits != 0) {
      zstd_put(emission, place, prefix.before + all.count, offset & ((1u << offset_bits) - 1));
    }
    zstd_flush(emission, place, prefix.total);
  }
  zstd_emit_mark(emission, place, part.states, part.state_bits);
}

// Emits a part from `out` on.
DEVICE void zstd_emit_part(ZstdEmission& emission, const ZstdWork& work, u8* out) {
  const ZstdPart& part = *work.part;
  for (u32 i = threadIdx.x; i < 2 * ZSTD_WINDOW; i += ZSTD_THREADS) (&emission.window[0][0])[i] = 0;
  for (u32 i = threadIdx.x; i < 256; i += ZSTD_THREADS) emission.codes[i] = part.codes[i];
  __syncthreads();
  const u32 skip = (u32)(u64)out & 3;
  ZstdPlace place = {(u32*)(out - skip), 8 * skip, skip, 0};
  zstd_emit_bytes(emission, place, part.head, part.head_len);
  const u32* raw = part.raw_literals != 0 ? (const u32*)work.literals : work.words + work.start / 4;
  zstd_emit_bytes(emission, place, raw, part.raw);
  const u32 each = part.streams == 4 ? (part.literals + 3) / 4 : part.literals;
#pragma unroll 1
  for (u32 s = 0; s < part.streams; ++s) {
    zstd_emit_stream(emission, place, work.literals + s * each, min(part.literals - s * each, each));
  }
  zstd_emit_bytes(emission, place, part.tail, part.tail_len);
  if (part.sequences != 0) zstd_emit_sequences(emission, place, work, part);
  __syncthreads();
  if (threadIdx.x == 0) {
    zstd_out_bytes(place.out, emission.window[place.turn][0], place.skip, place.filled / 8);
  }
}
