// What stand-ins of NVIDIA's libraries use of the stand-in driver: its log and planted failures, its memory, its streams.
#pragma once
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long u64;

struct Driver {
  int (*enter)(const char*, const char*);
  int (*holds)(u64, u64);
  u64 (*most_read)();
  int (*host_function)(u64, void (*)(void*), void*);
};

static const Driver& driver() {
  static const Driver found = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    Driver d;
    d.enter = (int (*)(const char*, const char*))dlsym(library, "strile_standin_enter");
    d.holds = (int (*)(u64, u64))dlsym(library, "strile_standin_holds");
    d.most_read = (u64 (*)())dlsym(library, "strile_standin_most_read");
    d.host_function = (int (*)(u64, void (*)(void*), void*))dlsym(library, "cuLaunchHostFunc");
    return d;
  }();
  return found;
}

static inline void misuse(const char* text) { driver().enter("!", text); }
