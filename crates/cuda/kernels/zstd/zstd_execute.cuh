// The last pass: writes the output of a tile, block by block, with the threads of a CUDA block, one sequence per thread
// at a time, from the literals and sequences that the previous pass left in scratch. Checks everything that depends on
// the order of blocks: offsets against the beginning of the frame, sizes against those of the frame and the tile, the
// checksum.
#pragma once
#include "zstd/zstd_checksum.cuh"
#include "zstd/zstd_copy.cuh"
#include "zstd/zstd_sequences.cuh"

// State carried from block to block of a frame.
struct ZstdFrame {
  u32 start;      // position of its first byte
  u32 recent[3];  // recent offsets before the block
};

// In shared memory.
template <class Shape>
struct ZstdExecution {
  ZstdPage<Shape> page;
  ZstdSupply<Shape> supply;
  ZstdRounds<Shape> rounds;
  u32 taken[Shape::WARPS];  // sums of warps
  u32 size[Shape::WARPS];
  u32 fit[Shape::WARPS];    // number of sequences that fit, or ZSTD_NONE if one is invalid
  u32 cut_taken, cut_size, cut_offset;  // of the last sequence that fits, or the first that does not
};

// Sequences, one per thread, and their sums up to and including each and in total.
struct ZstdBatch {
  u32 length, match, offset;
  u32 taken, size;  // literals; bytes of output
  u32 all_taken, all_size;
  bool bad;
  ZstdEarly early;
};

// Makes a batch of the sequences that start at `head`. Those of threads that are not `real` are empty. Called by all
// threads; a barrier is needed before the next call.
template <class Shape>
DEVICE ZstdBatch zstd_batch(ZstdExecution<Shape>& x, const ZstdOutput& out, const ZstdFrame& frame, u64 packed, bool real,
                            u32 head, u32 thread) {
  const u32 lane = thread & 31, warp = thread >> 5;
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
  if (lane == 31) x.taken[warp] = b.taken, x.size[warp] = b.size;
  group_sync<Shape::THREADS>();
  b.all_taken = b.all_size = 0;
#pragma unroll
  for (u32 w = 0; w < Shape::WARPS; ++w) {
    if (w == warp) b.taken += b.all_taken, b.size += b.all_size;
    b.all_taken += x.taken[w], b.all_size += x.size[w];
  }
  const u32 at = head + b.size - b.match;
  b.bad = real && (b.offset == 0 || b.offset > at - frame.start);
  b.early = zstd_early(out, ZstdPiece{at, b.bad ? 0 : b.match, b.offset});
  return b;
}

// Number of sequences of a batch that fit; ZSTD_NONE if one of the batch is invalid. The same for all threads.
template <class Shape>
DEVICE u32 zstd_fitting(ZstdExecution<Shape>& x, bool fits, bool bad, u32 thread) {
  const u32 number = __popc(__ballot_sync(ZSTD_WARP, fits));
  const bool wrong = __any_sync(ZSTD_WARP, bad);
  if ((thread & 31) == 0) x.fit[thread >> 5] = wrong ? ZSTD_NONE : number;
  group_sync<Shape::THREADS>();
  u32 fit = 0;
#pragma unroll
  for (u32 w = 0; w < Shape::WARPS; ++w) fit = fit == ZSTD_NONE || x.fit[w] == ZSTD_NONE ? ZSTD_NONE : fit + x.fit[w];
  return fit;
}

