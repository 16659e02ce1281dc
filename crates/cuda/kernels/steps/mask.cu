// Sets samples to a value where a mask is 0, as specified by `mask.rs` of the engine crate. One launch for all windows:
// a thread takes one pixel of one window, in all its bands. Samples of masks and outputs may have any alignment, so
// they are read and written as bytes; most pixels are valid, and then only the mask is read.
#include "steps/mask_abi.h"

KERNEL(mask, MASK_THREADS, MaskArgs) {
  const u32 window = blockIdx.x / args.tiles;
  const u32 pixel = (blockIdx.x - window * args.tiles) * MASK_THREADS + threadIdx.x;
  if (pixel >= args.columns * args.rows) return;
  const u32 row = pixel / args.columns;
  const u32 column = pixel - row * args.columns;
  const u8* at = args.masks + window * args.mask_band + row * args.mask_row + column * args.mask_column;
  u32 valid = 0;
#pragma unroll 1
  for (u32 i = 0; i < args.mask_size; i++) valid |= at[i];
  if (valid != 0) return;
  const MaskWindow bands = args.windows[window];
#pragma unroll 1
  for (u32 i = 0; i < bands.bands; i++) {
    const u32 band = bands.first_band + i;
    if (band == bands.spared) continue;
    u8* to = args.dst + band * args.dst_band + row * args.dst_row + column * args.dst_column;
#pragma unroll 1
    for (u32 byte = 0; byte < args.size; byte++) to[byte] = (u8)(args.value[byte >> 3] >> (8 * (byte & 7)));
  }
}
