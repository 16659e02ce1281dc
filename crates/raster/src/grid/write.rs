//! Warps files onto a grid and writes them as one file, piece by piece.

use super::{Onto, WarpFile, plan_onto, read_onto, read_onto_device};
use crate::cache::Cache;
use crate::convert::{ConvertOptions, MOST_READS, Requests, Tiling, is_told, spec_of, spec_of_vrt};
use crate::error::{Error, Result};
use crate::file::input::{AsInput, InputRef};
use crate::options::{FloatType, Interleave, Place, ReadOptions};
use crate::read::ReadPlan;
use crate::sink::Sink;
use crate::window::Window;
use crate::write::{Format, Piece, RasterSpec, WriteOptions, WriteReport, Writer, block_size, refused};
use std::sync::Arc;
use strile_engine::{Context, Location};
use strile_tiff::Planar;
use strile_tiff::gdal::NoData;

/// Bytes per piece of the result; less if memory is small.
const PIECE_BYTES: u64 = 128 << 20;

const OUTSIDE: &str = "the target grid does not overlap the source, so no pixel has a value; check the bounds of the grid \
                       and their reference system";

/// A planned warp of files onto a grid and into one file, not started yet.
///
/// ```no_run
/// use strile::grid::{Grid, WarpOptions, WarpWriter, WarpSampling};
/// use strile::io::FileSink;
/// use strile::{Context, Dataset, ReadOptions, WriteOptions};
///
/// let scene = Dataset::open("scene.tif")?;
/// let grid = Grid::xyz_tile(12, 2218, 1391, 512)?;
/// let read = ReadOptions::new().onto(grid, WarpOptions::new().resampling(WarpSampling::Bilinear));
/// let sink = Box::new(FileSink::create("tile.tif".as_ref(), false)?);
/// let context = Context::default();
/// let write = (&WriteOptions::default(), None);
/// let report = WarpWriter::plan(&[scene], sink, &read, write, &context)?.run(&context)?;
/// println!("{} blocks", report.blocks);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WarpWriter<'a> {
    files: Vec<InputRef<'a>>,
    read: ReadOptions,
    plan: ReadPlan,
    /// Columns and rows of a piece.
    piece: (u32, u32),
    size: (u32, u32),
    writer: Writer,
    warnings: Vec<String>,
}

