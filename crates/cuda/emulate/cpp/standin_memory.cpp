// Memory of the stand-in's devices and pinned memory: pages of their own between two that cannot be touched,
// full of garbage by the seed. What is freed can never be touched again: its addresses are not used twice.
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "standin.h"

namespace standin {

static const u64 PAGE = 4096;

static void garbage(char* start, u64 size) {
  u64 z = next_random();
  for (u64 i = 0; i < size; i += 8) {
    z = z * 6364136223846793005ull + 1442695040888963407ull;
    u64 word = z ^ z >> 29;
    memcpy(start + i, &word, size - i < 8 ? size - i : 8);
  }
}

// The last bytes of the last page are not the caller's; they must still be this when it is freed.
static u8 slack(u64 i) { return (u8)(0xA5 ^ i * 31); }

CUresult allocate(u64 size, int device, u64 stream, u64* address) {
  State& s = state();
  if (size == 0) return INVALID_VALUE;
  u64 reusable = 0;
  for (const auto& [at, a] : s.memory) {
    // Memory freed on a stream can be had again on that stream before the free was done.
    if (a.live && a.device == device && a.free_queued_on != 0 && a.free_queued_on == stream)
      reusable += a.size;
  }
  if (device >= 0 && (size > s.knobs.free || s.allocated - reusable > s.knobs.free - size))
    return OUT_OF_MEMORY;
  u64 pages = (size + PAGE - 1) / PAGE * PAGE, mapped = pages + 2 * PAGE;
  void* map = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return OUT_OF_MEMORY;
  char* start = (char*)map + PAGE;
  mprotect(start, pages, PROT_READ | PROT_WRITE);
  // As near to the end of its pages as the alignment of device memory allows.
  char* data = start + ((pages - size) & ~255ull);
  garbage(start, (u64)(data - start) + size);
  for (u64 i = 0; data + size + i < start + pages; i++) data[size + i] = (char)slack(i);
  s.memory[(u64)data] = Allocation{size, mapped, (char*)map, device, true, 0, s.next_id++};
  if (device >= 0) s.allocated += size;
  *address = (u64)data;
  return SUCCESS;
}

CUresult release(u64 address) {
  State& s = state();
  auto found = s.memory.find(address);
  if (found == s.memory.end() || !found->second.live) {
    return misuse(ILLEGAL_ADDRESS, "freeing %#llx, which is no allocation or was freed before", address);
  }
  Allocation& a = found->second;
  a.live = false;
  if (a.device >= 0) s.allocated -= a.size;
  CUresult result = SUCCESS;
  char* end = a.mapped + a.mapped_size - PAGE;
  for (char* p = (char*)address + a.size; p < end; p++) {
    if ((u8)*p == slack((u64)(p - (char*)address) - a.size)) continue;
    u64 past = (u64)(p - (char*)address) - a.size;
    result = misuse(ILLEGAL_ADDRESS, "byte %llu after an allocation of %llu bytes was written", past, a.size);
    break;
  }
  // Gives the memory back and keeps the addresses.
  mmap(a.mapped, a.mapped_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return result;
}

Allocation* holds_any(u64 address, u64 size, bool host) {
  auto after = state().memory.upper_bound(address);
  if (after == state().memory.begin()) return nullptr;
  auto found = std::prev(after);
  Allocation& a = found->second;
  u64 offset = address - found->first;
  if (!a.live || (a.device < 0) != host || offset > a.size || size > a.size - offset) return nullptr;
  return &a;
}

Allocation* holds(u64 address, u64 size) { return holds_any(address, size, false); }

}  // namespace standin

using namespace standin;

CUDA cuMemAlloc_v2(CUdeviceptr* address, size_t size) {
  Call call("cuMemAlloc_v2");
  call.size(size);
  if (call.over()) return call.result;
  return call(allocate(size, current_device(), 0, address));
}

CUDA cuMemFree_v2(CUdeviceptr address) {
  Call call("cuMemFree_v2");
  if (call.over()) return call.result;
  if (address == 0) return SUCCESS;
  // It waits for the device.
  run_until(nullptr, [] { return false; });
  return call(release(address));
}

CUDA cuMemPoolCreate(u64* pool, const void*) {
  Call call("cuMemPoolCreate");
  if (call.over()) return call.result;
  *pool = state().next_id++;
  state().pools[*pool] = current_device();
  return SUCCESS;
}

CUDA cuMemPoolDestroy(u64 pool) {
  Call call("cuMemPoolDestroy");
  if (call.over()) return call.result;
  return call(state().pools.erase(pool) ? SUCCESS : INVALID_HANDLE);
}

CUDA cuMemPoolSetAttribute(u64 pool, int attribute, void* value) {
  Call call("cuMemPoolSetAttribute");
  if (call.over()) return call.result;
  call.note("attribute=%d value=%llu", attribute, attribute >= 4 ? *(u64*)value : (u64) * (int*)value);
  return call(state().pools.count(pool) ? SUCCESS : INVALID_HANDLE);
}

CUDA cuMemPoolGetAttribute(u64 pool, int attribute, void* value) {
  Call call("cuMemPoolGetAttribute");
  if (call.over()) return call.result;
  if (!state().pools.count(pool)) return call(INVALID_HANDLE);
  if (attribute >= 4) {
    *(u64*)value = state().allocated;
  } else {
    *(int*)value = 1;
  }
  return SUCCESS;
}

CUDA cuMemPoolTrimTo(u64 pool, size_t keep) {
  Call call("cuMemPoolTrimTo");
  call.size(keep);
  if (call.over()) return call.result;
  return call(state().pools.count(pool) ? SUCCESS : INVALID_HANDLE);
}

static CUresult allocate_on(Call& call, CUdeviceptr* address, size_t size, int device, u64 stream) {
  call.size(size).stream(stream);
  if (call.over()) return call.result;
  if (find_stream(stream) == nullptr) return call(INVALID_HANDLE);
  call(allocate(size, device, stream, address));
  if (call.result == SUCCESS) call.note("address=%llu", *address);
  return call.result;
}

CUDA cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t size, u64 pool, u64 stream) {
  Call call("cuMemAllocFromPoolAsync");
  auto found = state().pools.find(pool);
  if (!call.over() && found == state().pools.end()) return call(INVALID_HANDLE);
  return allocate_on(call, address, size, call.over() ? 0 : found->second, stream);
}

