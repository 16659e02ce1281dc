// The scheduler: starts a fibre per thread and picks, by the seed, which goes on. A thread runs until it waits,
// so races show as results that differ between seeds; every seed also has a temper (from the front of the ready
// threads, from their end, one warp far ahead, no preference) because errors need different orders to show.
#include "block.h"

#include <stdarg.h>
#include <stdio.h>

::emulate::Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulate {

Block block;

u64 next_random() {
  u64 z = block.random += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

void make_ready(u32 thread) {
  block.threads[thread].state = READY;
  block.ready[block.ready_count++] = thread;
}

static u32 pick() {
  u32 n = block.ready_count, i = 0;
  u64 r = next_random();
  // One pick in eight is random under every temper, so that a thread waiting for a flag cannot keep the
  // others out.
  switch ((r & 7) == 0 ? 3 : block.seed & 3) {
    case 0:
      i = 0;
      break;
    case 1:
      i = n - 1;
      break;
    case 2: {
      u32 warp = block.current / 32;
      i = (u32)((r >> 32) % n);
      for (u32 k = 0; k < 4 && block.ready[i] / 32 != warp; k++) i = i + 1 == n ? 0 : i + 1;
      break;
    }
    default:
      i = (u32)((r >> 32) % n);
  }
  u32 thread = block.ready[i];
  block.ready[i] = block.ready[--block.ready_count];
  return thread;
}

void wait() {
  u32 self = block.current;
  block.in_kernel = false;
  switch_fibre(block.threads[self].fibre, block.scheduler);
  block.in_kernel = true;
}

void maybe_yield() {
  if ((next_random() & 3) != 0) return;
  make_ready(block.current);
  wait();
}

static void append(const char* format, va_list list) {
  size_t used = strlen(block.message);
  vsnprintf(block.message + used, sizeof block.message - used, format, list);
}

static void say(const char* format, ...) {
  va_list list;
  va_start(list, format);
  append(format, list);
  va_end(list);
}

void fail(const char* format, ...) {
  bool from_thread = block.in_kernel;
  block.in_kernel = false;
  if (!block.failed) {
    block.failed = true;
    block.message[0] = 0;
    say("kernel %s, block (%u, %u), ", block.kernel->name, blockIdx.x, blockIdx.y);
    if (from_thread) say("thread %u, ", block.current);
    say("seed %llu: ", block.seed);
    va_list list;
    va_start(list, format);
    append(format, list);
    va_end(list);
  }
  // A fibre left here is never resumed; nothing in a kernel needs to be undone.
  if (from_thread) {
    for (;;) switch_fibre(block.threads[block.current].fibre, block.scheduler);
  }
}

static bool same_place(const Thread& a, const Thread& b) {
  if (a.state != b.state || a.state == EXITED || a.state == READY) return a.state == b.state;
  return a.op == b.op && a.file == b.file && a.line == b.line && a.mask == b.mask;
}

void describe_threads() {
  for (u32 i = 0; i < block.count;) {
    const Thread& t = block.threads[i];
    u32 end = i + 1;
    while (end < block.count && same_place(t, block.threads[end])) end++;
    say(end - i == 1 ? "; thread %u" : "; threads %u to %u", i, end - 1);
    if (t.state == EXITED) {
      say(" exited");
    } else if (t.state == READY) {
      say(" can run");
    } else {
      const char* slash = strrchr(t.file, '/');
      say(" at %s", name_of(t.op));
      if (t.state == AT_WARP) say(" mask %08x", t.mask);
      if (t.op == BAR_SYNC) say(" barrier %u of %u threads", t.argument, t.width);
      say(" (%s:%d)", slash ? slash + 1 : t.file, t.line);
    }
    i = end;
  }
}

static void thread_main() {
  entered(block.scheduler);
  races::thread_begins();
  u32 self = block.current;
  block.in_kernel = true;
  block.kernel->run(block.args);
  block.in_kernel = false;
  races::thread_ends();
  thread_exited(self);
  for (;;) switch_fibre(block.threads[self].fibre, block.scheduler);
}

void run_block() {
  block.ready_count = 0;
  block.live = block.count;
  block.current = 0;
  block.steps = 0;
  memset(block.barriers, 0, sizeof block.barriers);
  memset(block.arrived, 0, sizeof block.arrived);
  memset(block.gone, 0xFF, sizeof block.gone);
  races::forget_meetings();
  if (!races::take_fibres(block.count)) return fail("no memory for stacks");
  for (u32 i = 0; i < block.count; i++) {
    prepare(block.threads[i].fibre, thread_main);
    block.gone[i / 32] &= ~(1u << (i % 32));
    make_ready(i);
  }
  while (!block.failed && block.live > 0) {
    if (block.ready_count == 0) {
      fail("deadlock, nobody can go on");
      describe_threads();
      return;
    }
    if (++block.steps > block.step_limit || block.expired) {
      fail(block.expired ? "no end in sight: time is up" : "no end in sight: too many steps");
      describe_threads();
      return;
    }
    block.current = pick();
    threadIdx.x = block.current;
    switch_fibre(block.scheduler, block.threads[block.current].fibre);
  }
}

}  // namespace emulate
