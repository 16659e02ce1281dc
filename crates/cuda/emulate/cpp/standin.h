// The state of the stand-in driver, shared by its files. Everything happens under one lock; "device" work is
// queued per stream and done, by whoever waits, in an order that the seed chooses and the events allow: what
// was not waited for is not there. `standin_device.cpp`: devices and contexts; `standin_memory.cpp`:
// allocations; `standin_stream.cpp`: queues and events; `standin_work.cpp`: copies, fills, kernels;
// `standin_control.cpp`: knobs and the log.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int CUresult;
typedef u64 CUdeviceptr;

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  LAUNCH_OUT_OF_RESOURCES = 701,
  LAUNCH_FAILED = 719,
  NOT_SUPPORTED = 801,
};

namespace standin {

struct Event {
  u64 recorded = 0, completed = 0;  // how often, by calls and by work done
  u64 stream = 0;                   // of the last record
  double milliseconds = 0;          // when it completed last
};

struct Work {
  std::function<CUresult()> run;
  std::shared_ptr<Event> after;  // may only run when this event has completed so often
  u64 after_count = 0;
  const void* host = nullptr;  // pinned memory it will touch
  u64 host_size = 0;
  const char* name;
};

struct Stream {
  u64 id;
  int device;
  bool blocking;  // waits for the default stream
  std::deque<Work> queue;
};

struct Allocation {
  u64 size, mapped_size;
  char* mapped;
  int device;  // -1: pinned host memory
  bool live;
  u64 free_queued_on;  // the stream whose queue holds its free; 0: none
  u64 number;
};

struct Failure {
  std::string call;
  int nth;
  CUresult code;
  bool sticks;  // every later call of the context fails alike
};

struct Knobs {
  int devices = 1, driver = 12040, major = 9, minor = 0, multiprocessors = 4;
  u64 total = 8ull << 30, free = 7ull << 30, seed = 1;
  u64 most_read = ~0ull;  // bytes of one cuFile read
};

struct State {
  std::recursive_mutex lock;
  Knobs knobs;
  std::vector<Failure> failures;
  std::string log;
  std::string last_error;
  bool initialised = false;
  CUresult sticky = SUCCESS;
  u64 random = 1, next_id = 16, allocated = 0;
  std::map<u64, Allocation> memory;                // by address
  std::map<u64, std::unique_ptr<Stream>> streams;  // by number; 0 is made for the default stream
  std::map<u64, std::shared_ptr<Event>> events;
  std::map<u64, std::string> modules;  // the images' names of entry points, as raw bytes
  std::map<u64, std::string> functions;
  std::map<u64, int> pools;  // device
  int retained[16] = {};
};

State& state();
u64 next_random();

// A call: takes the lock, looks for a planted failure, and writes the log when it ends.
class Call {
 public:
  explicit Call(const char* name, bool needs_context = true);
  ~Call();
  // The result to give back at once, if there is one.
  bool over() const { return ended; }
  CUresult operator()(CUresult code) { return result = code; }
  Call& size(u64 n);
  Call& stream(u64 id);
  Call& note(const char* format, ...) __attribute__((format(printf, 2, 3)));
  CUresult result = SUCCESS;

 private:
  std::unique_lock<std::recursive_mutex> guard;
  const char* name;
  bool ended = false;
  std::string facts;
};

// An error that work met, or a misuse: logged, and what every later call gives (as a lost context does).
CUresult misuse(CUresult code, const char* format, ...) __attribute__((format(printf, 2, 3)));

int current_device();  // -1: no context
// The live allocation that holds the range, or null.
Allocation* holds(u64 address, u64 size);
Allocation* holds_any(u64 address, u64 size, bool host);
CUresult allocate(u64 size, int device, u64 stream, u64* address);
CUresult release(u64 address);

Stream* find_stream(u64 id);
void enqueue(Stream& stream, Work work);
// Does work until `done` or until none is left.
CUresult run_until(Stream* target, const std::function<bool()>& done);
CUresult drain(Stream& stream);
// Before work that the default stream orders against all others.
CUresult drain_blocking();
bool pending_on_host(const void* start, u64 size, const char** name);

}  // namespace standin

#define CUDA extern "C" __attribute__((visibility("default"))) CUresult
