//! Halving of images. The arithmetic is in `reduce.md`.

use crate::{EngineError, Fill, OutputError, OutputSpec, SharedPixels, Support};
use std::ops::Range;
use strile_tiff::DataType;

/// How a pixel of a reduced image is computed from the pixels of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resampling {
    /// One of the four pixels.
    Nearest,
    /// Mean.
    Average,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Median.
    Median,
    /// Most frequent value.
    Mode,
    /// Root mean square.
    Rms,
    /// Weighted by a Gaussian.
    Gauss,
    /// Weighted by distance.
    Bilinear,
    /// Cubic convolution.
    Cubic,
    /// Lanczos windowed sinc.
    Lanczos,
}

impl Resampling {
    /// All methods.
    pub const ALL: [Self; 11] = [
        Self::Nearest,
        Self::Average,
        Self::Min,
        Self::Max,
        Self::Median,
        Self::Mode,
        Self::Rms,
        Self::Gauss,
        Self::Bilinear,
        Self::Cubic,
        Self::Lanczos,
    ];

    /// Returns GDAL's name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Average => "average",
            Self::Min => "min",
            Self::Max => "max",
            Self::Median => "median",
            Self::Mode => "mode",
            Self::Rms => "rms",
            Self::Gauss => "gauss",
            Self::Bilinear => "bilinear",
            Self::Cubic => "cubic",
            Self::Lanczos => "lanczos",
        }
    }

    /// Returns the pixels needed on each side of the two by two under a reduced pixel, as far as the image has them.
    pub const fn halo(self) -> u32 {
        match self {
            Self::Nearest | Self::Average | Self::Min | Self::Max | Self::Median | Self::Mode | Self::Rms => {
                0
            }
            Self::Gauss | Self::Bilinear => 1,
            Self::Cubic => 3,
            Self::Lanczos => 5,
        }
    }

    /// Returns whether the method is defined for samples of this type.
    pub fn support(self, data_type: DataType) -> Support {
        let complex = matches!(data_type, DataType::C64 | DataType::C128);
        match self {
            Self::Nearest | Self::Average => Support::Yes,
            _ if !complex => Support::Yes,
            _ => Support::No(format!(
                "{} of {data_type} is not defined; complex numbers can be reduced by nearest or average",
                self.name()
            )),
        }
    }
}

/// A part of a reduced image to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReduceTask {
    /// Index of the source pixels: the part below, with its halo as far as the image has one.
    pub pixels: u32,
    /// Index of the mask of the same part, one band of `uint8`, 0 at invalid pixels.
    pub mask: Option<u32>,
    /// Position of the first of those pixels in the image: column, row.
    pub origin: (u32, u32),
    /// Size of the image: columns, rows. The reduced one has half of each, rounded up.
    pub image: (u32, u32),
    /// Position of the part in the reduced image: column, row.
    pub target: (u32, u32),
    /// Columns and rows of the part.
    pub size: (u32, u32),
}

impl ReduceTask {
    /// Returns the columns of the image that the part is computed from, halo included.
    pub fn source_columns(&self, method: Resampling) -> Range<u32> {
        under(self.target.0, self.size.0, method.halo(), self.image.0)
    }

    /// Returns the rows of the image that the part is computed from, halo included.
    pub fn source_rows(&self, method: Resampling) -> Range<u32> {
        under(self.target.1, self.size.1, method.halo(), self.image.1)
    }

    /// Returns the source pixels and their mask, after checking that the part lies in its image, that the pixels
    /// suffice, and that the method is defined for them.
    pub fn sources<'a>(
        &self,
        method: Resampling,
        pixels: &'a [SharedPixels],
    ) -> Result<(&'a SharedPixels, Option<&'a SharedPixels>), EngineError> {
        let find = |index: u32| {
            let found = pixels.get(index as usize);
            found.ok_or_else(|| mismatch(format!("{} of them", pixels.len()), format!("number {index}")))
        };
        let (source, mask) = (find(self.pixels)?, self.mask.map(find).transpose()?);
        let spec = source.spec();
        if let Support::No(reason) = method.support(spec.data_type) {
            return Err(mismatch(format!("{}", spec.data_type), reason));
        }
        let reduced = (self.image.0.div_ceil(2), self.image.1.div_ceil(2));
        let inside = |start: u32, len: u32, whole: u32| {
            len >= 1 && u64::from(start) + u64::from(len) <= u64::from(whole)
        };
        if !inside(self.target.0, self.size.0, reduced.0) || !inside(self.target.1, self.size.1, reduced.1) {
            return Err(mismatch(
                format!("a part of {} × {} at {:?}", self.size.0, self.size.1, self.target),
                format!("one within {} × {}", reduced.0, reduced.1),
            ));
        }
        let (columns, rows) = (self.source_columns(method), self.source_rows(method));
        let holds = |origin: u32, have: u32, need: &Range<u32>| {
            origin <= need.start && u64::from(origin) + u64::from(have) >= u64::from(need.end)
        };
        if !holds(self.origin.0, spec.columns, &columns) || !holds(self.origin.1, spec.rows, &rows) {
            return Err(mismatch(
                format!("{} × {} pixels at {:?}", spec.columns, spec.rows, self.origin),
                format!("columns {columns:?} and rows {rows:?} of the image"),
            ));
        }
        if let Some(mask) = mask.map(SharedPixels::spec) {
            let same = (mask.rows, mask.columns) == (spec.rows, spec.columns);
            if !same || mask.bands != 1 || mask.data_type != DataType::U8 {
                return Err(mismatch(
                    format!("a mask of {} × {} × {} {}", mask.bands, mask.rows, mask.columns, mask.data_type),
                    format!("1 × {} × {} uint8", spec.rows, spec.columns),
                ));
            }
        }
        if spec.bands == 0 {
            return Err(mismatch("no bands".to_owned(), "one or more".to_owned()));
        }
        Ok((source, mask))
    }

    /// Returns the shapes of the result and of its mask: bands last if `source` has them between its columns.
    pub fn reduced_specs(&self, source: &OutputSpec) -> Result<(OutputSpec, OutputSpec), OutputError> {
        let (columns, rows) = self.size;
        let pixels = match source.bands > 1 && source.strides.band < source.strides.column {
            true => OutputSpec::band_last(source.data_type, source.bands, rows, columns),
            false => OutputSpec::band_first(source.data_type, source.bands, rows, columns),
        }?;
        Ok((pixels, OutputSpec::band_first(DataType::U8, 1, rows, columns)?))
    }
}

/// Returns the source range under a range of the reduced axis, with a halo, clipped to the image.
fn under(start: u32, len: u32, halo: u32, image: u32) -> Range<u32> {
    let end = (u64::from(start) + u64::from(len)) * 2 + u64::from(halo);
    let end = u32::try_from(end).map_or(image, |end| end.min(image));
    start.saturating_mul(2).saturating_sub(halo)..end
}

fn mismatch(found: String, expected: String) -> EngineError {
    EngineError::Mismatch { what: "pixels", found, expected }
}

/// Parts to compute, all with one method.
#[derive(Debug, Clone)]
pub struct ReduceJob {
    /// The method.
    pub method: Resampling,
    /// Samples with this value are invalid; NaN always is.
    pub nodata: Option<Fill>,
    /// Parts, in the order of the results.
    pub tasks: Vec<ReduceTask>,
}

/// A part of a reduced image.
#[derive(Debug, Clone)]
pub struct Reduced {
    /// Contiguous pixels in the memory of the engine, bands first or last as in the source.
    pub pixels: SharedPixels,
    /// Mask, 0 or 255, if the task has one.
    pub mask: Option<SharedPixels>,
}
