// The ZSTD encoder (`portable/spec.md`, "ZSTD"): state of each part between the passes, and its place in memory. Parts
// are ZSTD blocks; "block" here means an image block.
//
// Once tokens are chosen, the chains are no longer needed: their two bytes per byte hold the literals of a part from
// the front and its sequences from the end, and the memory of the matches is reused for the sequences in their written
// form. No match is shorter than 4 bytes, so there is room for everything: 8 bytes per sequence beside the literals,
// and twice 8 bytes in the memory of the matches. Behind the scratch of matches follow the size of each part, then one
// ZstdPart each; counterparts of `src/encode/codec/zstd.rs`.
#pragma once
#include "matches/match_abi.h"
#include "matches/match_rules.cuh"
#include "zstd/zstd_fse.cuh"

constexpr u32 ZSTD_THREADS = 256;
constexpr u32 ZSTD_WARPS = ZSTD_THREADS / 32;
constexpr u32 ZSTD_FRAME_HEADER = 10;
constexpr u32 ZSTD_TREE = 129;       // maximum bytes of weights, including the byte before them
constexpr u32 ZSTD_DESCRIPTION = 96; // maximum bytes of a description: 53 counts of 10 bits and 2 more each
constexpr u32 ZSTD_HEAD = 144;       // headers of the block and of literals, tree, sizes of streams
constexpr u32 ZSTD_TAIL = 304;       // header of sequences and three descriptions

static_assert(ZSTD_HEAD >= 3 + 5 + ZSTD_TREE + 6, "the longest head");
static_assert(ZSTD_TAIL >= 2 + 1 + 3 * ZSTD_DESCRIPTION, "the longest tail");
static_assert(LEAST >= 4 && PART <= 65536, "see above");

struct ZstdPart {
  u32 literals, sequences;  // numbers of those that are coded
  u32 streams;              // of literals: 0, 1 or 4
  u32 raw;                  // bytes copied behind the head: 0, all literals, or all of the part
  u32 raw_literals;         // 1: these bytes are the literals
  u32 head_len, tail_len;
  u32 states, state_bits;   // final states of the sequences
  u32 reserved[3];
  u32 head[ZSTD_HEAD / 4];
  u32 tail[ZSTD_TAIL / 4];
  u16 codes[256];  // code | length << 12
};

static_assert(sizeof(ZstdPart) == 1008, "twin of src/encode/codec/zstd.rs");

// One part of a block, and its memory.
struct ZstdWork {
  const u32* words;    // the block's bytes
  MatchScratch match;
  u32 start, end, len; // of the part, as positions in the block
  u8* literals;
  u64* found;          // behind the first sequence; the others are before it, in descending order, see `zstd_found`
  u64* sequences;      // literals | length - 3 << 16 | offset value << 32
  u16* bits;           // four per sequence: `zstd_written` of literals, offset, match
  u32* sizes;          // of all parts, including their headers
  ZstdPart* part;
};

DEVICE ZstdWork zstd_work(const EncodeArgs& args, const EncodeBlock& block, u32 part) {
  ZstdWork work;
  work.words = (const u32*)(args.packed + block.src);
  work.match = match_scratch(args, block);
  work.start = part * PART;
  work.len = min(block.len - work.start, PART);
  work.end = work.start + work.len;
  work.literals = (u8*)(work.match.before + work.start);
  work.found = (u64*)(work.literals + ((2 * work.len + 7) & ~7u));
  work.sequences = (u64*)(work.match.matches + work.start);
  work.bits = (u16*)(work.sequences + work.len / 4);
  work.sizes = (u32*)work.match.rest;
  const u32 parts = (block.len - 1) / PART + 1;
  work.part = (ZstdPart*)(work.match.rest + ((4 * (u64)parts + 15) & ~(u64)15)) + part;
  return work;
}

// Packs its position in the part, the number of literals before it, and its distance.
DEVICE u64 zstd_found(u32 start, u32 literals, u32 distance) {
  return (u64)distance << 32 | literals << 16 | start;
}
DEVICE u32 zstd_found_start(u64 found) { return (u32)found & 0xFFFF; }
DEVICE u32 zstd_found_literals(u64 found) { return (u32)found >> 16; }
DEVICE u32 zstd_found_distance(u64 found) { return (u32)(found >> 32); }

DEVICE u64 zstd_sequence(u32 literals, u32 length, u32 offset) {
  return (u64)offset << 32 | length << 16 | literals;
}
DEVICE u32 zstd_sequence_literals(u64 sequence) { return (u32)sequence & 0xFFFF; }
DEVICE u32 zstd_sequence_length(u64 sequence) { return (u32)sequence >> 16; }
DEVICE u32 zstd_sequence_offset(u64 sequence) { return (u32)(sequence >> 32); }
