//! CCITT modified Huffman, Group 3 and Group 4, using the code tables of crate `fax`.
//!
//! Input rows are packed bits, 1 is black (MinIsWhite), each row aligned to a byte.

use crate::pack::BitWriter;
use fax::maps::{Mode, black, mode, white};

fn rows(packed: &[u8], width: usize) -> Vec<Vec<bool>> {
    packed
        .chunks(width.div_ceil(8))
        .map(|row| (0..width).map(|x| row[x / 8] >> (7 - x % 8) & 1 == 1).collect())
        .collect()
}

fn put_run(out: &mut BitWriter, is_black: bool, mut run: usize) {
    let mut put = |run: usize| {
        let bits = if is_black { black::encode(run as u16) } else { white::encode(run as u16) };
        let bits = bits.expect("a length the tables hold");
        out.put(bits.data.into(), bits.len.into());
    };
    while run >= 2560 {
        put(2560);
        run -= 2560;
    }
    if run >= 64 {
        put(run & !63);
    }
    put(run & 63);
}

/// Writes white and black runs in turn, white first.
fn one_dimensional(out: &mut BitWriter, row: &[bool]) {
    let (mut at, mut colour) = (0, false);
    while at < row.len() {
        let run = row[at..].iter().take_while(|&&pixel| pixel == colour).count();
        put_run(out, colour, run);
        at += run;
        colour = !colour;
    }
}

fn put_mode(out: &mut BitWriter, code: Mode) {
    let bits = mode::encode(code).expect("a mode of the table");
    out.put(bits.data.into(), bits.len.into());
}

/// Returns the first changing pixel right of `at` that has the opposite of `colour`; `at` is -1 before the row.
fn changing(row: &[bool], at: isize, colour: bool) -> usize {
    let first = (at + 1) as usize;
    (first..row.len())
        .find(|&x| row[x] != colour && (x == 0 && !colour || x > 0 && row[x - 1] == colour))
        .unwrap_or(row.len())
}

/// Writes a row by T.4 section 4.2, T.6 section 2.2.
fn two_dimensional(out: &mut BitWriter, row: &[bool], above: &[bool]) {
    let width = row.len();
    let (mut a0, mut colour) = (-1isize, false);
    while a0 < width as isize {
        let from = a0.max(0) as usize;
        let a1 = (from..width).find(|&x| row[x] != colour).unwrap_or(width);
        let b1 = changing(above, a0, colour);
        let b2 = (b1..width).find(|&x| above[x] == colour).unwrap_or(width);
        if b2 < a1 {
            put_mode(out, Mode::Pass);
            a0 = b2 as isize;
            continue;
        }
        let shift = a1 as isize - b1 as isize;
        if shift.abs() <= 3 {
            put_mode(out, Mode::Vertical(shift as i8));
            a0 = a1 as isize;
            colour = !colour;
        } else {
            let a2 = (a1..width).find(|&x| row[x] == colour).unwrap_or(width);
            put_mode(out, Mode::Horizontal);
            put_run(out, colour, a1 - from);
            put_run(out, !colour, a2 - a1);
            a0 = a2 as isize;
        }
    }
}

/// Encodes Compression 2 and 32771: no EOL, each row at a multiple of `align` bits.
pub(super) fn huffman(packed: &[u8], width: usize, align: usize) -> Vec<u8> {
    let mut out = BitWriter::default();
    for row in rows(packed, width) {
        one_dimensional(&mut out, &row);
        out.align(align);
    }
    out.finish()
}

/// Encodes Compression 3, with an EOL before every row.
pub(super) fn group3(packed: &[u8], width: usize, is_two_dimensional: bool, byte_aligned: bool) -> Vec<u8> {
    let mut out = BitWriter::default();
    let mut above = vec![false; width];
    for (y, row) in rows(packed, width).into_iter().enumerate() {
        if byte_aligned {
            // The twelve bits of the EOL end at a byte, so they begin four bits into one.
            while out.bit_len() % 8 != 4 {
                out.put(0, 1);
            }
        }
        out.put(1, 12);
        if is_two_dimensional {
            out.put(u64::from(y % 2 == 0), 1);
        }
        if is_two_dimensional && y % 2 == 1 {
            two_dimensional(&mut out, &row, &above);
        } else {
            one_dimensional(&mut out, &row);
        }
        above = row;
    }
    out.finish()
}

/// Encodes Compression 4, with the closing EOFB.
pub(super) fn group4(packed: &[u8], width: usize) -> Vec<u8> {
    let mut out = BitWriter::default();
    let mut above = vec![false; width];
    for row in rows(packed, width) {
        two_dimensional(&mut out, &row, &above);
        above = row;
    }
    out.put(0x001001, 24);
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group4_reads_back_through_another_decoder() {
        let width = 37;
        let mut random = crate::pixels::Random::new(5);
        let packed: Vec<u8> = (0..12 * 5).map(|_| (random.next_u64() & random.next_u64()) as u8).collect();
        let encoded = group4(&packed, width);
        let mut decoded = Vec::new();
        fax::decoder::decode_g4(encoded.into_iter(), width as u16, Some(12), |transitions| {
            let colours = fax::decoder::pels(transitions, width as u16);
            decoded.push(colours.map(|c| c == fax::Color::Black).collect::<Vec<bool>>());
        });
        assert_eq!(decoded, rows(&packed, width));
    }
}
