#include "races.h"

#if defined(STRILE_RACES)
#include <unistd.h>

#include "block.h"

// ThreadSanitizer's, which is in the process from its start.
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fibre);
void __tsan_switch_to_fiber(void* fibre, unsigned flags);
void __tsan_acquire(void* place);
void __tsan_release(void* place);
// Meant for heaps of Java: forget the accesses to a range, and what was released at places in it.
void __tsan_java_alloc(unsigned long start, unsigned long size);
void __tsan_java_free(unsigned long start, unsigned long size);
}

namespace emulate {
namespace races {

const unsigned WITHOUT_ORDER = 1;  // a switch of fibres says nothing about accesses
// Neighbours in the order of blocks have different fibres, so that races between them are found, too.
const u32 POOLS = 2;

static Fibre pools[POOLS][MAX_THREADS];
static u32 turn;
static bool stale;  // threads of a failed launch were left in the middle
static Meeting meetings[MAX_THREADS + BARRIERS];
static Meeting* unused[MAX_THREADS + BARRIERS];
static u32 unused_count;
static u64 ends;

// Launches of all modules come one after the other: one place for the whole process.
static void* launches() { return &environ; }

void begin(Fibre& scheduler) {
  scheduler.tsan = __tsan_get_current_fiber();
  __tsan_acquire(launches());
  __tsan_release(launches());
}

void end() {
  __tsan_acquire(&ends);
  __tsan_release(launches());
  stale = block.failed;
}

void fresh(char* start, char* stop) {
  const u64 first = (u64)start & ~7ull, size = ((u64)stop + 7 - first) & ~7ull;
  if (start >= stop) return;
  __tsan_java_alloc(first, size);
  __tsan_java_free(first, size);
}

bool take_fibres(u32 count) {
  if (stale) {
    for (auto& pool : pools) {
      for (Fibre& fibre : pool) {
        if (fibre.tsan != nullptr) __tsan_destroy_fiber(fibre.tsan);
        fibre.tsan = nullptr;
      }
    }
    stale = false;
  }
  turn = (turn + 1) % POOLS;
  for (u32 i = 0; i < count; i++) {
    Fibre& fibre = pools[turn][i];
    if (fibre.bottom == nullptr && !make_stack(fibre)) return false;
    if (fibre.tsan == nullptr) fibre.tsan = __tsan_create_fiber(0);
    block.threads[i].fibre = fibre;
  }
  return true;
}

void thread_begins() { __tsan_acquire(launches()); }
void thread_ends() { __tsan_release(&ends); }

void arrive(Meeting*& meeting) {
  if (meeting == nullptr) meeting = unused[--unused_count];
  meeting->users++;
  __tsan_release(&meeting->place);
}

void leave(Meeting* meeting, bool learns) {
  if (learns) __tsan_acquire(&meeting->place);
  if (--meeting->users != 0) return;
  __tsan_java_free((u64)&meeting->place, 8);
  unused[unused_count++] = meeting;
}

void forget_meetings() {
  __tsan_java_free((u64)meetings, sizeof meetings);
  unused_count = 0;
  for (Meeting& meeting : meetings) {
    meeting.users = 0;
    unused[unused_count++] = &meeting;
  }
}

void switched(Fibre& to) { __tsan_switch_to_fiber(to.tsan, WITHOUT_ORDER); }

}  // namespace races

u32 unseen_load(const u32* p) { return *(const volatile u32*)p; }

}  // namespace emulate
#endif
