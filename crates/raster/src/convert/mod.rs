//! A file out of a file: pixels, mask, georeference and words of the input, as the options want them.
//!
//! The input is read piece by piece, along its own blocks, so that none is decoded twice, and goes to a `Writer`;
//! the raster is never in memory as a whole. Blocks that are stored the same way in both files are copied as they
//! are. `spec` what is written of the input; `tags` which of its tags go along; `pieces` in which order it is read;
//! `adopt` which blocks are copied. `alike` stores as a file does; `loaded` writes an image that is in memory. `reads`
//! which windows are read, and what they ask of servers.
//!
//! Pixels may change on their way: `shape` decides which part is written and at what size, `resample` computes it
//! (`taps` has the weights, `weighted` the sums); `change` decides what happens to values and what no longer holds of
//! the description, `values` does it (`numbers` has the types, `range` finds ranges); `colours` says what bands are.
//! `words` are GDAL's names for all of it; `many` converts files into a folder.

mod adopt;
mod alike;
mod change;
mod colours;
mod loaded;
mod many;
mod numbers;
mod options;
mod pieces;
mod range;
mod reads;
mod resample;
mod shape;
mod spec;
mod tags;
mod taps;
mod tiling;
mod values;
mod vrt;
mod weighted;
mod words;

pub(crate) use alike::stored_like;
pub use loaded::{LoadedImage, Written};
pub use many::{ManyItem, ManyOptions, ManyOutcome, ManyProgress, convert_many, plan_many};
pub use options::{ConvertArea, ConvertOptions, ConvertSize, Expand, Rescale, Side, SourceLevel};
pub(crate) use pieces::{Cut, cut};
pub use reads::Requests;
pub(crate) use spec::{colours_as_read, has_grey_table, spec_of};
pub(crate) use tags::tags_of;
pub use taps::Method;
pub use tiling::TilingScheme;
pub(crate) use vrt::spec_of_vrt;
pub use words::{GivenScale, data_type_named, rescales};

use crate::cache::Cache;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::open::OpenOptions;
use crate::options::{Interleave, Layer, ReadOptions};
use crate::raster::{DeviceRaster, Raster};
use crate::sink::{Sink, sink_at};
use crate::window::Window;
use crate::write::{
    Format, FullImage, Piece, RasterSpec, WriteReport, Writer, alpha_band, block_size, refused,
};
use adopt::Adopted;
use change::{Change, Facts};
use numbers::Counts;
use reads::{both, found_values};
use resample::{Limits, Made, Resampling};
use shape::{Shape, Taken};
use spec::{alpha_becomes_mask, keeps_depth, picture_options, write_options};
use std::path::Path;
use strile_engine::{Context, EngineError, LocatedFault, Location};
use strile_tiff::{DataType, Planar, SampleFormat};
use tiling::Aligned;
use values::Values;
use vrt::bits_of_vrt;

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
    changed: Changed,
    writer: Writer,
    warnings: Vec<String>,
}

/// What happens to pixels between input and output.
#[derive(Default)]
struct Changed {
    shape: Option<Shape>,
    change: Option<Change>,
    /// Rows of the input that are decoded together.
    block_rows: u32,
    /// The band, from 0, that is alpha and says which pixels count.
    alpha: Option<usize>,
    /// How all of the image is read, to find ranges of values.
    whole: ReadOptions,
}

