// Tells ThreadSanitizer which accesses of a kernel are ordered, where the kernel is compiled with it (STRILE_RACES).
// Every CUDA thread is a fibre of ThreadSanitizer's. Only __syncwarp, barriers, and the begin and end of a launch
// order accesses; shuffles, votes and matches do not, as on the device. Blocks of a launch are not ordered. The
// runtime itself is not instrumented.
#pragma once
#include <stddef.h>

#include "device.h"

namespace emulate {

struct Fibre;

// A rendezvous of some threads: what each did before it is known to all after it.
struct Meeting {
  u64 place;  // ThreadSanitizer knows it by this address
  u32 users;
};

#if defined(STRILE_RACES)
namespace races {

// The launch begins and ends, in the thread of the host.
void begin(Fibre& scheduler);
void end();
// Shared memory is fresh: what other blocks did with it is forgotten.
void fresh(char* start, char* stop);
// Gives the threads of a block fibres that know nothing of the block before.
bool take_fibres(u32 count);
// The running thread begins and ends.
void thread_begins();
void thread_ends();
// The running thread comes to a meeting, a new one where `meeting` is null; leaves it with what all brought, or without.
void arrive(Meeting*& meeting);
void leave(Meeting* meeting, bool learns);
void forget_meetings();
// The processor goes on with another fibre.
void switched(Fibre& to);

}  // namespace races
#else
namespace races {
static inline void begin(Fibre&) {}
static inline void end() {}
static inline void fresh(char*, char*) {}
static inline bool take_fibres(u32) { return true; }
static inline void thread_begins() {}
static inline void thread_ends() {}
static inline void arrive(Meeting*&) {}
static inline void leave(Meeting*, bool) {}
static inline void forget_meetings() {}
static inline void switched(Fibre&) {}
}  // namespace races
#endif

}  // namespace emulate
