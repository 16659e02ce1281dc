//! A layer of a mosaic, laid upon a band of an output: what is to be done, plain data, and its arithmetic, which is the same
//! to the last bit in every engine.
//!
//! Each sample of the rectangle comes from one pixel of the layer, by the picks of its column and its row. It is laid as it
//! is, converted, or changed as a complex source of a VRT says (`blend_values`), in the precision that GDAL works in; or it
//! leaves what is below. Numbers become samples of another type by the rules of `number`.

use crate::number::{Number, sample_of};
use crate::{BlendValues, EngineError, Fill, OutputSpec, SharedPixels};
use std::sync::Arc;
use strile_tiff::DataType;

/// The pixels of a layer that samples along one axis come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picks {
    /// Neighbours, from the first on.
    Run,
    /// One for each sample.
    Each(Arc<[u32]>),
}

impl Picks {
    /// Returns the pixel of a sample.
    pub fn get(&self, at: u32) -> u32 {
        match self {
            Self::Run => at,
            Self::Each(picks) => picks.get(at as usize).copied().unwrap_or(0),
        }
    }

    /// Returns one pick for each sample; none if they are neighbours.
    pub fn each(&self) -> &[u32] {
        match self {
            Self::Run => &[],
            Self::Each(picks) => picks,
        }
    }

    /// Whether it has `count` picks, all of `pixels` pixels.
    fn fits(&self, count: u32, pixels: u32) -> bool {
        match self {
            Self::Run => count <= pixels,
            Self::Each(picks) => picks.len() == count as usize && picks.iter().all(|&pick| pick < pixels),
        }
    }
}

/// What becomes of a layer's samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blend {
    /// What a complex source does to them; `None` of a simple one.
    pub values: Option<Arc<BlendValues>>,
    /// The value where what is below shows. That of `values` does not count.
    pub nodata: Option<f64>,
    /// The largest value that the bits of the band allow.
    pub largest: Option<i32>,
}

/// What an engine does to each sample.
#[derive(Debug, Clone, PartialEq)]
pub enum BlendWay {
    /// It is laid as it is.
    Copy,
    /// It is converted; integers are at most `largest`.
    Convert {
        /// The largest integer.
        largest: Option<i32>,
    },
    /// Unless it is these bytes, it is laid as it is, or converted if types differ.
    Unless(Fill),
    /// It is changed.
    Change(BlendChange),
}

/// How samples are changed. Numbers are those of the precision that is worked in.
#[derive(Debug, Clone, PartialEq)]
pub struct BlendChange {
    /// Whether it is worked in double precision.
    pub is_double: bool,
    /// The value where what is below shows, compared but for the last digits.
    pub nodata: Option<Number>,
    /// What is done to values.
    pub values: Option<Arc<BlendValues>>,
    /// What larger results become.
    pub largest: Option<Number>,
    /// Both parts of complex numbers are changed, and neither nodata nor the largest value counts.
    pub is_complex: bool,
    /// Results are rounded to singles before they become bytes: GDAL does so whatever it works in.
    pub is_byte: bool,
}

/// Lays one band of a layer upon a rectangle of a band.
#[derive(Debug, Clone)]
pub struct BlendJob {
    /// The band of the output, from 0.
    pub band: u32,
    /// The first column and row of the rectangle.
    pub at: (u32, u32),
    /// Its columns and rows.
    pub size: (u32, u32),
    /// The pixels that its columns come from.
    pub columns: Picks,
    /// The pixels that its rows come from.
    pub rows: Picks,
    /// What becomes of samples.
    pub blend: Blend,
}

/// What is laid.
#[derive(Debug, Clone, Copy)]
pub struct BlendLayer<'a> {
    /// Its samples.
    pub samples: BlendSamples<'a>,
    /// Its mask, which is 0 where what is below shows; picked like the samples. Only samples that are changed have one.
    pub mask: Option<&'a SharedPixels>,
}

/// The samples of a layer.
#[derive(Debug, Clone, Copy)]
pub enum BlendSamples<'a> {
    /// One band of pixels.
    Pixels(&'a SharedPixels),
    /// The same sample everywhere.
    One(DataType, Fill),
}

impl BlendSamples<'_> {
    /// Returns their type.
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Pixels(pixels) => pixels.spec().data_type,
            Self::One(data_type, _) => *data_type,
        }
    }
}

impl Blend {
    /// Returns what is done to samples of one type that are laid upon another.
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
        // Nodata alone is compared in these types as it is; a value that they cannot hold is nowhere.
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

    /// Returns whether values are raised to a power, which only the host does.
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

    /// A number in the precision that is worked in.
    fn working(&self, number: Number) -> Number {
        match self.is_double {
            true => Number::Double(number.as_f64()),
            false => Number::Single(number.as_f32()),
        }
    }

    /// Returns what the parts of a number become; `None` where what is below shows.
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

/// Nodata written with too few digits to be the largest single is taken for it.
fn near_float_limit(value: f64, data_type: DataType) -> f64 {
    let limit = f64::from(f32::MAX);
    match data_type {
        DataType::F32 if (value.abs() - limit).abs() < 1e-10 * limit => limit.copysign(value),
        _ => value,
    }
}

impl BlendJob {
    /// Returns what is done to each sample, after checking that layer and output fit the job.
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
