// Decodes Deflate in a zlib frame (RFC 1950, 1951), by one CUDA block of one or more warps.
//
// The first warp reads block headers. Then all warps repeatedly decode a batch of tokens into lists and turn the lists
// into output; the memory of a batch's bits is afterwards the page of output. Returns FAULT_NONE only if the zlib
// header, the stream, its length and its Adler-32 are all correct; bytes after the checksum are ignored, as on the
// host.
#pragma once
#include "abi.h"
#include "deflate/deflate_header.cuh"
#include "deflate/lz_lists.cuh"

// Layout of reused memory: the beginning of the page, and behind it the bits of a batch, or the rest of the page and
// the queue, or the lengths of a header.
template <u32 WARPS>
struct Work {
  static constexpr u32 bits = FLUSH;
  static constexpr u32 queue = page_memory(WARPS);
  static constexpr u32 lengths = bits + batch_words(1) * 4;
  static constexpr u32 codes = lengths + 320;
  static constexpr u32 decoding = bits + batch_words(WARPS) * 4;
  static constexpr u32 copying = queue + queue_len(WARPS) * sizeof(QueuedMatch);
  static constexpr u32 header = codes + 32;
  static constexpr u32 most = decoding > copying ? decoding : copying;
  static constexpr u32 len = most > header ? most : header;
};

enum BlockKind : u32 { BLOCK_STORED, BLOCK_FIXED, BLOCK_DYNAMIC };

// Result of the first warp's reading of a header.
struct Header {
  u64 bit;  // bit behind the header
  u32 kind;
  u32 final;
  u32 len;  // of a stored block
  u32 fault;
};

template <u32 WARPS>
struct DeflateShared {
  static constexpr bool stores = true;
  u16* lists_of_tokens() { return lists; }
  u8* bits() { return work + Work<WARPS>::bits; }
  u8* lengths() { return work + Work<WARPS>::lengths; }
  u8* codes() { return work + Work<WARPS>::codes; }

  u32 tables[TABLE_ENTRIES];
  alignas(16) u16 lists[32 * WARPS * LIST_STRIDE];
  alignas(16) u8 work[Work<WARPS>::len];
  Header header;
  WalkNotes<WARPS> walks;
  WindowNotes<WARPS> windows;
  u32 bytes[WARPS];    // of a batch's lists
  u32 matches[WARPS];
  u32 reached, stop;   // where the last list ends, and why
  u32 used;            // bits of the header
  AdlerPart parts[WARPS];
};

static_assert(sizeof(CodeWork) <= 2 * 32 * LIST_STRIDE, "tables are built in the memory of the lists");
// Eight per multiprocessor of 228 KiB; each takes 1 KiB more.
static_assert(sizeof(DeflateShared<2>) <= 28160, "eight of them on a multiprocessor");
static_assert(sizeof(DeflateShared<4>) <= 49152, "static memory of a CUDA block");

DEVICE u32 read_stored(Stream& in, Header& header, u32 lane) {
  in.bit = (in.bit + 7) & ~(u64)7;
  if (in.bit + 32 > in.end) return FAULT_INPUT_TRUNCATED;
  u32 both = bits_at(in.words, in.bit), len = both & 0xFFFF;
  if ((both >> 16 ^ len) != 0xFFFF) return FAULT_CORRUPT;
  in.bit += 32;
  if (in.bit + len * 8 > in.end) return FAULT_INPUT_TRUNCATED;
  if (lane == 0) header.len = len;
  return FAULT_NONE;
}

