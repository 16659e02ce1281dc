// The stand-in's knobs and log. Both are text, so that a test in another process can use them through the
// environment: STRILE_STANDIN holds knobs, STRILE_STANDIN_LOG names a file the log is appended to.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

namespace standin {

static thread_local bool reading_environment = false;

static void apply(const char* text) {
  State& s = state();
  std::string all(text);
  size_t at = 0;
  while (at < all.size()) {
    size_t end = all.find(' ', at);
    if (end == std::string::npos) end = all.size();
    std::string item = all.substr(at, end - at);
    at = end + 1;
    size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    std::string key = item.substr(0, equals), value = item.substr(equals + 1);
    u64 number = strtoull(value.c_str(), nullptr, 10);
    if (key == "devices") s.knobs.devices = (int)number;
    if (key == "driver") s.knobs.driver = (int)number;
    if (key == "major") s.knobs.major = (int)number;
    if (key == "minor") s.knobs.minor = (int)number;
    if (key == "multiprocessors") s.knobs.multiprocessors = (int)number;
    if (key == "total") s.knobs.total = number;
    if (key == "short") s.knobs.most_read = number;
    if (key == "free") s.knobs.free = number;
    if (key == "seed") s.knobs.seed = s.random = number;
    if (key == "fail" || key == "stick") {
      // name:nth:code
      size_t a = value.find(':'), b = value.rfind(':');
      if (a == std::string::npos || a == b) continue;
      s.failures.push_back({value.substr(0, a), atoi(value.c_str() + a + 1), atoi(value.c_str() + b + 1), key == "stick"});
    }
  }
}

State& state() {
  static State* s = nullptr;
  static std::once_flag once;
  std::call_once(once, [] { s = new State; });
  static std::once_flag environment;
  if (!reading_environment) {
    std::call_once(environment, [] {
      reading_environment = true;
      if (const char* text = getenv("STRILE_STANDIN")) apply(text);
      reading_environment = false;
    });
  }
  return *s;
}

u64 next_random() {
  u64 z = state().random += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

static void write_log(const std::string& line) {
  state().log += line;
  if (const char* path = getenv("STRILE_STANDIN_LOG")) {
    if (FILE* file = fopen(path, "a")) {
      fputs(line.c_str(), file);
      fclose(file);
    }
  }
}

static std::string formatted(const char* format, va_list list) {
  char text[1024];
  vsnprintf(text, sizeof text, format, list);
  return text;
}

Call::Call(const char* name, bool needs_context) : guard(state().lock), name(name) {
  State& s = state();
  for (Failure& f : s.failures) {
    if (f.call == name && f.nth > 0 && --f.nth == 0) {
      result = f.code;
      ended = true;
      if (f.sticks) s.sticky = f.code;
      return;
    }
  }
  if (strcmp(name, "cuInit") != 0 && strcmp(name, "cuDriverGetVersion") != 0 && !s.initialised) {
    result = NOT_INITIALIZED;
    ended = true;
  } else if (needs_context && s.sticky != SUCCESS) {
    result = s.sticky;
    ended = true;
  } else if (needs_context && current_device() < 0) {
    result = INVALID_CONTEXT;
    ended = true;
  }
}

Call::~Call() {
  char end[32];
  snprintf(end, sizeof end, " result=%d\n", result);
  write_log(std::string(name) + facts + end);
}

Call& Call::size(u64 n) { return note("size=%llu", n); }
Call& Call::stream(u64 id) { return note("stream=%llu", id); }

Call& Call::note(const char* format, ...) {
  va_list list;
  va_start(list, format);
  facts += " " + formatted(format, list);
  va_end(list);
  return *this;
}

CUresult misuse(CUresult code, const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::string text = formatted(format, list);
  va_end(list);
  state().last_error = text;
  if (state().sticky == SUCCESS) state().sticky = code;
  for (char& c : text) {
    if (c == '\n') c = ';';
  }
  write_log("! " + text + "\n");
  fprintf(stderr, "stand-in: %s\n", text.c_str());
  return code;
}

}  // namespace standin

using namespace standin;

#define CONTROL extern "C" __attribute__((visibility("default")))

CONTROL void strile_standin_set(const char* text) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  apply(text);
}

// The log since it was taken last; to be given to strile_standin_free.
CONTROL char* strile_standin_take_log() {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  char* copy = strdup(state().log.c_str());
  state().log.clear();
  return copy;
}

CONTROL void strile_standin_free(char* text) { free(text); }

// Forgets knobs, planted failures, errors and the log; what is allocated and queued stays.
CONTROL void strile_standin_reset() {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  State& s = state();
  s.knobs = Knobs{};
  s.failures.clear();
  s.log.clear();
  s.last_error.clear();
  s.sticky = SUCCESS;
}

// For the stand-in of cuFile: logs a call and gives the planted failure, or 0.
CONTROL int strile_standin_enter(const char* name, const char* facts) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  int code = 0;
  for (Failure& f : state().failures) {
    if (f.call == name && f.nth > 0 && --f.nth == 0) code = f.code;
  }
  char end[32];
  snprintf(end, sizeof end, " result=%d\n", code);
  write_log(std::string(name) + " " + facts + end);
  return code;
}

// For the same: whether bytes may be written, and how many one read gives at most.
CONTROL int strile_standin_holds(u64 address, u64 size) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  return holds(address, size) != nullptr || holds_any(address, size, true) != nullptr;
}
CONTROL u64 strile_standin_most_read() {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  return state().knobs.most_read;
}

// Bytes of device memory that nobody has freed once all that is queued is done: outputs are freed in the order of the
// default stream, which nobody waits for.
CONTROL u64 strile_standin_allocated() {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  run_until(nullptr, [] { return false; });
  return state().allocated;
}
