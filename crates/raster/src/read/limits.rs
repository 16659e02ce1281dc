//! Limits on the size of a result relative to its file, and of a block relative to its image.
//!
//! A file states its own size, so a few bytes can request any amount of memory, time or disk. Every kind of read
//! (`Dataset::read`, pieces, batches, mosaics) rejects implausible sizes by the rules here, before any pixel is
//! decoded. `ReadOptions::max_pixels` replaces the rule by the caller's number. Plausible sizes are then limited by the
//! memory budget.

use super::facts::Facts;
use super::part::rows_of_part;
use crate::bytes::human;
use crate::error::{Error, Limited, Result};
use crate::options::Execution;

/// Results up to this many bytes may be any number of times larger than their file: mostly empty rasters compress to
/// almost nothing.
const PLAUSIBLE_BYTES: u64 = 1_000_000_000;

/// Larger results, and blocks, may be this many times larger than their file. Deflate reaches 1032. Larger ratios mean
/// blocks that share their bytes, or sparse files, which are read by windows or with `max_pixels`.
const PLAUSIBLE_RATIO: u64 = 1024;

/// Blocks up to this many bytes are allowed in any image.
const PLAUSIBLE_BLOCK_BYTES: u64 = 256 << 20;

/// Larger blocks may be this many times larger than their image. Beyond that, most of a block is padding.
const PLAUSIBLE_PADDING: u64 = 4;

/// The size of a result, read at once or in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl Size {
    /// Returns the size of `bands` × `rows` × `columns` samples of `sample` bytes.
    pub(crate) fn new((bands, rows, columns): (u32, u32, u32), sample: usize) -> Self {
        let samples = u64::from(rows).saturating_mul(columns.into()).saturating_mul(bands.into());
        Self { samples, bytes: samples.saturating_mul(sample as u64) }
    }
}

/// Fails for a result that is larger than `max_pixels`, or without it, larger than plausible for the bytes stored in
/// `of` ("the file").
pub(crate) fn check_result(
    (file, of): (&str, &str),
    size: Size,
    max_pixels: Option<u64>,
    stored: impl FnOnce() -> u64,
) -> Result<()> {
    let Size { samples, bytes } = size;
    let problem = match max_pixels {
        Some(most) if samples > most => {
            format!("cannot read {samples} samples: `max_pixels` is {most}; raise it, or read a window")
        }
        Some(_) => return Ok(()),
        None if bytes <= PLAUSIBLE_BYTES => return Ok(()),
        None => {
            let stored = stored();
            if bytes <= stored.saturating_mul(PLAUSIBLE_RATIO) {
                return Ok(());
            }
            format!(
                "decodes to {}, more than {PLAUSIBLE_RATIO} times the size of {of} ({}); if you trust the file, set \
                 `max_pixels` to {samples} or more, or read a window",
                human(bytes),
                human(stored)
            )
        }
    };
    Err(Error::Limit { file: file.to_owned(), limited: Limited::Pixels, problem })
}

/// Fails for blocks that take implausibly much memory to decode.
pub(crate) fn check_block(file: &str, facts: &Facts<'_>, stored: u64, execution: &Execution) -> Result<()> {
    let (image, layout) = (&facts.image, &facts.layout);
    if rows_of_part(layout).is_some() {
        // Uncompressed: only the requested rows are read.
        return Ok(());
    }
    let block = facts.stored_len() as u64;
    let (width, height) = (image.grid.block_width, image.grid.block_height);
    let told = |why: &str| {
        let problem = format!("blocks of {width} × {height} pixels decode to {} each, {why}", human(block));
        Err(Error::Limit { file: file.to_owned(), limited: Limited::Pixels, problem })
    };
    if let Some(most) = execution.max_block_bytes
        && block > most
    {
        return told(&format!("and `max_block_bytes` is {most}; raise it"));
    }
    let samples = Size::new((layout.samples.into(), height, width), 1).samples;
    if block <= PLAUSIBLE_BLOCK_BYTES || execution.max_pixels.is_some_and(|most| samples <= most) {
        return Ok(());
    }
    let area = |width: u32, height: u32| u128::from(width) * u128::from(height);
    let padded = area(width, height) > area(image.width, image.height) * u128::from(PLAUSIBLE_PADDING);
    if padded || block > stored.saturating_mul(PLAUSIBLE_RATIO) {
        return told(&format!(
            "which is implausible for an image of {} × {} pixels in a file of {}; if you trust the file, set \
             `max_pixels` to {samples} or more",
            image.width,
            image.height,
            human(stored)
        ));
    }
    Ok(())
}

/// Fails for a read that would fetch more than `max_cloud_bytes` from a remote source.
pub(crate) fn check_fetched(file: &str, fetched: u64, execution: &Execution) -> Result<()> {
    match execution.max_cloud_bytes {
        Some(most) if fetched > most => {
            let problem = format!(
                "the read would fetch {fetched} bytes: `max_cloud_bytes` is {most}; raise it, or read a window"
            );
            Err(Error::Limit { file: file.to_owned(), limited: Limited::Fetched, problem })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(size: Size, max_pixels: Option<u64>, stored: u64) -> Option<String> {
        check_result(("a.tif", "the file"), size, max_pixels, || stored).err().map(|error| error.to_string())
    }

    #[test]
    fn large_results_are_plausible_by_their_file() {
        let one_gigabyte = Size::new((1, 10_000, 100_000), 1);
        assert_eq!(refusal(one_gigabyte, None, 100), None, "sparse files may be this large");
        let forty = Size::new((1, 100_000, 100_000), 4);
        assert_eq!(refusal(forty, None, 40_000_000), None);
        assert_eq!(
            refusal(forty, None, 39_000_000).unwrap(),
            "a.tif: decodes to 37.3 GiB, more than 1024 times the size of the file (37.2 MiB); if you trust the file, \
             set `max_pixels` to 10000000000 or more, or read a window"
        );
    }

    #[test]
    fn a_number_of_the_callers_replaces_the_rule() {
        let size = Size::new((3, 100, 100), 2);
        assert_eq!(refusal(size, Some(30_000), 1), None);
        assert_eq!(
            refusal(size, Some(29_999), u64::MAX).unwrap(),
            "a.tif: cannot read 30000 samples: `max_pixels` is 29999; raise it, or read a window"
        );
        let huge = Size::new((u32::MAX, u32::MAX, u32::MAX), 16);
        assert_eq!(refusal(huge, Some(u64::MAX), 1), None);
        assert!(refusal(huge, None, 1).is_some());
    }
}
