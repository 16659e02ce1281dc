// Blends a layer of a mosaic onto a rectangle of a band, bit for bit as specified by `blend.rs` of the engine crate.
// One thread per sample reads, changes and writes it. Products are never fused with sums, and there is only one NaN
// that is written.
#include "steps/blend_abi.h"
#include "reduce/reduce_number.cuh"

// A number like those in `number.rs` of the engine crate.
enum Form : u32 { FORM_UNSIGNED, FORM_SIGNED, FORM_SINGLE, FORM_DOUBLE };

struct Value {
  u32 form;
  u64 whole;    // for integers
  double real;  // for others
};

DEVICE bool is_whole(const Value& value) { return value.form <= FORM_SIGNED; }

// The nearest single; infinity beyond the largest.
DEVICE float narrowed(double value) {
  const double most = 3.4028234663852886e38;
  if (value > most) return __uint_as_float(0x7F800000u);
  return value < -most ? __uint_as_float(0xFF800000u) : (float)value;
}

DEVICE double double_of(const Value& value) {
  if (value.form == FORM_UNSIGNED) return (double)value.whole;
  return value.form == FORM_SIGNED ? (double)(i64)value.whole : value.real;
}

DEVICE float single_of(const Value& value) {
  if (value.form == FORM_UNSIGNED) return (float)value.whole;
  if (value.form == FORM_SIGNED) return (float)(i64)value.whole;
  return value.form == FORM_SINGLE ? (float)value.real : narrowed(value.real);
}

DEVICE u64 blend_load(const u8* at, u32 size, bool aligned) {
  return aligned ? load_aligned(at, size) : load_by_bytes(at, size);
}

DEVICE void blend_store(u8* at, u32 size, u64 bits, bool aligned) {
  if (aligned) {
    store_bits(at, size, bits);
    return;
  }
#pragma unroll 1
  for (u32 i = 0; i < size; i++) at[i] = (u8)(bits >> (8 * i));
}

// A number of `size` bytes; complex samples have two floats.
DEVICE Value value_at(u32 kind, u32 size, const u8* at, bool aligned) {
  const Number number = {kind, size};
  const u64 bits = blend_load(at, size, aligned);
  if (kind == KIND_UNSIGNED) return {FORM_UNSIGNED, bits, 0};
  if (kind == KIND_SIGNED) return {FORM_SIGNED, (u64)extended(number, bits), 0};
  if (size == 8) return {FORM_DOUBLE, 0, __longlong_as_double((i64)bits)};
  return {FORM_SINGLE, 0, (double)as_float(number, bits)};
}

// The bits of a whole number converted to an integer.
DEVICE u64 clamped(const Number& number, const Value& value) {
  const u64 most = number.kind == KIND_SIGNED ? sign_bit(number) - 1 : all_bits(number);
  if (value.form == FORM_UNSIGNED || (i64)value.whole >= 0) return value.whole < most ? value.whole : most;
  if (number.kind == KIND_UNSIGNED) return 0;
  const i64 least = -(i64)most - 1;
  return (u64)((i64)value.whole > least ? (i64)value.whole : least) & all_bits(number);
}

// The bits of a real converted to an integer, half away from zero in its own precision.
DEVICE u64 rounded(const Number& number, const Value& value) {
  double real;
  if (value.form == FORM_SINGLE) {
    const float single = (float)value.real;
    real = (double)__fadd_rn(single, single > 0 ? 0.5f : -0.5f);
  } else {
    real = __dadd_rn(value.real, value.real > 0 ? 0.5 : -0.5);
  }
  const double end = (double)sign_bit(number);
  if (number.kind == KIND_UNSIGNED) {
    if (!(real >= 1)) return 0;
    return real >= 2 * end ? all_bits(number) : (u64)real;
  }
  if (real != real) return 0;
  if (real >= end) return sign_bit(number) - 1;
  return real <= -end ? sign_bit(number) : (u64)(i64)real & all_bits(number);
}

DEVICE u64 bits_of(const Number& number, const Value& value) {
  if (number.kind == KIND_FLOAT) {
    return float_bits(number.size, number.size == 8 ? double_of(value) : (double)single_of(value));
  }
  return is_whole(value) ? clamped(number, value) : rounded(number, value);
}

template <class T>
DEVICE T magnitude(T value) {
  return value < 0 ? -value : value;
}

// Equal except for the last digits.
DEVICE bool is_near(bool is_double, double a, double b) {
  if (a == b) return true;
  if (is_double) {
    const double difference = magnitude(__dsub_rn(a, b)), sum = magnitude(__dadd_rn(a, b));
    return difference < __dmul_rn(__dmul_rn(1.1920928955078125e-7, sum), 2.0);
  }
  const float difference = magnitude(__fsub_rn((float)a, (float)b)), sum = magnitude(__fadd_rn((float)a, (float)b));
  return difference < __fmul_rn(__fmul_rn(1.1920928955078125e-7f, sum), 2.0f);
}

