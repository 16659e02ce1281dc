//! Steps on a whole result after decoding: masks as 0 and 255, white as maximum, turning by Orientation, masks that come
//! from alpha or nodata.

use super::mask;
use crate::error::Result;
use crate::options::{Interleave, Layer, Layout, Meaning, ReadOptions};
use crate::raster::Raster;
use std::fmt;
use strile_engine::Context;
use strile_engine::memory::try_with_capacity;
use strile_tiff::{DataType, Image, Photometric, SampleFormat};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A mask of fewer than 8 bits becomes 0 and 255: what is not 0 is valid.
    BitMask,
    /// Samples of this many bits are inverted: 0 is white.
    Invert(u16),
    /// The image is turned by its Orientation.
    Turn(u8),
    /// Pixels of this band, which is alpha, become a mask.
    MaskOfAlpha(u16),
    /// Pixels become a mask: valid if a band differs from nodata.
    MaskOfNodata,
}

/// The steps that a request for pixels of an image takes.
pub(super) fn steps(image: &Image, options: &ReadOptions) -> Vec<Step> {
    let steps = [
        (is_bit_mask(image, options.place.layer), Step::BitMask),
        (is_inverted(image, &options.meaning), Step::Invert(image.sample.bits)),
        (is_turned(image, options.layout), Step::Turn(image.orientation)),
    ];
    steps.into_iter().filter(|(done, _)| *done).map(|(_, step)| step).collect()
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BitMask => write!(f, "the mask as 0 and 255"),
            Self::Invert(_) => write!(f, "white as maximum"),
            Self::Turn(orientation) => write!(f, "turned by Orientation {orientation}"),
            Self::MaskOfAlpha(band) => write!(f, "the mask from the alpha of band {band}"),
            Self::MaskOfNodata => write!(f, "the mask where a band differs from nodata"),
        }
    }
}

impl Step {
    /// Applies the step in host memory.
    pub(super) fn apply(self, mut raster: Raster, context: &Context) -> Result<Raster> {
        match self {
            Self::BitMask => {
                raster.pixels.iter_mut().filter(|pixel| **pixel != 0).for_each(|pixel| *pixel = 255)
            }
            Self::Invert(bits) => invert(&mut raster.pixels, raster.data_type, bits),
            Self::Turn(orientation) => {
                let _lease = context.take(raster.pixels.len() as u64, "turning the image")?;
                return turned(&raster, orientation);
            }
            Self::MaskOfAlpha(_) => return Ok(mask::from_alpha(raster)),
            Self::MaskOfNodata => {
                let fill = raster.fill;
                return Ok(mask::from_nodata(&raster, fill));
            }
        }
        Ok(raster)
    }
}

fn is_bit_mask(image: &Image, layer: Layer) -> bool {
    layer == Layer::Mask && image.sample.bits < 8
}

pub(crate) fn is_inverted(image: &Image, meaning: &Meaning) -> bool {
    meaning.invert_min_is_white
        && image.colour.photometric == Photometric::MinIsWhite
        && image.sample.format == SampleFormat::Uint
}

pub(crate) fn is_turned(image: &Image, layout: Layout) -> bool {
    layout.apply_orientation && image.orientation != 1
}

/// `v` becomes `2^bits − 1 − v`: in each sample the low `bits` bits are flipped.
fn invert(pixels: &mut [u8], data_type: DataType, bits: u16) {
    let mask = if bits >= 64 { u64::MAX } else { (1u64 << bits) - 1 };
    let bytes = mask.to_le_bytes();
    for sample in pixels.chunks_exact_mut(data_type.size()) {
        if cfg!(target_endian = "big") {
            for (byte, mask) in sample.iter_mut().rev().zip(bytes) {
                *byte ^= mask;
            }
        } else {
            for (byte, mask) in sample.iter_mut().zip(bytes) {
                *byte ^= mask;
            }
        }
    }
}

/// The raster with the row and column that Orientation calls first at the top left.
fn turned(raster: &Raster, orientation: u8) -> Result<Raster> {
    let (rows, columns) = (raster.rows as usize, raster.columns as usize);
    let swaps = orientation >= 5;
    // Does the picture's first row (column) come from the end of the stored ones?
    let (flip_rows, flip_columns) = match orientation {
        2 | 8 => (false, true),
        3 | 7 => (true, true),
        4 | 6 => (true, false),
        _ => (false, false),
    };
    let (out_rows, out_columns) = if swaps { (columns, rows) } else { (rows, columns) };
    let source = |row: usize, column: usize| {
        let (r, c) = if swaps { (column, row) } else { (row, column) };
        (if flip_rows { rows - 1 - r } else { r }, if flip_columns { columns - 1 - c } else { c })
    };
    let size = raster.data_type.size();
    let (pixel, planes) = match raster.interleave {
        Interleave::BandFirst => (size, raster.bands as usize),
        Interleave::BandLast => (size * raster.bands as usize, 1),
    };
    let mut pixels = try_with_capacity(raster.pixels.len(), "the turned image")?;
    for plane in 0..planes {
        for row in 0..out_rows {
            for column in 0..out_columns {
                let (r, c) = source(row, column);
                let at = ((plane * rows + r) * columns + c) * pixel;
                pixels.extend_from_slice(raster.pixels.get(at..at + pixel).unwrap_or_default());
            }
        }
    }
    let (rows, columns) = if swaps { (raster.columns, raster.rows) } else { (raster.rows, raster.columns) };
    let Raster { bands, data_type, interleave, fill, .. } = *raster;
    Ok(Raster { rows, columns, pixels, bands, data_type, interleave, fill })
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_engine::Fill;

    /// The images of TIFF 6.0, section Orientation: 1 2 3 / 4 5 6 as a person sees it, stored each way.
    #[test]
    fn every_orientation_gives_the_same_picture() {
        let stored: [(u8, u32, u32, &[u8]); 8] = [
            (1, 2, 3, &[1, 2, 3, 4, 5, 6]),
            (2, 2, 3, &[3, 2, 1, 6, 5, 4]),
            (3, 2, 3, &[6, 5, 4, 3, 2, 1]),
            (4, 2, 3, &[4, 5, 6, 1, 2, 3]),
            (5, 3, 2, &[1, 4, 2, 5, 3, 6]),
            (6, 3, 2, &[3, 6, 2, 5, 1, 4]),
            (7, 3, 2, &[6, 3, 5, 2, 4, 1]),
            (8, 3, 2, &[4, 1, 5, 2, 6, 3]),
        ];
        for (orientation, rows, columns, pixels) in stored {
            let raster = Raster {
                data_type: DataType::U8,
                bands: 1,
                rows,
                columns,
                interleave: Interleave::BandFirst,
                pixels: pixels.to_vec(),
                fill: Fill::default(),
            };
            let seen = turned(&raster, orientation).unwrap();
            assert_eq!(
                (seen.rows, seen.columns, seen.pixels.as_slice()),
                (2, 3, &[1u8, 2, 3, 4, 5, 6][..]),
                "orientation {orientation}"
            );
        }
    }

    #[test]
    fn white_is_the_largest_value_of_the_depth() {
        let mut pixels = vec![0, 1, 15];
        invert(&mut pixels, DataType::U8, 4);
        assert_eq!(pixels, [15, 14, 0]);
        let mut wide = 5u16.to_ne_bytes().to_vec();
        invert(&mut wide, DataType::U16, 12);
        assert_eq!(wide, (4095u16 - 5).to_ne_bytes());
    }
}
