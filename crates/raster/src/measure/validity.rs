//! Decides which samples of a band are valid. NaN never is, and alpha bands always are.
//!
//! GDAL has two rules. Its statistics use the nodata value, and only without one the mask image or alpha. Its masks,
//! which readers get, use the mask image first, then the nodata value, then alpha; here a nodata sample is missing
//! under a mask image, too.

use crate::error::Result;
use crate::file::input::Input;
use crate::number::{is_float, reader};
use crate::options::{Layer, Place};
use crate::read::{MaskSource, same};
use strile_tiff::DataType;

/// The source of validity of pixels, in addition to NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nodata values, or nothing.
    Values,
    /// The mask image. It does not apply to this band, which is alpha.
    Mask(Option<u16>),
    /// This band, from 1: pixels are valid where it is not 0.
    Alpha(u16),
}

/// Decides which samples of one band are valid.
pub(crate) struct BandValidity {
    nodata: Option<[u8; 16]>,
    data_type: DataType,
    number: fn(&[u8]) -> f64,
    /// Whether the mask or alpha is used.
    pub(crate) by_pixel: bool,
}

impl Shown {
    /// Returns the rule of GDAL's statistics.
    pub(crate) fn in_statistics(input: &Input, place: &Place) -> Result<Self> {
        Self::of(input, place, |source, has_nodata| has_nodata || source == MaskSource::NoData)
    }

    /// Returns the rule of reads.
    pub(crate) fn in_reading(input: &Input, place: &Place) -> Result<Self> {
        Self::of(input, place, |source, has_nodata| has_nodata && source != MaskSource::Image)
    }

    fn of(input: &Input, place: &Place, by_value: fn(MaskSource, bool) -> bool) -> Result<Self> {
        let pixels = place.clone().layer(Layer::Pixels);
        let (source, has_nodata) = match input {
            Input::Tiff(dataset) => (dataset.mask_source(&pixels)?, dataset.metadata().nodata.is_some()),
            Input::Vrt(vrt) => (vrt.mask_source(), (1..=vrt.bands()).any(|band| vrt.nodata(band).is_some())),
        };
        Ok(match source {
            _ if by_value(source, has_nodata) => Self::Values,
            MaskSource::Image => Self::Mask(input.alpha_band(&pixels)?),
            MaskSource::Alpha(band) => Self::Alpha(band),
            MaskSource::NoData | MaskSource::AllValid => Self::Values,
        })
    }

    /// Returns the rule of one band with samples of this type.
    pub(crate) fn band(self, input: &Input, band: u16, data_type: DataType) -> BandValidity {
        let nodata = match input {
            Input::Tiff(dataset) => dataset.metadata().nodata,
            Input::Vrt(vrt) => vrt.nodata(band),
        };
        let by_pixel = match self {
            Self::Values => false,
            Self::Mask(alpha) => alpha != Some(band),
            Self::Alpha(alpha) => alpha != band,
        };
        let nodata = nodata.and_then(|nodata| nodata.to_sample(data_type));
        BandValidity { nodata, data_type, number: reader(data_type), by_pixel }
    }
}

impl BandValidity {
    /// Returns the type of the samples.
    pub(crate) fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Returns the same rule for samples whose nodata became NaN.
    pub(crate) fn without_nodata(self) -> Self {
        Self { nodata: None, ..self }
    }

    /// Returns whether a sample is valid. `shown` says whether its pixel is shown.
    pub(crate) fn is_valid(&self, sample: &[u8], shown: bool) -> bool {
        let is_nodata = |nodata: &[u8; 16]| {
            let nodata = nodata.get(..self.data_type.size()).unwrap_or_default();
            same(sample, nodata, self.data_type)
        };
        let is_hidden = self.by_pixel && !shown;
        let is_nan = is_float(self.data_type) && (self.number)(sample).is_nan();
        !is_hidden && !is_nan && !self.nodata.as_ref().is_some_and(is_nodata)
    }
}
