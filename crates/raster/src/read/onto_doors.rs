//! Reads of several files onto one grid. One file is read by the doors of `Dataset` and `Vrt`, which come here too.

use super::doors::with_faults;
use super::onto::{Holes, OntoRead};
use super::plan::ReadPlan;
use super::reading::Done;
use crate::error::Result;
use crate::grid::WarpFile;
use crate::input::{AsInput, InputRef};
use crate::options::ReadOptions;
use crate::raster::{DeviceRaster, Raster};
use strile_engine::{Context, Location, Output, Report};

/// Reads files onto the grid of the options, in host memory. Files are TIFFs or mosaics, and may have any reference system, and
/// types that differ; which of them is on top is [`WarpOptions::top`](crate::grid::WarpOptions::top).
///
/// ```no_run
/// use strile::grid::{Grid, WarpOptions, read_onto};
/// use strile::{Context, Dataset, ReadOptions};
///
/// let files = [Dataset::open("zone32.tif")?, Dataset::open("zone33.tif")?];
/// let options = ReadOptions::new().onto(Grid::xyz_tile(12, 2218, 1391, 256)?, WarpOptions::new());
/// let tile = read_onto(&files, &options, &Context::default())?;
/// assert_eq!((tile.columns, tile.rows), (256, 256));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_onto<F: AsInput>(files: &[F], options: &ReadOptions, context: &Context) -> Result<Raster> {
    OntoRead::new(&inputs(files), options, context)?.raster().map(|(raster, ..)| raster)
}

/// Reads files onto the grid of the options, in memory of the CUDA device `device`.
pub fn read_onto_device<F: AsInput>(
    device: u32,
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<DeviceRaster> {
    OntoRead::new(&inputs(files), options, context)?.on_device(device).map(|(raster, _)| raster)
}

/// Reads files onto the grid of the options, into the caller's output, which has the type and shape of the result.
pub fn read_onto_into<F: AsInput>(
    output: &Output,
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<Report> {
    OntoRead::new(&inputs(files), options, context)?.laid_into(output).map(|(report, _)| report)
}

/// Plans a read of files onto the grid of the options, into the memory `to`, without touching a pixel.
pub fn plan_onto<F: AsInput>(
    to: Location,
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<ReadPlan> {
    OntoRead::new(&inputs(files), options, context)?.explained(to)
}

/// Returns how each file is put onto the grid of the options: its level, and the operation between the datums. Nothing is
/// read, and no coordinates are computed but a few.
pub fn files_onto<F: AsInput>(
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<Vec<WarpFile>> {
    Ok(OntoRead::new(&inputs(files), options, context)?.files())
}

fn inputs<F: AsInput>(files: &[F]) -> Vec<InputRef<'_>> {
    files.iter().map(AsInput::as_input).collect()
}

impl OntoRead<'_> {
    /// Reads into new host memory.
    pub(crate) fn raster(&self) -> Result<(Raster, Report, Holes)> {
        let (Done { output, report, faults, .. }, fill, holes) = self.read(Location::Host)?;
        let report = with_faults(report, faults);
        let raster = Raster::from_output(output, self.interleave(), fill, report.faults.clone())?;
        Ok((raster, report, holes))
    }

    /// Reads into new memory of a GPU.
    pub(crate) fn on_device(&self, device: u32) -> Result<(DeviceRaster, Holes)> {
        let (Done { output, report, faults, engine }, fill, holes) = self.read(Location::Cuda(device))?;
        let report = with_faults(report, faults);
        Ok((DeviceRaster { output, interleave: self.interleave(), fill, report, engine }, holes))
    }

    /// Reads into an output.
    pub(crate) fn laid_into(&self, output: &Output) -> Result<(Report, Holes)> {
        let (report, faults, holes) = self.read_into(output)?;
        Ok((with_faults(report, faults), holes))
    }
}
