// Copies rectangles of samples between images with any strides, or makes masks of them. One launch handles many.
//
// The grid is (count, parts): the warps of all parts of an item share its rows, and the lanes share the samples of a
// row. Runs of bytes are written 16 at a time, at multiples of 16 of the output. Rectangles of one launch do not
// overlap.
#include "blocks/assemble_abi.h"
#include "words.cuh"

const u32 ASSEMBLE_THREADS = 128;
const u32 ASSEMBLE_WARPS = ASSEMBLE_THREADS / 32;
// Samples, or 16-byte units of a run, that a warp takes at a time.
const u32 ASSEMBLE_SPAN = 128;

// 16-byte units of the output that a run of bytes touches.
DEVICE u32 units_of(const u8* to, u32 len) { return (misalignment(to, 16) + len + 15) / 16; }

// Copies units `first` to `last` of a run.
DEVICE void copy_units(u8* to, const u8* from, u32 len, u32 first, u32 last, u32 lane) {
  const u32 skip = misalignment(to, 16);
  const u8* end = from + len;
#pragma unroll 4
  for (u32 unit = first + lane; unit < last; unit += 32) {
    const u32 begin = unit * 16;
    if (begin >= skip && begin + 16 <= skip + len) {
      *(Quad*)(to + (begin - skip)) = load_quad(from + (begin - skip), end);
    } else {
#pragma unroll 1
      for (u32 i = max(begin, skip); i < min(begin + 16, skip + len); i++) to[i - skip] = from[i - skip];
    }
  }
}

// Copies one sample at any alignment.
DEVICE void copy_sample(u8* to, const u8* from, u32 size) {
  if (((u64)to | (u64)from) % min(size, 8u) == 0) {
    switch (size) {
      case 1: *to = *from; return;
      case 2: *(u16*)to = *(const u16*)from; return;
      case 4: *(u32*)to = *(const u32*)from; return;
      case 8: *(u64*)to = *(const u64*)from; return;
      default:
        ((u64*)to)[0] = ((const u64*)from)[0];
        ((u64*)to)[1] = ((const u64*)from)[1];
        return;
    }
  }
#pragma unroll 1
  for (u32 i = 0; i < size; i++) to[i] = from[i];
}

DEVICE bool any_byte(const u8* from, u32 size) {
  u32 bits = 0;
#pragma unroll 1
  for (u32 i = 0; i < size; i++) bits |= from[i];
  return bits != 0;
}

KERNEL(assemble, ASSEMBLE_THREADS, AssembleArgs) {
  if (blockIdx.x >= args.count) return;
  const AssembleItem item = args.items[blockIdx.x];
  const u32 lane = threadIdx.x % 32, columns = item.columns;
  if (columns == 0) return;
  const u64 to_step = item.dst_strides[2], from_step = item.src_strides[2];
  const bool run = item.mask == 0 && item.size == 1 && to_step == 1 && from_step == 1;
  // A run may touch one unit more than its length requires.
  const u32 spans = ((run ? (columns - 1) / 16 + 2 : columns) - 1) / ASSEMBLE_SPAN + 1;
  const u64 all = (u64)item.bands * item.rows * spans;
  const u64 warps = (u64)gridDim.y * ASSEMBLE_WARPS;
#pragma unroll 1
  for (u64 i = (u64)blockIdx.y * ASSEMBLE_WARPS + threadIdx.x / 32; i < all; i += warps) {
    const u64 line = i / spans, band = line / item.rows, row = line - band * item.rows;
    const u32 first = (u32)(i - line * spans) * ASSEMBLE_SPAN;
    const u8* from = (const u8*)item.src + band * item.src_strides[0] + row * item.src_strides[1];
    u8* to = (u8*)item.dst + band * item.dst_strides[0] + row * item.dst_strides[1];
    if (run) {
      copy_units(to, from, columns, first, min(first + ASSEMBLE_SPAN, units_of(to, columns)), lane);
      continue;
    }
    const u32 last = min(first + ASSEMBLE_SPAN, columns);
#pragma unroll 4
    for (u32 x = first + lane; x < last; x += 32) {
      if (item.mask == 0) {
        copy_sample(to + x * to_step, from + x * from_step, item.size);
      } else {
        to[x * to_step] = any_byte(from + x * from_step, item.size) ? 1 : 0;
      }
    }
  }
}
