// A lane's path through the passes of its code-block (ISO 15444-1, annex D): pass by pass, group by group.
//
// For its group a lane keeps which coefficients are still to be coded (`todo`) and which have a significant neighbour
// (`near`), and finds the next one by the lowest bit. Groups to the right are read one ahead; data that must still be
// combined from memory, two ahead.
#pragma once
#include "jpeg2000/jpeg2000_contexts.cuh"
#include "jpeg2000/jpeg2000_groups.cuh"

namespace jpeg2000 {

enum Pass : u32 { SIGNIFICANCE = 0, REFINEMENT = 1, CLEANUP = 2 };

// The next decision: coefficients one after the other, or decisions that must follow in this order.
enum Pending : u32 { NOTHING = 0, SIGN = 1, RUN_LOW = 2, RUN_HIGH = 3 };

struct Lane {
  Decoder decoder;
  // The group.
  u64 significant, negative;  // windows
  u32 todo, near;
  u32 marks;   // coefficients decoded with `mark_table`: refined before, or first of a quiet column
  u32 bits;    // bits decoded in this pass
  u32 coded;   // coefficients decoded
  u32 at;      // the coefficient decoded last
  u32 pending;
  Group group;        // state before this pass
  Signs right;        // the next group
  Signs above, own, below;  // the one after it, not yet stacked
  Group ahead;        // the next group
  u32 index;
  // The pass.
  u32 pass, kind, plane;
  u32* keeps;      // destination of the plane's bits, if this pass is the last that yields any
  u32 every;       // all ones if coefficients need no significant neighbour to be decoded
  u32 refining;    // all ones in a refinement pass
  u32 cleaning;    // all ones in a cleanup pass
  SharedAddress table, sign_table, mark_table;
  u32 raw;
  u32 segment, segment_passes;
  bool alive;
  bool corrupt;
};

// Shared memory.
struct Shared {
  SharedAddress contexts, moves;
  SharedAddress cells;  // of this lane
};

DEVICE SharedAddress cell_of(const Shared& shared, u32 context) { return shared.cells + 4 * WARP * context; }

DEVICE u32 open_of(const Lane& lane) { return (lane.near | lane.every) & lane.todo; }

// Values that do not change while a code-block is decoded.
struct Fixed {
  Grid grid;
  Kept kept;
  u64 causal;  // all ones if the stripe below counts
  u32 passes, flags;
  u32 table;
};

DEVICE Fixed fixed_of(const Jpeg2000Block& block) {
  Fixed fixed;
  fixed.grid = grid_of(block.width, block.height);
  fixed.kept = kept_in(block.state, fixed.grid);
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

// Enters the group at `lane.index`: the window's left column is present, the rest comes from what was read ahead.
DEVICE void enter(Lane& lane, const Fixed& fixed) {
  const Signs next = stacked(lane, fixed);
  lane.significant |= lane.right.significant | (next.significant & 63ull << 6) << 48;
  lane.negative |= lane.right.negative | (next.negative & 63ull << 7) << 48;
  lane.right = next;
  const Group group = lane.ahead;
  lane.group = group;
  lane.todo = (group.significant ^ ~lane.refining) & ~group.visited & ~(group.refined & ~group.significant);
  lane.near = near_of(lane.significant);
  u32 quiet = lane.todo & ~lane.near & lane.cleaning;
  quiet &= quiet >> 1;
  lane.marks = (quiet & quiet >> 2 & 0x11111111u) | (group.refined & lane.refining);
  lane.bits = 0;
  lane.coded = 0;
  lane.pending = NOTHING;
}

// Call after `enter`. Separate from it, so that the loads go to registers that are not needed yet.
DEVICE void read_on(Lane& lane, const Fixed& fixed) {
  read_ahead(lane, fixed, lane.index + 2);
  lane.ahead = fixed.kept.groups[lane.index + 1];
}

// Stores the results of the group.
DEVICE void leave(Lane& lane, const Fixed& fixed) {
  const Kept& kept = fixed.kept;
  const u32 grown = lane.bits & ~lane.refining;
  Group group = lane.group;
  group.magnitude |= lane.bits;
  if (lane.keeps != nullptr) lane.keeps[lane.index] = group.magnitude;
  if (grown != 0) kept.signs[lane.index] = {lane.significant & OWN, lane.negative & OWN << 1};
  group.refined |= group.significant & ~group.visited & lane.refining;
  group.significant |= grown;
  group.visited = (group.visited & lane.refining) | (lane.coded & ~lane.every);
  group.magnitude &= ~lane.cleaning;
  kept.groups[lane.index] = group;
}

// Begins an existing pass at its first group.
DEVICE void begin_pass(Lane& lane, const Fixed& fixed, const Jpeg2000Segment* segments, const Shared& shared) {
  if (lane.segment_passes == 0) {
    const Jpeg2000Segment segment = segments[lane.segment];
    lane.segment += 1;
    lane.segment_passes = segment.passes;
    lane.raw = segment.raw;
    begin(lane.decoder, segment);
  }
  lane.segment_passes -= 1;
  if (lane.pass == 0 || (fixed.flags & JPEG2000_RESET) != 0) {
    for (u32 i = 0; i < CONTEXTS; ++i) shared_store(cell_of(shared, i), first_word(i));
  }
  lane.kind = (lane.pass + 2) % 3;
  if (lane.kind == SIGNIFICANCE) lane.plane -= 1;
  lane.every = lane.kind == SIGNIFICANCE ? 0 : ~0u;
  lane.refining = lane.kind == REFINEMENT ? ~0u : 0;
  lane.cleaning = lane.kind == CLEANUP ? ~0u : 0;
  lane.table = shared.contexts + (lane.raw ? (u32)ALWAYS_RAW : fixed.table);
  lane.sign_table = shared.contexts + (lane.raw ? ALWAYS_RAW : SIGNS);
  lane.mark_table =
      shared.contexts + (lane.raw ? ALWAYS_RAW : lane.kind == CLEANUP ? ALWAYS_RUN : ALWAYS_REFINED);
  const bool last = lane.kind == CLEANUP || lane.pass + 1 == fixed.passes;
  lane.keeps = last ? fixed.kept.planes + lane.plane * fixed.kept.plane_len : nullptr;
  lane.index = 0;
  lane.significant = lane.negative = 0;
  read_ahead(lane, fixed, 0);
  lane.right = stacked(lane, fixed);
  read_ahead(lane, fixed, 1);
  lane.ahead = fixed.kept.groups[0];
  enter(lane, fixed);
}

// Moves from a finished group to the next, of this pass or of the next one.
DEVICE void advance(Lane& lane, const Fixed& fixed, const Jpeg2000Segment* segments, const Shared& shared) {
  leave(lane, fixed);
  lane.significant = lane.significant >> 48 & 63;
  lane.negative = lane.negative >> 48 & 63 << 1;
  lane.index += 1;
  if (lane.index < fixed.kept.plane_len) {
    enter(lane, fixed);
    return;
  }
  if (lane.kind == CLEANUP && (fixed.flags & JPEG2000_SEGMENTATION) != 0) {
    u32 symbols = 0;
    for (u32 i = 0; i < 4; ++i) {
      supply(lane.decoder);
      use_ahead(lane.decoder);
      symbols = symbols << 1 | decide(lane.decoder, cell_of(shared, UNIFORM), shared.moves, 0);
    }
    lane.corrupt = symbols != 10;
  }
  lane.pass += 1;
  lane.alive = lane.pass < fixed.passes && !lane.corrupt;
  lane.todo = lane.pending = 0;
  if (lane.alive) begin_pass(lane, fixed, segments, shared);
}

// Makes one decision of any kind. Without branches: some lane would take each of them anyway.
DEVICE void decode(Lane& lane, u32 open, const Shared& shared) {
  const bool fresh = lane.pending == NOTHING, sign = lane.pending == SIGN;
  u32 at = fresh ? (u32)__ffs((i32)open) - 1 : lane.at;
  const bool marked = fresh && (lane.marks >> at & 1) != 0;
  const u32 place = at + 2 * (at >> 2);
  const u32 significant = (u32)(lane.significant >> place), negative = (u32)(lane.negative >> place);
  const u32 near = sign ? (significant & 0x2142) | (negative & 0x4284) : significant & 0x71C7;
  SharedAddress table = marked ? lane.mark_table : lane.table;
  if (!fresh) table = sign ? lane.sign_table : shared.contexts + ALWAYS_UNIFORM;
  const u32 index = (near & 7) | (near >> 3 & 0x78) | (near >> 6 & 0x1C0);
  const u32 entry = shared_load8(table | index);
  const u32 bit = decide(lane.decoder, cell_of(shared, entry & 31), shared.moves, entry);
  // After its sign a coefficient is significant. Uses products instead of shifts, because multiplication has its own
  // units.
  const u32 now = sign ? 128 : 0, own = at & 28;
  lane.significant |= (u64)now << place;
  lane.negative |= (u64)(now * 2 * bit) << place;
  const u32 one = sign ? 1u << at : 0, column = (one * 3 | one >> 1) & 15u << own;
  lane.near |= column | column * 16 | column >> 4;
  lane.marks &= ~(now / 8 << own);
  // For a run that ends, two bits give the position.
  const u32 next = fresh ? 0 : lane.pending - 1;
  at += bit * next;
  const u32 asked = 1u << at;
  lane.bits |= one | (lane.refining & bit * asked);
  lane.coded |= asked;
  lane.todo &= (marked && bit == 0 ? ~1u & ~(lane.cleaning & 14) : ~1u) * asked;
  const u32 after = marked ? lane.cleaning & RUN_HIGH : ~lane.refining & SIGN;
  lane.pending = fresh ? (bit != 0 ? after : NOTHING) : next;
  lane.at = at;
}

}  // namespace jpeg2000
