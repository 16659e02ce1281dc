// Compression 32773, PackBits (TIFF 6.0, section 9): one CUDA block takes a tile or strip, window by window of input.
// Runs may cross rows: this decoder does not need the rows that TIFF requires to be packed separately.
//
// Status 0: a run ends exactly where the block is full; anything after it is padding. A run that extends past the end
// is left to the host, which knows whether the image has more rows.
#include "packbits/packbits_emit.cuh"

namespace packbits {

// Lists the runs of this thread's chunk from `place` on, at most up to `limit`, the end of the input. `left` bytes of
// output remain; a run that begins within them must lie within the input and not extend beyond them.
DEVICE void list_runs(Shared& shared, u32 place, u32 limit, u32 run, u32 offset, u32 left) {
  const u32 end = min((threadIdx.x + 1) * CHUNK, limit);
  while (place < end) {
    const u32 control = byte_at(shared, place);
    const u32 next = after(place, control);
    const u32 output = output_of(control);
    if (output > 0) {
      shared.tokens[run++] = offset << OFFSET_SHIFT | (control > NO_OPERATION ? EQUAL : 0) | place;
      if (offset < left && next > limit) atomicMax(&shared.fault, u32(FAULT_INPUT_TRUNCATED));
      if (offset < left && output > left - offset) atomicMax(&shared.fault, u32(FAULT_OUTPUT_SURPLUS));
      offset += output;
    }
    place = next;
  }
}

// Runs and output bytes of this thread's chunk, in one number.
DEVICE u32 count_runs(const Shared& shared, u32 place, u32 limit) {
  const u32 end = min((threadIdx.x + 1) * CHUNK, limit);
  u32 counts = 0;
  while (place < end) {
    const u32 control = byte_at(shared, place);
    if (control != NO_OPERATION) counts += output_of(control) << 12 | 1;
    place = after(place, control);
  }
  return counts;
}

static_assert(MOST_TOKENS < 1u << 12 && MOST_TOKENS * 128 < 1u << 20, "both counts in 32 bits");

DEVICE u32 decode(Shared& shared, const u8* src, u32 src_len, u8* dst, u32 dst_len) {
  u32 taken = 0;
  u32 filled = 0;
  bool few = false;  // few runs in the previous window, and so probably in this one
  for (u32 turn = 0; taken < src_len; turn ^= 1) {
    const u32 start = u32(u64(src + taken) % LINE);
    const u32 limit = start + (src_len - taken);
    stage(shared, src + taken - start, limit);
    Chain chain;
    if (!few || !follow_directly(shared, start, limit, chain)) {
      find_exits(shared);
      chain = follow(shared, start, limit);
    }
    const u32 counts = count_runs(shared, chain.own, limit);
    // When this returns, all threads have followed the chain: runs then reuse the memory of the group exits.
    const Prefix prefix = block_prefix<THREADS / 32>(counts, shared.warp_sums);
    const u32 left = dst_len - filled;
    const Runs runs = {prefix.total & 0xFFF, filled, filled + min(prefix.total >> 12, left)};
    list_runs(shared, chain.own, limit, prefix.before & 0xFFF, prefix.before >> 12, left);
    if (threadIdx.x == 0) shared.tokens[runs.count] = prefix.total >> 12 << OFFSET_SHIFT;
    __syncthreads();
    if (shared.fault != FAULT_NONE) return shared.fault;
    const bool last = runs.to == dst_len;
    if (runs.count > 0) emit(shared, dst, runs, shared.carry[turn], shared.carry[turn ^ 1], last);
    else if (threadIdx.x == 0) shared.carry[turn ^ 1] = shared.carry[turn];
    if (last) return FAULT_NONE;
    taken += chain.end - start;
    filled = runs.to;
    few = runs.count <= DIRECT;
    __syncthreads();
  }
  return FAULT_INPUT_TRUNCATED;
}

}  // namespace packbits

// As many as fit the threads of a multiprocessor: 577 GB/s, against 439 without this register limit (literals of a DEM,
// 1024 tiles of 256 x 256, H200).
KERNEL_RESIDENT(packbits_decode, 256, 8, DecodeArgs) {
  SHARED(packbits::Shared, shared);
  if (blockIdx.x >= args.count) return;
  const DecodeBlock block = args.blocks[blockIdx.x];
  const u8* src = args.encoded + block.src;
  const u32 fault = packbits::decode(shared, src, block.src_len, args.decoded + block.dst, block.dst_len);
  if (threadIdx.x == 0) args.statuses[block.status] = fault;
}
