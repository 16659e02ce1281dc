// Undefined behaviour found by the compiler's checks becomes an error of the launch that names the line.
// These are the functions that -fsanitize calls, in place of libubsan's; the layouts of their first argument
// are fixed by the compilers.
#include "block.h"

namespace {

struct Place {
  const char* file;
  u32 line, column;
};

[[noreturn]] void report(const void* data, const char* what) {
  const Place& place = *(const Place*)data;
  const char* slash = strrchr(place.file, '/');
  ::emulate::block.in_kernel = true;
  ::emulate::fail("%s (%s:%u:%u)", what, slash ? slash + 1 : place.file, place.line, place.column);
  __builtin_trap();
}

struct Mismatch {
  Place place;
  const void* type;
  u8 log_alignment;
  u8 kind;
};

}  // namespace

// Each check calls the plain name, or, where it must not go on, the one that ends in _abort.
#define HANDLER(name, what, ...)                                          \
  extern "C" void name(void* data, ##__VA_ARGS__) { report(data, what); } \
  extern "C" void name##_abort(void* data, ##__VA_ARGS__) { report(data, what); }

HANDLER(__ubsan_handle_out_of_bounds, "index outside its array", void*)
HANDLER(__ubsan_handle_shift_out_of_bounds, "shift too far, or of a negative number", void*, void*)
HANDLER(__ubsan_handle_add_overflow, "signed overflow of +", void*, void*)
HANDLER(__ubsan_handle_sub_overflow, "signed overflow of -", void*, void*)
HANDLER(__ubsan_handle_mul_overflow, "signed overflow of *", void*, void*)
HANDLER(__ubsan_handle_negate_overflow, "signed overflow of negation", void*)
HANDLER(__ubsan_handle_divrem_overflow, "division by zero, or its overflow", void*, void*)
HANDLER(__ubsan_handle_load_invalid_value, "a value that its type does not have", void*)
extern "C" void __ubsan_handle_builtin_unreachable(void* data) {
  report(data, "reached what cannot be reached");
}
extern "C" void __ubsan_handle_missing_return(void* data) {
  report(data, "a function ended without its result");
}

static void mismatch(void* data, void* pointer) {
  static char what[96];
  u64 alignment = 1ull << ((const Mismatch*)data)->log_alignment;
  snprintf(what, sizeof what, "misaligned: address %p is no multiple of %llu", pointer, alignment);
  report(data, what);
}
extern "C" void __ubsan_handle_type_mismatch_v1(void* data, void* pointer) { mismatch(data, pointer); }
extern "C" void __ubsan_handle_type_mismatch_v1_abort(void* data, void* pointer) { mismatch(data, pointer); }
