// FSE encoding tables (`portable/spec.md`, "Normalisation", "Cost"), one warp each: normalises counts to cells,
// describes cells, and makes the state transitions of each symbol.
//
// A symbol with k cells removes bits from a state x of 2^log or more until k to 2 * k - 1 is left, which selects its
// cell; `bits` gives their number as (x + bits) >> 16.
#pragma once
#include "zstd/zstd_encode_part.cuh"

constexpr u32 ZSTD_STEP_SHIFT = 20, ZSTD_STEP_AT = 512;

struct ZstdCoder {
  u32 counts[ZSTD_SYMBOLS];
  u32 steps[ZSTD_SYMBOLS];   // `bits` of a symbol | (ZSTD_STEP_AT + at) << ZSTD_STEP_SHIFT
  u16 states[512];
  i16 cells[ZSTD_SYMBOLS];   // -1 is one cell, "less than one"
  u16 before[ZSTD_SYMBOLS];  // cells of smaller symbols, without those of "less than one"
  u16 next[ZSTD_SYMBOLS];
  u8 symbols[512];
  u8 text[ZSTD_DESCRIPTION];
  u32 text_len;
  u32 log;
  u32 mode;
};

DEVICE u32 zstd_cells(i32 cells) { return (u32)(cells < 0 ? 1 : cells); }

DEVICE u32 zstd_sum_of_warp(u32 value) {
#pragma unroll
  for (int step = 16; step != 0; step /= 2) value += __shfl_xor_sync(ZSTD_WARP, value, step);
  return value;
}

DEVICE u32 zstd_most_of_warp(u32 value) {
#pragma unroll
  for (int step = 16; step != 0; step /= 2) value = max(value, __shfl_xor_sync(ZSTD_WARP, value, step));
  return value;
}

// Writes consecutive bits into bytes, with one thread.
struct ZstdText {
  u8* bytes;
  u32 len;
  u32 held, count;
};

// Writes at most 16 bits.
DEVICE void zstd_write(ZstdText& text, u32 value, u32 count) {
  text.held |= (value & ((1u << count) - 1)) << text.count;
  text.count += count;
  while (text.count >= 8) {
    text.bytes[text.len++] = (u8)text.held;
    text.held >>= 8;
    text.count -= 8;
  }
}

// Fills the last byte; returns the length.
DEVICE u32 zstd_end(ZstdText& text) {
  if (text.count != 0) text.bytes[text.len++] = (u8)text.held;
  return text.len;
}

// Normalises counts, whose sum is `total`, to 2^log cells. Called by all lanes.
DEVICE void zstd_normalise(ZstdCoder& c, u32 total, u32 log, u32 lane) {
  u32 cells[2];
#pragma unroll
  for (u32 k = 0; k < 2; ++k) {
    const u32 count = c.counts[lane + 32 * k];
    cells[k] = count == 0 ? 0 : max(((count << log) + total / 2) / total, 1u);
  }
  i32 left = (i32)(1u << log) - (i32)zstd_sum_of_warp(cells[0] + cells[1]);
#pragma unroll 1
  while (left != 0) {
    // The first of the symbols with the most cells.
    const u32 most = zstd_most_of_warp(max(cells[0] << 6 | (63 - lane), cells[1] << 6 | (31 - lane)));
    const u32 symbol = 63 - (most & 63);
    const i32 change = max(left, -1);
    if (symbol == lane) cells[0] += (u32)change;
    if (symbol == lane + 32) cells[1] += (u32)change;
    left -= change;
  }
  c.cells[lane] = (i16)cells[0];
  c.cells[lane + 32] = (i16)cells[1];
  __syncwarp();
}

// Describes 2^log cells, none of them "less than one"; called by one lane.
DEVICE void zstd_describe(ZstdCoder& c, u32 log) {
  ZstdText text = {c.text, 0, log - 5, 4};
  u32 remaining = (1u << log) + 1, threshold = 1u << log, width = log + 1;
  for (u32 s = 0; s < ZSTD_SYMBOLS && remaining > 1; ++s) {
    const u32 cells = (u32)c.cells[s];
    const u32 spare = 2 * threshold - 1 - remaining;
    u32 value = cells + 1;
    remaining -= cells;
    if (value >= threshold) value += spare;
    zstd_write(text, value, value < spare ? width - 1 : width);
    while (remaining < threshold) threshold >>= 1, --width;
    if (cells != 0) continue;
    // Number of further zeros.
    u32 more = 0;
    while (s + 1 < ZSTD_SYMBOLS && c.cells[s + 1] == 0) ++s, ++more;
    for (; more >= 3; more -= 3) zstd_write(text, 3, 2);
    zstd_write(text, more, 2);
  }
  c.text_len = zstd_end(text);
}

// Cost in 1/256 bit of a symbol with `cells` of 2^log cells.
DEVICE u32 zstd_cost(i32 cells, u32 log) {
  const u32 n = max(zstd_cells(cells), 1u), whole = zstd_log2(n), part = (n << 8 >> whole) - 256;
  return 256 * log - (256 * whole + part + (11 * part * (256 - part) >> 13));
}

