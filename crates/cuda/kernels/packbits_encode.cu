// PackBits of the portable encoders: `packbits_mark` finds the tokens of a part's rows and counts their bytes,
// `packbits_layout` makes offsets of the counts, `packbits_emit` writes. The bytes are those of `portable/spec.md`.
#include "offsets.cuh"
#include "packbits_tokens.cuh"

namespace packbits_encode {

constexpr u32 WARPS = THREADS / 32;

// The bits of `equal`, a warp a word at a time; the other maps become 0.
DEVICE void compare(const Maps& maps, const u8* src, const Rows& rows, u32 row_len) {
  const u32 lane = threadIdx.x % 32, step = THREADS % row_len;
  u32 column = threadIdx.x % row_len;
  for (u32 word = threadIdx.x / 32; word < maps.words; word += WARPS) {
    const u32 at = word * 32 + lane;
    const bool inside = at + 1 < rows.len && column + 1 < row_len;
    const bool equal = inside && src[at] == src[at + 1];
    const u32 bits = __ballot_sync(0xFFFFFFFFu, equal);
    if (lane == 0) maps.equal[word] = bits;
    if (lane == 1) maps.starts[word] = 0;
    if (lane == 2) maps.literals[word] = 0;
    column += step;
    if (column >= row_len) column -= row_len;
  }
}

// Writes the output of a word of 32 bytes from `to` on.
DEVICE void write_word(const Maps& maps, u32 word, u8* to, const u8* src, u32 len, u32 starts, u32 literals) {
  const u32 lane = threadIdx.x % 32, below = (1u << lane) - 1, at = word * 32 + lane;
  const bool start = (starts >> lane & 1) != 0, literal = (literals >> lane & 1) != 0;
  u8* own = to + weight(starts & below, literals & below);
  if (start || literal) own[start] = src[at];
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
  for (u32 word = threadIdx.x; word < maps.words; word += THREADS) follow_heads(maps, word, row_len, rows.len);
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
    const u32 starts = own < maps.words ? maps.starts[own] : 0, literals = own < maps.words ? maps.literals[own] : 0;
    const Prefix prefix = block_prefix<WARPS>(weight(starts, literals), warp_sums);
    const u32 warp_first = first + threadIdx.x / 32 * 32;
    for (u32 i = 0; i < 32 && warp_first + i < maps.words; ++i) {
      const u32 before = __shfl_sync(0xFFFFFFFFu, prefix.before, int(i));
      const u32 word_starts = __shfl_sync(0xFFFFFFFFu, starts, int(i));
      const u32 word_literals = __shfl_sync(0xFFFFFFFFu, literals, int(i));
      write_word(maps, warp_first + i, to + before, src, rows.len, word_starts, word_literals);
    }
    to += prefix.total;
    __syncthreads();
  }
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    args.sizes[block.index] = offsets[parts];
    relaxed_store(args.states + block.index, ENCODE_DONE);
  }
}
