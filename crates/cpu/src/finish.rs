//! Changes samples and transposes or flips images, some rows of the result at a time, by the rules of
//! `strile_engine::FinishJob`.

#![expect(unsafe_code, reason = "writes into output memory that threads share, each its own rows")]

use crate::crew::Crew;
use crate::search::is_sample;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use strile_engine::{
    Change, Claim, Context, EngineError, FinishJob, Location, Output, OutputBox, OutputRow, SharedPixels,
    Turn,
};
use strile_tiff::DataType;

/// Rows and columns of the result that are computed together: when rows become columns, both sides stay in the L1
/// cache.
const SIDE: u32 = 64;

/// Runs a finishing job.
pub(crate) fn finish(
    job: &FinishJob,
    pixels: Option<&SharedPixels>,
    output: &Output,
    context: &Context,
) -> Result<(), EngineError> {
    job.check(pixels.map(SharedPixels::spec), output.spec())?;
    for location in pixels.map(SharedPixels::location).into_iter().chain([output.location()]) {
        if location != Location::Host {
            let expected = "host memory, which the CPU engine reads and writes".to_owned();
            return Err(EngineError::Mismatch { what: "pixels", found: location.to_string(), expected });
        }
    }
    let to = output.spec();
    let whole = OutputBox { bands: (0, to.bands), rows: (0, to.rows), columns: (0, to.columns) };
    let claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let work = Work { job, pixels, claim: &claim, context, stopped: AtomicBool::new(false) };
    match pixels.map_or(to.data_type, |pixels| pixels.spec().data_type).size() {
        1 => work.of::<1>(),
        2 => work.of::<2>(),
        4 => work.of::<4>(),
        8 => work.of::<8>(),
        _ => work.of::<16>(),
    }
    if work.stopped.into_inner() { Err(EngineError::Cancelled) } else { Ok(()) }
}

struct Work<'a> {
    job: &'a FinishJob,
    /// `None` for the output itself.
    pixels: Option<&'a SharedPixels>,
    claim: &'a Claim,
    context: &'a Context,
    stopped: AtomicBool,
}

/// Rows of one band of the result.
struct Strip {
    band: u32,
    rows: Range<u32>,
}

impl Work<'_> {
    /// Runs the job for samples of `N` bytes.
    fn of<const N: usize>(&self) {
        let data_type = self.pixels.map_or(self.claim.spec(), SharedPixels::spec).data_type;
        let change = self.job.change;
        match change {
            Change::Nothing => self.each(|sample: [u8; N]| sample),
            Change::Invert(_) | Change::Negate => {
                let mask = bytes_of::<N>(change.flipped(N));
                self.each(|mut sample: [u8; N]| {
                    sample.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
                    sample
                });
            }
            Change::NotZero => self.each(|sample: [u8; N]| [not_zero(&sample)]),
            Change::Alpha => self.each(|sample: [u8; N]| [alpha(data_type, &sample)]),
            Change::Differs(_) => {
                let Some((sought, len)) = change.sought(data_type) else { return };
                self.each(|sample: [u8; N]| {
                    let is = sample.get(..len).is_some_and(|number| is_sample(&sought, number));
                    [if is { 0 } else { 255 }]
                });
            }
        }
    }

    /// Applies `change` to every sample.
    fn each<const N: usize, const M: usize>(&self, change: impl Fn([u8; N]) -> [u8; M] + Sync) {
        let to = self.claim.spec();
        let strips = (0..to.bands).flat_map(|band| {
            let starts = (0..to.rows).step_by(SIDE as usize);
            starts.map(move |start| Strip { band, rows: start..start.saturating_add(SIDE).min(to.rows) })
        });
        let helpers = self.context.threads.get().saturating_sub(1);
        Crew::new(helpers).share(
            strips,
            || (),
            |(), strip| {
                if self.context.cancel.is_cancelled() {
                    self.stopped.store(true, Ordering::Relaxed);
                    return;
                }
                match self.pixels {
                    None => self.in_place(&strip, &change),
                    Some(pixels) => self.moved(&strip, pixels, &change),
                }
            },
        );
    }

    /// Changes the samples of a strip in place.
    fn in_place<const N: usize, const M: usize>(&self, strip: &Strip, change: &impl Fn([u8; N]) -> [u8; M]) {
        let columns = self.claim.spec().columns;
        for row in strip.rows.clone() {
            // SAFETY: only one thread gets the rows of a strip, and only samples of this band are read and written.
            let Some(out) = (unsafe { self.claim.row(strip.band, row, (0, columns)) }) else { return };
            for column in 0..columns as usize {
                let at = column * out.stride;
                if at + N.max(M) > out.len {
                    return;
                }
                let mut sample = [0; N];
                // SAFETY: the sample ends within the row, checked above; outputs are initialised.
                unsafe { out.start.add(at).copy_to_nonoverlapping(sample.as_mut_ptr(), N) };
                put(&out, at, &change(sample));
            }
        }
    }

    /// Computes a strip from other pixels, in squares.
    fn moved<const N: usize, const M: usize>(
        &self,
        strip: &Strip,
        pixels: &SharedPixels,
        change: &impl Fn([u8; N]) -> [u8; M],
    ) {
        let columns = self.claim.spec().columns;
        // A band of the result comes from one band of the pixels, or from all.
        let bands = match self.job.change {
            Change::Differs(_) => 0..pixels.spec().bands,
            _ => strip.band..strip.band.saturating_add(1),
        };
        let mut outs: Vec<OutputRow> = Vec::with_capacity(SIDE as usize);
        for left in (0..columns).step_by(SIDE as usize) {
            let right = left.saturating_add(SIDE).min(columns);
            outs.clear();
            // SAFETY: only one thread gets the rows of a strip, and only samples of this band are written.
            let row = |row| unsafe { self.claim.row(strip.band, row, (left, right)) };
            outs.extend(strip.rows.clone().filter_map(row));
            let square = Square { rows: strip.rows.clone(), columns: left..right, outs: &outs };
            for (at, band) in bands.clone().enumerate() {
                square.make(self.job.turn, (pixels, band), at > 0, change);
            }
        }
    }
}

