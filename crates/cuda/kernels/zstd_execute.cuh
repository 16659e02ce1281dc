// The last pass: writes the output of a tile, block after block, by the threads of a CUDA block, from the literals and
// sequences that the pass before left in scratch. What is checked here is what only the order of blocks tells: offsets
// against the beginning of the frame, sizes against the frame's and the tile's, the checksum.
#pragma once
#include "copy.cuh"
#include "sequences.cuh"
#include "zstd_checksum.cuh"
#include "zstd_sequences.cuh"

static const u32 EXECUTE_THREADS = 128;

// In shared memory.
struct ZstdExecution {
  Sequences<EXECUTE_THREADS> sequences;
  u32 taken[EXECUTE_THREADS / 32];  // sums of warps
  u32 size[EXECUTE_THREADS / 32];
};

struct ZstdOutput {
  u8* dst;
  u32 at;
  u32 frame;      // where the frame starts
  u32 recent[3];  // as before the block
  u32 turn;       // of votes
};

// Inclusive sums over the threads, and the sums of all. Ends with no barrier: the next one must come before the next call.
struct ZstdSums {
  u32 taken, size;
  u32 all_taken, all_size;
};

DEVICE ZstdSums zstd_sums(ZstdExecution& x, u32 taken, u32 size, u32 thread) {
  const u32 lane = thread & 31, warp = thread >> 5;
  for (u32 d = 1; d < 32; d <<= 1) {
    const u32 more_taken = __shfl_up_sync(WARP, taken, d), more_size = __shfl_up_sync(WARP, size, d);
    if (lane >= d) taken += more_taken, size += more_size;
  }
  if (lane == 31) x.taken[warp] = taken, x.size[warp] = size;
  __syncthreads();
  ZstdSums sums = {taken, size, 0, 0};
  for (u32 w = 0; w < EXECUTE_THREADS / 32; ++w) {
    if (w < warp) sums.taken += x.taken[w], sums.size += x.size[w];
    sums.all_taken += x.taken[w], sums.all_size += x.size[w];
  }
  return sums;
}

// The sequences of a block; false for a fault, the same for all threads. The pass before made sure of: as many literals
// as they take, and all of them together the size of the block.
DEVICE bool zstd_execute_block(ZstdExecution& x, ZstdOutput& out, const ZstdBlock* block, Literals literals,
                               const u64* sequences, u32 thread) {
  const u32 count = block->count;
  u32 literal = 0;
  for (u32 k = 0; k < count; k += EXECUTE_THREADS) {
    const bool real = k + thread < count;
    const u64 packed = real ? sequences[k + thread] : 0;
    const u32 length = (u32)packed & 0x1FFFF, match = real ? ((u32)(packed >> 17) & 0x1FFFF) + 3 : 0;
    const u32 offset = zstd_resolve((u32)(packed >> 34), out.recent[0], out.recent[1], out.recent[2]);
    const ZstdSums sums = zstd_sums(x, length, length + match, thread);
    const u32 end = out.at + sums.size, start = end - length - match;
    const u32 first = literal + sums.taken - length;
    put_sequence(x.sequences, thread, Sequence{end, start + length, first - start, offset});
    const bool bad = real && (offset == 0 || offset > start + length - out.frame);
    if (group_any<EXECUTE_THREADS>(x.sequences.votes, out.turn, bad, thread)) return false;
    execute_sequences(x.sequences, out.dst, literals, out.at, out.turn, thread);
    out.at += sums.all_size;
    literal += sums.all_taken;
  }
  const u32 rest = block->literals_len - literal;
  if (literals.mask == 0) {
    fill_bytes<EXECUTE_THREADS>(out.dst + out.at, *literals.bytes, rest, thread);
  } else {
    copy_bytes<EXECUTE_THREADS>(out.dst + out.at, literals.bytes + literal, rest, thread);
  }
  out.at += rest;
  if (count != 0) {
    const u32 a = out.recent[0], b = out.recent[1], c = out.recent[2];
    for (u32 i = 0; i < 3; ++i) out.recent[i] = zstd_resolve(block->recent[i], a, b, c);
  }
  return true;
}

DEVICE u32 zstd_execute_tile(ZstdExecution& x, const u8* src, u8* dst, u32 dst_len, const u8* scratch,
                             u32 thread) {
  const ZstdTile* tile = (const ZstdTile*)scratch;
  const ZstdBlock* blocks = (const ZstdBlock*)(tile + 1);
  if (tile->fault != FAULT_NONE) return tile->fault;
  group_open<EXECUTE_THREADS>(x.sequences.votes, thread);
  ZstdOutput out = {dst, 0, 0, {1, 4, 8}, 0};
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
      copy_bytes<EXECUTE_THREADS>(dst + out.at, src + block->src, block->size, thread);
      out.at += block->size;
    } else if ((flags & ZSTD_TYPE) == ZSTD_RLE) {
      fill_bytes<EXECUTE_THREADS>(dst + out.at, src[block->src], block->size, thread);
      out.at += block->size;
    } else {
      const u32 kind = (flags & ZSTD_LITERALS) >> ZSTD_LITERALS_SHIFT;
      Literals literals = {scratch + block->literals_at, WARP};
      if (kind == ZSTD_RAW) literals.bytes = src + block->literals;
      if (kind == ZSTD_RLE) literals = Literals{src + block->literals, 0};
      const u64* sequences = (const u64*)(scratch + block->sequences_at);
      if (!zstd_execute_block(x, out, block, literals, sequences, thread)) return FAULT_CORRUPT;
    }
    if ((flags & ZSTD_LAST) == 0) continue;
    if ((flags & ZSTD_SIZED) != 0 && out.at - out.frame != block->content) return FAULT_CORRUPT;
    if ((flags & ZSTD_CHECKSUM) != 0) {
      // Every warp by itself, which spares telling the others.
      const u32 stated = zstd_u32(src + block->src + block->src_len);
      if (zstd_checksum(dst + out.frame, out.at - out.frame, thread & 31) != stated) return FAULT_CHECKSUM;
    }
  }
  return out.at == dst_len ? FAULT_NONE : FAULT_OUTPUT_SHORT;
}
