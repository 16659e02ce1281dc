//! Resamples windows onto a grid, some rows of a window at a time, with the arithmetic of `strile_engine::WarpJob`.
//!
//! Rows are computed in runs of pixels: `WarpMap` gives their positions, `gather` and `footprint` compute values from
//! the samples of a `sheet`, with weights of `weights` and areas of `area`, and `store` writes them as samples of the
//! output.

mod area;
mod footprint;
mod gather;
mod rank;
mod sheet;
mod store;
mod weights;

use crate::crew::Crew;
use crate::stop::Stop;
use footprint::{Corners, Scratch};
use gather::Centres;
use half::f16;
use sheet::{Sample, Sheet};
use std::sync::atomic::{AtomicBool, Ordering};
use store::Store;
use strile_engine::{
    Claim, Context, EngineError, EngineMemory, Location, Output, OutputBox, PixelPoint, SharedPixels,
    WarpJob, WarpSampling, WarpWindow,
};
use strile_tiff::DataType;

/// Pixels computed at a time.
const RUN: usize = 256;
/// Rows that a thread takes at a time.
const ROWS: u32 = 8;

/// Results of a run of pixels: numbers, or unchanged samples of the source.
pub(crate) struct Made {
    /// Computed numbers.
    values: [f64; RUN],
    /// Bits of chosen samples.
    bits: [u64; RUN],
    /// Which pixels have a result.
    found: [bool; RUN],
    /// Whether the results are in `bits` instead of `values`.
    chosen: bool,
}

/// Runs a warp job.
pub(crate) fn warp(
    job: &WarpJob,
    pixels: &SharedPixels,
    valid: Option<&SharedPixels>,
    output: &Output,
    context: &Context,
) -> Result<(), EngineError> {
    job.check(pixels.spec(), valid.map(SharedPixels::spec), output.spec())?;
    let places = [Some(pixels.location()), valid.map(SharedPixels::location), Some(output.location())];
    for location in places.into_iter().flatten() {
        if location != Location::Host {
            let expected = "host memory, which the CPU engine reads and writes".to_owned();
            return Err(EngineError::Mismatch { what: "pixels", found: location.to_string(), expected });
        }
    }
    let boxes = job.windows.iter().filter_map(WarpWindow::output_box);
    let Some(around) = boxes.reduce(|one, other: OutputBox| one.union(&other)) else { return Ok(()) };
    let claim = output.claim(around).ok_or(EngineError::Busy { output: 0 })?;
    let workers = workers(job, context);
    let _lease = context.take(memory(job, context).host, "warping")?;
    let items = job.windows.iter().flat_map(|window| {
        (0..window.target.height).step_by(ROWS as usize).map(move |first| Part { window, first })
    });
    let stopped = AtomicBool::new(false);
    let stop = Stop::with(&context.cancel);
    Crew::new(workers - 1).stopping(stop.clone()).share(items, Worker::default, |worker, part| {
        worker.make(job, &part, pixels, valid, &claim, &stop);
        if stop.is_set() {
            stopped.store(true, Ordering::Relaxed);
        } else if let Some(progress) = &context.progress {
            progress.advance(0);
        }
    });
    if stopped.into_inner() || stop.is_set() { Err(EngineError::Cancelled) } else { Ok(()) }
}

/// Returns the number of threads of a job.
fn workers(job: &WarpJob, context: &Context) -> usize {
    let parts = job.windows.iter().map(|window| window.target.height.div_ceil(ROWS) as usize);
    context.threads.get().min(parts.fold(0, usize::saturating_add)).min(useful(job)).max(1)
}

/// Returns the memory of a job besides its pixels.
pub(crate) fn memory(job: &WarpJob, context: &Context) -> EngineMemory {
    let per_worker = Scratch::most(job);
    EngineMemory { host: per_worker.saturating_mul(workers(job, context) as u64), per_worker, device: 0 }
}

/// Returns the number of threads that gain more than their start costs.
fn useful(job: &WarpJob) -> usize {
    /// Minimum samples per thread: nearest ones take a fraction of a millisecond.
    const NEAREST: u64 = 1 << 18;
    const OTHERS: u64 = 1 << 15;
    let samples = job.windows.iter().map(|window| {
        let target = &window.target;
        u64::from(target.width).saturating_mul(target.height.into()).saturating_mul(window.bands.into())
    });
    let least = if job.sampling == WarpSampling::Nearest { NEAREST } else { OTHERS };
    usize::try_from(samples.fold(0, u64::saturating_add) / least).unwrap_or(usize::MAX)
}

/// Some rows of a window.
struct Part<'a> {
    window: &'a WarpWindow,
    first: u32,
}

/// Buffers of a thread.
#[derive(Default)]
struct Worker {
    scratch: Scratch,
    made: Option<Box<Made>>,
}

