//! Replaces samples by another value, row by row, by the rules of `strile_engine::ReplaceJob`.

#![expect(unsafe_code, reason = "writes into output memory that threads share, each its own rows")]

use crate::crew::Crew;
use crate::search::holds;
use std::sync::atomic::{AtomicBool, Ordering};
use strile_engine::{
    Change, Claim, Context, EngineError, FindPart, Location, Output, OutputBox, OutputRow, ReplaceJob, Sought,
};

/// Replaces all matching samples.
pub(crate) fn replace(job: &ReplaceJob, output: &Output, context: &Context) -> Result<(), EngineError> {
    job.check(output.spec())?;
    if output.location() != Location::Host {
        let expected = "host memory, which the CPU engine writes".to_owned();
        let found = output.location().to_string();
        return Err(EngineError::Mismatch { what: "output", found, expected });
    }
    let spec = output.spec();
    let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
    let claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let stopped = AtomicBool::new(false);
    // Parts have separate bands (checked above), so every row occurs once.
    let rows = job.parts.iter().flat_map(|part| {
        let bands = part.first_band..part.first_band.saturating_add(part.bands);
        bands.flat_map(move |band| (0..spec.rows).map(move |row| Row { part, band, row }))
    });
    let value = job.value.0.get(..spec.data_type.size()).unwrap_or_default();
    Crew::new(context.threads.get().saturating_sub(1)).share(
        rows,
        || (),
        |(), row| match context.cancel.is_cancelled() {
            true => stopped.store(true, Ordering::Relaxed),
            false => row.replace(&claim, value),
        },
    );
    if stopped.into_inner() { Err(EngineError::Cancelled) } else { Ok(()) }
}

/// A row of a band.
struct Row<'a> {
    part: &'a FindPart,
    band: u32,
    row: u32,
}

impl Row<'_> {
    fn replace(&self, claim: &Claim, value: &[u8]) {
        let spec = claim.spec();
        let (size, sought) = (spec.data_type.size(), self.part.sought);
        let Some((_, compared)) = Change::Differs(sought).sought(spec.data_type) else { return };
        // SAFETY: only one thread gets this row of this band, and only its samples are read and written.
        let Some(OutputRow { start, len, stride }) =
            (unsafe { claim.row(self.band, self.row, (0, spec.columns)) })
        else {
            return;
        };
        for column in 0..spec.columns as usize {
            let at = column * stride;
            if at + size > len {
                return;
            }
            // SAFETY: the sample ends within the row, checked above, and nothing else refers to it.
            let sample = unsafe { std::slice::from_raw_parts_mut(start.add(at), size) };
            if sample.get(..compared).is_some_and(|number| is(&sought, number)) {
                sample.copy_from_slice(value);
            }
        }
    }
}

/// Returns whether a number matches.
fn is(sought: &Sought, number: &[u8]) -> bool {
    let bits = match *number {
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => return holds(sought, number.len(), number),
    };
    (bits & sought.mask).wrapping_sub(sought.low) <= sought.span
}
