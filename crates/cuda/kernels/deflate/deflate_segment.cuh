// Walks one segment of a Deflate stream with one CUDA block: once to find its end and its number of output bytes, and,
// if it turns out to belong to the stream, once more to write the sources of these bytes.
#pragma once
#include "deflate/deflate_split.cuh"

// Longer matches are written by the whole warp.
#define LONG_SOURCE 12u

// Writes the sources of a match, except those before the output; returns false if there are such. Called by one lane
// with `step` 1, or by a warp with 32.
DEVICE bool put_match(u32* sources, u32 at, u32 len, u32 distance, u32 lane, u32 step) {
  const bool right = distance <= at;
#pragma unroll 1
  for (u32 i = lane; i < len; i += step) {
    const u32 back = distance < len ? i % distance : i;
    sources[at + i] = right ? at - distance + back : SOURCE_KNOWN;
  }
  return right;
}

// Writes the sources of a list of tokens, by a warp. Returns false if a match begins before the output.
DEVICE bool put_list(u32* sources, const u16* list, const ListEnd& end, u32 lane) {
  Share share;
  load_share(share, list, end.slots, lane);
  const u32 size = share.place[4] & 0xFFFF;
  u32 sum = size;
#pragma unroll
  for (u32 step = 1; step < 32; step <<= 1) {
    const u32 lower = __shfl_up_sync(ALL_LANES, sum, step);
    if (lane >= step) sum += lower;
  }
  const u32 begin = end.position - __shfl_sync(ALL_LANES, sum, 31) + sum - size;
  bool right = true;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    const u32 len = (share.place[i + 1] - share.place[i]) & 0xFFFF, at = begin + (share.place[i] & 0xFFFF);
    const u32 distance = (share.slot[i + 1] & 0x7FFF) + 1;
    if (len == 1) sources[at] = SOURCE_KNOWN | share.slot[i];
    if (len > 1 && len <= LONG_SOURCE) right &= put_match(sources, at, len, distance, 0, 1);
    u32 together = __ballot_sync(ALL_LANES, len > LONG_SOURCE);
#pragma unroll 1
    while (together != 0) {
      const u32 owner = (u32)__ffs((i32)together) - 1;
      const u32 its_at = __shfl_sync(ALL_LANES, at, owner), its_len = __shfl_sync(ALL_LANES, len, owner);
      right &= put_match(sources, its_at, its_len, __shfl_sync(ALL_LANES, distance, owner), lane, 32);
      together &= together - 1;
    }
  }
  return right;
}

// Memory of a CUDA block that only counts: without lists and page, so that more of them fit on a multiprocessor.
// Headers are read in the memory of the bits.
template <u32 WARPS>
struct CountShared {
  static constexpr bool stores = false;
  static constexpr u32 lists_at = batch_words(1) * 4, lengths_at = lists_at + 64 * LIST_STRIDE;
  static constexpr u32 reading = lengths_at + 352, batch = batch_words(WARPS) * 4;
  u16* lists_of_tokens() { return (u16*)(work + lists_at); }
  u8* bits() { return work; }
  u8* lengths() { return work + lengths_at; }
  u8* codes() { return work + lengths_at + 320; }

  u32 tables[TABLE_ENTRIES];
  alignas(16) u8 work[reading > batch ? reading : batch];
  Header header;
  WalkNotes<WARPS> walks;
  u32 bytes[WARPS];
  u32 matches[WARPS];
  u32 reached, stop;
  u32 used;
};

// Twelve per multiprocessor of 228 KiB; each takes 1 KiB more.
static_assert(sizeof(CountShared<2>) + 64 <= 18432, "twelve of them on a multiprocessor");

// Result of walking a segment.
struct Walked {
  u64 end;
  u32 next, bytes;
};

// Walks a segment whose output begins at `offset` and has at most `most` bytes; writes `sources` if the memory stores
// tokens. All threads return the same fault, except for a match that begins before the output: only the threads that
// found it return that fault.
template <u32 WARPS, class Shared>
DEVICE u32 walk_segment(const Split& split, u32 segment, u32 offset, u32 most, Shared& shared,
                        Walked& walked, u32 thread) {
  constexpr bool EMIT = Shared::stores;
  const u32 threads = 32 * WARPS, lane = thread & 31, warp = thread / 32;
  Stream in = split.in;
  in.bit = segment_bit(split, segment);
  const u64 limit = segment == 0 ? in.end : in.bit + LONGEST_SEGMENT;
  Pace pace = {640, 256};
  u32 built = BLOCK_STORED, head = 0;
  bool inside = false, begun = false, final = false, right = true;
  walked.next = STREAM_END;
  while (inside || !final) {
    if (!inside) {
      const u32 next = begun ? segment_at(split, in.bit) : NO_SEGMENT;
      if (next != NO_SEGMENT) {
        walked.next = next;
        break;
      }
      if (in.bit > limit) return FAULT_UNDECIDED;
      begun = true;
      // Other threads may still read the previous header.
      group_sync<threads>();
      if (thread < 32) {
        u32 wrong = read_header(in, built, shared, thread);
        if (thread == 0) shared.header.fault = wrong;
      }
      group_sync<threads>();
      const Header header = shared.header;
      if (header.fault != FAULT_NONE) return header.fault;
      final = header.final != 0;
      in.bit = header.bit;
      if (header.kind == BLOCK_STORED) {
        if (header.len > most - head) return FAULT_OUTPUT_SURPLUS;
        const u8* from = (const u8*)in.words + in.bit / 8;
        for (u32 i = thread; EMIT && i < header.len; i += threads) {
          split.sources[offset + head + i] = SOURCE_KNOWN | __ldg(from + i);
        }
        head += header.len;
        in.bit += header.len * 8;
        continue;
      }
      built = header.kind;
      inside = true;
    }
    u32 count, bytes;
    bool ended = false;
    const u32 fault = make_lists<WARPS>(in, pace, shared, offset + head, count, bytes, ended, thread);
    if (fault != FAULT_NONE) return fault;
    if (bytes > most - head) return FAULT_OUTPUT_SURPLUS;
    if (EMIT) {
#pragma unroll 1
      for (u32 list = warp; list < count; list += WARPS) {
        const u16* lists = shared.lists_of_tokens();
        right &= put_list(split.sources, lists + list * LIST_STRIDE, list_end(lists, list), lane);
      }
      // The next batch writes into the lists.
      group_sync<threads>();
    }
    head += bytes;
    inside = !ended;
  }
  walked.end = in.bit;
  walked.bytes = head;
  return right ? FAULT_NONE : FAULT_CORRUPT;
}
