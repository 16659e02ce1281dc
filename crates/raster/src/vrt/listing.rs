//! The sources of a mosaic as it states them, and which of them were missing.

use super::Vrt;
use super::parse::{Band, Source};
use super::paths::Refusal;
use std::path::PathBuf;
use std::sync::PoisonError;
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// What a VRT states about one band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VrtBand {
    /// Its type; `None` where no type is stated.
    pub data_type: Option<DataType>,
    /// Its nodata value, whether samples can hold it or not.
    pub nodata: Option<NoData>,
    /// A source scales its values, so that they have fractions whatever the type.
    pub is_scaled: bool,
}

/// One source of one band.
#[derive(Debug, Clone, PartialEq)]
pub struct VrtSource {
    /// Name of the file, as the VRT has it; of a URL without credentials.
    pub name: String,
    /// The file, where it is there and may be opened.
    pub path: Option<PathBuf>,
    /// Why it may not be opened; `None` for one that is not there.
    pub problem: Option<String>,
    /// Band of the mosaic, from 1.
    pub band: usize,
    /// Band of the file, from 1.
    pub source_band: u16,
    /// Column, row, width and height in the file; `None` for all of it.
    pub source_rect: Option<[f64; 4]>,
    /// The same in the mosaic.
    pub target_rect: Option<[f64; 4]>,
}

impl Vrt {
    /// Returns what the file states about each band.
    pub fn listed_bands(&self) -> Vec<VrtBand> {
        let is_scaled = |source: &Source| source.complex.as_ref().is_some_and(|complex| complex.is_scaled());
        let stated = |band: &Band| VrtBand {
            data_type: band.stated_type,
            nodata: band.stated_nodata,
            is_scaled: band.sources.iter().any(is_scaled),
        };
        self.bands.iter().map(stated).collect()
    }

    /// Returns the `ResampleAlg` of a source that changes its size. Reads take the nearest pixel, as GDAL does.
    pub fn ignored_resampling(&self) -> Option<&str> {
        self.ignored_resampling.as_deref()
    }

    /// Every source of every band, in their order. Looks for each file once, and opens none.
    pub fn listed_sources(&self) -> Vec<VrtSource> {
        let files: Vec<(Option<PathBuf>, Option<String>)> = self
            .files
            .iter()
            .map(|file| match self.resolve(file) {
                Ok(path) => (Some(path), None),
                Err(Refusal::Missing) => (None, None),
                Err(Refusal::Refused(reason)) => (None, Some(reason)),
                Err(Refusal::Io(error)) => (None, Some(error.to_string())),
            })
            .collect();
        let listed = |band: usize, source: &Source| {
            let (path, problem) = files.get(source.file as usize).cloned().unwrap_or_default();
            let rectangles = source.rectangles;
            VrtSource {
                name: crate::redact::redacted(self.file_name(source.file)),
                path,
                problem,
                band,
                source_band: source.band,
                source_rect: rectangles
                    .map(|r| [r.across.source, r.down.source, r.across.source_size, r.down.source_size]),
                target_rect: rectangles
                    .map(|r| [r.across.target, r.down.target, r.across.target_size, r.down.target_size]),
            }
        };
        let of_band = |(band, at): (&Band, usize)| -> Vec<VrtSource> {
            band.sources.iter().map(|source| listed(at, source)).collect()
        };
        self.bands.iter().zip(1..).flat_map(of_band).collect()
    }

    /// Sources that reads so far went on without, by the names the VRT has, and why: none is there, or it is damaged.
    pub fn missing_sources(&self) -> Vec<(String, String)> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.iter().map(|(name, problem)| (name.clone(), problem.clone())).collect()
    }
}
