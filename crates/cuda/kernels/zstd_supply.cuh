// The literals of a block in shared memory, as far as they are needed next, by a warp: they come one after the other, and
// global memory takes far longer to answer than a batch of sequences to be copied.
//
// Invariant: of pieces of 1 KiB, from an aligned address on, the ring holds the one where reading is and the one after
// it; the piece after those is on its way in registers.
#pragma once
#include "lines.cuh"
#include "zstd_format.cuh"

static const u32 ZSTD_SUPPLY = 512;  // words; a power of two

struct ZstdSupply {
  alignas(16) u32 words[ZSTD_SUPPLY + 4];  // the last ones repeat the first, so that two words can be read anywhere
};

struct ZstdSupplySource {
  const u8* base;  // aligned to 16
  u32 lead;        // bytes from there to the literals
  u32 stop;        // and to their end
  u32 piece;       // the lower one in the ring
  Line ahead[2];   // this lane's share of the one after the next
};

DEVICE Line zstd_supply_line(const ZstdSupplySource& source, u32 at) {
  if (at >= source.stop) return Line{{0, 0, 0, 0}};
  return *(const Line*)(source.base + at);
}

DEVICE void zstd_supply_load(ZstdSupplySource& source, u32 piece, u32 lane) {
  source.ahead[0] = zstd_supply_line(source, piece * 1024 + lane * LINE);
  source.ahead[1] = zstd_supply_line(source, piece * 1024 + 512 + lane * LINE);
}

DEVICE void zstd_supply_put(ZstdSupply& supply, const ZstdSupplySource& source, u32 piece, u32 lane) {
  u32* to = supply.words + (piece & 1) * 256 + lane * 4;
  *(Line*)to = source.ahead[0];
  *(Line*)(to + 128) = source.ahead[1];
  if (to == supply.words) *(Line*)(supply.words + ZSTD_SUPPLY) = source.ahead[0];
}

// Where the literal of an index stands in the pieces.
DEVICE u32 zstd_supply_at(const ZstdSupplySource& source, u32 literal) { return source.lead + literal; }

// Fills the ring from a literal on. All lanes call it, when nobody reads any more; it ends with a __syncwarp.
DEVICE void zstd_supply_open(ZstdSupply& supply, ZstdSupplySource& source, u32 literal, u32 lane) {
  source.piece = zstd_supply_at(source, literal) >> 10;
#pragma unroll 1
  for (u32 i = 0; i < 2; ++i) {
    zstd_supply_load(source, source.piece + i, lane);
    zstd_supply_put(supply, source, source.piece + i, lane);
  }
  zstd_supply_load(source, source.piece + 2, lane);
  __syncwarp();
}

// Goes on to a literal. As the one before.
DEVICE void zstd_supply_advance(ZstdSupply& supply, ZstdSupplySource& source, u32 literal, u32 lane) {
#pragma unroll 1
  while (source.piece != zstd_supply_at(source, literal) >> 10) {
    zstd_supply_put(supply, source, source.piece + 2, lane);
    ++source.piece;
    zstd_supply_load(source, source.piece + 2, lane);
  }
  __syncwarp();
}

// How many literals from there on are in the ring: more than 1024, or all.
DEVICE u32 zstd_supply_left(const ZstdSupplySource& source, u32 literal) {
  return (source.piece + 2) * 1024 - zstd_supply_at(source, literal);
}

// Four bytes from a place in the pieces on.
DEVICE u32 zstd_supply_four(const ZstdSupply& supply, u32 at) {
  const u32* words = supply.words + (at >> 2 & (ZSTD_SUPPLY - 1));
  return __funnelshift_r(words[0], words[1], at * 8);
}
