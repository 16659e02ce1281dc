// The literals of a block in shared memory, as far as they are needed next, by the threads of a CUDA block: they come one
// after the other, and global memory takes far longer to answer than a batch of sequences to be copied.
//
// Invariant: of pieces of two lines a thread, from an aligned address on, the ring holds the one where reading is and the one after
// it; the piece after those is on its way in registers.
#pragma once
#include "zstd/zstd_page.cuh"

template <class Shape>
struct ZstdSupply {
  alignas(16) u32 words[Shape::SUPPLY + 4];  // the last ones repeat the first, so that two words can be read anywhere
};

struct ZstdSupplySource {
  const u8* base;  // aligned to 16
  u32 lead;        // bytes from there to the literals
  u32 stop;        // and to their end
  u32 piece;       // the lower one in the ring
  Line ahead[2];   // this thread's share of the one after the next
};

// The first or last line of the literals, of which other bytes than theirs may never have been written: zeros there.
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

// Where the literal of an index stands in the pieces.
DEVICE u32 zstd_supply_at(const ZstdSupplySource& source, u32 literal) { return source.lead + literal; }

// Fills the ring from a literal on. All threads call it, when nobody reads any more; it ends with a barrier.
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

// Goes on to a literal. As the one before.
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

// How many literals from there on are in the ring: more than PIECE, or all.
template <class Shape>
DEVICE u32 zstd_supply_left(const ZstdSupplySource& source, u32 literal) {
  return (source.piece + 2) * Shape::PIECE - zstd_supply_at(source, literal);
}

// Four bytes from a place in the pieces on.
template <class Shape>
DEVICE u32 zstd_supply_four(const ZstdSupply<Shape>& supply, u32 at) {
  const u32* words = supply.words + (at >> 2 & (Shape::SUPPLY - 1));
  return __funnelshift_r(words[0], words[1], at * 8);
}
