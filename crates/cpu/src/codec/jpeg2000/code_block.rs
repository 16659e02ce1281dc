//! Encoding of a code-block's bit planes to a codeword segment: the three passes of ISO 15444-1, annex D.
//!
//! Every coefficient has a word of flags: which of its eight neighbours are significant and which of the four nearest
//! are negative. Flags are updated whenever a coefficient becomes significant, and contexts are looked up by them. The
//! flags have a border of one coefficient, so that neighbours always exist.

use super::arithmetic::Encoder;
use super::contexts::{
    AROUND, E, E_NEGATIVE, N, N_NEGATIVE, NE, NW, RUN, S, S_NEGATIVE, SE, SW, UNIFORM, W, W_NEGATIVE,
    sign_context, zero_context,
};
use strile_codestream::jpeg2000::Band;

/// An encoded block.
pub(super) struct Coded {
    /// Number of bit planes from the first nonzero one; 0 if all coefficients are 0.
    pub(super) planes: u32,
    /// Codeword segment of all passes.
    pub(super) bytes: Vec<u8>,
}

impl Coded {
    /// Returns the number of passes. The first plane has only a cleanup pass.
    pub(super) fn passes(&self) -> u32 {
        (3 * self.planes).saturating_sub(2)
    }
}

const SIGNIFICANT: u16 = 1 << 12;
const REFINED: u16 = 1 << 13;
/// Already coded in this plane.
const VISITED: u16 = 1 << 14;

static ZERO_CONTEXTS: [[u8; 256]; 4] =
    [zero_contexts(Band::Ll), zero_contexts(Band::Hl), zero_contexts(Band::Lh), zero_contexts(Band::Hh)];

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
const fn zero_contexts(band: Band) -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0_u16;
    while at < 256 {
        table[at as usize] = zero_context(at, band);
        at += 1;
    }
    table
}

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
static SIGN_CONTEXTS: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0_u16;
    while at < 256 {
        table[at as usize] = sign_context(at << 4);
        at += 1;
    }
    table
};

/// Encodes coefficients in rows of `width`.
pub(super) fn encode(coefficients: &[i32], width: usize, band: Band) -> Coded {
    let largest = coefficients.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0);
    let planes = 32 - largest.leading_zeros();
    if planes == 0 || width == 0 {
        return Coded { planes: 0, bytes: Vec::new() };
    }
    let height = coefficients.len() / width;
    let stride = width + 2;
    let mut block = Block {
        magnitudes: coefficients.iter().map(|value| value.unsigned_abs()).collect(),
        negative: coefficients.iter().map(|value| *value < 0).collect(),
        flags: vec![0; stride * (height + 2)],
        width,
        height,
        stride,
        zero_contexts: match band {
            Band::Ll => &ZERO_CONTEXTS[0],
            Band::Hl => &ZERO_CONTEXTS[1],
            Band::Lh => &ZERO_CONTEXTS[2],
            Band::Hh => &ZERO_CONTEXTS[3],
        },
        coder: Encoder::new(),
    };
    for plane in (0..planes).rev() {
        if plane + 1 < planes {
            block.propagate(plane);
            block.refine(plane);
        }
        block.clean_up(plane);
    }
    Coded { planes, bytes: block.coder.finish() }
}

struct Block {
    magnitudes: Vec<u32>,
    negative: Vec<bool>,
    flags: Vec<u16>,
    width: usize,
    height: usize,
    stride: usize,
    zero_contexts: &'static [u8; 256],
    coder: Encoder,
}

#[expect(clippy::indexing_slicing, reason = "places of the block; its flags have a border of one")]
impl Block {
    /// Iterates over stripes of four rows, column by column: returns the first and the end row, and the column.
    fn columns(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let (width, height) = (self.width, self.height);
        (0..height).step_by(4).flat_map(move |top| (0..width).map(move |x| (top, (top + 4).min(height), x)))
    }

    fn bit(&self, x: usize, y: usize, plane: u32) -> bool {
        self.magnitudes[y * self.width + x] >> plane & 1 == 1
    }

    /// Codes whether an insignificant coefficient becomes significant, and then its sign.
    #[inline]
    fn code_zero(&mut self, x: usize, y: usize, plane: u32) {
        let at = (y + 1) * self.stride + x + 1;
        let bit = self.bit(x, y, plane);
        let context = self.zero_contexts[usize::from(self.flags[at] & AROUND)];
        self.coder.code(context, bit);
        if bit {
            self.become_significant(x, y);
        }
    }

