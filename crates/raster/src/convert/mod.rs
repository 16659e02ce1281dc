//! A file out of a file: pixels, mask, georeference and words of the input, as the options want them.
//!
//! The input is read piece by piece, along its own blocks, so that none is decoded twice, and goes to a `Writer`;
//! the raster is never in memory as a whole. Blocks that are stored the same way in both files are copied as they
//! are. `spec` what is written of the input; `tags` which of its tags go along; `pieces` in which order it is read;
//! `adopt` which blocks are copied. `alike` stores as a file does; `loaded` writes an image that is in memory.

mod adopt;
mod alike;
mod loaded;
mod options;
mod pieces;
mod spec;
mod tags;
mod tiling;
mod vrt;

pub(crate) use alike::stored_like;
pub use loaded::{LoadedImage, Written};
pub use options::ConvertOptions;
pub(crate) use pieces::{Cut, cut};
pub(crate) use spec::{colours_as_read, has_grey_table, spec_of};
pub(crate) use tags::tags_of;
pub use tiling::TilingScheme;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::options::{Device, Interleave, Layer, ReadOptions};
use crate::raster::{DeviceRaster, Raster};
use crate::sink::Sink;
use crate::window::Window;
use crate::write::{Format, FullImage, Piece, RasterSpec, WriteReport, Writer, block_size, refused};
use adopt::Adopted;
use spec::{alpha_becomes_mask, keeps_depth, picture_options, write_options};
use strile_engine::{Context, EngineError, LocatedFault, Location};
use strile_tiff::Planar;
use tiling::Aligned;
use vrt::{bits_of_vrt, spec_of_vrt};

/// Rows of padding that are given at once.
const PAD_ROWS: u32 = 16;

/// A conversion that is planned and not begun.
pub struct Conversion<'a> {
    input: &'a Input,
    read: ReadOptions,
    cut: Cut,
    /// Pixels of the file on the left of the input and above it.
    before: (u32, u32),
    adopted: Option<Adopted<'a>>,
    writer: Writer,
    warnings: Vec<String>,
}

/// Writes (part of) `input` to `sink`.
pub fn convert(
    input: &Input,
    sink: Box<dyn Sink>,
    options: &ConvertOptions,
    context: &Context,
) -> Result<WriteReport> {
    Conversion::plan(input, sink, options, context)?.run(context)
}

