//! The sources of a mosaic as it states them, and those that are missing.

use super::Vrt;
use super::parse::{Band, Source};
use super::paths::Refusal;
use std::path::PathBuf;
use std::sync::PoisonError;
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// The statements of a VRT about one band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VrtBand {
    /// Its type; `None` if no type is stated.
    pub data_type: Option<DataType>,
    /// Its nodata value, whether samples can hold it or not.
    pub nodata: Option<NoData>,
    /// Whether a source scales its values, so that they have fractions whatever the type.
    pub is_scaled: bool,
}

/// One source of one band.
#[derive(Debug, Clone, PartialEq)]
pub struct VrtSource {
    /// Name of the file, as in the VRT; a URL without credentials.
    pub name: String,
    /// The file, if it exists and may be opened; for a remote source its URL, with credentials, whether it exists or
    /// not.
    pub path: Option<PathBuf>,
    /// The reason why it may not be opened; `None` for one that does not exist.
    pub problem: Option<String>,
    /// Band of the mosaic, from 1.
    pub band: usize,
    /// Band of the file, from 1.
    pub source_band: u16,
    /// Column, row, width and height in the file; `None` for all of it.
    pub source_rect: Option<[f64; 4]>,
    /// Column, row, width and height in the mosaic; `None` for all of it.
    pub target_rect: Option<[f64; 4]>,
}

impl Vrt {
    /// Returns the statements of the file about each band.
    pub fn listed_bands(&self) -> Vec<VrtBand> {
        let is_scaled = |source: &Source| source.complex.as_ref().is_some_and(|complex| complex.is_scaled());
        let stated = |band: &Band| VrtBand {
            data_type: band.stated_type,
            nodata: band.stated_nodata,
            is_scaled: band.sources.iter().any(is_scaled),
        };
        self.bands.iter().map(stated).collect()
    }

    /// Returns whether it is a warped VRT: its source may have another grid and another reference system.
    pub fn is_warped(&self) -> bool {
        self.warp.is_some()
    }

    /// Returns the `ResampleAlg` of a source that changes its size. Reads use the nearest pixel, as GDAL does.
    pub fn ignored_resampling(&self) -> Option<&str> {
        self.ignored_resampling.as_deref()
    }

    /// Returns every source of every band, in order. Looks for each file once, without opening it.
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
                name: self.file_name(source.file),
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

    /// Returns the sources that reads have skipped so far, by their names in the VRT, and the reasons: missing or
    /// damaged.
    pub fn missing_sources(&self) -> Vec<(String, String)> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.iter().map(|(name, problem)| (name.clone(), problem.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vrt::VrtOptions;

    /// One band per (attributes, elements).
    fn opened(bands: &[(&str, &str)]) -> Vrt {
        let band = |(attributes, inside): &(&str, &str)| {
            format!("<VRTRasterBand {attributes}>{inside}</VRTRasterBand>")
        };
        let bands: String = bands.iter().map(band).collect();
        let text = format!("<VRTDataset rasterXSize=\"4\" rasterYSize=\"4\">{bands}</VRTDataset>");
        let options = VrtOptions { data_type: Some(DataType::F64), ..VrtOptions::default() };
        Vrt::from_text("a.vrt", &text, ".", &options).unwrap()
    }

    #[test]
    fn bands_are_listed_as_stated() {
        let source = |kind: &str, inside: &str| {
            format!("<{kind}><SourceFilename>a.tif</SourceFilename>{inside}</{kind}>")
        };
        let scaled = source("ComplexSource", "<ScaleRatio>2</ScaleRatio>");
        let neutral = source("ComplexSource", "<ScaleRatio>1</ScaleRatio><ScaleOffset>0</ScaleOffset>");
        let hidden = "<NoDataValue>300</NoDataValue><HideNoDataValue>1</HideNoDataValue>";
        let vrt = opened(&[("dataType=\"Byte\"", hidden), ("", &scaled), ("dataType=\"Int16\"", &neutral)]);
        let band = |data_type, nodata, is_scaled| VrtBand { data_type, nodata, is_scaled };
        let expected = [
            band(Some(DataType::U8), Some(NoData::Integer(300)), false),
            band(None, None, true),
            band(Some(DataType::I16), None, false),
        ];
        assert_eq!(vrt.listed_bands(), expected);
        assert_eq!((vrt.nodata(1), vrt.ignored_resampling()), (None, None));
    }

    #[test]
    fn a_resampling_that_gdal_passes_over_is_named() {
        let rects = |size: u32| {
            let rect = |name: &str, size: u32| {
                format!("<{name} xOff=\"0\" yOff=\"0\" xSize=\"{size}\" ySize=\"{size}\"/>")
            };
            format!("{}{}", rect("SrcRect", 4), rect("DstRect", size))
        };
        for (name, size, expected) in
            [("bilinear", 2, Some("bilinear")), ("bilinear", 4, None), ("NearestNeighbour", 2, None)]
        {
            let source = format!(
                "<SimpleSource><SourceFilename>a.tif</SourceFilename><ResampleAlg>{name}</ResampleAlg>{}</SimpleSource>",
                rects(size)
            );
            assert_eq!(
                opened(&[("dataType=\"Byte\"", &source)]).ignored_resampling(),
                expected,
                "{name} {size}"
            );
        }
    }
}
