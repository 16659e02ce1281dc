//! Blending of one band of a mosaic layer onto a band of an output: the job's description and its arithmetic, which is
//! bit-identical in every engine.
//!
//! Each sample of the rectangle comes from one pixel of the layer, selected by the picks of its column and its row. The
//! pixel is copied, converted, or changed like in a complex source of a VRT (`blend_values`) in the precision that GDAL
//! uses; or it is transparent and leaves the sample below. Numbers are converted to other sample types by the rules of
//! `number`.

use crate::number::{Number, sample_of};
use crate::{BlendValues, EngineError, Fill, OutputSpec, SharedPixels};
use std::sync::Arc;
use strile_tiff::DataType;

/// Source pixels of the samples along one axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picks {
    /// Consecutive pixels from the first one on.
    Run,
    /// One pixel index per sample.
    Each(Arc<[u32]>),
}

impl Picks {
    /// Returns the pixel index of a sample.
    pub fn get(&self, at: u32) -> u32 {
        match self {
            Self::Run => at,
            Self::Each(picks) => picks.get(at as usize).copied().unwrap_or(0),
        }
    }

    /// Returns one pick per sample; empty if the pixels are consecutive.
    pub fn each(&self) -> &[u32] {
        match self {
            Self::Run => &[],
            Self::Each(picks) => picks,
        }
    }

    /// Returns whether there are `count` picks, all below `pixels`.
    fn fits(&self, count: u32, pixels: u32) -> bool {
        match self {
            Self::Run => count <= pixels,
            Self::Each(picks) => picks.len() == count as usize && picks.iter().all(|&pick| pick < pixels),
        }
    }
}

/// How the samples of a layer are changed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blend {
    /// Operations of a complex source; `None` for a simple source.
    pub values: Option<Arc<BlendValues>>,
    /// Transparent value. The nodata value in `values` is ignored.
    pub nodata: Option<f64>,
    /// Largest value that the bits of the band can hold.
    pub largest: Option<i32>,
}

/// The operation per sample.
#[derive(Debug, Clone, PartialEq)]
pub enum BlendWay {
    /// Copy the sample unchanged.
    Copy,
    /// Convert the sample; integers are clamped to `largest`.
    Convert {
        /// Largest integer.
        largest: Option<i32>,
    },
    /// Skip samples with these bytes; copy the others, or convert them if types differ.
    Unless(Fill),
    /// Change the sample.
    Change(BlendChange),
}

/// How samples are changed. Numbers have the working precision.
#[derive(Debug, Clone, PartialEq)]
pub struct BlendChange {
    /// Whether the working precision is double.
    pub is_double: bool,
    /// Transparent value, compared with a tolerance in the last digits.
    pub nodata: Option<Number>,
    /// Operations on values.
    pub values: Option<Arc<BlendValues>>,
    /// Upper limit of results.
    pub largest: Option<Number>,
    /// Both parts of complex numbers are changed; nodata and the upper limit are ignored.
    pub is_complex: bool,
    /// Results are rounded to singles before they become bytes, like GDAL does in either precision.
    pub is_byte: bool,
}

/// Blends one band of a layer onto a rectangle of a band.
#[derive(Debug, Clone)]
pub struct BlendJob {
    /// Band of the output, from 0.
    pub band: u32,
    /// First column and row of the rectangle.
    pub at: (u32, u32),
    /// Columns and rows of the rectangle.
    pub size: (u32, u32),
    /// Layer pixels of the columns.
    pub columns: Picks,
    /// Layer pixels of the rows.
    pub rows: Picks,
    /// How samples are changed.
    pub blend: Blend,
}

/// A layer to blend.
#[derive(Debug, Clone, Copy)]
pub struct BlendLayer<'a> {
    /// Samples.
    pub samples: BlendSamples<'a>,
    /// Mask, 0 at transparent pixels; picked like the samples. Only allowed for samples that are changed
    /// (`BlendWay::Change`).
    pub mask: Option<&'a SharedPixels>,
}

/// The samples of a layer.
#[derive(Debug, Clone, Copy)]
pub enum BlendSamples<'a> {
    /// One band of pixels.
    Pixels(&'a SharedPixels),
    /// One constant sample.
    One(DataType, Fill),
}

impl BlendSamples<'_> {
    /// Returns the sample type.
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Pixels(pixels) => pixels.spec().data_type,
            Self::One(data_type, _) => *data_type,
        }
    }
}

