//! Resizes windows, one band of a window at a time, with the arithmetic of `strile_engine::ResampleJob`.

#![expect(unsafe_code, reason = "writes into output memory that threads share, each its own bands")]

use crate::crew::Crew;
use crate::reduce::sample::Sample;
use half::f16;
use std::sync::atomic::{AtomicBool, Ordering};
use strile_engine::{
    Claim, Context, EngineError, EngineMemory, Location, Output, OutputBox, OutputSpec, PIECE, ResampleJob,
    ResampleWindow, Sampling, SharedPixels,
};
use strile_tiff::DataType;

/// Runs a resampling job.
pub(crate) fn resample(
    job: &ResampleJob,
    pixels: &SharedPixels,
    output: &Output,
    context: &Context,
) -> Result<(), EngineError> {
    let bands = job.check(pixels.spec(), output.spec())?;
    for location in [pixels.location(), output.location()] {
        if location != Location::Host {
            let expected = "host memory, which the CPU engine reads and writes".to_owned();
            return Err(EngineError::Mismatch { what: "pixels", found: location.to_string(), expected });
        }
    }
    let (from, to) = (pixels.spec(), output.spec());
    let whole = OutputBox { bands: (0, to.bands), rows: (0, to.rows), columns: (0, to.columns) };
    let mut claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let workers = workers(to, context);
    let _lease = context.take(memory((from, to), context).host, "resampling")?;
    let stopped = AtomicBool::new(false);
    let stop = || {
        let stop = context.cancel.is_cancelled();
        if stop {
            stopped.store(true, Ordering::Relaxed);
        }
        stop
    };
    Crew::new(workers - 1).share(Bands::of(&mut claim), Vec::new, |line, band| {
        let number = band.band;
        if let Some(window) = job.windows.get((number / bands) as usize) {
            let plane = Plane { pixels, window, band: number, to: (to.columns, to.rows), stop: &stop };
            plane.make(job.sampling, band, line);
        }
    });
    if stopped.into_inner() { Err(EngineError::Cancelled) } else { Ok(()) }
}

/// Returns the number of threads for an output of this shape.
fn workers(to: &OutputSpec, context: &Context) -> usize {
    context.threads.get().min(to.bands as usize).max(1)
}

/// Returns the memory of a job with these shapes besides its pixels.
pub(crate) fn memory((from, to): (&OutputSpec, &OutputSpec), context: &Context) -> EngineMemory {
    // Memory of a worker: stretches of both axes, and sums, samples and the result of one row.
    let (columns, rows) = (u64::from(to.columns), u64::from(to.rows));
    let each = (columns + rows) * size_of::<Stretch>() as u64 + columns * 32 + u64::from(from.columns) * 8;
    EngineMemory { host: each.saturating_mul(workers(to, context) as u64), per_worker: each, device: 0 }
}

/// Iterator over the bands of a claim, each once: the holder of a band is the only one that writes it.
struct Bands<'a> {
    claim: &'a Claim,
    next: u32,
}

struct Band<'a> {
    claim: &'a Claim,
    band: u32,
}

impl<'a> Bands<'a> {
    /// Borrows the claim exclusively, so that there is only one `Bands` of it.
    fn of(claim: &'a mut Claim) -> Self {
        Self { claim, next: 0 }
    }
}

impl<'a> Iterator for Bands<'a> {
    type Item = Band<'a>;

    fn next(&mut self) -> Option<Band<'a>> {
        let band = self.next;
        self.next = band.checked_add(1)?;
        (band < self.claim.spec().bands).then_some(Band { claim: self.claim, band })
    }
}

impl Band<'_> {
    /// Writes the samples of a row, which are contiguous in `samples`.
    fn put(&mut self, row: u32, samples: &[u8]) {
        let (size, columns) = (self.claim.spec().data_type.size(), self.claim.spec().columns);
        // SAFETY: a row of this band, which has only one holder; no sample of another band is written.
        let Some(out) = (unsafe { self.claim.row(self.band, row, (0, columns)) }) else { return };
        let step = if columns == 1 { size } else { out.stride };
        for (at, sample) in samples.chunks_exact(size).enumerate() {
            let start = at.saturating_mul(step);
            if start.saturating_add(size) > out.len {
                return;
            }
            // SAFETY: `size` bytes that end within the row, checked above; they are a sample of it.
            unsafe { out.start.add(start).copy_from_nonoverlapping(sample.as_ptr(), size) };
        }
    }
}

