//! The cleanup pass (ISO 15444-15, 7.3): quads of two by two coefficients, row by row, two at a time. A code tells
//! which are significant, another the largest exponent; then each significant one has that many bits.
//!
//! Significance is as good as random: what depends on it is computed without branches.

use super::bits::{Backward, Forward, Runs};
use super::corrupt;
use strile_codestream::jpeg2000::high_throughput::{FIRST_ROW, OTHER_ROWS};
use strile_engine::BlockFault;

/// Most bytes that runs and codes can have together.
const MOST_SUFFIX: usize = 4079;
/// Quads across in the widest code-block, and one beside them.
const STATES: usize = 513;
/// Coefficients across in two quads.
const PAIR: usize = 4;

/// What the code of a quad says.
#[derive(Clone, Copy, Default)]
struct Quad(u32);

impl Quad {
    fn code_len(self) -> u32 {
        self.0 & 7
    }

    /// Whether an exponent is told.
    fn offset(self) -> bool {
        self.0 & 8 != 0
    }

    fn significance(self) -> u32 {
        self.0 >> 4 & 15
    }

    /// Two or more are significant.
    fn several(self) -> bool {
        let significance = self.significance();
        significance & significance.wrapping_sub(1) != 0
    }

    /// The context of the next quad to the right, as far as this one makes it.
    fn west<const FIRST: bool>(self) -> u32 {
        if FIRST { self.0 >> 4 & 1 | self.0 >> 5 & 7 } else { u32::from(self.0 >> 6 & 3 != 0) << 1 }
    }
}

/// Where a pass is in its streams, and what it knows of the row above.
struct Pass<'a> {
    magnitudes: Forward<'a>,
    codes: Backward<'a>,
    runs: Runs<'a>,
    /// For each quad the largest exponent above: at the column before it and at its first.
    line: [u8; STATES],
    planes: u8,
    /// The largest exponent that the bit planes allow.
    most: u32,
}

/// Decodes the pass.
#[inline(always)]
pub(super) fn decode(
    bytes: &[u8],
    width: usize,
    planes: u8,
    zero_planes: u8,
    out: &mut [i32],
) -> Result<(), BlockFault> {
    let &[.., half, high] = bytes else { return Err(corrupt("a cleanup pass of less than 2 bytes")) };
    let suffix = usize::from(high) << 4 | usize::from(half & 15);
    if suffix < 2 || suffix > bytes.len() || suffix > MOST_SUFFIX {
        return Err(corrupt("the lengths of the streams of a cleanup pass are impossible"));
    }
    let (magnitudes, suffix) = bytes.split_at(bytes.len() - suffix);
    let (runs, _) = suffix.split_at(suffix.len() - 1);
    let (codes, _) = suffix.split_at(suffix.len() - 2);
    let mut pass = Pass {
        magnitudes: Forward::new(magnitudes, 0xFF),
        codes: Backward::codes(codes, half),
        runs: Runs::new(runs),
        line: [0; STATES],
        planes,
        most: u32::from(zero_planes) + 2,
    };
    let mut rows = out.chunks_mut(2 * width);
    if let Some(first) = rows.next() {
        pass.row::<true>(first.split_at_mut(width))?;
    }
    rows.try_for_each(|rows| pass.row::<false>(rows.split_at_mut(width)))
}

