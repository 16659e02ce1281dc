// Second pass of the encoders that search for matches: the best match of every position, used or not. `runs` is the
// variant for the effort without chains.
#include "matches/match_runs.cuh"
#include "matches/match_search.cuh"

KERNEL_RESIDENT(search, 1024, 2, EncodeArgs) { search_share<1024>(args); }

KERNEL_RESIDENT(runs, 256, 8, EncodeArgs) {
  SHARED(RunBits, bits);
  const EncodeBlock block = args.blocks[blockIdx.x];
  const Share share = share_of(args, block, SEARCHED);
  if (share.start < share.end) runs_of_share(bits, args, block, share);
}
