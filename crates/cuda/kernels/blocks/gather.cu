// Copies encoded blocks scattered in device memory into one buffer, each to its own offset, byte for byte.
//
// The grid is (count, parts): the CUDA blocks of a row share the pieces of an item. A thread copies 16 bytes aligned in
// the output; bytes at the ends are copied one by one. Empty items are allowed.
#include "blocks/gather_abi.h"
#include "words.cuh"

const u32 GATHER_THREADS = 256;

KERNEL(gather, GATHER_THREADS, GatherArgs) {
  if (blockIdx.x >= args.count) return;
  const GatherItem item = args.items[blockIdx.x];
  const u8* from = args.src + item.src;
  const u8* end = from + item.len;
  u8* to = args.dst + item.dst;
  const u32 skip = misalignment(to, 16);
  const u64 span = item.len + skip, step = (u64)gridDim.y * GATHER_PIECE;
  for (u64 piece = (u64)blockIdx.y * GATHER_PIECE; piece < span; piece += step) {
#pragma unroll 4
    for (u32 k = 0; k < GATHER_PIECE; k += GATHER_THREADS * 16) {
      const u64 begin = piece + k + threadIdx.x * 16;
      if (begin >= skip && begin + 16 <= span) {
        u64 words[2];
        load_words<u64, 2>(from + (begin - skip), end, words);
        const u32 a = (u32)words[0], b = (u32)(words[0] >> 32), c = (u32)words[1], d = (u32)(words[1] >> 32);
        *(Quad*)(to + (begin - skip)) = {a, b, c, d};
      } else {
        const u64 first = max(begin, (u64)skip), last = min(begin + 16, span);
#pragma unroll 1
        for (u64 i = first; i < last; i++) to[i - skip] = from[i - skip];
      }
    }
  }
}
