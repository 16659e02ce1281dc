// Kernels of the stand-in: the emulated modules named in the list beside this library (`kernels.txt`: name of
// a kernel, a space, the library it is in), loaded when one of theirs is first asked for. An image given by
// the caller only says which entry points it has; what runs is the emulation of the same source.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "standin.h"

namespace standin {

struct Kernel {
  std::string library;
  const char* (*launch)(const void*, const void*) = nullptr;
  u32 index = 0, threads = 0, args_size = 0;
};

// The twin of `Launch` in `launch.cpp`.
struct Launch {
  u64 seed, steps;
  u32 kernel, grid_x, grid_y, threads, seconds, reserved;
};

static const char image_marker = 0;  // an address in this library

static std::map<std::string, Kernel>& kernels() {
  static std::map<std::string, Kernel> all = [] {
    std::map<std::string, Kernel> found;
    Dl_info info;
    if (!dladdr((void*)&image_marker, &info)) return found;
    std::string folder(info.dli_fname);
    folder = folder.substr(0, folder.rfind('/') + 1);
    FILE* file = fopen((folder + "kernels.txt").c_str(), "r");
    if (file == nullptr) return found;
    char name[256], library[1024];
    while (fscanf(file, "%255s %1023s", name, library) == 2) found[name].library = folder + library;
    fclose(file);
    return found;
  }();
  return all;
}

static Kernel* loaded(const std::string& name) {
  auto found = kernels().find(name);
  if (found == kernels().end()) return nullptr;
  Kernel& k = found->second;
  if (k.launch != nullptr) return &k;
  void* library = dlopen(k.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fprintf(stderr, "stand-in: %s\n", dlerror());
    return nullptr;
  }
  auto ask = (const char* (*)(u32, u32*, u32*))dlsym(library, "strile_kernel");
  auto launch = (const char* (*)(const void*, const void*))dlsym(library, "strile_launch");
  if (ask == nullptr || launch == nullptr) return nullptr;
  u32 threads, args_size;
  for (u32 i = 0;; i++) {
    const char* one = ask(i, &threads, &args_size);
    if (one == nullptr) break;
    if (name != one) continue;
    k.launch = launch;
    k.index = i;
    k.threads = threads;
    k.args_size = args_size;
    return &k;
  }
  return nullptr;
}

bool kernel_facts(const std::string& name, u32* threads, u32* args_size) {
  const Kernel* k = loaded(name);
  if (k == nullptr) return false;
  *threads = k->threads;
  *args_size = k->args_size;
  return true;
}

const char* run_kernel(const std::string& name, const u32* shape, const void* args, u64 seed) {
  const Kernel* k = loaded(name);
  if (k == nullptr) return "no such kernel";
  Launch launch = {seed, 200'000'000, k->index, shape[0], shape[1], shape[2], 120, 0};
  return k->launch(&launch, args);
}

// The bytes of an image: an ELF file, whose header says how long it is, or PTX, which is text.
static bool image_bytes(const char* image, std::string* bytes) {
  if (memcmp(image, "\177ELF", 4) == 0) {
    u64 sections, programs;
    unsigned short section_size, section_count, program_size, program_count;
    memcpy(&programs, image + 32, 8);
    memcpy(&sections, image + 40, 8);
    memcpy(&program_size, image + 54, 2);
    memcpy(&program_count, image + 56, 2);
    memcpy(&section_size, image + 58, 2);
    memcpy(&section_count, image + 60, 2);
    u64 a = sections + (u64)section_size * section_count, b = programs + (u64)program_size * program_count;
    bytes->assign(image, a > b ? a : b);
    return true;
  }
  bytes->assign(image, strnlen(image, 64 << 20));
  return bytes->find(".version") != std::string::npos;
}

}  // namespace standin

using namespace standin;

CUDA cuModuleLoadData(u64* module, const void* image) {
  Call call("cuModuleLoadData");
  if (call.over()) return call.result;
  std::string bytes;
  if (image == nullptr || !image_bytes((const char*)image, &bytes)) return call(INVALID_IMAGE);
  call.size(bytes.size());
  *module = state().next_id++;
  state().modules[*module] = std::move(bytes);
  return SUCCESS;
}

CUDA cuModuleLoadDataEx(u64* module, const void* image, u32, int*, void**) {
  return cuModuleLoadData(module, image);
}

CUDA cuModuleUnload(u64 module) {
  Call call("cuModuleUnload");
  if (call.over()) return call.result;
  return call(state().modules.erase(module) ? SUCCESS : INVALID_HANDLE);
}

CUDA cuModuleGetFunction(u64* function, u64 module, const char* name) {
  Call call("cuModuleGetFunction");
  call.note("kernel=%s", name);
  if (call.over()) return call.result;
  auto found = state().modules.find(module);
  if (found == state().modules.end()) return call(INVALID_HANDLE);
  // In PTX `.entry name(`, in a cubin a section `.text.name`.
  bool in_image = found->second.find(std::string(".entry ") + name + "(") != std::string::npos ||
                  found->second.find(std::string(".text.") + name + '\0') != std::string::npos;
  if (!in_image) {
    fprintf(stderr, "stand-in: the image has no entry point %s; was it built before its source changed?\n", name);
  }
  u32 threads, args_size;
  if (!in_image || !kernel_facts(name, &threads, &args_size)) return call(NOT_FOUND);
  *function = state().next_id++;
  state().functions[*function] = name;
  return SUCCESS;
}

CUDA cuFuncGetAttribute(int* value, int attribute, u64 function) {
  Call call("cuFuncGetAttribute");
  if (call.over()) return call.result;
  auto found = state().functions.find(function);
  u32 threads, args_size;
  if (found == state().functions.end() || !kernel_facts(found->second, &threads, &args_size))
    return call(INVALID_HANDLE);
  *value = attribute == 0 ? (int)threads : attribute == 4 ? 32 : 0;
  return SUCCESS;
}

CUDA cuFuncSetAttribute(u64 function, int, int) {
  Call call("cuFuncSetAttribute");
  if (call.over()) return call.result;
  return call(state().functions.count(function) ? SUCCESS : INVALID_HANDLE);
}

CUDA cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, u64 function, int, size_t) {
  Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (call.over()) return call.result;
  if (!state().functions.count(function)) return call(INVALID_HANDLE);
  *blocks = 2;
  return SUCCESS;
}
