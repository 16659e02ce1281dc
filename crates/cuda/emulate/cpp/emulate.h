// The C++ twin of everything `device.h` offers to kernels, for g++: builtin variables, barriers, warp
// collectives, atomics, bit tricks, vector types. What needs the other threads of a block goes to the
// scheduler in `block.cpp`; the rest is here. Kernels see this file through `device.h` only.
#pragma once
#include <stdio.h>
#include <string.h>

#define KERNEL(name, THREADS, Args)                                                                 \
  static void name(const Args& args);                                                               \
  static const ::emulate::Kernel name##_kernel(#name, THREADS, sizeof(Args),                        \
                                               [](const void* args) { name(*(const Args*)args); }); \
  static void name([[maybe_unused]] const Args& args)
#define KERNEL_RESIDENT(name, THREADS, BLOCKS, Args) KERNEL(name, THREADS, Args)
// Blocks run one after the other, so a static variable is the shared memory of the running block; being in a
// section of their own, all of them are filled with garbage before every block.
#define SHARED(Type, name) static typename Same<Type>::type name __attribute__((section("strile_shared")))
#define CONSTANT [[maybe_unused]] static const
#define DEVICE [[maybe_unused]] static inline
#define NOINLINE [[maybe_unused]] static __attribute__((noinline))
#define __device__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))

namespace emulate {

struct Index {
  u32 x, y, z;
};

// One entry point of a module; the constructor enters it into the list.
struct Kernel {
  const char* name;
  u32 threads;
  u32 args_size;
  void (*run)(const void* args);
  const Kernel* next;
  Kernel(const char* name, u32 threads, u32 args_size, void (*run)(const void*));
};

enum Op : u8 {
  SYNCWARP,
  SHFL,
  SHFL_UP,
  SHFL_DOWN,
  SHFL_XOR,
  BALLOT,
  ANY,
  ALL,
  MATCH_ANY,
  SYNCTHREADS,
  SYNCTHREADS_OR,
  SYNCTHREADS_AND,
  SYNCTHREADS_COUNT,
  BAR_SYNC,
  BAR_ARRIVE,
};

// Waits for all lanes of `mask`, then gives the calling lane's result. `argument`: lane or distance; `width`:
// of shuffles.
u64 warp(Op op, u32 mask, u64 value, u32 argument, u32 width, const char* file, int line);
// Waits at barrier `id` for `threads` threads, or for all live threads of the block when 0.
u32 barrier(Op op, u32 id, u32 threads, bool predicate, const char* file, int line);
// Lets other threads run first, sometimes: for accesses that may race on purpose.
void maybe_yield();

// What atomics and relaxed accesses read and write memory by. ThreadSanitizer does not report two of them.
#if defined(STRILE_RACES)
template <class T>
static inline T load(const T* p) {
  T v;
  __atomic_load(p, &v, __ATOMIC_RELAXED);
  return v;
}
template <class T>
static inline void store(T* p, T v) {
  __atomic_store(p, &v, __ATOMIC_RELAXED);
}
// Not seen by ThreadSanitizer.
u32 unseen_load(const u32* p);
#else
template <class T>
static inline T load(const T* p) {
  return *(const volatile T*)p;
}
template <class T>
static inline void store(T* p, T v) {
  *(volatile T*)p = v;
}
static inline u32 unseen_load(const u32* p) { return load(p); }
#endif

template <class T>
u64 pack(T v) {
  static_assert(sizeof(T) <= 8, "at most 64 bits travel between lanes");
  u64 bits = 0;
  memcpy(&bits, &v, sizeof(T));
  return bits;
}

template <class T>
T unpack(u64 bits) {
  T v;
  memcpy(&v, &bits, sizeof(T));
  return v;
}

}  // namespace emulate

// Set by the scheduler whenever a thread goes on.
extern ::emulate::Index threadIdx, blockIdx, blockDim, gridDim;
static constexpr int warpSize = 32;

