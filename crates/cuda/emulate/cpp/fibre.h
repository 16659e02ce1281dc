// A fibre: a stack of its own and a place to go on. Switching saves what the calling convention asks for and
// nothing else; AddressSanitizer is told about every switch. Who runs when is left to `block.cpp`.
#pragma once
#include <stddef.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulate {

struct Fibre {
  char* bottom =
      nullptr;  // of the stack, above the guard page; null for the scheduler, which runs on its caller's
  size_t size = 0;
  void* fake = nullptr;  // AddressSanitizer's
  void* tsan = nullptr;  // ThreadSanitizer's
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t context;
#endif
};

// Gives `fibre` its stack; false when there is no memory.
bool make_stack(Fibre& fibre);
// Makes `fibre` start at `entry` when it is switched to next. `entry` must not return. What ran on it before
// is dropped.
void prepare(Fibre& fibre, void (*entry)());
// Goes on with `to`; comes back when someone switches to `from`.
void switch_fibre(Fibre& from, Fibre& to);
// To be called first thing in `entry`; notes where the scheduler's own stack is.
void entered(Fibre& from);

}  // namespace emulate
