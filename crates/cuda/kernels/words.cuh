// Reads and writes bytes at any alignment as whole aligned words.
//
// Reads touch only words that hold a requested byte; a word across the end is assembled from bytes, so that nothing
// past the end is read. Makes no assumption about the meaning of the bytes.
#pragma once
#include "device.h"

struct alignas(16) Quad {
  u32 word[4];
};

DEVICE u32 misalignment(const void* at, u32 of) { return (u32)((u64)at & (of - 1)); }

// The aligned word at `at`; bytes from `end` on are 0.
template <class Word>
DEVICE Word word_before(const u8* at, const u8* end) {
  if (at + sizeof(Word) <= end) return *(const Word*)at;
  Word word = 0;
#pragma unroll 1
  for (u32 i = 0; i < sizeof(Word); i++) {
    if (at + i < end) word |= (Word)at[i] << 8 * i;
  }
  return word;
}

// The N words from `at` on, at any alignment; bytes from `end` on are 0.
template <class Word, int N>
DEVICE void load_words(const u8* at, const u8* end, Word (&words)[N]) {
  const u32 skip = misalignment(at, sizeof(Word)) * 8;
  const u8* base = at - skip / 8;
  if (skip == 0) {
#pragma unroll
    for (int k = 0; k < N; k++) words[k] = word_before<Word>(base + sizeof(Word) * k, end);
    return;
  }
  Word low = at < end ? word_before<Word>(base, end) : 0;
#pragma unroll
  for (int k = 0; k < N; k++) {
    Word high = word_before<Word>(base + sizeof(Word) * (k + 1), end);
    words[k] = low >> skip | high << (8 * sizeof(Word) - skip);
    low = high;
  }
}

// The five aligned words that hold the 16 bytes from `at` on; bytes from `end` on are 0.
DEVICE void load_raw(const u8* at, const u8* end, u32 (&raw)[5]) {
  const u8* words = at - misalignment(at, 4);
  if (words + 20 <= end) {
#pragma unroll
    for (int k = 0; k < 5; k++) raw[k] = ((const u32*)words)[k];
    return;
  }
  // At most one of them extends across the end.
  const u8* last = end - misalignment(end, 4);
  u32 across = 0;
#pragma unroll 1
  for (u32 i = 0; last + i < end && last >= words; i++) across |= (u32)last[i] << 8 * i;
#pragma unroll
  for (int k = 0; k < 5; k++) {
    const u8* word = words + 4 * k;
    raw[k] = word < last ? *(const u32*)word : word == last ? across : 0;
  }
}

// The 16 bytes from `at` on, at any alignment; bytes from `end` on are 0.
DEVICE Quad load_quad(const u8* at, const u8* end) {
  if (misalignment(at, 16) == 0 && at + 16 <= end) return *(const Quad*)at;
  u32 raw[5];
  load_raw(at, end, raw);
  Quad quad;
#pragma unroll
  for (int k = 0; k < 4; k++) quad.word[k] = __funnelshift_r(raw[k], raw[k + 1], 8 * misalignment(at, 4));
  return quad;
}

// Writes `len` bytes from shared memory to `to`, at any alignment. `run` may have any alignment, and 4 bytes behind it
// must be readable. Called by a whole warp, after a __syncwarp.
DEVICE void write_run(u8* to, const u8* run, u32 len, u32 lane) {
  const u32 head = min((4 - misalignment(to, 4)) & 3, len);
  if (lane < head) to[lane] = run[lane];
  const u32 skip = misalignment(run + head, 4) * 8;
  const u32* words = (const u32*)(run + head - skip / 8);
  u32* into = (u32*)(to + head);
  const u32 count = (len - head) / 4;
#pragma unroll 1
  for (u32 i = lane; i < count; i += 32) into[i] = __funnelshift_r(words[i], words[i + 1], skip);
  const u32 done = head + count * 4;
  if (lane < len - done) to[done + lane] = run[done + lane];
}
