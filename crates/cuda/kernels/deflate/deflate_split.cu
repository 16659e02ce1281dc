// Deflate with several CUDA blocks per image block, for streams that are too few or too large to fill the device with
// one CUDA block each (see `deflate_split.cuh`). Passes, in order:
//
//   deflate_find     where segments may begin
//   deflate_measure  where each of them ends and how many bytes it gives, by two warps, or _wide by four
//   deflate_chain    which segments the stream consists of, and where their output begins
//   deflate_emit     the sources of their bytes, likewise with two or four warps
//   deflate_resolve  the bytes; repeated ROUNDS times
//   deflate_finish   the verdict; decodes streams whole that could not be split
//
// As strict as `deflate_stream.cuh`. Passes hand results from launch to launch; within a launch, CUDA blocks share only
// an incremented counter, and sources, of which both old and new values are correct.
#include "deflate/deflate_find.cuh"
#include "deflate/deflate_resolve.cuh"
#include "deflate/deflate_segment.cuh"

KERNEL(deflate_find, FIND_THREADS, DecodeArgs) {
  SHARED(FindShared, shared);
  const u32 thread = threadIdx.x;
  const Turn turn = turn_of(args);
  const DecodeBlock block = args.blocks[turn.stream];
  const Split split = open_split(args, block);
  if (turn.number == 0 && thread == 0) {
    const u32 fault = split.whole ? FAULT_NONE : FAULT_INPUT_TRUNCATED;
    *split.head = {0, 0, fault, 0, 0, {0, 0, 0, 0, 0}};
    split.segments[0] = {0, 0, STREAM_END, 0, FAULT_CORRUPT, NO_SEGMENT, 0};
    // Sources are read four at a time.
    for (u32 i = block.dst_len; i % 4 != 0; ++i) split.sources[i] = SOURCE_KNOWN;
  }
  const u32 threads = turn.count * FIND_THREADS;
  for (u32 i = turn.number * FIND_THREADS + thread; i < split.tile_count; i += threads) {
    split.tiles[i] = {0, 0, 0, 0};
  }
  fill_weights(shared.weights, thread);
  for (u32 chunk = turn.number; chunk + 1 < split.segment_count; chunk += turn.count) {
    const u32 begin = find_header(split, chunk, shared, thread);
    if (thread == 0) split.segments[chunk + 1] = {0, begin, STREAM_END, 0, FAULT_CORRUPT, NO_SEGMENT, 0};
    if (thread == 0 && begin != NO_SEGMENT) atomicAdd(args.counter, 1u);
  }
}

template <class Shared>
struct SegmentShared {
  Shared walk;
  u32 taken;
};

// Returns whether segments are walked by WARPS warps. Four are used if all streams together have few enough segments to
// be resident at the same time, which is a quarter of the number of CUDA blocks.
template <u32 WARPS>
DEVICE bool has_shape(const DecodeArgs& args) {
  return (*args.counter < gridDim.x / 4) == (WARPS == 4);
}

// Takes the next segment that no other CUDA block has taken. Called by all threads.
DEVICE u32 take(u32& counter, u32& taken) {
  __syncthreads();
  if (threadIdx.x == 0) taken = atomicAdd(&counter, 1u);
  __syncthreads();
  return taken;
}

template <u32 WARPS>
DEVICE void measure(const DecodeArgs& args, SegmentShared<CountShared<WARPS>>& shared) {
  const u32 thread = threadIdx.x;
  const DecodeBlock block = args.blocks[turn_of(args).stream];
  const Split split = open_split(args, block);
  if (!has_shape<WARPS>(args) || split.head->fault != FAULT_NONE) return;
  for (;;) {
    const u32 index = take(split.head->walked, shared.taken);
    if (index >= split.segment_count) return;
    Segment& segment = split.segments[index];
    if (segment.begin == NO_SEGMENT) continue;
    Walked walked = {0, STREAM_END, 0};
    const u32 fault = walk_segment<WARPS>(split, index, 0, block.dst_len, shared.walk, walked, thread);
    if (thread == 0) {
      segment.end = walked.end;
      segment.next = walked.next;
      segment.bytes = walked.bytes;
      segment.fault = fault;
    }
  }
}

KERNEL_RESIDENT(deflate_measure, 64, 12, DecodeArgs) {
  SHARED(SegmentShared<CountShared<2>>, shared);
  measure<2>(args, shared);
}

KERNEL_RESIDENT(deflate_measure_wide, 128, 4, DecodeArgs) {
  SHARED(SegmentShared<CountShared<4>>, shared);
  measure<4>(args, shared);
}