// Reads a header and builds the tables of its block; `built` tells which tables exist. Called by all lanes of the first
// warp; the result is in `header`.
template <class Shared>
DEVICE u32 read_header(Stream in, u32 built, Shared& shared, u32 lane) {
  Header& header = shared.header;
  if (in.bit + 3 > in.end) return FAULT_INPUT_TRUNCATED;
  u32 begin = bits_at(in.words, in.bit), kind = begin >> 1 & 3;
  in.bit += 3;
  if (lane == 0) {
    header.kind = kind;
    header.final = begin & 1;
  }
  u32 fault = FAULT_NONE, build = CODE_NONE;
  u8 *found = shared.lengths(), *codes = shared.codes();
  Lengths lengths = {0, 0, 0, LENGTH_UNKNOWN};
  if (kind == BLOCK_STORED) fault = read_stored(in, header, lane);
  if (kind > BLOCK_DYNAMIC) return FAULT_CORRUPT;
  if (kind == BLOCK_FIXED && built != BLOCK_FIXED) {
    fixed_lengths(lengths, found, lane);
    build = CODE_LITERALS;
  } else if (kind == BLOCK_DYNAMIC) {
    if (!read_dynamic(in, lengths, codes, found, lane)) return FAULT_CORRUPT;
    build = CODE_LENGTHS;
  }
  while (build != CODE_NONE) {
    bool literals = build == CODE_LITERALS, distances = build == CODE_DISTANCES;
    const u8* from = literals ? found : distances ? found + lengths.literals : codes;
    u32 symbols = literals ? lengths.literals : distances ? lengths.wanted - lengths.literals : 19;
    CodeWork& work = *(CodeWork*)shared.lists_of_tokens();
    if (!build_table(work, shared.tables, from, symbols, build, lane)) return FAULT_CORRUPT;
    if (build == CODE_LENGTHS) {
      WalkNotes<1>& notes = (WalkNotes<1>&)shared.walks;
      u16* lists = shared.lists_of_tokens();
      u32 read = read_lengths(in, lengths, found, shared.tables, lists, (Line*)shared.bits(), notes, lane);
      if (read != LENGTHS_ALL) return FAULT_CORRUPT;
    }
    build = build == CODE_LENGTHS ? CODE_LITERALS : literals ? CODE_DISTANCES : CODE_NONE;
  }
  if (lane == 0) header.bit = in.bit;
  return fault;
}

// Decodes a batch of tokens into lists, and stores at each where its output ends: `count` lists, which make `bytes`
// bytes. Called by all threads. A fault that ends decoding applies after the lists' content. If the memory does not
// store tokens, the lists are only counted.
template <u32 WARPS, class Shared>
DEVICE u32 make_lists(Stream& in, Pace& learned, Shared& shared, u32 head, u32& count,
                      u32& bytes, bool& ended, u32 thread) {
  const u32 threads = 32 * WARPS, lane = thread & 31, warp = thread / 32;
  count = bytes = 0;
  if (in.bit >= in.end) return FAULT_INPUT_TRUNCATED;
  constexpr bool stores = Shared::stores;
  u16* list = shared.lists_of_tokens() + (stores ? thread * LIST_STRIDE : 0);
  Line* lines = (Line*)shared.bits();
  WalkMemory memory = {shared_address(shared.tables), shared_address(lines), shared_address(list)};
  u64 left = in.end - (in.bit & ~(u64)127);
  u32 end = (u32)min(left, (u64)0x40000000u), from = (u32)in.bit & 127;
  Pace pace = learned;
  // Divides the remaining bits evenly.
  pace.span = min(pace.span, max((end - from) / threads + 1, LEAST_SPAN));
  Walk mine;
  u32 last = walk_batch<WARPS, stores>(in, memory, lines, shared.walks, LITERALS_ROOT, end, pace, thread, mine);

  // The slot of a length is 253 more than its bytes.
  constexpr u32 shift = pairs_shift(stores);
  u32 matches = thread <= last ? mine.pairs >> shift : 0;
  u32 size = thread <= last ? mine.slots + (mine.pairs & ((1u << shift) - 1)) - matches * 255 : 0;
  u32 position = size, index = matches;
#pragma unroll
  for (u32 step = 1; step < 32; step <<= 1) {
    u32 lower = __shfl_up_sync(ALL_LANES, position, step), fewer = __shfl_up_sync(ALL_LANES, index, step);
    if (lane >= step) {
      position += lower;
      index += fewer;
    }
  }
  if (lane == 31) {
    shared.bytes[warp] = position;
    shared.matches[warp] = index;
  }
  if (thread == last) {
    shared.reached = mine.end;
    shared.used = mine.end - mine.begin;
    shared.stop = mine.stop;
  }
  bool many = stores && thread <= last && mine.slots > LIST_SLOTS * 7 / 8;
  if (WARPS == 1) {
    __syncwarp();
    many = __any_sync(ALL_LANES, many);
  } else {
    many = __syncthreads_or(many);
  }
#pragma unroll
  for (u32 w = 0; w < WARPS; ++w) {
    if (w < warp) {
      position += shared.bytes[w];
      index += shared.matches[w];
    }
    bytes += shared.bytes[w];
  }
  if (stores && thread <= last) {
    *(ListEnd*)(list + LIST_SLOTS) = {head + position, index, mine.slots};
    for (u32 i = mine.slots; i % 4 != 0; ++i) list[i] = SLOT_DISTANCE;
  }
  u32 stop = shared.stop, reached = shared.reached, used = shared.used;
  group_sync<threads>();
  count = last + 1;
  in.bit += reached - from;
  if (stop == STOP_INVALID) return FAULT_CORRUPT;
  if (reached > end || (stop != STOP_END && reached == end)) return FAULT_INPUT_TRUNCATED;

  learned.run_in = pace.run_in;
  if (stop == STOP_FULL) {
    learned.span = max(min(used, pace.span) * 7 / 8, LEAST_SPAN);
  } else if (!many && pace.span == learned.span) {
    learned.span = min(learned.span + learned.span / 8, MOST_SPAN);
  }
  ended = stop == STOP_END;
  return FAULT_NONE;
}

