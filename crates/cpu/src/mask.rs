//! Applies masks to pixels, one band of the output at a time, by the rules of `strile_engine::MaskJob`.

#![expect(unsafe_code, reason = "writes into output memory that threads share, each its own bands")]

use crate::crew::Crew;
use std::sync::atomic::{AtomicBool, Ordering};
use strile_engine::{Claim, Context, EngineError, Location, MaskJob, Output, OutputBox, SharedPixels};

/// Applies all masks.
pub(crate) fn mask(
    job: &MaskJob,
    masks: &SharedPixels,
    output: &Output,
    context: &Context,
) -> Result<(), EngineError> {
    job.check(masks.spec(), output.spec())?;
    for location in [masks.location(), output.location()] {
        if location != Location::Host {
            let expected = "host memory, which the CPU engine reads and writes".to_owned();
            return Err(EngineError::Mismatch { what: "masks", found: location.to_string(), expected });
        }
    }
    let to = output.spec();
    let whole = OutputBox { bands: (0, to.bands), rows: (0, to.rows), columns: (0, to.columns) };
    let claim = output.claim(whole).ok_or(EngineError::Busy { output: 0 })?;
    let rows_of = |(number, window): (u32, &strile_engine::MaskWindow)| {
        let (first, spared) = (window.first_band, window.spared);
        let bands = (first..first.saturating_add(window.bands)).filter(move |band| Some(*band) != spared);
        bands.flat_map(move |band| (0..to.rows).map(move |row| Row { number, band, row }))
    };
    // Windows have separate bands (checked above), so every row of the output occurs once.
    let rows = (0u32..).zip(&job.windows).flat_map(rows_of);
    let stopped = AtomicBool::new(false);
    let value = job.value.0.get(..to.data_type.size()).unwrap_or_default();
    Crew::new(context.threads.get().saturating_sub(1)).share(
        rows,
        || (),
        |(), row| {
            if context.cancel.is_cancelled() {
                stopped.store(true, Ordering::Relaxed);
                return;
            }
            row.apply(masks, &claim, value);
        },
    );
    if stopped.into_inner() { Err(EngineError::Cancelled) } else { Ok(()) }
}

/// A row of a band of the output, with the mask of its window.
struct Row {
    number: u32,
    band: u32,
    row: u32,
}

impl Row {
    fn apply(&self, masks: &SharedPixels, claim: &Claim, value: &[u8]) {
        let spec = masks.spec();
        let columns = spec.columns;
        let Some(mask) = masks.row(self.number, self.row, (0, columns)) else { return };
        // SAFETY: only one thread gets this row of this band, and only its samples are written.
        let Some(out) = (unsafe { claim.row(self.band, self.row, (0, columns)) }) else { return };
        for column in 0..columns as usize {
            let at = column * spec.strides.column;
            let Some(sample) = mask.get(at..at + spec.data_type.size()) else { return };
            let to = column * out.stride;
            if sample.iter().all(|byte| *byte == 0) && to + value.len() <= out.len {
                // SAFETY: the sample ends within the row, checked above.
                unsafe { out.start.add(to).copy_from_nonoverlapping(value.as_ptr(), value.len()) };
            }
        }
    }
}