// One warp per stream follows its segments, reading 32 at a time.
KERNEL(deflate_chain, 32, DecodeArgs) {
  const u32 lane = threadIdx.x;
  const DecodeBlock block = args.blocks[blockIdx.x];
  const Split split = open_split(args, block);
  u32 fault = split.head->fault;
  if (fault == FAULT_NONE) fault = zlib_header(args.encoded + block.src, block.src_len);
  u32 at = 0, offset = 0;
  u64 end = 0;
  while (fault == FAULT_NONE && at != STREAM_END) {
    const u32 base = at & ~31u;
    Segment mine = {0, NO_SEGMENT, STREAM_END, 0, FAULT_CORRUPT, NO_SEGMENT, 0};
    if (base + lane < split.segment_count) mine = split.segments[base + lane];
    while (fault == FAULT_NONE && at - base < 32) {
      const u32 owner = at - base, bytes = __shfl_sync(ALL_LANES, mine.bytes, owner);
      const u32 next = __shfl_sync(ALL_LANES, mine.next, owner);
      fault = __shfl_sync(ALL_LANES, mine.fault, owner);
      end = __shfl_sync(ALL_LANES, mine.end, owner);
      if (fault != FAULT_NONE) break;
      if (bytes > block.dst_len - offset) fault = FAULT_OUTPUT_SURPLUS;
      if (next <= at || (next >= split.segment_count && next != STREAM_END)) fault = FAULT_CORRUPT;
      if (lane == owner && fault == FAULT_NONE) split.segments[at].offset = offset;
      offset += bytes;
      at = next;
    }
  }
  if (fault == FAULT_NONE && offset != block.dst_len) fault = FAULT_OUTPUT_SHORT;
  __syncwarp();  // all threads have read the fault above
  if (lane == 0) {
    split.head->fault = fault;
    split.head->end = end;
  }
}

template <u32 WARPS>
DEVICE void emit(const DecodeArgs& args, SegmentShared<DeflateShared<WARPS>>& shared) {
  const u32 thread = threadIdx.x;
  const Split split = open_split(args, args.blocks[turn_of(args).stream]);
  // Another CUDA block may report a fault meanwhile: all threads act on what any of them saw.
  const bool faulty = relaxed_load(&split.head->fault) != FAULT_NONE;
  if (__syncthreads_or(faulty || !has_shape<WARPS>(args))) return;
  for (;;) {
    const u32 index = take(split.head->emitted, shared.taken);
    if (index >= split.segment_count) return;
    const u32 offset = split.segments[index].offset, bytes = split.segments[index].bytes;
    if (offset == NO_SEGMENT) continue;
    Walked walked;
    const u32 fault = walk_segment<WARPS>(split, index, offset, bytes, shared.walk, walked, thread);
    if (fault != FAULT_NONE) relaxed_store(&split.head->fault, fault);
  }
}

KERNEL_RESIDENT(deflate_segments, 64, 8, DecodeArgs) {
  SHARED(SegmentShared<DeflateShared<2>>, shared);
  emit<2>(args, shared);
}

KERNEL_RESIDENT(deflate_segments_wide, 128, 4, DecodeArgs) {
  SHARED(SegmentShared<DeflateShared<4>>, shared);
  emit<4>(args, shared);
}

KERNEL(deflate_resolve, RESOLVE_THREADS, DecodeArgs) {
  SHARED(AdlerPart, parts[RESOLVE_THREADS / 32]);
  const Turn turn = turn_of(args);
  const DecodeBlock block = args.blocks[turn.stream];
  const Split split = open_split(args, block);
  if (split.head->fault != FAULT_NONE) return;
  for (u32 tile = turn.number; tile < split.tile_count; tile += turn.count) {
    if (split.tiles[tile].done != 0) continue;
    resolve_tile(split, tile, args.decoded + block.dst, block.dst_len, parts, threadIdx.x);
  }
}

struct FinishShared {
  DeflateShared<4> whole;
  u64 bytes[4], weighted[4];
};

// Sums the parts of the tiles over all threads; returns whether all tiles are done.
DEVICE bool join_tiles(const Split& split, FinishShared& shared, AdlerPart& joined, u32 thread) {
  u64 bytes = 0, weighted = 0;
  bool done = true;
  for (u32 i = thread; i < split.tile_count; i += 128) {
    const Tile tile = split.tiles[i];
    done = done && tile.done != 0;
    bytes += tile.bytes;
    weighted += tile.weighted;
  }
#pragma unroll
  for (u32 step = 16; step > 0; step >>= 1) {
    bytes += __shfl_xor_sync(ALL_LANES, bytes, step);
    weighted += __shfl_xor_sync(ALL_LANES, weighted, step);
  }
  if ((thread & 31) == 0) {
    shared.bytes[thread / 32] = bytes;
    shared.weighted[thread / 32] = weighted;
  }
  const bool all = __syncthreads_and(done) != 0;
  bytes = shared.bytes[0] + shared.bytes[1] + shared.bytes[2] + shared.bytes[3];
  weighted = shared.weighted[0] + shared.weighted[1] + shared.weighted[2] + shared.weighted[3];
  joined = {(u32)(bytes % 65521), (u32)(weighted % 65521)};
  return all;
}

KERNEL_RESIDENT(deflate_finish, 128, 4, DecodeArgs) {
  SHARED(FinishShared, shared);
  const u32 thread = threadIdx.x;
  const DecodeBlock block = args.blocks[blockIdx.x];
  const Split split = open_split(args, block);
  u32 fault = split.head->fault;
  if (fault == FAULT_UNDECIDED) {
    fault = decode_stream<4>(args.encoded, args.decoded, block, shared.whole, thread);
  } else if (fault == FAULT_NONE) {
    AdlerPart joined;
    const bool all = join_tiles(split, shared, joined, thread);
    const u32 stored = stored_adler((const u8*)split.in.words, split.head->end);
    fault = adler_join(joined, block.dst_len) == stored ? FAULT_NONE : FAULT_CHECKSUM;
    if (!all) fault = FAULT_CORRUPT;
  }
  if (thread == 0) args.statuses[block.status] = fault;
}
