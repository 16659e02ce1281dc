//! A job held against the pixels it is given: after this, encoding trusts both.

use strile_engine::{
    BlockLayout, EncodeJob, EncodeLayout, EncodeTask, Engine, EngineError, Location, OutputSpec, Pixels,
};

/// Checks every layout and every task; pixels may be on the host or in the memory of `here`.
pub(crate) fn check(
    job: &EncodeJob,
    pixels: &[Pixels],
    host: &dyn Engine,
    here: Location,
) -> Result<(), EngineError> {
    job.layouts.iter().try_for_each(|layout| prepared(layout, host))?;
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
        block(number, task, &layout.block)?;
        reachable(given, here)?;
        image(task, &layout.block, given.spec())?;
    }
    Ok(())
}

/// The pixels lie where kernels or copies reach them.
pub(crate) fn reachable(pixels: &Pixels, here: Location) -> Result<(), EngineError> {
    let location = pixels.location();
    let reached = location == Location::Host || location == here;
    reached.then_some(()).ok_or_else(|| EngineError::Mismatch {
        what: "pixels",
        found: format!("pixels in {location}"),
        expected: format!("pixels on the host or in {here}"),
    })
}

fn prepared(layout: &EncodeLayout, host: &dyn Engine) -> Result<(), EngineError> {
    host.prepare(layout.clone()).map(|_| ()).map_err(|reason| EngineError::Mismatch {
        what: "layouts",
        found: reason,
        expected: "a layout that the engine prepared".to_owned(),
    })
}

/// The task's rows and columns lie in its block.
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

/// The image has the task's type, bands, rows and columns.
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
