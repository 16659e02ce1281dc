//! The cleanup pass (ISO 15444-15, 7.3): quads of two by two coefficients, row by row, two at a time. A code
//! tells which are significant, another the largest exponent; then each significant one has that many bits.

use super::bits::{Backward, Forward, Runs};
use super::corrupt;
use strile_codestream::jpeg2000::high_throughput::{ENTRIES, FIRST_ROW, OTHER_ROWS};
use strile_engine::BlockFault;

/// Most bytes that runs and codes can have together.
const MOST_SUFFIX: usize = 4079;
/// Quads across in the widest code-block, and one beside them.
const STATES: usize = 513;

/// What the code of a quad says.
#[derive(Clone, Copy, Default)]
struct Quad(u16);

impl Quad {
    fn code_len(self) -> u32 {
        u32::from(self.0 & 7)
    }

    /// Whether an exponent is told.
    fn offset(self) -> bool {
        self.0 & 8 != 0
    }

    fn significance(self) -> u16 {
        self.0 >> 4 & 15
    }

    fn is_significant(self, sample: u32) -> bool {
        self.0 >> (4 + sample) & 1 != 0
    }

    /// Two or more are significant.
    fn several(self) -> bool {
        let significance = self.significance();
        significance & significance.wrapping_sub(1) != 0
    }

    /// The context of the next quad to the right in the first row.
    fn first_row_context(self) -> usize {
        usize::from(self.0 >> 4 & 1 | self.0 >> 5 & 7)
    }

    /// Whether one of the right two is significant, in the place that contexts have for it.
    fn west_context(self) -> usize {
        usize::from(self.0 >> 6 & 3 != 0) << 1
    }
}

struct Streams<'a> {
    magnitudes: Forward<'a>,
    codes: Backward<'a>,
    runs: Runs<'a>,
}

/// Decodes the pass into coefficients that are all 0.
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
    let mut streams = Streams {
        magnitudes: Forward::new(magnitudes, 0xFF),
        codes: Backward::codes(codes, half),
        runs: Runs::new(runs),
    };
    // The largest exponent of the coefficients above: that at the column before a quad and that at its first.
    let mut above = [0_u8; STATES];
    let most = u32::from(zero_planes) + 2;
    for (index, rows) in out.chunks_mut(2 * width).enumerate() {
        let mut below = [0_u8; STATES];
        let (upper, lower) = rows.split_at_mut(width);
        row(&mut streams, index == 0, &above, &mut below, (upper, lower), planes, most)?;
        above = below;
    }
    Ok(())
}

/// Decodes a row of quads; `lower` is empty where the code-block ends within it.
fn row(
    streams: &mut Streams<'_>,
    first: bool,
    above: &[u8; STATES],
    below: &mut [u8; STATES],
    (upper, lower): (&mut [i32], &mut [i32]),
    planes: u8,
    most: u32,
) -> Result<(), BlockFault> {
    let quads = upper.len().div_ceil(2);
    let state = |quad: usize| above.get(quad).copied().unwrap_or_default();
    let table = if first { &FIRST_ROW } else { &OTHER_ROWS };
    let mut west = 0;
    for left in (0..quads).step_by(2) {
        let mut bits = streams.codes.peek();
        let mut pair = [Quad::default(); 2];
        for (quad, index) in pair.iter_mut().zip(left..quads) {
            let context = match first {
                true => west,
                false => usize::from(state(index) != 0) | west | usize::from(state(index + 1) != 0) << 2,
            };
            if context != 0 || streams.runs.event() {
                *quad = code(table, context, bits);
            }
            west = if first { quad.first_row_context() } else { quad.west_context() };
            bits >>= quad.code_len();
            streams.codes.skip(quad.code_len());
        }
        let more = first && pair[0].offset() && pair[1].offset() && streams.runs.event();
        let (exponents, len) = exponents(bits, pair, first, more);
        streams.codes.skip(len);
        for ((quad, exponent), index) in pair.into_iter().zip(exponents).zip(left..quads) {
            // In the first row nothing lies above.
            let known = u32::from(state(index).max(state(index + 1))).saturating_sub(1).max(1);
            let bound = exponent + if quad.several() { known } else { 1 };
            if bound > most {
                return Err(corrupt("an exponent is larger than the bit planes allow"));
            }
            samples(streams, quad, bound, index, (upper, lower), planes, below)?;
        }
    }
    Ok(())
}

