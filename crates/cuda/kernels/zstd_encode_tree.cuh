// The Huffman tree of the literals of a part: codes from lengths, and the weights that describe it, by a
// warp.
#pragma once
#include "deflate_code.cuh"
#include "zstd_encode_table.cuh"

constexpr u32 ZSTD_CODE_LIMIT = 11;
constexpr u32 ZSTD_WEIGHTS_LOG = 6;
// What FSE can make of 255 weights: 6 bits each, the states, the mark, and a description of 12 counts.
constexpr u32 ZSTD_WEIGHTS_TEXT = 256;

struct ZstdTree {
  CodeWork<256> work;
  u32 lengths[256];   // length << 16 of each byte
  u16 codes[256];     // code | length << 12
  u8 weights[256];
  u32 next[16];
  ZstdCoder coder;
  u8 text[ZSTD_WEIGHTS_TEXT];  // as it is written
  u32 text_len;                // 0: there is no way to write it
};

// The longest codes have the smallest numbers, and of one length smaller bytes smaller numbers. How many
// weights are written.
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

// FSE of `count` weights into `text` from its second byte on; by one lane. Its length.
DEVICE u32 zstd_pack_weights(ZstdTree& tree, u32 count) {
  ZstdText text = {tree.text + 1, 0, 0, 0};
  for (u32 i = 0; i < tree.coder.text_len; ++i) zstd_write(text, tree.coder.text[i], 8);
  u32 even = 0, odd = 0;
#pragma unroll 1
  for (u32 i = count; i > 0; --i) {
    u32& state = (i & 1) != 0 ? even : odd;
    const u32 weight = tree.weights[i - 1];
    if (i + 2 > count) {
      state = zstd_first_state(tree.coder, weight);
    } else {
      const u32 written = zstd_next_state(tree.coder, state, weight);
      zstd_write(text, written & 511, written >> 9);
    }
  }
  zstd_write(text, odd, ZSTD_WEIGHTS_LOG);
  zstd_write(text, even, ZSTD_WEIGHTS_LOG);
  zstd_write(text, 1, 1);
  return zstd_end(text);
}

// Codes and their description from `lengths` and `work.per_length`. All lanes call it; it ends with a
// __syncwarp.
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
    zstd_build_states(tree.coder, ZSTD_WEIGHTS_LOG, lane);
    if (lane == 0) len = zstd_pack_weights(tree, count);
    len = __shfl_sync(ZSTD_WARP, len, 0);
  }
  const bool packed = several && len <= 127 && len < direct;
  __syncwarp();
  if (!packed && direct != ~0u) {
    for (u32 i = lane; i < direct; i += 32) {
      const u32 second = 2 * i + 1 < count ? tree.weights[2 * i + 1] : 0;
      tree.text[1 + i] = (u8)(tree.weights[2 * i] << 4 | second);
    }
  }
  if (lane == 0) {
    tree.text[0] = (u8)(packed ? len : 127 + count);
    tree.text_len = packed ? 1 + len : direct != ~0u ? 1 + direct : 0;
  }
  __syncwarp();
}
