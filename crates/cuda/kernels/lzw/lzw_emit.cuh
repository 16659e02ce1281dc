// Turns codes with known offsets into bytes. The output is made in windows that fit into shared memory, each of whole
// strings; a window is written to memory in coalesced lines of 16 bytes, and bytes that do not fill a line wait for the
// next window.
//
// A thread writes a string from its end: the last byte is the first byte of the code after the parent, the rest is the
// parent's string. No byte depends on another of the window, and if the parent's string is already in memory, the rest
// of a long string is copied from there.
#pragma once
#include "lzw/lzw_segment.cuh"

namespace lzw {

// From this length on, a copy costs less than following the chain to its end.
constexpr u32 LEAST_COPY = 8;

// Destination of a segment's output.
struct Window {
  u8* dst;       // output of the block
  u32 flushed;   // bytes already in memory, a multiple of 16; later ones are in `Segment::out`
  u32 segment;   // offset of the segment's output
};

// Writes the first `len` bytes of a word, at most three.
DEVICE void put_bytes(u8* to, u32 bytes, u32 len) {
  if (len > 0) to[0] = u8(bytes);
  if (len > 1) to[1] = u8(bytes >> 8);
  if (len > 2) to[2] = u8(bytes >> 16);
}

// Copies `len` bytes at `from` of `src`, which is aligned and has `limit` readable bytes (a multiple of 4).
DEVICE void copy_string(u8* to, const u8* src, u32 from, u32 len, u32 limit) {
  const u32* words = (const u32*)src;
  const u32 last = limit / 4 - 1;
  const u32 head = min((0u - u32(u64(to))) & 3, len);
  u32 word = from / 4;
  put_bytes(to, __funnelshift_r(words[word], words[min(word + 1, last)], 8 * (from & 3)), head);
  to += head;
  from += head;
  len -= head;
  const u32 shift = 8 * (from & 3);
  word = from / 4;
  u32 low = words[min(word, last)];
  // More unrolling would take the registers that hold the input of the next segment.
#pragma unroll 2
  for (; len >= 4; len -= 4, to += 4) {
    const u32 high = words[min(++word, last)];
    *(u32*)to = __funnelshift_r(low, high, shift);
    low = high;
  }
  put_bytes(to, __funnelshift_r(low, words[min(word + 1, last)], shift), len);
}

// Writes the strings of every 256th code from `i` up to `end`, while nothing of the segment is in memory. An iteration
// writes one byte, either the last of one string or the first of another, so that no lane waits for the long strings of
// others. `zero` is the place in `out` of offset 0 of the segment, modulo 2^32.
DEVICE void emit_strings(Segment& segment, u32 i, u32 end, u32 zero) {
  if (i >= end) return;
  const u32* after = segment.link + 1;
  u8* at = segment.out + (zero + (after[i] >> 8) - 1);
  i32 parent = segment.parent[i];
  u32 next = parent < 0 ? i += THREADS : u32(parent);
  while (parent >= 0 || next < end) {
    // The first byte of the code after the parent; or, after a complete string, where the next string ends.
    const u32 link = after[next];
    const u32 byte = parent < 0 ? u32(parent) : link;
    u8* end_of_string = parent < 0 ? segment.out + (zero + (link >> 8)) : at;
    // Both loads come before the store, because the compiler cannot move them across it.
    parent = segment.parent[next];
    *at = u8(byte);
    at = end_of_string - 1;
    next = parent < 0 ? i += THREADS : u32(parent);
  }
  *at = u8(parent);
}

// Writes the string of code i when the first `in_memory` bytes of the segment's output, at least one, are in memory.
DEVICE void emit_string(Segment& segment, const Window& window, u32 i, u32 zero, u32 in_memory) {
  const u32 start = zero + (segment.link[i] >> 8);
  u32 at = zero + (segment.link[i + 1] >> 8);
  i32 parent = segment.parent[i];
  u32 source = 0;
  while (at > start + 1) {
    const u32 after = (segment.link + 1)[parent];
    parent = segment.parent[parent];
    segment.out[--at] = u8(after);
    source = after >> 8;
    if (source <= in_memory && at - start >= LEAST_COPY) break;
  }
  // Outside the loop, so that lanes copy at the same time.
  if (at == start + 1) {
    segment.out[start] = u8(parent);
  } else {
    const u32 len = at - start;
    copy_string(segment.out + start, window.dst, window.segment + source - len, len, window.flushed);
  }
}

// The first code after `first` whose string would not end within `limit`; at least `first + 1`.
DEVICE u32 window_end(const Segment& segment, u32 first, u32 stop, u32 limit) {
  u32 low = first + 1;
  u32 high = stop;
  if (segment.link[stop] >> 8 <= limit) return stop;
  while (low < high) {
    const u32 middle = (low + high + 1) / 2;
    if (segment.link[middle] >> 8 <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Writes the `filled` bytes of `out` to memory, except those that do not fill a line; these move to its beginning.
DEVICE void flush(Segment& segment, Window& window, u32 filled) {
  const u32 lines = filled / LINE;
  Line* out = (Line*)segment.out;
  Line* to = (Line*)(window.dst + window.flushed);
#pragma unroll 1
  for (u32 line = threadIdx.x; line < lines; line += THREADS) to[line] = out[line];
  // Line 0 belongs to this thread, and no other thread reads the one after the last whole line.
  if (threadIdx.x == 0 && lines > 0 && filled % LINE != 0) out[0] = out[lines];
  window.flushed += lines * LINE;
  __syncthreads();
}

// Emits the strings of `stop` codes. Needs the offsets and a barrier after them; ends with a barrier.
DEVICE void emit(Segment& segment, Window& window, u32 stop) {
  for (u32 first = 0; first < stop;) {
    const u32 zero = window.segment - window.flushed;
    const u32 end = window_end(segment, first, stop, OUT_BYTES - zero);
    if (window.flushed <= window.segment) {
      emit_strings(segment, first + threadIdx.x, end, zero);
    } else {
      const u32 in_memory = window.flushed - window.segment;
      for (u32 i = first + threadIdx.x; i < end; i += THREADS) {
        emit_string(segment, window, i, zero, in_memory);
      }
    }
    __syncthreads();
    flush(segment, window, zero + (segment.link[end] >> 8));
    first = end;
  }
}

}  // namespace lzw
