// The Huffman tree of a part's literals: makes codes from lengths, and the weights that describe them, with a warp.
#pragma once
#include "deflate/deflate_code.cuh"
#include "zstd/zstd_encode_table.cuh"

constexpr u32 ZSTD_CODE_LIMIT = 11;
constexpr u32 ZSTD_WEIGHTS_LOG = 6;
// Maximum FSE output for 255 weights: 6 bits each, the states, the mark, and a description of 12 counts.
constexpr u32 ZSTD_WEIGHTS_TEXT = 256;

struct ZstdTree {
  CodeWork<256> work;
  u32 lengths[256];   // length << 16 per byte value
  u16 codes[256];     // code | length << 12
  u8 weights[256];
  u32 next[16];
  ZstdCoder coder;
  u16 written[256];
  u32 text[ZSTD_WEIGHTS_TEXT / 4];  // encoded bytes
  u32 text_len;                     // 0: it cannot be written
};

// The longest codes have the smallest numbers; for equal lengths, smaller bytes have smaller numbers. Returns the
// number of weights to write.
DEVICE u32 zstd_code_literals(ZstdTree& tree, u32 lane) {
  u32 longest = ZSTD_CODE_LIMIT;
  while (longest > 1 && tree.work.per_length[longest] == 0) --longest;
  if (lane == 0) {
    u32 code = 0;
    for (u32 length = longest; length > 0; --length) {
      tree.next[length] = code;
      code = (code + tree.work.per_length[length]) >> 1;
    }
  }
  __syncwarp();
  u32 last = 0;
#pragma unroll 1
  for (u32 i = lane; i < 256; i += 32) {
    const u32 length = tree.lengths[i] >> 16;
    const u32 peers = __match_any_sync(ZSTD_WARP, length);
    const u32 code = tree.next[length] + (u32)__popc(peers & ((1u << lane) - 1));
    __syncwarp();
    tree.codes[i] = (u16)(length != 0 ? code | length << 12 : 0);
    tree.weights[i] = (u8)(length != 0 ? longest + 1 - length : 0);
    if (length != 0 && peers >> lane == 1) tree.next[length] = code + 1;
    const u32 used = __ballot_sync(ZSTD_WARP, length != 0);
    if (used != 0) last = i - lane + zstd_log2(used);
    __syncwarp();
  }
  __syncwarp();
  return last;
}

// Walks the two alternating states of the weights from the last weight to the first, recording what each writes.
// Returns the final states, the second with the first above it.
DEVICE u32 zstd_walk_weights(ZstdTree& tree, u32 count, u32 lane) {
  u32 state = 0;
  if (lane < 2 && count > lane) {
    u32 i = count - 1 - lane;
    state = zstd_first_state(tree.coder, tree.weights[i]);
    tree.written[i] = 0;
#pragma unroll 1
    while (i >= 2) {
      i -= 2;
      tree.written[i] = (u16)zstd_next_state(tree.coder, state, tree.weights[i]);
    }
  }
  // Lane 0 has the last weight; that uses the second state if its index is odd.
  const int odd = (int)(count & 1);
  const u32 mask = (1u << ZSTD_WEIGHTS_LOG) - 1;
  const u32 second = __shfl_sync(ZSTD_WARP, state, odd) & mask;
  const u32 first = __shfl_sync(ZSTD_WARP, state, 1 - odd) & mask;
  return second | first << ZSTD_WEIGHTS_LOG;
}

DEVICE void zstd_or_bits(u32* words, u32 at, u32 bits) {
  const u64 wide = (u64)bits << (at & 31);
  atomicOr(words + at / 32, (u32)wide);
  if (wide >> 32 != 0) atomicOr(words + at / 32 + 1, (u32)(wide >> 32));
}

// Encodes `count` weights with FSE into `text` behind its first byte; returns the length.
DEVICE u32 zstd_pack_weights(ZstdTree& tree, u32 count, u32 lane) {
  for (u32 i = lane; i < ZSTD_WEIGHTS_TEXT / 4; i += 32) tree.text[i] = 0;
  const u32 states = zstd_walk_weights(tree, count, lane);
  __syncwarp();
  u8* bytes = (u8*)tree.text;
  for (u32 i = lane; i < tree.coder.text_len; i += 32) bytes[1 + i] = tree.coder.text[i];
  __syncwarp();
  u32 at = 8 * (1 + tree.coder.text_len);
#pragma unroll 1
  for (u32 base = 0; base < count; base += 32) {
    const u32 written = base + lane < count ? tree.written[count - 1 - base - lane] : 0;
    const u32 bits = zstd_written_count(written);
    u32 sum = bits;
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(ZSTD_WARP, sum, step);
      if (lane >= step) sum += other;
    }
    if (bits != 0) zstd_or_bits(tree.text, at + sum - bits, written & ((1u << bits) - 1));
    at += __shfl_sync(ZSTD_WARP, sum, 31);
  }
  if (lane == 0) zstd_or_bits(tree.text, at, states | 1u << 2 * ZSTD_WEIGHTS_LOG);
  __syncwarp();
  return (at + 2 * ZSTD_WEIGHTS_LOG) / 8;
}

// Makes codes and their description from `lengths` and `work.per_length`. Called by all lanes; ends with a __syncwarp.
DEVICE void zstd_describe_tree(ZstdTree& tree, u32 lane) {
  const u32 count = zstd_code_literals(tree, lane);
  tree.coder.counts[lane] = tree.coder.counts[lane + 32] = 0;
  __syncwarp();
  for (u32 i = lane; i < count; i += 32) atomicAdd(tree.coder.counts + tree.weights[i], 1u);
  __syncwarp();
  const bool several = __popc(__ballot_sync(ZSTD_WARP, tree.coder.counts[lane] != 0)) >= 2;
  const u32 direct = count <= 128 ? (count + 1) / 2 : ~0u;
  u32 len = 0;
  if (several) {
    zstd_normalise(tree.coder, count, ZSTD_WEIGHTS_LOG, lane);
    if (lane == 0) zstd_describe(tree.coder, ZSTD_WEIGHTS_LOG);
    __syncwarp();
    zstd_build_states(tree.coder, ZSTD_WEIGHTS_LOG, lane);
    len = zstd_pack_weights(tree, count, lane);
  }
  const bool packed = several && len <= 127 && len < direct;
  u8* bytes = (u8*)tree.text;
  if (!packed && direct != ~0u) {
    for (u32 i = lane; i < direct; i += 32) {
      const u32 second = 2 * i + 1 < count ? tree.weights[2 * i + 1] : 0;
      bytes[1 + i] = (u8)(tree.weights[2 * i] << 4 | second);
    }
  }
  if (lane == 0) {
    bytes[0] = (u8)(packed ? len : 127 + count);
    tree.text_len = packed ? 1 + len : direct != ~0u ? 1 + direct : 0;
  }
  __syncwarp();
}
