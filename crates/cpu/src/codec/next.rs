//! NeXT 2-bit grey: a row is stored uncompressed, as one span on white, or as runs.
//!
//! The scheme was never published; this follows libtiff's reader. Every row must be complete or the block is faulty; a
//! run past the end of its row is cut there, as real files require.

use super::StoredBlock;
use crate::stop::{Looks, Stop};
use strile_engine::BlockFault;

/// A row stored uncompressed.
const LITERAL_ROW: u8 = 0x00;
/// A span of bytes; the rest of the row is white.
const LITERAL_SPAN: u8 = 0x40;
/// Four white pixels.
const WHITE: u8 = 0xFF;

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    stop: &Stop,
) -> Result<(), BlockFault> {
    let layout = block.layout;
    if layout.samples != 1 || layout.sample.bits != 2 {
        return Err(BlockFault::wrong_shape(format!(
            "NeXT stores one sample of 2 bits, the layout has {} of {} bits",
            layout.samples, layout.sample.bits
        )));
    }
    let expected = dst.len();
    let row_len = layout.width.div_ceil(4) as usize;
    if row_len == 0 {
        return Ok(());
    }
    let mut rest = src;
    let mut looks = Looks::new(stop);
    for (done, row) in dst.chunks_exact_mut(row_len).enumerate() {
        looks.after(done * row_len)?;
        decode_row(&mut rest, row, layout.width).map_err(|fault| match fault {
            RowFault::Truncated => BlockFault::truncated(done * row_len, expected),
            RowFault::Outside => BlockFault::corrupt(format!("row {done} has a span past its end")),
        })?;
    }
    Ok(())
}

enum RowFault {
    Truncated,
    Outside,
}

fn decode_row(rest: &mut &[u8], row: &mut [u8], width: u32) -> Result<(), RowFault> {
    row.fill(WHITE);
    let (&code, after) = rest.split_first().ok_or(RowFault::Truncated)?;
    match code {
        LITERAL_ROW => {
            let (bytes, after) = after.split_at_checked(row.len()).ok_or(RowFault::Truncated)?;
            row.copy_from_slice(bytes);
            *rest = after;
        }
        LITERAL_SPAN => {
            let (&[a, b, c, d], after) = after.split_first_chunk().ok_or(RowFault::Truncated)?;
            let (start, len) =
                (usize::from(u16::from_be_bytes([a, b])), usize::from(u16::from_be_bytes([c, d])));
            let (bytes, after) = after.split_at_checked(len).ok_or(RowFault::Truncated)?;
            row.get_mut(start..start + len).ok_or(RowFault::Outside)?.copy_from_slice(bytes);
            *rest = after;
        }
        _ => {
            let mut at = 0;
            while at < width {
                let (&run, after) = rest.split_first().ok_or(RowFault::Truncated)?;
                *rest = after;
                let (grey, end) = (run >> 6, (at + u32::from(run & 0x3F)).min(width));
                for pixel in at..end {
                    let shift = 6 - 2 * (pixel % 4);
                    if let Some(byte) = row.get_mut(pixel as usize / 4) {
                        *byte = *byte & !(3 << shift) | grey << shift;
                    }
                }
                at = end;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::layout;
    use super::*;
    use strile_tiff::Compression;

    fn decode_rows(src: &[u8], rows: u32) -> Result<Vec<u8>, BlockFault> {
        let layout = layout(Compression::Next, (6, rows), (1, 2));
        let mut dst = vec![0xA5; layout.decoded_len(rows).unwrap()];
        decode(src, &mut dst, StoredBlock { layout: &layout, rows }, &Stop::default()).map(|()| dst)
    }

    #[test]
    fn reads_the_three_kinds_of_row() {
        let src = [
            0x00, 0x1B, 0x40, // whole: 0 1 2 3 1 0
            0x40, 0, 1, 0, 1, 0x00, // one byte at 1: white white white white 0 0
            0x82, 0x44, // two pixels of 2, four of 1
        ];
        // The rest of the last byte of a row stays white if it was not stored.
        assert_eq!(decode_rows(&src, 3).unwrap(), [0x1B, 0x40, 0xFF, 0x00, 0xA5, 0x5F]);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(decode_rows(&[0x82], 1), Err(BlockFault::truncated(0, 2)));
        assert!(decode_rows(&[0x40, 0, 2, 0, 1, 9], 1).unwrap_err().to_string().contains("past its end"));
        assert_eq!(decode_rows(&[0x87], 1).unwrap(), [0xAA, 0xAF], "a run of 7 in 6 pixels");
    }
}