#define WHERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(WHERE) {
  ::emulate::barrier(::emulate::SYNCTHREADS, 0, 0, false, file, line);
}
static inline int __syncthreads_or(int p, WHERE) {
  return (int)::emulate::barrier(::emulate::SYNCTHREADS_OR, 0, 0, p != 0, file, line);
}
static inline int __syncthreads_and(int p, WHERE) {
  return (int)::emulate::barrier(::emulate::SYNCTHREADS_AND, 0, 0, p != 0, file, line);
}
static inline int __syncthreads_count(int p, WHERE) {
  return (int)::emulate::barrier(::emulate::SYNCTHREADS_COUNT, 0, 0, p != 0, file, line);
}
static inline void bar_sync(u32 id, u32 threads, WHERE) {
  ::emulate::barrier(::emulate::BAR_SYNC, id, threads, false, file, line);
}
static inline void bar_arrive(u32 id, u32 threads, WHERE) {
  ::emulate::barrier(::emulate::BAR_ARRIVE, id, threads, false, file, line);
}
static inline void __syncwarp(u32 mask = 0xFFFFFFFFu, WHERE) {
  ::emulate::warp(::emulate::SYNCWARP, mask, 0, 0, 32, file, line);
}

#define STRILE_SHUFFLE(name, op, Argument)                                                                \
  template <class T>                                                                                      \
  static inline T name(u32 mask, T v, Argument argument, int width = 32, WHERE) {                         \
    return ::emulate::unpack<T>(                                                                          \
        ::emulate::warp(::emulate::op, mask, ::emulate::pack(v), (u32)argument, (u32)width, file, line)); \
  }
STRILE_SHUFFLE(__shfl_sync, SHFL, int)
STRILE_SHUFFLE(__shfl_up_sync, SHFL_UP, u32)
STRILE_SHUFFLE(__shfl_down_sync, SHFL_DOWN, u32)
STRILE_SHUFFLE(__shfl_xor_sync, SHFL_XOR, int)
#undef STRILE_SHUFFLE

static inline u32 __ballot_sync(u32 mask, int p, WHERE) {
  return (u32)::emulate::warp(::emulate::BALLOT, mask, p != 0, 0, 32, file, line);
}
static inline int __any_sync(u32 mask, int p, WHERE) {
  return (int)::emulate::warp(::emulate::ANY, mask, p != 0, 0, 32, file, line);
}
static inline int __all_sync(u32 mask, int p, WHERE) {
  return (int)::emulate::warp(::emulate::ALL, mask, p != 0, 0, 32, file, line);
}
template <class T>
static inline u32 __match_any_sync(u32 mask, T v, WHERE) {
  return (u32)::emulate::warp(::emulate::MATCH_ANY, mask, ::emulate::pack(v), 0, 32, file, line);
}
#undef WHERE

// Fibres of one block share one thread of the system: what is between two rendezvous is atomic as it stands.
#define STRILE_ATOMIC(name, expression)                  \
  template <class T>                                     \
  static inline T name(T* p, typename Same<T>::type v) { \
    ::emulate::maybe_yield();                            \
    T old = ::emulate::load(p);                          \
    ::emulate::store(p, expression);                     \
    return old;                                          \
  }
STRILE_ATOMIC(atomicAdd, (T)(old + v))
STRILE_ATOMIC(atomicMin, (old < v ? old : v))
STRILE_ATOMIC(atomicMax, (old > v ? old : v))
STRILE_ATOMIC(atomicOr, (T)(old | v))
STRILE_ATOMIC(atomicAnd, (T)(old & v))
STRILE_ATOMIC(atomicXor, (T)(old ^ v))
STRILE_ATOMIC(atomicExch, v)
#undef STRILE_ATOMIC
template <class T>
static inline T atomicCAS(T* p, typename Same<T>::type expected, typename Same<T>::type v) {
  ::emulate::maybe_yield();
  T old = ::emulate::load(p);
  if (old == expected) ::emulate::store(p, v);
  return old;
}
template <class T>
static inline T relaxed_load(const T* p) {
  static_assert(sizeof(T) <= 8, "one word");
  ::emulate::maybe_yield();
  return ::emulate::load(p);
}
template <class T>
static inline void relaxed_store(T* p, typename Same<T>::type v) {
  static_assert(sizeof(T) <= 8, "one word");
  ::emulate::maybe_yield();
  ::emulate::store(p, v);
}
static inline u32 partial_load(const u32* p) {
  ::emulate::maybe_yield();
  return ::emulate::unseen_load(p);
}
static inline void uses([[maybe_unused]] const u8* p, [[maybe_unused]] u32 count) {
#if defined(STRILE_RACES)
  for (u32 i = 0; i < count; i++) (void)((const volatile u8*)p)[i];
#endif
}
static inline void __threadfence() { ::emulate::maybe_yield(); }
static inline void __threadfence_block() { ::emulate::maybe_yield(); }
template <class T>
static inline T __ldg(const T* p) {
  return *p;
}

#include "arithmetic.h"
