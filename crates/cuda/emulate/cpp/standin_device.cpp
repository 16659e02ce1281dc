// Devices, the primary contexts, names of errors. Contexts are the number of their device plus one.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "standin.h"

using namespace standin;

static thread_local u64 current_context = 0;

namespace standin {
int current_device() { return (int)current_context - 1; }
}  // namespace standin

CUDA cuInit(u32) {
  Call call("cuInit", false);
  if (call.over()) return call.result;
  if (state().knobs.devices == 0) return call(NO_DEVICE);
  state().initialised = true;
  return SUCCESS;
}

CUDA cuDriverGetVersion(int* version) {
  Call call("cuDriverGetVersion", false);
  if (call.over()) return call.result;
  *version = state().knobs.driver;
  return SUCCESS;
}

CUDA cuDeviceGetCount(int* count) {
  Call call("cuDeviceGetCount", false);
  if (call.over()) return call.result;
  *count = state().knobs.devices;
  return SUCCESS;
}

static bool no_such(int device) { return device < 0 || device >= state().knobs.devices || device >= 16; }

CUDA cuDeviceGet(int* device, int ordinal) {
  Call call("cuDeviceGet", false);
  if (call.over()) return call.result;
  if (no_such(ordinal)) return call(INVALID_DEVICE);
  *device = ordinal;
  return SUCCESS;
}

CUDA cuDeviceGetName(char* name, int len, int device) {
  Call call("cuDeviceGetName", false);
  if (call.over()) return call.result;
  if (no_such(device) || len < 1) return call(INVALID_DEVICE);
  snprintf(name, (size_t)len, "Stand-in %d", device);
  return SUCCESS;
}

CUDA cuDeviceGetAttribute(int* value, int attribute, int device) {
  Call call("cuDeviceGetAttribute", false);
  call.note("attribute=%d", attribute);
  if (call.over()) return call.result;
  if (no_such(device)) return call(INVALID_DEVICE);
  const Knobs& k = state().knobs;
  switch (attribute) {
    case 1:  // threads of a block
      *value = 1024;
      break;
    case 8:  // shared memory of a block
      *value = 48 << 10;
      break;
    case 10:  // warp
      *value = 32;
      break;
    case 16:
      *value = k.multiprocessors;
      break;
    case 39:  // threads of a multiprocessor
      *value = 2048;
      break;
    case 41:  // unified addressing
      *value = 1;
      break;
    case 75:
      *value = k.major;
      break;
    case 76:
      *value = k.minor;
      break;
    case 81:  // shared memory of a multiprocessor
      *value = 228 << 10;
      break;
    case 97:  // shared memory of a block that opts in
      *value = 227 << 10;
      break;
    case 115:  // memory pools
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return SUCCESS;
}

CUDA cuDeviceTotalMem_v2(size_t* bytes, int device) {
  Call call("cuDeviceTotalMem_v2", false);
  if (call.over()) return call.result;
  if (no_such(device)) return call(INVALID_DEVICE);
  *bytes = state().knobs.total;
  return SUCCESS;
}

CUDA cuDeviceGetUuid_v2(u8* uuid, int device) {
  Call call("cuDeviceGetUuid_v2", false);
  if (call.over()) return call.result;
  if (no_such(device)) return call(INVALID_DEVICE);
  memset(uuid, 0xA0 + device, 16);
  return SUCCESS;
}

CUDA cuDeviceGetPCIBusId(char* text, int len, int device) {
  Call call("cuDeviceGetPCIBusId", false);
  if (call.over()) return call.result;
  if (no_such(device) || len < 1) return call(INVALID_DEVICE);
  snprintf(text, (size_t)len, "0000:%02X:00.0", device + 1);
  return SUCCESS;
}

CUDA cuDevicePrimaryCtxRetain(u64* context, int device) {
  Call call("cuDevicePrimaryCtxRetain", false);
  if (call.over()) return call.result;
  if (no_such(device)) return call(INVALID_DEVICE);
  state().retained[device]++;
  *context = (u64)device + 1;
  return SUCCESS;
}

CUDA cuDevicePrimaryCtxRelease_v2(int device) {
  Call call("cuDevicePrimaryCtxRelease_v2", false);
  if (call.over()) return call.result;
  if (device < 0 || device >= 16 || state().retained[device] == 0) return call(INVALID_CONTEXT);
  state().retained[device]--;
  return SUCCESS;
}

CUDA cuCtxGetCurrent(u64* context) {
  Call call("cuCtxGetCurrent", false);
  if (call.over()) return call.result;
  *context = current_context;
  return SUCCESS;
}

CUDA cuCtxSetCurrent(u64 context) {
  Call call("cuCtxSetCurrent", false);
  if (call.over()) return call.result;
  if (context > 16 || (context > 0 && state().retained[context - 1] == 0)) return call(INVALID_CONTEXT);
  current_context = context;
  return SUCCESS;
}

CUDA cuCtxGetDevice(int* device) {
  Call call("cuCtxGetDevice");
  if (call.over()) return call.result;
  *device = current_device();
  return SUCCESS;
}

CUDA cuCtxSynchronize() {
  Call call("cuCtxSynchronize");
  if (call.over()) return call.result;
  return call(run_until(nullptr, [] { return false; }));
}

CUDA cuMemGetInfo_v2(size_t* free, size_t* total) {
  Call call("cuMemGetInfo_v2");
  if (call.over()) return call.result;
  const State& s = state();
  *free = s.knobs.free > s.allocated ? s.knobs.free - s.allocated : 0;
  *total = s.knobs.total;
  call.note("free=%zu", *free);
  return SUCCESS;
}

struct Name {
  CUresult code;
  const char *name, *words;
};

static const Name names[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

CUDA cuGetErrorName(CUresult code, const char** text) {
  for (const Name& n : names) {
    if (n.code == code) return *text = n.name, SUCCESS;
  }
  return *text = nullptr, INVALID_VALUE;
}

CUDA cuGetErrorString(CUresult code, const char** text) {
  for (const Name& n : names) {
    if (n.code == code) return *text = n.words, SUCCESS;
  }
  return *text = nullptr, INVALID_VALUE;
}
