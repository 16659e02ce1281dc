//! Lower resolutions inside the blocks of an image: JPEG 2000 without its highest wavelet levels.
//!
//! Planning and reading treat such an image as a different one: its blocks are the same, in the same order, but each is
//! smaller. This requires that blocks still meet, so if there are several blocks in a direction, the block size must be
//! a multiple of the factor. Whether the streams have enough levels is only known when they are decoded.

use strile_tiff::{BlockGrid, Image};

/// Largest number of wavelet levels of a stream.
const MOST_LEVELS: u8 = 32;

/// Returns the image halved `levels` times, or the reason why this is not possible.
pub(crate) fn reduced(image: &Image, levels: u8) -> Result<Image, String> {
    if !image.compression.is_jpeg2000() {
        return Err(format!(
            "its blocks are {}, and only those of JPEG 2000 hold lower resolutions; read an overview instead",
            image.compression.name()
        ));
    }
    if levels > MOST_LEVELS {
        return Err(format!("expected at most {MOST_LEVELS} halvings of JPEG 2000, got {levels}"));
    }
    let factor = 1u64 << levels;
    let BlockGrid { kind, block_width, block_height, across, down, planes } = image.grid;
    let meets = |size: u32, count: u32| count == 1 || u64::from(size).is_multiple_of(factor);
    if !meets(block_width, across) || !meets(block_height, down) {
        return Err(format!(
            "blocks of {block_width} × {block_height} pixels cannot be made {factor} times smaller: their sizes are not multiples of it"
        ));
    }
    // Never more than before.
    let part = |size: u32| u32::try_from(u64::from(size).div_ceil(factor)).unwrap_or(size);
    let (width, height) = (part(image.width), part(image.height));
    let block = (part(block_width), part(block_height));
    Ok(Image { width, height, grid: BlockGrid::new(kind, (width, height), block, planes), ..image.clone() })
}
