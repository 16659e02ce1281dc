//! Runs and plans reads of one file, or of several onto a grid.

use crate::call::{self, Count, Watch};
use crate::dataset::{Dataset, warn};
use crate::error::{fallback_warning, refused};
use crate::onto::opened;
use crate::plan::Plan;
use crate::raster::{Raster, fault_pairs};
use crate::request::ReadOptions;
use pyo3::prelude::*;
use std::sync::Arc;
use strile::engine::Output;
use strile::grid::{plan_onto, read_onto, read_onto_device, read_onto_into};
use strile::read::{PieceLimits, ReadPlan};
use strile::{Context, Input, Location, Processor};

/// Where the result of a call goes, and what progress is reported to.
pub(crate) struct Target<'a, 'py> {
    pub(crate) out: Option<&'a Bound<'py, PyAny>>,
    pub(crate) stream: Option<u64>,
    pub(crate) progress: Option<&'a Bound<'py, PyAny>>,
}

/// The result of a read: new pixels, or the blocks that were filled in the caller's memory.
pub(crate) enum Result {
    Pixels(Raster),
    Filled(Vec<(String, String)>),
}

impl Result {
    /// Returns a raster of the pixels, or the caller's array. `name` is that of the read in messages.
    pub(crate) fn into_python<'py>(
        self,
        py: Python<'py>,
        name: &str,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (self, out) {
            (Self::Filled(faults), Some(out)) => {
                warn(py, name, &faults)?;
                Ok(out.clone())
            }
            (Self::Filled(_), None) => Err(refused("an output that was not given: a bug in strile")),
            (Self::Pixels(raster), _) => Ok(Bound::new(py, raster)?.into_any()),
        }
    }
}

/// Reads files onto a grid; see `_core.pyi`.
#[pyfunction]
#[pyo3(name = "read_onto", signature = (files, options, *, out=None, stream=None, progress=None))]
pub(crate) fn read_files<'py>(
    py: Python<'py>,
    files: Vec<Bound<'py, Dataset>>,
    options: &ReadOptions,
    out: Option<&Bound<'py, PyAny>>,
    stream: Option<u64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let files = opened(py, &files)?;
    run(py, ("a read onto a grid", false), &files, options, Target { out, stream, progress })
}

/// Plans `read_onto`, without reading pixels.
#[pyfunction]
#[pyo3(name = "plan_onto")]
pub(crate) fn plan_files<'py>(
    py: Python<'py>,
    files: Vec<Bound<'py, Dataset>>,
    options: &ReadOptions,
) -> PyResult<Plan> {
    plan(py, false, &opened(py, &files)?, options)
}

/// Reads pixels. `name` is that of the read in messages; `is_local`: all bytes come from files of this machine.
pub(crate) fn run<'py>(
    py: Python<'py>,
    (name, is_local): (&str, bool),
    files: &[Arc<Input>],
    options: &ReadOptions,
    target: Target<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let context = options.context()?;
    let output = options.output(target.out, target.stream)?;
    let (to, options) = options.resolved(output.as_ref())?;
    let is_quick = is_local && is_small(files, &options, to);
    let result = watched(
        py,
        (target.progress, is_quick),
        context,
        |context| blocks(files, &options, to, context),
        |context| read(files, &options, (output.as_ref(), to), context),
    )?;
    if options.place.onto.is_some() {
        for input in files {
            warn_of_missing(py, input)?;
        }
    }
    result.into_python(py, name, target.out)
}

