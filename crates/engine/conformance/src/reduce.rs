//! Reducing: every method against a slow reference written from `reduce.md`, cuts, threads and jobs that do not fit.

#![expect(clippy::cast_sign_loss, reason = "numbers of unsigned types are not negative")]

use super::pictures;
use std::num::NonZeroUsize;
use std::sync::Arc;
use strile_engine::{
    Context, Engine, EngineError, Fill, OutputSpec, ReduceJob, ReduceTask, Reduced, Resampling, SharedPixels,
    Support,
};
use strile_tiff::DataType;

const TYPES: [DataType; 7] =
    [DataType::U8, DataType::I8, DataType::U16, DataType::I16, DataType::I32, DataType::F32, DataType::F64];

/// A reduced part, brought to the host.
#[derive(Debug, PartialEq)]
struct OnHost {
    pixels: Vec<u8>,
    mask: Option<Vec<u8>>,
}

impl OnHost {
    fn of(engine: &dyn Engine, reduced: &Reduced) -> Self {
        let fetch =
            |pixels: &SharedPixels| engine.fetch(pixels, &Context::default()).unwrap().bytes().to_vec();
        Self { pixels: fetch(&reduced.pixels), mask: reduced.mask.as_ref().map(fetch) }
    }
}

/// An image whose samples are numbers of `f64` in any of its types.
struct Image {
    data_type: DataType,
    bands: u32,
    rows: u32,
    columns: u32,
    /// (band, row, column), band by band.
    samples: Vec<f64>,
    nodata: Option<f64>,
    mask: Option<Vec<u8>>,
}

fn is_float(data_type: DataType) -> bool {
    matches!(data_type, DataType::F32 | DataType::F64)
}

fn bytes(data_type: DataType, value: f64) -> Vec<u8> {
    match data_type {
        DataType::U8 => (value as u8).to_ne_bytes().to_vec(),
        DataType::I8 => (value as i8).to_ne_bytes().to_vec(),
        DataType::U16 => (value as u16).to_ne_bytes().to_vec(),
        DataType::I16 => (value as i16).to_ne_bytes().to_vec(),
        DataType::I32 => (value as i32).to_ne_bytes().to_vec(),
        DataType::F32 => (value as f32).to_ne_bytes().to_vec(),
        _ => value.to_ne_bytes().to_vec(),
    }
}

/// What `value` becomes in the type: half away from zero, the ends of the range beyond it.
fn rounded(data_type: DataType, value: f64) -> f64 {
    let (low, high) = range(data_type);
    match data_type {
        DataType::F32 => f64::from(value as f32),
        DataType::F64 => value,
        _ => value.round().clamp(low, high),
    }
}

fn range(data_type: DataType) -> (f64, f64) {
    match data_type {
        DataType::U8 => (0.0, 255.0),
        DataType::I8 => (-128.0, 127.0),
        DataType::U16 => (0.0, 65535.0),
        DataType::I16 => (-32768.0, 32767.0),
        _ => (f64::from(i32::MIN), f64::from(i32::MAX)),
    }
}

impl Image {
    fn new(data_type: DataType, size: (u32, u32, u32), nodata: Option<f64>, masked: bool) -> Self {
        let (bands, rows, columns) = size;
        let mut state = 12_345u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let (low, high) = range(data_type);
        let sample = |random: u64, kind: u64| match kind % 8 {
            0..3 => nodata.unwrap_or(5.0),
            3 if is_float(data_type) => f64::NAN,
            // Few values, so that they repeat; negative ones where the type has them.
            3..6 => (random % 4) as f64 + low.max(-2.0),
            _ if is_float(data_type) => f64::from((random as f32 - 1e9) / 7.0),
            _ => low + (random as f64) % (high - low + 1.0),
        };
        let len = (bands * rows * columns) as usize;
        let samples = (0..len).map(|_| sample(next(), next())).collect();
        let mask = masked.then(|| {
            (0..rows * columns).map(|i| if next() % 3 == 0 || i < columns * 4 { 0 } else { 7 }).collect()
        });
        Self { data_type, bands, rows, columns, samples, nodata, mask }
    }

