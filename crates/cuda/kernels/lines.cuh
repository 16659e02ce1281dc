// Sixteen bytes moved at once: the unit that a thread loads or stores in coalesced copies.
#pragma once
#include "abi.h"

struct alignas(16) Line {
  u32 words[4];
};

constexpr u32 LINE = sizeof(Line);
