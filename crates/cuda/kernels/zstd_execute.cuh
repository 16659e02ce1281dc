// The last pass: writes the output of a tile, block after block, by one warp, from the literals and sequences that the
// pass before left in scratch. What is checked here is what only the order of blocks tells: offsets against the beginning
// of the frame, sizes against the frame's and the tile's, the checksum.
#pragma once
#include "copy.cuh"
#include "sequences.cuh"
#include "zstd_checksum.cuh"
#include "zstd_sequences.cuh"

struct ZstdOutput {
  u8* dst;
  u32 at;
  u32 frame;      // where the frame starts
  u32 recent[3];  // as before the block
};

// The sequences of a block; false for a fault, the same for all lanes. The pass before made sure of: as many literals as
// they take, and all of them together the size of the block.
DEVICE bool zstd_execute_block(Sequences& s, ZstdOutput& out, const ZstdBlock* block, Literals literals,
                               const u64* sequences, u32 lane) {
  const u32 count = block->count;
  u32 literal = 0;
  for (u32 k = 0; k < count; k += 32) {
    const u64 packed = k + lane < count ? sequences[k + lane] : 0;
    const bool real = k + lane < count;
    const u32 length = (u32)packed & 0x1FFFF, match = real ? ((u32)(packed >> 17) & 0x1FFFF) + 3 : 0;
    const u32 offset = zstd_resolve((u32)(packed >> 34), out.recent[0], out.recent[1], out.recent[2]);
    u32 taken = length, size = length + match;
    for (u32 d = 1; d < 32; d <<= 1) {
      const u32 more_taken = __shfl_up_sync(WARP, taken, d), more_size = __shfl_up_sync(WARP, size, d);
      if (lane >= d) taken += more_taken, size += more_size;
    }
    const u32 start = out.at + size - length - match;
    put_sequence(s, lane, Sequence{out.at + size, start + length, literal + taken - length - start, offset});
    const bool bad = real && (offset == 0 || offset > start + length - out.frame);
    if (__any_sync(WARP, bad)) return false;
    __syncwarp();
    execute_sequences(s, out.dst, literals, out.at, lane);
    out.at += __shfl_sync(WARP, size, 31);
    literal += __shfl_sync(WARP, taken, 31);
  }
  const u32 rest = block->literals_len - literal;
  if (literals.mask == 0) {
    fill_bytes(out.dst + out.at, *literals.bytes, rest, lane);
  } else {
    copy_bytes(out.dst + out.at, literals.bytes + literal, rest, lane);
  }
  out.at += rest;
  if (count != 0) {
    const u32 a = out.recent[0], b = out.recent[1], c = out.recent[2];
    for (u32 i = 0; i < 3; ++i) out.recent[i] = zstd_resolve(block->recent[i], a, b, c);
  }
  return true;
}

DEVICE u32 zstd_execute_tile(Sequences& s, const u8* src, u8* dst, u32 dst_len, const u8* scratch, u32 lane) {
  const ZstdTile* tile = (const ZstdTile*)scratch;
  const ZstdBlock* blocks = (const ZstdBlock*)(tile + 1);
  if (tile->fault != FAULT_NONE) return tile->fault;
  ZstdOutput out = {dst, 0, 0, {1, 4, 8}};
  const u32 count = tile->blocks;
  for (u32 i = 0; i < count; ++i) {
    const ZstdBlock* block = blocks + i;
    const u32 flags = block->flags;
    if ((flags & ZSTD_FIRST) != 0) {
      out.frame = out.at;
      out.recent[0] = 1, out.recent[1] = 4, out.recent[2] = 8;
    }
    if (block->size > dst_len - out.at) return FAULT_OUTPUT_SURPLUS;
    if ((flags & ZSTD_TYPE) == ZSTD_RAW) {
      copy_bytes(dst + out.at, src + block->src, block->size, lane);
      out.at += block->size;
    } else if ((flags & ZSTD_TYPE) == ZSTD_RLE) {
      fill_bytes(dst + out.at, src[block->src], block->size, lane);
      out.at += block->size;
    } else {
      const u32 kind = (flags & ZSTD_LITERALS) >> ZSTD_LITERALS_SHIFT;
      Literals literals = {scratch + block->literals_at, WARP};
      if (kind == ZSTD_RAW) literals.bytes = src + block->literals;
      if (kind == ZSTD_RLE) literals = Literals{src + block->literals, 0};
      const u64* sequences = (const u64*)(scratch + block->sequences_at);
      if (!zstd_execute_block(s, out, block, literals, sequences, lane)) return FAULT_CORRUPT;
    }
    if ((flags & ZSTD_LAST) == 0) continue;
    if ((flags & ZSTD_SIZED) != 0 && out.at - out.frame != block->content) return FAULT_CORRUPT;
    if ((flags & ZSTD_CHECKSUM) != 0) {
      const u32 stated = zstd_u32(src + block->src + block->src_len);
      if (zstd_checksum(dst + out.frame, out.at - out.frame, lane) != stated) return FAULT_CHECKSUM;
    }
  }
  return out.at == dst_len ? FAULT_NONE : FAULT_OUTPUT_SHORT;
}
