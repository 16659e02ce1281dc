// A window of packed input: finds which of its bytes are control bytes, and their runs.
//
// The successor of a control byte can be computed for every byte as if it were one, but which bytes are control bytes
// is only known by following them from the first on. So every byte gets an exit: where a chain through it leaves its
// chunk of 16 bytes (one thread per chunk, from the last byte backwards), then where it leaves its group of 16 chunks.
// The actual chain then takes 16 steps through the groups, 16 through the chunks of a group and 16 through a chunk, by
// all threads independently. If runs are long, it is enough that one warp follows them from the first on.
#pragma once
#include "block_scan.cuh"
#include "lines.cuh"

namespace packbits {

constexpr u32 THREADS = 256;
constexpr u32 CHUNK = 16;
constexpr u32 GROUP = 16 * CHUNK;
constexpr u32 WINDOW = THREADS * CHUNK;
constexpr u32 NO_OPERATION = 128;
// Number of runs of a window that can be followed one after the other in less time than exits take.
constexpr u32 DIRECT = 64;
// Lines for the literal bytes of a run that begins with the last byte, and the word after.
constexpr u32 STAGED_LINES = (WINDOW + 1 + 128 + 4 + LINE - 1) / LINE;
// A token takes at least two bytes, so a chunk has at most eight; one more ends the list.
constexpr u32 MOST_TOKENS = THREADS * CHUNK / 2;

// A run: offset of its output within that of the window, whether it repeats one byte, place of its control byte.
constexpr u32 OFFSET_SHIFT = 13;
constexpr u32 EQUAL = 1u << 12;
constexpr u32 PLACE = EQUAL - 1;
static_assert(MOST_TOKENS * 128 < 1u << (32 - OFFSET_SHIFT) && WINDOW - 1 <= PLACE, "a token is one word");

// Two entries of 16 bits after every chunk keep the threads of a warp in different banks.
constexpr u32 PADDED = WINDOW / CHUNK * (CHUNK + 2);
DEVICE u32 padded(u32 place) { return place + 2 * (place / CHUNK); }

struct Shared {
  Line lines[STAGED_LINES];
  u16 chunk_exit[PADDED];
  union {
    u16 group_exit[PADDED];
    u32 tokens[MOST_TOKENS + 1];
  };
  Line carry[2];
  u32 warp_sums[THREADS / 32];
  u32 fault;
  u32 end;           // end of the chain
  u16 own[THREADS];  // first places of the chain in chunks, if it is followed directly
};

DEVICE u8 byte_at(const Shared& shared, u32 place) { return ((const u8*)shared.lines)[place]; }

DEVICE u32 after(u32 place, u32 control) {
  return place + (control < NO_OPERATION ? control + 2 : control > NO_OPERATION ? 2 : 1);
}

DEVICE u32 output_of(u32 control) {
  return control < NO_OPERATION ? control + 1 : control > NO_OPERATION ? 257 - control : 0;
}

// Loads the lines from `src` (aligned) on that hold any of the first `len` bytes; the others become 0.
DEVICE void stage(Shared& shared, const u8* src, u32 len) {
  for (u32 line = threadIdx.x; line < STAGED_LINES; line += THREADS) {
    Line bytes = {};
    if (line * LINE < len) bytes = ((const Line*)src)[line];
    shared.lines[line] = bytes;
  }
  shared.own[threadIdx.x] = u16(WINDOW);
  if (threadIdx.x == 0) shared.fault = FAULT_NONE;
  __syncthreads();
}

DEVICE void find_exits(Shared& shared) {
  const Line own = shared.lines[threadIdx.x];
  const u32 first = threadIdx.x * CHUNK;
#pragma unroll
  for (u32 i = CHUNK; i-- > 0;) {
    const u32 next = after(first + i, own.words[i / 4] >> (8 * (i % 4)) & 0xFF);
    u32 exit = next;
    if (next < first + CHUNK) exit = shared.chunk_exit[padded(next)];
    shared.chunk_exit[padded(first + i)] = u16(exit);
  }
  __syncwarp();
  const u32 group_end = (threadIdx.x / 16 + 1) * GROUP;
#pragma unroll 1
  for (u32 place = group_end - CHUNK + threadIdx.x % 16, i = 0; i < 16; ++i, place -= CHUNK) {
    const u32 next = shared.chunk_exit[padded(place)];
    u32 exit = next;
    if (next < group_end) exit = shared.group_exit[padded(next)];
    shared.group_exit[padded(place)] = u16(exit);
    __syncwarp();
  }
  __syncthreads();
}

// The chain from `start` on, of bytes before `limit`.
struct Chain {
  u32 own;  // its first place in this thread's chunk, or any place after it
  u32 end;  // its first place at or after `limit`
};

DEVICE Chain follow(const Shared& shared, u32 start, u32 limit) {
  const u32 chunk = threadIdx.x;
  Chain chain = {WINDOW, start};
  u32 place = WINDOW;
  while (chain.end < WINDOW && chain.end < limit) {
    if (chain.end / GROUP == chunk / 16) place = chain.end;
    chain.end = shared.group_exit[padded(chain.end)];
  }
  while (place / GROUP == chunk / 16) {
    if (place / CHUNK == chunk) chain.own = place;
    place = shared.chunk_exit[padded(place)];
  }
  return chain;
}

// The same without exits: one warp follows the runs one after the other, while the others wait at no cost. Returns
// false if there are more than DIRECT runs. Needs `own` filled with WINDOW, followed by a barrier.
DEVICE bool follow_directly(Shared& shared, u32 start, u32 limit, Chain& chain) {
  const u32 end = min(WINDOW, limit);
  if (threadIdx.x < 32) {
    u32 place = start;
    u32 chunk = WINDOW;
#pragma unroll 1
    for (u32 i = 0; i < DIRECT && place < end; ++i) {
      if (threadIdx.x == 0 && place / CHUNK != chunk) shared.own[place / CHUNK] = u16(place);
      chunk = place / CHUNK;
      place = after(place, byte_at(shared, place));
    }
    if (threadIdx.x == 0) shared.end = place;
  }
  __syncthreads();
  chain = {shared.own[threadIdx.x], shared.end};
  return chain.end >= end;
}

}  // namespace packbits
