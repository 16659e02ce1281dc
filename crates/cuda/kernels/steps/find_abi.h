// Interface between the host and `find.cu`: counterparts of `src/steps/find.rs`. Tasks and layouts are those that
// `place.cu` processed before.
#pragma once
#include "place/place_abi.h"

const u32 FIND_THREADS = 128;

// The numbers of a sample; complex samples have two.
enum FindParts : u32 {
  PARTS_ONE = 0,             // one number
  PARTS_FIRST_AND_ZERO = 1,  // the first of two is sought, and the second is 0 of either sign
  PARTS_EITHER = 2,          // either of two is sought
};

// A number is sought if (bits & mask) - low is at most span.
struct FindArgs {
  const PlaceTask* tasks;
  const PlaceLayout* layouts;
  const u32* statuses;  // blocks whose status is not 0 are skipped
  u32* found;           // set to 1 if a sample is found
  u64 mask;
  u64 low;
  u64 span;
  u32 parts;
  u32 sought;           // number of this value: only tasks with it are searched
  u32 count;            // number of tasks; the grid is (count, parts of a task), at most 65535 parts
  u32 reserved;
};

static_assert(sizeof(FindArgs) == 72, "twin of src/steps/find.rs");
