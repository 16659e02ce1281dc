//! Windows of a batch that are warped onto a grid: each has its own grid, in the reference system of the given one.
//! Windows clipped by polygons are warped onto the grids of their files.

use super::options::BatchOptions;
use super::output::BatchOutput;
use super::read::of_batch;
use super::window::BatchWindow;
use crate::error::{Error, Result};
use crate::file::input::{AsInput, InputRef};
use crate::grid::{Grid, Onto};
use crate::options::{FloatType, Layout, Place, ReadOptions};
use crate::pixels::Pixels;
use crate::read::{Frame, OntoRead, ReadPlan, WantedChip, WindowFault};
use std::sync::Arc;
use strile_engine::{Context, Location, Report};
use strile_tiff::DataType;
use strile_tiff::geo::GeoTransform;

/// A checked batch that is warped onto a grid.
pub(super) struct BatchOnto<'a>(OntoRead<'a>);

impl<'a> BatchOnto<'a> {
    /// Returns the batch; `None` if windows are pixels of their files.
    pub(super) fn of<F: AsInput>(
        files: &'a [F],
        windows: &'a [BatchWindow],
        options: &BatchOptions,
        context: &'a Context,
    ) -> Result<Option<Self>> {
        let is_clipped = windows.iter().any(|window| window.polygon.is_some());
        match &options.onto {
            Some(onto) => Self::new(files, windows, (options, Some(onto)), context).map(Some),
            None if is_clipped => Self::new(files, windows, (options, None), context).map(Some),
            None => Ok(None),
        }
    }

    /// Prepares the batch. Without a grid, each window uses that of its file and level.
    fn new<F: AsInput>(
        files: &'a [F],
        windows: &'a [BatchWindow],
        (options, onto): (&BatchOptions, Option<&Onto>),
        context: &'a Context,
    ) -> Result<Self> {
        let refuse =
            |problem: &str| Error::Request { file: of_batch(windows.len()), problem: problem.to_owned() };
        options.check().map_err(|problem| refuse(&problem))?;
        if onto.is_none() && options.size.is_some() {
            return Err(refuse(
                "windows that are clipped by polygons are not resampled to a `size` without a grid; give a grid",
            ));
        }
        let fail = |at: usize, error: Error| match windows.get(at) {
            Some(window) => window.fail(at, error),
            None => error,
        };
        let bands = windows.first().and_then(|window| window.bands.clone());
        let mut chips = Vec::with_capacity(windows.len());
        let mut grid = onto.map(|onto| onto.grid.clone());
        for (at, window) in windows.iter().enumerate() {
            let input = files.get(window.file).map(AsInput::as_input);
            let missing =
                || format!("there is no file {}, the batch has {} (from 0)", window.file, files.len());
            let input = input.ok_or_else(|| fail(at, refuse(&missing())))?;
            let problem = match window {
                _ if window.page > 0 => {
                    "pages after the first are not put onto a grid or clipped by a polygon"
                }
                _ if window.level > 0 && onto.is_some() => "the `level` is one of the options of the warp",
                _ if window.bands != bands => "windows of one batch onto a grid have the same bands",
                _ => "",
            };
            if !problem.is_empty() {
                return Err(fail(at, input.refuse(problem.to_owned())));
            }
            let (own, level) = match onto {
                Some(onto) => (onto.grid.clone(), None),
                None => {
                    let level = ReadOptions::new().level(window.level);
                    (input.grid_of(&level).map_err(|error| fail(at, error))?, Some(window.level))
                }
            };
            let chip = chip(window, &own, options.size, input).map_err(|error| fail(at, error))?;
            grid.get_or_insert(own);
            chips.push(WantedChip { input, grid: chip, level, polygon: window.polygon.clone() });
        }
        let grid = grid.ok_or_else(|| refuse("no window is asked for"))?;
        let mut warp = onto.map(|onto| onto.warp.clone()).unwrap_or_default();
        warp.fill = warp.fill.or(options.fill);
        let is_masked = options.meaning.is_masked();
        if onto.is_none() && !is_masked && warp.fill.is_none() {
            check_nodata(&chips, bands.as_deref())?.map_err(|problem| refuse(&problem))?;
        }
        if let Some(float_type) = options.meaning.float_type.filter(|_| !is_masked) {
            warp.data_type = warp.data_type.or(Some(match float_type {
                FloatType::Float16 => DataType::F16,
                FloatType::Float32 => DataType::F32,
                FloatType::Float64 => DataType::F64,
            }));
        }
        let casts = is_masked || warp.data_type.is_some();
        let onto = Some(Arc::new(Onto { grid, warp }));
        let read = ReadOptions {
            place: Place { bands, onto, ..Place::default() },
            meaning: options.meaning,
            layout: Layout::default(),
            execution: options.execution,
        };
        let read = OntoRead::of_batch(chips, &read, context, fail)?;
        if !casts {
            check_types(&read.stored().collect::<Vec<_>>()).map_err(|problem| refuse(&problem))?;
        }
        Ok(Self(read))
    }

