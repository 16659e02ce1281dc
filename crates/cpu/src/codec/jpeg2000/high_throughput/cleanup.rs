//! The cleanup pass (ISO 15444-15, 7.3): quads of two by two coefficients, row by row, two quads at a time. One code
//! gives the significant coefficients, another the largest exponent; then each significant coefficient has that many
//! bits.
//!
//! A row of quads is decoded in three steps: first all its codes, then the number of bits of its coefficients, which
//! depends on the row above, then the coefficients. Significance is practically random, so computations that depend on
//! it avoid branches.

use super::bits::{Packed, Reader, Runs};
use super::codes::{Exponents, FIRST_ROW, OTHER_ROWS};
use super::{Space, corrupt, wide};
use strile_engine::BlockFault;

/// Maximum bytes of run lengths and codes together.
const MOST_SUFFIX: usize = 4079;
/// Quads across in the widest code-block.
pub(super) const MOST_QUADS: usize = 512;
/// Coefficients across in two quads.
pub(super) const PAIR: usize = 4;
/// Maximum bytes of a coefficient: 31 bits and stuffed bits.
const MOST_BYTES: usize = 5;

/// Decoded state of a quad: its code as in `FIRST_ROW`, and from bit 16 on the number of bits of its coefficients.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(super) struct Quad(pub(super) u32);

impl Quad {
    fn bound(self) -> u32 {
        self.0 >> 16
    }
}

/// Read position of the magnitudes.
pub(super) struct Magnitudes<'a> {
    pub(super) bits: &'a Packed,
    /// Index of the next bit.
    pub(super) at: usize,
    pub(super) planes: u8,
}

/// Quads of a row, with a zero quad on either side.
pub(super) type Quads = [Quad; MOST_QUADS + 2];
/// Partial contexts of quads from the row above, shifted to their place in a table index.
pub(super) type Contexts = [u32; MOST_QUADS];
/// Exponents of the row of coefficients above, after a zero.
pub(super) type Above = [u8; 2 * MOST_QUADS + 5];

/// Read position of the codes of quads, and data of the row above.
struct Codes<'a> {
    bits: Reader<'a>,
    runs: Runs<'a>,
    contexts: Contexts,
    /// Contribution of the previous quad to the next context.
    west: u32,
    /// OR of all quads of the row.
    any: u32,
}

/// Positions of a pass in its streams.
struct Pass<'a> {
    codes: Codes<'a>,
    magnitudes: Magnitudes<'a>,
    exponents: Above,
    /// Largest exponent that the bit planes allow.
    most: u32,
}

/// Decodes the pass.
#[inline(always)]
pub(super) fn decode(
    space: &mut Space,
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
    let useful = magnitudes.get(..MOST_BYTES * out.len() + 1).unwrap_or(magnitudes);
    space.forward.forward(useful, true);
    space.backward.codes(codes, half);
    let mut pass = Pass {
        codes: Codes {
            bits: space.backward.reader(),
            runs: Runs::new(runs),
            contexts: [0; MOST_QUADS],
            west: 0,
            any: 0,
        },
        magnitudes: Magnitudes { bits: &space.forward, at: 0, planes },
        exponents: [0; 2 * MOST_QUADS + 5],
        most: u32::from(zero_planes) + 2,
    };
    let (mut one, mut other) = ([Quad::default(); MOST_QUADS + 2], [Quad::default(); MOST_QUADS + 2]);
    let (mut quads, mut next) = (&mut one, &mut other);
    let count = width.div_ceil(2);
    pass.codes.first_row(quads, count);
    let rows = out.len() / width;
    for (index, pair) in out.chunks_mut(2 * width).enumerate() {
        let (upper, lower) = pair.split_at_mut(width);
        let most = pass.prepare(quads, width, !lower.is_empty())?;
        let more = 2 * index + 2 < rows;
        pass.row(quads, most, (upper, lower), more.then_some(&mut *next));
        std::mem::swap(&mut quads, &mut next);
    }
    Ok(())
}

