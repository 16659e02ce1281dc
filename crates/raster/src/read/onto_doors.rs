//! Reads of several files onto one grid. One file is read by the doors of `Dataset`, which come here too.

use super::doors::with_faults;
use super::onto::OntoRead;
use super::plan::ReadPlan;
use super::reading::Done;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::grid::WarpFile;
use crate::input::{AsInput, InputRef};
use crate::options::ReadOptions;
use crate::raster::{DeviceRaster, Raster};
use strile_engine::{Context, Location, Output, Report};

/// Reads files onto the grid of the options, in host memory. Files may have any reference system, and types that differ; which
/// of them is on top is [`WarpOptions::top`](crate::grid::WarpOptions::top).
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
    OntoRead::new(&datasets(files)?, options, context)?.raster().map(|(raster, _)| raster)
}

/// Reads files onto the grid of the options, in memory of the CUDA device `device`.
pub fn read_onto_device<F: AsInput>(
    device: u32,
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<DeviceRaster> {
    OntoRead::new(&datasets(files)?, options, context)?.on_device(device)
}

/// Reads files onto the grid of the options, into the caller's output, which has the type and shape of the result.
pub fn read_onto_into<F: AsInput>(
    output: &Output,
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<Report> {
    OntoRead::new(&datasets(files)?, options, context)?.into_output(output)
}

/// Plans a read of files onto the grid of the options, into the memory `to`, without touching a pixel.
pub fn plan_onto<F: AsInput>(
    to: Location,
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<ReadPlan> {
    OntoRead::new(&datasets(files)?, options, context)?.explained(to)
}

/// Returns how each file is put onto the grid of the options: its level, and the operation between the datums. Nothing is
/// read, and no coordinates are computed but a few.
pub fn files_onto<F: AsInput>(
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<Vec<WarpFile>> {
    Ok(OntoRead::new(&datasets(files)?, options, context)?.files())
}

fn datasets<F: AsInput>(files: &[F]) -> Result<Vec<&Dataset>> {
    let mut all = Vec::with_capacity(files.len());
    for file in files {
        match file.as_input() {
            InputRef::Tiff(dataset) => all.push(dataset),
            InputRef::Vrt(vrt) => {
                let problem = "a VRT cannot be read onto a grid; give its files".into();
                return Err(Error::Request { file: vrt.name().to_owned(), problem });
            }
        }
    }
    Ok(all)
}

impl OntoRead<'_> {
    /// Reads into new host memory.
    pub(super) fn raster(&self) -> Result<(Raster, Report)> {
        let (Done { output, report, faults, .. }, fill) = self.read(Location::Host)?;
        let report = with_faults(report, faults);
        let raster = Raster::from_output(output, self.interleave(), fill, report.faults.clone())?;
        Ok((raster, report))
    }

    /// Reads into new memory of a GPU.
    pub(super) fn on_device(&self, device: u32) -> Result<DeviceRaster> {
        let (Done { output, report, faults, engine }, fill) = self.read(Location::Cuda(device))?;
        let report = with_faults(report, faults);
        Ok(DeviceRaster { output, interleave: self.interleave(), fill, report, engine })
    }

    /// Reads into an output.
    pub(super) fn into_output(&self, output: &Output) -> Result<Report> {
        let (report, faults) = self.read_into(output)?;
        Ok(with_faults(report, faults))
    }
}
