//! Blends a mosaic layer onto a band, row by row, by the rules of `strile_engine::BlendJob`.

#![expect(unsafe_code, reason = "writes into output memory that threads share, each its own rows")]

use crate::crew::Crew;
use std::sync::atomic::{AtomicBool, Ordering};
use strile_engine::number::{Number, reader, writer};
use strile_engine::{
    BlendJob, BlendLayer, BlendSamples, BlendWay, Claim, Context, EngineError, Location, Output, OutputBox,
    OutputRow, Picks, SharedPixels,
};
use strile_tiff::DataType;

/// Rows that a thread takes at a time.
const ROWS: u32 = 16;

/// Pixels per additional thread.
const PIXELS: u64 = 1 << 16;

/// Blends one band of a layer onto an output.
pub(crate) fn blend(
    job: &BlendJob,
    layer: &BlendLayer<'_>,
    output: &Output,
    context: &Context,
) -> Result<(), EngineError> {
    let way = job.check(layer, output.spec())?;
    let pixels = if let BlendSamples::Pixels(pixels) = layer.samples { Some(pixels) } else { None };
    let locations = pixels.into_iter().chain(layer.mask).map(SharedPixels::location);
    for location in locations.chain([output.location()]) {
        if location != Location::Host {
            let expected = "host memory, which the CPU engine reads and writes".to_owned();
            return Err(EngineError::Mismatch { what: "layer", found: location.to_string(), expected });
        }
    }
    let ((x, y), (width, height)) = (job.at, job.size);
    let (columns, rows) = ((x, x.saturating_add(width)), (y, y.saturating_add(height)));
    let claimed = OutputBox { bands: (job.band, job.band.saturating_add(1)), rows, columns };
    let claim = output.claim(claimed).ok_or(EngineError::Busy { output: 0 })?;
    let laying =
        Laying { job, layer, claim: &claim, from: layer.samples.data_type(), to: output.spec().data_type };
    let stopped = AtomicBool::new(false);
    let strips = (0..height).step_by(ROWS as usize);
    let worth = usize::try_from(u64::from(width) * u64::from(height) / PIXELS).unwrap_or(usize::MAX);
    Crew::new(context.threads.get().saturating_sub(1).min(worth)).share(
        strips,
        || (),
        |(), first| {
            if context.cancel.is_cancelled() {
                stopped.store(true, Ordering::Relaxed);
                return;
            }
            for row in first..first.saturating_add(ROWS).min(height) {
                laying.row(&way, row);
            }
        },
    );
    if stopped.into_inner() { Err(EngineError::Cancelled) } else { Ok(()) }
}

struct Laying<'a> {
    job: &'a BlendJob,
    layer: &'a BlendLayer<'a>,
    claim: &'a Claim,
    from: DataType,
    to: DataType,
}

impl Laying<'_> {
    /// Blends one row of the rectangle.
    fn row(&self, way: &BlendWay, row: u32) {
        let BlendJob { band, at: (x, y), size: (width, _), columns, .. } = self.job;
        // SAFETY: only one thread gets this row of this band, and only its samples are written.
        let Some(out) = (unsafe { self.claim.row(*band, y + row, (*x, x + width)) }) else { return };
        let picked = self.job.rows.get(row);
        let line = match &self.layer.samples {
            BlendSamples::Pixels(pixels) => Line::of(pixels, picked, columns),
            BlendSamples::One(data_type, fill) => {
                fill.0.get(..data_type.size()).map(|sample| Line { bytes: sample, step: 0, columns })
            }
        };
        let Some(line) = line else { return };
        let mask = self.layer.mask.map(|mask| Line::of(mask, picked, columns));
        let (from, to) = (self.from.size(), self.to.size());
        let (read, write) = (reader(self.from), writer(self.to));
        let is_same = self.from == self.to;
        match way {
            BlendWay::Copy if line.is_run(from) && out.stride == to => {
                let len = *width as usize * to;
                let Some(samples) = line.bytes.get(..len).filter(|_| len <= out.len) else { return };
                // SAFETY: both end within their rows, checked above; no other thread writes this row of this band.
                unsafe { out.start.copy_from_nonoverlapping(samples.as_ptr(), len) };
            }
            BlendWay::Copy => each(&line, from, &out, to, *width, |sample, out| out.copy_from_slice(sample)),
            BlendWay::Convert { largest } => each(&line, from, &out, to, *width, |sample, out| {
                let (real, imaginary) = read(sample);
                let real = match (largest, real) {
                    (Some(largest), Number::Integer(v)) => Number::Integer(v.min((*largest).into())),
                    _ => real,
                };
                write((real, imaginary), out);
            }),
            BlendWay::Unless(nodata) => {
                let nodata = nodata.0.get(..from).unwrap_or_default();
                each(&line, from, &out, to, *width, |sample, out| match sample == nodata {
                    true => {}
                    false if is_same => out.copy_from_slice(sample),
                    false => write(read(sample), out),
                });
            }
            BlendWay::Change(change) => {
                let mut column = 0;
                each(&line, from, &out, to, *width, |sample, out| {
                    let at = column;
                    column += 1;
                    let valid = mask.as_ref().and_then(|mask| mask.as_ref()?.sample(at, 1));
                    if valid == Some(&[0]) {
                        return;
                    }
                    if let Some(changed) = change.apply(read(sample)) {
                        write(changed, out);
                    }
                });
            }
        }
    }
}

/// Samples of one row of a layer.
struct Line<'a> {
    bytes: &'a [u8],
    /// Bytes between samples; 0 if all are the same sample.
    step: usize,
    columns: &'a Picks,
}

impl<'a> Line<'a> {
    fn of(pixels: &'a SharedPixels, row: u32, columns: &'a Picks) -> Option<Self> {
        let spec = pixels.spec();
        let bytes = pixels.row(0, row, (0, spec.columns))?;
        Some(Self { bytes, step: spec.strides.column, columns })
    }

    /// Returns whether the samples are consecutive in memory.
    fn is_run(&self, size: usize) -> bool {
        self.step == size && *self.columns == Picks::Run
    }

    /// Returns the sample for a column of the rectangle.
    fn sample(&self, column: u32, size: usize) -> Option<&[u8]> {
        let at = self.columns.get(column) as usize * self.step;
        self.bytes.get(at..at + size)
    }
}

/// Calls `lay` with each sample of a line and its place in the output.
fn each(
    line: &Line<'_>,
    from: usize,
    out: &OutputRow,
    to: usize,
    width: u32,
    mut lay: impl FnMut(&[u8], &mut [u8]),
) {
    for column in 0..width {
        let at = column as usize * out.stride;
        let Some(sample) = line.sample(column, from) else { return };
        if at + to > out.len {
            return;
        }
        // SAFETY: the sample ends within the row, checked above; outputs are initialised, and no other thread accesses
        // the samples of this row of this band.
        lay(sample, unsafe { std::slice::from_raw_parts_mut(out.start.add(at), to) });
    }
}