impl Blend {
    /// Returns the operation for samples of type `from` that are blended onto type `to`.
    pub fn way(&self, from: DataType, to: DataType) -> BlendWay {
        let Self { ref values, nodata, largest } = *self;
        let simple = match from == to && largest.is_none() {
            true => BlendWay::Copy,
            false => BlendWay::Convert { largest },
        };
        let Some(complex) = values else { return simple };
        let change = || BlendWay::Change(BlendChange::new(from, to, self));
        if !complex.is_only_nodata() {
            return change();
        }
        // For these types nodata is compared exactly; a value outside the type's range never matches.
        let (low, high) = match from {
            DataType::U8 => (0.0, 255.0),
            DataType::I16 => (-32_768.0, 32_767.0),
            DataType::U16 => (0.0, 65_535.0),
            _ => return change(),
        };
        match nodata {
            Some(nodata) if (low..=high).contains(&nodata) => {
                BlendWay::Unless(Fill(sample_of(Number::Double(nodata.trunc()), from)))
            }
            _ => simple,
        }
    }

    /// Returns whether values are raised to a power, which only the host computes.
    pub fn is_power(&self) -> bool {
        self.values.as_ref().is_some_and(|values| values.is_power())
    }
}

impl BlendChange {
    fn new(from: DataType, to: DataType, blend: &Blend) -> Self {
        use DataType as D;
        let Blend { ref values, nodata, largest } = *blend;
        let is_wide = |t: D| matches!(t, D::I32 | D::U32 | D::I64 | D::U64);
        let is_double = is_wide(from) || is_wide(to) || matches!(to, D::F64 | D::C128);
        let is_complex = matches!(to, D::C64 | D::C128);
        let nodata = nodata.filter(|_| !is_complex).map(|value| near_float_limit(value, from));
        let fits = |v: &f64| is_double || v.is_nan() || v.abs() <= f64::from(f32::MAX);
        let mut change = Self {
            is_double,
            nodata: None,
            values: values.clone(),
            largest: None,
            is_complex,
            is_byte: to == D::U8,
        };
        change.nodata = nodata.filter(fits).map(|v| change.working(Number::Double(v)));
        change.largest = largest.map(|v| change.working(Number::Integer(v.into())));
        change
    }

    /// Returns a number in the working precision.
    fn working(&self, number: Number) -> Number {
        match self.is_double {
            true => Number::Double(number.as_f64()),
            false => Number::Single(number.as_f32()),
        }
    }

    /// Returns the changed parts of a number; `None` if it is transparent.
    pub fn apply(&self, (real, imaginary): (Number, Number)) -> Option<(Number, Number)> {
        let value = self.working(real);
        if let Some(nodata) = self.nodata {
            let is = match (value.as_f64().is_nan(), nodata.as_f64().is_nan()) {
                (true, is_nan) => is_nan,
                (false, true) => false,
                (false, false) => value.is_near(nodata),
            };
            if is {
                return None;
            }
        }
        let changed = |v: Number| self.values.as_ref().map_or(v, |values| values.apply(v));
        if self.is_complex {
            return Some((changed(value), changed(self.working(imaginary))));
        }
        let mut value = changed(value);
        if let Some(largest) = self.largest.filter(|largest| value.as_f64() > largest.as_f64()) {
            value = largest;
        }
        if self.is_byte {
            value = Number::Single(value.as_f32());
        }
        Some((value, Number::Integer(0)))
    }
}

/// Treats a nodata value written with too few digits to be the largest single as the largest single.
fn near_float_limit(value: f64, data_type: DataType) -> f64 {
    let limit = f64::from(f32::MAX);
    match data_type {
        DataType::F32 if (value.abs() - limit).abs() < 1e-10 * limit => limit.copysign(value),
        _ => value,
    }
}

