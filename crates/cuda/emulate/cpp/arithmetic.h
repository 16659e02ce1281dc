// Twins of the intrinsics that need no other thread: bits, vector types, bit casts, rounding. Part of
// `emulate.h`.
#pragma once

static inline int __popc(u32 v) { return __builtin_popcount(v); }
static inline int __popcll(u64 v) { return __builtin_popcountll(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(i64 v) { return __builtin_ffsll(v); }
static inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz((u32)v); }
static inline int __clzll(i64 v) { return v == 0 ? 64 : __builtin_clzll((u64)v); }
static inline u32 __brev(u32 v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0F0F0F0Fu) | (v & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(v);
}
static inline u64 __brevll(u64 v) { return (u64)__brev((u32)v) << 32 | __brev((u32)(v >> 32)); }
static inline u32 __byte_perm(u32 a, u32 b, u32 selector) {
  u64 bytes = (u64)b << 32 | a;
  u32 out = 0;
  for (int i = 0; i < 4; i++) {
    u32 s = selector >> (4 * i) & 15;
    u32 byte = (u32)(bytes >> (8 * (s & 7))) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    out |= byte << (8 * i);
  }
  return out;
}
// The shift counts modulo 32; those ending in c stop at 32.
static inline u32 __funnelshift_l(u32 lo, u32 hi, u32 n) {
  return (u32)(((u64)hi << 32 | lo) << (n & 31) >> 32);
}
static inline u32 __funnelshift_r(u32 lo, u32 hi, u32 n) { return (u32)(((u64)hi << 32 | lo) >> (n & 31)); }
static inline u32 __funnelshift_lc(u32 lo, u32 hi, u32 n) {
  return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
static inline u32 __funnelshift_rc(u32 lo, u32 hi, u32 n) {
  return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}
static inline u32 __umulhi(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
static inline u64 __umul64hi(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }

// As CUDA overloads them: one signed and one unsigned argument give an unsigned result.
#define STRILE_MIN_MAX(A, B, R)                                       \
  static inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; } \
  static inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
STRILE_MIN_MAX(int, int, int)
STRILE_MIN_MAX(unsigned, unsigned, unsigned)
STRILE_MIN_MAX(int, unsigned, unsigned)
STRILE_MIN_MAX(unsigned, int, unsigned)
STRILE_MIN_MAX(long, long, long)
STRILE_MIN_MAX(unsigned long, unsigned long, unsigned long)
STRILE_MIN_MAX(long, unsigned long, unsigned long)
STRILE_MIN_MAX(unsigned long, long, unsigned long)
STRILE_MIN_MAX(long long, long long, long long)
STRILE_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
STRILE_MIN_MAX(long long, unsigned long long, unsigned long long)
STRILE_MIN_MAX(unsigned long long, long long, unsigned long long)
STRILE_MIN_MAX(float, float, float)
STRILE_MIN_MAX(double, double, double)
#undef STRILE_MIN_MAX

// Vector types with CUDA's alignment, so that a misaligned 16-byte access is found here too.
#define STRILE_VECTOR2(name, T)        \
  struct alignas(2 * sizeof(T)) name { \
    T x, y;                            \
  };                                   \
  static inline name make_##name(T x, T y) { return name{x, y}; }
#define STRILE_VECTOR4(name, T)                                  \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name { \
    T x, y, z, w;                                                \
  };                                                             \
  static inline name make_##name(T x, T y, T z, T w) { return name{x, y, z, w}; }
STRILE_VECTOR2(uchar2, u8)
STRILE_VECTOR2(ushort2, u16)
STRILE_VECTOR2(uint2, u32)
STRILE_VECTOR2(int2, i32)
STRILE_VECTOR2(ulonglong2, u64)
STRILE_VECTOR2(float2, float)
STRILE_VECTOR4(uchar4, u8)
STRILE_VECTOR4(ushort4, u16)
STRILE_VECTOR4(uint4, u32)
STRILE_VECTOR4(int4, i32)
STRILE_VECTOR4(float4, float)
#undef STRILE_VECTOR2
#undef STRILE_VECTOR4

static inline float __uint_as_float(u32 v) { return ::emulate::unpack<float>(v); }
static inline u32 __float_as_uint(float v) { return (u32)::emulate::pack(v); }
static inline float __int_as_float(i32 v) { return ::emulate::unpack<float>((u32)v); }
static inline i32 __float_as_int(float v) { return (i32)::emulate::pack(v); }
static inline double __longlong_as_double(i64 v) { return ::emulate::unpack<double>((u64)v); }
static inline i64 __double_as_longlong(double v) { return (i64)::emulate::pack(v); }

// Rounded to nearest and never contracted: plain operators, compiled with -ffp-contract=off.
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
static inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
// To nearest, ties to even; what does not fit becomes the nearest that does, and what is no number 0.
static inline i32 __float2int_rn(float a) {
  if (!(a == a)) return 0;
  const float nearest = __builtin_rintf(a);
  return nearest >= 2147483648.0f ? 0x7FFFFFFF : nearest < -2147483648.0f ? -0x7FFFFFFF - 1 : (i32)nearest;
}
