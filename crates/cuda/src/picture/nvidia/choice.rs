//! Which decodes faster, a library or kernels of our own: as measured, not as guessed.

use super::Which;
use std::fmt;
use strile_engine::BlockLayout;

/// One measurement on an H200: GB/s of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    library: Which,
    /// Pixels across a block.
    side: u32,
    ours: f32,
    theirs: f32,
}

const fn row(library: Which, side: u32, ours: f32, theirs: f32) -> Measured {
    Measured { library, side, ours, theirs }
}

/// Tiles of side 512 and 256: kernels of our own alone on 1020 (JPEG 2000, uint16, lossless), 256 and 1024 (JPEG, 4:2:0 of
/// quality 75); nvJPEG2000 0.11 with 8 states and nvJPEG 13.0 on 7 engines on 64 and 128, from launch to the end of the
/// wait. With one state nvJPEG2000 has 0.045, without engines nvJPEG has 3 to 4. A picture of side 4096 was read by the
/// engine, from staged bytes to pixels on the host.
const TABLE: [Measured; 4] = [
    row(Which::Nvjpeg2000, 512, 11.2, 0.34),
    row(Which::Nvjpeg2000, 4096, 0.69, 0.62),
    row(Which::Nvjpeg, 512, 147.0, 19.4),
    row(Which::Nvjpeg, 256, 181.0, 8.7),
];

/// The measurement nearest to blocks of a layout.
pub(super) fn measured(library: Which, layout: &BlockLayout) -> Measured {
    let nearest = |row: &&Measured| (row.library != library, row.side.abs_diff(layout.width));
    TABLE.iter().min_by_key(nearest).copied().unwrap_or(row(library, 0, 1.0, 0.0))
}

impl Measured {
    /// Whether the library was the faster.
    pub(super) fn faster(&self) -> bool {
        self.theirs > self.ours
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ours, theirs, .. } = self;
        write!(f, "{theirs} GB/s measured by it and {ours} by our own kernels on blocks like these")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::DataType;

    #[test]
    fn a_row_of_the_library_is_found_whatever_the_layout() {
        for side in [1, 256, 300, 512, 60_000] {
            let layout = BlockLayout::stored(DataType::U8, (side, side), 1);
            for library in [Which::Nvjpeg2000, Which::Nvjpeg] {
                assert_eq!(measured(library, &layout).library, library);
            }
        }
        let layout = BlockLayout::stored(DataType::U8, (240, 240), 3);
        assert_eq!(
            measured(Which::Nvjpeg, &layout).to_string(),
            "8.7 GB/s measured by it and 181 by our own kernels on blocks like these"
        );
    }
}