    fn at(&self, band: u32, row: u32, column: u32) -> f64 {
        self.samples[((band * self.rows + row) * self.columns + column) as usize]
    }

    fn unmasked(&self, row: u32, column: u32) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask[(row * self.columns + column) as usize] != 0)
    }

    /// The sample, where there is one and it is valid.
    fn valid(&self, band: u32, row: i64, column: i64) -> Option<f64> {
        let (row, column) = (u32::try_from(row).ok()?, u32::try_from(column).ok()?);
        if row >= self.rows || column >= self.columns || !self.unmasked(row, column) {
            return None;
        }
        let value = self.at(band, row, column);
        (!value.is_nan() && self.nodata != Some(value)).then_some(value)
    }

    fn fill(&self) -> Option<Fill> {
        self.nodata.map(|value| {
            let mut fill = Fill::default();
            let bytes = bytes(self.data_type, value);
            fill.0[..bytes.len()].copy_from_slice(&bytes);
            fill
        })
    }

    /// Pixels and mask of a window, as a job gets them.
    fn pixels(&self, band_last: bool, columns: (u32, u32), rows: (u32, u32)) -> Vec<SharedPixels> {
        let (width, height) = (columns.1 - columns.0, rows.1 - rows.0);
        let mut data = Vec::new();
        let mut mask = Vec::new();
        let mut push = |band, row, column| data.extend(bytes(self.data_type, self.at(band, row, column)));
        match band_last {
            true => (rows.0..rows.1).for_each(|row| {
                (columns.0..columns.1)
                    .for_each(|column| (0..self.bands).for_each(|band| push(band, row, column)));
            }),
            false => (0..self.bands).for_each(|band| {
                (rows.0..rows.1)
                    .for_each(|row| (columns.0..columns.1).for_each(|column| push(band, row, column)));
            }),
        }
        for row in rows.0..rows.1 {
            mask.extend((columns.0..columns.1).map(|column| 9 * u8::from(self.unmasked(row, column))));
        }
        let spec = match band_last {
            true => OutputSpec::band_last(self.data_type, self.bands, height, width),
            false => OutputSpec::band_first(self.data_type, self.bands, height, width),
        };
        let mask_spec = OutputSpec::band_first(DataType::U8, 1, height, width).unwrap();
        vec![
            SharedPixels::new(spec.unwrap(), Arc::new(data)).unwrap(),
            SharedPixels::new(mask_spec, Arc::new(mask)).unwrap(),
        ]
    }

    fn job(&self, method: Resampling, tasks: Vec<ReduceTask>) -> ReduceJob {
        ReduceJob { method, nodata: self.fill(), tasks }
    }

    fn whole(&self) -> ReduceTask {
        let size = (self.columns.div_ceil(2), self.rows.div_ceil(2));
        ReduceTask {
            pixels: 0,
            mask: self.mask.is_some().then_some(1),
            origin: (0, 0),
            image: (self.columns, self.rows),
            target: (0, 0),
            size,
        }
    }

    /// Bands last from pixels that lie where the engine is, others from the host.
    fn reduced(&self, engine: &dyn Engine, method: Resampling, band_last: bool) -> OnHost {
        let mut pixels = self.pixels(band_last, (0, self.columns), (0, self.rows));
        if band_last {
            pixels = pixels.iter().map(|pixels| pictures::brought(engine, pixels)).collect();
        }
        let job = self.job(method, vec![self.whole()]);
        let mut reduced = engine.reduce(job, &pixels, &Context::default()).unwrap().wait().unwrap();
        OnHost::of(engine, &reduced.pop().unwrap())
    }

    /// The reference: one reduced pixel.
    fn expected(&self, method: Resampling, band: u32, row: u32, column: u32) -> f64 {
        if method == Resampling::Nearest {
            return self.at(band, row * 2, column * 2);
        }
        let computed = match kernel(method) {
            Some((weights, before)) => self.weighted(method, &weights, before, (band, row, column)),
            None => self.of_four(method, (band, row, column)),
        };
        let Some(value) = computed else {
            return self.nodata.unwrap_or(if is_float(self.data_type) { f64::NAN } else { 0.0 });
        };
        let value = rounded(self.data_type, value);
        match (self.nodata == Some(value), self.data_type) {
            (false, _) => value,
            (true, DataType::F32) => f64::from((value as f32).next_up()),
            (true, DataType::F64) => value.next_up(),
            (true, _) => value + 1.0,
        }
    }

    fn of_four(&self, method: Resampling, (band, row, column): (u32, u32, u32)) -> Option<f64> {
        let (x, y) = (i64::from(column) * 2, i64::from(row) * 2);
        let four = [(y, x), (y, x + 1), (y + 1, x), (y + 1, x + 1)].map(|(y, x)| self.valid(band, y, x));
        let mut values: Vec<f64> = four.iter().flatten().copied().collect();
        let n = values.len() as f64;
        // All valid, and nothing in the image says that any might not be: other formulas, as in GDAL.
        let plain = self.nodata.is_none() && self.mask.is_none();
        // What an odd image lacks at its edge is a copy of the last.
        let (right, below) = (x + 1 < i64::from(self.columns), y + 1 < i64::from(self.rows));
        let edge = [
            four[0],
            four[usize::from(right)],
            four[2 * usize::from(below)],
            four[usize::from(right) + 2 * usize::from(below)],
        ];
        let whole: Vec<f64> = edge.iter().flatten().copied().collect();
        let whole = <[f64; 4]>::try_from(whole).ok().filter(|_| plain);
        let edge = edge.map(|v| v.unwrap_or(0.0));
        let m = f64::from(
            [(0, 0), (0, i64::from(right)), (i64::from(below), 0), (i64::from(below), i64::from(right))]
                .map(|(dy, dx)| u8::from(self.valid(band, y + dy, x + dx).is_some()))
                .iter()
                .sum::<u8>(),
        );
        (n > 0.0).then(|| match method {
            Resampling::Average => match (whole, self.data_type) {
                (Some([a, b, c, d]), DataType::F32) => {
                    let [a, b, c, d] = [a, b, c, d].map(|v| v as f32 * 0.25);
                    f64::from((a + c) + (b + d))
                }
                (Some([a, b, c, d]), DataType::F64) => (a * 0.25 + c * 0.25) + (b * 0.25 + d * 0.25),
                _ => ((edge[0] + edge[1]) + (edge[2] + edge[3])) / m,
            },
            Resampling::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Resampling::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Resampling::Median => {
                values.sort_by(f64::total_cmp);
                let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
                if low == high { low } else { (low + high) / 2.0 }
            }
            Resampling::Mode => {
                let times = |upto: usize, value: f64| values[..upto].iter().filter(|v| **v == value).count();
                let most = values.iter().map(|v| times(values.len(), *v)).max().unwrap();
                // The first to have been seen that often.
                let first = (0..values.len()).find(|i| times(i + 1, values[*i]) == most).unwrap();
                values[first]
            }
            _ => self.rms(whole, edge, m),
        })
    }

    fn rms(&self, whole: Option<[f64; 4]>, values: [f64; 4], n: f64) -> f64 {
        let [a, b, c, d] = values;
        let sum = (a * a + b * b) + (c * c + d * d);
        match (self.data_type, whole) {
            (DataType::U8 | DataType::U16, _) => {
                let low = (sum / n).sqrt().floor();
                // Which square is nearer to the mean of squares; the lower of equals.
                let nearer = n * (low + 1.0) * (low + 1.0) - sum < sum - n * low * low;
                low + f64::from(u8::from(nearer))
            }
            (DataType::I8 | DataType::I16, Some(values)) => {
                let [a, b, c, d] = values.map(|v| (v as f32).abs());
                let scale = a.max(b).max(c);
                if scale == 0.0 {
                    return f64::from(d) / 2.0;
                }
                let [a, b, c, d] = [a, b, c, d].map(|v| v * (1.0 / scale));
                f64::from(scale * (((a * a + b * b) + (c * c + d * d)) * 0.25).sqrt())
            }
            (DataType::I8 | DataType::I16, None) => f64::from((sum / n).sqrt() as f32),
            _ => (sum / n).sqrt(),
        }
    }

    fn weighted(
        &self,
        method: Resampling,
        weights: &[f64],
        before: i64,
        (band, row, column): (u32, u32, u32),
    ) -> Option<f64> {
        let gauss = method == Resampling::Gauss;
        let wants_run = matches!(method, Resampling::Cubic | Resampling::Lanczos);
        let (x, y) = (i64::from(column) * 2 - before, i64::from(row) * 2 - before);
        // Weighted sum, sum of weights, longest run of values among the taps inside the image.
        let combine = |taps: Vec<(f64, Option<(f64, f64)>)>| {
            let (mut sum, mut total, mut run, mut longest) = (0.0, 0.0, 0, 0);
            for (weight, tap) in &taps {
                run = tap.map_or(0, |(value, its)| {
                    sum += weight * value;
                    total += weight * its;
                    run + 1
                });
                longest = longest.max(run);
            }
            (total > 0.0 && (!wants_run || longest >= taps.len() / 2)).then_some((sum, total))
        };
        let inside = |at: i64, size: u32| (0..i64::from(size)).contains(&at);
        let tap = |start: i64, size: u32| {
            let taps = weights.iter().copied().zip(start..);
            taps.filter(move |(_, at)| inside(*at, size))
        };
        let rows = tap(y, self.rows).map(|(weight, row)| {
            let taps = tap(x, self.columns)
                .map(|(weight, column)| (weight, self.valid(band, row, column).map(|value| (value, 1.0))));
            let line = combine(taps.collect());
            (weight, line.map(|(sum, total)| if gauss { (sum, total) } else { (sum / total, 1.0) }))
        });
        combine(rows.collect()).map(|(sum, total)| sum / total)
    }

    fn expected_mask(&self, method: Resampling, row: u32, column: u32) -> u8 {
        let ones = Image {
            data_type: DataType::U8,
            bands: 1,
            samples: vec![1.0; (self.rows * self.columns) as usize],
            nodata: None,
            mask: self.mask.clone(),
            ..*self
        };
        let valid = match method {
            Resampling::Nearest => self.unmasked(row * 2, column * 2),
            _ => ones.expected(method, 0, row, column) == 1.0,
        };
        255 * u8::from(valid)
    }
}

