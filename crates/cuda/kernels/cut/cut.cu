// Makes the packed bytes of blocks from pixels of an image: cuts blocks out at any strides, fills the part beyond the
// image, replaces NaN, detects sparse blocks, and applies predictor, byte order and bit packing. Each byte is read once
// and written once; the inverse of `place.cu`.
//
// Every variant has its own entry point, so that it uses only the registers it needs; the host chooses the one for each
// task. The grid is (tasks, parts): the CUDA blocks of all parts of a task share its bytes, and each reports its
// findings.
#include "cut/cut_abi.h"
#include "cut/cut_bands.cuh"
#include "cut/cut_bits.cuh"
#include "cut/cut_planes.cuh"
#include "cut/cut_rows.cuh"

// Any block of whole samples, 16 packed bytes per lane.
DEVICE bool cut_each(const CutRecipe& recipe, const CutTask& task) {
  bool differs = false;
#pragma unroll 1
  for (u32 unit = blockIdx.y * CUT_THREADS + threadIdx.x; unit * 16 < task.len;
       unit += gridDim.y * CUT_THREADS) {
    const Quad quad = recipe.predictor == 3 ? packed_planes(recipe, task, unit * 16, differs)
                                            : packed_samples(recipe, task, unit * 16, differs);
    *(Quad*)(task.dst + unit * 16) = quad;
  }
  return differs;
}

// Rank of a report on part of a block; the highest rank holds for the whole block.
DEVICE u32 weight(u32 state) {
  return state == ENCODE_PENDING ? 0 : state == ENCODE_SPARSE ? 1 : state == ENCODE_UNFIT ? 3 : 2;
}

// Codecs read whole words and some bytes beyond, so bytes behind a block are set to 0.
DEVICE void clear_slack(const CutTask& task) {
  if (blockIdx.y != 0 || task.stored != 0 || threadIdx.x >= ENCODE_SLACK / 16) return;
  const u64 behind = ((u64)task.len + 15) / 16 + threadIdx.x;
  *(Quad*)(task.dst + behind * 16) = {0, 0, 0, 0};
}

// Reports on a CUDA block's share of a task. Called by all its threads.
DEVICE void report(const CutArgs& args, const CutTask& task, bool sparse, bool differs, bool unfit) {
  const bool full = __syncthreads_or(differs || !sparse), wrong = __syncthreads_or(unfit);
  if (threadIdx.x != 0) return;
  const u32 made = task.stored != 0 ? ENCODE_DONE : ENCODE_PACKED;
  const u32 state = wrong ? (u32)ENCODE_UNFIT : full ? made : (u32)ENCODE_SPARSE;
  if (task.stored != 0 && blockIdx.y == 0) args.sizes[task.index] = task.len;
  u32* place = args.states + task.index;
  u32 seen = relaxed_load(place);
  while (weight(seen) < weight(state)) {
    const u32 found = atomicCAS(place, seen, state);
    if (found == seen) break;
    seen = found;
  }
}

// Defines an entry point whose warps have QUADS times 16 bytes of shared memory each, at `stage`. BLOCKS is the number
// of CUDA blocks that must fit on a multiprocessor at once.
#define CUT_ENTRY(name, BLOCKS, QUADS, WORK)                                \
  KERNEL_RESIDENT(name, CUT_THREADS, BLOCKS, CutArgs) {                     \
    SHARED(Quad, stages[CUT_THREADS / 32 * (QUADS)]);                       \
    if (blockIdx.x >= args.count) return;                                   \
    const CutTask& task = args.tasks[blockIdx.x];                           \
    const CutRecipe& recipe = args.recipes[task.recipe];                    \
    [[maybe_unused]] Quad* stage = stages + threadIdx.x / 32 * (QUADS);     \
    bool unfit = false;                                                     \
    const bool differs = WORK;                                              \
    clear_slack(task);                                                      \
    report(args, task, recipe.sparse != 0, differs, unfit);                 \
  }
#define CUT_ROWS(T, S) CUT_ENTRY(cut_rows_##T##_##S, 6, 1, (cut_rows<T, S>(recipe, task)))
#define CUT_BANDS(T, S) \
  CUT_ENTRY(cut_bands_##T##_##S, 6, BandQuads<S>::COUNT, (cut_bands<T, S>(recipe, task, stage)))
#define CUT_PLANES(N) CUT_ENTRY(cut_planes_##N, 8, 1, cut_planes<N>(recipe, task))

CUT_ENTRY(cut_runs, 6, 1, (cut_rows<0, 1>(recipe, task)))
CUT_ROWS(1, 1)
CUT_ROWS(1, 2)
CUT_ROWS(1, 3)
CUT_ROWS(1, 4)
CUT_ROWS(2, 1)
CUT_ROWS(2, 2)
CUT_ROWS(2, 3)
CUT_ROWS(2, 4)
CUT_ROWS(4, 1)
CUT_ROWS(4, 2)
CUT_ROWS(4, 3)
CUT_ROWS(4, 4)
CUT_ROWS(8, 1)
CUT_BANDS(1, 2)
CUT_BANDS(1, 3)
CUT_BANDS(1, 4)
CUT_BANDS(2, 2)
CUT_BANDS(2, 3)
CUT_BANDS(2, 4)
CUT_BANDS(4, 2)
CUT_BANDS(4, 3)
CUT_BANDS(4, 4)
CUT_PLANES(2)
CUT_PLANES(4)
CUT_PLANES(8)
CUT_ENTRY(cut_bits, 8, 1, cut_bits(recipe, task, unfit))
CUT_ENTRY(cut_each, 6, 1, cut_each(recipe, task))
