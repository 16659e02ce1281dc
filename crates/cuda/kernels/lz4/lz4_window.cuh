// A window of an LZ4 block: finds which of its bytes are tokens.
//
// The successor of a token can be computed for every byte as if it were one, but which bytes are tokens is only known
// by following them from the first on. So every byte gets an exit: where a chain through it leaves its chunk (one
// thread per chunk, from the last byte backwards), then where it leaves its group of 16 chunks. The actual chain then
// takes one step per group, 16 through the chunks of a group, and one per token of a chunk, done by all threads
// independently.
//
// A token that does not end in the window, whose lengths have too many bytes or that is invalid leads to itself: the
// chain stops there. If it is the first of a window, `lz4_alone.cuh` takes it.
#pragma once
#include "abi.h"
#include "lines.cuh"

namespace lz4 {

// Chunks per group.
constexpr u32 CHUNKS = 16;
// Bytes after the window: a token whose lengths have one more byte each ends there at the latest.
constexpr u32 MARGIN = 288;
// Bytes of a length after its four bits that are examined for every byte of the input.
constexpr u32 MOST_MORE = 8;
// The LZ4 block does not end in this window.
constexpr u32 NOT_HERE = 0xFFFFFFFFu;

// A decoded token, without its place in the output. Places are relative to the window.
struct Token {
  u32 next;      // its own place: it cannot be followed
  u32 literals;  // place of the first literal
  u32 count;     // number of literals
  u32 length;    // of the match; 0: none, this ends the LZ4 block
};

// Two words per sequence, in shared memory.
struct alignas(8) Sequence {
  u32 literals;  // place of the first, and above 16 bits their number
  u32 offset;    // backward distance of the match
};

template <u32 THREADS>
struct Shared {
  // Bytes of the window per thread, and words of the output per thread and step: as many as shared memory holds.
  static constexpr u32 CHUNK = THREADS < 512 ? 16 : 8;
  static constexpr u32 WORDS = THREADS < 512 ? 4 : 2;
  static constexpr u32 GROUP = CHUNKS * CHUNK;
  static constexpr u32 WINDOW = THREADS * CHUNK;
  static constexpr u32 STAGED = WINDOW + MARGIN;
  static_assert(15 + 1 + 255 + 2 + 1 <= MARGIN && STAGED % LINE == 0, "a token of the last byte");
  // Two entries of 16 bits after every chunk keep the threads of a warp in different banks.
  static constexpr u32 PADDED = WINDOW / CHUNK * (CHUNK + 2);
  // A token with its match takes at least three bytes, and one without is the last.
  static constexpr u32 MOST_TOKENS = WINDOW / 3 + 2;
  struct Exits {
    u16 chunk[PADDED];
    u16 group[PADDED];
  };
  struct List {
    u32 start[MOST_TOKENS + 1];  // positions in the output, and the end of all
    Sequence each[MOST_TOKENS];
  };
  Line lines[STAGED / LINE];
  union {
    Exits exits;  // until all threads have followed the chain
    List list;    // afterwards
  };
  // Sources of the bytes of a step; those of the first, second, third and fourth bytes of all words separately.
  u32 source[4][WORDS * THREADS];
  u32 tokens[THREADS / 32];  // sums of the warps
  u32 bytes[THREADS / 32];
  u32 fault;
  u32 ended;
};

template <u32 THREADS>
DEVICE u32 padded(u32 place) {
  return place + 2 * (place / Shared<THREADS>::CHUNK);
}

// Reads the rest of a length whose four bits are 15. Returns false if it does not end before `limit` or is too long for
// this code.
DEVICE bool more_length(const u8* bytes, u32& at, u32& length, u32 limit) {
#pragma unroll 1
  for (u32 i = 0; i < MOST_MORE && at < limit; ++i) {
    const u32 more = bytes[at++];
    length += more;
    if (more < 255) return true;
  }
  return false;
}

// The token at `place`, which must end before `limit`. The LZ4 block ends at `stop`: `limit`, or NOT_HERE.
DEVICE Token token_at(const u8* bytes, u32 place, u32 limit, u32 stop) {
  const Token none = {place, 0, 0, 0};
  if (place >= limit) return none;
  const u32 token = bytes[place];
  u32 at = place + 1, count = token >> 4, length = token & 15;
  if (count == 15 && !more_length(bytes, at, count, limit)) return none;
  const u32 literals = at;
  at += count;
  if (at == stop) return Token{stop, literals, count, 0};
  at += 2;
  if (at > limit) return none;
  if (length == 15 && !more_length(bytes, at, length, limit)) return none;
  return Token{at, literals, count, length + 4};
}

// Loads the lines from `src` (aligned) on that hold any of the first `len` bytes; the others become 0.
template <u32 THREADS>
DEVICE void stage(Shared<THREADS>& shared, const u8* src, u32 len) {
  constexpr u32 LINES = Shared<THREADS>::STAGED / LINE;
  for (u32 line = threadIdx.x; line < LINES; line += THREADS) {
    Line bytes = {};
    if (line * LINE < len) bytes = ((const Line*)src)[line];
    shared.lines[line] = bytes;
  }
  if (threadIdx.x == 0) {
    shared.fault = 0;
    shared.ended = 0;
  }
  __syncthreads();
}

// Finds where the tokens at all places of this thread's chunk would lead. Nearly all have at most one more byte per
// length: these are examined without a branch, so that loads overlap. WHOLE: there is more input than the window and
// its margin, which is enough for such a token.
template <bool WHOLE, u32 THREADS>
DEVICE void find_next(Shared<THREADS>& shared, u32 limit, u32 stop) {
  constexpr u32 CHUNK = Shared<THREADS>::CHUNK;
  const u8* bytes = (const u8*)shared.lines;
  const u32 first = threadIdx.x * CHUNK;
  u32 own[CHUNK / 4 + 1];
#pragma unroll
  for (u32 i = 0; i <= CHUNK / 4; ++i) own[i] = ((const u32*)shared.lines)[first / 4 + i];
  u32 rare = 0;
#pragma unroll
  for (u32 i = 0; i < CHUNK; ++i) {
    const u32 place = first + i, token = own[i / 4] >> (8 * (i % 4)) & 0xFF;
    const u32 after = own[(i + 1) / 4] >> (8 * ((i + 1) % 4)) & 0xFF;
    const bool many = token >= 0xF0, deep = (token & 15) == 15;
    const u32 end = place + 1 + (token >> 4) + (many ? 1 + after : 0);
    const u32 more = bytes[WHOLE ? end + 2 : min(end + 2, limit - 1)], next = end + (deep ? 3 : 2);
    const u32 found = WHOLE || next <= limit ? next : end == stop ? stop : place;
    if ((many && after == 255) || (deep && more == 255)) rare |= 1u << i;
    shared.exits.chunk[padded<THREADS>(place)] = (u16)found;
  }
#pragma unroll 1
  for (; rare != 0; rare &= rare - 1) {
    const u32 place = first + __ffs(rare) - 1;
    shared.exits.chunk[padded<THREADS>(place)] = (u16)token_at(bytes, place, limit, stop).next;
  }
}

// Turns the results of find_next into exits. Three places at a time, which do not lead to each other: a token takes at
// least three bytes, except the one before the end.
template <u32 THREADS>
DEVICE void find_exits(Shared<THREADS>& shared, u32 stop) {
  constexpr u32 CHUNK = Shared<THREADS>::CHUNK, GROUP = Shared<THREADS>::GROUP;
  u16* chunk = shared.exits.chunk;
  u16* group = shared.exits.group;
  const u32 first = threadIdx.x * CHUNK;
#pragma unroll
  for (u32 i = CHUNK / 3 * 3; i < CHUNK; i -= 3) {
    u32 exit[3];
#pragma unroll
    for (u32 k = 0; k < 3; ++k) exit[k] = i + k < CHUNK ? chunk[padded<THREADS>(first + i + k)] : 0;
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
      u32& its = exit[k];
      const bool goes_on = its > first + i + k && its < first + CHUNK && its != stop;
      if (goes_on) its = chunk[padded<THREADS>(its)];
    }
#pragma unroll
    for (u32 k = 0; k < 3; ++k) {
      if (i + k < CHUNK) chunk[padded<THREADS>(first + i + k)] = (u16)exit[k];
    }
  }
  __syncwarp();
  // A lane takes the same place in all chunks of its group, the last first; there may be more lanes than places.
  const u32 group_end = (threadIdx.x / CHUNKS + 1) * GROUP, place = group_end - GROUP + threadIdx.x % CHUNK;
  u32 exits[CHUNKS];
#pragma unroll
  for (u32 i = 0; i < CHUNKS; ++i) exits[i] = chunk[padded<THREADS>(place + i * CHUNK)];
#pragma unroll
  for (u32 i = CHUNKS; i-- > 0;) {
    u32 exit = exits[i];
    if (exit / CHUNK != place / CHUNK + i && exit < group_end) exit = group[padded<THREADS>(exit)];
    if (threadIdx.x % CHUNKS < CHUNK) group[padded<THREADS>(place + i * CHUNK)] = (u16)exit;
    __syncwarp();
  }
  __syncthreads();
}