impl<'a> Conversion<'a> {
    /// Decides what will be done; touches no pixel.
    pub fn plan(
        input: &'a Input,
        sink: Box<dyn Sink>,
        options: &ConvertOptions,
        context: &Context,
    ) -> Result<Self> {
        let mut warnings = Vec::new();
        let mut read = ReadOptions {
            layer: Layer::Pixels,
            interleave: match options.write.planar {
                Planar::Chunky => Interleave::BandLast,
                Planar::Separate => Interleave::BandFirst,
            },
            ..options.read.clone()
        };
        if read.masked || read.unpack {
            return Err(refused(
                "a file is written with the values it was read with: not masked, not unpacked".into(),
            ));
        }
        input.pieces(&read, &options.limits, context)?;
        let (mut spec, mut write, cut) = match input {
            Input::Tiff(dataset) => {
                if read.apply_orientation && dataset.target(&read)?.image.orientation != 1 {
                    let problem = "pieces of an image are not turned; its orientation is written as it is";
                    return Err(dataset.refuse(problem.into()));
                }
                let masked = alpha_becomes_mask(dataset, &read, options)?;
                if masked {
                    read.bands = Some(vec![1, 2, 3]);
                    warnings.push("alpha is written as a mask, which jpeg does not blur: 0 or not 0".into());
                }
                let mut spec = spec_of(dataset, &read, options, &mut warnings)?;
                spec.mask |= masked;
                let write = write_options(dataset, &read, &spec, options)?;
                let cut = cut(dataset, &read, &spec)?;
                (spec, write, cut)
            }
            Input::Vrt(vrt) => {
                let (spec, window) = spec_of_vrt(vrt, &read, options, &mut warnings)?;
                let mut write = picture_options(&spec, options);
                if write.bits.is_none() && keeps_depth(write.compression) {
                    write.bits = bits_of_vrt(vrt, &read)?;
                }
                let cut = Cut::of_rows(window, &spec);
                (spec, write, cut)
            }
        };
        let aligned = match options.tiling {
            None => None,
            Some(_) if write.format != Format::Cog => {
                return Err(refused("tiles of a matrix set are for cloud-optimized files".into()));
            }
            Some(scheme) => {
                let block = block_size(&spec, &write).map_err(refused)?;
                Some(scheme.align(&mut spec, block).map_err(refused)?)
            }
        };
        // Columns of pieces that are higher than the file's blocks come out of order.
        write.spooled |= write.format == Format::GeoTiff && cut.leaves_row_major_order();
        let adopted = match (input, options.reencode || aligned.is_some()) {
            (Input::Tiff(dataset), false) => Adopted::find(dataset, &read, &spec, &write)?,
            _ => None,
        };
        // Copied blocks come before the first block of a mask.
        write.spooled |= write.format == Format::GeoTiff && adopted.is_some() && spec.mask;
        let full =
            adopted.as_ref().map_or(FullImage::Encoded, |adopted| FullImage::Adopted(adopted.layout()));
        let writer = Writer::create_from(sink, spec, &write, full, context)?;
        let before = aligned.map_or((0, 0), |aligned| aligned.before);
        Ok(Self { input, read, cut, before, adopted, writer, warnings })
    }

    /// What will be done, in words.
    pub fn explain(&self) -> String {
        let Window { width, height, .. } = self.cut.window;
        let pixels = match (&self.adopted, self.writer.needs_pixels()) {
            (Some(_), true) => "blocks of the full image copied as they are, pixels decoded for the rest",
            (Some(_), false) => "blocks copied as they are",
            (None, _) => "blocks decoded and encoded",
        };
        let (across, down) = (self.cut.piece.0.min(width), self.cut.piece.1.min(height));
        format!(
            "read    {}: {width} × {height} pixels in pieces of up to {across} × {down}\ncopy    {pixels}\n{}",
            self.input.name(),
            self.writer.explain()
        )
    }

    /// Blocks that will be encoded or copied, for progress.
    pub fn blocks(&self) -> u64 {
        self.writer.blocks()
    }

    /// Does it.
    pub fn run(self, context: &Context) -> Result<WriteReport> {
        let Self { input, read, cut, before, adopted, mut writer, warnings } = self;
        // Progress counts what is written.
        let quiet = Context { progress: None, ..context.clone() };
        let place = writer.location();
        // All pieces of a mosaic count as one read.
        let work = std::cell::OnceCell::new();
        let source = |options: &ReadOptions| match input {
            Input::Tiff(dataset) => Source::read(dataset, place, options, &quiet),
            Input::Vrt(vrt) => {
                let work = work.get_or_init(|| vrt.work());
                vrt.read_part(options, work, &quiet).map(Source::Host)
            }
        };
        let needs_pixels = writer.needs_pixels();
        if let Some(adopted) = adopted {
            adopted.copy(&mut writer, context)?;
        }
        let mut faults = Vec::new();
        let inner = Window { x: before.0, y: before.1, ..cut.window };
        let size = writer.spec().map_or((0, 0), |spec| (spec.width, spec.height));
        if needs_pixels {
            for window in cut.windows() {
                if context.cancel.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                let target = at(&cut.window, &window, before);
                pad(&mut writer, Aligned::beside(target, inner, size.0))?;
                faults.extend(feed(&source, &read, window, target, &mut writer)?);
            }
            pad(&mut writer, Aligned::above_and_below(inner, size, PAD_ROWS))?;
        }
        let mut report = writer.finish()?;
        report.faults = faults;
        report.warnings.splice(0..0, warnings);
        if let Input::Vrt(vrt) = input {
            report.warnings.extend(vrt.missing().iter().map(|warning| warning.to_string()));
        }
        Ok(report)
    }
}