/// Weights along one axis and how many pixels before the two under a reduced one they begin.
fn kernel(method: Resampling) -> Option<(Vec<f64>, i64)> {
    let mirrored = |half: &[f64]| half.iter().chain(half.iter().rev()).copied().collect();
    Some(match method {
        Resampling::Gauss => (vec![1.0, 2.0, 1.0], 0),
        Resampling::Bilinear => (mirrored(&[0.25, 0.75]), 1),
        Resampling::Cubic => (mirrored(&[-0.023_437_5, -0.070_312_5, 0.226_562_5, 0.867_187_5]), 3),
        Resampling::Lanczos => (
            mirrored(&[
                0.007_355_926_047_194_17,
                0.030_021_091_449_581_563,
                -0.067_791_335_900_542_88,
                -0.132_871_018_365_064_04,
                0.270_189_823_046_234_07,
                0.890_067_051_710_494_6,
            ]),
            5,
        ),
        _ => return None,
    })
}

fn images() -> Vec<Image> {
    let mut images = Vec::new();
    for data_type in TYPES {
        for (nodata, masked) in [(None, false), (Some(1.0), false), (None, true), (Some(1.0), true)] {
            images.push(Image::new(data_type, (3, 21, 17), nodata, masked));
        }
        images.push(Image::new(data_type, (1, 1, 1), None, false));
        images.push(Image::new(data_type, (2, 16, 32), None, false));
    }
    images
}

