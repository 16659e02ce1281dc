//! Decoding of the three coding passes of a bit plane (ISO 15444-1, annex D).
//!
//! A code-block is cut into chunks of eight columns of a stripe. While a chunk is processed, the significance of its
//! coefficients and their neighbours is one word: ten columns of six bits, column by column from the left, each from
//! the row above the stripe to the row below it. Within that word coefficients are in coding order, so the next one to
//! code is the lowest bit of a mask, and chunks without coefficients to code cost nothing. Signs are a word of the same
//! layout. The stored words of a chunk exclude the neighbours; these come from the eight surrounding chunks, which
//! always exist because of a border, when the next pass reaches the chunk.
//!
//! A magnitude is in half-units (see `spec.md` of the codestream crate) with the sign in its highest bit.

#![expect(clippy::indexing_slicing, reason = "chunks of the shape, and positions masked to 64")]

use super::contexts::{
    E, E_NEGATIVE, N, N_NEGATIVE, NE, NW, RUN, S, S_NEGATIVE, SE, SW, UNIFORM, W, W_NEGATIVE, sign_context,
    zero_context,
};
use super::segment_bits::{Arithmetic, BEGINNING, Bits, State};
use strile_codestream::jpeg2000::Band;

/// Columns of a chunk.
pub(super) const COLUMNS: usize = 8;
/// Rows of a chunk.
pub(super) const ROWS: usize = 4;
/// Maximum chunks of a code-block: one that is up to eight columns wide and 1024 rows high.
pub(super) const MOST_CHUNKS: usize = 256;
/// Maximum chunks including their border.
pub(super) const MOST_CELLS: usize = 2 * (MOST_CHUNKS + 2) + 1;

/// First row of all columns, and the fourth.
const FIRST_ROW: u64 = columns(0b000_010, 0, 10);
const LAST_ROW: u64 = FIRST_ROW << 3;
/// The chunk itself, without neighbours.
const CENTRE: u64 = columns(0b011_110, 1, 9);
/// The lowest bit of all columns.
const EVERY: u64 = columns(1, 0, 10);

const fn columns(column: u64, first: u32, end: u32) -> u64 {
    let (mut word, mut at) = (0, first);
    while at < end {
        word |= column << (6 * at);
        at += 1;
    }
    word
}

/// Returns the bit position of a column and row of a chunk in its words.
pub(super) const fn position(column: usize, row: usize) -> usize {
    6 * (column + 1) + row + 1
}

/// Words of a chunk: significant, negative, already coded in this plane, and refined before.
#[derive(Clone, Copy, Default)]
pub(super) struct Cell {
    significant: u64,
    negative: u64,
    coded: u64,
    refined: u64,
}

/// Dimensions of a code-block in chunks.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    width: usize,
    height: usize,
    /// Chunks across and down.
    pub(super) across: usize,
    pub(super) down: usize,
}

impl Shape {
    /// Returns the shape; `None` if there are no chunks or more than allowed.
    pub(super) fn new(width: usize, height: usize) -> Option<Self> {
        let (across, down) = (width.div_ceil(COLUMNS), height.div_ceil(ROWS));
        let (shape, chunks) = (Self { width, height, across, down }, across * down);
        ((1..=MOST_CHUNKS).contains(&chunks) && shape.cells() <= MOST_CELLS).then_some(shape)
    }

    pub(super) fn chunks(&self) -> usize {
        self.across * self.down
    }

    /// Returns the cells per row: its chunks and a border cell on the left, which is also the right border of the row
    /// above.
    fn stride(&self) -> usize {
        self.across + 1
    }

    pub(super) fn cells(&self) -> usize {
        self.stride() * (self.down + 2) + 1
    }

    /// Returns the mask of the coefficients of a chunk.
    #[inline(always)]
    fn centre(&self, x: usize, y: usize) -> u64 {
        let (width, height) = ((self.width - COLUMNS * x).min(COLUMNS), (self.height - ROWS * y).min(ROWS));
        let rows = EVERY * ((2 << height) - 2);
        CENTRE & rows & ((1 << (6 * (width + 1))) - 1)
    }
}

/// Contexts by the neighbour bits of a word: those of the left column, the right one, and the own one.
static ZERO_CONTEXTS: [[u8; 512]; 4] =
    [zero_contexts(Band::Ll), zero_contexts(Band::Hl), zero_contexts(Band::Lh), zero_contexts(Band::Hh)];

const fn zero_contexts(band: Band) -> [u8; 512] {
    let bits = [(1, NW), (2, W), (4, SW), (8, NE), (16, E), (32, SE), (64, N), (256, S)];
    let mut table = [0; 512];
    let mut index = 0;
    while index < 512 {
        table[index] = zero_context(flags(index, &bits), band);
        index += 1;
    }
    table
}

static SIGN_CONTEXTS: [u8; 512] = {
    let bits = [
        (1, N),
        (2, N_NEGATIVE),
        (4, S),
        (8, S_NEGATIVE),
        (16, W),
        (32, W_NEGATIVE),
        (128, E),
        (256, E_NEGATIVE),
    ];
    let mut table = [0; 512];
    let mut index = 0;
    while index < 512 {
        table[index] = sign_context(flags(index, &bits));
        index += 1;
    }
    table
};