impl<'a> WarpWriter<'a> {
    /// Plans the warp without touching a pixel. `read` has the grid; [`Tiling::grid`] makes one for tiles of a matrix
    /// set.
    ///
    /// # Errors
    /// If there is no file or no grid, or as a read onto the grid and as [`Writer::create`].
    pub fn plan<F: AsInput>(
        files: &'a [F],
        sink: Box<dyn Sink>,
        read: &ReadOptions,
        (write, tiling): (&WriteOptions, Option<Tiling>),
        context: &Context,
    ) -> Result<Self> {
        let files: Vec<InputRef<'a>> = files.iter().map(AsInput::as_input).collect();
        let Some((onto, &first)) = read.place.onto.clone().zip(files.first()) else {
            return Err(refused("a warp needs a file and a grid".into()));
        };
        if read.meaning.is_masked() {
            return Err(refused(
                "a file is written with the values of its sources: not masked, not unpacked".into(),
            ));
        }
        let interleave = match write.planar {
            Planar::Chunky => Interleave::BandLast,
            Planar::Separate => Interleave::BandFirst,
        };
        // Blocks at the edges of pieces are read twice.
        let read = read.clone().interleave(interleave).cache(Cache::Auto);
        let mut warnings = Vec::new();
        let size = (onto.grid.width(), onto.grid.height());
        let nodata = match onto.warp.fill.or(onto.warp.nodata) {
            Some(given) => Some(given),
            None => first.nodata(read.place.bands.as_deref())?,
        };
        // Every piece has the same type and bands.
        let corner = read.clone().window(Window::full(1, 1));
        let probe = plan_onto(Location::Host, &files, &corner, context)?;
        let mut spec = Self::spec(first, &read.place, (size, nodata), &mut warnings)?;
        spec.data_type = probe.output.data_type;
        spec.metadata.georeference.crs = Some(onto.grid.crs().clone());
        spec.metadata.georeference.transform = Some(onto.grid.transform());
        let samples = u64::from(size.0).saturating_mul(size.1.into()).saturating_mul(spec.bands.into());
        let stored = || files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.stored_len()));
        let bytes = samples.saturating_mul(spec.data_type.size() as u64);
        crate::read::check_result(
            (first.name(), "the files"),
            crate::read::Size { samples, bytes },
            read.execution.max_pixels,
            stored,
        )?;
        if probe.onto.as_ref().is_some_and(|onto| onto.files.iter().all(|file| file.is_outside)) {
            warnings.push(OUTSIDE.into());
        }
        let mut write = write.clone();
        let block = block_size(&spec, &write).map_err(refused)?;
        if let Some(tiling) = tiling {
            if write.format != Format::Cog {
                return Err(refused("tiles of a matrix set are for cloud-optimized files".into()));
            }
            tiling.align(&mut spec, block).map_err(refused)?;
            if (spec.width, spec.height) != size {
                let problem = "the grid has other tiles than the tiling scheme; take `Tiling::grid`";
                return Err(refused(problem.into()));
            }
            // Tiles extend beyond the raster.
            spec.mask = !is_told(&spec);
            if spec.mask {
                warnings.retain(|warning| warning == OUTSIDE);
            }
        }
        let row = u64::from(spec.bands) * spec.data_type.size() as u64;
        let room = PIECE_BYTES.min(context.budget.limit() / 8).max(1);
        let piece = piece(size, block, row, room);
        // Pieces that are higher than the file's blocks arrive out of order if they are side by side.
        write.spooled |= write.format == Format::GeoTiff && piece.0 < size.0;
        let first_piece = Window::full(piece.0.min(size.0), piece.1.min(size.1));
        let writer = Writer::create(sink, spec, &write, context)?;
        // Pieces are read where they are encoded.
        let place = writer.location().unwrap_or(Location::Host);
        let plan = match size == (first_piece.width, first_piece.height) {
            true => plan_onto(place, &files, &read, context)?,
            false => {
                let options = read.clone().window(first_piece);
                plan_onto(place, &files, &options, context)?
            }
        };
        Ok(Self { files, read, plan, piece, size, writer, warnings })
    }

    fn spec(
        first: InputRef<'_>,
        place: &Place,
        ((width, height), nodata): ((u32, u32), Option<NoData>),
        warnings: &mut Vec<String>,
    ) -> Result<RasterSpec> {
        let own = Place { onto: None, window: None, ..place.clone() };
        let options = ConvertOptions::default();
        let mut spec = match first {
            InputRef::Tiff(dataset) => spec_of(dataset, &own, &options, warnings)?,
            InputRef::Vrt(vrt) => spec_of_vrt(vrt, &own, &options, warnings)?.0,
        };
        (spec.width, spec.height) = (width, height);
        if spec.mask {
            spec.mask = false;
            if nodata.is_none() {
                warnings.push(
                    "the mask of the file is not written: missing pixels are 0; set a nodata value to tell them apart"
                        .into(),
                );
            }
        }
        let metadata = &mut spec.metadata;
        metadata.nodata = nodata;
        let geo = &mut metadata.georeference;
        (geo.gcps, geo.gcp_crs, geo.rpc) = (Vec::new(), None, None);
        geo.keys = Default::default();
        for band in &mut metadata.bands {
            band.statistics = None;
            band.items.retain(|(name, _)| !name.starts_with("STATISTICS_"));
        }
        Ok(spec)
    }

    /// Returns how the files are warped onto the grid.
    pub fn files(&self) -> &[WarpFile] {
        self.plan.onto.as_ref().map(|onto| onto.files.as_slice()).unwrap_or_default()
    }

    /// Describes the plan in words.
    pub fn explain(&self) -> String {
        let (across, down) = (self.piece.0.min(self.size.0), self.piece.1.min(self.size.1));
        let count = u64::from(self.size.0.div_ceil(across)) * u64::from(self.size.1.div_ceil(down));
        let pieces = match count {
            1 => String::new(),
            count => format!("pieces   {count} of up to {across} × {down} pixels; the first one:\n"),
        };
        format!("{pieces}{}\n{}", self.plan, self.writer.explain())
    }

    /// Returns the number of blocks to write, for progress reports.
    pub fn blocks(&self) -> u64 {
        self.writer.blocks()
    }

    /// Returns the raster to write; `None` after the file was abandoned.
    pub fn raster(&self) -> Option<&RasterSpec> {
        self.writer.spec()
    }

    /// Counts the requests for pixels of remote files.
    pub(crate) fn requests(&self, context: &Context) -> Result<Requests> {
        let mut requests = Requests::default();
        let mut all = windows(self.size, self.piece);
        for window in all.by_ref().take(MOST_READS) {
            let options = self.read.clone().window(window);
            let place = self.writer.location().unwrap_or(Location::Host);
            let figures = plan_onto(place, &self.files, &options, context)?.figures();
            requests.add(figures.requests, figures.request_bytes);
        }
        requests.is_least = all.next().is_some();
        Ok(requests)
    }

    /// Runs the warp.
    pub fn run(self, context: &Context) -> Result<WriteReport> {
        self.run_watched(context, &mut |_| {})
    }

    /// Runs the warp, and passes each piece to `watch` before it is written.
    pub(crate) fn run_watched(
        self,
        context: &Context,
        watch: &mut dyn FnMut(&Piece<'_>),
    ) -> Result<WriteReport> {
        let Self { files, read, piece, size, mut writer, warnings, .. } = self;
        // Progress counts blocks that are written.
        let quiet = Context { progress: None, ..context.clone() };
        let place = writer.location().unwrap_or(Location::Host);
        let masked = writer.spec().is_some_and(|spec| spec.mask);
        let mut faults = Vec::new();
        for window in windows(size, piece) {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let options = read.clone().window(window);
            let pixels = match place {
                Location::Cuda(index) => read_onto_device(index, &files, &options, &quiet)?,
                Location::Host => read_onto(&files, &options, &quiet)?,
            };
            faults.extend(pixels.located_faults());
            let mask = match masked {
                true => Some(mask_of(&files, &options, &quiet)?),
                false => None,
            };
            let piece = pixels.piece(window)?;
            let piece = match &mask {
                Some(mask) => piece.with_mask(mask),
                None => piece,
            };
            watch(&piece);
            writer.write(&piece)?;
        }
        let mut report = writer.finish()?;
        report.faults = faults;
        report.warnings.splice(0..0, warnings);
        for file in &files {
            if let InputRef::Vrt(vrt) = file {
                report.warnings.extend(vrt.missing().iter().map(|warning| warning.to_string()));
            }
        }
        Ok(report)
    }
}

