//! Searches finished pixels for values, row by row, by the rules of `strile_engine::FindJob`.

#![expect(unsafe_code, reason = "reads output memory, which no job writes while its box is claimed")]

use crate::crew::Crew;
use crate::search::{holds, is_sample};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use strile_engine::{
    Claim, Context, EngineError, FindJob, FindPart, Location, Output, OutputBox, OutputRow, Sought,
};

/// Searches all parts; returns whether a value was found.
pub(crate) fn find(job: &FindJob, output: &Output, context: &Context) -> Result<bool, EngineError> {
    job.check(output.spec())?;
    if output.location() != Location::Host {
        let expected = "host memory, which the CPU engine reads".to_owned();
        let found = output.location().to_string();
        return Err(EngineError::Mismatch { what: "output", found, expected });
    }
    let spec = output.spec();
    let whole = OutputBox { bands: (0, spec.bands), rows: (0, spec.rows), columns: (0, spec.columns) };
    let claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let (found, stopped) = (AtomicBool::new(false), AtomicBool::new(false));
    let rows = job.parts.iter().flat_map(|part| {
        // Bands with adjacent samples are searched as one long row.
        let is_together = part.bands == spec.bands && is_interleaved(&claim);
        let bands = if is_together { 1 } else { part.bands };
        let together = if is_together { part.bands } else { 1 };
        (0..bands).flat_map(move |at| {
            let band = part.first_band.saturating_add(at);
            (0..spec.rows).map(move |row| Row { part, band, together, row })
        })
    });
    Crew::new(context.threads.get().saturating_sub(1)).share(
        rows,
        || (),
        |(), row| match () {
            () if context.cancel.is_cancelled() => stopped.store(true, Ordering::Relaxed),
            () if found.load(Ordering::Relaxed) => {}
            () if row.holds(&claim) => found.store(true, Ordering::Relaxed),
            () => {}
        },
    );
    if stopped.into_inner() { Err(EngineError::Cancelled) } else { Ok(found.into_inner()) }
}

/// Returns whether the bands of a pixel, and the pixels of a row, are adjacent.
fn is_interleaved(claim: &Claim) -> bool {
    let (spec, size) = (claim.spec(), claim.spec().data_type.size());
    spec.strides.band == size && spec.strides.column == size * spec.bands as usize
}

/// A row of one band, or of adjacent bands.
struct Row<'a> {
    part: &'a FindPart,
    band: u32,
    together: u32,
    row: u32,
}

impl Row<'_> {
    fn holds(&self, claim: &Claim) -> bool {
        let spec = claim.spec();
        let (size, columns) = (spec.data_type.size(), (0, spec.columns));
        // SAFETY: nothing is written: the whole output is claimed, and this job only reads.
        let Some(OutputRow { start, len, stride }) = (unsafe { claim.row(self.band, self.row, columns) })
        else {
            return false;
        };
        let len = len + size * self.together.saturating_sub(1) as usize;
        // SAFETY: the row lies in the output. Adjacent bands end with the last pixel of the row.
        let samples = unsafe { slice::from_raw_parts(start.cast_const(), len) };
        let sought: &Sought = &self.part.sought;
        match stride == size || self.together > 1 {
            true => holds(sought, size, samples),
            false => samples
                .chunks(stride.max(1))
                .any(|sample| sample.get(..size).is_some_and(|sample| is_sample(sought, sample))),
        }
    }
}
