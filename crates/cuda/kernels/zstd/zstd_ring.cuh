// A stream that is read from its end by a warp; the part needed next is in shared memory, where any lane can read any
// of its bits.
//
// Invariant: of the stream's pieces of 512 bytes, from an aligned address on, the ring holds the one being read and the
// one below it; the piece below those is on its way in registers. Bits outside the stream have no meaning.
#pragma once
#include "zstd/zstd_fse.cuh"

static const u32 ZSTD_RING = 256;  // words; a power of two

struct ZstdRing {
  alignas(16) u32 words[ZSTD_RING + 4];  // the last ones repeat the first, so that two words can be read anywhere
};

struct alignas(16) ZstdQuad {
  u32 words[4];
};

struct ZstdRingSource {
  const u8* base;  // aligned to 16
  u32 lead;        // bytes from there to the stream
  u32 last;        // bytes from there to its last byte
  i32 piece;       // the upper piece in the ring
  ZstdQuad ahead;  // this lane's share of the piece two below it
};

DEVICE ZstdRingSource zstd_ring_source(const u8* src, u32 len) {
  const u32 lead = (u32)((u64)src & 15);
  return ZstdRingSource{src - lead, lead, lead + len - 1, 0, {{0, 0, 0, 0}}};
}

// Reads only the quads that hold a byte of the stream.
DEVICE ZstdQuad zstd_ring_piece(const ZstdRingSource& source, i32 piece, u32 lane) {
  const u32 at = (u32)piece * 512 + lane * 16;
  if (piece < 0 || at > source.last) return ZstdQuad{{0, 0, 0, 0}};
  return *(const ZstdQuad*)(source.base + at);
}

DEVICE void zstd_ring_put(ZstdRing& ring, const ZstdQuad& quad, i32 piece, u32 lane) {
  const u32 at = (u32)(piece & 1) * 128 + lane * 4;
  *(ZstdQuad*)(ring.words + at) = quad;
  if (at == 0) *(ZstdQuad*)(ring.words + ZSTD_RING) = quad;
}

// Fills the ring for reading below `bit`, counted from `base`. A __syncwarp must follow; the same holds for
// zstd_ring_advance.
DEVICE void zstd_ring_open(ZstdRing& ring, ZstdRingSource& source, i32 bit, u32 lane) {
  source.piece = bit >> 12;
  zstd_ring_put(ring, zstd_ring_piece(source, source.piece, lane), source.piece, lane);
  zstd_ring_put(ring, zstd_ring_piece(source, source.piece - 1, lane), source.piece - 1, lane);
  source.ahead = zstd_ring_piece(source, source.piece - 2, lane);
}

// Moves to `bit`, not negative and less than 4096 below the previous position. The 4064 bits below it can then be read.
DEVICE void zstd_ring_advance(ZstdRing& ring, ZstdRingSource& source, i32 bit, u32 lane) {
  if (bit >> 12 == source.piece) return;
  __syncwarp();  // other lanes may still read the piece that this one replaces
  --source.piece;
  zstd_ring_put(ring, source.ahead, source.piece - 1, lane);
  source.ahead = zstd_ring_piece(source, source.piece - 2, lane);
}

// The 32 bits from `bit` on.
DEVICE u32 zstd_ring_at(const ZstdRing& ring, i32 bit) {
  const u32* words = ring.words + ((u32)(bit >> 5) & (ZSTD_RING - 1));
  return __funnelshift_r(words[0], words[1], (u32)bit);
}
