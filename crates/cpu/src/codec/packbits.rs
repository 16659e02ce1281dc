//! Compression 32773, PackBits: runs of one byte and runs of literal bytes (TIFF 6.0, section 9).
//!
//! Special cases: bytes after the block is full are padding and are ignored, as in libtiff; in a last strip the run
//! that crosses the end of the block belongs to rows outside the image.

use super::StoredBlock;
use super::workspace::{most_output, out_of_memory};
use crate::stop::{Looks, Stop};
use strile_engine::{BlockFault, BlockLayout};

/// Control byte without effect (-128).
const NO_OPERATION: u8 = 128;

pub(super) fn decode(
    src: &[u8],
    dst: &mut [u8],
    block: StoredBlock<'_>,
    stop: &Stop,
) -> Result<(), BlockFault> {
    let mut looks = Looks::new(stop);
    let needed = dst.len();
    let most = most_output(needed, block);
    let mut input = src;
    let mut filled = 0;
    while filled < needed {
        looks.after(filled)?;
        let Some((&control, rest)) = input.split_first() else {
            return Err(BlockFault::truncated(filled, needed));
        };
        input = rest;
        if control == NO_OPERATION {
            continue;
        }
        let literal = control < NO_OPERATION;
        let run = if literal { usize::from(control) + 1 } else { 257 - usize::from(control) };
        if filled + run > most {
            return Err(BlockFault::surplus(filled + run, needed));
        }
        let Some(out) = dst.get_mut(filled..needed.min(filled + run)) else {
            return Err(BlockFault::surplus(filled + run, needed));
        };
        if literal {
            let Some((bytes, rest)) = input.split_at_checked(run) else {
                return Err(BlockFault::truncated(filled + input.len().min(out.len()), needed));
            };
            out.copy_from_slice(bytes.get(..out.len()).unwrap_or_default());
            input = rest;
        } else {
            let Some((&value, rest)) = input.split_first() else {
                return Err(BlockFault::truncated(filled, needed));
            };
            out.fill(value);
            input = rest;
        }
        filled += run;
    }
    Ok(())
}

/// Maximum length of either kind of run.
const MOST_RUN: usize = 128;

/// Returns the maximum bytes for `rows` rows: one control byte per 128 literal bytes.
pub(super) fn bound(layout: &BlockLayout, rows: u32) -> u64 {
    let row = layout.packed_row_len().map_or(u64::MAX, |len| len as u64);
    row.saturating_add(row.div_ceil(MOST_RUN as u64)).saturating_mul(u64::from(rows))
}

/// Packs each row separately, as TIFF requires.
pub(super) fn encode(src: &[u8], dst: &mut Vec<u8>, block: StoredBlock<'_>) -> Result<(), BlockFault> {
    let most = usize::try_from(bound(block.layout, block.rows)).unwrap_or(usize::MAX);
    dst.try_reserve(most).map_err(|_| out_of_memory(most, "an encoded block"))?;
    let row_len = block.layout.packed_row_len().unwrap_or(0).max(1);
    src.chunks(row_len).for_each(|row| pack_row(row, dst));
    Ok(())
}

/// Two equal bytes become a run only if no literal run is open, which they would split: so no row grows by more than
/// `bound` states.
fn pack_row(row: &[u8], dst: &mut Vec<u8>) {
    let mut rest = row;
    while let Some(&first) = rest.first() {
        let run = rest.iter().take(MOST_RUN).take_while(|&&byte| byte == first).count();
        let taken = if run > 1 {
            dst.extend([(257 - run).to_le_bytes()[0], first]);
            run
        } else {
            let limit = rest.len().min(MOST_RUN);
            let triple = |three: &[u8]| matches!(three, [a, b, c] if a == b && b == c);
            let literals = rest.windows(3).take(limit).position(triple).unwrap_or(limit);
            dst.push((literals - 1).to_le_bytes()[0]);
            dst.extend_from_slice(rest.get(..literals).unwrap_or_default());
            literals
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers made here")]
mod tests {
    use super::super::byte_testing as testing;
    use super::*;
    use strile_tiff::Compression;

    fn unpack(src: &[u8], len: u32) -> Result<Vec<u8>, BlockFault> {
        let layout = testing::layout(Compression::PackBits, len, 1);
        let mut dst = vec![0; len as usize];
        decode(src, &mut dst, testing::whole(&layout), &Stop::default()).map(|()| dst)
    }

    /// The example of Apple's Technical Note TN1023, with an added no-operation byte.
    #[test]
    fn decodes_the_example_of_the_technical_note() {
        let packed =
            [0xFE, 0xAA, 0x02, 0x80, 0x00, 0x2A, 0x80, 0xFD, 0xAA, 0x03, 0x80, 0x00, 0x2A, 0x22, 0xF7, 0xAA];
        let expected = [
            0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0xAA, 0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0x22, 0xAA, 0xAA,
            0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA,
        ];
        assert_eq!(unpack(&packed, 24).unwrap(), expected);
    }

    #[test]
    fn faults_count_what_was_found() {
        assert_eq!(unpack(&[0x01, 7, 7], 4), Err(BlockFault::truncated(2, 4)));
        assert_eq!(unpack(&[0x03, 7, 7], 4), Err(BlockFault::truncated(2, 4)));
        assert_eq!(unpack(&[0xFD], 4), Err(BlockFault::truncated(0, 4)));
        assert_eq!(unpack(&[0xFC, 1], 4), Err(BlockFault::surplus(5, 4)));
    }

    #[test]
    fn last_strip_may_hold_all_its_rows() {
        let layout = testing::layout(Compression::PackBits, 4, 3);
        let strip = StoredBlock { layout: &layout, rows: 1 };
        let mut dst = [0; 4];
        decode(&[0xF5, 9], &mut dst, strip, &Stop::default()).unwrap();
        assert_eq!(dst, [9; 4]);
        // Twelve bytes are all rows of a strip; thirteen are too many.
        assert_eq!(decode(&[0xF4, 9], &mut dst, strip, &Stop::default()), Err(BlockFault::surplus(13, 4)));
    }

    #[test]
    fn mutants_fill_or_fault() {
        let mut random = testing::Random::new(1);
        let layout = testing::layout(Compression::PackBits, 64, 1);
        let good: Vec<u8> = (0..16).flat_map(|i| [0xFD, i]).collect();
        for _ in 0..5000 {
            let src = random.mutant(&good);
            testing::fills_or_faults(64, |dst| decode(&src, dst, testing::whole(&layout), &Stop::default()));
        }
    }

    #[test]
    fn packs_runs_and_literals() {
        let pack = |data: &[u8], width: u32| {
            let layout = testing::layout(Compression::PackBits, width, data.len() as u32 / width);
            let mut out = vec![9];
            encode(data, &mut out, testing::whole(&layout)).unwrap();
            assert!(out.len() as u64 <= bound(&layout, layout.height) + 1);
            out.split_off(1)
        };
        assert_eq!(pack(&[5, 5, 5, 1, 2, 2], 6), [254, 5, 2, 1, 2, 2]);
        assert_eq!(pack(&[5, 5, 1, 5, 5], 5), [255, 5, 2, 1, 5, 5]);
        assert_eq!(pack(&[5, 5, 5, 5], 2), [255, 5, 255, 5], "rows are apart");
        assert_eq!(pack(&[7; 300], 300), [129, 7, 129, 7, 213, 7]);
        let single: Vec<u8> = (0..130).collect();
        assert_eq!(pack(&single, 130), [&[127][..], &single[..128], &[1, 128, 129]].concat());
    }
}
