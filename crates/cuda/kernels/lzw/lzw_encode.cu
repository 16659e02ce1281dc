// LZW of the portable encoders: `lzw_parse` makes the codes of every segment, `lzw_layout` computes the bit at which
// each begins, `lzw_emit` writes the words of the stream. The bytes are those of `portable/spec.md`.
#include "lzw/lzw_strings.cuh"
#include "offsets.cuh"

namespace lzw_encode {

constexpr u32 THREADS = 256;

// An item of a block's stream.
struct Place {
  u32 segment, item;
};

struct Stream {
  Scratch scratch;
  u32 segments;
  u64 bits;  // in total
};

// The value of an item and its number of bits.
struct Item {
  u32 value, width;
};

DEVICE Item item_of(const Stream& stream, const Place& place) {
  const u32 group = place.item / ITEMS, since = place.item % ITEMS;
  const u32 width = width_of(since);
  if (place.item + 1 == items_of(stream.scratch.counts[place.segment])) {
    return {place.segment + 1 == stream.segments ? END : CLEAR, width};
  }
  if (since == GROUP) return {CLEAR, width};
  return {stream.scratch.codes[u64(place.segment) * SEGMENT + place.item - group], width};
}

// The word of the stream from bit `at` on, which lies in `segment`; zeros follow the last item.
DEVICE u32 word_at(const Stream& stream, u32 segment, u64 at) {
  u64 bits;
  u32 have;
  Place place = {segment, 0};
  if (at == 0) {
    bits = CLEAR;
    have = FIRST_BITS;
  } else {
    const u32 within = u32(at - FIRST_BITS - stream.scratch.bits[segment]);
    place.item = within / GROUP_BITS * ITEMS + item_at(within % GROUP_BITS);
    const Item item = item_of(stream, place);
    have = segment_bits(place.item) + item.width - within;
    bits = item.value & ((1u << have) - 1);
    ++place.item;
  }
  while (have < 32) {
    if (place.item == items_of(stream.scratch.counts[place.segment])) {
      place = {place.segment + 1, 0};
      if (place.segment == stream.segments) return u32(bits << (32 - have));
    }
    const Item item = item_of(stream, place);
    bits = bits << item.width | item.value;
    have += item.width;
    ++place.item;
  }
  return u32(bits >> (have - 32));
}

}  // namespace lzw_encode

KERNEL(lzw_parse, 32, EncodeArgs) {
  using namespace lzw_encode;
  SHARED(Shared, shared);
  const EncodeBlock block = args.blocks[blockIdx.x];
  const u32 segment = blockIdx.y;
  if (!to_compress(args, block) || segment >= segments_of(block.len)) return;
  const Scratch scratch = scratch_of(args, block);
  const u32 first = segment * SEGMENT;
  const u8* src = args.packed + block.src + first;
  const u32 count = parse(shared, src, min(SEGMENT, block.len - first), scratch.codes + first);
  if (threadIdx.x == 0) {
    scratch.counts[segment] = count;
    scratch.bits[segment] = segment_bits(items_of(count));
  }
}

KERNEL(lzw_layout, 256, EncodeArgs) {
  using namespace lzw_encode;
  SHARED(u32, warp_sums[THREADS / 32]);
  const EncodeBlock block = args.blocks[blockIdx.x];
  if (!to_compress(args, block)) return;
  sizes_to_offsets<THREADS / 32>(scratch_of(args, block).bits, segments_of(block.len), warp_sums);
}

KERNEL(lzw_emit, 256, EncodeArgs) {
  using namespace lzw_encode;
  const EncodeBlock block = args.blocks[blockIdx.x];
  const u32 segment = blockIdx.y, segments = segments_of(block.len);
  if (!to_compress(args, block) || segment >= segments) return;
  const Scratch scratch = scratch_of(args, block);
  const Stream stream = {scratch, segments, FIRST_BITS + scratch.bits[segments]};
  // Words whose first bit belongs to this segment; the very first word belongs to the first segment.
  const u64 begin = segment == 0 ? 0 : (FIRST_BITS + scratch.bits[segment] + 31) / 32;
  const u64 end = (FIRST_BITS + scratch.bits[segment + 1] + 31) / 32;
  u32* out = (u32*)(args.slab + block.dst);
  for (u64 word = begin + threadIdx.x; word < end; word += THREADS) {
    out[word] = __byte_perm(word_at(stream, segment, word * 32), 0, 0x0123);
  }
  if (segment == 0 && threadIdx.x == 0) {
    args.sizes[block.index] = u32((stream.bits + 7) / 8);
    relaxed_store(args.states + block.index, ENCODE_DONE);
  }
}
