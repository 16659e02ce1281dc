//! Conversion of values from one type to another: scaled, looked up in a palette, rounded, clamped. Nodata stays
//! nodata.
//!
//! A pixel with the nodata value of the input gets that of the output, whatever the mapping. A valid pixel never
//! becomes nodata: a result that equals it becomes the adjacent value. Conversion always runs on the CPU, so the result
//! is the same whichever device decodes and encodes.

use super::numbers::{
    Counts, is_complex, is_whole, limits, load, put, row_of, store, store_whole, whole_number,
};
use crate::error::{Error, Result};
use crate::options::Interleave;
use crate::raster::Raster;
use std::sync::Arc;
use strile_engine::{Context, EngineError};
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;

/// The mapping of the values of a band.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Map {
    /// Unchanged.
    Same,
    /// Value × scale + offset.
    Linear { scale: f64, offset: f64 },
    /// Position in a range, raised to a power, scaled to another range.
    Power { from: (f64, f64), to: (f64, f64), exponent: f64 },
    /// The entry of a table; 0 beyond its end.
    Table(Arc<[u16]>),
}

impl Map {
    /// Returns the mapping from one range to another.
    pub(super) fn of_ranges(from: (f64, f64), to: (f64, f64), exponent: Option<f64>) -> Option<Self> {
        // Avoids a division by 0, as GDAL does.
        let from = if from.0 == from.1 { (from.0, from.1 + 0.1) } else { from };
        let finite = [from.0, from.1, to.0, to.1].iter().all(|v| v.is_finite());
        if from.0 == from.1 || !finite {
            return None;
        }
        Some(match exponent {
            Some(exponent) => Self::Power { from, to, exponent },
            None => {
                let scale = (to.1 - to.0) / (from.1 - from.0);
                Self::Linear { scale, offset: -from.0 * scale + to.0 }
            }
        })
    }

    fn apply(&self, numbers: &mut [f64]) {
        match self {
            Self::Same => {}
            Self::Linear { scale, offset } => {
                numbers.iter_mut().for_each(|number| *number = *number * scale + offset);
            }
            Self::Power { from, to, exponent } => numbers.iter_mut().for_each(|number| {
                let place = (*number - from.0) / (from.1 - from.0);
                *number = (to.1 - to.0) * place.clamp(0.0, 1.0).powf(*exponent) + to.0;
            }),
            Self::Table(table) => numbers.iter_mut().for_each(|number| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "an index, from 0"
                )]
                let index = *number as usize;
                *number = table.get(index).map_or(0.0, |&entry| entry.into());
            }),
        }
    }
}

/// State of a number that was computed from other pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A value.
    Valid,
    /// No valid pixel contributes to it.
    Empty,
    /// It lies outside the image.
    Outside,
}

/// Maps sample values from one type or range to another. Nodata stays nodata.
#[derive(Debug, Clone)]
pub(super) struct Values {
    pub(super) from: DataType,
    pub(super) to: DataType,
    /// For each band of the output: the band of the input, from 0, and the mapping of its values.
    pub(super) maps: Vec<(usize, Map)>,
    /// Nodata of each band of the input.
    pub(super) source_nodata: Vec<Option<f64>>,
    /// The sample of pixels without a value, and of those outside the image.
    empty: [u8; 16],
    outside: [u8; 16],
    /// Whether values change, not only the size.
    changes: bool,
    /// Whether nodata pixels are still marked in the output.
    marked: bool,
    /// NaN counts as no value, because the type has no NaN.
    nan_is_empty: bool,
    /// The value that valid values must not become, and its replacement.
    reserved: Option<(f64, [u8; 16])>,
    /// The largest value, if samples have fewer bits than their type.
    most: Option<f64>,
}

/// The parameters of `Values`.
pub(super) struct Given {
    pub(super) from: DataType,
    pub(super) to: DataType,
    pub(super) maps: Vec<(usize, Map)>,
    /// Nodata of each band of the input.
    pub(super) source_nodata: Vec<Option<NoData>>,
    /// Nodata that the output states.
    pub(super) nodata: Option<NoData>,
    /// Whether values change, and nodata pixels get the nodata of the output.
    pub(super) changes: bool,
    /// Bits of a sample.
    pub(super) bits: Option<u16>,
}

