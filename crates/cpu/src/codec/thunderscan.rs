//! ThunderScan 4-bit grey: runs, deltas of two and three bits, and raw values.
//!
//! The scheme was never published; this follows libtiff's reader. A row starts from 0. Deltas of the last byte of a row
//! may extend past its end (the byte cannot state fewer) and are dropped; runs may not.

use super::StoredBlock;
use crate::stop::{Looks, Stop};
use strile_engine::BlockFault;

const TWO_BIT_DELTAS: [Option<u8>; 4] = [Some(0), Some(1), None, Some(15)];
const THREE_BIT_DELTAS: [Option<u8>; 8] =
    [Some(0), Some(1), Some(2), Some(3), None, Some(13), Some(14), Some(15)];

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    stop: &Stop,
) -> Result<(), BlockFault> {
    let layout = block.layout;
    if layout.samples != 1 || layout.sample.bits != 4 {
        return Err(BlockFault::wrong_shape(format!(
            "ThunderScan stores one sample of 4 bits, the layout has {} of {} bits",
            layout.samples, layout.sample.bits
        )));
    }
    let expected = dst.len();
    let row_len = layout.width.div_ceil(2) as usize;
    if row_len == 0 {
        return Ok(());
    }
    let mut codes = src.iter();
    let mut looks = Looks::new(stop);
    for (done, row) in dst.chunks_exact_mut(row_len).enumerate() {
        looks.after(done * row_len)?;
        row.fill(0);
        let mut pixels = Pixels { row, width: layout.width as usize, at: 0, last: 0 };
        while pixels.at < pixels.width {
            let &code = codes.next().ok_or_else(|| BlockFault::truncated(done * row_len, expected))?;
            if !pixels.take(code) {
                return Err(BlockFault::corrupt(format!(
                    "row {done} is longer than {} pixels",
                    layout.width
                )));
            }
        }
    }
    Ok(())
}

struct Pixels<'a> {
    row: &'a mut [u8],
    width: usize,
    at: usize,
    last: u8,
}

impl Pixels<'_> {
    /// Applies a code; returns `false` if it extends past the end of the row.
    fn take(&mut self, code: u8) -> bool {
        match code >> 6 {
            0 => {
                let count = usize::from(code & 0x3F);
                if count > self.width - self.at {
                    return false;
                }
                for _ in 0..count {
                    self.push(self.last);
                }
            }
            1 => [code >> 4, code >> 2, code].into_iter().for_each(|d| self.delta(&TWO_BIT_DELTAS, d & 3)),
            2 => [code >> 3, code].into_iter().for_each(|d| self.delta(&THREE_BIT_DELTAS, d & 7)),
            _ => self.push(code & 15),
        }
        true
    }

    fn delta(&mut self, deltas: &[Option<u8>], code: u8) {
        if let Some(&Some(delta)) = deltas.get(usize::from(code)) {
            self.push((self.last + delta) & 15);
        }
    }

    fn push(&mut self, value: u8) {
        self.last = value;
        if self.at < self.width {
            if let Some(byte) = self.row.get_mut(self.at / 2) {
                *byte |= if self.at.is_multiple_of(2) { value << 4 } else { value };
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::layout;
    use super::*;
    use strile_tiff::Compression;

    fn decode_row(src: &[u8], width: u32) -> Result<Vec<u8>, BlockFault> {
        let layout = layout(Compression::ThunderScan, (width, 1), (1, 4));
        let mut dst = vec![0xA5; layout.decoded_len(1).unwrap()];
        decode(src, &mut dst, StoredBlock { layout: &layout, rows: 1 }, &Stop::default()).map(|()| dst)
    }

    #[test]
    fn reads_every_kind_of_code() {
        // raw 9; run of 2; 2-bit +1, skip, -1; 3-bit +3, -3
        let src = [0xC9, 0x02, 0b0101_1011, 0b1001_1101];
        assert_eq!(decode_row(&src, 7).unwrap(), [0x99, 0x9A, 0x9C, 0x90]);
        // the last delta does not fit and is dropped
        assert_eq!(decode_row(&src, 6).unwrap(), [0x99, 0x9A, 0x9C]);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(decode_row(&[0xC1], 2), Err(BlockFault::truncated(0, 1)));
        assert!(decode_row(&[0x03], 2).unwrap_err().to_string().contains("longer than 2 pixels"));
    }
}
