// Kernels that test the emulation itself: right ones, and ones with a planted error each. `tests/emulator.rs`
// runs them.
#include "device.h"

struct Args {
  u32* data;
  u32 count;
  u32 which;
};

// Inclusive prefix sum over the threads of a block.
KERNEL(scan, 256, Args) {
  SHARED(u32, sums[8]);
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 v = threadIdx.x < args.count ? args.data[threadIdx.x] : 0;
  for (u32 d = 1; d < 32; d *= 2) {
    u32 other = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += other;
  }
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  for (u32 w = 0; w < warp; w++) v += sums[w];
  if (threadIdx.x < args.count) args.data[threadIdx.x] = v;
}

// Ballot, any, all, match and the shuffles, each lane's results in a row of eight.
KERNEL(votes, 32, Args) {
  u32 lane = threadIdx.x, *out = args.data + 8 * lane;
  out[0] = __ballot_sync(~0u, lane % 3 == 0);
  out[1] = (u32)__any_sync(~0u, lane == 7);
  out[2] = (u32)__all_sync(~0u, lane < 31);
  out[3] = __match_any_sync(~0u, lane / 4);
  out[4] = __shfl_sync(~0u, lane * 10, 5);
  out[5] = __shfl_down_sync(~0u, lane, 4, 16);
  out[6] = __shfl_xor_sync(~0u, lane, 3);
  out[7] = lane < 16 ? __ballot_sync(0x0000FFFFu, 1) : __ballot_sync(0xFFFF0000u, lane & 1);
}

// Two warps hand 16 numbers over through named barriers, a third takes no part.
KERNEL(named, 96, Args) {
  SHARED(u32[32], mail);
  u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 2) return;
  for (u32 i = 0; i < 16; i++) {
    if (warp == 0) mail[lane] = i * 100 + lane;
    bar_sync(1, 64);
    if (warp == 1) args.data[i * 32 + lane] = mail[31 - lane];
    bar_sync(2, 64);
  }
}

// Planted errors.
KERNEL(wrong, 64, Args) {
  SHARED(u32, table[64]);
  u32 t = threadIdx.x;
  switch (args.which) {
    case 0:  // a barrier that half of a warp comes to somewhere else
      if (t % 2) {
        __syncthreads();
      } else {
        __syncthreads();
      }
      break;
    case 1:  // a collective that some lanes never come to
      if (t != 5) __syncwarp();
      if (t == 5) __syncthreads();
      break;
    case 2:  // the mask names a lane that has left
      if (t == 3) return;
      __ballot_sync(~0u, 1);
      break;
    case 3:  // read what another thread wrote, with no barrier
      table[t] = t;
      args.data[t] = table[63 - t];
      break;
    case 4:  // uninitialised shared memory
      args.data[t] = table[t];
      break;
    case 5:  // one past the end of a buffer
      args.data[args.count] = t;
      break;
    case 6:  // one past the end of shared memory
      args.data[0] = table[args.count + t];
      break;
    case 7:  // an endless loop with a rendezvous
      for (;;) __syncwarp();
    case 8:  // and one without
      for (;;) {
        if (*(volatile u32*)args.data == 12345) break;
      }
      break;
    case 9:  // a misaligned word
      args.data[0] = *(u32*)((u8*)args.data + args.count);
      break;
    case 10:  // a shift that C++ does not define
      args.data[0] = 1u << (args.count + 32);
      break;
    case 12: {  // one past the end of shared memory, by a pointer
      u32* p = args.data == nullptr ? args.data : table;
      args.data[0] = p[args.count + t];
      break;
    }
    case 11:  // memory that is not there
      args.data[1ull << 40] = t;
      break;
  }
}

// Waits for a flag that another thread sets: fine with relaxed accesses.
KERNEL(flag, 64, Args) {
  if (threadIdx.x == 63) {
    relaxed_store(args.data, 1);
  } else {
    while (relaxed_load(args.data) == 0) {
    }
  }
  atomicAdd(args.data + 1, 1);
}

// Threads hand numbers to each other, in right and in wrong order; ThreadSanitizer tells which. Every odd case lacks
// what the case before it has.
KERNEL(hand_over, 64, Args) {
  SHARED(u32, table[64]);
  const u32 t = threadIdx.x, next = t ^ 1, far = t ^ 32;
  u32 got = 0;
  switch (args.which) {
    case 0:  // __syncwarp between writing and reading
    case 1:  // a shuffle waits for the lanes, but orders no accesses
      table[t] = t;
      if (args.which == 0) __syncwarp();
      if (args.which == 1) __shfl_sync(~0u, t, 0);
      got = table[next];
      break;
    case 2:  // __syncwarp between reading and writing anew
    case 3:
      table[t] = t;
      __syncwarp();
      got = table[next];
      if (args.which == 2) __syncwarp();
      if (args.which == 3) __ballot_sync(~0u, got != 0);
      table[t] = got;
      break;
    case 4:  // a barrier between warps
    case 5:  // which __syncwarp is not
      table[t] = t;
      if (args.which == 4) __syncthreads();
      if (args.which == 5) __syncwarp();
      got = table[far];
      break;
    case 6:  // atomics, then a barrier
    case 7:
      if (t == 0) table[0] = 0;
      __syncthreads();
      atomicAdd(table, 1);
      if (args.which == 6) __syncthreads();
      got = table[0];
      break;
    case 8:  // a warp arrives, the other waits
    case 9:  // and the other way round
      if (t < 32) table[t] = t;
      if ((t < 32) == (args.which == 8)) {
        bar_arrive(1, 64);
      } else {
        bar_sync(1, 64);
      }
      if (t >= 32) got = table[far];
      break;
    case 10:  // blocks with words of their own
    case 11:  // and with the same
      args.data[(args.which == 10 ? blockIdx.x * 64 : 0) + t] = blockIdx.x;
      return;
    case 12:  // half of the lanes meet, the other half meet by themselves
    case 13:  // one half reads what the other wrote
      table[t] = t;
      if (t % 32 < 16) {
        __syncwarp(0x0000FFFFu);
      } else {
        __syncwarp(0xFFFF0000u);
      }
      got = table[args.which == 12 ? next : t ^ 16];
      break;
  }
  args.data[blockIdx.x * 64 + t] = got;
}