impl Values {
    pub(super) fn new(given: Given) -> Self {
        let Given { from, to, maps, source_nodata, nodata, changes, bits } = given;
        let stated = nodata.and_then(|nodata| nodata.to_sample(to));
        let own = source_nodata.iter().flatten().next().copied();
        let kept = if changes { stated } else { own.and_then(|nodata| nodata.to_sample(to)).or(stated) };
        let mut nothing = [0; 16];
        if let Some(own) = own {
            // Nodata that is no longer declared is an ordinary value.
            store(to, &[own.as_f64()], &mut nothing, to.size());
        } else if !is_whole(to) {
            store(to, &[f64::NAN], &mut nothing, to.size());
        }
        let as_stored = |nodata: NoData| {
            let sample = nodata.to_sample(from)?;
            let mut number = Vec::new();
            load(from, sample.get(..from.size())?, from.size(), &mut number);
            number.first().copied()
        };
        // Only if the input says which pixels are valid.
        let reserved = kept.filter(|_| own.is_some()).and_then(|sample| beside(to, &sample));
        Self {
            from,
            to,
            maps,
            source_nodata: source_nodata.iter().map(|nodata| nodata.and_then(as_stored)).collect(),
            empty: kept.unwrap_or(nothing),
            outside: stated.unwrap_or_default(),
            changes,
            marked: stated.is_some() || !changes,
            nan_is_empty: changes && is_whole(to) && stated.is_some(),
            reserved,
            most: bits.filter(|&bits| bits < 64).map(|bits| f64::from(bits).exp2() - 1.0),
        }
    }

    /// Changes the values of pixels that were read.
    pub(super) fn apply(&self, raster: &Raster, context: &Context) -> Result<(Raster, Counts)> {
        let (rows, columns) = (raster.rows as usize, raster.columns as usize);
        let (bands, size) = (self.maps.len(), self.to.size());
        let len =
            rows.checked_mul(columns).and_then(|n| n.checked_mul(bands)).and_then(|n| n.checked_mul(size));
        let len = len.ok_or(Error::Engine(EngineError::Abandoned))?;
        let _lease = context.take(len as u64, "values of another type")?;
        let mut pixels = vec![0; len];
        // A line is a row of one band, or of all bands if they are interleaved.
        let per_line = match raster.interleave {
            Interleave::BandFirst => 1,
            Interleave::BandLast => bands,
        };
        let line = columns * size * per_line;
        let lines = if per_line == 1 { rows * bands } else { rows };
        let threads = context.threads.get().min(lines).max(1);
        let each = lines.div_ceil(threads).max(1);
        let counts = std::thread::scope(|scope| {
            let parts = pixels.chunks_mut((each * line).max(1)).enumerate();
            let parts = parts.map(|(part, out)| {
                scope.spawn(move || {
                    let mut counts = Counts::default();
                    let mut scratch = Scratch::default();
                    for (at, out) in out.chunks_mut(line.max(1)).enumerate() {
                        let number = part * each + at;
                        for slot in 0..per_line {
                            let (band, row) = match per_line {
                                1 => (number / rows.max(1), number % rows.max(1)),
                                _ => (slot, number),
                            };
                            if let Some(out) = out.get_mut(slot * size..) {
                                counts.add(self.row(
                                    raster,
                                    (band, row),
                                    (out, size * per_line),
                                    &mut scratch,
                                ));
                            }
                        }
                    }
                    counts
                })
            });
            let parts: Vec<_> = parts.collect();
            let mut all = Counts::default();
            for part in parts {
                all.add(part.join().ok()?);
            }
            Some(all)
        });
        let counts = counts.ok_or(Error::Engine(EngineError::Abandoned))?;
        let bands = u32::try_from(bands).unwrap_or(u32::MAX);
        let (data_type, interleave) = (self.to, raster.interleave);
        let (rows, columns, fill) = (raster.rows, raster.columns, raster.fill);
        Ok((Raster { data_type, bands, rows, columns, interleave, pixels, fill }, counts))
    }

