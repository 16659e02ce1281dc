//! Encodes bilevel rows by T.4 and T.6: modified Huffman, Group 3 in one and two dimensions, Group 4.
//!
//! A row is held as its changing elements, as in the decoder: even indices are changes to black, which is the 1 bit
//! whatever the photometric tag says. Group 3 has an EOL before every row and no return to control, Group 4 ends with
//! EOFB, as in libtiff.

use super::super::workspace::out_of_memory;
use super::codes::{RUN_WORDS, Word};
use super::{EOFB, StoredBlock, T4_TWO_DIMENSIONAL};
use strile_engine::{BlockFault, BlockLayout, EncodeLayout};
use strile_tiff::{Compression, SampleFormat};

/// T4Options: rows and parts of rows may be uncompressed; T6Options has the same bit.
const UNCOMPRESSED_MODE: u32 = 2;
/// T4Options: zeros before an EOL make it end on a byte boundary.
const T4_FILL_BITS: u32 = 4;
/// One one-dimensional row is followed by at most three that refer to the row above: T.4's K for fine resolution.
const GROUP3_K: usize = 4;
const EOL: Word = Word { bits: 1, len: 12 };

/// Checks that there is one bit per pixel and that the options are supported.
pub(in crate::codec) fn prepare(layout: EncodeLayout) -> Result<EncodeLayout, String> {
    let block = &layout.block;
    let (codec, sample) = (block.compression.name(), block.sample);
    if block.samples != 1 || sample.bits != 1 || sample.format != SampleFormat::Uint {
        return Err(format!(
            "compression {codec} is for one sample of 1 bit, found {} of {sample}; set nbits 1, one band a block",
            block.samples
        ));
    }
    let options = block.extras.fax_options;
    let known = match block.compression {
        Compression::CcittGroup3 => T4_TWO_DIMENSIONAL | T4_FILL_BITS,
        _ => 0,
    };
    // The other compressions have no options; only uncompressed mode would change their bytes.
    let refused = match block.compression {
        Compression::CcittGroup3 => options & !known,
        _ => options & UNCOMPRESSED_MODE,
    };
    if refused != 0 {
        return Err(format!("expected {codec} options within {known:#x}, got {options:#x}"));
    }
    Ok(layout)
}

/// Returns the maximum number of bytes for `rows` rows: seven bits per pixel (a vertical code for a distance of three
/// pixels, or half of the runs 1 and 1 with their mode), plus a row's EOL, fill, empty runs and alignment.
pub(in crate::codec) fn bound(layout: &BlockLayout, rows: u32) -> u64 {
    let row = (u64::from(layout.width) * 7 + 64).div_ceil(8);
    row.saturating_mul(u64::from(rows)).saturating_add(8)
}

pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    block: StoredBlock<'_>,
) -> Result<(), BlockFault> {
    let layout = block.layout;
    let (width, row_len) = (layout.width, layout.width.div_ceil(8) as usize);
    if layout.samples != 1 || layout.sample.bits != 1 || row_len == 0 {
        return Err(BlockFault::wrong_shape("CCITT fax stores one sample of 1 bit per pixel"));
    }
    let most = usize::try_from(bound(layout, block.rows)).unwrap_or(usize::MAX);
    dst.try_reserve(src.len()).map_err(|_| out_of_memory(most, "an encoded block"))?;
    let mut out = Bits { dst, bits: 0, count: 0, aligned: 0 };
    out.aligned = out.dst.len();
    let options = layout.extras.fax_options;
    let (mut above, mut row) = (Vec::new(), Vec::new());
    for (y, bytes) in src.chunks_exact(row_len).enumerate() {
        changes(bytes, width, &mut row);
        match layout.compression {
            Compression::CcittRle => {
                one_dimensional(&mut out, width, &row);
                out.align(1);
            }
            Compression::CcittRleWord => {
                one_dimensional(&mut out, width, &row);
                out.align(2);
            }
            Compression::CcittGroup3 => {
                if options & T4_FILL_BITS != 0 {
                    out.fill_to_half_byte();
                }
                out.put(EOL);
                let two_dimensional = options & T4_TWO_DIMENSIONAL != 0;
                let alone = !two_dimensional || y % GROUP3_K == 0;
                if two_dimensional {
                    out.put(Word { bits: u16::from(alone), len: 1 });
                }
                if alone {
                    one_dimensional(&mut out, width, &row);
                } else {
                    told_by_above(&mut out, width, &row, &above);
                }
            }
            _ => told_by_above(&mut out, width, &row, &above),
        }
        std::mem::swap(&mut above, &mut row);
    }
    if layout.compression == Compression::CcittGroup4 {
        debug_assert_eq!(EOFB, 0x00_1001, "two EOLs");
        out.put(EOL);
        out.put(EOL);
    }
    out.align(1);
    Ok(())
}

