//! Converts a file: pixels, mask, georeferencing and metadata of the input, changed as the options say.
//!
//! The input is read piece by piece, along its own blocks, so that none is decoded twice, and passed to a `Writer`. The
//! raster is never in memory as a whole. Blocks that both files store in the same way are copied. `spec` decides what
//! is written, `tags` which tags are copied, `pieces` the order of reads, `adopt` which blocks are copied. `alike`
//! stores like a file; `loaded` writes an image that is in memory. `reads` decides which windows are read, and counts
//! their requests to servers.
//!
//! Pixels may change on their way: `shape` decides which part is written and at what size, `resample` computes it
//! (`taps` has the weights, `weighted` the sums). `change` decides how values change and which metadata no longer
//! holds, and `values` converts them (`numbers` has the types, `range` finds ranges); `colours` handles the
//! interpretation of bands. `clip` clips by a polygon. `words` has GDAL's names of the options; `many` converts files
//! into a folder. `conversion` decides whether pixels are kept, or warped onto the tiles of a matrix set (`tiling`).

mod adopt;
mod alike;
mod change;
mod clip;
mod colours;
mod conversion;
mod loaded;
mod many;
mod numbers;
mod options;
mod passes;
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
pub use conversion::Conversion;
pub use loaded::{LoadedImage, Written};
pub use many::{ManyItem, ManyOptions, ManyOutcome, ManyProgress, convert_many, plan_many};
pub use options::{ConvertArea, ConvertOptions, ConvertSize, Expand, Rescale, Side, SourceLevel};
pub(crate) use passes::{Layers, each_piece};
pub(crate) use pieces::{Cut, cut, piece_bytes};
pub(crate) use reads::MOST_READS;
pub use reads::Requests;
pub(crate) use spec::{colours_as_read, has_grey_table, spec_of};
pub(crate) use tags::tags_of;
pub use taps::Method;
pub(crate) use tiling::is_told;
pub use tiling::{Tiling, TilingScheme, ZoomStrategy};
pub(crate) use vrt::spec_of_vrt;
pub use words::{GivenScale, data_type_named, rescales};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::input::Input;
use crate::file::open::OpenOptions;
use crate::options::{Interleave, Layer, Place, ReadOptions};
use crate::pixels::Pixels;
use crate::raster::Raster;
use crate::read::is_turned;
use crate::sink::{Sink, sink_at};
use crate::window::Window;
use crate::write::{
    Format, FullImage, Piece, RasterSpec, WriteReport, Writer, alpha_band, block_size, named, refused,
};
use adopt::Adopted;
use change::{Change, Facts};
use clip::Clip;
use numbers::Counts;
use passes::is_read_fast;
use reads::{both, found_values};
use resample::{Limits, Made, Resampling};
use shape::{Shape, Taken};
use spec::{alpha_becomes_mask, keeps_depth, picture_options, write_options};
use std::path::Path;
use strile_engine::{Context, LocatedFault, Location};
use strile_tiff::{DataType, Planar, SampleFormat};
use tiling::Aligned;
use values::Values;
use vrt::bits_of_vrt;

/// Rows of padding that are written at once.
const PAD_ROWS: u32 = 16;

/// A conversion that keeps the pixels of the input.
struct Kept<'a> {
    input: &'a Input,
    read: ReadOptions,
    cut: Cut,
    /// Columns of the file left of the input, and rows above it.
    before: (u32, u32),
    adopted: Option<Adopted<'a>>,
    clip: Option<Clip>,
    changed: Changed,
    writer: Writer,
    warnings: Vec<String>,
}

/// Changes of pixels between input and output.
#[derive(Default)]
struct Changed {
    shape: Option<Shape>,
    change: Option<Change>,
    /// Rows of the input that are decoded together.
    block_rows: u32,
    /// The band, from 0, that is alpha and says which pixels are valid.
    alpha: Option<usize>,
    /// Options that read the whole image, to find ranges of values.
    whole: ReadOptions,
}

/// Converts the file or mosaic `from` to the new file `to`, with all its metadata. An existing file is not replaced.
/// With the feature `remote`, both may be URLs. [`convert_into`] has options.
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

/// Converts `input`, or a part of it, into `sink`.
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
/// let options = ConvertOptions::new()
///     .size(ConvertSize::Sides(Side::Percent(50.0), Side::Auto))
///     .resampling(Method::Average)
///     .data_type(DataType::F32);
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