// Executes the sequences of a block; returns false for a fault, the same for all threads. The previous pass has checked
// that there are enough literals, and that the total output is the size of the block.
template <class Shape>
DEVICE bool zstd_execute_block(ZstdExecution<Shape>& x, ZstdOutput& out, ZstdFrame& frame, const ZstdBlock* block,
                               const ZstdLiterals& literals, const u64* sequences, u32 thread) {
  const u32 count = block->count;
  u32 literal = 0, k = 0;
  if (count != 0) {
    const u32 lead = (u32)((u64)literals.bytes & 15);
    ZstdSupplySource source = {literals.bytes - lead, lead, lead + block->literals_len, 0, {}};
    if (literals.one) {
      // One page of the byte represents all literals.
      for (u32 i = thread; i < Shape::SUPPLY + 4; i += Shape::THREADS) x.supply.words[i] = *literals.bytes * 0x01010101u;
      group_sync<Shape::THREADS>();
    } else {
      zstd_supply_open(x.supply, source, 0, thread);
    }
    const u64 first = thread < count ? sequences[thread] : 0;
    u64 ahead = Shape::THREADS + thread < count ? sequences[Shape::THREADS + thread] : 0;
    ZstdBatch now = zstd_batch(x, out, frame, first, thread < count, out.head, thread);
#pragma unroll 1
    for (;;) {
      const u32 room = Shape::PAGE - (out.head - out.origin);
      const u32 left = literals.one ? Shape::PAGE : zstd_supply_left<Shape>(source, literal);
      const u32 fit = zstd_fitting(x, now.size <= room && now.taken <= left, now.bad, thread);
      if (fit == ZSTD_NONE) return false;
      ZstdBatch next = now;
      if (fit == Shape::THREADS) {
        // The next batch is loaded while this one is copied.
        const u32 after = k + Shape::THREADS + thread;
        next = zstd_batch(x, out, frame, ahead, after < count, out.head + now.all_size, thread);
        ahead = after + Shape::THREADS < count ? sequences[after + Shape::THREADS] : 0;
      }
      if (fit == 0) {
        if (thread == 0) x.cut_taken = now.length, x.cut_size = now.match, x.cut_offset = now.offset;
        group_sync<Shape::THREADS>();
        const u32 length = x.cut_taken, match = x.cut_size, offset = x.cut_offset;
        zstd_append<Shape>(out, literals, literals.one ? 0 : literal, length, thread);
        zstd_append_match<Shape>(out, offset, match, thread);
        literal += length;
        ++k;
        group_sync<Shape::THREADS>();
        if (!literals.one) zstd_supply_open(x.supply, source, literal, thread);
      } else {
        const bool mine = thread < fit;
        const u32 at = out.head + now.size - now.match;
        const u32 from = zstd_supply_at(source, literal) + now.taken - now.length;
        if (thread == fit - 1) x.cut_taken = now.taken, x.cut_size = now.size;
        zstd_copy_literals(out, x.supply, ZstdPiece{at - now.length, mine ? now.length : 0, from}, thread & 31);
        zstd_copy_matches(x.rounds, out, ZstdPiece{at, mine ? now.match : 0, now.offset}, now.early, thread);
        out.head += x.cut_size;
        literal += x.cut_taken;
        k += fit;
        zstd_flush<Shape>(out, thread);
        if (!literals.one) zstd_supply_advance(x.supply, source, literal, thread);
      }
      if (k >= count) break;
      if (fit != Shape::THREADS) {
        const bool real = k + thread < count;
        const u64 packed = real ? sequences[k + thread] : 0;
        ahead = k + Shape::THREADS + thread < count ? sequences[k + Shape::THREADS + thread] : 0;
        next = zstd_batch(x, out, frame, packed, real, out.head, thread);
      }
      now = next;
    }
    const u32 a = frame.recent[0], b = frame.recent[1], c = frame.recent[2];
    for (u32 i = 0; i < 3; ++i) frame.recent[i] = zstd_resolve(block->recent[i], a, b, c);
  }
  zstd_append<Shape>(out, literals, literals.one ? 0 : literal, block->literals_len - literal, thread);
  return true;
}

template <class Shape>
DEVICE u32 zstd_execute_tile(ZstdExecution<Shape>& x, const u8* src, u8* dst, u32 dst_len, const u8* scratch, u32 thread) {
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
      zstd_append<Shape>(out, ZstdLiterals{src + block->src, one}, 0, block->size, thread);
    } else {
      const u32 kind = (flags & ZSTD_LITERALS) >> ZSTD_LITERALS_SHIFT;
      ZstdLiterals literals = {scratch + block->literals_at, kind == ZSTD_RLE};
      if (kind == ZSTD_RAW || kind == ZSTD_RLE) literals.bytes = src + block->literals;
      const u64* sequences = (const u64*)(scratch + block->sequences_at);
      if (!zstd_execute_block(x, out, frame, block, literals, sequences, thread)) return FAULT_CORRUPT;
    }
    if ((flags & ZSTD_LAST) == 0) continue;
    if ((flags & ZSTD_SIZED) != 0 && out.head - frame.start != block->content) return FAULT_CORRUPT;
    if ((flags & ZSTD_CHECKSUM) != 0) {
      const u32 stated = zstd_u32(src + block->src + block->src_len);
      zstd_settle<Shape>(out, thread);
      if (zstd_checksum(dst + frame.start, out.head - frame.start, thread & 31) != stated) return FAULT_CHECKSUM;
    }
  }
  zstd_settle<Shape>(out, thread);
  return out.head == dst_len ? FAULT_NONE : FAULT_OUTPUT_SHORT;
}
