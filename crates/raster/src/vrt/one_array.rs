//! A VRT as one array, with one type and one nodata value.

use super::{Vrt, VrtBand};
use crate::error::{Error, Misstated, Result};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// Type and nodata of a VRT as one array.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OneArray {
    /// The type of its samples: 64-bit floats if a source is scaled.
    pub data_type: DataType,
    /// The nodata value of each band of the VRT.
    pub nodata: Vec<Option<NoData>>,
    /// Whether bands have different nodata values.
    pub is_mixed: bool,
}

impl Vrt {
    /// Returns type and nodata of the bands, or of one of them (from 0), as one array.
    ///
    /// # Errors
    /// If the bands have different types, or different nodata values that `mixed_nodata` does not allow, or if a source
    /// is resampled with a method other than nearest.
    pub fn one_array(&self, band: Option<usize>, mixed_nodata: bool) -> Result<OneArray> {
        let file = || self.name().to_owned();
        if let Some(resampling) = self.ignored_resampling() {
            let reason = format!("a source is resampled by '{resampling}', expected the nearest pixel");
            return Err(Error::Unsupported { file: file(), reason });
        }
        let bands = self.listed_bands();
        let chosen = band.and_then(|band| bands.get(band..=band)).unwrap_or(&bands);
        let mixed = |what: &str, values: Vec<String>, help: &str| {
            let problem = format!("the bands have different {what} ({}) and {help}", values.join(", "));
            Err(Error::Misstated { file: file(), what: Misstated::Bands, problem })
        };
        let data_type = |band: &VrtBand| band.data_type.unwrap_or(DataType::F32);
        let first = chosen.first().map_or(DataType::F32, data_type);
        if band.is_none() && bands.iter().any(|band| data_type(band) != first) {
            let types = bands.iter().map(|band| data_type(band).name().to_owned()).collect();
            return mixed("types", types, "one array holds one: pass `band` to read one");
        }
        let nodata: Vec<Option<NoData>> = bands.iter().map(|band| band.nodata).collect();
        let mut stated = nodata.iter().flatten();
        let is_same = |one: &NoData, other: &NoData| match (one.as_integer(), other.as_integer()) {
            (None, None) => one == other || (one.as_f64().is_nan() && other.as_f64().is_nan()),
            (one, other) => one == other,
        };
        let is_mixed = stated.next().is_some_and(|one| stated.any(|other| !is_same(one, other)));
        if is_mixed && !mixed_nodata {
            let values =
                nodata.iter().map(|value| value.map_or("None".to_owned(), NoData::to_text)).collect();
            let help = "attributes hold one: pass `mixed_nodata` to mask each band by its own and to keep that of the first";
            return mixed("nodata values", values, help);
        }
        let is_complex = matches!(first, DataType::C64 | DataType::C128);
        let is_scaled = !is_complex && chosen.iter().any(|band| band.is_scaled);
        Ok(OneArray { data_type: if is_scaled { DataType::F64 } else { first }, nodata, is_mixed })
    }
}