/// Writes the file or mosaic `from` as the new file `to`, with everything it says about its pixels. A file that is there is
/// not replaced. With the feature `remote`, both may be URLs. [`convert_into`] has options.
///
/// ```no_run
/// strile::convert("scene.tif", "scene_cog.tif")?;
/// # Ok::<(), strile::Error>(())
/// ```
pub fn convert(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<WriteReport> {
    let input = Input::open(from, &OpenOptions::default())?;
    let sink = sink_at(to.as_ref(), false)?;
    convert_into(&input, sink, &ConvertOptions::default(), &Context::default())
}

/// Writes (part of) `input` to `sink`.
///
/// ```
/// # use testkit::{ImageSpec, Pattern, Pixels};
/// use strile::convert::{ConvertSize, Method, Side, convert_into};
/// use strile::{Context, ConvertOptions, DataType, Input};
/// # use strile::io::{MemorySink, MemorySource};
/// # use strile::{OpenOptions, tiff};
/// # let sample = tiff::SampleType { format: tiff::SampleFormat::Uint, bits: 16 };
/// # let pixels = Pixels::generate(Pattern::Dem, sample, [1, 60, 80], 1);
/// # let bytes = ImageSpec::new(sample).build(&pixels, tiff::ByteOrder::Little, false).bytes;
/// # let source = std::sync::Arc::new(MemorySource::new("dem.tif", bytes));
/// # let dataset = strile::Dataset::from_source(source, &OpenOptions::default())?;
/// # let input = Input::Tiff(Box::new(dataset));
/// # let sink = Box::new(MemorySink::new());
/// // Half the size, as floats.
/// let options = ConvertOptions {
///     size: Some(ConvertSize::Sides(Side::Percent(50.0), Side::Auto)),
///     resampling: Method::Average,
///     data_type: Some(DataType::F32),
///     ..ConvertOptions::default()
/// };
/// let report = convert_into(&input, sink, &options, &Context::default())?;
/// assert!(report.file_len > 0);
/// # Ok::<(), strile::Error>(())
/// ```
pub fn convert_into(
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
            // Every block is read once.
            cache: Cache::Off,
            ..options.read.clone()
        };
        if read.masked || read.unpack {
            return Err(refused(
                "a file is written with the values it was read with: not masked, not unpacked; `unscale` applies \
                 scale and offset"
                    .into(),
            ));
        }
        if read.onto.is_some() {
            return Err(refused(
                "a file is converted on its own grid; `WarpWriter` writes onto another one".into(),
            ));
        }
        let whole = ReadOptions { window: None, ..read.clone() };
        let taken = shape::take(input, &read, options, &mut warnings)?;
        let shape = match taken {
            Taken::Pixels { level, window } => {
                (read.level, read.window) = (level, window);
                input.pieces(&read, &options.limits, context)?;
                None
            }
            // Described as the whole image first.
            Taken::Resampled(shape) => {
                read.window = None;
                Some(shape)
            }
        };
        let options = &with_corners(input, &read, shape.as_ref(), options)?;
        let (mut spec, facts, block_rows) = match input {
            Input::Tiff(dataset) => {
                let image = dataset.target(&read)?.image;
                if read.apply_orientation && image.orientation != 1 {
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
                let full = spec.data_type.size() * 8;
                let odd = image.mixed_bits.is_none()
                    && image.sample.format == SampleFormat::Uint
                    && usize::from(image.sample.bits) < full;
                let bits = odd.then_some(image.sample.bits);
                let bands = dataset.target(&read)?.bands;
                (spec, Facts { data_type: DataType::U8, bands, bits }, image.grid.block_height)
            }
            Input::Vrt(vrt) => {
                let (spec, _) = spec_of_vrt(vrt, &read, options, &mut warnings)?;
                let (_, bands) = vrt.target(&read)?;
                (spec, Facts { data_type: DataType::U8, bands, bits: bits_of_vrt(vrt, &read)? }, 1)
            }
        };
        let facts = Facts { data_type: spec.data_type, ..facts };
        let alpha = alpha_band(&spec).and_then(|band| usize::try_from(band).ok());
        let refuse = |problem: String| shape::named(input, problem);
        if let Some(shape) = &shape {
            shape.describe(&mut spec, input.transform(&whole)?, options.transform);
        }
        let change = Change::plan(input, &facts, (&mut spec, options), shape.as_ref(), &mut warnings)
            .map_err(refuse)?;
        change::restate(&mut spec, options).map_err(refuse)?;
        let mut write = match input {
            Input::Tiff(dataset) => write_options(dataset, &read, &spec, options)?,
            Input::Vrt(_) => {
                let mut write = picture_options(&spec, options);
                if write.bits.is_none() && keeps_depth(write.compression) && !options.changes_values() {
                    write.bits = facts.bits;
                }
                write
            }
        };
        let mut cut = match input {
            Input::Tiff(dataset) => cut(dataset, &read, &spec)?,
            Input::Vrt(vrt) => Cut::of_rows(vrt.target(&read)?.0, &spec),
        };
        if let Some(shape) = &shape {
            let (width, height) = shape.size;
            let samples = u64::from(width).saturating_mul(height.into()).saturating_mul(spec.bands.into());
            let size = samples.saturating_mul(spec.data_type.size() as u64);
            input.check_size(samples, size, read.max_pixels)?;
            cut = Cut { window: Window::full(width, height), piece: (u32::MAX, u32::MAX) };
            read.level = shape.level;
        }
        let changed = Changed { shape, change, block_rows, alpha, whole };
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
        write.spooled |= write.format == Format::GeoTiff
            && (cut.leaves_row_major_order() || changed.is_cut_by_columns(spec.mask));
        let adopted = match (input, options.reencode || aligned.is_some() || changed.change.is_some()) {
            (Input::Tiff(dataset), false) => Adopted::find(dataset, &read, &spec, &write)?,
            _ => None,
        };
        // Copied blocks come before the first block of a mask.
        write.spooled |= write.format == Format::GeoTiff && adopted.is_some() && spec.mask;
        let full =
            adopted.as_ref().map_or(FullImage::Encoded, |adopted| FullImage::Adopted(adopted.layout()));
        let writer = Writer::create_from(sink, spec, &write, full, context)?;
        let before = aligned.map_or((0, 0), |aligned| aligned.before);
        Ok(Self { input, read, cut, before, adopted, changed, writer, warnings })
    }

    /// What will be done, in words. [`requests`](Self::requests) counts what remote files are asked for.
    pub fn explain(&self) -> String {
        let Window { width, height, .. } = self.cut.window;
        let pixels = match (&self.adopted, self.writer.needs_pixels()) {
            (Some(_), true) => "blocks of the full image copied as they are, pixels decoded for the rest",
            (Some(_), false) => "blocks copied as they are",
            (None, _) => "blocks decoded and encoded",
        };
        let (across, down) = (self.cut.piece.0.min(width), self.cut.piece.1.min(height));
        let name = self.input.name();
        let mut lines = vec![match &self.changed.shape {
            None => format!("read    {name}: {width} × {height} pixels in pieces of up to {across} × {down}"),
            Some(shape) => format!("read    {name}\n{}", shape.explain()),
        }];
        lines.extend(self.changed.change.as_ref().and_then(Change::explain));
        lines.push(format!("copy    {pixels}"));
        format!("{}\n{}", lines.join("\n"), self.writer.explain())
    }

    /// Blocks that will be encoded or copied, for progress.
    pub fn blocks(&self) -> u64 {
        self.writer.blocks()
    }

    /// The raster that is written, until the file is given up.
    pub fn spec(&self) -> Option<&RasterSpec> {
        self.writer.spec()
    }

    /// Does it.
    pub fn run(self, context: &Context) -> Result<WriteReport> {
        let Self { input, read, cut, before, adopted, changed, mut writer, mut warnings } = self;
        // Progress counts what is written.
        let quiet = Context { progress: None, ..context.clone() };
        // Values change on the host.
        let place = writer.location().filter(|_| changed.change.is_none()).unwrap_or(Location::Host);
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
        let inner = Window { column: before.0, row: before.1, ..cut.window };
        let size = writer.spec().map_or((0, 0), |spec| (spec.width, spec.height));
        let masked = writer.spec().is_some_and(|spec| spec.mask);
        let mut counts = Counts::default();
        let Changed { shape, change, block_rows, alpha, whole } = changed;
        let scaled = change.as_ref().is_some_and(|change| change.scaled);
        let values = match change {
            Some(change) => Some(found_values(input, (change, &whole), &source, masked, context)?),
            None => None,
        };
        match (&shape, &values) {
            _ if !needs_pixels => {}
            (Some(shape), Some(values)) => {
                let bands = values.source_nodata.len();
                let limits = Limits::default();
                let resampling = Resampling { shape, values, bands, masked, alpha, block_rows, limits };
                let given = |window| {
                    let (given, found) = both(&source, &read, window, masked)?;
                    faults.extend(found);
                    Ok(given)
                };
                let give = |made: Made| {
                    let Window { column: x, row: y, width, height } = made.window;
                    let target = Window::new(x + before.0, y + before.1, width, height);
                    pad(&mut writer, Aligned::beside(target, inner, size.0))?;
                    write_made(&mut writer, values, &made, target)
                };
                counts.add(resampling.run(given, give, context)?);
                pad(&mut writer, Aligned::above_and_below(inner, size, PAD_ROWS))?;
            }
            _ => {
                for window in cut.windows() {
                    if context.cancel.is_cancelled() {
                        return Err(Error::Cancelled);
                    }
                    let target = at(&cut.window, &window, before);
                    pad(&mut writer, Aligned::beside(target, inner, size.0))?;
                    match &values {
                        None => faults.extend(feed(&source, &read, window, target, &mut writer)?),
                        Some(values) => {
                            let ((raster, mask), found) = both(&source, &read, window, masked)?;
                            faults.extend(found);
                            let (raster, told) = values.apply(&raster, context)?;
                            counts.add(told);
                            let raster = Source::Host(raster);
                            let piece = raster.piece(target)?;
                            match &mask {
                                Some(mask) => writer.write(&piece.with_mask(&mask.pixels))?,
                                None => writer.write(&piece)?,
                            }
                        }
                    }
                }
                pad(&mut writer, Aligned::above_and_below(inner, size, PAD_ROWS))?;
            }
        }
        if let Some(values) = &values {
            counts.told(values.to, scaled, &mut warnings);
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

impl Changed {
    fn is_cut_by_columns(&self, masked: bool) -> bool {
        self.resampling(masked).is_some_and(|resampling| resampling.is_cut_by_columns())
    }

    /// What is resampled, with values as they are planned.
    fn resampling(&self, masked: bool) -> Option<Resampling<'_>> {
        let (shape, values) = (self.shape.as_ref()?, self.change.as_ref()?.planned());
        let (bands, alpha, block_rows) = (values.source_nodata.len(), self.alpha, self.block_rows);
        Some(Resampling { shape, values, bands, masked, alpha, block_rows, limits: Limits::default() })
    }
}

/// The options with corners made a transform of what is written.
fn with_corners(
    input: &Input,
    read: &ReadOptions,
    shape: Option<&Shape>,
    options: &ConvertOptions,
) -> Result<ConvertOptions> {
    let mut options = options.clone();
    if let Some(corners) = options.corners {
        let refuse = |problem: &str| shape::named(input, problem.to_owned());
        if options.transform.is_some() {
            return Err(refuse("`corners` and `transform` cannot be combined"));
        }
        if matches!(options.size, Some(ConvertSize::Resolution(..))) {
            return Err(refuse(
                "`corners` and a resolution cannot be combined: both set the size of a pixel",
            ));
        }
        let size = match (shape, input) {
            (Some(shape), _) => shape.size,
            (None, Input::Tiff(dataset)) => {
                let window = dataset.target(read)?.window;
                (window.width, window.height)
            }
            (None, Input::Vrt(vrt)) => {
                let window = vrt.target(read)?.0;
                (window.width, window.height)
            }
        };
        options.transform = Some(shape::transform_of(corners, size)?);
    }
    Ok(options)
}

/// Gives resampled pixels to the writer.
fn write_made(writer: &mut Writer, values: &Values, made: &Made, target: Window) -> Result<()> {
    let bands = u16::try_from(values.maps.len()).unwrap_or(u16::MAX);
    let piece = Piece::contiguous(target, bands, values.to, Interleave::BandFirst, &made.pixels);
    let piece = piece.map_err(|error| refused(error.to_string()))?;
    match &made.mask {
        Some(mask) => writer.write(&piece.with_mask(mask)),
        None => writer.write(&piece),
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
        place: Location,
        options: &ReadOptions,
        context: &Context,
    ) -> Result<Self> {
        match place {
            Location::Cuda(index) if options.layer == Layer::Pixels => {
                input.read_on_device(index, options, context).map(Self::Device)
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
    Window {
        column: window.column - whole.column + before.0,
        row: window.row - whole.row + before.1,
        ..*window
    }
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