/// Pixels that were read, where they are.
pub(crate) enum Source {
    Host(Raster),
    Device(DeviceRaster),
}

impl Source {
    /// Reads for a writer that encodes at this place: pixels of a device stay there on their way from file to file.
    pub(crate) fn read(
        input: &Dataset,
        place: Option<Location>,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<Self> {
        match place {
            Some(Location::Cuda(index)) if options.layer == Layer::Pixels => {
                let options = ReadOptions { device: Device::Cuda(index), ..options.clone() };
                input.read_on_device(&options, context).map(Self::Device)
            }
            _ => input.read(options, context).map(Self::Host),
        }
    }

    fn faults(&self) -> &[LocatedFault] {
        match self {
            Self::Host(raster) => &raster.faults,
            Self::Device(raster) => &raster.report.faults,
        }
    }

    fn piece(&self, window: Window) -> Result<Piece<'_>> {
        match self {
            Self::Host(raster) => {
                let bands = u16::try_from(raster.bands).unwrap_or(u16::MAX);
                Piece::contiguous(window, bands, raster.data_type, raster.interleave, &raster.pixels)
                    .map_err(|error| refused(error.to_string()))
            }
            Self::Device(raster) => {
                let memory = raster.output.device_bytes().cloned();
                let memory = memory.ok_or(Error::Engine(EngineError::Abandoned))?;
                Ok(Piece::on_device(window, raster.output.spec().clone(), memory))
            }
        }
    }
}

/// Where a window of the input goes, of which `whole` is read.
pub(crate) fn at(whole: &Window, window: &Window, before: (u32, u32)) -> Window {
    Window { x: window.x - whole.x + before.0, y: window.y - whole.y + before.1, ..*window }
}

/// Gives pixels around the input: nodata, else 0, and not valid.
fn pad(writer: &mut Writer, parts: Vec<Window>) -> Result<()> {
    let Some(spec) = writer.spec().cloned().filter(|_| !parts.is_empty()) else { return Ok(()) };
    let size = spec.data_type.size();
    let fill = spec.metadata.nodata.and_then(|nodata| nodata.to_sample(spec.data_type)).unwrap_or_default();
    for part in parts {
        let samples = part.width as usize * part.height as usize * usize::from(spec.bands);
        let pixels = fill.get(..size).unwrap_or_default().repeat(samples);
        let piece = Piece::contiguous(part, spec.bands, spec.data_type, Interleave::BandLast, &pixels);
        let piece = piece.map_err(|error| refused(error.to_string()))?;
        let mask = vec![0; part.width as usize * part.height as usize];
        match spec.mask {
            true => writer.write(&piece.with_mask(&mask))?,
            false => writer.write(&piece)?,
        }
    }
    Ok(())
}

/// Reads one window of the input, by `source`, and gives it to the writer; gives the faults that were filled.
pub(crate) fn feed(
    source: &impl Fn(&ReadOptions) -> Result<Source>,
    read: &ReadOptions,
    window: Window,
    target: Window,
    writer: &mut Writer,
) -> Result<Vec<LocatedFault>> {
    let options = ReadOptions { window: Some(window), ..read.clone() };
    let raster = source(&options)?;
    let mask = match writer.spec().is_some_and(|spec: &RasterSpec| spec.mask) {
        true => Some(source(&ReadOptions { layer: Layer::Mask, bands: None, ..options })?),
        false => None,
    };
    let mut faults = raster.faults().to_vec();
    faults.extend(mask.iter().flat_map(|mask| mask.faults()).cloned());
    let mut piece = raster.piece(target)?;
    piece.mask = mask.as_ref().map(|mask| mask.piece(target)).transpose()?.map(|mask| mask.pixels);
    writer.write(&piece)?;
    Ok(faults)
}
