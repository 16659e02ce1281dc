//! FSE (RFC 8878, 4.1) for the ZSTD encoder: normalises counts to cells, describes cells, and builds encoding tables.
//!
//! Symbols are below `SYMBOLS` and no table has more than `MOST_LOG` bits. The numbers are those of `portable/spec.md`,
//! sections *Normalisation*, *Cost* and *Bits*; results depend on arguments alone.

use super::bits::Bits;

/// Capacity for the 53 codes of match lengths.
pub(super) const SYMBOLS: usize = 64;
const MOST_LOG: u32 = 9;

/// Number of occurrences of each symbol.
pub(super) type Counts = [u32; SYMBOLS];
/// Cells of each symbol in a table; -1 is one cell, "less than one".
pub(super) type Cells = [i16; SYMBOLS];

/// Returns the index of the highest set bit; 0 for 0.
pub(super) fn highest_bit(value: u32) -> u32 {
    value.checked_ilog2().unwrap_or(0)
}

/// Writes the lowest `count` bits of a value.
pub(super) fn put_low(bits: &mut Bits<'_>, value: u32, count: u32) {
    bits.put(value & ((1 << count) - 1), count);
}

/// Ends a stream that is read from its end.
pub(super) fn put_mark(mut bits: Bits<'_>) {
    bits.put(1, 1);
    bits.align();
}

/// Distributes 2^`log` cells by counts with a sum above 0; there must be at least as many cells as occurring symbols.
pub(super) fn normalise(counts: &Counts, log: u32) -> Cells {
    let total: u32 = counts.iter().sum();
    let size = 1_i32 << log;
    let mut cells = [0_i16; SYMBOLS];
    for (cell, &count) in cells.iter_mut().zip(counts) {
        if count > 0 {
            let share = ((u64::from(count) << log) + u64::from(total / 2)) / u64::from(total.max(1));
            *cell = i16::try_from(share).unwrap_or(i16::MAX).max(1);
        }
    }
    let mut left = size - cells.iter().map(|&c| i32::from(c)).sum::<i32>();
    while left != 0 {
        // The first of those with the most cells.
        let Some(most) = cells.iter_mut().rev().max_by_key(|c| **c) else { break };
        let change = left.max(-1);
        *most += i16::try_from(change).unwrap_or(0);
        left -= change;
    }
    cells
}

/// Appends the description of cells whose sum is 2^`log`.
pub(super) fn describe(cells: &Cells, log: u32, dst: &mut Vec<u8>) {
    let mut bits = Bits::new(dst);
    bits.put(log - 5, 4);
    let (mut remaining, mut threshold, mut width) = ((1_u32 << log) + 1, 1_u32 << log, log + 1);
    let mut zeros = None;
    for &cell in cells {
        if remaining <= 1 {
            break;
        }
        if cell == 0
            && let Some(zeros) = &mut zeros
        {
            *zeros += 1;
            continue;
        }
        // A count of 0 is followed by the number of further zeros.
        if let Some(mut more) = zeros.take() {
            while more >= 3 {
                bits.put(3, 2);
                more -= 3;
            }
            bits.put(more, 2);
        }
        let spare = 2 * threshold - 1 - remaining;
        remaining -= u32::from(cell.unsigned_abs());
        let mut value = u32::from((cell + 1).unsigned_abs());
        if value >= threshold {
            value += spare;
        }
        bits.put(value, if value < spare { width - 1 } else { width });
        if cell == 0 {
            zeros = Some(0_u32);
        }
        while remaining < threshold {
            threshold >>= 1;
            width -= 1;
        }
    }
    bits.align();
}

/// Returns 256 times the binary logarithm, approximately.
fn logarithm(cells: u32) -> u32 {
    let whole = highest_bit(cells);
    let part = (cells << 8 >> whole) - 256;
    256 * whole + part + ((11 * part * (256 - part)) >> 13)
}