impl Pass<'_> {
    /// Decodes a row of quads; `lower` is empty where the code-block ends within it.
    #[inline(always)]
    fn row<const FIRST: bool>(&mut self, (upper, lower): (&mut [i32], &mut [i32])) -> Result<(), BlockFault> {
        let rows_inside = if lower.is_empty() { 0x55 } else { 0xFF };
        let mut lower = lower.chunks_mut(PAIR);
        let width = upper.len();
        let (mut above, mut below, mut west) = (self.state(0), 0, 0);
        for (index, upper) in upper.chunks_mut(PAIR).enumerate() {
            let first = 2 * index;
            let two = PAIR * index + 2 < width;
            let middle = self.state(first + 1);
            let after = if two { self.state(first + 2) } else { 0 };
            let mut bits = self.codes.peek();
            let left = self.quad::<FIRST>(west, above, middle, bits);
            west = left.west::<FIRST>();
            bits >>= left.code_len();
            let right = if two { self.quad::<FIRST>(west, middle, after, bits) } else { Quad::default() };
            west = right.west::<FIRST>();
            bits >>= right.code_len();
            let more = FIRST && left.offset() && right.offset() && self.runs.event();
            let ([told_left, told_right], len) = exponents::<FIRST>(bits, left, right, more);
            self.codes.skip(left.code_len() + right.code_len() + len);
            let bounds =
                [bound(left, told_left, above.max(middle)), bound(right, told_right, middle.max(after))];
            if bounds.into_iter().any(|bound| bound > self.most) {
                return Err(corrupt("an exponent is larger than the bit planes allow"));
            }
            let significant = left.significance() | right.significance() << 4;
            if significant & !(0xFF >> (2 * (PAIR - upper.len())) & rows_inside) != 0 {
                return Err(corrupt("significance outside of a code-block"));
            }
            // Exponents of the lower row, where nothing is significant 0.
            let mut exponents = [0; PAIR];
            if significant != 0 {
                let [a, b, c, d] = self.samples(left, bounds[0]);
                let [e, f, g, h] = self.samples(right, bounds[1]);
                copy(upper, [a, c, e, g].map(|sample| sample.value));
                copy(lower.next().unwrap_or_default(), [b, d, f, h].map(|sample| sample.value));
                exponents = [b, d, f, h].map(|sample| sample.exponent);
            } else {
                upper.fill(0);
                lower.next().unwrap_or_default().fill(0);
            }
            self.set_state(first, below.max(exponents[0]));
            self.set_state(first + 1, exponents[1].max(exponents[2]));
            below = exponents[3];
            above = after;
            if two {
                self.keep_for_next(first + 2, below, PAIR * (index + 1) >= width);
            }
        }
        Ok(())
    }

    fn state(&self, quad: usize) -> u8 {
        self.line.get(quad).copied().unwrap_or_default()
    }

    fn set_state(&mut self, quad: usize, exponent: u8) {
        if let Some(state) = self.line.get_mut(quad) {
            *state = exponent;
        }
    }

    /// After the last pair nobody writes the state beside it.
    fn keep_for_next(&mut self, quad: usize, exponent: u8, last: bool) {
        if last {
            self.set_state(quad, exponent);
        }
    }

    /// Reads the code of a quad; one whose surroundings are all 0 has one only where a run ends.
    #[inline(always)]
    fn quad<const FIRST: bool>(&mut self, west: u32, above: u8, after: u8, bits: u32) -> Quad {
        let context = match FIRST {
            true => west,
            false => west | u32::from(above != 0) | u32::from(after != 0) << 2,
        };
        if context == 0 && !self.runs.event() {
            return Quad::default();
        }
        let table = if FIRST { &FIRST_ROW } else { &OTHER_ROWS };
        Quad(table.get((context << 7 | bits & 127) as usize).copied().unwrap_or_default().into())
    }

    /// Reads the coefficients of a quad, column by column.
    #[inline(always)]
    fn samples(&mut self, quad: Quad, bound: u32) -> [Sample; 4] {
        // 32 bits are looked at, for as many coefficients as they are enough.
        let mut bits = self.magnitudes.peek();
        let mut used = 0;
        let mut made = [Sample::default(); 4];
        for (index, sample) in (0_u32..).zip(&mut made) {
            if index == 2 && bound > 8 || index % 2 == 1 && bound > 16 {
                self.magnitudes.skip(used);
                used = 0;
                bits = self.magnitudes.peek();
            }
            let significant = quad.0 >> (4 + index) & 1;
            let len = (bound & significant.wrapping_neg()) - (quad.0 >> (12 + index) & 1);
            let told = bits & ((1 << len) - 1) | (quad.0 >> (8 + index) & 1) << len | significant;
            let magnitude = (told + 2 * significant) << (self.planes - 1);
            *sample =
                Sample { value: half_units(magnitude, bits & significant != 0), exponent: exponent(told) };
            bits = bits.wrapping_shr(len);
            used += len;
        }
        self.magnitudes.skip(used);
        made
    }
}

#[derive(Clone, Copy, Default)]
struct Sample {
    value: i32,
    exponent: u8,
}

/// Bits of a number.
#[expect(clippy::cast_possible_truncation, reason = "32 at most")]
fn exponent(told: u32) -> u8 {
    (u32::BITS - told.leading_zeros()) as u8
}

/// A row of a pair, as far as it lies within the code-block.
#[inline(always)]
fn copy(to: &mut [i32], values: [i32; PAIR]) {
    match <&mut [i32; PAIR]>::try_from(&mut *to) {
        Ok(to) => *to = values,
        Err(_) => to.iter_mut().zip(values).for_each(|(to, value)| *to = value),
    }
}

/// A magnitude with its sign; what does not fit is of no use anyway.
#[inline(always)]
pub(super) fn half_units(magnitude: u32, negative: bool) -> i32 {
    let magnitude = (magnitude & 0x7FFF_FFFF).cast_signed();
    if negative { -magnitude } else { magnitude }
}

/// Bits of the coefficients of a quad: those told, and where several are significant, those known from above.
fn bound(quad: Quad, told: u32, above: u8) -> u32 {
    told + if quad.several() { u32::from(above).saturating_sub(1).max(1) } else { 1 }
}

/// Prefixes by the zeros before their first one, after none at all: bits 0 to 1 their length, bits 2 to 4 that of the
/// suffix, bits 5 to 7 the value.
const PREFIXES: [u8; 8] = [0, 1 | 1 << 5, 2 | 2 << 5, 3 | 1 << 2 | 3 << 5, 3 | 5 << 2 | 5 << 5, 0, 0, 0];

fn prefix(there: bool, bits: u32) -> (u32, u32, u32) {
    let which = if there { (bits | 8).trailing_zeros() + 1 } else { 0 };
    let packed = u32::from(PREFIXES.get(which as usize & 7).copied().unwrap_or_default());
    (packed & 3, packed >> 2 & 7, packed >> 5)
}

/// The exponents of a pair of quads above what is known of them, and the length of their codes (7.3.6): both prefixes
/// come first, then both suffixes. In the first row `more` adds 2 to both, and without it a long code leaves one bit to
/// the second quad.
#[inline(always)]
fn exponents<const FIRST: bool>(bits: u32, left: Quad, right: Quad, more: bool) -> ([u32; 2], u32) {
    let suffix = |bits: u32, len: u32| bits & ((1 << len) - 1);
    let (left_len, left_suffix, left_value) = prefix(left.offset(), bits);
    let mut rest = bits >> left_len;
    let (right_len, right_suffix, right_value) = match FIRST && !more && left_len > 2 && right.offset() {
        true => (1, 0, 1 + (rest & 1)),
        false => prefix(right.offset(), rest),
    };
    rest >>= right_len;
    let add = if more { 2 } else { 0 };
    let values = [
        left_value + suffix(rest, left_suffix) + add,
        right_value + suffix(rest >> left_suffix, right_suffix) + add,
    ];
    (values, left_len + right_len + left_suffix + right_suffix)
}
