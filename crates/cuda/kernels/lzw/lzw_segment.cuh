// A segment of TIFF's LZW: the codes between two Clear codes. The position of code i depends on i alone, so all codes
// of a segment are fetched at once. A code's string is the string of an earlier code, its parent, plus one byte, the
// first of the code after the parent. All threads follow chains of parents at the same time.
//
// The result, for every code, is the offset of its string in the output of the segment and its first byte: all that
// `lzw_emit.cuh` needs. A segment in which the table stays full without Clear is left to the host.
#pragma once
#include "block_scan.cuh"
#include "lines.cuh"

namespace lzw {

constexpr u32 THREADS = 256;
// Odd, so that threads that walk their codes in step use different banks of shared memory.
constexpr u32 CODES_PER_THREAD = 15;
// The table is full after code 3838; writers clear it before, or with the code after.
constexpr u32 MOST_CODES = THREADS * CODES_PER_THREAD;
constexpr u32 CLEAR = 256;
constexpr u32 END = 257;
constexpr u32 FIRST = 258;
// Marks a code behind the last one in the input.
constexpr u32 NO_CODE = 0xFFFF;
// Links of 16 bits: the index of the parent; or ROOT plus the byte that the code represents; or, for codes without a
// string, their remainder modulo 2^16.
constexpr u32 ROOT = 0x8000;
constexpr u32 INDEX = 0xFFF;
constexpr u32 CLEARED = u16(CLEAR - FIRST);
constexpr u32 ENDED = u16(END - FIRST);
constexpr u32 OUT_OF_INPUT = u16(NO_CODE - FIRST);
constexpr u32 MOST_BITS = 18670 + 12 * (MOST_CODES - 1790);
// Bytes of codes and their first 7 bits, from a multiple of 16 on, and the word after the last.
constexpr u32 STAGED_LINES = (15 + (7 + MOST_BITS + 7) / 8 + 4 + 15) / LINE;
constexpr u32 OUT_BYTES = 16384;

// Memory of a block, used for one segment after the other.
struct Segment {
  // While chains are followed: the bytes by which a string is longer than that of the link in the low half. Afterwards:
  // offset of the string, and its first byte in the low 8 bits.
  u32 link[MOST_CODES + 1];
  // The links to the parents; signed, so that ROOT is the sign.
  i16 parent[MOST_CODES];
  // Pending output; between two segments, the input of the next.
  alignas(16) u8 out[OUT_BYTES];
  u32 warp_sums[THREADS / 32];
  u32 stop;     // number of codes: index of the first that has no string
  u32 invalid;  // index of the first code that has no string, or none yet
};

// The longest segment's output, 3839 strings of up to 3839 bytes, needs 23 bits.
static_assert(u64(MOST_CODES) * (MOST_CODES + 1) / 2 < 1u << 24, "an offset and a byte in one word");
static_assert(MOST_CODES <= INDEX + 1, "an index and ROOT in one half");
static_assert(STAGED_LINES <= 2 * THREADS && LINE + STAGED_LINES * LINE <= OUT_BYTES, "two lines a thread");

DEVICE u32 width_of(u32 i) { return 9 + u32(i >= 254) + u32(i >= 766) + u32(i >= 1790); }

// Bits before code i.
DEVICE u32 bit_of(u32 i) {
  return i < 254    ? 9 * i
         : i < 766  ? 2286 + 10 * (i - 254)
         : i < 1790 ? 7406 + 11 * (i - 766)
                    : 18670 + 12 * (i - 1790);
}

// The lines of input from which a thread assembles a segment.
struct Staged {
  Line lines[2];
};

// Loads the lines that may hold the segment at `bit` of `src`. Lines that begin after the input are not read.
DEVICE Staged load_input(const u8* src, u32 src_len, u64 bit) {
  Staged staged = {};
  const u32 byte = u32(bit >> 3);
  const u32 before = u32(u64(src + byte) % LINE);
  const Line* lines = (const Line*)(src + byte - before);
  // From the first line on, to the end of the input.
  const u32 left = before + (src_len - byte);
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    const u32 line = threadIdx.x + i * THREADS;
    if (line < STAGED_LINES && line * LINE < left) staged.lines[i] = lines[line];
  }
  return staged;
}

// The first line of `out` holds output that is not yet in memory.
DEVICE Line* staging(Segment& segment) { return (Line*)(segment.out + LINE); }

DEVICE void store_input(Segment& segment, const Staged& staged) {
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    const u32 line = threadIdx.x + i * THREADS;
    if (line < STAGED_LINES) staging(segment)[line] = staged.lines[i];
  }
  if (threadIdx.x == 0) {
    segment.stop = MOST_CODES;
    segment.invalid = MOST_CODES;
  }
}

