// The last pass: writes the output of a tile, block after block, by one warp, from the literals and sequences that the
// pass before left in scratch. What is checked here is what only the order of blocks tells: offsets against the beginning
// of the frame, sizes against the frame's and the tile's, the checksum.
#pragma once
#include "zstd_checksum.cuh"
#include "zstd_copy.cuh"
#include "zstd_sequences.cuh"

// What goes on from block to block of a frame.
struct ZstdFrame {
  u32 start;      // position of its first byte
  u32 recent[3];  // offsets, as before the block
};

// In shared memory.
struct ZstdExecution {
  ZstdPage page;
  ZstdSupply supply;
};

// Sequences, one a lane, and the sums of those up to it.
struct ZstdBatch {
  u32 length, match, offset;
  u32 taken, size;  // literals; bytes of output
  bool bad;         // the same for all lanes
  ZstdEarly early;
};

// Makes a batch of the sequences that start at `head`. Those of lanes that are not `real` make nothing.
DEVICE ZstdBatch zstd_batch(const ZstdOutput& out, const ZstdFrame& frame, u64 packed, bool real, u32 head, u32 lane) {
  ZstdBatch b;
  b.length = (u32)packed & 0x1FFFF;
  b.match = real ? ((u32)(packed >> 17) & 0x1FFFF) + 3 : 0;
  b.offset = zstd_resolve((u32)(packed >> 34), frame.recent[0], frame.recent[1], frame.recent[2]);
  b.taken = b.length, b.size = b.length + b.match;
#pragma unroll
  for (u32 d = 1; d < 32; d <<= 1) {
    const u32 taken = __shfl_up_sync(ZSTD_WARP, b.taken, d), size = __shfl_up_sync(ZSTD_WARP, b.size, d);
    if (lane >= d) b.taken += taken, b.size += size;
  }
  const u32 at = head + b.size - b.match;
  const bool bad = real && (b.offset == 0 || b.offset > at - frame.start);
  b.bad = __any_sync(ZSTD_WARP, bad);
  b.early = zstd_early(out, ZstdPiece{at, b.bad ? 0 : b.match, b.offset});
  return b;
}

// The sequences of a block; false for a fault, the same for all lanes. The pass before made sure of: as many literals as
// they take, and all of them together the size of the block.
DEVICE bool zstd_execute_block(ZstdExecution& x, ZstdOutput& out, ZstdFrame& frame, const ZstdBlock* block,
                               const ZstdLiterals& literals, const u64* sequences, u32 lane) {
  const u32 count = block->count;
  u32 literal = 0, k = 0;
  if (count != 0) {
    const u32 lead = (u32)((u64)literals.bytes & 15);
    ZstdSupplySource source = {literals.bytes - lead, lead, lead + block->literals_len, 0, {}};
    if (literals.one) {
      // A kilobyte of it stands for all.
      for (u32 i = lane; i < ZSTD_SUPPLY + 4; i += 32) x.supply.words[i] = *literals.bytes * 0x01010101u;
      __syncwarp();
    } else {
      zstd_supply_open(x.supply, source, 0, lane);
    }
    ZstdBatch now = zstd_batch(out, frame, lane < count ? sequences[lane] : 0, lane < count, out.head, lane);
    u64 ahead = 32 + lane < count ? sequences[32 + lane] : 0;
#pragma unroll 1
    for (;;) {
      if (now.bad) return false;
      const u32 room = ZSTD_PAGE - (out.head - out.origin);
      const u32 left = literals.one ? ZSTD_PAGE : zstd_supply_left(source, literal);
      const u32 fit = __popc(__ballot_sync(ZSTD_WARP, now.size <= room && now.taken <= left));
      ZstdBatch next = now;
      if (fit == 32) {
        // The next batch is on its way while this one is copied.
        const u32 head = out.head + __shfl_sync(ZSTD_WARP, now.size, 31);
        next = zstd_batch(out, frame, ahead, k + 32 + lane < count, head, lane);
        ahead = k + 64 + lane < count ? sequences[k + 64 + lane] : 0;
      }
      if (fit == 0) {
        const u32 length = __shfl_sync(ZSTD_WARP, now.length, 0), match = __shfl_sync(ZSTD_WARP, now.match, 0);
        zstd_append(out, literals, literals.one ? 0 : literal, length, lane);
        zstd_append_match(out, __shfl_sync(ZSTD_WARP, now.offset, 0), match, lane);
        literal += length;
        ++k;
        if (!literals.one) zstd_supply_open(x.supply, source, literal, lane);
      } else {
        const bool mine = lane < fit;
        const u32 at = out.head + now.size - now.match;
        const u32 from = zstd_supply_at(source, literal) + now.taken - now.length;
        zstd_copy_literals(out, x.supply, ZstdPiece{at - now.length, mine ? now.length : 0, from}, lane);
        zstd_copy_matches(out, ZstdPiece{at, mine ? now.match : 0, now.offset}, now.early, lane);
        out.head += __shfl_sync(ZSTD_WARP, now.size, fit - 1);
        literal += __shfl_sync(ZSTD_WARP, now.taken, fit - 1);
        k += fit;
        zstd_flush(out, lane);
        if (!literals.one) zstd_supply_advance(x.supply, source, literal, lane);
      }
      if (k >= count) break;
      if (fit != 32) {
        ahead = k + 32 + lane < count ? sequences[k + 32 + lane] : 0;
        const bool real = k + lane < count;
        next = zstd_batch(out, frame, real ? sequences[k + lane] : 0, real, out.head, lane);
      }
      now = next;
    }
    const u32 a = frame.recent[0], b = frame.recent[1], c = frame.recent[2];
    for (u32 i = 0; i < 3; ++i) frame.recent[i] = zstd_resolve(block->recent[i], a, b, c);
  }
  zstd_append(out, literals, literals.one ? 0 : literal, block->literals_len - literal, lane);
  return true;
}

