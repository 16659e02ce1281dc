// Deflate block headers (RFC 1951, 3.2.3 to 3.2.7), read by one warp: builds the tables of a block's codes.
//
// Stricter than decoders must be, never laxer: rejects what zlib rejects (more than 286 or 30 symbols, no end-of-block
// code, incomplete codes), and also a lone code of anything but distances.
#pragma once
#include "deflate/deflate_walk.cuh"

// Code lengths read so far, batch by batch; the same in all lanes.
struct Lengths {
  u32 literals;  // symbols of the literal code
  u32 wanted;    // literals and distances
  u32 have;
  u32 previous;  // the length that may be repeated, or LENGTH_UNKNOWN
};

#define LENGTH_UNKNOWN 0xFFFFFFFFu

enum LengthsRead : u32 { LENGTHS_MORE, LENGTHS_ALL, LENGTHS_WRONG };

// Takes the code lengths of a batch of `lists` lists. `mine` describes what this lane decoded from `memory` into
// `list`. Advances the stream behind the batch, or behind the last length.
DEVICE u32 take_lengths(Stream& in, Lengths& state, u8* lengths, const WalkMemory& memory, const u16* list,
                        const Walk& mine, u32 lists, u32 lane) {
  u32 from = (u32)in.bit & 127, slots = lane < lists ? mine.slots : 0;
  if (__any_sync(ALL_LANES, lane < lists && mine.stop >= STOP_END)) return LENGTHS_WRONG;

  // The number of lengths that this lane's tokens give, and the length that precedes the next lane's.
  u32 sum = 0, last = LENGTH_UNKNOWN;
#pragma unroll 1
  for (u32 i = 0; i < slots; ++i) {
    u32 slot = list[i];
    sum += slot < SLOT_LENGTH ? 1 : slot & 0xFF;
    if (slot < SLOT_LENGTH) last = slot;
    if (slot >= SLOT_ZEROS) last = 0;
  }
  u32 all = sum;
#pragma unroll
  for (u32 step = 1; step < 32; step <<= 1) {
    u32 lower = __shfl_up_sync(ALL_LANES, all, step), earlier = __shfl_up_sync(ALL_LANES, last, step);
    if (lane >= step) {
      all += lower;
      if (last == LENGTH_UNKNOWN) last = earlier;
    }
  }
  u32 before = __shfl_up_sync(ALL_LANES, last, 1);
  if (lane == 0 || before == LENGTH_UNKNOWN) before = state.previous;

  u32 at = state.have + all - sum, used = 0;
  bool begun = at < state.wanted && slots != 0, bad = false;
#pragma unroll 1
  while (used < slots && at < state.wanted && !bad) {
    u32 slot = list[used++];
    u32 count = slot < SLOT_LENGTH ? 1 : slot & 0xFF;
    if (slot < SLOT_LENGTH) before = slot;
    if (slot >= SLOT_ZEROS) before = 0;
    bad = at + count > state.wanted || before == LENGTH_UNKNOWN;
    if (!bad) {
#pragma unroll 1
      for (u32 i = 0; i < count && before != 0; ++i) lengths[at + i] = (u8)before;
      at += count;
    }
  }
  if (__any_sync(ALL_LANES, bad)) return LENGTHS_WRONG;
  u32 finished = __ballot_sync(ALL_LANES, begun && at == state.wanted);
  if (finished != 0) {
    // The lane in which the lengths end walks its tokens again to find the bit.
    u32 owner = __ffs(finished) - 1, end = mine.begin;
    if (lane == owner) {
      const u32* words = in.words + (in.bit >> 7) * 4;
#pragma unroll 1
      for (u32 i = 0; i < used; ++i) {
        end += shared_load(memory.tables + (bits_at(words, end) & ((1u << LENGTHS_ROOT) - 1)) * 4) & 31;
      }
    }
    in.bit += __shfl_sync(ALL_LANES, end, owner) - from;
    __syncwarp();
    return in.bit <= in.end && lengths[256] != 0 ? LENGTHS_ALL : LENGTHS_WRONG;
  }
  in.bit += __shfl_sync(ALL_LANES, mine.end, lists - 1) - from;
  state.have += __shfl_sync(ALL_LANES, all, 31);
  last = __shfl_sync(ALL_LANES, last, 31);
  if (last != LENGTH_UNKNOWN) state.previous = last;
  __syncwarp();
  return LENGTHS_MORE;
}

// Reads the code lengths of a dynamic block, whose code is in `tables`, into `lengths`. Called by all lanes of one
// warp; `lists` and `bits` are free memory for it.
DEVICE u32 read_lengths(Stream& in, Lengths& state, u8* lengths, const u32* tables, u16* lists, Line* bits,
                        WalkNotes<1>& notes, u32 lane) {
  u16* list = lists + lane * LIST_STRIDE;
  WalkMemory memory = {shared_address(tables), shared_address(bits), shared_address(list)};
  u32 read = LENGTHS_MORE;
  while (read == LENGTHS_MORE) {
    if (in.bit >= in.end) return LENGTHS_WRONG;
    u64 left = in.end - (in.bit & ~(u64)127);
    Pace pace = {64, 64};
    Walk mine;
    u32 end = (u32)min(left, (u64)0x40000000u);
    u32 last = walk_batch<1, true>(in, memory, bits, notes, LENGTHS_ROOT, end, pace, lane, mine);
    read = take_lengths(in, state, lengths, memory, list, mine, last + 1, lane);
  }
  return read;
}

// Position in the header of each of the 19 code-length code lengths.
DEVICE u32 length_place(u32 symbol) {
  const u64 low = 3ull | 17ull << 5 | 15ull << 10 | 13ull << 15 | 11ull << 20 | 9ull << 25 | 7ull << 30 |
                  5ull << 35 | 4ull << 40 | 6ull << 45 | 8ull << 50 | 10ull << 55;
  const u64 high = 12ull | 14ull << 5 | 16ull << 10 | 18ull << 15 | 0ull << 20 | 1ull << 25 | 2ull << 30;
  return (u32)((symbol < 12 ? low >> symbol * 5 : high >> (symbol - 12) * 5) & 31);
}

// Reads the header of a dynamic block from behind its first three bits up to the code of code lengths. Stores the
// lengths of that code in `codes`, and zeroes `lengths`.
DEVICE bool read_dynamic(Stream& in, Lengths& state, u8* codes, u8* lengths, u32 lane) {
  if (in.bit + 14 > in.end) return false;
  u32 counts = bits_at(in.words, in.bit);
  u32 literals = (counts & 31) + 257, distances = (counts >> 5 & 31) + 1, given = (counts >> 10 & 15) + 4;
  in.bit += 14;
  if (literals > 286 || distances > 30 || in.bit + 3 * given > in.end) return false;
  if (lane < 19) {
    u32 place = length_place(lane);
    codes[lane] = place < given ? (u8)(bits_at(in.words, in.bit + 3 * place) & 7) : 0;
  }
  for (u32 i = lane; i < 320; i += 32) lengths[i] = 0;
  in.bit += 3 * given;
  state = {literals, literals + distances, 0, LENGTH_UNKNOWN};
  __syncwarp();
  return true;
}

// The code lengths of fixed blocks.
DEVICE void fixed_lengths(Lengths& state, u8* lengths, u32 lane) {
  for (u32 i = lane; i < 320; i += 32) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
  state = {288, 320, 0, LENGTH_UNKNOWN};
  __syncwarp();
}
