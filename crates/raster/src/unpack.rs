//! Reads whose samples become floats: nodata as NaN, real values by the scale and offset of the bands.
//!
//! What is done is decided here, before anything is read; the engine does it in the pass that places pixels.

use crate::adjust;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::options::{FloatType, Layer, ReadOptions};
use strile_engine::{Convert, Fill};
use strile_tiff::DataType;

/// A conversion and the type it gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unpacking {
    pub(crate) convert: Convert,
    pub(crate) data_type: DataType,
}

impl Dataset {
    /// How the samples of a request are converted; `None` where they stay as they are: it was not asked for, or there is
    /// neither a nodata value nor, where scaling is asked for, a scale or an offset.
    pub(crate) fn unpacking(&self, options: &ReadOptions) -> Result<Option<Unpacking>> {
        if options.layer != Layer::Pixels || !(options.masked || options.unpack) {
            return Ok(None);
        }
        let target = self.target(options)?;
        // A type that is not known is refused by who reads it.
        let Some(stored) = target.image.sample.data_type() else { return Ok(None) };
        let nodata = self.metadata().nodata.and_then(|nodata| nodata.to_sample(stored)).map(Fill);
        let scaling = if options.unpack { self.scaling(options.page, &target.bands)? } else { None };
        let convert = match (nodata, scaling) {
            (None, None) => return Ok(None),
            (nodata, None) => Convert::masking(nodata),
            (nodata, Some((scale, offset))) => Convert { nodata, scale, offset },
        };
        if !Convert::takes(stored) {
            return Err(self.refuse(format!(
                "samples of {stored} are neither masked nor scaled, read them as they are"
            )));
        }
        if adjust::is_inverted(&target.image, options) {
            let problem =
                "white as maximum is for stored values, it does not go with masked or unpacked ones";
            return Err(self.refuse(problem.into()));
        }
        // Floats that hold every stored value.
        let data_type = match (options.float_type, stored.size()) {
            (Some(FloatType::Float16), _) => DataType::F16,
            (Some(FloatType::Float32), _) => DataType::F32,
            (Some(FloatType::Float64), _) => DataType::F64,
            (None, 1 | 2) => DataType::F32,
            (None, 4) if stored == DataType::F32 => DataType::F32,
            (None, _) => DataType::F64,
        };
        Ok(Some(Unpacking { convert, data_type }))
    }

    /// Scale and offset of the bands, where one of them says so; they must be the same for all.
    fn scaling(&self, page: usize, bands: &[u16]) -> Result<Option<(f64, f64)>> {
        if page != 0 {
            return Err(self
                .refuse(format!("scale and offset are known of page 0, not of page {page}: read without")));
        }
        let mut first: Option<(u16, (f64, f64))> = None;
        let mut told = (false, false);
        for &number in bands {
            let band = usize::from(number).checked_sub(1).and_then(|at| self.metadata().bands.get(at));
            let (scale, offset) = band.map_or((None, None), |band| (band.scale, band.offset));
            told = (told.0 || scale.is_some(), told.1 || offset.is_some());
            let values = (scale.unwrap_or(1.0), offset.unwrap_or(0.0));
            if !values.0.is_finite() || values.0 == 0.0 || !values.1.is_finite() {
                return Err(self.refuse(format!(
                    "band {number} has scale {} and offset {}, which give no values: read without",
                    values.0, values.1
                )));
            }
            let (other, same) = *first.get_or_insert((number, values));
            if same != values {
                return Err(self.refuse(format!(
                    "bands {other} and {number} differ in scale and offset ({} and {}, {} and {}): \
                     read them one at a time",
                    same.0, same.1, values.0, values.1
                )));
            }
        }
        // An offset that nobody gave changes no value, not even -0.
        Ok(first
            .filter(|_| told.0 || told.1)
            .map(|(_, (scale, offset))| (scale, if told.1 { offset } else { Convert::masking(None).offset })))
    }
}
