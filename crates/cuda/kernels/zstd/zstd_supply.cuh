// The literals of a block that are needed next, in shared memory, with the threads of a CUDA block. Literals are used
// in order, and global memory latency is far longer than the time to copy a batch of sequences.
//
// Invariant: of pieces of two lines per thread, from an aligned address on, the ring holds the one being read and the
// one after it; the piece after those is on its way in registers.
#pragma once
#include "zstd/zstd_page.cuh"

template <class Shape>
struct ZstdSupply {
  alignas(16) u32 words[Shape::SUPPLY + 4];  // the last ones repeat the first, so that two words can be read anywhere
};

struct ZstdSupplySource {
  const u8* base;  // aligned to 16
  u32 lead;        // bytes from there to the literals
  u32 stop;        // bytes from there to their end
  u32 piece;       // the lower piece in the ring
  Line ahead[2];   // this thread's share of the piece after the next
};

// The first or last line of the literals. Other bytes in it may never have been written; they are set to zero.
NOINLINE Line zstd_supply_edge(const u8* from, u32 begin, u32 end) {
  Line line = {{0, 0, 0, 0}};
#pragma unroll
  for (u32 i = 0; i < LINE; ++i) {
    if (i >= begin && i < end) line.words[i / 4] |= (u32)from[i] << i % 4 * 8;
  }
  return line;
}

DEVICE Line zstd_supply_line(const ZstdSupplySource& source, u32 at) {
  if (at >= source.stop) return Line{{0, 0, 0, 0}};
  const u32 begin = source.lead > at ? source.lead - at : 0, end = source.stop - at;
  if (begin != 0 || end < LINE) return zstd_supply_edge(source.base + at, begin, end);
  return *(const Line*)(source.base + at);
}

template <class Shape>
DEVICE void zstd_supply_load(ZstdSupplySource& source, u32 piece, u32 thread) {
  source.ahead[0] = zstd_supply_line(source, piece * Shape::PIECE + thread * LINE);
  source.ahead[1] = zstd_supply_line(source, piece * Shape::PIECE + Shape::PIECE / 2 + thread * LINE);
}

template <class Shape>
DEVICE void zstd_supply_put(ZstdSupply<Shape>& supply, const ZstdSupplySource& source, u32 piece, u32 thread) {
  u32* to = supply.words + (piece & 1) * (Shape::SUPPLY / 2) + thread * 4;
  *(Line*)to = source.ahead[0];
  *(Line*)(to + Shape::SUPPLY / 4) = source.ahead[1];
  if (to == supply.words) *(Line*)(supply.words + Shape::SUPPLY) = source.ahead[0];
}

// Position of a literal in the pieces.
DEVICE u32 zstd_supply_at(const ZstdSupplySource& source, u32 literal) { return source.lead + literal; }

// Fills the ring from a literal on. Called by all threads, when none of them reads any more; ends with a barrier.
template <class Shape>
DEVICE void zstd_supply_open(ZstdSupply<Shape>& supply, ZstdSupplySource& source, u32 literal, u32 thread) {
  source.piece = zstd_supply_at(source, literal) / Shape::PIECE;
#pragma unroll 1
  for (u32 i = 0; i < 2; ++i) {
    zstd_supply_load<Shape>(source, source.piece + i, thread);
    zstd_supply_put(supply, source, source.piece + i, thread);
  }
  zstd_supply_load<Shape>(source, source.piece + 2, thread);
  group_sync<Shape::THREADS>();
}

// Moves to a literal; otherwise like zstd_supply_open.
template <class Shape>
DEVICE void zstd_supply_advance(ZstdSupply<Shape>& supply, ZstdSupplySource& source, u32 literal, u32 thread) {
#pragma unroll 1
  while (source.piece != zstd_supply_at(source, literal) / Shape::PIECE) {
    zstd_supply_put(supply, source, source.piece + 2, thread);
    ++source.piece;
    zstd_supply_load<Shape>(source, source.piece + 2, thread);
  }
  group_sync<Shape::THREADS>();
}

// Number of literals from there on that are in the ring: more than PIECE, or all.
template <class Shape>
DEVICE u32 zstd_supply_left(const ZstdSupplySource& source, u32 literal) {
  return (source.piece + 2) * Shape::PIECE - zstd_supply_at(source, literal);
}

// The four bytes from a position in the pieces on.
template <class Shape>
DEVICE u32 zstd_supply_four(const ZstdSupply<Shape>& supply, u32 at) {
  const u32* words = supply.words + (at >> 2 & (Shape::SUPPLY - 1));
  return __funnelshift_r(words[0], words[1], at * 8);
}
