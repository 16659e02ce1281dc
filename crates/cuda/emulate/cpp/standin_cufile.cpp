// A stand-in for libcufile: reads files with pread into the stand-in driver's device memory, as cuFile's
// compatibility mode does. Asynchronous reads wait in the stream's queue and look at their sizes when their
// turn comes; a batch is done when its status is asked for. Log, planted failures (`fail=cuFileRead:2:5030`:
// a read gives minus that) and short reads
// (`short=1000`) are the driver stand-in's.
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <vector>

#include "standin_driver.h"

enum {
  DRIVER_NOT_INITIALIZED = 5001,
  CUDA_DRIVER_ERROR = 5011,
  CUDA_POINTER_RANGE_ERROR = 5014,
  INVALID_FILE_TYPE = 5018,
  INVALID_VALUE = 5022,
  HANDLE_NOT_REGISTERED = 5027,
  IO_ERROR = 5044,
  COMPLETE = 16,
  FAILED = 64,
};

struct Error {
  int code, driver_code;
};

struct File {
  int fd;
};

struct Description {
  int type;
  union {
    int fd;
    void* other;
  } handle;
  const void* operations;
};

struct Parameters {
  int mode;
  struct {
    void* base;
    off_t file_offset, base_offset;
    size_t size;
  } u;
  File* file;
  int opcode;
  void* cookie;
};

struct Completion {
  void* cookie;
  int status;
  size_t bytes;
};

struct Batch {
  size_t most;
  std::vector<Parameters> waiting;
};

static std::mutex lock;
static std::set<File*> files;
static int opened = 0;

static int enter(const char* name, u64 size = 0, u64 offset = 0) {
  char facts[96];
  snprintf(facts, sizeof facts, "size=%llu offset=%llu", size, offset);
  return driver().enter(name, facts);
}

static bool known(File* file) {
  std::lock_guard<std::mutex> guard(lock);
  return files.count(file) > 0;
}

static ssize_t read_file(File* file, void* base, size_t size, off_t file_offset, off_t base_offset) {
  if (!known(file)) return -HANDLE_NOT_REGISTERED;
  if (file_offset < 0 || base_offset < 0) return -INVALID_VALUE;
  char* to = (char*)base + base_offset;
  if (!driver().holds((u64)to, size)) return -CUDA_POINTER_RANGE_ERROR;
  u64 most = driver().most_read();
  size_t wanted = size < most ? size : (size_t)most, got = 0;
  while (got < wanted) {
    ssize_t n = pread(file->fd, to + got, wanted - got, file_offset + (off_t)got);
    if (n < 0) return -1;
    if (n == 0) break;
    got += (size_t)n;
  }
  return (ssize_t)got;
}

#define CUFILE extern "C" __attribute__((visibility("default")))

CUFILE Error cuFileDriverOpen() {
  int code = enter("cuFileDriverOpen");
  if (code == 0) opened++;
  return {code, 0};
}

CUFILE Error cuFileDriverClose() {
  int code = enter("cuFileDriverClose");
  if (code == 0) opened--;
  return {code, 0};
}

CUFILE Error cuFileDriverClose_v2() { return cuFileDriverClose(); }

CUFILE long cuFileUseCount() { return opened; }

CUFILE Error cuFileGetVersion(int* version) {
  *version = 1070;
  return {enter("cuFileGetVersion"), 0};
}

CUFILE Error cuFileHandleRegister(File** file, const Description* description) {
  int code = enter("cuFileHandleRegister");
  if (code != 0) return {code, 0};
  // 1 is a file descriptor.
  if (description->type != 1) return {INVALID_FILE_TYPE, 0};
  *file = new File{description->handle.fd};
  std::lock_guard<std::mutex> guard(lock);
  files.insert(*file);
  return {0, 0};
}

CUFILE void cuFileHandleDeregister(File* file) {
  enter("cuFileHandleDeregister");
  std::lock_guard<std::mutex> guard(lock);
  if (files.erase(file) > 0) delete file;
}

CUFILE Error cuFileBufRegister(const void* base, size_t size, int) {
  int code = enter("cuFileBufRegister", size);
  if (code == 0 && !driver().holds((u64)base, size)) code = CUDA_POINTER_RANGE_ERROR;
  return {code, 0};
}

