//! Checks of an encoding job against its pixels; encoding relies on them.

use super::{EncodeJob, EncodeLayout, EncodeTask};
use crate::{BlockLayout, EngineError, Location, OutputSpec, SharedPixels};

impl EncodeJob {
    /// Checks every layout and every task, for an engine that can access pixels on the host and in `here`. `prepare`
    /// returns how the blocks of a layout are encoded, or why they cannot be.
    pub fn check<T>(
        &self,
        pixels: &[SharedPixels],
        here: Location,
        prepare: impl FnMut(&EncodeLayout) -> Result<T, String>,
    ) -> Result<Vec<T>, EngineError> {
        let prepared = self.layouts.iter().map(prepare).collect::<Result<Vec<_>, _>>();
        let prepared = prepared.map_err(|reason| EngineError::Mismatch {
            what: "layouts",
            found: reason,
            expected: "a layout that the engine prepared".to_owned(),
        })?;
        for (number, task) in self.tasks.iter().enumerate() {
            let layout = self.layouts.get(task.layout as usize).ok_or_else(|| EngineError::Mismatch {
                what: "layouts",
                found: format!("{} layouts", self.layouts.len()),
                expected: format!("layout {} of task {number}", task.layout),
            })?;
            let given = pixels.get(task.pixels as usize).ok_or_else(|| EngineError::Mismatch {
                what: "pixels",
                found: format!("{} images", pixels.len()),
                expected: format!("image {} of task {number}", task.pixels),
            })?;
            block(number, task, &layout.block)?;
            given.check_reached(here)?;
            image(task, &layout.block, given.spec())?;
        }
        Ok(prepared)
    }
}

/// Checks that the task's rows and columns lie in its block.
fn block(number: usize, task: &EncodeTask, block: &BlockLayout) -> Result<(), EngineError> {
    let rows_fit = match block.is_strip {
        true => (1..=block.height).contains(&task.rows),
        false => task.rows == block.height,
    };
    let fits = rows_fit
        && (1..=block.width).contains(&task.width)
        && (1..=task.rows).contains(&task.height)
        && block.decoded_len(task.rows).is_some()
        && block.samples_len(task.rows).is_some();
    fits.then_some(()).ok_or_else(|| EngineError::Mismatch {
        what: "layouts",
        found: format!("{} × {} pixels in {} rows of task {number}", task.width, task.height, task.rows),
        expected: format!("a part of a block of {} × {}", block.width, block.height),
    })
}

/// Checks that the image has the task's type, bands, rows and columns.
fn image(task: &EncodeTask, block: &BlockLayout, spec: &OutputSpec) -> Result<(), EngineError> {
    if spec.data_type != block.data_type {
        return Err(EngineError::Mismatch {
            what: "pixels",
            found: format!("{} in image {}", spec.data_type, task.pixels),
            expected: block.data_type.to_string(),
        });
    }
    let end = |from: u32, n: u32| u64::from(from) + u64::from(n);
    let needed =
        (end(task.first_band, block.samples.into()), end(task.y, task.height), end(task.x, task.width));
    let fits = needed.0 <= u64::from(spec.bands)
        && needed.1 <= u64::from(spec.rows)
        && needed.2 <= u64::from(spec.columns);
    fits.then_some(()).ok_or_else(|| EngineError::Mismatch {
        what: "pixels",
        found: format!("{} × {} × {} samples in image {}", spec.bands, spec.rows, spec.columns, task.pixels),
        expected: format!("{} × {} × {} or more", needed.0, needed.1, needed.2),
    })
}
