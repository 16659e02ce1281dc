// Bits of an entropy-coded stream, read from its end to its beginning (RFC 8878, 4.1.2 and 4.2.2).
//
// Invariant: the unread bits stand at the top of `window`, of which `valid` are there; below the beginning of the stream
// come bits that mean nothing. A stream is right if exactly all its bits were read: `left` is 0 at the end. It never
// grows, so nobody needs to look at it before.
#pragma once
#include "zstd_format.cuh"

struct ZstdBits {
  u64 window;
  i32 valid;
  i32 left;          // bits of the stream not read, negative when too many were
  const u32* words;  // the aligned word of the first byte of the stream
  i32 word;          // the one after `next`
  u32 next;          // fetched before it is needed
};

// False where the stream has no end mark. Reads whole words that hold a byte of the stream, no others.
DEVICE bool zstd_open(ZstdBits& bits, const u8* src, u32 len) {
  if (len == 0) return false;
  const u32 mark = src[len - 1];
  if (mark == 0) return false;
  const u64 first = (u64)src, last = first + len - 1;
  const u32 top = zstd_log2(mark), held = (u32)(last & 3) * 8 + top;
  bits.words = (const u32*)(first & ~(u64)3);
  bits.word = (i32)((last >> 2) - (first >> 2));
  const u64 word = bits.words[bits.word];
  bits.window = held == 0 ? 0 : word << (64 - held);
  bits.valid = (i32)held;
  bits.left = (i32)((len - 1) * 8 + top);
  --bits.word;
  bits.next = bits.word >= 0 ? bits.words[bits.word] : 0;
  return true;
}

// At least 32 valid bits.
DEVICE void zstd_refill(ZstdBits& bits) {
  if (bits.valid <= 32) {
    bits.window |= (u64)bits.next << (32 - bits.valid);
    bits.valid += 32;
    --bits.word;
    bits.next = bits.word >= 0 ? bits.words[bits.word] : 0;
  }
}

// The top `count` bits, 0 to 32.
DEVICE u32 zstd_top(u64 window, u32 count) { return (u32)(window >> 1 >> (63 - count)); }

DEVICE void zstd_skip(ZstdBits& bits, u32 count) {
  bits.window <<= count;
  bits.valid -= (i32)count;
  bits.left -= (i32)count;
}

// Reads 0 to 32 bits, which are valid.
DEVICE u32 zstd_read(ZstdBits& bits, u32 count) {
  const u32 value = zstd_top(bits.window, count);
  zstd_skip(bits, count);
  return value;
}
