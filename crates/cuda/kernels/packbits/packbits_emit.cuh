// Turns a list of runs into bytes: every thread makes whole lines of 16 bytes of output, so that writes are coalesced
// and balanced for any run lengths. A line that a window does not fill waits in shared memory for the next.
#pragma once
#include "packbits/packbits_window.cuh"

namespace packbits {

// The runs of a window and the destination of their output.
struct Runs {
  u32 count;
  u32 from;  // offset in the block's output
  u32 to;
};

// The last run that begins at or before `offset`.
DEVICE u32 run_at(const Shared& shared, u32 count, u32 offset) {
  u32 low = 0;
  u32 high = count - 1;
  while (low < high) {
    const u32 middle = (low + high + 1) / 2;
    if (shared.tokens[middle] >> OFFSET_SHIFT <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Four bytes from `offset` on, all of one run.
DEVICE u32 word_of(const Shared& shared, u32 token, u32 offset) {
  if (token & EQUAL) return byte_at(shared, (token & PLACE) + 1) * 0x01010101u;
  const u32 place = (token & PLACE) + 1 + offset - (token >> OFFSET_SHIFT);
  const u32* words = (const u32*)shared.lines + place / 4;
  return __funnelshift_r(words[0], words[1], 8 * (place % 4));
}

// The line at `at` of the output, limited to `runs`; earlier bytes are in `carry`.
DEVICE Line line_of(const Shared& shared, const Runs& runs, u32 at, const Line& carry) {
  Line line = {};
  const u32 begin = max(at, runs.from);
  u32 run = run_at(shared, runs.count, begin - runs.from);
  u32 token = shared.tokens[run];
  u32 next = shared.tokens[run + 1];
#pragma unroll
  for (u32 word = 0; word < 4; ++word) {
    const u32 place = at + 4 * word;
    if (place >= begin && place + 4 - runs.from <= next >> OFFSET_SHIFT && place + 4 <= runs.to) {
      line.words[word] = word_of(shared, token, place - runs.from);
      if (place + 4 - runs.from < next >> OFFSET_SHIFT || place + 4 >= runs.to) continue;
      token = next;
      next = shared.tokens[++run + 1];
      continue;
    }
    u32 bytes = 0;
    for (u32 i = 0; i < 4; ++i) {
      const u32 to = place + i;
      u32 byte = 0;
      if (to < begin) {
        byte = carry.words[word] >> (8 * i) & 0xFF;
      } else if (to < runs.to) {
        const u32 offset = to - runs.from;
        if (offset >= next >> OFFSET_SHIFT) {
          token = next;
          next = shared.tokens[++run + 1];
        }
        byte = byte_at(shared, (token & PLACE) + 1 + (token & EQUAL ? 0 : offset - (token >> OFFSET_SHIFT)));
      }
      bytes |= byte << (8 * i);
    }
    line.words[word] = bytes;
  }
  return line;
}

// Writes the output of `runs`; a partial last line goes to `carry`, or to memory with `last`.
DEVICE void emit(const Shared& shared, u8* dst, const Runs& runs, const Line& before, Line& carry,
                 bool last) {
  for (u32 at = runs.from / LINE * LINE + threadIdx.x * LINE; at < runs.to; at += THREADS * LINE) {
    const Line line = line_of(shared, runs, at, before);
    if (at + LINE <= runs.to || last) *(Line*)(dst + at) = line;
    else carry = line;
  }
}

}  // namespace packbits
