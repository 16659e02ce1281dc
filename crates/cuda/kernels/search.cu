// Second pass of the encoders that look for matches: the best match of every position, whatever becomes of
// it. `runs` is the one for the effort without chains.
#include "match_search.cuh"

KERNEL_RESIDENT(search, 1024, 2, EncodeArgs) { search_share<1024, false>(args); }

KERNEL_RESIDENT(runs, 1024, 2, EncodeArgs) { search_share<1024, true>(args); }
