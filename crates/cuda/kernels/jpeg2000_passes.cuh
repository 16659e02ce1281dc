// A lane's way through the passes of its code-block (ISO 15444-1, annex D): pass by pass, group by group.
//
// Of a group a lane knows which coefficients are still to be asked for (`todo`) and which have a significant neighbour
// (`near`), and finds the next by the lowest bit. What lies to the right is read ahead by a group, and what is still to
// be made of memory by two.
#pragma once
#include "jpeg2000_contexts.cuh"
#include "jpeg2000_groups.cuh"

namespace jpeg2000 {

enum Pass : u32 { SIGNIFICANCE = 0, REFINEMENT = 1, CLEANUP = 2 };

// What is asked for next: coefficients one after the other, or what must follow in this order.
enum Pending : u32 { NOTHING = 0, SIGN = 1, RUN_LOW = 2, RUN_HIGH = 3 };

struct Lane {
  Decoder decoder;
  // The group.
  u64 significant, negative;  // windows
  u32 todo, near;
  u32 bits;    // that became known in this pass
  u32 coded;   // coefficients asked for
  u32 at;      // the coefficient asked for last
  u32 pending;
  Group group;        // as it was
  Signs right;        // the next group
  Signs above, own, below;  // the one after, still to be stacked
  Group ahead;        // the next group
  u32 index, across, stripe;
  // The pass.
  u32 pass, kind, plane;
  u32 raw;
  u32 segment, segment_passes;
  bool alive;
  bool corrupt;
};

// What does not change while a code-block is decoded.
struct Fixed {
  Grid grid;
  Kept kept;
  u32 edge;    // the coefficients of the last group of a stripe
  u32 bottom;  // those of the last stripe
  u64 causal;  // all ones where the stripe below counts
  u32 passes, flags;
  u32 table;
};

DEVICE Fixed fixed_of(const Jpeg2000Block& block) {
  Fixed fixed;
  fixed.grid = grid_of(block.width, block.height);
  fixed.kept = kept_in(block.state, fixed.grid);
  fixed.edge = 0xFFFFFFFFu >> 4 * (7 - (block.width - 1u) % 8);
  fixed.bottom = 0x11111111u * (15u >> (3 - (block.height - 1u) % 4));
  fixed.causal = (block.flags & JPEG2000_CAUSAL) != 0 ? 0 : ~0ull;
  fixed.passes = block.passes;
  fixed.flags = block.flags;
  fixed.table = table_of(block.band);
  return fixed;
}

DEVICE Signs stacked(const Lane& lane, const Fixed& fixed) {
  const Signs below = {lane.below.significant & fixed.causal, lane.below.negative & fixed.causal};
  return stacked(lane.above, lane.own, below);
}

DEVICE void read_ahead(Lane& lane, const Fixed& fixed, u32 index) {
  const Signs* const signs = fixed.kept.signs + index;
  lane.above = *(signs - fixed.grid.stride);
  lane.own = *signs;
  lane.below = *(signs + fixed.grid.stride);
}

// Takes the group at `lane.index`: the window's left column is there, the rest comes from what was read ahead.
DEVICE void enter(Lane& lane, const Fixed& fixed) {
  const Signs next = stacked(lane, fixed);
  read_ahead(lane, fixed, lane.index + 2);
  lane.significant |= lane.right.significant | (next.significant & 63ull << 6) << 48;
  lane.negative |= lane.right.negative | (next.negative & 63ull << 7) << 48;
  lane.right = next;
  lane.group = lane.ahead;
  lane.ahead = fixed.kept.groups[lane.index + 1];
  u32 own = lane.across + 1 < fixed.grid.across ? ~0u : lane.across + 1 == fixed.grid.across ? fixed.edge : 0;
  if (lane.stripe + 1 == fixed.grid.stripes) own &= fixed.bottom;
  const u32 asked = lane.kind == REFINEMENT ? lane.group.significant : ~lane.group.significant;
  lane.todo = asked & own & ~lane.group.visited;
  lane.near = near_of(lane.significant);
  lane.bits = 0;
  lane.coded = 0;
  lane.pending = NOTHING;
}

// Keeps what became known of the group.
DEVICE void leave(Lane& lane, const Fixed& fixed) {
  const Kept& kept = fixed.kept;
  Group group = lane.group;
  group.magnitude |= lane.bits;
  if (lane.kind == CLEANUP || lane.pass + 1 == fixed.passes) {
    kept.planes[lane.plane * kept.plane_len + lane.index] = group.magnitude;
  }
  if (lane.kind == REFINEMENT) {
    group.refined |= group.significant & ~group.visited;
  } else {
    if (lane.bits != 0) kept.signs[lane.index] = {lane.significant & OWN, lane.negative & OWN << 1};
    group.significant |= lane.bits;
    group.visited = lane.kind == SIGNIFICANCE ? lane.coded : 0;
    if (lane.kind == CLEANUP) group.magnitude = 0;
  }
  kept.groups[lane.index] = group;
}

// Begins a pass that is there: at the first group.
DEVICE void begin_pass(Lane& lane, const Fixed& fixed, const Jpeg2000Segment* segments, u32* cells) {
  if (lane.segment_passes == 0) {
    const Jpeg2000Segment segment = segments[lane.segment];
    lane.segment += 1;
    lane.segment_passes = segment.passes;
    lane.raw = segment.raw;
    begin(lane.decoder, segment);
  }
  lane.segment_passes -= 1;
  if (lane.pass == 0 || (fixed.flags & JPEG2000_RESET) != 0) {
    for (u32 i = 0; i < CONTEXTS; ++i) cells[WARP * i] = first_word(i);
  }
  lane.kind = (lane.pass + 2) % 3;
  if (lane.kind == SIGNIFICANCE) lane.plane -= 1;
  lane.index = lane.across = lane.stripe = 0;
  lane.significant = lane.negative = 0;
  read_ahead(lane, fixed, 0);
  lane.right = stacked(lane, fixed);
  read_ahead(lane, fixed, 1);
  lane.ahead = fixed.kept.groups[0];
  enter(lane, fixed);
}

// From a group where nothing is left to ask for to the next, of this pass or of the next one.
DEVICE void advance(Lane& lane, const Fixed& fixed, const Jpeg2000Segment* segments, u32* cells, const u32* moves) {
  leave(lane, fixed);
  lane.significant = lane.significant >> 48 & 63;
  lane.negative = lane.negative >> 48 & 63 << 1;
  lane.index += 1;
  lane.across += 1;
  if (lane.across == fixed.grid.stride) {
    lane.across = 0;
    lane.stripe += 1;
  }
  if (lane.stripe < fixed.grid.stripes) {
    enter(lane, fixed);
    return;
  }
  if (lane.kind == CLEANUP && (fixed.flags & JPEG2000_SEGMENTATION) != 0) {
    u32 symbols = 0;
    for (u32 i = 0; i < 4; ++i) symbols = symbols << 1 | decide(lane.decoder, cells + WARP * UNIFORM, moves);
    lane.corrupt = symbols != 10;
  }
  lane.pass += 1;
  lane.alive = lane.pass < fixed.passes && !lane.corrupt;
  if (lane.alive) begin_pass(lane, fixed, segments, cells);
}

// One decision, whatever it is about.
DEVICE void decode(Lane& lane, const Fixed& fixed, u32 open, const u8* contexts, u32* cells, const u32* moves) {
  const bool fresh = lane.pending == NOTHING, sign = lane.pending == SIGN;
  u32 at = fresh ? (u32)__ffs((i32)open) - 1 : lane.at;
  const u32 quiet = lane.todo & ~lane.near & (lane.kind == CLEANUP ? ~0u : 0);
  const bool run = fresh && (at & 3) == 0 && (quiet >> at & 15) == 15;
  const u32 place = at + at / 4 * 2;
  const u32 significant = (u32)(lane.significant >> place), negative = (u32)(lane.negative >> place);
  const u32 near = sign ? (significant & 0x2142) | (negative & 0x4284) : significant & 0x71C7;
  const u32 index = (near & 7) | (near >> 3 & 0x78) | (near >> 6 & 0x1C0);
  u32 entry = contexts[index + (sign ? (u32)SIGNS : fixed.table)];
  if (lane.kind == REFINEMENT && (lane.group.refined >> at & 1) != 0) entry = REFINED;
  if (lane.pending > SIGN) entry = UNIFORM;
  if (run) entry = RUN;
  if (lane.raw) entry = RAW;
  const u32 bit = decide(lane.decoder, cells + WARP * (entry & 31), moves) ^ entry >> 7;
  u32 passed = ~1u;
  if (sign) {
    lane.significant |= 1ull << (place + 7);
    lane.negative |= (u64)bit << (place + 8);
    lane.bits |= 1u << at;
    lane.near |= around(at);
  }
  if (lane.pending > SIGN) at += bit << (lane.pending - RUN_LOW);
  if (run && bit == 0) passed = ~15u;
  if (lane.kind == REFINEMENT) lane.bits |= bit << at;
  lane.coded |= 1u << at;
  lane.todo &= passed << at;
  const u32 after = run ? RUN_HIGH : lane.kind == REFINEMENT ? NOTHING : SIGN;
  lane.pending = fresh ? (bit != 0 ? after : NOTHING) : lane.pending - 1;
  lane.at = at;
}

}  // namespace jpeg2000
