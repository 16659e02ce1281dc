// Turns the chain of a window into a list of its sequences with their places in the output.
#pragma once
#include "lz4/lz4_window.cuh"

namespace lz4 {

// An LZ4 block being decoded. All positions are relative to the image block; `output` never exceeds `limit`.
struct Walk {
  const u8* src;
  u8* dst;
  u32 at;      // next byte of the input
  u32 stop;    // end of the LZ4 block
  u32 output;  // bytes written
  u32 limit;   // maximum output of this LZ4 block, as a position
  u32 floor;   // matches start here or later
};

struct Totals {
  u32 tokens;
  u32 bytes;
};

// Lists the tokens from `own` on in this thread's chunk. Called by all threads; when all are at its barrier, they have
// followed the chain. A barrier is needed before the list is read. If the output would exceed its limit, nothing is
// listed.
template <u32 THREADS>
DEVICE Totals list_tokens(Shared<THREADS>& shared, const Walk& walk, u32 own, u32 limit, u32 stop) {
  const u8* input = (const u8*)shared.lines;
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 end = (threadIdx.x + 1) * Shared<THREADS>::CHUNK;
  u32 tokens = 0, bytes = 0;
#pragma unroll 1
  for (u32 place = own; place < end;) {
    const Token token = token_at(input, place, limit, stop);
    if (token.next == place) break;
    ++tokens;
    bytes += token.count + token.length;
    place = token.next;
  }
  u32 tokens_to = tokens, bytes_to = bytes;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 lower_tokens = __shfl_up_sync(0xFFFFFFFFu, tokens_to, step);
    const u32 lower_bytes = __shfl_up_sync(0xFFFFFFFFu, bytes_to, step);
    if (lane >= step) {
      tokens_to += lower_tokens;
      bytes_to += lower_bytes;
    }
  }
  if (lane == 31) {
    shared.tokens[warp] = tokens_to;
    shared.bytes[warp] = bytes_to;
  }
  __syncthreads();
  Totals totals = {0, 0};
  u32 index = tokens_to - tokens, start = walk.output + (bytes_to - bytes);
#pragma unroll
  for (u32 i = 0; i < THREADS / 32; ++i) {
    if (i == warp) {
      index += totals.tokens;
      start += totals.bytes;
    }
    totals.tokens += shared.tokens[i];
    totals.bytes += shared.bytes[i];
  }
  if (totals.bytes > walk.limit - walk.output) return totals;
#pragma unroll 1
  for (u32 k = 0, place = own; k < tokens; ++k, ++index) {
    const Token token = token_at(input, place, limit, stop);
    const u32 match = start + token.count;
    u32 offset = 1;
    if (token.length == 0) {
      shared.ended = 1;
    } else {
      const u8* field = input + token.literals + token.count;
      offset = (u32)field[0] | (u32)field[1] << 8;
      if (offset == 0 || offset > match - walk.floor) atomicOr(&shared.fault, 1u);
    }
    shared.list.start[index] = start;
    shared.list.each[index] = Sequence{token.literals | token.count << 16, offset};
    start = match + token.length;
    place = token.next;
  }
  if (threadIdx.x == 0) shared.list.start[totals.tokens] = walk.output + totals.bytes;
  return totals;
}

}  // namespace lz4