/// Source range of a result pixel along one axis: from `low` to `high`, in pixels `first` to `end`; empty if these are
/// equal.
#[derive(Clone, Copy, Default)]
struct Stretch {
    low: f64,
    high: f64,
    first: u32,
    end: u32,
}

impl Stretch {
    /// Returns the stretch of result pixel `index` of `count`, over `len` from `start`, in an axis of `size` pixels.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to `size`, checked")]
    fn of(start: f64, len: f64, (index, count): (u32, u32), size: u32, sampling: Sampling) -> Self {
        let place = |index: f64| start + index * len / f64::from(count);
        let (index, ends) = (f64::from(index), f64::from(size));
        let centre = place(index + 0.5);
        if !(centre >= 0.0 && centre < ends) {
            return Self::default();
        }
        let (low, high) = match sampling {
            Sampling::Nearest => (0.0, 0.0),
            Sampling::Bilinear => (centre - 0.5, centre + 0.5),
            Sampling::Average => (place(index), place(index + 1.0)),
        };
        let low = if low > 0.0 { low } else { 0.0 };
        let high = if high < ends { high } else { ends };
        if sampling == Sampling::Nearest || low >= high {
            let pixel = centre as u32;
            return Self { low: pixel.into(), high: f64::from(pixel) + 1.0, first: pixel, end: pixel + 1 };
        }
        let whole = high as u32;
        let end = if f64::from(whole) < high { whole + 1 } else { whole };
        Self { low, high, first: low as u32, end }
    }

    fn weight(&self, pixel: u32) -> f64 {
        let (from, to) = (f64::from(pixel), f64::from(pixel) + 1.0);
        (if self.high < to { self.high } else { to }) - (if self.low > from { self.low } else { from })
    }
}