    fn row(
        &self,
        raster: &Raster,
        (band, row): (usize, usize),
        (out, stride): (&mut [u8], usize),
        scratch: &mut Scratch,
    ) -> Counts {
        let Some((source, map)) = self.maps.get(band) else { return Counts::default() };
        let (bytes, from_stride) = row_of(raster, *source, row, 0);
        let nodata = self.source_nodata.get(*source).copied().flatten().filter(|_| self.marked);
        scratch.numbers.clear();
        load(self.from, bytes, from_stride, &mut scratch.numbers);
        scratch.states.clear();
        let state = |number: &f64| match nodata {
            Some(nodata) if *number == nodata || (nodata.is_nan() && number.is_nan()) => State::Empty,
            _ if self.nan_is_empty && number.is_nan() => State::Empty,
            _ => State::Valid,
        };
        scratch.states.extend(scratch.numbers.iter().map(state));
        let wide = |data_type: DataType| matches!(data_type, DataType::U64 | DataType::I64);
        if *map == Map::Same && is_whole(self.from) && is_whole(self.to) && (wide(self.from) || wide(self.to))
        {
            let samples = bytes.chunks(from_stride.max(1));
            let exact: Vec<i128> = samples.filter_map(|sample| whole_number(self.from, sample)).collect();
            let mut counts = store_whole(self.to, &exact, out, stride);
            self.mark(&scratch.states, out, stride, &mut counts);
            return counts;
        }
        let counts = self.finish(map, scratch, (out, stride));
        if is_complex(self.from) && is_complex(self.to) {
            // The imaginary part follows the real part; complex values only change their type.
            let (from, to) = (self.from.size() / 2, self.to.size() / 2);
            let part = |data_type| if data_type == DataType::C64 { DataType::F32 } else { DataType::F64 };
            let mut numbers = Vec::new();
            load(part(self.from), bytes.get(from..).unwrap_or_default(), from_stride, &mut numbers);
            let valid = numbers.iter().zip(&scratch.states).enumerate();
            for (at, (number, _)) in valid.filter(|(_, (_, state))| **state == State::Valid) {
                if let Some(slot) = out.get_mut(at * stride + to..) {
                    store(part(self.to), &[*number], slot, to);
                }
            }
        }
        counts
    }

    /// Maps numbers of a band and stores them; `states` says which are values.
    pub(super) fn finish(
        &self,
        map: &Map,
        Scratch { numbers, states }: &mut Scratch,
        (out, stride): (&mut [u8], usize),
    ) -> Counts {
        map.apply(numbers);
        if let Some(most) = self.most {
            numbers.iter_mut().for_each(|number| *number = number.clamp(0.0, most));
        }
        for (number, state) in numbers.iter_mut().zip(states.iter()) {
            if *state != State::Valid {
                *number = 0.0;
            }
        }
        let mut counts = store(self.to, numbers, out, stride);
        self.mark(states, out, stride, &mut counts);
        counts
    }

    /// Replaces missing values, and moves values away from nodata.
    fn mark(&self, states: &[State], out: &mut [u8], stride: usize, counts: &mut Counts) {
        let size = self.to.size();
        let put_sample =
            |slot: &mut [u8], sample: &[u8; 16]| put(slot, sample.get(..size).unwrap_or_default());
        let mut number = Vec::with_capacity(1);
        for (state, slot) in states.iter().zip(out.chunks_mut(stride.max(1))) {
            match (state, &self.reserved) {
                (State::Empty, _) => put_sample(slot, &self.empty),
                (State::Outside, _) => put_sample(slot, &self.outside),
                (State::Valid, None) => {}
                (State::Valid, Some((reserved, beside))) => {
                    number.clear();
                    load(self.to, slot.get(..size).unwrap_or_default(), size, &mut number);
                    if number.first() == Some(reserved) {
                        put_sample(slot, beside);
                        counts.moved += 1;
                    }
                }
            }
        }
    }

    /// Returns whether samples are unchanged.
    pub(super) fn is_identity(&self) -> bool {
        let kept = |(at, (source, map)): (usize, &(usize, Map))| at == *source && *map == Map::Same;
        !self.changes && self.from == self.to && self.maps.iter().enumerate().all(kept)
    }

    /// Returns the sample of a place outside the image.
    pub(super) fn outside(&self) -> &[u8] {
        self.outside.get(..self.to.size()).unwrap_or_default()
    }
}

/// Numbers of a row and their states.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) numbers: Vec<f64>,
    pub(super) states: Vec<State>,
}

/// Returns the number of a sample, and the adjacent sample; `None` for NaN, which no value becomes.
fn beside(data_type: DataType, sample: &[u8; 16]) -> Option<(f64, [u8; 16])> {
    let own = sample.get(..data_type.size())?;
    let mut number = Vec::new();
    load(data_type, own, data_type.size(), &mut number);
    let number = number.first().copied().filter(|number| !number.is_nan())?;
    let mut next = [0; 16];
    match (limits(data_type), whole_number(data_type, own)) {
        (Some((_, high)), Some(own)) => {
            let other = if own == high { own - 1 } else { own + 1 };
            store_whole(data_type, &[other], &mut next, data_type.size());
        }
        _ => {
            let up = |v: f64| match data_type {
                #[expect(clippy::cast_possible_truncation, reason = "a float of 32 bits")]
                DataType::F32 | DataType::C64 => f64::from((v as f32).next_up()),
                DataType::F16 => {
                    // Half floats are spaced 2^-10 of their size apart.
                    v + (v.abs() * 2f64.powi(-10)).max(2f64.powi(-24))
                }
                _ => v.next_up(),
            };
            let other = up(number);
            let other = if other.is_finite() { other } else { -up(-number) };
            store(data_type, &[other], &mut next, data_type.size());
        }
    }
    Some((number, next))
}

