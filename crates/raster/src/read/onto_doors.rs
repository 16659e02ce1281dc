//! Reads of several files onto one grid. The entry points of `Dataset` and `Vrt` for one file end here too.

use super::doors::with_faults;
use super::onto::OntoRead;
use super::plan::ReadPlan;
use crate::error::Result;
use crate::file::input::{AsInput, InputRef};
use crate::grid::WarpFile;
use crate::options::ReadOptions;
use crate::pixels::Pixels;
use strile_engine::{Context, Fill, Location, Output, Report};

/// Reads files onto the grid of the options, into host memory. Files are TIFFs or mosaics. They may have any reference
/// system and different types; [`WarpOptions::top`](crate::grid::WarpOptions::top) says which of them is on top.
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
pub fn read_onto<F: AsInput>(files: &[F], options: &ReadOptions, context: &Context) -> Result<Pixels> {
    OntoRead::new(&inputs(files), options, context)?.pixels(Location::Host)
}

/// Reads files onto the grid of the options, into memory of the CUDA device `device`.
pub fn read_onto_device<F: AsInput>(
    device: u32,
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<Pixels> {
    OntoRead::new(&inputs(files), options, context)?.pixels(Location::Cuda(device))
}

/// Reads files onto the grid of the options, into the caller's output, which must have the type and shape of the
/// result.
pub fn read_onto_into<F: AsInput>(
    output: &Output,
    files: &[F],
    options: &ReadOptions,
    context: &Context,
) -> Result<Report> {
    OntoRead::new(&inputs(files), options, context)?.laid_into(output)
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

/// Returns how each file is warped onto the grid of the options: its level, and the operation between the datums. Reads
/// nothing, and computes only a few coordinates.
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
    /// Reads into new memory where the result is wanted.
    pub(crate) fn pixels(&self, to: Location) -> Result<Pixels> {
        if self.is_mask {
            return self.mask(to);
        }
        let (done, fill, holes) = self.read(to)?;
        let (transform, crs) = self.place();
        let pixels = Pixels::of_done(done, None, (self.interleave(), fill))?.placed(transform, crs);
        Ok(Pixels { holes, levels: self.levels(), operations: self.operations(), ..pixels })
    }

    /// Reads the windows of a batch into new memory.
    pub(crate) fn windows(&self, to: Location) -> Result<Pixels> {
        let (done, _, holes) = self.read(to)?;
        let pixels = Pixels::of_done(done, Some(self.count()), (self.interleave(), Fill::default()))?;
        Ok(Pixels { holes, levels: self.levels(), operations: self.operations(), ..pixels })
    }

    /// Reads into an output.
    pub(crate) fn laid_into(&self, output: &Output) -> Result<Report> {
        if self.is_mask {
            let (report, faults) = self.mask_into(output)?;
            return Ok(with_faults(report, faults));
        }
        let (report, faults, _) = self.read_into(output)?;
        Ok(with_faults(report, faults))
    }
}
