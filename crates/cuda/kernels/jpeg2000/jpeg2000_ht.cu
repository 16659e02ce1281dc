// High-throughput code-blocks of JPEG 2000 (ISO 15444-15): one lane decodes a code-block from its bytes to its
// coefficients. This kernel replaces `jpeg2000_unstuff`, `jpeg2000_blocks` and `jpeg2000_coefficients`; the rest of a
// picture is the same.
//
// In `Jpeg2000Block`, `band` holds the number of bit planes above the coded ones. `state` has room for 4 x width x
// height bytes (rounded up to a multiple of 16) if there are passes after the first, and behind these for width / 2 + 2
// bytes if the code-block is wider than `NARROW`. Segments are bytes as in the stream.
#include "jpeg2000/jpeg2000_ht_refinement.cuh"

namespace jpeg2000_ht {

enum : u32 {
  THREADS = 128,
  NARROW = 64,  // code-blocks up to this width keep their line in shared memory
  LINE = NARROW / 2 + 1,
};

DEVICE bool decode(const Jpeg2000Block& block, const Jpeg2000Segment* segments, Line line, const u16* first_codes,
                   const u16* other_codes) {
  const bool more = block.passes > 1 && block.planes > 1 && segments[1].len > 0;
  const u32 values_len = block.passes > 1 ? (4u * block.width * block.height + 15) & ~15u : 0;
  if (block.width > NARROW) line = {(u8*)block.state + values_len, 1};
  u32* const values = (u32*)block.state;
  const Target target = more ? Target{values, block.width, true} : Target{(u32*)block.out, block.stride, false};
  if (!cleanup(block, block.band, segments[0], target, line, first_codes, other_codes)) return false;
  if (!more) return true;
  if (block.passes > 2) refine_magnitudes(block, segments[1], values);
  propagate_significance(block, segments[1], values);
  place(block, values);
  return true;
}

}  // namespace jpeg2000_ht

KERNEL_RESIDENT(jpeg2000_ht_blocks, jpeg2000_ht::THREADS, 5, Jpeg2000BlockArgs) {
  using namespace jpeg2000_ht;
  SHARED(u16, first_codes[ENTRIES]);
  SHARED(u16, other_codes[ENTRIES]);
  SHARED(u8, lines[LINE][THREADS]);
  fill_table(FIRST_ROW, first_codes);
  fill_table(OTHER_ROWS, other_codes);
  __syncthreads();
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 at = (blockIdx.x * (THREADS / 32) + warp) * args.lanes + lane;
  if (lane >= args.lanes || at >= args.count) return;
  const Jpeg2000Block block = args.blocks[at];
  const Line line = {&lines[0][threadIdx.x], THREADS};
  if (!decode(block, args.segments + block.segment, line, first_codes, other_codes)) {
    atomicMin(&args.statuses[block.status], (u32)FAULT_CORRUPT);
  }
}
