#include "fibre.h"

#include "races.h"

#include <stdint.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulate {

// Stacks are touched lazily, so the size costs address space only.
static const size_t STACK = 256 << 10;
static const size_t GUARD = 16 << 10;

bool make_stack(Fibre& fibre) {
  void* map = mmap(nullptr, STACK + GUARD, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return false;
  if (mprotect(map, GUARD, PROT_NONE) != 0) return false;
  fibre.bottom = (char*)map + GUARD;
  fibre.size = STACK;
  return true;
}

static void before(Fibre& from, Fibre& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake, to.bottom, to.size);
#else
  (void)from;
  races::switched(to);
#endif
}

static void after(Fibre& self) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(self.fake, nullptr, nullptr);
#else
  (void)self;
#endif
}

void entered(Fibre& from) {
#if defined(__SANITIZE_ADDRESS__)
  const void* bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  from.bottom = (char*)bottom;
  from.size = size;
#else
  (void)from;
#endif
}

static void forget(Fibre& fibre) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(fibre.bottom, fibre.size);
  fibre.fake = nullptr;
#else
  (void)fibre;
#endif
}

#if defined(__x86_64__)

// System V: rbx, rbp, r12 to r15 and the stack pointer belong to the caller.
extern "C" __attribute__((visibility("hidden"))) void strile_switch(void** save, void* load);
asm(R"(
.text
.hidden strile_switch
.globl strile_switch
.type strile_switch, @function
strile_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size strile_switch, .-strile_switch
)");

void prepare(Fibre& fibre, void (*entry)()) {
  forget(fibre);
  // Six registers, the address to return to, and one word so that the stack is aligned as after a call.
  uint64_t* top = (uint64_t*)((uintptr_t)(fibre.bottom + fibre.size) & ~(uintptr_t)15) - 8;
  for (int i = 0; i < 8; i++) top[i] = 0;
  top[6] = (uint64_t)entry;
  fibre.stack_pointer = top;
}

void switch_fibre(Fibre& from, Fibre& to) {
  before(from, to);
  strile_switch(&from.stack_pointer, to.stack_pointer);
  after(from);
}

#else

void prepare(Fibre& fibre, void (*entry)()) {
  forget(fibre);
  getcontext(&fibre.context);
  fibre.context.uc_stack.ss_sp = fibre.bottom;
  fibre.context.uc_stack.ss_size = fibre.size;
  fibre.context.uc_link = nullptr;
  makecontext(&fibre.context, entry, 0);
}

void switch_fibre(Fibre& from, Fibre& to) {
  before(from, to);
  swapcontext(&from.context, &to.context);
  after(from);
}

#endif

}  // namespace emulate
