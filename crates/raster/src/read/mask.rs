//! Valid pixels of images without a mask image: by alpha, by nodata, or all of them.
//!
//! The result is GDAL's dataset mask: 0 for a missing pixel, 255 for a valid one, and values in between for alpha.

use super::steps::Step;
use crate::options::{Interleave, Layer, Meaning, ReadOptions};
use strile_tiff::{DataType, ExtraSample, Image};

/// The source of validity of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskSource {
    /// A mask image, in the file or beside it.
    Image,
    /// This band, from 1, which is alpha.
    Alpha(u16),
    /// The nodata value: a pixel is valid if any band differs from it.
    NoData,
    /// All pixels are valid.
    AllValid,
}

impl MaskSource {
    /// Returns the source of validity of an image without a mask image.
    pub(crate) fn of(image: &Image, has_nodata: bool) -> Self {
        // Only samples beyond the colours can be alpha, whatever the tag says.
        let colours = image.colour.photometric.colour_samples();
        let extra =
            image.colour.extra_samples.iter().rev().take(usize::from(image.samples.saturating_sub(colours)));
        let alpha = extra.zip((1..=image.samples).rev()).filter(|(e, _)| **e != ExtraSample::Unspecified);
        let alpha = alpha.map(|(_, band)| band).min();
        match alpha {
            Some(band) => Self::Alpha(band),
            None if has_nodata => Self::NoData,
            None => Self::AllValid,
        }
    }

    /// Returns the step that computes the mask from the pixels that are read.
    pub(super) fn step(self) -> Option<Step> {
        match self {
            Self::Alpha(band) => Some(Step::MaskOfAlpha(band)),
            Self::NoData => Some(Step::MaskOfNodata),
            Self::Image | Self::AllValid => None,
        }
    }

    /// Returns the options that read the pixels it needs; `None` if it needs none.
    pub(super) fn pixels(self, options: &ReadOptions) -> Option<ReadOptions> {
        let place = options.place.of_layer(Layer::Pixels);
        let place = match self {
            Self::Alpha(band) => place.bands([band]),
            Self::NoData => place,
            Self::Image | Self::AllValid => return None,
        };
        let layout = options.layout.interleave(Interleave::BandFirst);
        Some(ReadOptions { place, meaning: Meaning::default(), layout, execution: options.execution })
    }
}

/// Compares two samples as values: NaN equals NaN, and both zeros are equal.
pub(crate) fn same(sample: &[u8], nodata: &[u8], data_type: DataType) -> bool {
    match (data_type, sample.first_chunk(), nodata.first_chunk(), sample.first_chunk(), nodata.first_chunk())
    {
        (DataType::F32 | DataType::C64, Some(a), Some(b), ..) => {
            let (a, b) = (f32::from_ne_bytes(*a), f32::from_ne_bytes(*b));
            a == b || (a.is_nan() && b.is_nan())
        }
        (DataType::F64 | DataType::C128, _, _, Some(a), Some(b)) => {
            let (a, b) = (f64::from_ne_bytes(*a), f64::from_ne_bytes(*b));
            a == b || (a.is_nan() && b.is_nan())
        }
        _ => sample == nodata,
    }
}
