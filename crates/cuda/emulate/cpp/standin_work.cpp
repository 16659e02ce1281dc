// Work on the device: copies, fills, kernels, calls back to the host. Arguments are checked when the work is
// done, in the order of the stream: memory freed before it is an illegal address, as on a device.
#include <stdio.h>
#include <string.h>

#include "standin.h"

using namespace standin;

namespace standin {
// In standin_module.cpp.
const char* run_kernel(const std::string& name, const u32* shape, const void* args, u64 seed);
bool kernel_facts(const std::string& name, u32* threads, u32* args_size);
}  // namespace standin

static CUresult illegal(const char* what, u64 address, u64 size) {
  return misuse(ILLEGAL_ADDRESS, "%s: %llu bytes at %#llx are in no live allocation", what, size, address);
}

static CUresult queue(Call& call, u64 stream, Work work) {
  call.stream(stream);
  if (call.over()) return call.result;
  Stream* found = find_stream(stream);
  if (found == nullptr) return call(INVALID_HANDLE);
  enqueue(*found, std::move(work));
  return SUCCESS;
}

CUDA cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size, u64 stream) {
  static const char* const NAME = "cuMemcpyHtoDAsync_v2";
  Call call(NAME);
  bool pinned = holds_any((u64)from, size, true) != nullptr;
  call.size(size).note("address=%llu pinned=%d", to, pinned);
  if (call.over()) return call.result;
  if (pinned) {
    auto run = [=]() -> CUresult {
      if (!holds(to, size)) return illegal(NAME, to, size);
      memcpy((void*)to, from, size);
      return SUCCESS;
    };
    return queue(call, stream, Work{run, nullptr, 0, from, size, NAME});
  }
  // Memory that is not pinned is read before the call returns.
  auto staged = std::make_shared<std::vector<char>>((const char*)from, (const char*)from + size);
  auto run = [=]() -> CUresult {
    if (!holds(to, size)) return illegal(NAME, to, size);
    memcpy((void*)to, staged->data(), size);
    return SUCCESS;
  };
  return queue(call, stream, Work{run, nullptr, 0, nullptr, 0, NAME});
}

CUDA cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size, u64 stream) {
  static const char* const NAME = "cuMemcpyDtoHAsync_v2";
  Call call(NAME);
  bool pinned = holds_any((u64)to, size, true) != nullptr;
  call.size(size).note("address=%llu pinned=%d", from, pinned);
  auto run = [=]() -> CUresult {
    if (!holds(from, size)) return illegal(NAME, from, size);
    memcpy(to, (const void*)from, size);
    return SUCCESS;
  };
  CUresult result = queue(call, stream, Work{run, nullptr, 0, to, size, NAME});
  // Into memory that is not pinned the driver copies before it returns.
  if (result == SUCCESS && !pinned) result = call(drain(*find_stream(stream)));
  return result;
}

CUDA cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, u64 stream) {
  static const char* const NAME = "cuMemcpyDtoDAsync_v2";
  Call call(NAME);
  call.size(size).note("address=%llu", to);
  auto run = [=]() -> CUresult {
    if (!holds(from, size)) return illegal(NAME, from, size);
    if (!holds(to, size)) return illegal(NAME, to, size);
    memmove((void*)to, (const void*)from, size);
    return SUCCESS;
  };
  return queue(call, stream, Work{run, nullptr, 0, nullptr, 0, NAME});
}

CUDA cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t size) {
  Call call("cuMemcpyHtoD_v2");
  call.size(size);
  if (call.over()) return call.result;
  if (drain_blocking() != SUCCESS) return call(state().sticky);
  if (!holds(to, size)) return call(illegal("cuMemcpyHtoD_v2", to, size));
  memcpy((void*)to, from, size);
  return SUCCESS;
}

CUDA cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) {
  Call call("cuMemcpyDtoH_v2");
  call.size(size);
  if (call.over()) return call.result;
  if (drain_blocking() != SUCCESS) return call(state().sticky);
  if (!holds(from, size)) return call(illegal("cuMemcpyDtoH_v2", from, size));
  memcpy(to, (const void*)from, size);
  return SUCCESS;
}

CUDA cuMemsetD8Async(CUdeviceptr to, u8 value, size_t count, u64 stream) {
  Call call("cuMemsetD8Async");
  call.size(count).note("address=%llu", to);
  auto run = [=]() -> CUresult {
    if (!holds(to, count)) return illegal("cuMemsetD8Async", to, count);
    memset((void*)to, value, count);
    return SUCCESS;
  };
  return queue(call, stream, Work{run, nullptr, 0, nullptr, 0, "cuMemsetD8Async"});
}

CUDA cuMemsetD32Async(CUdeviceptr to, u32 value, size_t count, u64 stream) {
  Call call("cuMemsetD32Async");
  call.size(count * 4).note("address=%llu", to);
  if (!call.over() && to % 4 != 0) return call(INVALID_VALUE);
  auto run = [=]() -> CUresult {
    if (!holds(to, count * 4)) return illegal("cuMemsetD32Async", to, count * 4);
    for (size_t i = 0; i < count; i++) ((u32*)to)[i] = value;
    return SUCCESS;
  };
  return queue(call, stream, Work{run, nullptr, 0, nullptr, 0, "cuMemsetD32Async"});
}

CUDA cuLaunchKernel(u64 function, u32 grid_x, u32 grid_y, u32 grid_z, u32 threads_x, u32 threads_y,
                    u32 threads_z, u32 shared, u64 stream, void** arguments, void**) {
  Call call("cuLaunchKernel");
  auto found = state().functions.find(function);
  std::string name = found == state().functions.end() ? "?" : found->second;
  call.note("kernel=%s grid=%u,%u threads=%u", name.c_str(), grid_x, grid_y, threads_x);
  if (call.over()) return call.result;
  u32 most = 0, args_size = 0;
  if (!kernel_facts(name, &most, &args_size)) return call(INVALID_HANDLE);
  if (grid_x == 0 || grid_y == 0 || grid_y > 65535 || grid_z != 1 || threads_y != 1 || threads_z != 1 ||
      shared != 0 || threads_x == 0 || arguments == nullptr) {
    return call(INVALID_VALUE);
  }
  if (threads_x > most) return call(LAUNCH_OUT_OF_RESOURCES);
  // The arguments are copied now, the kernel runs when its turn comes.
  auto args = std::make_shared<std::vector<u64>>((args_size + 15) / 16 * 2);
  memcpy(args->data(), arguments[0], args_size);
  auto run = [=]() -> CUresult {
    u32 shape[3] = {grid_x, grid_y, threads_x};
    const char* said = run_kernel(name, shape, args->data(), next_random() % 16);
    if (said == nullptr) return SUCCESS;
    bool memory = strstr(said, "memory fault") != nullptr;
    return misuse(memory ? ILLEGAL_ADDRESS : LAUNCH_FAILED, "%s", said);
  };
  return queue(call, stream, Work{run, nullptr, 0, nullptr, 0, "cuLaunchKernel"});
}

CUDA cuLaunchHostFunc(u64 stream, void (*function)(void*), void* data) {
  Call call("cuLaunchHostFunc");
  auto run = [=]() -> CUresult {
    function(data);
    return SUCCESS;
  };
  return queue(call, stream, Work{run, nullptr, 0, nullptr, 0, "cuLaunchHostFunc"});
}
