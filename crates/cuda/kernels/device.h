// Everything that kernels may use of the device: fixed-size types, the macros that declare kernels and memory, and all
// intrinsics and inline PTX. Compiled by NVRTC (compute_70 or later) the names are CUDA's own; compiled by g++ they
// come from `emulate.h`, its C++ counterpart, which runs a fibre per CUDA thread. No kernel includes any other system
// header or contains inline PTX.
//
//   KERNEL(name, THREADS, Args) { ... args.count ... }   an entry point; one struct by value, const, named `args`
//   KERNEL_RESIDENT(name, THREADS, BLOCKS, Args)         the same, with registers for BLOCKS resident CUDA blocks per
//                                                        multiprocessor
//   SHARED(Type, name);  SHARED(u32, table[256]);        static shared memory, uninitialised, inside a kernel only:
//                                                        pass it on to DEVICE functions by pointer or reference
//   CONSTANT u16 base[29] = {...};                       a read-only table at file scope
//   DEVICE u32 f(...) {...}                              a function for kernels, always inlined
//   NOINLINE u32 f(...) {...}                            one that is never inlined
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

static_assert(sizeof(u32) == 4 && sizeof(u64) == 8 && sizeof(void*) == 8, "a 64-bit device");

template <class T>
struct Same {
  typedef T type;
};

#ifdef __CUDACC__

#define KERNEL(name, THREADS, Args) extern "C" __global__ void __launch_bounds__(THREADS) name(const Args args)
#define KERNEL_RESIDENT(name, THREADS, BLOCKS, Args) \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name(const Args args)
#define SHARED(Type, name) __shared__ typename Same<Type>::type name
#define CONSTANT static __constant__ const
#define DEVICE static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__

// Barrier of `threads` threads (whole warps) among the 16 barriers of a block; number 0 is that of __syncthreads.
DEVICE void bar_sync(u32 id, u32 threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// Counts the calling threads at that barrier without waiting; only the threads in bar_sync wait.
DEVICE void bar_arrive(u32 id, u32 threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// Sum of the products of the bytes of two words, plus `more`.
DEVICE u32 dot_bytes(u32 a, u32 b, u32 more) {
  u32 sum;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(more));
  return sum;
}

// Number of zeros above the highest bit of a nonzero number.
DEVICE u32 zeros_above(u32 v) {
  u32 count;
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(count) : "r"(v));
  return count;
}

// The only way to access memory that another thread accesses concurrently without an atomic or a barrier between. The
// access is one whole word; the compiler neither caches nor moves it. It orders nothing else.
template <class T>
DEVICE T relaxed_load(const T* p) {
  static_assert(sizeof(T) <= 8, "one word");
  return *(const volatile T*)p;
}

template <class T>
DEVICE void relaxed_store(T* p, typename Same<T>::type v) {
  static_assert(sizeof(T) <= 8, "one word");
  *(volatile T*)p = v;
}

// The same for a word of which other threads may write some bytes meanwhile. The caller drops those bytes and declares
// which it uses with `uses`. That does nothing here, but race checking requires these bytes to have been written
// before.
DEVICE u32 partial_load(const u32* p) { return relaxed_load(p); }
DEVICE void uses(const u8*, u32) {}

// Shared memory by its 32-bit address, for loops in which the compiler would recompute addresses every time.
typedef u32 SharedAddress;

DEVICE SharedAddress shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

DEVICE u32 shared_load(SharedAddress at) {
  u32 v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
  return v;
}

DEVICE u32 shared_load16(SharedAddress at) {
  u32 v;
  asm volatile("{ .reg .u16 half; ld.shared.u16 half, [%1]; cvt.u32.u16 %0, half; }" : "=r"(v) : "r"(at) : "memory");
  return v;
}

// Loads a byte.
DEVICE u32 shared_load8(SharedAddress at) {
  u32 v;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
  return v;
}

DEVICE void shared_store(SharedAddress at, u32 v) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
}

