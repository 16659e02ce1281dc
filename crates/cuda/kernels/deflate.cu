// Deflate in a zlib frame (RFC 1950, 1951): one CUDA block of two warps decodes one block of an image.
//
// Warp 0 reads block headers and decodes tokens into lists, a batch at a time; warp 1 meanwhile turns the
// batch before into output. Lists are double-buffered, so there is one barrier a batch. Says FAULT_NONE only
// where the zlib header, the stream, its length and its Adler-32 are all right; bytes after the checksum are
// left, as on the host.
#include "abi.h"
#include "deflate_header.cuh"
#include "lz_copy.cuh"

#define DEFLATE_THREADS 64
#define LISTS (32 * LIST_STRIDE)

enum BatchKind : u32 { BATCH_LISTS, BATCH_STORED };

// What warp 0 hands to warp 1.
struct Batch {
  u32 kind;
  u32 lists;      // LISTS: how many
  u32 fault;      // decoding ended with it; what else is said here counts all the same
  u32 last;       // nothing comes after
  u32 adler;      // of the last: the checksum that the stream has
  u32 len;        // STORED: bytes
  u64 from;       // STORED: offset of the first
  u8 slots[32];   // LISTS: slots of each
};

struct DeflateShared {
  u32 tables[TABLE_ENTRIES];
  alignas(16) u16 lists[2][LISTS + 4];
  alignas(16) u8 page[PAGE_MEMORY];
  QueuedMatch queue[QUEUE];
  alignas(16) Line bits[BATCH_WORDS / 4];
  u8 lengths[320];
  u8 codes[20];
  Batch batches[2];
  u32 over[2];  // by turns: warp 1 took the last batch, or found a fault
};

static_assert(sizeof(CodeWork) <= sizeof(u16) * LISTS, "tables are built in the memory of the lists");
// Eight of them on a multiprocessor of 228 KiB, of which each takes 1 KiB more.
static_assert(sizeof(DeflateShared) <= 28160, "eight of them on a multiprocessor");

enum Tables : u32 { TABLES_NONE, TABLES_FIXED, TABLES_DYNAMIC };

// Warp 0's state between batches; the same in all lanes.
struct Decoder {
  Stream in;
  Pace pace;
  u32 tables;    // which ones are built
  bool inside;   // a block of codes
  bool final;    // it is the last
  bool over;     // the last batch is made
};

DEVICE u32 end_of_stream(Decoder& decoder, Batch& batch, u32 lane) {
  const u8* at = (const u8*)decoder.in.words + (decoder.in.bit + 7) / 8;
  decoder.over = true;
  if (lane == 0) {
    batch.last = 1;
    batch.adler = (u32)__ldg(at) << 24 | (u32)__ldg(at + 1) << 16 | (u32)__ldg(at + 2) << 8 | __ldg(at + 3);
  }
  return FAULT_NONE;
}

DEVICE u32 read_stored(Decoder& decoder, Batch& batch, u32 lane) {
  Stream& in = decoder.in;
  in.bit = (in.bit + 7) & ~(u64)7;
  if (in.bit + 32 > in.end) return FAULT_INPUT_TRUNCATED;
  u32 both = bits_at(in.words, in.bit), len = both & 0xFFFF;
  if ((both >> 16 ^ len) != 0xFFFF) return FAULT_CORRUPT;
  in.bit += 32;
  if (in.bit + len * 8 > in.end) return FAULT_INPUT_TRUNCATED;
  if (lane == 0) {
    batch.kind = BATCH_STORED;
    batch.from = in.bit / 8;
    batch.len = len;
  }
  in.bit += len * 8;
  return decoder.final ? end_of_stream(decoder, batch, lane) : FAULT_NONE;
}