/// Returns a mask of the pixels of a window of the grid that files fill: 255, and 0 elsewhere.
fn mask_of(files: &[InputRef<'_>], options: &ReadOptions, context: &Context) -> Result<Vec<u8>> {
    let band = options.place.bands.as_ref().and_then(|bands| bands.first().copied()).unwrap_or(1);
    let mut options = options.clone().bands([band]).interleave(Interleave::BandFirst);
    options.meaning = options.meaning.masked(true).float_type(FloatType::Float32);
    if let Some(onto) = &options.place.onto {
        let warp = onto.warp.clone().data_type(None);
        options.place.onto = Some(Arc::new(Onto { grid: onto.grid.clone(), warp }));
    }
    let bytes = read_onto(files, &options, context)?.into_bytes()?;
    let (samples, _) = bytes.as_chunks::<4>();
    let valid = |sample: &[u8; 4]| if f32::from_ne_bytes(*sample).is_nan() { 0 } else { u8::MAX };
    Ok(samples.iter().map(valid).collect())
}

/// Returns columns and rows of pieces: whole rows of blocks, or some blocks of a row if rows are too large.
fn piece((width, height): (u32, u32), block: (u32, u32), pixel: u64, room: u64) -> (u32, u32) {
    let whole = |len: u64, block: u32| {
        let blocks = u32::try_from(len / u64::from(block.max(1))).unwrap_or(u32::MAX).max(1);
        blocks.saturating_mul(block.max(1))
    };
    let rows = room / pixel.saturating_mul(width.into()).max(1);
    match rows >= u64::from(block.1) {
        true => (width, whole(rows, block.1).min(height)),
        false => {
            let columns = room / pixel.saturating_mul(block.1.into()).max(1);
            (whole(columns, block.0).min(width), block.1.min(height))
        }
    }
}

fn windows(size: (u32, u32), piece: (u32, u32)) -> impl Iterator<Item = Window> {
    let along = |len: u32, step: u32| {
        (0..len).step_by(step.max(1) as usize).map(move |at| (at, step.max(1).min(len - at)))
    };
    along(size.1, piece.1).flat_map(move |(row, height)| {
        along(size.0, piece.0).map(move |(column, width)| Window { column, row, width, height })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_blocks_and_fit() {
        assert_eq!(piece((1000, 900), (256, 256), 4, 1 << 30), (1000, 900));
        assert_eq!(piece((1000, 900), (256, 256), 4, 4 * 1000 * 600), (1000, 512));
        assert_eq!(piece((1_000_000, 900), (256, 256), 4, 4 << 20), (4096, 256));
        assert_eq!(piece((1_000_000, 900), (1_000_000, 1), 4, 1), (1_000_000, 1));
        let all: u64 =
            windows((1000, 900), (512, 256)).map(|w| u64::from(w.width) * u64::from(w.height)).sum();
        assert_eq!(all, 900_000);
    }
}