impl Counts {
    /// Adds warnings about samples that could not be stored exactly.
    pub(super) fn told(self, to: DataType, scaled: bool, warnings: &mut Vec<String>) {
        let samples = |count: u64| format!("{count} sample{}", if count == 1 { "" } else { "s" });
        if self.clamped > 0 && !scaled {
            warnings.push(format!(
                "{} outside the range of {to}, stored as its minimum or maximum",
                samples(self.clamped)
            ));
        }
        if self.nan > 0 {
            warnings.push(format!(
                "{} of NaN became 0: {to} has no NaN, and there is no nodata",
                samples(self.nan)
            ));
        }
        if self.moved > 0 {
            warnings.push(format!(
                "{} of valid pixels would have become nodata and got the value beside it",
                samples(self.moved)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_engine::Fill;

    fn values(from: DataType, to: DataType, map: Map, nodata: (Option<f64>, Option<f64>)) -> Values {
        Values::new(Given {
            from,
            to,
            maps: vec![(0, map)],
            source_nodata: vec![nodata.0.map(NoData::Float)],
            nodata: nodata.1.map(NoData::Float),
            changes: true,
            bits: None,
        })
    }

    fn applied(values: &Values, numbers: &[f64]) -> (Vec<f64>, Counts) {
        let mut pixels = vec![0; numbers.len() * values.from.size()];
        store(values.from, numbers, &mut pixels, values.from.size());
        let raster = Raster {
            data_type: values.from,
            bands: 1,
            rows: 1,
            columns: u32::try_from(numbers.len()).unwrap(),
            interleave: Interleave::BandLast,
            pixels,
            fill: Fill::default(),
        };
        let (made, counts) = values.apply(&raster, &Context::default()).unwrap();
        let mut out = Vec::new();
        load(values.to, &made.pixels, values.to.size(), &mut out);
        (out, counts)
    }

    #[test]
    fn nodata_stays_nodata_and_valid_values_stay_valid() {
        let map = Map::of_ranges((0.0, 100.0), (0.0, 200.0), None).unwrap();
        let scaled = values(DataType::F32, DataType::U8, map, (Some(-9999.0), Some(0.0)));
        let (out, counts) = applied(&scaled, &[-9999.0, 0.0, 0.1, 50.0, f64::NAN, 300.0]);
        assert_eq!(out, [0.0, 1.0, 1.0, 100.0, 0.0, 255.0]);
        assert_eq!(counts, Counts { clamped: 1, nan: 0, moved: 2 });
        // Nodata that is removed is an ordinary value.
        let taken = values(DataType::F32, DataType::I16, Map::Same, (Some(-9999.0), None));
        assert_eq!(applied(&taken, &[-9999.0, 0.4]).0, [-9999.0, 0.0]);
        // Without nodata of the input, no pixel is known to be valid.
        let plain = values(DataType::F32, DataType::U8, Map::Same, (None, Some(0.0)));
        assert_eq!(applied(&plain, &[0.2, 7.0]).0, [0.0, 7.0]);
    }

    #[test]
    fn values_beside_nodata_are_the_nearest() {
        let number = |data_type, v: f64| {
            let sample = NoData::Float(v).to_sample(data_type).unwrap();
            let (_, next) = beside(data_type, &sample).unwrap();
            let mut out = Vec::new();
            load(data_type, &next[..data_type.size()], data_type.size(), &mut out);
            out[0]
        };
        assert_eq!(number(DataType::U8, 255.0), 254.0);
        assert_eq!(number(DataType::I16, -1.0), 0.0);
        assert_eq!(number(DataType::F32, 1.0), 1.0 + f64::from(f32::EPSILON));
        assert_eq!(number(DataType::F64, f64::MAX), f64::MAX.next_down());
    }

    #[test]
    fn powers_are_clamped_to_the_range() {
        let map = Map::of_ranges((0.0, 100.0), (0.0, 1.0), Some(0.5)).unwrap();
        let power = values(DataType::I16, DataType::F64, map, (None, None));
        assert_eq!(applied(&power, &[-5.0, 25.0, 100.0, 400.0]).0, [0.0, 0.5, 1.0, 1.0]);
    }
}
