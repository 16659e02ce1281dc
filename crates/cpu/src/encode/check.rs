//! A job held against the pixels it is given: after this, encoding trusts both.

use super::block::Recipe;
use crate::codec;
use strile_engine::{BlockLayout, EncodeJob, EncodeLayout, EncodeTask, EngineError, Location, Pixels};

/// Checks every layout and every task, and says how the blocks of each layout are made.
pub(super) fn check(job: &EncodeJob, pixels: &[Pixels]) -> Result<Vec<Recipe>, EngineError> {
    let recipes = job.layouts.iter().map(recipe).collect::<Result<Vec<_>, _>>()?;
    for (number, task) in job.tasks.iter().enumerate() {
        let layout = job.layouts.get(task.layout as usize).ok_or_else(|| EngineError::Mismatch {
            what: "layouts",
            found: format!("{} layouts", job.layouts.len()),
            expected: format!("layout {} of task {number}", task.layout),
        })?;
        let given = pixels.get(task.pixels as usize).ok_or_else(|| EngineError::Mismatch {
            what: "pixels",
            found: format!("{} images", pixels.len()),
            expected: format!("image {} of task {number}", task.pixels),
        })?;
        check_block(number, task, &layout.block)?;
        check_pixels(task, &layout.block, given)?;
    }
    Ok(recipes)
}

fn recipe(layout: &EncodeLayout) -> Result<Recipe, EngineError> {
    let checked = codec::prepare(layout.clone()).and_then(|layout| Recipe::of(&layout.block));
    checked.map_err(|reason| EngineError::Mismatch {
        what: "layouts",
        found: reason,
        expected: "a layout that the engine prepared".to_owned(),
    })
}

/// The task's rows and columns lie in its block.
fn check_block(number: usize, task: &EncodeTask, block: &BlockLayout) -> Result<(), EngineError> {
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

/// The pixels have the task's type, bands, rows and columns.
fn check_pixels(task: &EncodeTask, block: &BlockLayout, pixels: &Pixels) -> Result<(), EngineError> {
    let spec = pixels.spec();
    if pixels.location() != Location::Host {
        return Err(EngineError::Mismatch {
            what: "pixels",
            found: format!("image {} in {}", task.pixels, pixels.location()),
            expected: "pixels on the host".to_owned(),
        });
    }
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