// Makes the encoding table of the current 2^log cells. Called by all lanes after a __syncwarp; ends with one.
DEVICE void zstd_build_states(ZstdCoder& c, u32 log, u32 lane) {
  const u32 size = 1u << log, below = (1u << lane) - 1;
  u32 total = 0, low = 0;
  for (u32 s = lane; s < ZSTD_SYMBOLS; s += 32) {
    const i32 cells = c.cells[s];
    const u32 rare = __ballot_sync(ZSTD_WARP, cells < 0);
    if (cells < 0) c.symbols[size - 1 - low - (u32)__popc(rare & below)] = (u8)s;
    low += (u32)__popc(rare);
    // Cells to spread in the low half, all cells in the high half.
    const u32 count = zstd_cells(cells), own = (cells > 0 ? count : 0) | count << 16;
    u32 sum = own;
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(ZSTD_WARP, sum, step);
      if (lane >= step) sum += other;
    }
    const u32 before = total + sum - own;
    c.before[s] = (u16)before;
    c.next[s] = (u16)(before >> 16);
    const u32 most = count > 1 ? log - zstd_log2(count - 1) : log;
    const u32 bits = (most << 16) - (count << most), at = ZSTD_STEP_AT + (before >> 16) - count;
    c.steps[s] = bits | at << ZSTD_STEP_SHIFT;
    total += __shfl_sync(ZSTD_WARP, sum, 31);
  }
  __syncwarp();
  const u32 step = (size >> 1) + (size >> 3) + 3;
  u32 placed = 0;
  for (u32 i = lane; i < size; i += 32) {
    const u32 cell = i * step & (size - 1);
    const bool free = cell < size - low;
    const u32 mask = __ballot_sync(ZSTD_WARP, free);
    const u32 number = placed + (u32)__popc(mask & below);
    placed += (u32)__popc(mask);
    if (!free) continue;
    // The largest symbol with no more cells before it.
    u32 symbol = 0;
    for (u32 d = 32; d != 0; d >>= 1) {
      if (c.before[symbol + d] <= number) symbol += d;
    }
    c.symbols[cell] = (u8)symbol;
  }
  __syncwarp();
  for (u32 i = lane; i < size; i += 32) {
    const u32 symbol = c.symbols[i];
    const u32 equal = __match_any_sync(ZSTD_WARP, symbol);
    const u32 rank = (u32)__popc(equal & below), place = c.next[symbol] + rank;
    __syncwarp();
    if (rank == 0) c.next[symbol] = (u16)(place + (u32)__popc(equal));
    c.states[place] = (u16)(size + i);
    __syncwarp();
  }
  __syncwarp();
}

DEVICE u32 zstd_step_bits(u32 step) { return step & ((1u << ZSTD_STEP_SHIFT) - 1); }
// Index in `states` of a symbol's next state, from the remaining bits of the state.
DEVICE u32 zstd_place(u32 step, u32 left) { return left + (step >> ZSTD_STEP_SHIFT) - ZSTD_STEP_AT; }

// The initial state of a symbol: its first cell.
DEVICE u32 zstd_first_state(const ZstdCoder& c, u32 symbol) {
  return c.states[zstd_place(c.steps[symbol], zstd_cells(c.cells[symbol]))];
}

// Packs what a step writes: the state before it, whose lowest `count` bits are written.
DEVICE u32 zstd_written(u32 state, u32 count) { return state | count << 10; }
DEVICE u32 zstd_written_count(u32 written) { return written >> 10; }

// Advances to a state of `symbol`; returns what it writes.
DEVICE u32 zstd_next_state(const ZstdCoder& c, u32& state, u32 symbol) {
  const u32 step = c.steps[symbol];
  const u32 count = (state + zstd_step_bits(step)) >> 16, written = zstd_written(state, count);
  state = c.states[zstd_place(step, state >> count)];
  return written;
}

// Chooses the mode of one of the three tables from its counts, and makes the table. Called by all lanes; ends with a
// __syncwarp.
DEVICE void zstd_make_coder(ZstdCoder& c, u32 table, u32 lane) {
  const u32 low = c.counts[lane], high = c.counts[lane + 32];
  const u32 total = zstd_sum_of_warp(low + high);
  const u32 lows = __ballot_sync(ZSTD_WARP, low != 0), highs = __ballot_sync(ZSTD_WARP, high != 0);
  const u32 largest = highs != 0 ? 32 + zstd_log2(highs) : lows != 0 ? zstd_log2(lows) : 0;
  if (c.counts[largest] == total) {
    if (lane == 0) {
      c.mode = ZSTD_ONE_SYMBOL;
      c.log = 0;
      c.text[0] = (u8)largest;
      c.text_len = 1;
      // A single state, which writes nothing and never changes.
      c.states[0] = 0;
      c.steps[largest] = ZSTD_STEP_AT << ZSTD_STEP_SHIFT;
      c.cells[largest] = 0;
    }
    __syncwarp();
    return;
  }
  u32 log = max(zstd_log2(total - 1), 7u) - 2;
  log = min(max(log, zstd_log2(max(largest, 1u)) + 2), (u32)zstd_most_log[table]);
  zstd_normalise(c, total, log, lane);
  if (lane == 0) zstd_describe(c, log);
  __syncwarp();
  const u32 symbols = low * zstd_cost(c.cells[lane], log) + high * zstd_cost(c.cells[lane + 32], log);
  const u32 described = zstd_sum_of_warp(symbols) + 8 * 256 * c.text_len;
  const i32 known_low = zstd_predefined[table][lane];
  const i32 known_high = lane < 21 ? zstd_predefined[table][lane + 32] : 0;
  const u32 known_log = table == ZSTD_OFFSETS ? 5 : 6;
  const u32 known =
      zstd_sum_of_warp(low * zstd_cost(known_low, known_log) + high * zstd_cost(known_high, known_log));
  const bool predefined = known <= described;
  __syncwarp();
  if (predefined) {
    c.cells[lane] = (i16)known_low;
    c.cells[lane + 32] = (i16)known_high;
    log = known_log;
  }
  if (lane == 0) {
    c.mode = predefined ? ZSTD_PREDEFINED : ZSTD_DESCRIBED;
    c.log = log;
    if (predefined) c.text_len = 0;
  }
  __syncwarp();
  zstd_build_states(c, log, lane);
}
