//! Reads whose samples become floats: nodata as NaN, real values by the scale and offset of the bands.
//!
//! The conversion is decided here, before anything is read; the engine applies it in the pass that places pixels.

use super::mask::MaskSource;
use super::steps::is_inverted;
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::metadata::Metadata;
use crate::options::{FloatType, Layer, Meaning, Place, ReadOptions};
use strile_engine::{Convert, Fill};
use strile_tiff::gdal::NoData;
use strile_tiff::{DataType, Image, SampleFormat};

/// A conversion, and the type of its result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unpacking {
    pub(crate) convert: Convert,
    pub(crate) data_type: DataType,
    pub(crate) missing: Missing,
    /// Whether samples are placed unchanged, and nodata samples are replaced afterwards. This is how complex samples
    /// are masked, and floats that are searched for nodata: after a conversion it could not be distinguished from other
    /// NaN.
    pub(crate) in_place: bool,
}

/// The source of missing pixels of an image: the nodata value, else the mask image, else alpha.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Missing {
    /// The nodata value.
    Value(NoData),
    /// The mask image of the level.
    Image,
    /// This band, from 1.
    Alpha(u16),
    /// No pixel is missing.
    None,
}

impl Missing {
    /// Returns whether a mask is read for it.
    pub(super) fn is_masked(self) -> bool {
        matches!(self, Self::Image | Self::Alpha(_))
    }
}

impl Dataset {
    /// Returns the source of missing pixels of a request; `None` for masks.
    pub(super) fn missing(&self, image: &Image, place: &Place) -> Result<Option<Missing>> {
        if place.layer != Layer::Pixels {
            return Ok(None);
        }
        let given = place.onto.as_ref().and_then(|onto| onto.warp.nodata);
        if let Some(value) = given.or(self.metadata().nodata) {
            return Ok(Some(Missing::Value(value)));
        }
        let has_mask = |level: usize| {
            let place = Place::new().page(place.page).level(level);
            Ok::<_, Error>(self.mask_source(&place)? == MaskSource::Image)
        };
        if has_mask(place.level)? {
            let problem = "a mask image has no lower resolutions; read without `reduce`, or an overview";
            return match place.reduce {
                0 => Ok(Some(Missing::Image)),
                _ => Err(self.refuse(problem.into())),
            };
        }
        if place.level > 0 && has_mask(0)? {
            let level = place.level;
            return Err(self.refuse(format!(
                "level {level} has no mask, but the full image has one; read the full image, or build the \
                 overviews again with masks"
            )));
        }
        Ok(Some(match MaskSource::of(image, false) {
            MaskSource::Alpha(band) => Missing::Alpha(band),
            MaskSource::Image | MaskSource::NoData | MaskSource::AllValid => Missing::None,
        }))
    }

    /// Returns how the samples of a request are converted; `None` if they are unchanged: no conversion was requested,
    /// or no pixels can be missing and there is no scale or offset.
    pub(crate) fn unpacking(
        &self,
        image: &Image,
        bands: &[u16],
        place: &Place,
        meaning: &Meaning,
    ) -> Result<Option<Unpacking>> {
        if !meaning.is_masked() {
            return Ok(None);
        }
        let Some(missing) = self.missing(image, place)? else { return Ok(None) };
        // The read reports an unknown type.
        let Some(stored) = image.sample.data_type() else { return Ok(None) };
        let scaling = match (meaning.unpack, place.page) {
            (false, _) => None,
            (true, 0) => scaling(self.metadata(), bands, meaning).map_err(|problem| self.refuse(problem))?,
            (true, page) => {
                return Err(self.refuse(format!(
                    "scale and offset are known of page 0, not of page {page}: read without"
                )));
            }
        };
        let unpacking = Unpacking::new(stored, missing, scaling, meaning);
        let unpacking = unpacking.map_err(|problem| self.refuse(problem))?;
        let inverted = is_inverted(image, meaning) && !unpacking.is_some_and(|unpacking| unpacking.in_place);
        Ok(unpacking.map(|unpacking| if inverted { unpacking.inverted(image) } else { unpacking }))
    }

