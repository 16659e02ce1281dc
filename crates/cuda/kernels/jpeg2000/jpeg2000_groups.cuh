// The coefficients of a code-block in groups of 8 columns of one stripe (4 rows), and their storage between passes.
//
// 32 coefficients are the bits of a word, column by column, in the order in which a pass visits them. Together with all
// their neighbours they form a window: 60 bits of a u64, six for each of ten columns, the row above the stripe first.
// Windows of signs hold the negative coefficients, shifted up by one bit, so that both can be merged.
//
// In memory every stripe has at least one group more than it has coefficients, always empty, and there is such a stripe
// above and below: so all neighbours of groups exist, and a pass visits the groups by counting.
#pragma once
#include "jpeg2000/jpeg2000_abi.h"

namespace jpeg2000 {

// The first row of each column of a window, the rows of the stripe, and the window's own columns within the stripe's
// ten.
enum : u64 {
  ABOVE = 0x0001041041041040ull,
  BELOW = ABOVE << 5,
  OWN = ABOVE << 1 | ABOVE << 2 | ABOVE << 3 | ABOVE << 4,
};

struct Grid {
  u32 across;   // groups per stripe
  u32 stripes;
  u32 stride;   // groups per stripe in memory; 3 or more, so that a group read ahead is never the next one written
};

DEVICE Grid grid_of(u32 width, u32 height) {
  const u32 across = (width + 7) / 8;
  return {across, (height + 3) / 4, max(across + 1, 3u)};
}

// A group between two passes; the words of windows are stored separately, because those of neighbours are also read.
struct __align__(16) Group {
  u32 significant;
  u32 visited;    // coded in this plane already
  u32 refined;    // refined at least once; among insignificant ones, those outside the code-block
  u32 magnitude;  // the bits of this plane
};

struct __align__(16) Signs {
  u64 significant;
  u64 negative;
};

// The memory of a code-block: `Signs` of all groups and their neighbours, `Group`s, and the bits of each plane.
struct Kept {
  Signs* signs;    // of the first group
  Group* groups;
  u32* planes;     // `plane_len` words each, lowest plane first
  u32 plane_len;
};

DEVICE u32 signs_count(const Grid& grid) { return (grid.stripes + 2) * grid.stride + 3; }
DEVICE u32 groups_count(const Grid& grid) { return grid.stripes * grid.stride + 2; }

DEVICE Kept kept_in(u64 state, const Grid& grid) {
  Signs* const signs = (Signs*)state;
  Group* const groups = (Group*)(signs + signs_count(grid));
  return {signs + grid.stride, groups, (u32*)(groups + groups_count(grid)), grid.stripes * grid.stride};
}

// Initial state of a group.
DEVICE Group first_group(const Grid& grid, u32 width, u32 height, u32 index) {
  const u32 columns = min(width - min(8 * (index % grid.stride), width), 8u);
  const u32 rows = min(height - min(4 * (index / grid.stride), height), 4u);
  const u32 inside = columns == 0 ? 0 : 0x11111111u * (15u >> (4 - rows)) & 0xFFFFFFFFu >> 4 * (8 - columns);
  return {0, 0, ~inside, 0};
}

// The signs of a group combined with the rows above and below.
DEVICE Signs stacked(const Signs& above, const Signs& own, const Signs& below) {
  Signs made;
  made.significant = own.significant | (above.significant >> 4 & ABOVE) | (below.significant << 4 & BELOW);
  made.negative = own.negative | (above.negative >> 4 & ABOVE << 1) | (below.negative << 4 & BELOW << 1);
  return made;
}

// Packs four columns of six bits into four of four.
DEVICE u32 narrow(u32 bits) {
  const u32 pairs = (bits & 0x00F00F) | (bits >> 2 & 0x0F00F0);
  return (pairs & 0xFF) | (pairs >> 4 & 0xFF00);
}

// The group's own coefficients in a window.
DEVICE u32 own_of(u64 window) {
  return narrow((u32)(window >> 7)) | narrow((u32)(window >> 31)) << 16;
}

// The coefficients with a significant neighbour; may include coefficients that are significant themselves.
DEVICE u32 near_of(u64 window) {
  const u64 rows = window | window << 1 | window >> 1;
  return own_of(rows | rows << 6 | rows >> 6);
}

}  // namespace jpeg2000