DEVICE u32 big_endian(u32 word) { return __byte_perm(word, 0, 0x0123); }

// Fetches the codes of this thread: `skip` bits of the staged input precede the segment, which has `bits` bits. From
// the first code that has no string, or none yet, links may be arbitrary.
DEVICE void fetch(Segment& segment, u32 skip, u64 bits) {
  const u32 first = threadIdx.x * CODES_PER_THREAD;
  // The width changes at most once within the codes of a thread.
  const u32 wider_at = first < 254 ? 254 : first < 766 ? 766 : first < 1790 ? 1790 : MOST_CODES;
  u32 width = width_of(first);
  // Both are counted from `words` on.
  u32 end = skip + bit_of(first);
  i32 left = i32(skip + u32(min(bits, u64(MOST_BITS)))) - i32(end & ~31u);
  const u32* words = (const u32*)staging(segment) + end / 32;
  end %= 32;
  u32 high = big_endian(words[0]);
  u32 low = big_endian(words[1]);
  u32 stop = MOST_CODES;
  u32 invalid = MOST_CODES;
  // Full unrolling would keep much in registers from segment to segment.
#pragma unroll 5
  for (u32 i = first; i < first + CODES_PER_THREAD; ++i) {
    if (i == wider_at) ++width;
    u32 code = __funnelshift_l(low, high, end) >> (32 - width);
    end += width;
    if (i32(end) > left) code = NO_CODE;
    if (end >= 32) {
      end -= 32;
      left -= 32;
      high = low;
      low = big_endian((++words)[1]);
    }
    // Modulo 2^32: Clear and the end code become the largest indices.
    u32 parent = code - FIRST;
    if (code >= CLEAR && parent >= i) {
      invalid = min(invalid, i);
      if (parent >= OUT_OF_INPUT) stop = min(stop, i);
    }
    if (code < CLEAR) parent = ROOT | code;
    segment.parent[i] = i16(parent);
    segment.link[i] = code < CLEAR ? parent : 1u << 16 | parent;
  }
  if (stop < MOST_CODES) atomicMin(&segment.stop, stop);
  if (invalid < MOST_CODES) atomicMin(&segment.invalid, invalid);
}

// Follows the links of this thread's codes before `stop` to their roots. Every link is correct at all times, including
// shorter ones that other threads write meanwhile, so any order of reads and writes gives the same result; indices
// always decrease, so this ends.
DEVICE void follow(Segment& segment, u32 (&links)[CODES_PER_THREAD], u32 stop) {
  constexpr u32 AT_ONCE = 3;
  const u32 first = threadIdx.x * CODES_PER_THREAD;
#pragma unroll
  for (u32 k = 0; k < CODES_PER_THREAD; ++k) {
    links[k] = first + k < stop ? relaxed_load(&segment.link[first + k]) : ROOT;
  }
  bool pending = true;
  while (pending) {
    pending = false;
#pragma unroll
    for (u32 group = 0; group < CODES_PER_THREAD; group += AT_ONCE) {
      u32 parents[AT_ONCE];
#pragma unroll
      for (u32 k = 0; k < AT_ONCE; ++k) {
        const u32 link = links[group + k];
        if (!(link & ROOT)) parents[k] = relaxed_load(&segment.link[link & INDEX]);
      }
#pragma unroll
      for (u32 k = 0; k < AT_ONCE; ++k) {
        u32& link = links[group + k];
        if (link & ROOT) continue;
        link = (link & 0xFFFF0000) + parents[k];
        relaxed_store(&segment.link[first + group + k], link);
        pending |= !(link & ROOT);
      }
    }
  }
}

// Turns links into offsets; returns the number of output bytes of the segment.
DEVICE u32 place_strings(Segment& segment, u32 stop) {
  u32 links[CODES_PER_THREAD];
  follow(segment, links, stop);
  const u32 first = threadIdx.x * CODES_PER_THREAD;
  u32 bytes = 0;
#pragma unroll
  for (u32 k = 0; k < CODES_PER_THREAD; ++k) {
    if (first + k < stop) bytes += (links[k] >> 16) + 1;
  }
  // When this returns, all threads have followed their links.
  const Prefix prefix = block_prefix<THREADS / 32>(bytes, segment.warp_sums);
  u32 offset = prefix.before;
#pragma unroll
  for (u32 k = 0; k < CODES_PER_THREAD; ++k) {
    if (first + k > stop) break;
    segment.link[first + k] = offset << 8 | (links[k] & 0xFF);
    offset += (links[k] >> 16) + 1;
  }
  if (threadIdx.x == THREADS - 1 && stop == MOST_CODES) segment.link[MOST_CODES] = prefix.total << 8;
  __syncthreads();
  return prefix.total;
}

}  // namespace lzw