impl Worker {
    fn make(
        &mut self,
        job: &WarpJob,
        part: &Part<'_>,
        pixels: &SharedPixels,
        valid: Option<&SharedPixels>,
        claim: &Claim,
        stop: &Stop,
    ) {
        match pixels.spec().data_type {
            DataType::U8 => self.rows::<u8>(job, part, pixels, valid, claim, stop),
            DataType::I8 => self.rows::<i8>(job, part, pixels, valid, claim, stop),
            DataType::U16 => self.rows::<u16>(job, part, pixels, valid, claim, stop),
            DataType::I16 => self.rows::<i16>(job, part, pixels, valid, claim, stop),
            DataType::U32 => self.rows::<u32>(job, part, pixels, valid, claim, stop),
            DataType::I32 => self.rows::<i32>(job, part, pixels, valid, claim, stop),
            DataType::U64 => self.rows::<u64>(job, part, pixels, valid, claim, stop),
            DataType::I64 => self.rows::<i64>(job, part, pixels, valid, claim, stop),
            DataType::F16 => self.rows::<f16>(job, part, pixels, valid, claim, stop),
            DataType::F32 => self.rows::<f32>(job, part, pixels, valid, claim, stop),
            DataType::F64 => self.rows::<f64>(job, part, pixels, valid, claim, stop),
            // Only nearest, with unchanged samples.
            DataType::C64 | DataType::C128 => self.complex(part, pixels, valid, claim, stop),
        }
    }

    fn rows<S: Sample>(
        &mut self,
        job: &WarpJob,
        part: &Part<'_>,
        pixels: &SharedPixels,
        valid: Option<&SharedPixels>,
        claim: &Claim,
        stop: &Stop,
    ) {
        let window = part.window;
        let footprint = job.sampling.is_footprint();
        let (mut centres, mut corners) = (Centres::new(window), Corners::new(window, job.sampling));
        let store = Store::new(window, pixels.spec().data_type, claim);
        let made = self.made.get_or_insert_with(|| Box::new(Made::new()));
        for row in part.first..part.first.saturating_add(ROWS).min(window.target.height) {
            for column in (0..window.target.width).step_by(RUN) {
                let len = ((window.target.width - column) as usize).min(RUN);
                let at = (window.target.column + column, window.target.row + row);
                if footprint {
                    corners.place(at, len);
                } else {
                    centres.place(at, len);
                }
                for band in 0..window.bands {
                    // A single run may span all pixels of a large sheet.
                    if stop.is_set() {
                        return;
                    }
                    let Some(sheet) = Sheet::<S>::new(window, pixels, valid, band) else {
                        return;
                    };
                    if footprint {
                        corners.make(job.sampling, &sheet, &mut self.scratch, made);
                    } else {
                        centres.make(job.sampling, &sheet, &mut self.scratch.weights, made);
                    }
                    store.put::<S>(made, (band, row, column), len);
                }
            }
        }
    }

    /// Copies samples of any size unchanged, by nearest.
    fn complex(
        &mut self,
        part: &Part<'_>,
        pixels: &SharedPixels,
        valid: Option<&SharedPixels>,
        claim: &Claim,
        stop: &Stop,
    ) {
        let window = part.window;
        let mut centres = Centres::new(window);
        let store = Store::new(window, pixels.spec().data_type, claim);
        for row in part.first..part.first.saturating_add(ROWS).min(window.target.height) {
            for column in (0..window.target.width).step_by(RUN) {
                if stop.is_set() {
                    return;
                }
                let len = ((window.target.width - column) as usize).min(RUN);
                centres.place((window.target.column + column, window.target.row + row), len);
                for band in 0..window.bands {
                    let Some(sheet) = Sheet::<u8>::new(window, pixels, valid, band) else {
                        return;
                    };
                    for i in 0..len {
                        let sample = centres.pixel(i, &sheet).and_then(|(x, y)| sheet.whole(x, y));
                        let sample =
                            sample.filter(|sample| !window.nodata.is_some_and(|v| sheet.is(sample, &v)));
                        store.put_bytes(sample, (band, row, column + u32::try_from(i).unwrap_or(0)));
                    }
                }
            }
        }
    }
}

impl Made {
    fn new() -> Self {
        Self { values: [0.0; RUN], bits: [0; RUN], found: [false; RUN], chosen: false }
    }
}

/// Positions of one point of the pixels of a run.
struct Places {
    x: [f64; RUN],
    y: [f64; RUN],
}

impl Places {
    fn new() -> Self {
        Self { x: [f64::NAN; RUN], y: [f64::NAN; RUN] }
    }

    fn place(&mut self, window: &WarpWindow, point: PixelPoint, (column, row): (u32, u32), len: usize) {
        if let (Some(x), Some(y)) = (self.x.get_mut(..len), self.y.get_mut(..len)) {
            window.map.places(point, row, column, x, y);
        }
    }
}

#[cfg(test)]
mod tests;
