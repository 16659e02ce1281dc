// A window of the blob in shared memory, which a warp moves along during its walk, so that a step waits for shared
// memory instead of device memory.
#pragma once
#include "lerc/lerc_unit.cuh"

namespace lerc {

const u32 WINDOW = 2048;

struct Window {
  alignas(16) u32 words[WINDOW / 4 + 4];
};

struct Walk {
  const u8* lines;  // beginning of the blob, rounded down to 16
  u32 lead;         // bytes from there to the blob
  u32 base;         // of the window, relative to `lines`
};

// A walk with an empty window.
DEVICE Walk walk_from(const Blob& blob) {
  const u32 lead = (u32)((u64)blob.src & 15);
  return {blob.src - lead, lead, 0x80000000u};
}

// The bytes of the blob from `at` on, at most its length; bytes behind its end have no meaning. Called by all lanes of
// one warp, with the same `at`.
DEVICE Bytes bytes_at(Window& window, Walk& walk, const Blob& blob, u32 at) {
  const u32 position = walk.lead + at;
  if (position - walk.base > WINDOW - 16) {
    walk.base = position & ~15u;
    const u32 end = walk.lead + blob.len;
    Line lines[WINDOW / LINE / 32];
#pragma unroll
    for (u32 k = 0; k < WINDOW / LINE / 32; ++k) {
      const u32 line = walk.base + (threadIdx.x % 32 + 32 * k) * LINE;
      if (line < end) lines[k] = *(const Line*)(walk.lines + line);
    }
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < WINDOW / LINE / 32; ++k) {
      const u32 index = threadIdx.x % 32 + 32 * k;
      if (walk.base + index * LINE < end) ((Line*)window.words)[index] = lines[k];
    }
    __syncwarp();
  }
  const u32 within = position - walk.base;
  return shifted(window.words + within / 4, within % 4);
}

}  // namespace lerc