/// One band of one window.
struct Plane<'a> {
    pixels: &'a SharedPixels,
    window: &'a ResampleWindow,
    band: u32,
    /// Columns and rows of the result.
    to: (u32, u32),
    /// Returns whether to stop; called per source row, since one result pixel may span all of them.
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Plane<'_> {
    fn make(&self, sampling: Sampling, band: Band<'_>, line: &mut Vec<u8>) {
        let [left, top, width, height] = self.window.exact;
        let (columns, rows) = self.to;
        let across = |column| Stretch::of(left, width, (column, columns), self.window.size.0, sampling);
        let down = |row| Stretch::of(top, height, (row, rows), self.window.size.1, sampling);
        let across: Vec<Stretch> = (0..columns).map(across).collect();
        if sampling == Sampling::Nearest {
            return self.nearest(&across, down, band, line);
        }
        match self.pixels.spec().data_type {
            DataType::U8 => self.mean::<u8>(&across, down, band, line),
            DataType::I8 => self.mean::<i8>(&across, down, band, line),
            DataType::U16 => self.mean::<u16>(&across, down, band, line),
            DataType::I16 => self.mean::<i16>(&across, down, band, line),
            DataType::U32 => self.mean::<u32>(&across, down, band, line),
            DataType::I32 => self.mean::<i32>(&across, down, band, line),
            DataType::U64 => self.mean::<u64>(&across, down, band, line),
            DataType::I64 => self.mean::<i64>(&across, down, band, line),
            DataType::F16 => self.mean::<f16>(&across, down, band, line),
            DataType::F32 => self.mean::<f32>(&across, down, band, line),
            DataType::F64 => self.mean::<f64>(&across, down, band, line),
            // `ResampleJob::check` rejects these types.
            DataType::C64 | DataType::C128 => {}
        }
    }

    /// Returns the bytes of a row of the window, and the distance between samples.
    fn row(&self, row: u32) -> (&[u8], usize) {
        let spec = self.pixels.spec();
        let columns = (0, self.window.size.0);
        let stride = if columns.1 == 1 { spec.data_type.size() } else { spec.strides.column };
        (self.pixels.row(self.band, row, columns).unwrap_or_default(), stride)
    }

    fn nearest(
        &self,
        across: &[Stretch],
        down: impl Fn(u32) -> Stretch,
        mut band: Band<'_>,
        line: &mut Vec<u8>,
    ) {
        let size = self.pixels.spec().data_type.size();
        let fill = self.window.fill.0.get(..size).unwrap_or_default();
        for row in 0..self.to.1 {
            if (self.stop)() {
                return;
            }
            let from = down(row);
            let (samples, stride) =
                if from.first < from.end { self.row(from.first) } else { (&[][..], size) };
            line.clear();
            for column in across {
                let start = column.first as usize * stride;
                let sample = samples.get(start..).and_then(|rest| rest.get(..size));
                line.extend_from_slice(sample.filter(|_| column.first < column.end).unwrap_or(fill));
            }
            band.put(row, line);
        }
    }

    fn mean<T: Sample>(
        &self,
        across: &[Stretch],
        down: impl Fn(u32) -> Stretch,
        mut band: Band<'_>,
        line: &mut Vec<u8>,
    ) {
        let nodata = self.window.nodata.map(|nodata| T::of_fill(&nodata, 0));
        let fill = T::of_fill(&self.window.fill, 0);
        let (mut samples, mut picked): (Vec<T>, Vec<u8>) = (Vec::new(), Vec::new());
        let mut sums = vec![(0.0, 0.0); across.len()];
        let mut made: Vec<T> = Vec::with_capacity(across.len());
        for row in 0..self.to.1 {
            let from = down(row);
            sums.fill((0.0, 0.0));
            for y in from.first..from.end {
                if (self.stop)() {
                    return;
                }
                self.load(y, &mut samples, &mut picked);
                let high = from.weight(y);
                for ((sum, weights), column) in sums.iter_mut().zip(across) {
                    let under = samples.get(column.first as usize..column.end as usize).unwrap_or_default();
                    let pieces = (column.first..).step_by(PIECE as usize).zip(under.chunks(PIECE as usize));
                    for (first, piece) in pieces {
                        let (mut part, mut part_weights) = (0.0, 0.0);
                        for (x, &sample) in (first..).zip(piece) {
                            let weight = high * column.weight(x);
                            if weight > 0.0 && !sample.is_nan() && nodata != Some(sample) {
                                part += sample.to_f64() * weight;
                                part_weights += weight;
                            }
                        }
                        *sum += part;
                        *weights += part_weights;
                    }
                }
            }
            made.clear();
            made.extend(sums.iter().map(|&(sum, weights): &(f64, f64)| {
                if weights > 0.0 { beside(T::of_f64(sum / weights), nodata) } else { fill }
            }));
            line.clear();
            T::store(&made, line);
            band.put(row, line);
        }
    }

    /// Loads the samples of a row of the window.
    fn load<T: Sample>(&self, row: u32, samples: &mut Vec<T>, picked: &mut Vec<u8>) {
        let (bytes, stride) = self.row(row);
        let size = self.pixels.spec().data_type.size();
        if stride == size {
            return T::load(bytes, samples);
        }
        picked.clear();
        let each = bytes.chunks(stride.max(1)).filter_map(|sample| sample.get(..size));
        each.for_each(|sample| picked.extend_from_slice(sample));
        T::load(picked, samples);
    }
}