CUDA cuMemAllocAsync(CUdeviceptr* address, size_t size, u64 stream) {
  Call call("cuMemAllocAsync");
  return allocate_on(call, address, size, current_device(), stream);
}

CUDA cuMemFreeAsync(CUdeviceptr address, u64 stream) {
  Call call("cuMemFreeAsync");
  call.stream(stream).note("address=%llu", address);
  if (call.over()) return call.result;
  Stream* on = find_stream(stream);
  auto found = state().memory.find(address);
  if (on == nullptr) return call(INVALID_HANDLE);
  if (found == state().memory.end() || !found->second.live || found->second.free_queued_on != 0) {
    return call(misuse(INVALID_VALUE, "freeing %#llx, which is no allocation or was freed before", address));
  }
  found->second.free_queued_on = on->id == 0 ? ~0ull : on->id;
  enqueue(*on, Work{[address] { return release(address); }, nullptr, 0, nullptr, 0, "cuMemFreeAsync"});
  return SUCCESS;
}

CUDA cuMemHostAlloc(void** start, size_t size, u32 flags) {
  Call call("cuMemHostAlloc");
  call.size(size).note("flags=%u", flags);
  if (call.over()) return call.result;
  return call(allocate(size, -1, 0, (u64*)start));
}

CUDA cuMemFreeHost(void* start) {
  Call call("cuMemFreeHost");
  if (call.over()) return call.result;
  Allocation* a = holds_any((u64)start, 0, true);
  if (a == nullptr) return call(misuse(INVALID_VALUE, "freeing %p, which is no pinned memory", start));
  const char* name = nullptr;
  if (pending_on_host(start, a->size, &name)) {
    return call(misuse(ILLEGAL_ADDRESS, "freeing pinned memory that a queued %s will use", name));
  }
  return call(release((u64)start));
}

CUDA cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  Call call("cuMemGetAddressRange_v2");
  if (call.over()) return call.result;
  const Allocation* a = holds(address, 0);
  if (a == nullptr) return call(NOT_FOUND);
  if (base != nullptr) *base = std::prev(state().memory.upper_bound(address))->first;
  if (size != nullptr) *size = a->size;
  return SUCCESS;
}

CUDA cuPointerGetAttribute(void* value, int attribute, CUdeviceptr address) {
  Call call("cuPointerGetAttribute", false);
  call.note("attribute=%d", attribute);
  if (call.over()) return call.result;
  const Allocation* device = holds(address, 0);
  const Allocation* a = device != nullptr ? device : holds_any(address, 0, true);
  if (a == nullptr) return call(INVALID_VALUE);
  switch (attribute) {
    case 1:  // context
      *(u64*)value = (u64)(a->device < 0 ? 0 : a->device) + 1;
      break;
    case 2:  // kind: host or device
      *(u32*)value = device != nullptr ? 2 : 1;
      break;
    case 3:  // address on the device, and on the host
    case 4:
      *(u64*)value = address;
      break;
    case 7:  // number of the allocation
      *(u64*)value = a->number;
      break;
    case 8:  // managed
      *(u32*)value = 0;
      break;
    case 9:  // device
      *(int*)value = a->device < 0 ? 0 : a->device;
      break;
    case 11:
      *(u64*)value = std::prev(state().memory.upper_bound(address))->first;
      break;
    case 12:
      *(u64*)value = a->size;
      break;
    default:
      return call(INVALID_VALUE);
  }
  return SUCCESS;
}