pub(super) fn every_method_reduces_as_written(engine: &dyn Engine) {
    for image in images() {
        for method in Resampling::ALL {
            if engine.reduces(method, image.data_type) != Support::Yes {
                continue;
            }
            let size = (image.columns.div_ceil(2), image.rows.div_ceil(2));
            let pixels = |band: u32, row: u32| (0..size.0).map(move |column| (band, row, column));
            let first = (0..image.bands).flat_map(|band| (0..size.1).flat_map(move |row| pixels(band, row)));
            let name = format!("{} of {}, nodata {:?}", method.name(), image.data_type, image.nodata);
            let expected: Vec<u8> = first
                .flat_map(|(band, row, column)| {
                    bytes(image.data_type, image.expected(method, band, row, column))
                })
                .collect();
            let reduced = image.reduced(engine, method, false);
            same(&image, &reduced.pixels, &expected, &name);
            let mask = image.mask.as_ref().map(|_| {
                pixels_of(size).map(|(row, column)| image.expected_mask(method, row, column)).collect()
            });
            assert_eq!(reduced.mask, mask, "mask, {name}");

            let last = image.reduced(engine, method, true);
            let n = image.data_type.size();
            let plane = (size.0 * size.1) as usize * n;
            let apart: Vec<u8> = (0..plane / n)
                .flat_map(|pixel| (0..image.bands as usize).map(move |band| band * plane + pixel * n))
                .flat_map(|at| reduced.pixels[at..at + n].to_vec())
                .collect();
            assert_eq!(last.pixels, apart, "bands last, {name}");
            assert_eq!(last.mask, reduced.mask, "bands last, {name}");
        }
    }
}

