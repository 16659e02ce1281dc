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

// The bits of the stream, without the end mark; negative where it has none.
DEVICE i32 zstd_bit_length(const u8* src, u32 len) {
  const u32 mark = len != 0 ? src[len - 1] : 0;
  return mark != 0 ? (i32)((len - 1) * 8 + zstd_log2(mark)) : -1;
}

// Goes to where `left` bits are not read. Reads whole words that hold a byte of the stream, no others.
DEVICE void zstd_seek(ZstdBits& bits, const u8* src, u32 left) {
  const u32 top = (u32)((u64)src & 3) * 8 + left, held = top & 31;
  bits.words = (const u32*)(src - ((u64)src & 3));
  bits.word = (i32)(top >> 5);
  bits.window = held == 0 ? 0 : (u64)bits.words[bits.word] << (64 - held);
  bits.valid = (i32)held;
  bits.left = (i32)left;
  --bits.word;
  bits.next = bits.word >= 0 ? bits.words[bits.word] : 0;
}

// Goes to the beginning; false where the stream has no end mark.
DEVICE bool zstd_open(ZstdBits& bits, const u8* src, u32 len) {
  const i32 length = zstd_bit_length(src, len);
  if (length < 0) return false;
  zstd_seek(bits, src, (u32)length);
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

// The top `count` bits, 0 to 31.
DEVICE u32 zstd_top(u64 window, u32 count) { return (u32)(window >> 32) >> 1 >> (31 - count); }

DEVICE void zstd_skip(ZstdBits& bits, u32 count) {
  bits.window <<= count;
  bits.valid -= (i32)count;
  bits.left -= (i32)count;
}

// Reads 0 to 31 bits, which are valid.
DEVICE u32 zstd_read(ZstdBits& bits, u32 count) {
  const u32 value = zstd_top(bits.window, count);
  zstd_skip(bits, count);
  return value;
}
