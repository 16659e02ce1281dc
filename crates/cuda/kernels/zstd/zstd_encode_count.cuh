// Decides how a part is encoded, with a CUDA block: its literals and sequences, their tables, the bits of all states,
// and from these its size and its head and tail.
#pragma once
#include "zstd/zstd_encode_gather.cuh"
#include "zstd/zstd_encode_tree.cuh"
#include "zstd/zstd_encode_walk.cuh"

// The first of the warps that make the tree; earlier ones make the other tables.
constexpr u32 ZSTD_TREE_WARP = 3;

struct ZstdCounting {
  union {
    ZstdGathering gathering;
    ZstdTree tree;
  };
  u32 counts[256];  // of literals
  ZstdCoder coders[3];
  ZstdLists lists;
  ZstdSteps steps;
  u32 sequence_bits;  // without the final states
  u32 stream_bits[4];
  ZstdWalk walk;
  u32 head[ZSTD_HEAD / 4];
  u32 tail[ZSTD_TAIL / 4];
};

// Writes little-endian bytes; called by one thread.
DEVICE u32 zstd_set(u8* bytes, u64 value, u32 count) {
  for (u32 k = 0; k < count; ++k) bytes[k] = (u8)(value >> 8 * k);
  return count;
}

DEVICE u32 zstd_set(u8* bytes, const u8* from, u32 count) {
  for (u32 k = 0; k < count; ++k) bytes[k] = from[k];
  return count;
}

// The header of an uncompressed literals section.
DEVICE u32 zstd_plain_header(u8* bytes, u32 kind, u32 count) {
  if (count < 32) return zstd_set(bytes, (u64)(kind | count << 3), 1);
  if (count < 4096) return zstd_set(bytes, (u64)(kind | 1 << 2 | count << 4), 2);
  return zstd_set(bytes, (u64)(kind | 3 << 2 | count << 4), 3);
}

// Sums the code lengths of literals for each stream, with the threads from `first` on.
DEVICE void zstd_count_streams(ZstdCounting& shared, const ZstdWork& work, u32 literals, u32 first) {
  const u32 each = literals < 256 ? literals : (literals + 3) / 4;
  for (u32 s = 0; s * each < literals; ++s) {
    const u32 end = min((s + 1) * each, literals);
    u32 bits = 0;
    for (u32 i = s * each + threadIdx.x - first; i < end; i += ZSTD_THREADS - first) {
      bits += shared.tree.codes[work.literals[i]] >> 12;
    }
    bits = zstd_sum_of_warp(bits);
    if ((threadIdx.x & 31) == 0) atomicAdd(shared.stream_bits + s, bits);
  }
}

// Writes the literals section except its bytes or codes to `bytes`; `part` tells what follows. Returns its total size.
DEVICE u32 zstd_head_of_literals(ZstdCounting& shared, const ZstdWork& work, u32 literals, bool same,
                                 ZstdPart& part, u8* bytes, u32& len) {
  part.streams = part.raw = part.raw_literals = 0;
  if (same) {
    len = zstd_plain_header(bytes, ZSTD_RLE, literals);
    bytes[len++] = work.literals[0];
    return len;
  }
  const u32 raw = literals + (literals < 32 ? 1 : literals < 4096 ? 2 : 3);
  if (literals >= 2 && shared.tree.text_len != 0) {
    const u32 form = literals < 256 ? 0 : literals < 1024 ? 1 : literals < 16384 ? 2 : 3;
    const u32 width = form < 2 ? 10 : form == 2 ? 14 : 18, header = (4 + 2 * width) / 8;
    const u32 streams = form == 0 ? 1 : 4;
    u32 sizes[4], size = shared.tree.text_len + (streams == 4 ? 6 : 0);
    for (u32 s = 0; s < streams; ++s) size += sizes[s] = shared.stream_bits[s] / 8 + 1;
    if (header + size < raw) {
      const u64 sizes_bits = (u64)literals << 4 | (u64)size << (4 + width);
      len = zstd_set(bytes, ZSTD_COMPRESSED | form << 2 | sizes_bits, header);
      len += zstd_set(bytes + len, (const u8*)shared.tree.text, shared.tree.text_len);
      for (u32 s = 0; s + 1 < streams; ++s) len += zstd_set(bytes + len, sizes[s], 2);
      part.streams = streams;
      return header + size;
    }
  }
  part.raw = literals;
  part.raw_literals = 1;
  len = zstd_plain_header(bytes, ZSTD_RAW, literals);
  return raw;
}

// Writes the sequences section except its stream. Returns its total size.
DEVICE u32 zstd_tail_of_sequences(const ZstdCounting& shared, u32 sequences, u8* bytes, u32& len) {
  if (sequences < 128) {
    len = zstd_set(bytes, (u64)sequences, 1);
  } else {
    len = zstd_set(bytes, (u64)((128 + (sequences >> 8)) | (sequences & 0xFF) << 8), 2);
  }
  if (sequences == 0) return len;
  const ZstdCoder* coders = shared.coders;
  bytes[len++] = (u8)(coders[0].mode << 6 | coders[1].mode << 4 | coders[2].mode << 2);
  for (u32 t = 0; t < 3; ++t) len += zstd_set(bytes + len, coders[t].text, coders[t].text_len);
  return len + (shared.sequence_bits + shared.walk.state_bits) / 8 + 1;
}