fn pixels_of(size: (u32, u32)) -> impl Iterator<Item = (u32, u32)> {
    (0..size.1).flat_map(move |row| (0..size.0).map(move |column| (row, column)))
}

/// Bit for bit, but for which NaN it is.
fn same(image: &Image, found: &[u8], expected: &[u8], name: &str) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let n = image.data_type.size();
    for (at, (found, expected)) in found.chunks(n).zip(expected.chunks(n)).enumerate() {
        let is_nan = |bytes: &[u8]| match image.data_type {
            DataType::F32 => f32::from_ne_bytes(bytes.try_into().unwrap()).is_nan(),
            DataType::F64 => f64::from_ne_bytes(bytes.try_into().unwrap()).is_nan(),
            _ => false,
        };
        assert!(
            found == expected || (is_nan(found) && is_nan(expected)),
            "{name}, sample {at}: {found:?}, expected {expected:?}"
        );
    }
}

pub(super) fn parts_of_a_reduced_image_agree_with_the_whole(engine: &dyn Engine) {
    let image = Image::new(DataType::U16, (2, 23, 31), Some(1.0), true);
    for method in Resampling::ALL {
        let whole = image.reduced(engine, method, true);
        let (across, down) = (image.columns.div_ceil(2), image.rows.div_ceil(2));
        for (width, height) in [(1, 1), (5, 3), (16, 1), (3, 12)] {
            let (mut tasks, mut pixels) = (Vec::new(), Vec::new());
            for (y, x) in pixels_of((across.div_ceil(width), down.div_ceil(height))) {
                let target = (x * width, y * height);
                let size = (width.min(across - target.0), height.min(down - target.1));
                let halo = method.halo();
                let span = |start: u32, len: u32, end: u32| {
                    ((start * 2).saturating_sub(halo), ((start + len) * 2 + halo).min(end))
                };
                let columns = span(target.0, size.0, image.columns);
                let rows = span(target.1, size.1, image.rows);
                let index = pixels.len() as u32;
                pixels.extend(image.pixels(true, columns, rows));
                let origin = (columns.0, rows.0);
                tasks.push(ReduceTask {
                    pixels: index,
                    mask: Some(index + 1),
                    origin,
                    target,
                    size,
                    ..image.whole()
                });
            }
            let job = image.job(method, tasks.clone());
            let parts = engine.reduce(job, &pixels, &Context::default()).unwrap().wait().unwrap();
            for (task, part) in tasks.iter().zip(&parts) {
                let part = OnHost::of(engine, part);
                for row in 0..task.size.1 {
                    let row_of = |samples: &[u8], pixel: u32| {
                        let at = ((task.target.1 + row) * across + task.target.0) * pixel;
                        samples[at as usize..(at + task.size.0 * pixel) as usize].to_vec()
                    };
                    let mine = |samples: &[u8], pixel: u32| {
                        let at = row * task.size.0 * pixel;
                        samples[at as usize..(at + task.size.0 * pixel) as usize].to_vec()
                    };
                    assert_eq!(
                        mine(&part.pixels, 4),
                        row_of(&whole.pixels, 4),
                        "{}, {task:?}",
                        method.name()
                    );
                    let (part, whole) = (part.mask.as_ref().unwrap(), whole.mask.as_ref().unwrap());
                    assert_eq!(mine(part, 1), row_of(whole, 1), "mask, {}, {task:?}", method.name());
                }
            }
        }
    }
}

