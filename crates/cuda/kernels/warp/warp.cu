// Warps windows onto a grid, bit for bit as specified by `warp.md` of the engine crate. One launch for all windows: a
// CUDA block takes a tile of 32 by 8 pixels, a thread one of them in all bands. Products are never fused with sums.
#include "warp/warp_four.cuh"
#include "warp/warp_under.cuh"

// A pixel of a window.
struct Spot {
  u32 window, column, row;
  bool inside;
};

// A CUDA block belongs to the last window that begins at it or before.
DEVICE Spot spot_of(const WarpArgs& args) {
  u32 low = 0, high = args.count;
#pragma unroll 1
  while (high - low > 1) {
    const u32 middle = low + (high - low) / 2;
    if (args.windows[middle].first_block <= blockIdx.x) low = middle;
    else high = middle;
  }
  const WarpWindow& window = args.windows[low];
  const u32 tile = blockIdx.x - window.first_block;
  Spot spot;
  spot.window = low;
  spot.column = tile % window.tiles * WARP_TILE_COLUMNS + threadIdx.x % WARP_TILE_COLUMNS;
  spot.row = tile / window.tiles * WARP_TILE_ROWS + threadIdx.x / WARP_TILE_COLUMNS;
  spot.inside = spot.column < window.columns && spot.row < window.rows;
  return spot;
}

DEVICE u8* target_of(const WarpArgs& args, const WarpWindow& window, const Spot& spot, u32 band) {
  return window.dst + band * args.dst_band + spot.row * args.dst_row + spot.column * args.dst_column;
}

DEVICE Place centre_of(const WarpWindow& window, const Spot& spot) {
  return in_source(window, place_of(window, window.map_column + spot.column, window.map_row + spot.row, 0.5, 0.5));
}

// The samples that a method uses: two by two, four by four or a kernel.
enum Rule : u32 { RULE_FOUR, RULE_SIXTEEN, RULE_KERNEL, RULE_ANY };

DEVICE u32 rule_of(const WarpArgs& args, const WarpWindow& window) {
  const bool is_short = window.scale_x > 0.5 && window.scale_y > 0.5;
  if (!is_short || args.method > WARP_CUBIC) return RULE_KERNEL;
  return args.method == WARP_CUBIC ? RULE_SIXTEEN : RULE_FOUR;
}

// Makes the pixel in all bands. If types are constants, no code for other types remains.
template <bool ANY>
DEVICE void gather(const WarpArgs& args, u32 rule, Number from, Number to, bool aligned) {
  const Spot spot = spot_of(args);
  if (!spot.inside) return;
  const WarpWindow& window = args.windows[spot.window];
  const Place at = centre_of(window, spot);
  if (rule == RULE_ANY) rule = rule_of(args, window);
  if (!ANY && rule == RULE_FOUR && window.width > 1 && window.height > 1) {
    FourPlace four;
    const bool inside = four_around(window, at, four);
#pragma unroll 1
    for (u32 band = 0; band < window.bands; band++) {
      Real value = {0};
      const bool found = inside && mean_in_band(args, window, four, band, from, value);
      put(window, to, target_of(args, window, spot, band), aligned, found, found ? rounded(to, value) : 0);
    }
    return;
  }
#pragma unroll 1
  for (u32 band = 0; band < window.bands; band++) {
    const Sheet sheet = sheet_of(args, window, band, from, aligned);
    i64 x, y;
    Real value = {0};
    u64 bits = 0;
    bool found = pixel_of(sheet, at, x, y) && sample_at(sheet, x, y, bits);
    if (found && (sheet.width == 1 || sheet.height == 1)) {
      bits = taken(from, to, bits);
    } else if (found) {
      found = rule == RULE_FOUR      ? value_of_four<ANY>(sheet, at, value)
              : rule == RULE_SIXTEEN ? value_of_sixteen<ANY>(sheet, at, value)
                                     : value_of_kernel<ANY>(sheet, window, args.method, at, value);
      bits = rounded(to, value);
    }
    put(window, to, target_of(args, window, spot, band), aligned, found, bits);
  }
}