// Makes one batch. All lanes of warp 0; `lists` is free memory for it.
DEVICE u32 make_batch(Decoder& decoder, DeflateShared& shared, u16* lists, Batch& batch, u32 lane) {
  Stream& in = decoder.in;
  u32 build = CODE_NONE, root = LITERALS_ROOT;
  Lengths lengths = {0, 0, 0, LENGTH_UNKNOWN};
  if (!decoder.inside) {
    if (in.bit + 3 > in.end) return FAULT_INPUT_TRUNCATED;
    u32 header = bits_at(in.words, in.bit), type = header >> 1 & 3;
    in.bit += 3;
    decoder.final = header & 1;
    if (type == 0) return read_stored(decoder, batch, lane);
    if (type == 3) return FAULT_CORRUPT;
    if (type == 1 && decoder.tables != TABLES_FIXED) {
      fixed_lengths(lengths, shared.lengths, lane);
      build = CODE_LITERALS;
    } else if (type == 2) {
      if (!read_dynamic(in, lengths, shared.codes, shared.lengths, lane)) return FAULT_CORRUPT;
      build = CODE_LENGTHS;
    }
    decoder.tables = type == 1 ? TABLES_FIXED : TABLES_DYNAMIC;
    decoder.inside = true;
  }
  u16* list = lists + lane * LIST_STRIDE;
  WalkMemory memory = {shared_address(shared.tables), shared_address(shared.bits), shared_address(list)};
  Pace pace;
  Walk mine;
  u32 last, end;
  for (;;) {
    if (build != CODE_NONE) {
      bool literals = build == CODE_LITERALS, distances = build == CODE_DISTANCES;
      const u8* from = literals ? shared.lengths : shared.codes;
      if (distances) from = shared.lengths + lengths.literals;
      u32 symbols = literals ? lengths.literals : distances ? lengths.wanted - lengths.literals : 19;
      if (!build_table(*(CodeWork*)lists, shared.tables, from, symbols, build, lane)) return FAULT_CORRUPT;
      root = build == CODE_LENGTHS ? LENGTHS_ROOT : LITERALS_ROOT;
      build = literals ? CODE_DISTANCES : CODE_NONE;
      if (literals) continue;
    }
    if (in.bit >= in.end) return FAULT_INPUT_TRUNCATED;
    u64 left = in.end - (in.bit & ~(u64)127);
    end = (u32)min(left, (u64)0x40000000u);
    pace = decoder.pace;
    // What is left, in equal parts.
    pace.span = min(pace.span, max((end - ((u32)in.bit & 127)) / 32 + 1, 128u));
    if (root == LENGTHS_ROOT) pace = {64, 64};
    last = walk_batch(in, memory, shared.bits, root, end, pace, lane, mine);
    if (root == LITERALS_ROOT) break;
    u32 read = take_lengths(in, lengths, shared.lengths, memory, list, mine, last + 1, lane);
    if (read == LENGTHS_WRONG) return FAULT_CORRUPT;
    if (read == LENGTHS_ALL) build = CODE_LITERALS;
  }
  u32 stop = __shfl_sync(ALL_LANES, mine.stop, last), reached = __shfl_sync(ALL_LANES, mine.end, last);
  in.bit += reached - ((u32)in.bit & 127);
  batch.slots[lane] = lane <= last ? (u8)mine.slots : 0;
  for (u32 i = mine.slots; lane <= last && i % 4 != 0; ++i) list[i] = SLOT_DISTANCE;
  if (lane == 0) batch.lists = last + 1;
  if (stop == STOP_INVALID) return FAULT_CORRUPT;
  if (reached > end || (stop != STOP_END && reached == end)) return FAULT_INPUT_TRUNCATED;

  decoder.pace.run_in = pace.run_in;
  bool many = __any_sync(ALL_LANES, lane <= last && mine.slots > LIST_SLOTS * 7 / 8);
  if (stop == STOP_FULL) {
    decoder.pace.span = max(decoder.pace.span * 7 / 8, 128u);
  } else if (!many && pace.span == decoder.pace.span) {
    decoder.pace.span = min(decoder.pace.span + decoder.pace.span / 8, MOST_SPAN);
  }
  if (stop == STOP_END) {
    decoder.inside = false;
    if (decoder.final) return end_of_stream(decoder, batch, lane);
  }
  return FAULT_NONE;
}

// Takes one batch; true where it is the last one to take, with the verdict in `fault`. All lanes of warp 1.
DEVICE bool take_batch(Output& out, DeflateShared& shared, u32 side, const u8* words, u32 lane, u32& fault) {
  const Batch& batch = shared.batches[side];
  if (batch.kind == BATCH_STORED) {
    if (!append(out, words + batch.from, batch.len, lane)) fault = FAULT_OUTPUT_SURPLUS;
  } else {
    u32 count = batch.lists;
    for (u32 i = 0; i < count && fault == FAULT_NONE; i += 2) {
      const u16* lists = shared.lists[side] + i * LIST_STRIDE;
      fault = append_lists(out, shared.queue, lists, batch.slots[i], batch.slots[i + 1], lane);
    }
  }
  if (fault == FAULT_NONE) fault = batch.fault;
  if (fault != FAULT_NONE) return true;
  if (!batch.last) return false;
  u32 adler = finish(out, lane);
  fault = out.head != out.len ? FAULT_OUTPUT_SHORT : adler != batch.adler ? FAULT_CHECKSUM : FAULT_NONE;
  return true;
}

DEVICE u32 zlib_header(const u8* src, u32 len) {
  if (len < 7) return FAULT_INPUT_TRUNCATED;
  u32 method = __ldg(src), flags = __ldg(src + 1);
  bool right = (method & 15) == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0;
  if ((flags & 0x20) != 0) right = false;  // a preset dictionary
  return right ? FAULT_NONE : FAULT_CORRUPT;
}

KERNEL(deflate_decode, DEFLATE_THREADS, DecodeArgs) {
  SHARED(DeflateShared, shared);
  const DecodeBlock block = args.blocks[blockIdx.x];
  u32 lane = threadIdx.x & 31;
  bool decodes = threadIdx.x < 32;
  u32 fault = zlib_header(args.encoded + block.src, block.src_len);
  if (fault != FAULT_NONE) {
    if (threadIdx.x == 0) args.statuses[block.status] = fault;
    return;
  }
  const u8* words = args.encoded + (block.src & ~(u64)15);
  u64 first = (block.src & 15) * 8;
  Decoder decoder = {{(const u32*)words, first + 16, first + (u64)(block.src_len - 4) * 8},
                     {640, 256}, TABLES_NONE, false, false, false};
  Output out = {args.decoded + block.dst, shared.page, block.dst_len, 0, 0, {0, 0}};

  // In turn k warp 0 makes batch k and warp 1 takes batch k - 1.
  for (u32 turn = 0;; ++turn) {
    u32 side = turn & 1;
    if (decodes && !decoder.over) {
      Batch& batch = shared.batches[side];
      if (lane == 0) {
        batch.kind = BATCH_LISTS;
        batch.lists = batch.last = batch.adler = 0;
      }
      __syncwarp();
      u32 wrong = make_batch(decoder, shared, shared.lists[side], batch, lane);
      decoder.over = decoder.over || wrong != FAULT_NONE;
      if (lane == 0) batch.fault = wrong;
    } else if (!decodes) {
      bool over = turn != 0 && take_batch(out, shared, side ^ 1, words, lane, fault);
      if (lane == 0) {
        shared.over[side] = over;
        if (over) args.statuses[block.status] = fault;
      }
    }
    __syncthreads();
    if (shared.over[side]) return;
  }
}
