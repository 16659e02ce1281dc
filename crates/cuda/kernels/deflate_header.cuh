// Block headers of Deflate (RFC 1951, 3.2.3 to 3.2.7), read by one warp: the tables of a block's codes.
//
// Stricter than decoders must be, never laxer: what zlib refuses is refused (more than 286 or 30 symbols, no code for
// the end of a block, incomplete codes), and so is a lone code of anything but distances.
#pragma once
#include "deflate_walk.cuh"

// Where a warp is in a stream. Bits are counted from the first of `words`.
struct Stream {
  const u32* words;
  u64 bit;
  u64 end;  // the first bit that is not of the compressed data
};

// The input from the word that holds the next bit on.
DEVICE BitsFrom bits_ahead(const Stream& in) {
  u64 left = in.end - (in.bit & ~(u64)31);
  return {in.words + (in.bit >> 5), (u32)(left < 0x40000000u ? left : 0x40000000u)};
}

// Zeroes, then reads the `wanted` code lengths of a dynamic block by the table in `tables`. `list` is the lane's.
DEVICE bool read_lengths(Stream& in, const u32* tables, u16* list, u8* lengths, u32 wanted, u32 lane) {
  const u32 unknown = 0xFFFFFFFFu;
  for (u32 i = lane; i < 320; i += 32) lengths[i] = 0;
  __syncwarp();
  Pace pace = {64, 64};
  u32 have = 0, previous = unknown;
  for (;;) {
    if (in.bit >= in.end) return false;
    BitsFrom bits = bits_ahead(in);
    u32 from = (u32)in.bit & 31;
    pace.run_in = 64;
    Walk mine;
    u32 lists = walk_batch(tables, list, bits, LENGTHS_ROOT, from, pace, lane, mine) + 1;
    u32 slots = lane < lists ? mine.slots : 0;
    if (__any_sync(ALL_LANES, lane < lists && mine.stop >= STOP_END)) return false;

    // How many lengths this lane's tokens give, and which comes before the next lane's.
    u32 sum = 0, last = unknown;
    for (u32 i = 0; i < slots; ++i) {
      u32 slot = list[i];
      sum += slot < SLOT_LENGTH ? 1 : slot & 0xFF;
      if (slot < SLOT_LENGTH) last = slot;
      if (slot >= SLOT_ZEROS) last = 0;
    }
    u32 all = sum;
    for (u32 step = 1; step < 32; step <<= 1) {
      u32 lower = __shfl_up_sync(ALL_LANES, all, step), earlier = __shfl_up_sync(ALL_LANES, last, step);
      if (lane >= step) {
        all += lower;
        if (last == unknown) last = earlier;
      }
    }
    u32 before = __shfl_up_sync(ALL_LANES, last, 1);
    if (lane == 0 || before == unknown) before = previous;

    u32 at = have + all - sum, used = 0;
    bool begun = at < wanted && slots != 0, bad = false;
    while (used < slots && at < wanted && !bad) {
      u32 slot = list[used++];
      u32 count = slot < SLOT_LENGTH ? 1 : slot & 0xFF;
      if (slot < SLOT_LENGTH) before = slot;
      if (slot >= SLOT_ZEROS) before = 0;
      bad = at + count > wanted || before == unknown;
      if (!bad) {
        for (u32 i = 0; i < count && before != 0; ++i) lengths[at + i] = (u8)before;
        at += count;
      }
    }
    if (__any_sync(ALL_LANES, bad)) return false;
    u32 finished = __ballot_sync(ALL_LANES, begun && at == wanted);
    if (finished != 0) {
      // The lane in which they end walks its tokens once more, to know at which bit.
      u32 owner = __ffs(finished) - 1, end = mine.begin;
      if (lane == owner) {
        for (u32 i = 0; i < used; ++i) end += tables[bits_at(bits.words, end) & ((1u << LENGTHS_ROOT) - 1)] & 31;
      }
      in.bit += __shfl_sync(ALL_LANES, end, owner) - from;
      __syncwarp();
      return in.bit <= in.end;
    }
    in.bit += __shfl_sync(ALL_LANES, mine.end, lists - 1) - from;
    have += __shfl_sync(ALL_LANES, all, 31);
    last = __shfl_sync(ALL_LANES, last, 31);
    if (last != unknown) previous = last;
    __syncwarp();
  }
}

// Reads the header of a dynamic block from behind its first three bits, and builds its tables. `work` may share
// memory with the lists: it is used before and after them.
DEVICE bool read_dynamic(Stream& in, u32* tables, u16* list, u8* lengths, CodeWork& work, u32 lane) {
  // The place in the header of the length of each of the 19 codes of code lengths, 5 bits a symbol.
  const u64 places_low = 3ull | 17ull << 5 | 15ull << 10 | 13ull << 15 | 11ull << 20 | 9ull << 25 | 7ull << 30 |
                         5ull << 35 | 4ull << 40 | 6ull << 45 | 8ull << 50 | 10ull << 55;
  const u64 places_high = 12ull | 14ull << 5 | 16ull << 10 | 18ull << 15 | 0ull << 20 | 1ull << 25 | 2ull << 30;
  if (in.bit + 14 > in.end) return false;
  u32 counts = bits_at(in.words, in.bit);
  u32 literals = (counts & 31) + 257, distances = (counts >> 5 & 31) + 1, codes = (counts >> 10 & 15) + 4;
  if (literals > 286 || distances > 30) return false;
  in.bit += 14;
  if (in.bit + 3 * codes > in.end) return false;
  if (lane < 19) {
    u32 place = (u32)((lane < 12 ? places_low >> lane * 5 : places_high >> (lane - 12) * 5) & 31);
    lengths[lane] = place < codes ? (u8)(bits_at(in.words, in.bit + 3 * place) & 7) : 0;
  }
  __syncwarp();
  in.bit += 3 * codes;
  if (!build_table(work, tables, lengths, 19, CODE_LENGTHS, lane)) return false;
  if (!read_lengths(in, tables, list, lengths, literals + distances, lane)) return false;
  if (lengths[256] == 0) return false;
  return build_table(work, tables, lengths, literals, CODE_LITERALS, lane) &&
         build_table(work, tables, lengths + literals, distances, CODE_DISTANCES, lane);
}

// Builds the tables of fixed blocks.
DEVICE bool build_fixed(u32* tables, u8* lengths, CodeWork& work, u32 lane) {
  for (u32 i = lane; i < 320; i += 32) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
  __syncwarp();
  return build_table(work, tables, lengths, 288, CODE_LITERALS, lane) &&
         build_table(work, tables, lengths + 288, 32, CODE_DISTANCES, lane);
}