DEVICE u32 zstd_execute_tile(ZstdExecution& x, const u8* src, u8* dst, u32 dst_len, const u8* scratch, u32 lane) {
  const ZstdTile* tile = (const ZstdTile*)scratch;
  const ZstdBlock* blocks = (const ZstdBlock*)(tile + 1);
  if (tile->fault != FAULT_NONE) return tile->fault;
  ZstdOutput out = {dst, x.page.bytes, 0, 0};
  ZstdFrame frame = {0, {1, 4, 8}};
  const u32 count = tile->blocks;
#pragma unroll 1
  for (u32 i = 0; i < count; ++i) {
    const ZstdBlock* block = blocks + i;
    const u32 flags = block->flags;
    if ((flags & ZSTD_FIRST) != 0) frame = ZstdFrame{out.head, {1, 4, 8}};
    if (block->size > dst_len - out.head) return FAULT_OUTPUT_SURPLUS;
    if ((flags & ZSTD_TYPE) != ZSTD_COMPRESSED) {
      const bool one = (flags & ZSTD_TYPE) == ZSTD_RLE;
      zstd_append(out, ZstdLiterals{src + block->src, one}, 0, block->size, lane);
    } else {
      const u32 kind = (flags & ZSTD_LITERALS) >> ZSTD_LITERALS_SHIFT;
      ZstdLiterals literals = {scratch + block->literals_at, kind == ZSTD_RLE};
      if (kind == ZSTD_RAW || kind == ZSTD_RLE) literals.bytes = src + block->literals;
      const u64* sequences = (const u64*)(scratch + block->sequences_at);
      if (!zstd_execute_block(x, out, frame, block, literals, sequences, lane)) return FAULT_CORRUPT;
    }
    if ((flags & ZSTD_LAST) == 0) continue;
    if ((flags & ZSTD_SIZED) != 0 && out.head - frame.start != block->content) return FAULT_CORRUPT;
    if ((flags & ZSTD_CHECKSUM) != 0) {
      const u32 stated = zstd_u32(src + block->src + block->src_len);
      zstd_settle(out, lane);
      if (zstd_checksum(dst + frame.start, out.head - frame.start, lane) != stated) return FAULT_CHECKSUM;
    }
  }
  zstd_settle(out, lane);
  return out.head == dst_len ? FAULT_NONE : FAULT_OUTPUT_SHORT;
}