    fn become_significant(&mut self, x: usize, y: usize) {
        let at = (y + 1) * self.stride + x + 1;
        let negative = self.negative[y * self.width + x];
        let context = SIGN_CONTEXTS[usize::from(self.flags[at] >> 4 & 0xFF)];
        self.coder.code(context & 0x7F, negative != (context & 0x80 != 0));
        let signed = |place: u16, is_negative: u16| if negative { place | is_negative } else { place };
        let (above, below) = (at - self.stride, at + self.stride);
        self.flags[above - 1] |= SE;
        self.flags[above] |= signed(S, S_NEGATIVE);
        self.flags[above + 1] |= SW;
        self.flags[at - 1] |= signed(E, E_NEGATIVE);
        self.flags[at] |= SIGNIFICANT;
        self.flags[at + 1] |= signed(W, W_NEGATIVE);
        self.flags[below - 1] |= NE;
        self.flags[below] |= signed(N, N_NEGATIVE);
        self.flags[below + 1] |= NW;
    }

    /// Significance propagation pass (D.3.1): coefficients with a significant neighbour.
    fn propagate(&mut self, plane: u32) {
        for (top, end, x) in self.columns() {
            for y in top..end {
                let at = (y + 1) * self.stride + x + 1;
                let flags = self.flags[at];
                if flags & AROUND != 0 && flags & SIGNIFICANT == 0 {
                    self.code_zero(x, y, plane);
                    self.flags[at] |= VISITED;
                }
            }
        }
    }

    /// Magnitude refinement pass (D.3.3): the next bit of coefficients significant since an earlier plane.
    fn refine(&mut self, plane: u32) {
        for (top, end, x) in self.columns() {
            for y in top..end {
                let at = (y + 1) * self.stride + x + 1;
                let flags = self.flags[at];
                if flags & (SIGNIFICANT | VISITED) == SIGNIFICANT {
                    let context = match (flags & REFINED != 0, flags & AROUND != 0) {
                        (true, _) => 16,
                        (false, true) => 15,
                        (false, false) => 14,
                    };
                    let bit = self.bit(x, y, plane);
                    self.coder.code(context, bit);
                    self.flags[at] |= REFINED;
                }
            }
        }
    }

    /// Cleanup pass (D.3.4): the remaining coefficients; four without significant neighbours begin with the length of
    /// their run of zeros.
    fn clean_up(&mut self, plane: u32) {
        for (top, end, x) in self.columns() {
            let mut y = top;
            let quiet =
                |y: usize| self.flags[(y + 1) * self.stride + x + 1] & (AROUND | SIGNIFICANT | VISITED) == 0;
            if end - top == 4 && (top..end).all(quiet) {
                let run = (top..end).position(|y| self.bit(x, y, plane));
                self.coder.code(RUN, run.is_some());
                let Some(run) = run else { continue };
                self.coder.code(UNIFORM, run & 2 != 0);
                self.coder.code(UNIFORM, run & 1 != 0);
                self.become_significant(x, top + run);
                y = top + run + 1;
            }
            while y < end {
                let at = (y + 1) * self.stride + x + 1;
                if self.flags[at] & (SIGNIFICANT | VISITED) == 0 {
                    self.code_zero(x, y, plane);
                }
                y += 1;
            }
            for y in top..end {
                self.flags[(y + 1) * self.stride + x + 1] &= !VISITED;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codestream of ISO 15444-1, J.10: one column of coefficients in LL, one in LH. Its last bytes may differ if
    /// they decode to the same bits.
    #[test]
    fn codes_the_blocks_of_the_standards_example() {
        let coded = encode(&[-26, -22, -30, -32, -19], 1, Band::Ll);
        assert_eq!((coded.planes, coded.passes()), (6, 16));
        assert_eq!(coded.bytes[..5], [0x01, 0x8F, 0x0D, 0xC8, 0x75]);
        let coded = encode(&[1, 5, 1, 0], 1, Band::Lh);
        assert_eq!((coded.planes, coded.passes()), (3, 7));
        assert_eq!(coded.bytes[..2], [0x0F, 0xB1]);
    }

    #[test]
    fn nothing_needs_no_bytes() {
        let coded = encode(&[0; 12], 4, Band::Hh);
        assert_eq!((coded.planes, coded.passes(), coded.bytes.len()), (0, 0, 0));
    }
}