const fn flags(index: usize, bits: &[(usize, u16); 8]) -> u16 {
    let (mut flags, mut at) = (0, 0);
    while at < 8 {
        let (bit, flag) = bits[at];
        if index & bit != 0 {
            flags |= flag;
        }
        at += 1;
    }
    flags
}

/// Moves the three columns around a position of a word to its lowest 15 bits; six of them are other rows.
#[inline(always)]
fn zero_index(significant: u64, position: u32) -> usize {
    let around = significant >> (position - 7) & 0b000_111_000_111_000_111;
    ((around | around >> 9) & 511) as usize
}

#[inline(always)]
fn sign_index(significant: u64, negative: u64, position: u32) -> usize {
    let nearest = 0b010_000_101_000_010;
    let around = (significant >> (position - 7) & nearest) | (negative >> (position - 7) & nearest) << 1;
    ((around >> 6 & 0b1_1000_1111 | around << 3 & 0b11_0000) & 511) as usize
}

/// Copies every bit to its eight neighbours; correct within the chunk.
#[inline(always)]
fn spread(word: u64) -> u64 {
    let column = word | word << 1 | word >> 1;
    column | column << 6 | column >> 6
}

/// State of a code-block during decoding.
pub(super) struct Passes<'a> {
    /// Chunks with their border.
    pub(super) cells: &'a mut [Cell],
    /// Magnitudes of each chunk, by position.
    pub(super) magnitudes: &'a mut [[u32; 64]],
    pub(super) shape: Shape,
    pub(super) band: Band,
    /// Whether contexts ignore the stripe below.
    pub(super) causal: bool,
    pub(super) states: [State; 32],
}

/// The words of a chunk with its neighbours, and its location.
struct Chunk {
    cell: usize,
    significant: u64,
    negative: u64,
    centre: u64,
}

