// What stand-ins of NVIDIA's libraries for pictures share: memory that grows, jobs on streams, and a function of the test
// that knows the pixels of a stream.
#pragma once
#include <atomic>
#include <vector>

#include "standin_driver.h"

enum {
  INVALID_PARAMETER = 2,
  BAD_STREAM = 3,
  NOT_SUPPORTED = 4,
  NO_MEMORY = 5,
  EXECUTION_FAILED = 6,
  INTERNAL = 8,
};

// Writes the samples of a stream, gives 0 where it knows them.
typedef int (*Decoder)(const void* src, size_t src_len, void* dst, size_t dst_len);

static Decoder decoder = nullptr;

extern "C" __attribute__((visibility("default"))) void strile_standin_decoder(Decoder given) { decoder = given; }

// Memory by the functions that the caller gave: `allocate(context, to, size, stream)`, `free(context, at, size, stream)`.
struct Allocator {
  int (*allocate)(void*, void**, size_t, u64);
  int (*release)(void*, void*, size_t, u64);
  void* context;
};

// Memory of a state, which grows with what it decodes, as the libraries' does.
struct Working {
  const Allocator *device, *pinned;
  void *on_device = nullptr, *on_host = nullptr;
  size_t size = 0;

  bool grow(size_t wanted, u64 stream) {
    if (wanted <= size) return true;
    release(stream);
    if (device->allocate(device->context, &on_device, wanted, stream) != 0) return false;
    if (pinned->allocate(pinned->context, &on_host, wanted, stream) != 0) return false;
    size = wanted;
    return true;
  }

  void release(u64 stream) {
    if (on_device != nullptr && device->release(device->context, on_device, size, stream) != 0) {
      misuse("device memory of a library could not be freed");
    }
    if (on_host != nullptr && pinned->release(pinned->context, on_host, size, stream) != 0) {
      misuse("pinned memory of a library could not be freed");
    }
    on_device = on_host = nullptr;
    size = 0;
  }
};

// One picture that the stream comes to.
struct Picture {
  const void* src;
  size_t src_len;
  void* dst;
  size_t dst_len;
};

// Work of one state: while it is under way the state, and what else `busy` counts, may not be used again.
struct Job {
  std::vector<Picture> pictures;
  std::vector<std::atomic<int>*> busy;
  void* scratch;
  size_t scratch_len;
};

static void run(void* data) {
  Job* job = (Job*)data;
  if (driver().holds((u64)job->scratch, job->scratch_len)) {
    // It is the library's to scribble on.
    memset(job->scratch, 0xC7, job->scratch_len);
  } else {
    misuse("the library's own memory is gone");
  }
  for (const Picture& p : job->pictures) {
    if (!driver().holds((u64)p.dst, p.dst_len)) {
      misuse("samples have no memory");
    } else if (decoder == nullptr || decoder(p.src, p.src_len, p.dst, p.dst_len) != 0) {
      misuse("a stream that the test does not know");
    }
  }
  for (std::atomic<int>* one : job->busy) one->store(0);
  delete job;
}

// Queues a job; a state that is under way already is a misuse.
static int queue(Job* job, u64 stream) {
  bool free = true;
  for (std::atomic<int>* one : job->busy) free = one->exchange(1) == 0 && free;
  if (!free) misuse("two decodes under way on one state");
  if (free && driver().host_function(stream, run, job) == 0) return 0;
  delete job;
  return EXECUTION_FAILED;
}

#define LIBRARY extern "C" __attribute__((visibility("default"))) int
