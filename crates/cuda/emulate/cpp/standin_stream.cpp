// Streams as queues and events as counters. Nothing is done when it is queued: whoever waits or asks does
// work, of the stream it waits for and of others by the seed, never past an event that has not completed.
#include <string.h>
#include <time.h>

#include "standin.h"

namespace standin {

Stream* find_stream(u64 id) {
  State& s = state();
  // 1 and 2 are the driver's names for its default streams.
  if (id <= 2) {
    auto& stream = s.streams[0];
    if (!stream) stream.reset(new Stream{0, current_device(), true, {}});
    return stream.get();
  }
  auto found = s.streams.find(id);
  return found == s.streams.end() ? nullptr : found->second.get();
}

static bool can_run(const Stream& stream) {
  if (stream.queue.empty()) return false;
  const Work& work = stream.queue.front();
  return !work.after || work.after->completed >= work.after_count;
}

static CUresult step(Stream& stream) {
  Work work = std::move(stream.queue.front());
  stream.queue.pop_front();
  return work.run ? work.run() : SUCCESS;
}

// The stream whose work is in the way of `stream`: itself, or the one of the event it waits for.
static Stream* obstacle(Stream* stream) {
  for (int depth = 0; depth < 64 && stream != nullptr && !can_run(*stream); depth++) {
    if (stream->queue.empty()) return nullptr;
    stream = find_stream(stream->queue.front().after->stream);
  }
  return stream != nullptr && can_run(*stream) ? stream : nullptr;
}

CUresult run_until(Stream* target, const std::function<bool()>& done) {
  State& s = state();
  while (!done()) {
    std::vector<Stream*> ready;
    for (auto& [id, stream] : s.streams) {
      if (can_run(*stream)) ready.push_back(stream.get());
    }
    if (ready.empty()) break;
    // Even seeds do only what the waiter needs, so that work nobody waits for stays undone; odd ones do
    // anything.
    Stream* next =
        target != nullptr && (s.knobs.seed % 2 == 0 || next_random() % 2) ? obstacle(target) : nullptr;
    if (next == nullptr) next = ready[next_random() % ready.size()];
    step(*next);
  }
  return s.sticky;
}

CUresult drain(Stream& stream) {
  if (stream.id == 0) drain_blocking();
  return run_until(&stream, [&] { return stream.queue.empty(); });
}

CUresult drain_blocking() {
  for (auto& [id, stream] : state().streams) {
    Stream* one = stream.get();
    if (one->blocking) run_until(one, [one] { return one->queue.empty(); });
  }
  return state().sticky;
}

void enqueue(Stream& stream, Work work) { stream.queue.push_back(std::move(work)); }

bool pending_on_host(const void* start, u64 size, const char** name) {
  for (auto& [id, stream] : state().streams) {
    for (const Work& work : stream->queue) {
      const char *a = (const char*)work.host, *b = (const char*)start;
      if (a != nullptr && a < b + size && b < a + work.host_size) return *name = work.name, true;
    }
  }
  return false;
}

static double now() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

}  // namespace standin

using namespace standin;

static std::shared_ptr<Event> find_event(u64 id) {
  auto found = state().events.find(id);
  return found == state().events.end() ? nullptr : found->second;
}

CUDA cuStreamCreate(u64* stream, u32 flags) {
  Call call("cuStreamCreate");
  call.note("flags=%u", flags);
  if (call.over()) return call.result;
  *stream = state().next_id++;
  state().streams[*stream].reset(new Stream{*stream, current_device(), (flags & 1) == 0, {}});
  call.stream(*stream);
  return SUCCESS;
}

CUDA cuStreamCreateWithPriority(u64* stream, u32 flags, int) { return cuStreamCreate(stream, flags); }

CUDA cuStreamDestroy_v2(u64 stream) {
  Call call("cuStreamDestroy_v2");
  call.stream(stream);
  if (call.over()) return call.result;
  Stream* found = find_stream(stream);
  if (found == nullptr || stream <= 2) return call(INVALID_HANDLE);
  // What is queued is still done; here it is done at once.
  drain(*found);
  state().streams.erase(stream);
  return SUCCESS;
}

