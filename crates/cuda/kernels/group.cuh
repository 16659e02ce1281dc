// The threads that work on one block of an image together: a warp, or all warps of a CUDA block; how they wait for each
// other.
#pragma once
#include "device.h"

template <u32 THREADS>
DEVICE void group_sync() {
  if (THREADS == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