impl Passes<'_> {
    /// Resets the probabilities.
    pub(super) fn reset(&mut self) {
        self.states = BEGINNING;
    }

    /// Returns the context of segmentation symbols.
    pub(super) fn uniform(&mut self) -> &mut State {
        &mut self.states[usize::from(UNIFORM)]
    }

    #[inline(always)]
    fn around(&self, cell: usize, word: impl Fn(&Cell) -> u64) -> u64 {
        let row = |cell: usize| {
            let cells = &self.cells[cell - 1..cell + 2];
            word(&cells[1]) | word(&cells[0]) >> 48 & 0x3F | (word(&cells[2]) & 0x3F << 6) << 48
        };
        let stride = self.shape.stride();
        let below = if self.causal { 0 } else { (row(cell + stride) & FIRST_ROW) << 4 };
        row(cell) | (row(cell - stride) & LAST_ROW) >> 4 | below
    }

    /// Takes the sign of a coefficient that became significant.
    #[inline(always)]
    fn take_sign<B: Bits>(
        states: &mut [State; 32],
        bits: &mut B,
        chunk: &Chunk,
        at: u32,
        bytes: &[u8],
    ) -> bool {
        if B::RAW {
            return bits.bit(&mut states[0], bytes);
        }
        let context = SIGN_CONTEXTS[sign_index(chunk.significant, chunk.negative, at) & 511];
        bits.bit(&mut states[usize::from(context) & 31], bytes) ^ (context & 0x80 != 0)
    }

    /// Significance propagation pass (D.3.1): coefficients with a significant neighbour.
    #[inline(always)]
    pub(super) fn propagate<B: Bits>(&mut self, bits: &mut B, bytes: &[u8], plane: u32) {
        let (mut source, mut states) = (*bits, self.states);
        let zero_contexts = &ZERO_CONTEXTS[self.band as usize & 3];
        for y in 0..self.shape.down {
            for x in 0..self.shape.across {
                let cell = (y + 1) * self.shape.stride() + x + 1;
                let significant = self.around(cell, |cell| cell.significant);
                let centre = self.shape.centre(x, y);
                let open = centre & !significant;
                let mut left = spread(significant) & open;
                if left == 0 {
                    continue;
                }
                let negative = self.around(cell, |cell| cell.negative);
                let mut chunk = Chunk { cell, significant, negative, centre };
                let magnitudes = &mut self.magnitudes[y * self.shape.across + x];
                let mut coded = 0;
                while left != 0 {
                    let at = left.trailing_zeros();
                    let bit = left & left.wrapping_neg();
                    left ^= bit;
                    coded |= bit;
                    let context = zero_contexts[zero_index(chunk.significant, at) & 511];
                    if source.bit(&mut states[usize::from(context) & 31], bytes) {
                        let is_negative = Self::take_sign(&mut states, &mut source, &chunk, at, bytes);
                        chunk.significant |= bit;
                        chunk.negative |= u64::from(is_negative) << at;
                        magnitudes[at as usize & 63] = 3 << plane | u32::from(is_negative) << 31;
                        // The coefficients below and to the right have a significant neighbour now.
                        left |= 0b1110_0010 << at & open;
                    }
                }
                self.cells[cell].coded = coded;
                self.put(&chunk);
            }
        }
        (*bits, self.states) = (source, states);
    }

    /// Magnitude refinement pass (D.3.3): the next bit of coefficients significant since an earlier plane.
    #[inline(always)]
    pub(super) fn refine<B: Bits>(&mut self, bits: &mut B, bytes: &[u8], plane: u32) {
        let (mut source, mut states) = (*bits, self.states);
        for y in 0..self.shape.down {
            for x in 0..self.shape.across {
                let cell = (y + 1) * self.shape.stride() + x + 1;
                let Cell { significant, coded, refined, .. } = self.cells[cell];
                let mut left = significant & !coded;
                if left == 0 {
                    continue;
                }
                let magnitudes = &mut self.magnitudes[y * self.shape.across + x];
                // Move from the middle of an interval to the middle of its upper or lower half.
                let by = |bit: bool| (u32::from(bit) << 1).wrapping_sub(1) << plane;
                if left & !refined == 0 {
                    // Common in the lowest planes: neighbours do not matter, and the single state stays in a register.
                    let mut state = states[16];
                    while left != 0 {
                        let magnitude = &mut magnitudes[left.trailing_zeros() as usize & 63];
                        left &= left - 1;
                        *magnitude = magnitude.wrapping_add(by(source.bit(&mut state, bytes)));
                    }
                    states[16] = state;
                    continue;
                }
                self.cells[cell].refined |= left;
                let significant = self.around(cell, |cell| cell.significant);
                let column = significant << 1 | significant >> 1;
                let beside = column | significant;
                // Contexts are 14 without and 15 with a neighbour the first time, and 16 later.
                let second = column | beside << 6 | beside >> 6 | refined;
                let magnitudes = &mut self.magnitudes[y * self.shape.across + x];
                while left != 0 {
                    let at = left.trailing_zeros();
                    left &= left - 1;
                    let context = (14 + (second >> at & 1) + (refined >> at & 1)) & 31;
                    let bit = source.bit(&mut states[context as usize], bytes);
                    let magnitude = &mut magnitudes[at as usize & 63];
                    *magnitude = magnitude.wrapping_add(by(bit));
                }
            }
        }
        (*bits, self.states) = (source, states);
    }

    /// Cleanup pass (D.3.4): the remaining coefficients, in runs of four if no neighbour is significant.
    #[inline(always)]
    pub(super) fn clean_up(&mut self, bits: &mut Arithmetic, bytes: &[u8], plane: u32) {
        let (mut source, mut states) = (*bits, self.states);
        let zero_contexts = &ZERO_CONTEXTS[self.band as usize & 3];
        for y in 0..self.shape.down {
            for x in 0..self.shape.across {
                let cell = (y + 1) * self.shape.stride() + x + 1;
                let centre = self.shape.centre(x, y);
                let coded = std::mem::take(&mut self.cells[cell].coded);
                let mut left = centre & !self.cells[cell].significant & !coded;
                if left == 0 {
                    continue;
                }
                let significant = self.around(cell, |cell| cell.significant);
                let negative = self.around(cell, |cell| cell.negative);
                let mut chunk = Chunk { cell, significant, negative, centre };
                let near = spread(significant);
                // Columns of four, marked at their first row.
                let mut runs = FIRST_ROW & centre & centre >> 3 & !(near | near >> 1 | near >> 2 | near >> 3);
                let magnitudes = &mut self.magnitudes[y * self.shape.across + x];
                while left != 0 {
                    let mut at = left.trailing_zeros();
                    if runs >> at & 1 == 1 {
                        left &= !(0b1111 << at);
                        if !source.bit(&mut states[usize::from(RUN)], bytes) {
                            continue;
                        }
                        let uniform = &mut states[usize::from(UNIFORM)];
                        let run = u32::from(source.bit(uniform, bytes)) << 1;
                        let run = run | u32::from(source.bit(uniform, bytes));
                        left |= (0b1110 << run & 0b1111) << at;
                        at += run;
                    } else {
                        left &= left - 1;
                        let context = zero_contexts[zero_index(chunk.significant, at) & 511];
                        if !source.bit(&mut states[usize::from(context) & 31], bytes) {
                            continue;
                        }
                    }
                    let is_negative = Self::take_sign(&mut states, &mut source, &chunk, at, bytes);
                    chunk.significant |= 1 << at;
                    chunk.negative |= u64::from(is_negative) << at;
                    magnitudes[at as usize & 63] = 3 << plane | u32::from(is_negative) << 31;
                    // The next column is not a run any more: its first row is three to six places further.
                    runs &= !(0b111_1000 << at);
                }
                self.put(&chunk);
            }
        }
        (*bits, self.states) = (source, states);
    }

    #[inline(always)]
    fn put(&mut self, chunk: &Chunk) {
        let cell = &mut self.cells[chunk.cell];
        cell.significant = chunk.significant & chunk.centre;
        cell.negative = chunk.negative & chunk.centre;
    }
}
