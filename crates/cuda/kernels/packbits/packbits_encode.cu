// PackBits of the portable encoders: `packbits_mark` finds the tokens of a part's rows and counts their bytes,
// `packbits_layout` turns counts into offsets, `packbits_emit` writes. The bytes are those of `portable/spec.md`.
#include "offsets.cuh"
#include "packbits/packbits_tokens.cuh"

namespace packbits_encode {

constexpr u32 WARPS = THREADS / 32;

// Words that a warp takes at a time, so that their bytes are loaded at once.
constexpr u32 AT_ONCE = 4;

// Makes the bits of `equal`; clears the other maps.
DEVICE void compare(const Maps& maps, const u8* src, const Rows& rows, u32 row_len) {
  const u32 lane = threadIdx.x % 32, step = THREADS * AT_ONCE % row_len;
  u32 column = (threadIdx.x / 32 * AT_ONCE * 32 + lane) % row_len;
  for (u32 word = threadIdx.x / 32 * AT_ONCE; word < maps.words; word += WARPS * AT_ONCE) {
    bool equal[AT_ONCE];
    u32 own = column;
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; ++k) {
      const u32 at = (word + k) * 32 + lane;
      equal[k] = at + 1 < rows.len && own + 1 < row_len && src[at] == src[at + 1];
      own += 32 % row_len;
      if (own >= row_len) own -= row_len;
    }
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; ++k) {
      const u32 bits = __ballot_sync(0xFFFFFFFFu, equal[k]);
      if (word + k >= maps.words) break;
      if (lane == 0) maps.equal[word + k] = bits;
      if (lane == 1) maps.starts[word + k] = 0;
      if (lane == 2) maps.literals[word + k] = 0;
    }
    column += step;
    if (column >= row_len) column -= row_len;
  }
}

// 32 bytes of a part, one per lane, and their tokens.
struct Word {
  u32 starts, literals;
  u8* to;
};

// Writes the output of this lane's byte, which is byte `at` of the part.
DEVICE void write_byte(const Maps& maps, const Word& word, u32 at, u8 byte, u32 len) {
  const u32 lane = at % 32, below = (1u << lane) - 1;
  const bool start = (word.starts >> lane & 1) != 0, literal = (word.literals >> lane & 1) != 0;
  u8* own = word.to + weight(word.starts & below, word.literals & below);
  if (start || literal) own[start] = byte;
  if (!start) return;
  u32 taken = min(MOST, len - at);
#pragma unroll 1
  for (u32 seen = 1; seen < taken; seen += 32) {
    const u32 next = bits_at(maps.starts, maps.words, at + seen);
    if (next != 0) taken = min(taken, seen + u32(__ffs(int(next))) - 1);
  }
  *own = u8(literal ? taken - 1 : 257 - taken);
}

}  // namespace packbits_encode

KERNEL(packbits_mark, 256, EncodeArgs) {
  using namespace packbits_encode;
  SHARED(u32, warp_sums[WARPS]);
  const EncodeBlock block = args.blocks[blockIdx.x];
  if (!to_compress(args, block) || blockIdx.y >= parts_of(block.len)) return;
  const Rows rows = rows_of(block, blockIdx.y);
  const Maps maps = maps_of(args, block, blockIdx.y, rows);
  const u32 row_len = row_of(block);
  compare(maps, args.packed + block.src + rows.first, rows, row_len);
  __syncthreads();
  for (u32 word = threadIdx.x; word < maps.words; word += THREADS) {
    follow_heads(maps, word, row_len, rows.len);
  }
  __syncthreads();
  u32 size = 0;
  for (u32 word = threadIdx.x; word < maps.words; word += THREADS) {
    size += weight(maps.starts[word], maps.literals[word]);
  }
  const Prefix prefix = block_prefix<WARPS>(size, warp_sums);
  if (threadIdx.x == 0) offsets_of(args, block)[blockIdx.y] = prefix.total;
}

KERNEL(packbits_layout, 256, EncodeArgs) {
  using namespace packbits_encode;
  SHARED(u32, warp_sums[WARPS]);
  const EncodeBlock block = args.blocks[blockIdx.x];
  if (!to_compress(args, block)) return;
  sizes_to_offsets<WARPS>(offsets_of(args, block), parts_of(block.len), warp_sums);
}

KERNEL(packbits_emit, 256, EncodeArgs) {
  using namespace packbits_encode;
  SHARED(u32, warp_sums[WARPS]);
  const EncodeBlock block = args.blocks[blockIdx.x];
  const u32 parts = parts_of(block.len);
  if (!to_compress(args, block) || blockIdx.y >= parts) return;
  const Rows rows = rows_of(block, blockIdx.y);
  const Maps maps = maps_of(args, block, blockIdx.y, rows);
  const u32* offsets = offsets_of(args, block);
  const u8* src = args.packed + block.src + rows.first;
  u8* to = args.slab + block.dst + offsets[blockIdx.y];
  for (u32 first = 0; first < maps.words; first += THREADS) {
    const u32 own = first + threadIdx.x;
    const u32 starts = own < maps.words ? maps.starts[own] : 0;
    const u32 literals = own < maps.words ? maps.literals[own] : 0;
    const Prefix prefix = block_prefix<WARPS>(weight(starts, literals), warp_sums);
    const u32 warp_first = first + threadIdx.x / 32 * 32;
    for (u32 i = 0; i < 32 && warp_first + i < maps.words; i += AT_ONCE) {
      const u32 at = (warp_first + i) * 32 + threadIdx.x % 32;
      u8 bytes[AT_ONCE];
#pragma unroll
      for (u32 k = 0; k < AT_ONCE; ++k) bytes[k] = at + 32 * k < rows.len ? src[at + 32 * k] : u8(0);
#pragma unroll
      for (u32 k = 0; k < AT_ONCE; ++k) {
        const u32 before = __shfl_sync(0xFFFFFFFFu, prefix.before, int(i + k));
        const u32 word_starts = __shfl_sync(0xFFFFFFFFu, starts, int(i + k));
        const u32 word_literals = __shfl_sync(0xFFFFFFFFu, literals, int(i + k));
        write_byte(maps, {word_starts, word_literals, to + before}, at + 32 * k, bytes[k], rows.len);
      }
    }
    to += prefix.total;
    __syncthreads();
  }
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    args.sizes[block.index] = offsets[parts];
    relaxed_store(args.states + block.index, ENCODE_DONE);
  }
}