/// A rectangle in a band of the result.
struct Square<'a> {
    rows: Range<u32>,
    columns: Range<u32>,
    /// Rows.
    outs: &'a [OutputRow],
}

impl Square<'_> {
    /// Writes the changed samples of a band; over an earlier band, only nonzero results.
    fn make<const N: usize, const M: usize>(
        &self,
        turn: Turn,
        (pixels, band): (&SharedPixels, u32),
        adds: bool,
        change: &impl Fn([u8; N]) -> [u8; M],
    ) {
        let spec = pixels.spec();
        let (down, across) = match turn.swap {
            true => (&self.columns, &self.rows),
            false => (&self.rows, &self.columns),
        };
        let (down, across) =
            (part(down, spec.rows, turn.flip_rows), part(across, spec.columns, turn.flip_columns));
        let step = spec.strides.column;
        for (y, row) in down.clone().enumerate() {
            let Some(samples) = pixels.row(band, row, (across.start, across.end)) else { return };
            let y = if turn.flip_rows { down.len() - 1 - y } else { y };
            for x in 0..across.len() {
                let Some(sample) = samples.get(x * step..).and_then(|rest| rest.first_chunk::<N>()) else {
                    return;
                };
                let made = change(*sample);
                let x = if turn.flip_columns { across.len() - 1 - x } else { x };
                let (row, column) = if turn.swap { (x, y) } else { (y, x) };
                let Some(out) = self.outs.get(row) else { return };
                let at = column * out.stride;
                if at + M > out.len {
                    return;
                }
                if !adds || made != [0; M] {
                    put(out, at, &made);
                }
            }
        }
    }
}

/// Returns the part of an axis of `len` pixels that a range of the result comes from.
fn part(of: &Range<u32>, len: u32, flipped: bool) -> Range<u32> {
    match flipped {
        true => len.saturating_sub(of.end)..len.saturating_sub(of.start),
        false => of.clone(),
    }
}

/// Writes a sample that ends within the row.
fn put<const M: usize>(out: &OutputRow, at: usize, sample: &[u8; M]) {
    debug_assert!(at + M <= out.len, "callers check it");
    // SAFETY: `at + M` is at most the row's length, which both callers check; no other thread writes this row of this
    // band.
    unsafe { out.start.add(at).copy_from_nonoverlapping(sample.as_ptr(), M) };
}

/// Returns the bytes of a number in memory.
fn bytes_of<const N: usize>(number: u64) -> [u8; N] {
    let bytes = number.to_le_bytes();
    let mut all = [0; N];
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    if cfg!(target_endian = "big") {
        all.reverse();
    }
    all
}

fn not_zero(sample: &[u8]) -> u8 {
    if sample.iter().all(|byte| *byte == 0) { 0 } else { 255 }
}

/// Returns GDAL's mask for an alpha sample.
fn alpha(data_type: DataType, sample: &[u8]) -> u8 {
    match (data_type, sample) {
        (DataType::U8, &[value]) => value,
        (DataType::U16, &[a, b]) => {
            let value = u32::from(u16::from_ne_bytes([a, b]));
            u8::try_from((value * 255 / 65535).max(u32::from(value > 0))).unwrap_or(255)
        }
        _ => not_zero(sample),
    }
}