// Decides what is written for the part, with one thread, in shared memory except for `part` itself; returns its size
// including the header.
DEVICE u32 zstd_decide(ZstdCounting& shared, const ZstdWork& work, const ZstdGathered& gathered,
                       bool same_literals, bool last) {
  ZstdPart& part = *work.part;
  u8* head = (u8*)shared.head;
  u32 head_len = 1, tail_len = 0, size = 1, kind = ZSTD_RLE;
  part.sequences = 0;
  if (gathered.same && work.len > 1) {
    part.streams = part.raw = part.raw_literals = part.literals = 0;
    head[3] = (u8)work.words[work.start / 4];
  } else {
    kind = ZSTD_COMPRESSED;
    size = zstd_head_of_literals(shared, work, gathered.literals, same_literals, part, head + 3, head_len) +
           zstd_tail_of_sequences(shared, gathered.sequences, (u8*)shared.tail, tail_len);
    part.literals = gathered.literals;
    part.sequences = gathered.sequences;
    part.states = shared.walk.states;
    part.state_bits = shared.walk.state_bits;
    if (size >= work.len) {
      kind = ZSTD_RAW;
      size = part.raw = work.len;
      part.raw_literals = part.streams = part.sequences = head_len = tail_len = 0;
    }
  }
  zstd_set(head, (u64)((last ? 1 : 0) | kind << 1 | (kind == ZSTD_RLE ? work.len : size) << 3), 3);
  part.head_len = 3 + head_len;
  part.tail_len = tail_len;
  return 3 + size;
}

DEVICE void zstd_count_part(ZstdCounting& shared, const ZstdWork& work, bool last, u32 number) {
  const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const ZstdGathered gathered = zstd_gather(shared.gathering, work);
  u32 count = 0;
  for (u32 k = 0; k < ZSTD_COPIES; ++k) count += shared.gathering.counts[threadIdx.x * ZSTD_COPIES + k];
  shared.counts[threadIdx.x] = count;
  for (u32 i = threadIdx.x; i < 3 * ZSTD_SYMBOLS; i += ZSTD_THREADS) {
    shared.coders[i / ZSTD_SYMBOLS].counts[i % ZSTD_SYMBOLS] = 0;
  }
  if (threadIdx.x < 4) shared.stream_bits[threadIdx.x] = 0;
  if (threadIdx.x == 0) shared.sequence_bits = 0, shared.walk = {0, 0};
  const bool same_literals = __syncthreads_or(count == gathered.literals && count > 1) != 0;
  u32 bits = zstd_code_sequences(shared.lists, shared.coders, work, gathered.sequences, gathered.literals);
  __syncthreads();
  const bool has_tree = gathered.literals > 1 && !same_literals;
  // States and tree both take long, so they are made at the same time.
  if (warp < ZSTD_TREE_WARP) {
    if (gathered.sequences != 0) {
      zstd_make_coder(shared.coders[warp], warp, lane);
      bar_sync(2, 32 * ZSTD_TREE_WARP);
      if (warp == 0) {
        const ZstdWalk walk = zstd_walk(shared.steps, shared.coders, work, gathered.sequences, lane);
        if (lane == 0) shared.walk = walk;
      }
    }
  } else if (has_tree) {
    const u32 first = 32 * ZSTD_TREE_WARP, threads = ZSTD_THREADS - first;
    const CodeGroup group = {threadIdx.x - first, threads, 1};
    make_code(shared.tree.work, {shared.counts, shared.tree.lengths, 256, ZSTD_CODE_LIMIT}, group);
    if (warp == ZSTD_TREE_WARP) zstd_describe_tree(shared.tree, lane);
    bar_sync(1, threads);
    zstd_count_streams(shared, work, gathered.literals, first);
  }
  __syncthreads();
  bits = zstd_sum_of_warp(bits + zstd_walked_bits(work, gathered.sequences));
  if (lane == 0) atomicAdd(&shared.sequence_bits, bits);
  __syncthreads();
  if (threadIdx.x == 0) work.sizes[number] = zstd_decide(shared, work, gathered, same_literals, last);
  __syncthreads();
  for (u32 i = threadIdx.x; i < ZSTD_HEAD / 4; i += ZSTD_THREADS) work.part->head[i] = shared.head[i];
  for (u32 i = threadIdx.x; i < ZSTD_TAIL / 4; i += ZSTD_THREADS) work.part->tail[i] = shared.tail[i];
  work.part->codes[threadIdx.x] = shared.tree.codes[threadIdx.x];
}
