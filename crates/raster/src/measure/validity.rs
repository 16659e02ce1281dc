//! Which samples of a band count, by GDAL's rule: those that are not the nodata value; where there is no such value, those
//! whose pixel the mask image or alpha shows. Alpha itself is always valid, and NaN never is.

use crate::error::Result;
use crate::input::Input;
use crate::number::{is_float, reader};
use crate::options::{Layer, ReadOptions};
use crate::read::{MaskSource, same};
use strile_tiff::DataType;

/// What says which pixels are valid, beside NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nodata values, or nothing.
    ByValue,
    /// The mask image.
    ByMask,
    /// This band, from 1, where it is not 0.
    ByAlpha(u16),
}

/// Finds out which samples of one band are valid.
pub(crate) struct BandValidity {
    nodata: Option<[u8; 16]>,
    data_type: DataType,
    number: fn(&[u8]) -> f64,
    /// Whether the mask or alpha is looked at.
    pub(crate) by_pixel: bool,
}

impl Shown {
    /// The rule of an input's level.
    pub(crate) fn of(input: &Input, options: &ReadOptions) -> Result<Self> {
        let (source, has_nodata) = match input {
            Input::Tiff(dataset) => {
                let pixels = ReadOptions { layer: Layer::Pixels, ..options.clone() };
                (dataset.mask_source(&pixels)?, dataset.metadata().nodata.is_some())
            }
            Input::Vrt(vrt) => (vrt.mask_source(), (1..=vrt.bands()).any(|band| vrt.nodata(band).is_some())),
        };
        Ok(match source {
            _ if has_nodata => Self::ByValue,
            MaskSource::Image => Self::ByMask,
            MaskSource::Alpha(band) => Self::ByAlpha(band),
            MaskSource::NoData | MaskSource::AllValid => Self::ByValue,
        })
    }

    /// The rule of one band with samples of this type.
    pub(crate) fn band(self, input: &Input, band: u16, data_type: DataType) -> BandValidity {
        let nodata = match input {
            Input::Tiff(dataset) => dataset.metadata().nodata,
            Input::Vrt(vrt) => vrt.nodata(band),
        };
        let by_pixel = match self {
            Self::ByValue => false,
            Self::ByMask => true,
            Self::ByAlpha(alpha) => alpha != band,
        };
        let nodata = nodata.and_then(|nodata| nodata.to_sample(data_type));
        BandValidity { nodata, data_type, number: reader(data_type), by_pixel }
    }
}

impl BandValidity {
    /// The type of the samples.
    pub(crate) fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The same for samples whose nodata became NaN.
    pub(crate) fn without_nodata(self) -> Self {
        Self { nodata: None, ..self }
    }

    /// Whether a sample counts, whose pixel is shown or not.
    pub(crate) fn is_valid(&self, sample: &[u8], shown: bool) -> bool {
        let is_nodata = |nodata: &[u8; 16]| {
            let nodata = nodata.get(..self.data_type.size()).unwrap_or_default();
            same(sample, nodata, self.data_type)
        };
        (shown || !self.by_pixel)
            && !self.nodata.as_ref().is_some_and(is_nodata)
            && !(is_float(self.data_type) && (self.number)(sample).is_nan())
    }
}
