// First pass of the encoders that search for matches: the chains. One warp per segment of a block.
#include "matches/match_chains.cuh"

KERNEL(chains, 32, EncodeArgs) {
  SHARED(ChainTable, table);
  const EncodeBlock block = args.blocks[blockIdx.x];
  const Share segment = share_of(args, block, SEGMENT);
  if (segment.start == segment.end) return;
  const u32* words = packed_words(args, block);
  chain_segment(table, words, block.len, segment, match_scratch(args, block).before);
}
