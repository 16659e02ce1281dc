//! Bilevel rows by ITU-T T.4 and T.6: modified Huffman, Group 3 in one and two dimensions, Group 4.
//!
//! Decoded rows are packed, with 1 bits for black whatever the photometric tag says (like in every TIFF reader). A row
//! is held as its changing elements. Each row must be complete or the block is faulty; there is no resynchronisation
//! after damage. End-of-line codes of Group 3 before a one-dimensional row are optional, with any fill before them.
//! FillOrder 2 is undone before this module sees the bits.

mod codes;
pub(super) mod encode;

use super::StoredBlock;
use crate::stop::{Looks, Stop};
use codes::{LOOKUP_BITS, RUN_CODES};
use strile_engine::BlockFault;
use strile_tiff::Compression;

/// T4Options: rows may be two-dimensional.
const T4_TWO_DIMENSIONAL: u32 = 1;
/// T.6 end of facsimile block: two EOLs.
const EOFB: u32 = 0x00_1001;

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    stop: &Stop,
) -> Result<(), BlockFault> {
    let layout = block.layout;
    let row_len = dst.len() / (block.rows.max(1) as usize);
    let width = layout.width;
    if layout.samples != 1 || layout.sample.bits != 1 || row_len < width.div_ceil(8) as usize {
        return Err(BlockFault::wrong_shape(format!(
            "CCITT fax stores one sample of 1 bit per pixel, the layout has {} of {} bits",
            layout.samples, layout.sample.bits
        )));
    }
    if row_len == 0 {
        return Ok(());
    }
    let expected = dst.len();
    let mut bits = Bits { src, at: 0 };
    let mut reference = Vec::new();
    let mut row = Vec::new();
    let mut looks = Looks::new(stop);
    for (done, out) in dst.chunks_exact_mut(row_len).enumerate() {
        // A pixel takes about as long as a byte does in other codecs.
        looks.after(done.saturating_mul(layout.width as usize))?;
        row.clear();
        let dimension = match layout.compression {
            Compression::CcittRle => bits.align(8).map(|()| Dimension::One),
            Compression::CcittRleWord => bits.align(16).map(|()| Dimension::One),
            Compression::CcittGroup3 => start_of_group3_row(&mut bits, layout.extras.fax_options),
            _ => {
                if bits.peek(24) == EOFB {
                    Err(RowFault::Ended)
                } else {
                    Ok(Dimension::Two)
                }
            }
        };
        dimension
            .and_then(|dimension| match dimension {
                Dimension::One => one_dimensional_row(&mut bits, width, &mut row),
                Dimension::Two => two_dimensional_row(&mut bits, width, &reference, &mut row),
            })
            .map_err(|fault| match fault {
                RowFault::Truncated => BlockFault::truncated(done * row_len, expected),
                RowFault::Ended => BlockFault::short(done * row_len, expected),
                RowFault::Corrupt(what) => BlockFault::corrupt(format!("row {done}: {what}")),
                RowFault::Unsupported => BlockFault::unsupported("uncompressed mode of T.4 and T.6"),
            })?;
        paint(out, &row, width);
        std::mem::swap(&mut reference, &mut row);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Dimension {
    One,
    Two,
}

enum RowFault {
    Truncated,
    Ended,
    Corrupt(&'static str),
    Unsupported,
}

/// Bits from the most significant one down. Reads past the end return zeros; taking them is a fault.
struct Bits<'a> {
    src: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    /// Returns the next `count` bits, at most 24.
    fn peek(&self, count: u32) -> u32 {
        let bytes = self.src.get(self.at / 8..).unwrap_or_default();
        let word = match bytes.first_chunk::<4>() {
            Some(four) => u32::from_be_bytes(*four),
            None => {
                bytes.iter().zip([24, 16, 8]).fold(0, |word, (&byte, shift)| word | u32::from(byte) << shift)
            }
        };
        (word << (self.at % 8)) >> (32 - count)
    }

    fn skip(&mut self, count: u32) -> Result<(), RowFault> {
        self.at += count as usize;
        if self.at > self.src.len() * 8 { Err(RowFault::Truncated) } else { Ok(()) }
    }

    fn align(&mut self, unit: usize) -> Result<(), RowFault> {
        self.at = self.at.next_multiple_of(unit);
        if self.at >= self.src.len() * 8 { Err(RowFault::Truncated) } else { Ok(()) }
    }

    /// Skips zeros and the 1 after them.
    fn skip_through_one(&mut self) -> Result<(), RowFault> {
        loop {
            let zeros = (self.peek(24) << 8).leading_zeros().min(24);
            self.skip(zeros)?;
            if zeros < 24 {
                return self.skip(1);
            }
        }
    }
}

/// Takes the end-of-line code before a row, and its tag bit, if present.
fn start_of_group3_row(bits: &mut Bits<'_>, options: u32) -> Result<Dimension, RowFault> {
    let two_dimensional = options & T4_TWO_DIMENSIONAL != 0;
    if bits.at >= bits.src.len() * 8 {
        return Err(RowFault::Truncated);
    }
    // No code has more than seven zeros before its first 1, so this is EOL or fill before it.
    if bits.peek(11) != 0 {
        return if two_dimensional {
            Err(RowFault::Corrupt("no end-of-line code before it"))
        } else {
            Ok(Dimension::One)
        };
    }
    bits.skip_through_one()?;
    let mut dimension = Dimension::One;
    if two_dimensional {
        if bits.peek(1) == 0 {
            dimension = Dimension::Two;
        }
        bits.skip(1)?;
    }
    // Two consecutive EOLs begin the return to control: the page ends.
    if bits.peek(12) == 1 { Err(RowFault::Ended) } else { Ok(dimension) }
}

fn run(bits: &mut Bits<'_>, black: bool) -> Result<u32, RowFault> {
    let codes = &*RUN_CODES;
    let mut total: u32 = 0;
    loop {
        let run = codes.lookup(black, bits.peek(LOOKUP_BITS));
        if run.bits == 0 {
            let over = bits.at + 12 > bits.src.len() * 8;
            return Err(if over { RowFault::Truncated } else { RowFault::Corrupt("not a run-length code") });
        }
        bits.skip(u32::from(run.bits))?;
        total = total.saturating_add(u32::from(run.pixels));
        if run.pixels < 64 {
            return Ok(total);
        }
    }
}

/// Ends a run at `at`. Even indices of `row` are changes to black; an empty run joins its neighbours.
fn change(row: &mut Vec<u32>, at: u32) {
    if row.last() == Some(&at) {
        row.pop();
    } else {
        row.push(at);
    }
}

fn one_dimensional_row(bits: &mut Bits<'_>, width: u32, row: &mut Vec<u32>) -> Result<(), RowFault> {
    let mut at = 0;
    let mut black = false;
    while at < width {
        let end = run(bits, black)?.checked_add(at).filter(|&end| end <= width);
        let end = end.ok_or(RowFault::Corrupt("runs past its end"))?;
        change(row, end);
        at = end;
        black = !black;
    }
    Ok(())
}

fn two_dimensional_row(
    bits: &mut Bits<'_>,
    width: u32,
    reference: &[u32],
    row: &mut Vec<u32>,
) -> Result<(), RowFault> {
    // T.6 2.2.1: a0 starts before the row; `started` distinguishes that from a0 on the first pixel.
    let (mut a0, mut started, mut black) = (0, false, false);
    // Changes of the reference before this index are at or left of a0.
    let mut seek = 0;
    while a0 < width {
        seek = first_change_after(reference, seek, a0, started);
        let b1_at = if (seek % 2 == 1) == black { seek } else { seek + 1 };
        let b1 = reference.get(b1_at).copied().unwrap_or(width);
        let b2 = reference.get(b1_at + 1).copied().unwrap_or(width);
        let code = bits.peek(7);
        let (taken, offset) = match code {
            0b100_0000.. => (1, 0),
            0b011_0000.. => (3, 1),
            0b010_0000.. => (3, -1),
            0b001_0000.. => {
                bits.skip(3)?;
                for colour in [black, !black] {
                    let end = run(bits, colour)?.checked_add(a0).filter(|&end| end <= width);
                    let end = end.ok_or(RowFault::Corrupt("runs past its end"))?;
                    change(row, end);
                    a0 = end;
                }
                started = true;
                continue;
            }
            0b000_1000.. => {
                bits.skip(4)?;
                (a0, started) = (b2, true);
                continue;
            }
            0b000_0110.. => (6, 2),
            0b000_0100.. => (6, -2),
            0b000_0011 => (7, 3),
            0b000_0010 => (7, -3),
            0b000_0001 => return Err(RowFault::Unsupported),
            _ if bits.at + 12 > bits.src.len() * 8 => return Err(RowFault::Truncated),
            _ => return Err(RowFault::Corrupt("not a mode code")),
        };
        bits.skip(taken)?;
        let a1 = b1.checked_add_signed(offset).filter(|a1| (a0..=width).contains(a1));
        let a1 = a1.ok_or(RowFault::Corrupt("a change outside of it"))?;
        change(row, a1);
        (a0, started, black) = (a1, true, !black);
    }
    Ok(())
}

/// Returns the first change right of a0, searching from `from`. An a0 before the row has no change to its left.
fn first_change_after(reference: &[u32], from: usize, a0: u32, started: bool) -> usize {
    let rest = reference.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|&&at| started && at <= a0).count()
}

/// Writes a row: black from each even change to the next one.
fn paint(out: &mut [u8], row: &[u32], width: u32) {
    out.fill(0);
    for span in row.chunks(2) {
        let from = span.first().copied().unwrap_or(width);
        let to = span.get(1).copied().unwrap_or(width);
        if from >= to {
            continue;
        }
        let (first, last) = (from as usize / 8, (to - 1) as usize / 8);
        let (head, tail) = (0xFF_u8 >> (from % 8), 0xFF_u8 << (7 - (to - 1) % 8));
        match out.get_mut(first..=last) {
            Some([only]) => *only |= head & tail,
            Some([begin, middle @ .., end]) => {
                *begin |= head;
                middle.fill(0xFF);
                *end |= tail;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{decode_block, layout, mutants_fill_or_fault};
    use super::*;
    use strile_engine::FaultKind;

    /// 700 x 12 pixels; `fax.rle`, `fax.g3` and `fax.g4` are libtiff's encodings of them.
    const ROWS: &[u8] = include_bytes!("../../tests/data/fax.rows");

    #[test]
    fn reads_what_libtiff_writes() {
        let files: [(Compression, &[u8]); 3] = [
            (Compression::CcittRle, include_bytes!("../../tests/data/fax.rle")),
            (Compression::CcittGroup3, include_bytes!("../../tests/data/fax.g3")),
            (Compression::CcittGroup4, include_bytes!("../../tests/data/fax.g4")),
        ];
        for (compression, file) in files {
            let layout = layout(compression, (700, 12), (1, 1));
            assert_eq!(decode_block(file, &layout).unwrap(), ROWS, "{compression:?}");
            mutants_fill_or_fault(file, &layout, 5000);
            for len in 0..file.len() {
                if let Ok(decoded) = decode_block(&file[..len], &layout) {
                    assert_eq!(decoded, ROWS, "{compression:?} cut at {len}");
                }
            }
        }
    }

    #[test]
    fn group_3_may_mix_dimensions_and_omit_end_of_line() {
        let mut layout = layout(Compression::CcittGroup3, (8, 2), (1, 1));
        // EOL 1, white 3, black 5 (1000 0011); EOL 0, V0 V0 (1 1 at the end of the row: one V0, then V0)
        let src = [0b0000_0000, 0b0001_1100, 0b0001_1000, 0b0000_0000, 0b1011_0000];
        layout.extras.fax_options = T4_TWO_DIMENSIONAL;
        assert_eq!(decode_block(&src, &layout).unwrap(), [0b0001_1111, 0b0001_1111]);
        // White 3, black 5 twice, no EOL at all.
        layout.extras.fax_options = 0;
        assert_eq!(decode_block(&[0b1000_0011, 0b1000_0011], &layout).unwrap(), [0b0001_1111, 0b0001_1111]);
    }

    #[test]
    fn says_how_a_block_ends_early() {
        let layout = layout(Compression::CcittGroup4, (8, 2), (1, 1));
        // V0 (a white row), EOFB.
        let fault = decode_block(&[0b1000_0000, 0b0000_1000, 0b0000_0000, 0b1000_0000], &layout).unwrap_err();
        assert_eq!((fault.kind, fault.found), (FaultKind::OutputShort, 1));
        assert_eq!(decode_block(&[0b0010_0000], &layout).unwrap_err().kind, FaultKind::InputTruncated);
        // Extension code: uncompressed mode.
        assert_eq!(
            decode_block(&[0b0000_0011, 0b1100_0000, 0, 0], &layout).unwrap_err().kind,
            FaultKind::Unsupported
        );
    }
}