impl<'a> Kept<'a> {
    /// Plans the conversion without touching a pixel.
    fn plan(
        input: &'a Input,
        sink: Box<dyn Sink>,
        options: &ConvertOptions,
        context: &Context,
    ) -> Result<Self> {
        let mut warnings = Vec::new();
        let interleave = match options.write.planar {
            Planar::Chunky => Interleave::BandLast,
            Planar::Separate => Interleave::BandFirst,
        };
        // Every block is read only once.
        let read = options.read.clone().layer(Layer::Pixels).cache(Cache::Off);
        let mut read = read.interleave(interleave);
        if read.meaning.is_masked() {
            return Err(refused(
                "a file is written with the values it was read with: not masked, not unpacked; `unscale` applies \
                 scale and offset"
                    .into(),
            ));
        }
        if read.place.onto.is_some() {
            return Err(refused(
                "a file is converted on its own grid; `WarpWriter` writes onto another one".into(),
            ));
        }
        let options = &clip::cropped(input, options)?;
        let whole = read.clone().window(None);
        let taken = shape::take(input, &read.place, options, &mut warnings)?;
        let shape = match taken {
            Taken::Pixels { level, window } => {
                (read.place.level, read.place.window) = (level, window);
                input.pieces(&read, &options.limits, context)?;
                None
            }
            // Described as the whole image first.
            Taken::Resampled(shape) => {
                read.place.window = None;
                Some(shape)
            }
        };
        let options = &with_corners(input, &read.place, shape.as_ref(), options)?;
        let (mut spec, facts, block_rows) = match input {
            Input::Tiff(dataset) => {
                let image = dataset.target(&read.place)?.image;
                if is_turned(&image, read.layout) {
                    let problem = "pieces of an image are not turned; its orientation is written as it is";
                    return Err(dataset.refuse(problem.into()));
                }
                let masked = alpha_becomes_mask(dataset, &read.place, options)?;
                if masked {
                    read.place.bands = Some(vec![1, 2, 3]);
                    warnings.push("alpha is written as a mask, which jpeg does not blur: 0 or not 0".into());
                }
                let mut spec = spec_of(dataset, &read.place, options, &mut warnings)?;
                spec.mask |= masked;
                let full = spec.data_type.size() * 8;
                let odd = image.mixed_bits.is_none()
                    && image.sample.format == SampleFormat::Uint
                    && usize::from(image.sample.bits) < full;
                let bits = odd.then_some(image.sample.bits);
                let bands = dataset.target(&read.place)?.bands;
                (spec, Facts { data_type: DataType::U8, bands, bits }, image.grid.block_height)
            }
            Input::Vrt(vrt) => {
                let (spec, _) = spec_of_vrt(vrt, &read.place, options, &mut warnings)?;
                let (_, bands) = vrt.target(&read.place)?;
                (spec, Facts { data_type: DataType::U8, bands, bits: bits_of_vrt(vrt, &read.place)? }, 1)
            }
        };
        let facts = Facts { data_type: spec.data_type, ..facts };
        let alpha = alpha_band(&spec).and_then(|band| usize::try_from(band).ok());
        let refuse = |problem: String| shape::named(input, problem);
        if let Some(shape) = &shape {
            shape.describe(&mut spec, input.transform(&whole)?, options.transform);
        }
        let clip = Clip::plan(input, options, &mut spec, shape.is_some() || options.changes_values())?;
        let change = Change::plan(input, &facts, (&mut spec, options), shape.as_ref(), &mut warnings)
            .map_err(refuse)?;
        change::restate(&mut spec, options).map_err(refuse)?;
        let mut write = match input {
            Input::Tiff(dataset) => write_options(dataset, &read.place, &spec, options)?,
            Input::Vrt(_) => {
                let mut write = picture_options(&spec, options);
                if write.bits.is_none() && keeps_depth(write.compression) && !options.changes_values() {
                    write.bits = facts.bits;
                }
                write
            }
        };
        let mut cut = match input {
            Input::Tiff(dataset) => {
                let bytes = piece_bytes(&spec, &write, change.is_some());
                cut(dataset, &read.place, &spec, bytes)?
            }
            Input::Vrt(vrt) => Cut::of_rows(vrt.target(&read.place)?.0, &spec),
        };
        if let Some(shape) = &shape {
            let (width, height) = shape.size;
            let samples = u64::from(width).saturating_mul(height.into()).saturating_mul(spec.bands.into());
            let size = samples.saturating_mul(spec.data_type.size() as u64);
            input.check_size(samples, size, read.execution.max_pixels)?;
            cut = Cut { window: Window::full(width, height), piece: (u32::MAX, u32::MAX) };
            read.place.level = shape.level;
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
        // Pieces that are higher than the file's blocks arrive out of order if they are side by side.
        let unnamed = |problem| named(refused(problem), sink.name());
        let rows = block_size(&spec, &write).map_err(unnamed)?.1;
        write.spooled |= write.format == Format::GeoTiff
            && (!cut.comes_by_rows(rows) || changed.is_cut_by_columns(spec.mask));
        let adopted = match (
            input,
            options.reencode || aligned.is_some() || clip.is_some() || changed.change.is_some(),
        ) {
            (Input::Tiff(dataset), false) => Adopted::find(dataset, &read, &spec, &write)?,
            _ => None,
        };
        // Copied blocks precede the first block of a mask.
        write.spooled |= write.format == Format::GeoTiff && adopted.is_some() && spec.mask;
        let full =
            adopted.as_ref().map_or(FullImage::Encoded, |adopted| FullImage::Adopted(adopted.layout()));
        let writer = Writer::create_from(sink, spec, &write, full, context)?;
        let before = aligned.map_or((0, 0), |aligned| aligned.before);
        Ok(Self { input, read, cut, before, adopted, clip, changed, writer, warnings })
    }

    fn explain(&self) -> String {
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
        lines.extend(self.clip.as_ref().map(|_| "clip    pixels outside the polygon are missing".to_owned()));
        lines.extend(self.changed.change.as_ref().and_then(Change::explain));
        lines.push(format!("copy    {pixels}"));
        format!("{}\n{}", lines.join("\n"), self.writer.explain())
    }

    fn blocks(&self) -> u64 {
        self.writer.blocks()
    }

    fn spec(&self) -> Option<&RasterSpec> {
        self.writer.spec()
    }

    /// Runs the conversion; see [`Conversion::run_watched`].
    fn run_watched(self, context: &Context, watch: &mut dyn FnMut(&Piece<'_>)) -> Result<WriteReport> {
        let Self { input, read, cut, before, adopted, clip, changed, mut writer, mut warnings } = self;
        // Progress counts blocks that are written.
        let quiet = Context { progress: None, ..context.clone() };
        // Values change on the host.
        let place = writer.location().filter(|_| changed.change.is_none()).unwrap_or(Location::Host);
        // All pieces of a mosaic count as one read.
        let work = std::sync::OnceLock::new();
        let stored = |options: &ReadOptions| match input {
            Input::Tiff(dataset) => read_for(dataset, place, options, &quiet),
            Input::Vrt(vrt) if options.place.onto.is_some() => vrt.read(options, &quiet),
            Input::Vrt(vrt) => {
                let work = work.get_or_init(|| vrt.work());
                vrt.read_part(options, work, &quiet)
            }
        };
        let source = |options: &ReadOptions| match &clip {
            None => stored(options),
            Some(clip) => {
                let read = stored(&clip.options(input, options)?)?;
                match options.place.layer {
                    Layer::Pixels => Ok(read),
                    Layer::Mask => clip.mask(input, options, read, &quiet),
                }
            }
        };
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
        let pass = |writer: &mut Writer| -> Result<Vec<LocatedFault>> {
            let mut faults = Vec::new();
            let read = |window| Layers::read(&source, &read, window, masked);
            let take = |window: Window, layers: Layers| -> Result<()> {
                let target = at(&cut.window, &window, before);
                pad(writer, Aligned::beside(target, inner, size.0))?;
                faults.extend(layers.write(writer, target)?);
                Ok(())
            };
            each_piece(cut, read, take, context)?;
            pad(writer, Aligned::above_and_below(inner, size, PAD_ROWS))?;
            Ok(faults)
        };
        let unchanged = shape.is_none() && values.is_none() && inner == Window::full(size.0, size.1);
        if unchanged
            && cut.comes_by_rows(writer.rows_of_cell())
            && (adopted.is_some() || is_read_fast(input, &read.place, place)?)
            && writer.begin_overviews()?
        {
            faults = pass(&mut writer)?;
            writer.begin_image()?;
        }
        let needs_pixels = writer.needs_pixels();
        if let Some(adopted) = adopted {
            adopted.copy(&mut writer, context)?;
        }
        match (&shape, &values) {
            _ if !needs_pixels => {}
            (_, None) => faults = pass(&mut writer)?,
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
                    let piece = made_piece(values, &made, target)?;
                    watch(&piece);
                    writer.write(&piece)
                };
                counts.add(resampling.run(given, give, context)?);
                pad(&mut writer, Aligned::above_and_below(inner, size, PAD_ROWS))?;
            }
            (None, Some(values)) => {
                for window in cut.windows() {
                    if context.cancel.is_cancelled() {
                        return Err(Error::Cancelled);
                    }
                    let target = at(&cut.window, &window, before);
                    pad(&mut writer, Aligned::beside(target, inner, size.0))?;
                    let ((raster, mask), found) = both(&source, &read, window, masked)?;
                    faults.extend(found);
                    let (raster, told) = values.apply(&raster, context)?;
                    counts.add(told);
                    let piece = piece(&raster, target)?;
                    let piece = match &mask {
                        Some(mask) => piece.with_mask(&mask.pixels),
                        None => piece,
                    };
                    watch(&piece);
                    writer.write(&piece)?;
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

    /// Returns the resampling, with values as planned.
    fn resampling(&self, masked: bool) -> Option<Resampling<'_>> {
        let (shape, values) = (self.shape.as_ref()?, self.change.as_ref()?.planned());
        let (bands, alpha, block_rows) = (values.source_nodata.len(), self.alpha, self.block_rows);
        Some(Resampling { shape, values, bands, masked, alpha, block_rows, limits: Limits::default() })
    }
}

/// Returns the options with corners replaced by a transform of the output.
fn with_corners(
    input: &Input,
    place: &Place,
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
                let window = dataset.target(place)?.window;
                (window.width, window.height)
            }
            (None, Input::Vrt(vrt)) => {
                let window = vrt.target(place)?.0;
                (window.width, window.height)
            }
        };
        options.transform = Some(shape::transform_of(corners, size)?);
    }
    Ok(options)
}