impl BlendJob {
    /// Checks that layer and output fit the job, and returns the operation per sample.
    pub fn check(&self, layer: &BlendLayer<'_>, output: &OutputSpec) -> Result<BlendWay, EngineError> {
        let mismatch =
            |found: String, expected: String| EngineError::Mismatch { what: "layer", found, expected };
        let (width, height) = self.size;
        let inside = |at: u32, len: u32, all: u32| at.checked_add(len).is_some_and(|end| end <= all);
        let fits = self.band < output.bands
            && inside(self.at.0, width, output.columns)
            && inside(self.at.1, height, output.rows);
        if !fits {
            let found = format!("{width} × {height} at {:?} of band {}", self.at, self.band);
            let expected = format!("a rectangle of {} × {} × {}", output.bands, output.columns, output.rows);
            return Err(mismatch(found, expected));
        }
        let from = layer.samples.data_type();
        let pixels = if let BlendSamples::Pixels(pixels) = layer.samples { Some(pixels) } else { None };
        for pixels in pixels.into_iter().chain(layer.mask) {
            let OutputSpec { bands, rows, columns, .. } = *pixels.spec();
            if bands != 1 || !self.columns.fits(width, columns) || !self.rows.fits(height, rows) {
                let found = format!("{bands} bands of {columns} × {rows} pixels");
                return Err(mismatch(found, "one band with all pixels that are picked".to_owned()));
            }
        }
        if output.data_type == DataType::F16 {
            return Err(mismatch(
                format!("samples of {}", DataType::F16),
                "a type that VRTs have".to_owned(),
            ));
        }
        let way = self.blend.way(from, output.data_type);
        let is_changed = matches!(way, BlendWay::Change(_));
        let unfit = layer.mask.filter(|mask| mask.spec().data_type != DataType::U8 || !is_changed);
        if let Some(mask) = unfit {
            let found = format!("a mask of {} over {from}", mask.spec().data_type);
            return Err(mismatch(found, "bytes over samples that are changed".to_owned()));
        }
        Ok(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlendScaling;

    fn samples(values: Option<BlendValues>, nodata: Option<f64>, largest: Option<i32>) -> Blend {
        Blend { values: values.map(Arc::new), nodata, largest }
    }

    #[test]
    fn the_way_depends_on_types_nodata_and_values() {
        use DataType as D;
        let plain = |largest| samples(None, None, largest);
        assert_eq!(plain(None).way(D::I16, D::I16), BlendWay::Copy);
        assert_eq!(plain(None).way(D::I16, D::U8), BlendWay::Convert { largest: None });
        assert_eq!(plain(Some(15)).way(D::U8, D::U8), BlendWay::Convert { largest: Some(15) });
        let nodata = |value| samples(Some(BlendValues::default()), Some(value), None);
        let BlendWay::Unless(fill) = nodata(7.9).way(D::U16, D::F32) else { panic!("compared as it is") };
        assert_eq!(fill.0[..2], 7u16.to_ne_bytes());
        assert_eq!(nodata(-1.0).way(D::U16, D::U16), BlendWay::Copy);
        let BlendWay::Change(change) = nodata(7.0).way(D::F32, D::F32) else { panic!("changed") };
        assert_eq!((change.is_double, change.nodata), (false, Some(Number::Single(7.0))));
        assert_eq!(change.apply((Number::Single(7.000_000_5), Number::Integer(0))), None);
        let scaling = BlendScaling::Linear { offset: 1.0, ratio: 2.0 };
        let scaled = samples(Some(BlendValues { scaling, ..Default::default() }), None, Some(9));
        let BlendWay::Change(change) = scaled.way(D::U8, D::U8) else { panic!("changed") };
        let of = |v| change.apply((Number::Integer(v), Number::Integer(0))).map(|(real, _)| real);
        assert_eq!([of(3), of(200)], [Some(Number::Single(7.0)), Some(Number::Single(9.0))]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let pixels = |data_type, columns, rows| {
            let spec = OutputSpec::band_first(data_type, 1, rows, columns).unwrap();
            SharedPixels::new(spec.clone(), Arc::new(vec![0; spec.len().unwrap()])).unwrap()
        };
        let output = OutputSpec::band_first(DataType::U8, 2, 4, 5).unwrap();
        let job = |at, size, columns, blend| BlendJob { band: 1, at, size, columns, rows: Picks::Run, blend };
        let check = |job: &BlendJob, layer: &SharedPixels, mask: Option<&SharedPixels>| {
            job.check(&BlendLayer { samples: BlendSamples::Pixels(layer), mask }, &output).is_ok()
        };
        let (plain, all) = (samples(None, None, None), pixels(DataType::U8, 5, 4));
        assert!(check(&job((0, 0), (5, 4), Picks::Run, plain.clone()), &all, None));
        assert!(!check(&job((1, 0), (5, 4), Picks::Run, plain.clone()), &all, None));
        assert!(!check(&job((u32::MAX, 0), (5, 4), Picks::Run, plain.clone()), &all, None));
        let picks = |picks: &[u32]| Picks::Each(picks.into());
        assert!(check(&job((0, 0), (3, 4), picks(&[0, 0, 4]), plain.clone()), &all, None));
        assert!(!check(&job((0, 0), (3, 4), picks(&[0, 0, 5]), plain.clone()), &all, None));
        assert!(!check(&job((0, 0), (3, 4), picks(&[0, 0]), plain.clone()), &all, None));
        assert!(!check(&job((0, 0), (5, 4), Picks::Run, plain), &all, Some(&all)));
        let masked = samples(Some(BlendValues { uses_mask: true, ..Default::default() }), None, None);
        assert!(check(&job((0, 0), (5, 4), Picks::Run, masked.clone()), &all, Some(&all)));
        let other = pixels(DataType::U16, 5, 4);
        assert!(!check(&job((0, 0), (5, 4), Picks::Run, masked), &all, Some(&other)));
    }
}