/// Returns the cost of symbols with a table, in 1/256 bit.
pub(super) fn cost(counts: &Counts, cells: &Cells, log: u32) -> u64 {
    let bits = |cell: i16| u64::from(256 * log - logarithm(u32::from(cell.unsigned_abs()).max(1)));
    counts.iter().zip(cells).map(|(&count, &cell)| u64::from(count) * bits(cell)).sum()
}

/// Transition of a symbol from a state: it writes (state + `bits`) >> 16 bits.
#[derive(Clone, Copy, Default)]
struct Step {
    bits: u32,
    /// Index of its first cell, minus the smallest state after shifting out the written bits.
    states: i32,
    first: u16,
}

/// An encoding table; states are at least 2^log.
pub(super) struct Table {
    log: u32,
    states: [u16; 1 << MOST_LOG],
    steps: [Step; SYMBOLS],
}

impl Table {
    /// Returns the table for cells whose sum, with -1 as 1, is 2^`log`.
    pub(super) fn new(cells: &Cells, log: u32) -> Self {
        let size = 1_usize << log;
        let mut table = Self { log, states: [0; 1 << MOST_LOG], steps: [Step::default(); SYMBOLS] };
        let (mut places, mut before) = ([0_usize; SYMBOLS], 0_u16);
        for ((&cell, step), place) in cells.iter().zip(&mut table.steps).zip(&mut places) {
            let count = cell.unsigned_abs();
            if count == 0 {
                continue;
            }
            // Shifting out `most` bits maps the largest states to `count` to 2 * `count` - 1; the smallest need one bit
            // less.
            let most = log - highest_bit(u32::from(count) - 1) * u32::from(count > 1);
            step.bits = (most << 16).wrapping_sub(u32::from(count) << most);
            step.states = i32::from(before) - i32::from(count);
            *place = usize::from(before);
            before += count;
        }
        for (&symbol, state) in spread(cells, size).iter().take(size).zip(1_u16 << log..) {
            let symbol = usize::from(symbol);
            let (Some(place), Some(step)) = (places.get_mut(symbol), table.steps.get_mut(symbol)) else {
                continue;
            };
            if step.first == 0 {
                step.first = state;
            }
            if let Some(cell) = table.states.get_mut(*place) {
                *cell = state;
            }
            *place += 1;
        }
        table
    }

    /// Returns the initial state for a symbol.
    pub(super) fn first(&self, symbol: u8) -> u32 {
        self.steps.get(usize::from(symbol)).map_or(0, |step| u32::from(step.first))
    }

    /// Moves to a state of `symbol` and writes the bits that lead back.
    pub(super) fn next(&self, state: &mut u32, symbol: u8, bits: &mut Bits<'_>) {
        let Some(step) = self.steps.get(usize::from(symbol)) else { return };
        let count = state.wrapping_add(step.bits) >> 16;
        put_low(bits, *state, count);
        let place = i32::try_from(*state >> count).unwrap_or(0) + step.states;
        *state = usize::try_from(place).ok().and_then(|p| self.states.get(p)).map_or(0, |&s| u32::from(s));
    }

    /// Writes the state that a decoder begins with.
    pub(super) fn last(&self, state: u32, bits: &mut Bits<'_>) {
        put_low(bits, state, self.log);
    }
}

/// Returns the symbol of every cell.
fn spread(cells: &Cells, size: usize) -> [u8; 1 << MOST_LOG] {
    let mut symbols = [0_u8; 1 << MOST_LOG];
    let mut free = size;
    for (&cell, symbol) in cells.iter().zip(0_u8..) {
        if cell < 0 {
            free -= 1;
            if let Some(at) = symbols.get_mut(free) {
                *at = symbol;
            }
        }
    }
    let step = (size >> 1) + (size >> 3) + 3;
    let mut place = 0;
    for (&cell, symbol) in cells.iter().zip(0_u8..) {
        for _ in 0..cell.max(0) {
            if let Some(at) = symbols.get_mut(place) {
                *at = symbol;
            }
            place = (place + step) & (size - 1);
            while place >= free {
                place = (place + step) & (size - 1);
            }
        }
    }
    symbols
}
