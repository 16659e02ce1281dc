//! Windows given in coordinates that lie entirely outside their image: they have no pixel of their file.

use super::located::located;
use super::window::BatchWindow;
use crate::error::Result;
use crate::file::input::{AsInput, InputRef};
use crate::file::stated::{named, unit_of};
use crate::read::{Area, Frame};

/// Describes windows whose boxes or points lie entirely outside their image, for a warning; `None` if there are none.
/// Such windows hold fill values only. Windows in pixels may lie anywhere: they are not judged.
///
/// ```no_run
/// use strile::batch::{BatchWindow, outside};
/// use strile::{Dataset, read::Area};
///
/// let files = [Dataset::open("dem.tif")?];
/// let windows = [BatchWindow::new(0, Area::Bounds([9.0, 46.93, 9.01, 46.94]))];
/// if let Some(problem) = outside(&files, &windows)? {
///     eprintln!("warning: {problem}");
/// }
/// # Ok::<(), strile::Error>(())
/// ```
///
/// # Errors
/// If a window cannot be located in its file.
pub fn outside<F: AsInput>(files: &[F], windows: &[BatchWindow]) -> Result<Option<String>> {
    let by_coordinates = |window: &BatchWindow| matches!(window.area, Area::Bounds(_) | Area::Point { .. });
    if !windows.iter().any(by_coordinates) {
        return Ok(None);
    }
    let (mut count, mut first) = (0usize, None);
    for (at, window) in located(files, windows, None)?.iter().enumerate() {
        let Some(file) = files.get(window.file).filter(|_| by_coordinates(window)) else { continue };
        if let Some(problem) = problem_of(file.as_input(), window)? {
            count += 1;
            first.get_or_insert_with(|| format!("window {at} ({}): {problem}", window.area));
        }
    }
    Ok(first.map(|first| match count {
        1 => first,
        count => format!("{first} ({count} of {} windows lie outside)", windows.len()),
    }))
}

/// Describes where a window lies if it has no pixel of its image.
fn problem_of(input: InputRef<'_>, window: &BatchWindow) -> Result<Option<String>> {
    let place = window.place();
    let (frame, image, transform) = match input {
        InputRef::Tiff(file) => {
            let image = file.target(&place)?.image;
            let transform = file.stored_transform(&place)?;
            (Frame::of(&window.area, file, &place)?, (image.width, image.height), transform)
        }
        InputRef::Vrt(vrt) => {
            let (whole, _) = vrt.target(&place)?;
            let transform = vrt.stored_transform(&place)?;
            let refuse = |problem: &str| vrt.refuse(problem.to_owned());
            let frame = Frame::found(&window.area, || Ok(transform), refuse)?;
            (frame, (whole.width, whole.height), transform)
        }
    };
    if frame.inside(image).is_some() {
        return Ok(None);
    }
    let covered = transform.map(|transform| transform.bounds(0.0, 0.0, image.0.into(), image.1.into()));
    let extent = covered.map(|found| [found.min_x, found.min_y, found.max_x, found.max_y]);
    let system = input.metadata().georeference.crs.as_ref().map(named);
    let sides = match window.area {
        Area::Bounds(sides) => Some(sides),
        Area::Point { x, y, .. } => Some([x, y, x, y]),
        Area::Pixels { .. } | Area::Part(_) => None,
    };
    let hint = sides.zip(extent).zip(system.as_ref()).and_then(|((sides, extent), _)| unit_of(sides, extent));
    let covers = extent.map_or_else(String::new, |[west, south, east, north]| {
        let system = system.map_or_else(String::new, |system| format!(" in {system}"));
        format!(", which covers {west},{south},{east},{north}{system}")
    });
    let hint = hint.map_or_else(String::new, |unit| {
        format!(": the coordinates look like {unit}; set `bounds_crs` to their reference system")
    });
    Ok(Some(format!("lies outside {}{covers}{hint}", input.name())))
}