/// Writes bits from the most significant one down to the end of `dst`.
struct Bits<'a> {
    dst: &'a mut Vec<u8>,
    /// Pending bits, `count` of them, at the low end.
    bits: u64,
    count: u32,
    /// Offset of the block's first byte.
    aligned: usize,
}

impl Bits<'_> {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are those to write")]
    fn put(&mut self, word: Word) {
        self.bits = self.bits << word.len | u64::from(word.bits);
        self.count += u32::from(word.len);
        if self.count >= 32 {
            self.count -= 32;
            self.dst.extend_from_slice(&((self.bits >> self.count) as u32).to_be_bytes());
        }
    }

    /// Pads with zeros to a multiple of `bytes` bytes.
    fn align(&mut self, bytes: usize) {
        while !self.count.is_multiple_of(8) {
            self.put(Word { bits: 0, len: 1 });
        }
        while self.count > 0 {
            self.count -= 8;
            self.dst.push((self.bits >> self.count).to_le_bytes()[0]);
        }
        while !(self.dst.len() - self.aligned).is_multiple_of(bytes) {
            self.dst.push(0);
        }
    }

    /// Pads with zeros to four bits into a byte, so that the twelve bits of an EOL end a byte.
    fn fill_to_half_byte(&mut self) {
        while self.count % 8 != 4 {
            self.put(Word { bits: 0, len: 1 });
        }
    }

    fn run(&mut self, black: bool, mut pixels: u32) {
        let words = &*RUN_WORDS;
        while pixels >= 2560 {
            self.put(words.make_up(black, 2560));
            pixels -= 2560;
        }
        if pixels >= 64 {
            self.put(words.make_up(black, pixels));
        }
        self.put(words.terminating(black, pixels % 64));
    }
}

/// Collects the changing elements of a packed row: pixels that differ from the one before, with white before the first.
fn changes(bytes: &[u8], width: u32, row: &mut Vec<u32>) {
    row.clear();
    let mut before = 0;
    for (number, eight) in (0_u32..).zip(bytes.chunks(8)) {
        let mut word = [0; 8];
        word.iter_mut().zip(eight).for_each(|(to, from)| *to = *from);
        let pixels = u64::from_be_bytes(word);
        let mut differing = pixels ^ (pixels >> 1 | before << 63);
        before = pixels & 1;
        while differing != 0 {
            let at = number * 64 + differing.leading_zeros();
            if at >= width {
                return;
            }
            row.push(at);
            differing &= !(1 << 63 >> differing.leading_zeros());
        }
    }
}

/// Writes white and black runs in turn, white first.
fn one_dimensional(out: &mut Bits<'_>, width: u32, row: &[u32]) {
    let (mut from, mut black) = (0, false);
    for &change in row.iter().chain([&width]) {
        out.run(black, change - from);
        (from, black) = (change, !black);
    }
}

/// Writes a row in two-dimensional coding: T.4 section 4.2, T.6 section 2.2.
fn told_by_above(out: &mut Bits<'_>, width: u32, row: &[u32], above: &[u32]) {
    // a0 starts before the row, which counts as its first pixel in a run.
    let (mut a0, mut started, mut black) = (0, false, false);
    // The next change of the row, and the first change above that is right of a0.
    let (mut next, mut seek) = (0, 0);
    while !started || a0 < width {
        let a1 = row.get(next).copied().unwrap_or(width);
        while started && above.get(seek).is_some_and(|&change| change <= a0) {
            seek += 1;
        }
        let b1_at = if (seek % 2 == 1) == black { seek } else { seek + 1 };
        let b1 = above.get(b1_at).copied().unwrap_or(width);
        let b2 = above.get(b1_at + 1).copied().unwrap_or(width);
        if b2 < a1 {
            out.put(Word { bits: 0b0001, len: 4 });
            (a0, started) = (b2, true);
            continue;
        }
        let vertical = match i64::from(a1) - i64::from(b1) {
            0 => Word { bits: 0b1, len: 1 },
            1 => Word { bits: 0b011, len: 3 },
            -1 => Word { bits: 0b010, len: 3 },
            2 => Word { bits: 0b00_0011, len: 6 },
            -2 => Word { bits: 0b00_0010, len: 6 },
            3 => Word { bits: 0b000_0011, len: 7 },
            -3 => Word { bits: 0b000_0010, len: 7 },
            _ => {
                let a2 = row.get(next + 1).copied().unwrap_or(width);
                out.put(Word { bits: 0b001, len: 3 });
                out.run(black, a1 - a0);
                out.run(!black, a2 - a1);
                (a0, started) = (a2, true);
                next += 2;
                continue;
            }
        };
        out.put(vertical);
        (a0, started, black) = (a1, true, !black);
        next += 1;
    }
}