pub(super) fn reducing_does_not_depend_on_threads(engine: &dyn Engine) {
    // Large enough to be shared among threads.
    let image = Image::new(DataType::U8, (2, 2101, 1203), Some(1.0), false);
    for band_last in [false, true] {
        let pixels = image.pixels(band_last, (0, image.columns), (0, image.rows));
        let reduced = |threads: usize| {
            let context = Context { threads: NonZeroUsize::new(threads).unwrap(), ..Context::default() };
            let job = image.job(Resampling::Average, vec![image.whole(), image.whole()]);
            let reduced = engine.reduce(job, &pixels, &context).unwrap().wait().unwrap();
            reduced.iter().map(|reduced| OnHost::of(engine, reduced)).collect::<Vec<_>>()
        };
        let one = reduced(1);
        assert_eq!(one.len(), 2);
        assert_eq!(one[0].pixels.len(), 2 * 1051 * 602);
        for threads in [2, 7] {
            assert!(reduced(threads) == one, "{threads} threads");
        }
    }
}

pub(super) fn a_reduce_job_must_fit_its_pixels(engine: &dyn Engine) {
    let image = Image::new(DataType::U8, (1, 9, 9), None, false);
    let pixels = image.pixels(false, (0, 9), (0, 9));
    let refused = |method: Resampling, change: fn(&mut ReduceTask)| {
        let mut task = image.whole();
        change(&mut task);
        let refused = engine.reduce(image.job(method, vec![task]), &pixels, &Context::default()).err();
        assert!(matches!(refused, Some(EngineError::Mismatch { .. })), "{task:?}: {refused:?}");
    };
    use Resampling::{Average, Cubic};
    refused(Average, |task| task.pixels = 2);
    refused(Average, |task| task.mask = Some(2));
    refused(Average, |task| task.size = (0, 5));
    refused(Average, |task| task.size = (6, 5));
    refused(Average, |task| task.target = (u32::MAX, 0));
    refused(Average, |task| task.origin = (1, 0));
    refused(Average, |task| task.image = (u32::MAX, u32::MAX));
    refused(Average, |task| (task.image, task.size) = ((12, 9), (6, 5)));
    // The halo is missing on the right.
    refused(Cubic, |task| (task.image, task.size) = ((20, 9), (4, 5)));
    let whole = image.job(Average, vec![image.whole()]);
    assert!(engine.reduce(whole, &pixels, &Context::default()).unwrap().wait().is_ok());
    let none = image.job(Average, Vec::new());
    assert!(engine.reduce(none, &pixels, &Context::default()).unwrap().wait().unwrap().is_empty());
}

pub(super) fn cancelling_stops_reducing(engine: &dyn Engine) {
    let image = Image::new(DataType::U8, (1, 9, 9), None, false);
    let pixels = image.pixels(false, (0, 9), (0, 9));
    let context = Context::default();
    context.cancel.cancel();
    let job = image.job(Resampling::Average, vec![image.whole(); 3]);
    let ended = engine.reduce(job, &pixels, &context).unwrap().wait();
    assert_eq!(ended.map(|_| ()), Err(EngineError::Cancelled));
}
