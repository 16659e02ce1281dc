// Searches for a value among the samples that `place.cu` has written, as specified by `sought.rs` of the engine crate.
// The samples of a batch were just written, so most reads hit the cache.
//
// The grid is (count, parts): the CUDA blocks of a row share the rows of a task, and a warp takes one row at a time.
// Gap-free, aligned rows are read 16 bytes at a time; others sample by sample, at any alignment.
#include "steps/find_abi.h"
#include "words.cuh"

// The sought value, in a number of T bytes.
template <class T>
struct Wanted {
  T mask, low, span;
};

template <class T>
DEVICE bool is_wanted(const Wanted<T>& wanted, T bits) {
  return (T)((T)(bits & wanted.mask) - wanted.low) <= wanted.span;
}

template <class T>
DEVICE Wanted<T> wanted_of(const FindArgs& args) {
  return {(T)args.mask, (T)args.low, (T)args.span};
}

// Returns whether a number of the 16 bytes is sought; if two form a sample, a first one whose second is 0.
template <class T>
DEVICE bool in_quad(const Wanted<T>& wanted, u32 parts, const Quad& quad) {
  const u64 words[2] = {(u64)quad.word[1] << 32 | quad.word[0], (u64)quad.word[3] << 32 | quad.word[2]};
  const u32 PER_WORD = 8 / sizeof(T);
  bool found = false;
#pragma unroll
  for (u32 i = 0; i < 2 * PER_WORD; i++) {
    const T number = (T)(words[i / PER_WORD] >> (8 * sizeof(T)) % 64 * (i % PER_WORD));
    bool is = is_wanted(wanted, number);
    if (parts == PARTS_FIRST_AND_ZERO) {
      const u32 next = i | 1;
      const T second = (T)(words[next / PER_WORD] >> (8 * sizeof(T)) % 64 * (next % PER_WORD));
      is = is && i % 2 == 0 && (T)(second << 1) == 0;
    }
    found |= is;
  }
  return found;
}

// Loads a number from any address.
template <class T>
DEVICE T number_at(const u8* at) {
  u64 bits = 0;
#pragma unroll 1
  for (u32 i = 0; i < sizeof(T); i++) bits |= (u64)at[i] << 8 * i;
  return (T)bits;
}

template <class T>
DEVICE bool at_sample(const Wanted<T>& wanted, u32 parts, const u8* at) {
  const T first = number_at<T>(at);
  if (parts == PARTS_ONE) return is_wanted(wanted, first);
  const T second = number_at<T>(at + sizeof(T));
  if (parts == PARTS_EITHER) return is_wanted(wanted, first) || is_wanted(wanted, second);
  return is_wanted(wanted, first) && (T)(second << 1) == 0;
}

// Returns whether this lane finds it in `count` samples, `stride` bytes apart.
template <class T>
DEVICE bool in_row(const Wanted<T>& wanted, u32 parts, const u8* row, u64 count, u64 stride, u32 size, u32 lane) {
  bool found = false;
  if (stride != size || misalignment(row, size) != 0) {
#pragma unroll 1
    for (u64 i = lane; i < count; i += 32) found |= at_sample(wanted, parts, row + i * stride);
    return found;
  }
  const u64 len = count * size;
  const u64 head = min((u64)((16 - misalignment(row, 16)) % 16), len), quads = (len - head) / 16;
  const Quad* body = (const Quad*)(row + head);
#pragma unroll 2
  for (u64 i = lane; i < quads; i += 32) found |= in_quad(wanted, parts, body[i]);
  const u64 tail = head + quads * 16;
#pragma unroll 1
  for (u64 at = (u64)lane * size; at < head; at += 32 * size) found |= at_sample(wanted, parts, row + at);
#pragma unroll 1
  for (u64 at = tail + (u64)lane * size; at < len; at += 32 * size) found |= at_sample(wanted, parts, row + at);
  return found;
}

template <class T>
DEVICE void find_in(const FindArgs& args, const PlaceTask& task, const PlaceLayout& layout) {
  const Wanted<T> wanted = wanted_of<T>(args);
  const bool interleaved = (task.flags & TASK_INTERLEAVED) != 0;
  const u32 size = layout.size, lane = threadIdx.x % 32;
  const u64 count = interleaved ? (u64)task.width * task.bands : task.width;
  const u64 stride = interleaved ? size : layout.column_stride;
  const u64 rows = interleaved ? task.height : (u64)task.height * task.bands;
  const u64 warps = (u64)gridDim.y * (FIND_THREADS / 32);
  bool found = false;
#pragma unroll 1
  for (u64 i = (u64)blockIdx.y * (FIND_THREADS / 32) + threadIdx.x / 32; i < rows; i += warps) {
    const u64 band = i / task.height, y = i - band * task.height;
    const u8* row = (const u8*)task.dst + band * layout.band_stride + y * layout.row_stride;
    found |= in_row(wanted, args.parts, row, count, stride, size, lane);
  }
  if (found) relaxed_store(args.found, 1);
}

KERNEL(find, FIND_THREADS, FindArgs) {
  if (blockIdx.x >= args.count) return;
  const PlaceTask task = args.tasks[blockIdx.x];
  if (task.sought != args.sought) return;
  if (task.status != NO_STATUS && args.statuses[task.status] != 0) return;
  if (relaxed_load(args.found) != 0) return;
  const PlaceLayout layout = args.layouts[task.layout];
  switch (args.parts == PARTS_ONE ? layout.size : layout.size / 2) {
    case 1: return find_in<u8>(args, task, layout);
    case 2: return find_in<u16>(args, task, layout);
    case 4: return find_in<u32>(args, task, layout);
    default: return find_in<u64>(args, task, layout);
  }
}