CUDA cuStreamSynchronize(u64 stream) {
  Call call("cuStreamSynchronize");
  call.stream(stream);
  if (call.over()) return call.result;
  Stream* found = find_stream(stream);
  return call(found == nullptr ? INVALID_HANDLE : drain(*found));
}

CUDA cuStreamQuery(u64 stream) {
  Call call("cuStreamQuery");
  call.stream(stream);
  if (call.over()) return call.result;
  Stream* found = find_stream(stream);
  if (found == nullptr) return call(INVALID_HANDLE);
  int steps = 0;
  run_until(found, [&] { return found->queue.empty() || steps++ > 0; });
  if (state().sticky != SUCCESS) return call(state().sticky);
  return call(found->queue.empty() ? SUCCESS : NOT_READY);
}

CUDA cuStreamWaitEvent(u64 stream, u64 event, u32) {
  Call call("cuStreamWaitEvent");
  call.stream(stream).note("event=%llu", event);
  if (call.over()) return call.result;
  Stream* found = find_stream(stream);
  auto e = find_event(event);
  if (found == nullptr || !e) return call(INVALID_HANDLE);
  enqueue(*found, Work{nullptr, e, e->recorded, nullptr, 0, "cuStreamWaitEvent"});
  return SUCCESS;
}

CUDA cuEventCreate(u64* event, u32 flags) {
  Call call("cuEventCreate");
  if (call.over()) return call.result;
  *event = state().next_id++;
  state().events[*event] = std::make_shared<Event>();
  call.note("event=%llu flags=%u", *event, flags);
  return SUCCESS;
}

CUDA cuEventDestroy_v2(u64 event) {
  Call call("cuEventDestroy_v2");
  call.note("event=%llu", event);
  if (call.over()) return call.result;
  return call(state().events.erase(event) ? SUCCESS : INVALID_HANDLE);
}

CUDA cuEventRecord(u64 event, u64 stream) {
  Call call("cuEventRecord");
  call.stream(stream).note("event=%llu", event);
  if (call.over()) return call.result;
  Stream* found = find_stream(stream);
  auto e = find_event(event);
  if (found == nullptr || !e) return call(INVALID_HANDLE);
  u64 count = ++e->recorded;
  e->stream = found->id;
  auto run = [e, count]() -> CUresult {
    // An event that was recorded anew since, on a stream that was faster, is that of its last record.
    if (count > e->completed) {
      e->completed = count;
      e->milliseconds = now();
    }
    return SUCCESS;
  };
  enqueue(*found, Work{run, nullptr, 0, nullptr, 0, "cuEventRecord"});
  return SUCCESS;
}

CUDA cuEventSynchronize(u64 event) {
  Call call("cuEventSynchronize");
  call.note("event=%llu", event);
  if (call.over()) return call.result;
  auto e = find_event(event);
  if (!e) return call(INVALID_HANDLE);
  u64 count = e->recorded;
  return call(run_until(find_stream(e->stream), [&] { return e->completed >= count; }));
}

CUDA cuEventQuery(u64 event) {
  Call call("cuEventQuery");
  call.note("event=%llu", event);
  if (call.over()) return call.result;
  auto e = find_event(event);
  if (!e) return call(INVALID_HANDLE);
  int steps = 0;
  run_until(find_stream(e->stream), [&] { return e->completed >= e->recorded || steps++ > 0; });
  if (state().sticky != SUCCESS) return call(state().sticky);
  return call(e->completed >= e->recorded ? SUCCESS : NOT_READY);
}

CUDA cuEventElapsedTime(float* milliseconds, u64 start, u64 end) {
  Call call("cuEventElapsedTime");
  if (call.over()) return call.result;
  auto a = find_event(start), b = find_event(end);
  if (!a || !b || a->recorded == 0 || b->recorded == 0) return call(INVALID_HANDLE);
  if (a->completed < a->recorded || b->completed < b->recorded) return call(NOT_READY);
  *milliseconds = (float)(b->milliseconds - a->milliseconds);
  return SUCCESS;
}

CUDA cuEventElapsedTime_v2(float* milliseconds, u64 start, u64 end) {
  return cuEventElapsedTime(milliseconds, start, end);
}