DEVICE bool is_nodata(bool is_double, double value, double nodata) {
  if (value != value || nodata != nodata) return value != value && nodata != nodata;
  return is_near(is_double, value, nodata);
}

// The entry of a value, or an interpolation between its neighbours; beyond the table, its end entries.
DEVICE double looked_up(const double* table, u32 entries, double value) {
  if (table[0] != table[0]) {
    if (value != value || entries == 1) return table[1];
    table += 2;
    entries--;
  }
  u32 low = 0, high = entries;
#pragma unroll 1
  while (low < high) {
    const u32 middle = low + (high - low) / 2;
    if (table[2 * middle] < value) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return table[1];
  const double* after = table + 2 * low;
  const double* before = after - 2;
  if (low == entries) return before[1];
  if (after[0] == value) return after[1];
  const double slope = __ddiv_rn(__dsub_rn(after[1], before[1]), __dsub_rn(after[0], before[0]));
  return __dadd_rn(before[1], __dmul_rn(__dsub_rn(value, before[0]), slope));
}

// Rounded to the working precision.
DEVICE double working(bool is_double, double value) { return is_double ? value : (double)(float)value; }

DEVICE double changed(const BlendArgs& args, double value) {
  const bool is_double = (args.flags & BLEND_DOUBLE) != 0;
  if ((args.flags & BLEND_SCALED) != 0) {
    value = working(is_double, __dadd_rn(__dmul_rn(value, args.ratio), args.offset));
  }
  return args.entries == 0 ? value : working(is_double, looked_up(args.table, args.entries, value));
}

// A number in the working precision.
DEVICE double taken(const BlendArgs& args, const Value& value) {
  return (args.flags & BLEND_DOUBLE) != 0 ? double_of(value) : (double)single_of(value);
}

KERNEL(blend, BLEND_THREADS, BlendArgs) {
  const u32 pixel = blockIdx.x * BLEND_THREADS + threadIdx.x;
  if (pixel >= args.width * args.height) return;
  const u32 row = pixel / args.width, column = pixel - row * args.width;
  const u64 y = args.rows == nullptr ? row : args.rows[row], x = args.columns == nullptr ? column : args.columns[column];
  if (args.mask != nullptr && args.mask[y * args.mask_row + x * args.mask_column] == 0) return;
  const u8* at = args.src + y * args.src_row + x * args.src_column;
  u8* to = args.dst + row * args.dst_row + column * args.dst_column;
  const bool aligned = (args.flags & BLEND_UNALIGNED) == 0;
  // Complex samples are two floats.
  const bool is_pair = args.kind == KIND_COMPLEX, to_pair = args.to_kind == KIND_COMPLEX;
  const u32 kind = is_pair ? KIND_FLOAT : args.kind, size = is_pair ? args.size / 2 : args.size;
  const Number number = {to_pair ? KIND_FLOAT : args.to_kind, to_pair ? args.to_size / 2 : args.to_size};
  if (args.way == BLEND_UNLESS && blend_load(at, size, aligned) == args.sample) return;
  const bool is_same = args.kind == args.to_kind && args.size == args.to_size;
  if (args.way == BLEND_COPY || (args.way == BLEND_UNLESS && is_same)) {
    blend_store(to, size, blend_load(at, size, aligned), aligned);
    if (is_pair) blend_store(to + size, size, blend_load(at + size, size, aligned), aligned);
    return;
  }
  Value real = value_at(kind, size, at, aligned), imaginary = {FORM_SIGNED, 0, 0};
  if (is_pair && to_pair) imaginary = value_at(kind, size, at + size, aligned);
  if (args.way == BLEND_CONVERT) {
    const i64 largest = (i64)args.largest;
    const bool above = real.form == FORM_UNSIGNED ? largest < 0 || real.whole > (u64)largest : (i64)real.whole > largest;
    if ((args.flags & BLEND_HAS_LARGEST) != 0 && is_whole(real) && above) real = {FORM_SIGNED, (u64)largest, 0};
  }
  if (args.way == BLEND_CHANGE) {
    const bool is_double = (args.flags & BLEND_DOUBLE) != 0;
    const u32 form = is_double ? FORM_DOUBLE : FORM_SINGLE;
    double value = taken(args, real);
    if ((args.flags & BLEND_HAS_NODATA) != 0 && is_nodata(is_double, value, args.nodata)) return;
    value = changed(args, value);
    if (to_pair) imaginary = {form, 0, changed(args, taken(args, imaginary))};
    if (!to_pair && (args.flags & BLEND_HAS_LARGEST) != 0 && value > args.largest) value = args.largest;
    real = {form, 0, value};
    if ((args.flags & BLEND_BYTE) != 0) real = {FORM_SINGLE, 0, (double)single_of(real)};
  }
  blend_store(to, number.size, bits_of(number, real), aligned);
  if (to_pair) blend_store(to + number.size, number.size, bits_of(number, imaginary), aligned);
}
