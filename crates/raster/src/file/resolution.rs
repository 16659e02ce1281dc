//! Lower resolutions of an image that its blocks hold themselves: JPEG 2000 without its highest wavelet levels.
//!
//! Such an image is another one to all that plans and reads: its blocks are the same, in the same order, each of them
//! smaller. That holds where blocks still meet, so the size of a block must be a multiple of the factor in a direction in
//! which there are several. Whether the streams have as many levels is known when they are decoded.

use strile_tiff::{BlockGrid, Image};

/// Most wavelet levels that a stream can have.
const MOST_LEVELS: u8 = 32;

/// The image halved so many times, or why there is none.
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
    // Not more than it was.
    let part = |size: u32| u32::try_from(u64::from(size).div_ceil(factor)).unwrap_or(size);
    let (width, height) = (part(image.width), part(image.height));
    let block = (part(block_width), part(block_height));
    Ok(Image { width, height, grid: BlockGrid::new(kind, (width, height), block, planes), ..image.clone() })
}
