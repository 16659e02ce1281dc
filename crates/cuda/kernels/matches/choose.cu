// Third pass of the encoders that search for matches: chooses which matches become tokens. One CUDA block per part.
#include "matches/match_choice.cuh"

KERNEL_RESIDENT(choose, 512, 4, EncodeArgs) {
  SHARED(Choice, choice);
  const EncodeBlock block = args.blocks[blockIdx.x];
  const Share part = share_of(args, block, PART);
  if (part.start < part.end) choose_part(choice, match_scratch(args, block), part, args.lazy != 0);
}
