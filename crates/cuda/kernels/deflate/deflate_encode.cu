// Deflate from matches (`portable/spec.md`): `deflate_count` makes the codes of each part, `deflate_layout` computes
// where each part begins, `deflate_emit` writes them.
#include "deflate/deflate_count.cuh"
#include "deflate/deflate_emit.cuh"
#include "deflate/deflate_layout.cuh"
#include "deflate/deflate_lengths.cuh"

struct CountMemory {
  Counting counting;
  CodeWork<288> literals;
  CodeWork<32> distances;
  LengthsWork lengths;
  u32 codes[SYMBOLS];
  u32 added;  // see add_distances
  u32 bits;
};

// Makes the codes of literals and lengths with seven warps and, at the same time, the code of distances with one.
DEVICE void make_codes(CountMemory& memory) {
  constexpr u32 FIRST = COUNT_THREADS - 32;
  const u32* counts = memory.counting.counts[0];
  if (threadIdx.x < FIRST) {
    const CodeGroup group = {threadIdx.x, FIRST, 1};
    make_code(memory.literals, {counts, memory.codes, LITERALS, LONGEST_CODE}, group);
  } else {
    const CodeGroup group = {threadIdx.x - FIRST, 32, 2};
    const Alphabet distances = {counts + DISTANCES_AT, memory.codes + DISTANCES_AT, DISTANCES, LONGEST_CODE};
    make_code(memory.distances, distances, group);
  }
  __syncthreads();
}

// Returns, as bits, the unused distance symbols that get a count, because a code has at least two symbols.
DEVICE u32 add_distances(u32* counts) {
  u32 used = 0, added = 0;
  for (u32 i = 0; i < DISTANCES; ++i) used += counts[i] != 0;
  for (u32 i = 0; used < 2; ++i) {
    if (counts[i] != 0) continue;
    counts[i] = 1;
    added |= 1u << i;
    ++used;
  }
  return added;
}

// Computes the bits of all tokens and stores the codes.
DEVICE void finish_codes(CountMemory& memory, DeflatePart& part) {
  u32 bits = 0;
  for (u32 i = threadIdx.x; i < SYMBOLS; i += COUNT_THREADS) {
    const bool distance = i >= DISTANCES_AT;
    const bool symbol = distance ? i < DISTANCES_AT + DISTANCES : i < LITERALS;
    const u32 code = symbol ? memory.codes[i] : 0;
    const bool comes = symbol && !(distance && memory.added >> (i - DISTANCES_AT) & 1);
    if (comes) bits += memory.counting.counts[0][i] * ((code >> 16) + extra_bits_of(i));
    part.codes[i] = code;
  }
  atomicAdd(&memory.bits, bits);
}

KERNEL_RESIDENT(deflate_count, 256, 8, EncodeArgs) {
  SHARED(CountMemory, memory);
  const EncodeBlock block = args.blocks[blockIdx.x];
  const Share share = share_of(args, block, PART);
  if (share.start == share.end) return;
  const MatchScratch scratch = match_scratch(args, block);
  DeflatePart& part = deflate_parts(scratch)[blockIdx.y];
  count_symbols(memory.counting, {packed_words(args, block), scratch, share.end}, share.start);
  if (threadIdx.x == 0) {
    memory.bits = 0;
    memory.added = add_distances(memory.counting.counts[0] + DISTANCES_AT);
  }
  __syncthreads();
  make_codes(memory);
  finish_codes(memory, part);
  LengthsWork& lengths = memory.lengths;
  find_runs(lengths, memory.codes);
  const u32 listed = list_lengths(lengths);
  if (threadIdx.x < 32) {
    const CodeGroup group = {threadIdx.x, 32, 1};
    make_code(lengths.work, {lengths.counts, lengths.codes, LENGTH_CODES, LENGTH_CODE_LIMIT}, group);
  }
  __syncthreads();
  const u32 header_bits = join_header(lengths, listed);
  for (u32 i = threadIdx.x; i < HEADER_WORDS; i += COUNT_THREADS) part.header[i] = lengths.header[i];
  if (threadIdx.x == 0) {
    const AdlerPart adler = counted_adler(memory.counting);
    part.adler_bytes = adler.bytes;
    part.adler_weighted = adler.weighted;
    part.header_bits = header_bits;
    part.bits = header_bits + memory.bits;
  }
}

KERNEL(deflate_layout, 32, EncodeArgs) {
  const EncodeBlock block = args.blocks[blockIdx.x];
  if (!has_bytes(args, block)) return;
  const MatchScratch scratch = match_scratch(args, block);
  u32* slab = (u32*)(args.slab + block.dst);
  lay_out(block, deflate_head(scratch), deflate_parts(scratch), slab, threadIdx.x);
}

KERNEL(deflate_emit, 256, EncodeArgs) {
  SHARED(Emission, emission);
  const EncodeBlock block = args.blocks[blockIdx.x];
  const Share share = share_of(args, block, PART);
  if (share.start == share.end) return;
  const u32* words = packed_words(args, block);
  const MatchScratch scratch = match_scratch(args, block);
  const DeflatePart& part = deflate_parts(scratch)[blockIdx.y];
  u32* slab = (u32*)(args.slab + block.dst);
  if (part.stored != 0) {
    emit_stored(part, words, share, slab);
  } else {
    emit_dynamic(emission, part, {words, scratch, share.end}, share.start, slab);
  }
  if (blockIdx.y == 0 && threadIdx.x == 0) {
    args.sizes[block.index] = deflate_head(scratch)->size;
    relaxed_store(args.states + block.index, ENCODE_DONE);
  }
}
