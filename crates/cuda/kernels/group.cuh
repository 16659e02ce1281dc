// The threads that work on one image block together (a warp, or all warps of a CUDA block) and their barrier.
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
