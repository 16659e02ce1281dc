// The door to a module: the list of its kernels, the launch, garbage in shared memory, and the watchdog that
// ends a loop with no rendezvous in it. One launch at a time per loaded copy of the module; whoever loads it
// sees to that.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "block.h"

// The linker's names for the section that SHARED variables are in; absent where a module has none.
extern "C" char __start_strile_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_strile_shared[] __attribute__((weak, visibility("hidden")));

namespace emulate {

static const Kernel* kernels = nullptr;

Kernel::Kernel(const char* name, u32 threads, u32 args_size, void (*run)(const void*))
    : name(name), threads(threads), args_size(args_size), run(run), next(kernels) {
  kernels = this;
}

// Not instrumented: it fills the red zones between the variables too.
__attribute__((no_sanitize("address", "undefined"), noinline)) static void fill_shared() {
  char *p = __start_strile_shared, *end = __stop_strile_shared;
  while (p < end) {
    if ((u64)p % 8 == 0 && end - p >= 8) {
      *(volatile u64*)p = next_random();
      p += 8;
    } else {
      *(volatile char*)p = (char)next_random();
      p += 1;
    }
  }
}

static int watchdog_signal() { return SIGRTMIN + 7; }

static void expire() {
  int saved = errno;
  block.expired = true;
  if (block.in_kernel) {
    // The fibre is in kernel code, which holds nothing: leave it for good, with this signal open again.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, watchdog_signal());
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    errno = saved;
    fail("no end in sight: time is up, in a loop without a barrier or collective");
  }
  errno = saved;
}

// The handler is the process's, whichever copy of whichever module set it last: the signal carries whom it is
// for.
static void on_watchdog(int, siginfo_t* info, void*) { ((void (*)())info->si_value.sival_ptr)(); }

// Counts the processor time of this thread, so that a busy machine does no harm.
static bool start_watchdog(timer_t* timer, u32 seconds) {
  struct sigaction action = {};
  action.sa_sigaction = on_watchdog;
  action.sa_flags = SA_SIGINFO;
  sigaction(watchdog_signal(), &action, nullptr);
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_value.sival_ptr = (void*)expire;
  event.sigev_signo = watchdog_signal();
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, timer) != 0) return false;
  struct itimerspec when = {};
  when.it_value.tv_sec = seconds;
  return timer_settime(*timer, 0, &when, nullptr) == 0;
}

#if !defined(__SANITIZE_ADDRESS__)
// An access to memory that is not there ends the launch with an error; AddressSanitizer has a better report.
static struct sigaction previous_fault;
static volatile int launching_thread;

static void on_fault(int number, siginfo_t* info, void* context) {
  if (block.in_kernel && (int)syscall(SYS_gettid) == launching_thread) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    fail("memory fault at address %p", info->si_addr);
  }
  // Not ours: another copy's, or the process's own.
  if (previous_fault.sa_flags & SA_SIGINFO) {
    previous_fault.sa_sigaction(number, info, context);
  } else {
    sigaction(number, &previous_fault, nullptr);
  }
}

static void watch_faults() {
  static bool watching = false;
  launching_thread = (int)syscall(SYS_gettid);
  if (watching) return;
  watching = true;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  // On the process's signal stack, if it has one: a fibre that ran out of its own could not take the signal.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &previous_fault);
}
#else
static void watch_faults() {}
#endif

static void run_grid(u32 grid_x, u32 grid_y) {
  u64 blocks = (u64)grid_x * grid_y;
  // Odd seeds start elsewhere in the grid and go backwards: kernels may not count on an order of blocks.
  u64 start = block.seed & 1 ? next_random() % blocks : 0;
  for (u64 i = 0; i < blocks && !block.failed; i++) {
    u64 b = block.seed & 1 ? (start + blocks - i) % blocks : i;
    blockIdx = {(u32)(b % grid_x), (u32)(b / grid_x), 0};
    fill_shared();
    races::fresh(__start_strile_shared, __stop_strile_shared);
    run_block();
  }
}

}  // namespace emulate

using namespace emulate;

#define EXPORT extern "C" __attribute__((visibility("default")))

// The i-th kernel of the module, or null.
EXPORT const char* strile_kernel(u32 i, u32* threads, u32* args_size) {
  const Kernel* k = kernels;
  while (k != nullptr && i-- > 0) k = k->next;
  if (k == nullptr) return nullptr;
  *threads = k->threads;
  *args_size = k->args_size;
  return k->name;
}

// The twin of `Launch` in `module.rs`.
struct Launch {
  u64 seed;
  u64 steps;  // a block may take before it is called endless
  u32 kernel;
  u32 grid_x, grid_y, threads;
  u32 seconds;  // of processor time, for the whole
  u32 reserved;
};

// Runs a grid; null, or what went wrong (valid until the next launch).
EXPORT const char* strile_launch(const Launch* launch, const void* args) {
  u32 index = launch->kernel, grid_x = launch->grid_x, grid_y = launch->grid_y, threads = launch->threads;
  u64 seed = launch->seed;
  const Kernel* k = kernels;
  while (k != nullptr && index-- > 0) k = k->next;
  if (k == nullptr) return "no such kernel";
  block.kernel = k;
  block.args = args;
  block.seed = seed;
  block.step_limit = launch->steps;
  block.random = (seed + 1) * 0xD1342543DE82EF95ull;
  block.count = threads;
  block.failed = block.expired = block.in_kernel = false;
  blockIdx = threadIdx = {0, 0, 0};
  blockDim = {threads, 1, 1};
  gridDim = {grid_x, grid_y, 1};
  if (grid_x == 0 || grid_y == 0 || grid_y > 65535 || threads == 0 || threads > k->threads ||
      threads > MAX_THREADS) {
    fail("a grid of (%u, %u) blocks of %u threads cannot be launched, the kernel says at most %u", grid_x,
         grid_y, threads, k->threads);
    return block.message;
  }
  for (u32 i = 0; i < threads; i++) {
    if (block.threads[i].fibre.bottom == nullptr && !make_stack(block.threads[i].fibre))
      return "no memory for stacks";
  }
  timer_t timer;
  if (!start_watchdog(&timer, launch->seconds)) return "no timer for the watchdog";
  watch_faults();
  races::begin(block.scheduler);
  run_grid(grid_x, grid_y);
  races::end();
  timer_delete(timer);
  return block.failed ? block.message : nullptr;
}
