//! Measurements that decide between nvCOMP and strile's kernels.

use super::Codec;
use std::fmt;
use strile_engine::BlockLayout;

/// One measurement on an H200: GB/s of output, device to device, of a raster in one launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    codec: Codec,
    /// Bytes of a sample, which identify the dataset: land cover and RGB have 1, uint16 2, elevations 4.
    sample: u32,
    /// Pixels of a block.
    pixels: u32,
    ours: f32,
    nvcomp: f32,
}

const fn row(codec: Codec, sample: u32, side: u32, ours: f32, nvcomp: f32) -> Measured {
    Measured { codec, sample, pixels: side * side, ours, nvcomp }
}

/// Both on the same tiles of files in one run, nvCOMP 6.0 without the passes before and after it: the table of
/// docs/bench/gpu.md. Of the two one-byte datasets it has the one on which nvCOMP does worse (RGB), so that nvCOMP is
/// chosen only if it wins on both; on land cover in ZSTD it wins in tiles of 256 x 256, 133 against 89.
const TABLE: [Measured; 12] = [
    row(Codec::Deflate, 1, 256, 170.8, 9.3),
    row(Codec::Deflate, 1, 512, 104.7, 2.8),
    row(Codec::Deflate, 2, 256, 104.7, 14.8),
    row(Codec::Deflate, 2, 512, 100.9, 10.8),
    row(Codec::Deflate, 4, 256, 171.6, 20.2),
    row(Codec::Deflate, 4, 512, 75.3, 5.5),
    row(Codec::Zstd, 1, 256, 144.3, 20.6),
    row(Codec::Zstd, 1, 512, 97.8, 19.2),
    row(Codec::Zstd, 2, 256, 199.8, 50.2),
    row(Codec::Zstd, 2, 512, 163.5, 42.9),
    row(Codec::Zstd, 4, 256, 90.0, 37.6),
    row(Codec::Zstd, 4, 512, 36.7, 15.7),
];

/// Returns the measurement nearest to blocks of a layout.
pub(super) fn measured(codec: Codec, layout: &BlockLayout) -> Measured {
    let sample = (u32::from(layout.sample.bits) / 8).clamp(1, 4);
    let pixels = layout.width.saturating_mul(layout.height);
    // Halfway between 256² and 512² on the scale of sides.
    let large = pixels > 384 * 384;
    let nearest = |row: &&Measured| {
        (row.codec != codec, row.sample.abs_diff(sample), (row.pixels > 384 * 384) != large)
    };
    TABLE.iter().min_by_key(nearest).copied().unwrap_or(row(codec, sample, 0, 1.0, 0.0))
}

impl Measured {
    /// Returns whether nvCOMP was faster.
    pub(super) fn faster(&self) -> bool {
        self.nvcomp > self.ours
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ours, nvcomp, .. } = self;
        write!(f, "{nvcomp} GB/s measured by it and {ours} by our own kernel on blocks like these")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_codec_is_found_whatever_the_layout() {
        for codec in [Codec::Deflate, Codec::Zstd] {
            for sample in [1, 2, 4] {
                let rows = TABLE.iter().filter(|row| row.codec == codec && row.sample == sample);
                assert_eq!(rows.count(), 2);
            }
        }
    }
}
