// LZ4 from matches (`portable/spec.md`): `lz4_count` lists the sequences of each part and computes its size,
// `lz4_layout` turns sizes into offsets, `lz4_write` writes. A part that would not shrink is stored.
#include "copy.cuh"
#include "lz4/lz4_encode_list.cuh"
#include "lz4/lz4_frame.cuh"
#include "offsets.cuh"

namespace lz4_encode {

constexpr u32 FRAME_HEADER = 15, BLOCK_HEADER = 4, END_MARK = 4;
constexpr u32 STORED = 1u << 31;
// Words that a warp takes at a time, so that their bytes are loaded at once.
constexpr u32 AT_ONCE = 4;

DEVICE void put_u32(u8* to, u32 value) {
  for (u32 i = 0; i < 4; ++i) to[i] = u8(value >> 8 * i);
}

// Blocks of at most 64 KiB, linked; with content size, without checksums.
DEVICE void put_header(u8* to, u32 len) {
  put_u32(to, lz4::FRAME_MAGIC);
  to[4] = 0x48;
  to[5] = 0x40;
  put_u32(to + 6, len);
  put_u32(to + 10, 0);
  to[14] = u8(lz4::short_xxh32(to + 4, 10) >> 8);
}

// Writes the part of a length beyond its four bits; returns the address behind it.
DEVICE u8* put_extra(u8* to, u32 length) {
  if (length < 15) return to;
  for (length -= 15; length >= 255; length -= 255) *to++ = 255;
  *to++ = u8(length);
  return to;
}

DEVICE u8 token_of(u32 literals, u32 length) { return u8(min(literals, 15u) << 4 | min(length, 15u)); }

DEVICE void put_sequences(const Work& work, const Counts& all, u8* to, u32 size) {
  for (u32 i = threadIdx.x; i < all.heads; i += THREADS) {
    const Sequence sequence = sequence_of(work, all, i);
    const u32 length = sequence.length - LEAST_MATCH;
    u8* at = to + work.list[all.heads + i] + sequence.before;
    at[-1 - i32(extra_bytes(sequence.literals))] = token_of(sequence.literals, length);
    put_extra(at - extra_bytes(sequence.literals), sequence.literals);
    at += sequence.literals;
    const u32 distance = match_distance(work.match.matches[work.start + sequence.at]);
    at[0] = u8(distance);
    at[1] = u8(distance >> 8);
    put_extra(at + 2, length);
  }
  if (threadIdx.x == 0) {
    const u32 left = all.literals - (all.heads > 0 ? work.list[all.heads - 1] & 0xFFFF : 0);
    u8* at = to + size - left - extra_bytes(left);
    at[-1] = token_of(left, 0);
    put_extra(at, left);
  }
}

// Writes the literals, 32 positions per warp at a time. Recomputes all earlier counts.
DEVICE Counts put_literals(const Work& work, const u8* src, u8* to, u32 size, u32* warp_sums) {
  const u32 lane = threadIdx.x % 32, below = (1u << lane) - 1, words = (work.len + 31) / 32;
  const bool own = threadIdx.x < words;
  const u32 literals = own ? work.literals[threadIdx.x] : 0, heads = own ? work.heads[threadIdx.x] : 0;
  const Prefix prefix = block_prefix<WARPS>(u32(__popc(literals)) | u32(__popc(heads)) << 16, warp_sums);
  const Counts all = {prefix.total & 0xFFFF, prefix.total >> 16};
  const u32 first = threadIdx.x / 32 * 32;
  for (u32 i = 0; i < 32 && first + i < words; i += AT_ONCE) {
    const u32 at = (first + i) * 32 + lane;
    u8 bytes[AT_ONCE];
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; ++k) bytes[k] = at + 32 * k < work.len ? src[at + 32 * k] : u8(0);
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; ++k) {
      const u32 before = __shfl_sync(0xFFFFFFFFu, prefix.before, int(i + k));
      const u32 word = __shfl_sync(0xFFFFFFFFu, literals, int(i + k));
      const u32 turn = __shfl_sync(0xFFFFFFFFu, heads, int(i + k));
      if ((word >> lane & 1) == 0) continue;
      const u32 number = (before >> 16) + u32(__popc(turn & below));
      // The last literals end at the end of the LZ4 block.
      const u32 base = number < all.heads ? work.list[all.heads + number] : size - all.literals;
      to[base + (before & 0xFFFF) + u32(__popc(word & below))] = bytes[k];
    }
  }
  return all;
}

}  // namespace lz4_encode

KERNEL_RESIDENT(lz4_count, 1024, 2, EncodeArgs) {
  using namespace lz4_encode;
  SHARED(Starts, starts);
  SHARED(u32, warp_sums[WARPS]);
  const EncodeBlock block = args.blocks[blockIdx.x];
  if (u64(blockIdx.y) * PART >= block.len || !has_bytes(args, block)) return;
  const Work work = work_of(args, block, blockIdx.y);
  load_starts(starts, work);
  const Counts all = list_sequences(starts, work, warp_sums);
  const u32 size = place_sequences(work, all, warp_sums);
  if (threadIdx.x == 0) work.offsets[work.part] = BLOCK_HEADER + min(size, work.len);
}

KERNEL(lz4_layout, 256, EncodeArgs) {
  using namespace lz4_encode;
  SHARED(u32, warp_sums[8]);
  const EncodeBlock block = args.blocks[blockIdx.x];
  if (!has_bytes(args, block)) return;
  const Work work = work_of(args, block, 0);
  sizes_to_offsets<8>(work.offsets, work.parts, warp_sums);
}

KERNEL_RESIDENT(lz4_write, 1024, 2, EncodeArgs) {
  using namespace lz4_encode;
  SHARED(u32, warp_sums[WARPS]);
  const EncodeBlock block = args.blocks[blockIdx.x];
  if (u64(blockIdx.y) * PART >= block.len || !has_bytes(args, block)) return;
  const Work work = work_of(args, block, blockIdx.y);
  u8* out = args.slab + block.dst;
  u8* to = out + FRAME_HEADER + work.offsets[work.part];
  const u32 size = work.offsets[work.part + 1] - work.offsets[work.part] - BLOCK_HEADER;
  const u8* src = args.packed + block.src + work.start;
  const bool stored = size == work.len;
  if (threadIdx.x == 0) put_u32(to, stored ? size | STORED : size);
  to += BLOCK_HEADER;
  if (stored) {
    copy_bytes<THREADS>(to, src, size, threadIdx.x);
  } else {
    const Counts all = put_literals(work, src, to, size, warp_sums);
    put_sequences(work, all, to, size);
  }
  if (work.part + 1 == work.parts && threadIdx.x == 0) put_u32(to + size, 0);
  if (work.part == 0 && threadIdx.x == 0) {
    put_header(out, block.len);
    args.sizes[block.index] = FRAME_HEADER + work.offsets[work.parts] + END_MARK;
    relaxed_store(args.states + block.index, ENCODE_DONE);
  }
}