/// Returns a result, or the value next to it if the result equals nodata.
fn beside<T: Sample>(sample: T, nodata: Option<T>) -> T {
    if nodata == Some(sample) { sample.beside() } else { sample }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use strile_engine::{Fill, OutputSpec};

    fn made(pixels: &[u8], size: (u32, u32), exact: [f64; 4], to: (u32, u32), sampling: Sampling) -> Vec<u8> {
        let from = OutputSpec::band_first(DataType::U8, 1, size.1.max(1), size.0.max(1)).unwrap();
        let result = OutputSpec::band_first(DataType::U8, 1, to.1, to.0).unwrap();
        let (mut nodata, mut fill) = (Fill::default(), Fill::default());
        (nodata.0[0], fill.0[0]) = (200, 99);
        let windows = vec![ResampleWindow { exact, size, nodata: Some(nodata), fill }];
        let pixels = SharedPixels::new(from, Arc::new(pixels.to_vec())).unwrap();
        let output = Output::new(result).unwrap();
        resample(&ResampleJob { sampling, windows }, &pixels, &output, &Context::default()).unwrap();
        output.into_vec().unwrap()
    }

    #[test]
    fn the_same_size_changes_nothing() {
        let pixels: Vec<u8> = (0..12).collect();
        for sampling in [Sampling::Nearest, Sampling::Bilinear, Sampling::Average] {
            assert_eq!(made(&pixels, (4, 3), [0.0, 0.0, 4.0, 3.0], (4, 3), sampling), pixels, "{sampling:?}");
        }
    }

    #[test]
    fn halves_and_doubles_as_worked_out_by_hand() {
        let pixels = [10, 20, 30, 40];
        let wide = [0.0, 0.0, 4.0, 1.0];
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Average), [15, 35]);
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Nearest), [20, 40]);
        // Centres at 1 and 3: half of each neighbour.
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Bilinear), [15, 35]);
        // Centres at 0.25, 0.75, 1.25 …: a quarter of the way between neighbours, the ends unchanged.
        assert_eq!(
            made(&[10, 20], (2, 1), [0.0, 0.0, 2.0, 1.0], (4, 1), Sampling::Bilinear),
            [10, 13, 18, 20]
        );
        // A third of 10, all of 20, two thirds of 30, over two pixels.
        let part = [2.0 / 3.0, 0.0, 2.0, 1.0];
        assert_eq!(made(&pixels, (4, 1), part, (1, 1), Sampling::Average), [22]);
        // A result pixel whose length is too small for `f64` takes the pixel that it lies in.
        let point = [2.0, 0.0, 1e-300, 1.0];
        assert_eq!(made(&pixels, (4, 1), point, (2, 1), Sampling::Average), [30, 30]);
    }

    #[test]
    fn a_stop_is_seen_within_a_result_pixel() {
        let asked = std::sync::atomic::AtomicU32::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) == 5;
        let spec = OutputSpec::band_first(DataType::U8, 1, 100, 1).unwrap();
        let pixels = SharedPixels::new(spec, Arc::new(vec![7; 100])).unwrap();
        let result = Output::new(OutputSpec::band_first(DataType::U8, 1, 1, 1).unwrap()).unwrap();
        let mut claim = result.claim(OutputBox { bands: (0, 1), rows: (0, 1), columns: (0, 1) }).unwrap();
        let (nodata, fill) = (None, Fill::default());
        let window = ResampleWindow { exact: [0.0, 0.0, 1.0, 100.0], size: (1, 100), nodata, fill };
        let plane = Plane { pixels: &pixels, window: &window, band: 0, to: (1, 1), stop: &stop };
        plane.make(Sampling::Average, Bands::of(&mut claim).next().unwrap(), &mut Vec::new());
        assert_eq!(asked.into_inner(), 6, "rows that were looked at");
    }

    #[test]
    fn nodata_and_what_is_outside_do_not_count() {
        let pixels = [10, 200, 200, 200];
        let wide = [0.0, 0.0, 4.0, 1.0];
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Average), [10, 99]);
        assert_eq!(made(&pixels, (4, 1), wide, (2, 1), Sampling::Nearest), [200, 200]);
        assert_eq!(made(&pixels, (4, 1), [-4.0, 0.0, 8.0, 1.0], (4, 1), Sampling::Average), [99, 99, 10, 99]);
        assert_eq!(made(&[7], (0, 0), wide, (2, 2), Sampling::Bilinear), [99; 4]);
        // The mean of 199 and 201 is 200, which is nodata.
        assert_eq!(made(&[199, 201], (2, 1), [0.0, 0.0, 2.0, 1.0], (1, 1), Sampling::Average), [201]);
    }
}