// Stores the low 16 bits.
DEVICE void shared_store16(SharedAddress at, u32 v) {
  asm volatile("{ .reg .u16 low, high; mov.b32 {low, high}, %1; st.shared.u16 [%0], low; }" ::"r"(at), "r"(v) : "memory");
}

// Loads if `flag` is not 0, with a predicated instruction instead of a branch.
DEVICE void shared_load_where(u32& v, SharedAddress at, u32 flag) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.shared.u32 %0, [%1]; }" : "+r"(v) : "r"(at), "r"(flag) : "memory");
}

// If `moves` is not 0, shifts the next word into a window of three; the load does not block until its value is needed.
DEVICE void shared_advance(u32& low, u32& high, u32& ahead, SharedAddress& next, u32 moves) {
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %4, 0; @p mov.u32 %0, %1; @p mov.u32 %1, %2; @p ld.shared.u32 %2, [%3];"
      " @p add.u32 %3, %3, 4; }"
      : "+r"(low), "+r"(high), "+r"(ahead), "+r"(next)
      : "r"(moves)
      : "memory");
}

// Adds `v` if `flag` is not 0 (add_where) or is 0 (add_unless), with a predicated instruction instead of arithmetic.
DEVICE void add_where(u32& sum, u32 v, u32 flag) {
  asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p add.u32 %0, %0, %1; }" : "+r"(sum) : "r"(v), "r"(flag));
}
DEVICE void add_unless(u32& sum, u32 v, u32 flag) {
  asm("{ .reg .pred p; setp.eq.u32 p, %2, 0; @p add.u32 %0, %0, %1; }" : "+r"(sum) : "r"(v), "r"(flag));
}

#else
#include "emulate.h"

DEVICE u32 dot_bytes(u32 a, u32 b, u32 more) {
  for (u32 shift = 0; shift < 32; shift += 8) more += (a >> shift & 0xFF) * (b >> shift & 0xFF);
  return more;
}

DEVICE u32 zeros_above(u32 v) { return (u32)__clz((i32)v); }

typedef u64 SharedAddress;

DEVICE SharedAddress shared_address(const void* p) { return (SharedAddress)p; }
DEVICE u32 shared_load(SharedAddress at) { return *(const u32*)at; }
DEVICE u32 shared_load8(SharedAddress at) { return *(const u8*)at; }
DEVICE u32 shared_load16(SharedAddress at) { return *(const u16*)at; }
DEVICE void shared_store(SharedAddress at, u32 v) { *(u32*)at = v; }
DEVICE void shared_store16(SharedAddress at, u32 v) { *(u16*)at = (u16)v; }
DEVICE void shared_load_where(u32& v, SharedAddress at, u32 flag) {
  if (flag != 0) v = shared_load(at);
}
DEVICE void shared_advance(u32& low, u32& high, u32& ahead, SharedAddress& next, u32 moves) {
  if (moves == 0) return;
  low = high;
  high = ahead;
  ahead = shared_load(next);
  next += 4;
}
DEVICE void add_where(u32& sum, u32 v, u32 flag) { sum += flag != 0 ? v : 0; }
template <class T>
DEVICE void add_unless(T& sum, u32 v, u32 flag) {
  if (flag == 0) sum += v;
}
#endif

// IEEE binary16 to binary32, exact; a NaN keeps its payload and becomes quiet. Avoids the conversion instruction, which
// may replace a NaN.
DEVICE float half_to_float(u16 h) {
  u32 sign = (u32)(h & 0x8000u) << 16, exponent = h >> 10 & 31, fraction = h & 1023u;
  if (exponent == 31) {
    return __uint_as_float(sign | 0x7F800000u | fraction << 13 | (fraction != 0 ? 0x400000u : 0));
  }
  if (exponent != 0) return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = (float)fraction * 5.9604644775390625e-8f;
  return sign ? -magnitude : magnitude;
}