/// Does work whose blocks `blocks` counts, on this thread if it is quick and reports no progress.
fn watched<T: Send>(
    py: Python<'_>,
    (progress, is_quick): (Option<&Bound<'_, PyAny>>, bool),
    mut context: Context,
    blocks: impl FnOnce(&Context) -> strile::Result<u64> + Send,
    work: impl FnOnce(&Context) -> strile::Result<T> + Send,
) -> PyResult<T> {
    let Some(progress) = progress else {
        return match is_quick {
            true => call::run_at_once(py, || work(&context)),
            false => call::run(py, &context.cancel, None, || work(&context)),
        };
    };
    let count = Arc::new(Count::default());
    context.progress = Some(Arc::clone(&count) as _);
    call::run(py, &context.cancel, Some(Watch { count: &count, progress }), || {
        count.expect(blocks(&context)?);
        let result = work(&context)?;
        count.complete();
        Ok(result)
    })
}

/// Reads masks of bands, with the stored samples or without.
pub(crate) fn masks(
    py: Python<'_>,
    input: &Arc<Input>,
    options: &ReadOptions,
    with_pixels: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Option<Raster>, Raster)> {
    let (context, (to, options)) = (options.context()?, options.resolved(None)?);
    let work = |context: &Context| {
        let (pixels, masks) = match with_pixels {
            true => input.read_with_masks(&options, context).map(|(pixels, masks)| (Some(pixels), masks))?,
            false => (None, input.read_masks(&options, context)?),
        };
        Ok((pixels.map(Raster::new).transpose()?, Raster::new(masks)?))
    };
    let count = |context: &Context| blocks(std::slice::from_ref(input), &options, to, context);
    let found = watched(py, (progress, false), context, count, work)?;
    if options.place.onto.is_some() {
        warn_of_missing(py, input)?;
    }
    Ok(found)
}

/// Plans a read, without reading pixels.
pub(crate) fn plan(
    py: Python<'_>,
    is_local: bool,
    files: &[Arc<Input>],
    options: &ReadOptions,
) -> PyResult<Plan> {
    let context = options.context()?;
    let (to, options) = options.resolved(None)?;
    let asks_gpu = to != Location::Host || matches!(options.execution.decode_on, Processor::Cuda(_));
    let work = || Ok(Plan::new(&planned(files, to, &options, &context)?, asks_gpu));
    // The sources of a mosaic are opened for its plan.
    let is_quick = is_local && options.place.onto.is_none() && files.iter().all(|file| file.tiff().is_some());
    match is_quick {
        true => call::run_at_once(py, work),
        false => call::run(py, &context.cancel, None, work),
    }
}

/// Returns the file of a read without a grid.
fn only(files: &[Arc<Input>]) -> strile::Result<&Input> {
    match files {
        [one] => Ok(one),
        files => Err(strile::Error::Request {
            file: format!("{} files", files.len()),
            problem: "several files are read onto a grid, and none is given".into(),
        }),
    }
}

/// Reads into the caller's memory, or into new memory.
fn read(
    files: &[Arc<Input>],
    options: &strile::ReadOptions,
    (output, to): (Option<&Output>, Location),
    context: &Context,
) -> strile::Result<Result> {
    let pixels = match (options.place.onto.is_some(), output, to) {
        (true, Some(output), _) => {
            return Ok(Result::Filled(fault_pairs(&read_onto_into(output, files, options, context)?.faults)));
        }
        (true, None, Location::Cuda(index)) => read_onto_device(index, files, options, context)?,
        (true, None, Location::Host) => read_onto(files, options, context)?,
        (false, output, to) => {
            let input = only(files)?;
            if let Input::Tiff(dataset) = input {
                dataset.check_mask(&options.place)?;
            }
            match (output, to) {
                (Some(output), _) => {
                    return Ok(Result::Filled(fault_pairs(
                        &input.read_into(output, options, context)?.faults,
                    )));
                }
                (None, Location::Cuda(index)) => input.read_on_device(index, options, context)?,
                (None, Location::Host) => input.read(options, context)?,
            }
        }
    };
    Ok(Result::Pixels(Raster::new(pixels)?))
}

/// The most bytes of a read that is too short to be cancelled, with any codec.
const SMALL: u64 = 4 << 20;

/// Returns whether a read decodes little, and opens no GPU, which takes long.
fn is_small(files: &[Arc<Input>], options: &strile::ReadOptions, to: Location) -> bool {
    let [file] = files else { return false };
    let Input::Tiff(dataset) = file.as_ref() else { return false };
    if options.place.onto.is_some() {
        return false;
    }
    let device = match (to, options.execution.decode_on) {
        (Location::Cuda(device), _) | (Location::Host, Processor::Cuda(device)) => Some(device),
        (Location::Host, Processor::Auto | Processor::Cpu) => None,
    };
    if device.is_some_and(|device| !strile::device::is_open(device)) {
        return false;
    }
    // A level that is not there is refused at once.
    dataset.decoded_bytes(&options.place).is_none_or(|bytes| bytes <= SMALL)
}

/// Plans a read into new memory.
fn planned(
    files: &[Arc<Input>],
    to: Location,
    options: &strile::ReadOptions,
    context: &Context,
) -> strile::Result<ReadPlan> {
    match (options.place.onto.is_some(), to) {
        (true, to) => plan_onto(to, files, options, context),
        (false, Location::Host) => only(files)?.plan(options, context),
        (false, Location::Cuda(index)) => only(files)?.plan_on_device(index, options, context),
    }
}

/// Counts the blocks that will be decoded, or the sources of a mosaic.
fn blocks(
    files: &[Arc<Input>],
    options: &strile::ReadOptions,
    to: Location,
    context: &Context,
) -> strile::Result<u64> {
    if options.place.onto.is_none()
        && let Input::Vrt(vrt) = only(files)?
    {
        return Ok(vrt.pieces(options, &PieceLimits::default(), context)?.blocks);
    }
    let figures = planned(files, to, options, context)?.figures();
    Ok((figures.blocks + figures.sparse) as u64)
}

/// Warns of sources of a mosaic that were skipped.
fn warn_of_missing(py: Python<'_>, input: &Input) -> PyResult<()> {
    let Input::Vrt(vrt) = input else { return Ok(()) };
    for warning in vrt.warnings().iter().filter(|warning| warning.code == "missing-source") {
        fallback_warning(py, &format!("{}: {warning}", vrt.name()), 1)?;
    }
    Ok(())
}