CUFILE Error cuFileBufDeregister(const void*) { return {enter("cuFileBufDeregister"), 0}; }

CUFILE ssize_t cuFileRead(File* file, void* base, size_t size, off_t file_offset, off_t base_offset) {
  int code = enter("cuFileRead", size, (u64)file_offset);
  return code != 0 ? -code : read_file(file, base, size, file_offset, base_offset);
}

struct AsyncRead {
  File* file;
  void* base;
  const size_t* size;
  const off_t *file_offset, *base_offset;
  ssize_t* read;
};

CUFILE Error cuFileReadAsync(File* file, void* base, size_t* size, off_t* file_offset, off_t* base_offset,
                             ssize_t* read, u64 stream) {
  int code = enter("cuFileReadAsync", *size, (u64)*file_offset);
  if (code == 0 && !known(file)) code = HANDLE_NOT_REGISTERED;
  if (code != 0) return {code, 0};
  auto run = [](void* data) {
    AsyncRead* r = (AsyncRead*)data;
    *r->read = read_file(r->file, r->base, *r->size, *r->file_offset, *r->base_offset);
    delete r;
  };
  AsyncRead* queued = new AsyncRead{file, base, size, file_offset, base_offset, read};
  int result = driver().host_function(stream, run, queued);
  if (result == 0) return {0, 0};
  delete queued;
  return {CUDA_DRIVER_ERROR, result};
}

CUFILE Error cuFileStreamRegister(u64, unsigned) { return {enter("cuFileStreamRegister"), 0}; }
CUFILE Error cuFileStreamDeregister(u64) { return {enter("cuFileStreamDeregister"), 0}; }

CUFILE Error cuFileBatchIOSetUp(Batch** batch, unsigned most) {
  int code = enter("cuFileBatchIOSetUp", most);
  if (code == 0) *batch = new Batch{most, {}};
  return {code, 0};
}

CUFILE Error cuFileBatchIOSubmit(Batch* batch, unsigned count, const Parameters* parameters, unsigned) {
  int code = enter("cuFileBatchIOSubmit", count);
  if (code == 0 && batch->waiting.size() + count > batch->most) code = INVALID_VALUE;
  if (code != 0) return {code, 0};
  batch->waiting.insert(batch->waiting.end(), parameters, parameters + count);
  return {0, 0};
}

// Does at least `least` of the reads, the last submitted first, and no more than there is room for.
CUFILE Error cuFileBatchIOGetStatus(Batch* batch, unsigned least, unsigned* count, Completion* done,
                                    struct timespec*) {
  int code = enter("cuFileBatchIOGetStatus", *count);
  if (code != 0) return {code, 0};
  unsigned room = *count, n = 0;
  while (n < room && !batch->waiting.empty() && (n < least || n == 0)) {
    Parameters p = batch->waiting.back();
    batch->waiting.pop_back();
    ssize_t got = read_file(p.file, p.u.base, p.u.size, p.u.file_offset, p.u.base_offset);
    done[n++] = Completion{p.cookie, got < 0 ? FAILED : COMPLETE, got < 0 ? 0 : (size_t)got};
  }
  *count = n;
  return {0, 0};
}

CUFILE Error cuFileBatchIOCancel(Batch* batch) {
  batch->waiting.clear();
  return {enter("cuFileBatchIOCancel"), 0};
}

CUFILE void cuFileBatchIODestroy(Batch* batch) {
  enter("cuFileBatchIODestroy");
  delete batch;
}

CUFILE Error cuFileDriverGetProperties(void* properties) {
  // The counts and sizes a user may look at are those of a driver without nvidia-fs: none.
  memset(properties, 0, 56);
  return {enter("cuFileDriverGetProperties"), 0};
}

CUFILE Error cuFileDriverSetPollMode(bool, size_t size) {
  return {enter("cuFileDriverSetPollMode", size), 0};
}
CUFILE Error cuFileDriverSetMaxDirectIOSize(size_t size) {
  return {enter("cuFileDriverSetMaxDirectIOSize", size), 0};
}
CUFILE Error cuFileDriverSetMaxCacheSize(size_t size) {
  return {enter("cuFileDriverSetMaxCacheSize", size), 0};
}
CUFILE Error cuFileDriverSetMaxPinnedMemSize(size_t size) {
  return {enter("cuFileDriverSetMaxPinnedMemSize", size), 0};
}