// Takes the pixel that contains the place; complex samples unchanged.
KERNEL(warp_nearest, WARP_THREADS, WarpArgs) {
  const Spot spot = spot_of(args);
  if (!spot.inside) return;
  const WarpWindow& window = args.windows[spot.window];
  const Place at = centre_of(window, spot);
  const bool aligned = (args.flags & WARP_UNALIGNED) == 0;
  const bool is_complex = args.from_kind == KIND_COMPLEX;
  const Number from = {args.from_kind, args.from_size > 8 ? 8 : args.from_size};
  const Number to = {args.to_kind, args.to_size > 8 ? 8 : args.to_size};
#pragma unroll 1
  for (u32 band = 0; band < window.bands; band++) {
    const Sheet sheet = sheet_of(args, window, band, from, aligned);
    u8* target = target_of(args, window, spot, band);
    i64 x, y;
    u64 bits = 0;
    bool found = pixel_of(sheet, at, x, y);
    if (!is_complex) {
      found = found && sample_at(sheet, x, y, bits);
      put(window, to, target, aligned, found, found ? taken(from, to, bits) : 0);
      continue;
    }
    found = found && has(sheet, x, y) && mask_has(sheet, x, y);
    if (found && (window.flags & WARP_HAS_NODATA) != 0) {
      bool same = true;
      for (u32 half = 0; half < args.from_size; half += 8) {
        Sheet part = sheet;
        part.src += half;
        same = same && load_at(part, x, y) == window.nodata[half / 8];
      }
      found = !same;
    }
    if (!found && (window.flags & WARP_KEEP) != 0) continue;
    for (u32 half = 0; half < args.from_size; half += 8) {
      Sheet part = sheet;
      part.src += half;
      store_at(target + half, 8, found ? load_at(part, x, y) : window.fill[half / 8], aligned);
    }
  }
}

// Any types, for methods with a short rule or a kernel.
KERNEL(warp_gather, WARP_THREADS, WarpArgs) {
  const Number from = {args.from_kind, args.from_size}, to = {args.to_kind, args.to_size};
  gather<true>(args, RULE_ANY, from, to, (args.flags & WARP_UNALIGNED) == 0);
}

// The short rules for aligned samples of one type.
#define WARP_TYPED(name, RULE, KIND, SIZE)               \
  KERNEL(name, WARP_THREADS, WarpArgs) {                 \
    const Number number = {KIND, SIZE};                  \
    gather<false>(args, RULE, number, number, true);     \
  }
WARP_TYPED(warp_four_u8, RULE_FOUR, KIND_UNSIGNED, 1)
WARP_TYPED(warp_four_u16, RULE_FOUR, KIND_UNSIGNED, 2)
WARP_TYPED(warp_four_i16, RULE_FOUR, KIND_SIGNED, 2)
WARP_TYPED(warp_four_f32, RULE_FOUR, KIND_FLOAT, 4)
WARP_TYPED(warp_sixteen_f32, RULE_SIXTEEN, KIND_FLOAT, 4)

DEVICE void footprint(const WarpArgs& args, Number from, Number to, bool aligned) {
  const Spot spot = spot_of(args);
  if (!spot.inside) return;
  const WarpWindow& window = args.windows[spot.window];
  const u32 column = window.map_column + spot.column, row = window.map_row + spot.row;
  const Place first = place_of(window, column, row, 0, 0);
  const Place other = near_first(window, first, place_of(window, column, row, 1, 1));
  Footprint box;
  const bool sums = args.method == WARP_SUM;
  const bool under = sums || footprint_of(window, first, other, box);
#pragma unroll 1
  for (u32 band = 0; band < window.bands; band++) {
    const Sheet sheet = sheet_of(args, window, band, from, aligned);
    bool found = false;
    Real value = {0};
    u64 key = 0, bits = 0;
    if (sums) {
      const Place corners[4] = {first, near_first(window, first, place_of(window, column, row, 1, 0)), other,
                                near_first(window, first, place_of(window, column, row, 0, 1))};
      found = sum_under(sheet, window, corners, value);
      bits = rounded(to, value);
    } else if (under && (args.method == WARP_AVERAGE || args.method == WARP_RMS)) {
      found = mean_under(sheet, box, args.method == WARP_RMS, value);
      bits = rounded(to, args.method == WARP_RMS ? real(__dsqrt_rn(value.v)) : value);
    } else if (under) {
      found = args.method == WARP_MODE  ? mode_under(sheet, box, key)
              : args.method == WARP_MIN ? extreme_under(sheet, box, false, key)
              : args.method == WARP_MAX ? extreme_under(sheet, box, true, key)
                                        : rank_under(sheet, box,
                                                     args.method == WARP_Q1   ? 1
                                                     : args.method == WARP_Q3 ? 3
                                                                              : 2,
                                                     key);
      bits = taken(from, to, bits_of(from, key));
    }
    put(window, to, target_of(args, window, spot, band), aligned, found, bits);
  }
}

// Any types, for methods that use all samples under the pixel.
KERNEL(warp_under, WARP_THREADS, WarpArgs) {
  const Number from = {args.from_kind, args.from_size}, to = {args.to_kind, args.to_size};
  footprint(args, from, to, (args.flags & WARP_UNALIGNED) == 0);
}