    /// Returns whether the samples of a request are converted while they are placed.
    pub(super) fn converts(&self, image: &Image, bands: &[u16], options: &ReadOptions) -> Result<bool> {
        let unpacking = self.unpacking(image, bands, &options.place, &options.meaning)?;
        Ok(unpacking.is_some_and(|unpacking| !unpacking.in_place))
    }
}

impl Unpacking {
    /// Returns how samples of a type are converted; `None` if they are unchanged. The error is in words.
    pub(crate) fn new(
        stored: DataType,
        missing: Missing,
        scaling: Option<(f64, f64)>,
        meaning: &Meaning,
    ) -> std::result::Result<Option<Self>, String> {
        let nodata = match missing {
            Missing::Value(value) => value.to_sample(stored).map(Fill),
            Missing::Image | Missing::Alpha(_) | Missing::None => None,
        };
        let convert = match (nodata, scaling) {
            (None, None) if !missing.is_masked() => return Ok(None),
            (nodata, None) => Convert::masking(nodata),
            (nodata, Some((scale, offset))) => Convert { nodata, scale, offset },
        };
        let float_type = meaning.float_type;
        if !Convert::takes(stored) && (meaning.unpack || float_type.is_some()) {
            return Err(format!(
                "samples of {stored} are neither scaled nor converted, read them as they are"
            ));
        }
        let is_kept = match (stored, float_type) {
            (DataType::F32, None | Some(FloatType::Float32))
            | (DataType::F64, None | Some(FloatType::Float64)) => {
                meaning.look_for.is_some() && !meaning.unpack && nodata.is_some()
            }
            (DataType::C64 | DataType::C128, _) => true,
            _ => false,
        };
        if is_kept {
            return Ok(Some(Self { convert, data_type: stored, missing, in_place: true }));
        }
        // Floats that hold every stored value.
        let data_type = match (float_type, stored.size()) {
            (Some(FloatType::Float16), _) => DataType::F16,
            (Some(FloatType::Float32), _) => DataType::F32,
            (Some(FloatType::Float64), _) => DataType::F64,
            (None, 1 | 2) => DataType::F32,
            (None, 4) if stored == DataType::F32 => DataType::F32,
            (None, _) => DataType::F64,
        };
        Ok(Some(Self { convert, data_type, missing, in_place: false }))
    }

    /// Returns the conversion for samples that are stored white-is-zero: inverted, then converted.
    fn inverted(self, image: &Image) -> Self {
        let Convert { nodata, scale, offset } = self.convert;
        let white = match image.sample.format {
            SampleFormat::Uint => 2f64.powi(image.sample.bits.into()) - 1.0,
            _ => 0.0,
        };
        Self { convert: Convert { nodata, scale: -scale, offset: white * scale + offset }, ..self }
    }
}

/// Returns scale and offset of some bands: the given ones, else those that the file states. Fails, in words, if bands
/// differ.
pub(crate) fn scaling(
    metadata: &Metadata,
    bands: &[u16],
    meaning: &Meaning,
) -> std::result::Result<Option<(f64, f64)>, String> {
    if let Some(given) = meaning.scaling {
        return Ok(Some(given));
    }
    let mut first: Option<(u16, (f64, f64))> = None;
    let mut told = (false, false);
    for &number in bands {
        let band = usize::from(number).checked_sub(1).and_then(|at| metadata.bands.get(at));
        let (scale, offset) = band.map_or((None, None), |band| (band.scale, band.offset));
        told = (told.0 || scale.is_some(), told.1 || offset.is_some());
        let values = (scale.unwrap_or(1.0), offset.unwrap_or(0.0));
        if !values.0.is_finite() || values.0 == 0.0 || !values.1.is_finite() {
            return Err(format!(
                "band {number} has scale {} and offset {}, which give no values: read without",
                values.0, values.1
            ));
        }
        let (other, same) = *first.get_or_insert((number, values));
        if same != values {
            return Err(format!(
                "bands {other} and {number} differ in scale and offset ({} and {}, {} and {}): \
                 read them one at a time",
                same.0, same.1, values.0, values.1
            ));
        }
    }
    // A default offset changes no value, not even -0.
    Ok(first
        .filter(|_| told.0 || told.1)
        .map(|(_, (scale, offset))| (scale, if told.1 { offset } else { Convert::masking(None).offset })))
}