struct Chain {
  u32 own;  // its first place in this thread's chunk, or any place after it
  u32 end;  // where it stops or leaves the window
};

// Follows the chain from `start` on.
template <u32 THREADS>
DEVICE Chain follow(const Shared<THREADS>& shared, u32 start) {
  constexpr u32 CHUNK = Shared<THREADS>::CHUNK, GROUP = Shared<THREADS>::GROUP;
  constexpr u32 WINDOW = Shared<THREADS>::WINDOW;
  const u32 first = threadIdx.x * CHUNK;
  Chain chain = {WINDOW, start};
  u32 place = WINDOW;
#pragma unroll 1
  while (chain.end < WINDOW) {
    if (chain.end / GROUP == first / GROUP) place = chain.end;
    const u32 exit = shared.exits.group[padded<THREADS>(chain.end)];
    const bool stops = exit / GROUP == chain.end / GROUP;
    chain.end = exit;
    if (stops) break;
  }
#pragma unroll 1
  while (place < first) {
    const u32 exit = shared.exits.chunk[padded<THREADS>(place)];
    if (exit / CHUNK == place / CHUNK) place = WINDOW;
    else place = exit;
  }
  if (place / CHUNK == first / CHUNK) chain.own = place;
  return chain;
}

}  // namespace lz4