DEVICE u32 zlib_header(const u8* src, u32 len) {
  if (len < 7) return FAULT_INPUT_TRUNCATED;
  u32 method = __ldg(src), flags = __ldg(src + 1);
  bool right = (method & 15) == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0;
  if ((flags & 0x20) != 0) right = false;  // a preset dictionary
  return right ? FAULT_NONE : FAULT_CORRUPT;
}

// Reads the checksum behind the last block, which ends at `bit` of `words`.
DEVICE u32 stored_adler(const u8* words, u64 bit) {
  const u8* at = words + (bit + 7) / 8;
  return (u32)__ldg(at) << 24 | (u32)__ldg(at + 1) << 16 | (u32)__ldg(at + 2) << 8 | __ldg(at + 3);
}

// Decodes a stream of at most `dst_len` output bytes; `made` is set to their number. All threads return the same fault.
template <u32 WARPS>
DEVICE u32 inflate_stream(const u8* encoded, u8* decoded, const DecodeBlock& block, DeflateShared<WARPS>& shared,
                          u32 thread, u32& made) {
  const u32 threads = 32 * WARPS;
  u32 fault = zlib_header(encoded + block.src, block.src_len);
  if (fault != FAULT_NONE) return fault;
  const u8* words = encoded + (block.src & ~(u64)15);
  u64 first = (block.src & 15) * 8;
  Stream in = {(const u32*)words, first + 16, first + (u64)(block.src_len - 4) * 8};
  Pace pace = {640, 256};
  Output out = {decoded + block.dst, shared.work, block.dst_len, 0, 0, {0, 0}};
  QueuedMatch* queue = (QueuedMatch*)(shared.work + Work<WARPS>::queue);
  WindowMemory<WARPS> memory = {shared.lists, queue, shared.windows};
  if (thread == 0) shared.windows.wrong = 0;
  u32 built = BLOCK_STORED, side = 0;
  bool inside = false, final = false;
  while (inside || !final) {
    if (!inside) {
      // Others may still read the lists, whose memory is reused to build tables.
      group_sync<threads>();
      if (thread < 32) {
        u32 wrong = read_header(in, built, shared, thread);
        if (thread == 0) shared.header.fault = wrong;
      }
      group_sync<threads>();
      const Header header = shared.header;
      if (header.fault != FAULT_NONE) return header.fault;
      final = header.final != 0;
      in.bit = header.bit;
      if (header.kind == BLOCK_STORED) {
        if (!append<WARPS>(out, words + in.bit / 8, header.len, thread)) return FAULT_OUTPUT_SURPLUS;
        in.bit += header.len * 8;
        group_sync<threads>();
        continue;
      }
      built = header.kind;
      inside = true;
    }
    u32 count, bytes;
    bool ended = false;
    fault = make_lists<WARPS>(in, pace, shared, out.head, count, bytes, ended, thread);
    if (bytes > out.len - out.head) return FAULT_OUTPUT_SURPLUS;
    if (fault != FAULT_NONE) return fault;
    if (!append_lists<WARPS>(out, memory, count, side, thread)) return FAULT_CORRUPT;
    inside = !ended;
  }
  u32 adler = finish<WARPS>(out, shared.parts, thread);
  made = out.head;
  return adler == stored_adler(words, in.bit) ? FAULT_NONE : FAULT_CHECKSUM;
}

// Decodes one image block of exactly `dst_len` bytes.
template <u32 WARPS>
DEVICE u32 decode_stream(const u8* encoded, u8* decoded, const DecodeBlock& block,
                         DeflateShared<WARPS>& shared, u32 thread) {
  u32 made = block.dst_len;
  const u32 fault = inflate_stream<WARPS>(encoded, decoded, block, shared, thread, made);
  return made != block.dst_len ? FAULT_OUTPUT_SHORT : fault;
}