impl Pass<'_> {
    /// Checks the codes of a row and derives from them the data for its coefficients and for the codes of the next row.
    /// Returns the maximum number of bits of a coefficient.
    #[inline(always)]
    fn prepare(&mut self, quads: &mut Quads, width: usize, tall: bool) -> Result<u32, BlockFault> {
        let count = width.div_ceil(2);
        let last = quads.get(count).copied().unwrap_or_default();
        if !tall && self.codes.any & 0xA0 != 0 || width % 2 == 1 && last.0 & 0xC0 != 0 {
            return Err(corrupt("significance outside of a code-block"));
        }
        self.codes.set_contexts(quads, count);
        let most = set_bounds(quads, count, &self.exponents);
        if most > self.most {
            return Err(corrupt("an exponent is larger than the bit planes allow"));
        }
        Ok(most)
    }

    /// Reads the coefficients of a row of quads, interleaved with the codes of the next row: their latencies overlap.
    #[inline(always)]
    fn row(
        &mut self,
        quads: &Quads,
        most: u32,
        (upper, lower): (&mut [i32], &mut [i32]),
        next: Option<&mut Quads>,
    ) {
        let count = upper.len().div_ceil(2);
        let quads = quads.get(1..).and_then(|quads| quads.get(..count.next_multiple_of(2)));
        let quads = quads.unwrap_or_default().as_chunks::<2>().0;
        let exponents = self.exponents.get_mut(1..).unwrap_or_default().as_chunks_mut::<PAIR>().0;
        let Some(next) = next else {
            if !wide::row(&mut self.magnitudes, quads, most, (&mut *upper, &mut *lower), exponents, &mut ()) {
                self.magnitudes.row(quads, (upper, lower), exponents);
            }
            return;
        };
        self.codes.begin_row();
        let mut beside = NextRow { codes: &mut self.codes, quads: &mut *next, pairs: count / 2 };
        let rows = (&mut *upper, &mut *lower);
        if !wide::row(&mut self.magnitudes, quads, most, rows, exponents, &mut beside) {
            (0..count / 2).for_each(|index| beside.pair(index));
            self.magnitudes.row(quads, (upper, lower), exponents);
        }
        self.codes.last(next, count);
    }
}

/// Work that is interleaved with the coefficients of a row.
pub(super) trait Beside {
    /// Called once per pair of quads, in order.
    fn pair(&mut self, index: usize);
}

impl Beside for () {
    #[inline(always)]
    fn pair(&mut self, _: usize) {}
}

/// Reads the codes of the next row, except those of an unpaired quad.
struct NextRow<'a, 'b> {
    codes: &'a mut Codes<'b>,
    quads: &'a mut Quads,
    pairs: usize,
}

impl Beside for NextRow<'_, '_> {
    #[inline(always)]
    fn pair(&mut self, index: usize) {
        if index < self.pairs {
            self.codes.pair::<false>(self.quads, index);
        }
    }
}

impl Codes<'_> {
    #[inline(always)]
    fn begin_row(&mut self) {
        (self.west, self.any) = (0, 0);
    }

    /// Reads the codes of the first row of `count` quads.
    #[inline(always)]
    fn first_row(&mut self, quads: &mut Quads, count: usize) {
        for index in 0..count / 2 {
            self.pair::<true>(quads, index);
        }
        if count % 2 == 1 {
            self.single::<true>(quads, count - 1);
        }
    }

    /// Reads the code of an unpaired last quad of a row other than the first.
    #[inline(always)]
    fn last(&mut self, quads: &mut Quads, count: usize) {
        if count % 2 == 1 {
            self.single::<false>(quads, count - 1);
        }
    }

    /// Reads the codes of a pair of quads.
    #[inline(always)]
    fn pair<const FIRST: bool>(&mut self, quads: &mut Quads, index: usize) {
        let pairs = quads.get_mut(1..).unwrap_or_default().as_chunks_mut::<2>().0;
        let contexts = self.contexts.as_chunks::<2>().0;
        let (Some(pair), Some(contexts)) = (pairs.get_mut(index), contexts.get(index)) else { return };
        let bits = self.bits.peek();
        let left = code::<FIRST>(&mut self.runs, contexts[0] | self.west, bits);
        let after = bits >> (left & 7);
        let right = code::<FIRST>(&mut self.runs, contexts[1] | left >> 16, after);
        self.west = right >> 16;
        let after = after >> (right & 7);
        let mut mode = left >> 3 & 1 | right >> 2 & 2;
        if FIRST && mode == 3 {
            mode = if self.runs.event() { 5 } else { 4 };
        }
        let told = Exponents::at(mode, after);
        self.bits.skip((left & 7) + (right & 7) + told.len());
        let [of_left, of_right] = told.values(after);
        *pair = [Quad(left & 0xFFFF | of_left << 16), Quad(right & 0xFFFF | of_right << 16)];
        self.any |= left | right;
    }

    /// Reads the code of an unpaired quad at the end of a row.
    #[inline(always)]
    fn single<const FIRST: bool>(&mut self, quads: &mut Quads, index: usize) {
        let (Some([last, outside]), Some(context)) =
            (quads.get_mut(index + 1..).and_then(|rest| rest.first_chunk_mut()), self.contexts.get(index))
        else {
            return;
        };
        let bits = self.bits.peek();
        let left = code::<FIRST>(&mut self.runs, context | self.west, bits);
        let after = bits >> (left & 7);
        let told = Exponents::at(left >> 3 & 1, after);
        self.bits.skip((left & 7) + told.len());
        *last = Quad(left & 0xFFFF | told.values(after)[0] << 16);
        *outside = Quad::default();
        self.any |= left;
    }

    /// Stores the contributions of a row of quads to the contexts of the next row.
    #[inline(always)]
    fn set_contexts(&mut self, quads: &Quads, count: usize) {
        let done = wide::contexts(quads, count, &mut self.contexts);
        for index in done..count {
            let around = quads.get(index..).and_then(|rest| rest.first_chunk());
            if let (Some(context), Some(around)) = (self.contexts.get_mut(index), around) {
                *context = context_below(around);
            }
        }
    }
}

