// The state of the running block: its threads, what each waits for, and the error if there is one. One module
// has one running launch at a time, so this is global; `block.cpp` schedules, `rendezvous.cpp` lets threads
// wait for each other, `launch.cpp` is the door.
#pragma once
#include "device.h"
#include "fibre.h"
#include "races.h"

namespace emulate {

const u32 MAX_THREADS = 1024;
const u32 BARRIERS = 16;

enum State : u8 { READY, AT_WARP, AT_BARRIER, EXITED };

struct Thread {
  Fibre fibre;
  State state;
  bool predicate;
  Op op;
  u32 mask;      // of a warp collective
  u32 argument;  // lane or distance of a shuffle; number of a barrier
  u32 width;
  u64 value, result;
  const char* file;
  int line;
  Meeting* meeting;  // that it waits at
};

struct Barrier {
  u32 arrived, expected;  // expected 0: every live thread
  u32 predicates;
  Meeting* meeting;
};

struct Block {
  Fibre scheduler;
  Thread threads[MAX_THREADS];
  Barrier barriers[BARRIERS];
  u32 arrived[MAX_THREADS / 32];  // lanes of each warp that wait at a warp collective
  u32 gone[MAX_THREADS / 32];     // lanes that exited or never were
  u32 ready[MAX_THREADS];         // a queue without order: see `pick`
  u32 ready_count, count, live, current;
  const Kernel* kernel;
  const void* args;
  u64 seed, random, steps, step_limit;
  bool failed;
  volatile bool in_kernel;  // the running fibre executes kernel code, not ours
  volatile bool expired;    // the watchdog wants an end
  char message[4096];
};

extern Block block;

// Another number of the launch's sequence.
u64 next_random();
// Makes a thread runnable.
void make_ready(u32 thread);
// Leaves the running thread; comes back when it was made ready and picked.
void wait();
// Ends the launch with an error; from a thread it does not come back.
void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
// What every thread is doing, in words, appended to the message.
void describe_threads();
// The thread has left the kernel.
void thread_exited(u32 thread);
const char* name_of(Op op);
// Runs the block whose index is in blockIdx to its end, or until the first error.
void run_block();

}  // namespace emulate