    pub(super) fn plan(&self, to: Location) -> Result<ReadPlan> {
        self.0.explained(to)
    }

    pub(super) fn read(&self, to: Location) -> Result<Pixels> {
        self.0.windows(to)
    }

    pub(super) fn read_into(&self, output: &BatchOutput) -> Result<(Report, Vec<WindowFault>)> {
        let [windows, ..] = output.shape();
        if windows != self.0.count() {
            let problem = format!("the output has {windows} windows, the batch {}", self.0.count());
            return Err(Error::Request { file: of_batch(self.0.count() as usize), problem });
        }
        let (report, faults, _) = self.0.read_into(output.output())?;
        Ok((report, faults))
    }
}

/// Returns the grid of a window: pixels of the given grid, or `size` pixels over the same area.
fn chip(window: &BatchWindow, grid: &Grid, size: Option<(u32, u32)>, input: InputRef<'_>) -> Result<Grid> {
    let refuse = |problem: &str| input.refuse(problem.to_owned());
    let frame = Frame::found(&window.area, || Ok(Some(grid.transform())), refuse)?;
    let (transform, (width, height)) = match size {
        Some(size) => {
            let [left, top, wide, high] = frame.exact;
            let transform = moved(grid.transform(), left, top);
            (transform.scaled(wide / f64::from(size.0), high / f64::from(size.1)), size)
        }
        #[expect(clippy::cast_precision_loss, reason = "a pixel of a grid")]
        None => (moved(grid.transform(), frame.x as f64, frame.y as f64), (frame.width, frame.height)),
    };
    Grid::new(grid.crs().clone(), transform, width, height).map_err(|problem| refuse(&problem.to_string()))
}

fn moved(transform: GeoTransform, column: f64, row: f64) -> GeoTransform {
    let (c, f) = transform.to_world(column, row);
    GeoTransform { c, f, ..transform }
}

/// Fails if files have different nodata values: missing pixels of all windows would get one of them.
fn check_nodata(chips: &[WantedChip<'_>], bands: Option<&[u16]>) -> Result<std::result::Result<(), String>> {
    let Some(first) = chips.first() else { return Ok(Ok(())) };
    let value = first.input.nodata(bands)?;
    for chip in chips {
        let other = chip.input.nodata(bands)?;
        if other.map(|v| v.as_f64().to_bits()) != value.map(|v| v.as_f64().to_bits()) {
            return Ok(Err(format!(
                "{} and {} have different nodata values: say which `fill` pixels outside polygons have, or read `masked`",
                first.input.name(),
                chip.input.name()
            )));
        }
    }
    Ok(Ok(()))
}

/// Fails if files store different types.
fn check_types(stored: &[(&str, Option<DataType>)]) -> std::result::Result<(), String> {
    let Some(first) = stored.first() else { return Ok(()) };
    let Some(other) = stored.iter().find(|other| other.1 != first.1) else { return Ok(()) };
    let told = |data_type: Option<DataType>| data_type.map_or("no known type".into(), |it| it.to_string());
    Err(format!(
        "{} stores {} and {} stores {}: ask for a float type, or read them in batches of their own",
        first.0,
        told(first.1),
        other.0,
        told(other.1)
    ))
}