/// Returns the contribution of three quads to the context of the quad below the second one.
#[inline(always)]
pub(super) fn context_below([west, own, east]: &[Quad; 3]) -> u32 {
    let left = (west.0 >> 7 | own.0 >> 5) & 1;
    let right = (own.0 >> 7 | east.0 >> 5) & 1;
    left << 7 | right << 9
}

/// Replaces the coded exponents of a row of quads by the number of bits of their coefficients; if several are
/// significant, the row above contributes too. Returns the maximum.
#[inline(always)]
fn set_bounds(quads: &mut Quads, count: usize, exponents: &Above) -> u32 {
    let (done, mut most) = wide::bounds(quads, count, exponents);
    for index in done..count {
        let above = exponents.get(2 * index..).and_then(|rest| rest.first_chunk());
        if let (Some(quad), Some(above)) = (quads.get_mut(index + 1), above) {
            quad.0 += bound_below(*quad, above) << 16;
            most = most.max(quad.bound());
        }
    }
    most
}

/// Returns the predictor κ of a quad's exponent bound, from the exponents of the row above.
#[inline(always)]
pub(super) fn bound_below(quad: Quad, [a, b, c, d]: &[u8; 4]) -> u32 {
    let known = u32::from(*a.max(b).max(c.max(d))).saturating_sub(1).max(1);
    let significance = quad.0 & 0xF0;
    let several = significance & significance.wrapping_sub(0x10) != 0;
    if several { known } else { 1 }
}

/// Reads the code of a quad; a quad with context 0 has a code only at the end of a run.
#[inline(always)]
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "masked to the tables' length")]
fn code<const FIRST: bool>(runs: &mut Runs<'_>, context: u32, bits: u64) -> u32 {
    let table = if FIRST { &FIRST_ROW } else { &OTHER_ROWS };
    let code = table[(u64::from(context) & 0x380 | bits & 127) as usize];
    if context == 0 && !runs.event() { 0 } else { code }
}

impl Magnitudes<'_> {
    /// Reads the coefficients of a row of quads, and the exponents of its lower row.
    pub(super) fn row(
        &mut self,
        quads: &[[Quad; 2]],
        (upper, lower): (&mut [i32], &mut [i32]),
        exponents: &mut [[u8; PAIR]],
    ) {
        let mut lower = lower.chunks_mut(PAIR);
        for (([left, right], upper), exponents) in quads.iter().zip(upper.chunks_mut(PAIR)).zip(exponents) {
            let [a, b, c, d] = self.samples(*left);
            let [e, f, g, h] = self.samples(*right);
            copy(upper, [a, c, e, g].map(|sample| sample.value));
            copy(lower.next().unwrap_or_default(), [b, d, f, h].map(|sample| sample.value));
            *exponents = [b, d, f, h].map(|sample| sample.exponent);
        }
    }

    /// Reads the coefficients of a quad, column by column.
    #[inline(always)]
    fn samples(&mut self, quad: Quad) -> [Sample; 4] {
        let mut made = [Sample::default(); 4];
        for (index, sample) in (0_u32..).zip(&mut made) {
            // Ones follow the end, more of them than a coefficient has bits.
            self.at = self.at.min(self.bits.len());
            #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
            let bits = self.bits.from(self.at) as u32;
            let significant = quad.0 >> (4 + index) & 1;
            let len = (quad.bound() & significant.wrapping_neg()) - (quad.0 >> (12 + index) & 1);
            let told = bits & ((1 << len) - 1) | (quad.0 >> (8 + index) & 1) << len | significant;
            let magnitude = (told + 2 * significant) << (self.planes - 1);
            *sample =
                Sample { value: half_units(magnitude, bits & significant != 0), exponent: exponent(told) };
            self.at += len as usize;
        }
        made
    }
}

#[derive(Clone, Copy, Default)]
struct Sample {
    value: i32,
    exponent: u8,
}

/// Returns the number of bits of a number.
#[expect(clippy::cast_possible_truncation, reason = "32 at most")]
fn exponent(told: u32) -> u8 {
    (u32::BITS - told.leading_zeros()) as u8
}

/// Writes a row of a pair, clipped to the code-block.
#[inline(always)]
pub(super) fn copy(to: &mut [i32], values: [i32; PAIR]) {
    match <&mut [i32; PAIR]>::try_from(&mut *to) {
        Ok(to) => *to = values,
        Err(_) => to.iter_mut().zip(values).for_each(|(to, value)| *to = value),
    }
}

/// Returns a magnitude with its sign; magnitudes that do not fit are invalid in any case.
#[inline(always)]
pub(super) fn half_units(magnitude: u32, negative: bool) -> i32 {
    let magnitude = (magnitude & 0x7FFF_FFFF).cast_signed();
    if negative { -magnitude } else { magnitude }
}