/// Wraps resampled pixels as a piece of the output.
fn made_piece<'a>(values: &Values, made: &'a Made, target: Window) -> Result<Piece<'a>> {
    let bands = u16::try_from(values.maps.len()).unwrap_or(u16::MAX);
    let piece = Piece::contiguous(target, bands, values.to, Interleave::BandFirst, &made.pixels);
    let piece = piece.map_err(|error| refused(error.to_string()))?;
    Ok(match &made.mask {
        Some(mask) => piece.with_mask(mask),
        None => piece,
    })
}

/// Reads for a writer that encodes at this location: pixels stay on a device on their way from file to file.
pub(crate) fn read_for(
    input: &Dataset,
    place: Location,
    options: &ReadOptions,
    context: &Context,
) -> Result<Pixels> {
    match place {
        Location::Cuda(index) if options.place.layer == Layer::Pixels => {
            input.read_on_device(index, options, context)
        }
        _ => input.read(options, context),
    }
}

/// Wraps pixels in host memory as a piece of a file.
fn piece(raster: &Raster, window: Window) -> Result<Piece<'_>> {
    let Raster { bands, data_type, interleave, pixels, .. } = raster;
    contiguous(window, *bands, (*data_type, *interleave), pixels)
}

fn contiguous(
    window: Window,
    bands: u32,
    (data_type, interleave): (DataType, Interleave),
    bytes: &[u8],
) -> Result<Piece<'_>> {
    let bands = u16::try_from(bands).unwrap_or(u16::MAX);
    let piece = Piece::contiguous(window, bands, data_type, interleave, bytes);
    piece.map_err(|error| refused(error.to_string()))
}

impl Pixels {
    /// Wraps the pixels as a piece of a file, wherever they are.
    pub(crate) fn piece(&self, window: Window) -> Result<Piece<'_>> {
        match self.device_bytes() {
            Some(memory) => Ok(Piece::on_device(window, self.spec()?, memory.clone())),
            None => contiguous(window, self.bands, (self.data_type, self.interleave), self.bytes()?),
        }
    }
}

/// Returns the position in the output of a window of the input, of which `whole` is read.
pub(crate) fn at(whole: &Window, window: &Window, before: (u32, u32)) -> Window {
    Window {
        column: window.column - whole.column + before.0,
        row: window.row - whole.row + before.1,
        ..*window
    }
}

/// Writes the pixels around the input: nodata, else 0, and not valid.
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