fn code(table: &[u16; ENTRIES], context: usize, bits: u32) -> Quad {
    Quad(table.get(context << 7 | bits as usize & 127).copied().unwrap_or_default())
}

/// Reads the significant coefficients of a quad, column by column.
#[inline]
fn samples(
    streams: &mut Streams<'_>,
    quad: Quad,
    bound: u32,
    index: usize,
    (upper, lower): (&mut [i32], &mut [i32]),
    planes: u8,
    below: &mut [u8; STATES],
) -> Result<(), BlockFault> {
    if quad.significance() == 0 {
        return Ok(());
    }
    for sample in (0..4).filter(|&sample| quad.is_significant(sample)) {
        let bits = streams.magnitudes.peek();
        let len = bound - u32::from(quad.0 >> (12 + sample) & 1);
        streams.magnitudes.skip(len);
        let told = bits & ((1 << len) - 1) | u32::from(quad.0 >> (8 + sample) & 1) << len | 1;
        let column = 2 * index + (sample as usize >> 1);
        let row = if sample & 1 == 0 { &mut *upper } else { &mut *lower };
        let place = row.get_mut(column).ok_or_else(|| corrupt("significance outside of a code-block"))?;
        *place = half_units((told + 2) << (planes - 1), bits & 1 != 0);
        if sample & 1 != 0
            && let Some(state) = below.get_mut(index + (sample as usize >> 1))
        {
            *state = (*state).max(u8::try_from(u32::BITS - told.leading_zeros()).unwrap_or_default());
        }
    }
    Ok(())
}

/// A magnitude with its sign; what does not fit is of no use anyway.
pub(super) fn half_units(magnitude: u32, negative: bool) -> i32 {
    let magnitude = i32::try_from(magnitude & 0x7FFF_FFFF).unwrap_or_default();
    if negative { -magnitude } else { magnitude }
}

/// A prefix: its bits, the bits of its suffix, and its value.
fn prefix(bits: u32) -> (u32, u32, u32) {
    match bits & 7 {
        0 => (3, 5, 5),
        4 => (3, 1, 3),
        2 | 6 => (2, 0, 2),
        _ => (1, 0, 1),
    }
}

/// The exponents of a pair of quads above what is known of them, and the length of their codes (7.3.6): both
/// prefixes come first, then both suffixes.
fn exponents(bits: u32, pair: [Quad; 2], first: bool, more: bool) -> ([u32; 2], u32) {
    let suffix = |bits: u32, len: u32| bits & ((1 << len) - 1);
    let (mut values, mut len) = ([0, 0], 0);
    match pair.map(Quad::offset) {
        [false, false] => {}
        [true, true] => {
            let (prefix_len, suffix_len, value) = prefix(bits);
            len = prefix_len;
            // In the first row a long code leaves one bit to the second quad.
            let short = first && !more && prefix_len > 2;
            let (second_len, second_suffix, second) = match short {
                true => (1, 0, 1 + (bits >> len & 1)),
                false => prefix(bits >> len),
            };
            len += second_len;
            values[0] = value + suffix(bits >> len, suffix_len);
            len += suffix_len;
            values[1] = second + suffix(bits >> len, second_suffix);
            len += second_suffix;
            if more {
                values = values.map(|value| value + 2);
            }
        }
        [left, _] => {
            let (prefix_len, suffix_len, value) = prefix(bits);
            let value = value + suffix(bits >> prefix_len, suffix_len);
            len = prefix_len + suffix_len;
            values = if left { [value, 0] } else { [0, value] };
        }
    }
    (values, len)
}
