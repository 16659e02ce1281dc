//! Statistics, histograms and checksums of bands, as GDAL defines them. All pixels are read piece by piece, so memory
//! does not grow with the raster.

mod checksum;
mod moments;
mod validity;

pub(crate) use validity::{BandValidity, Shown};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::file::input::{AsInput, Input};
use crate::grid::{Outline, Polygon};
use crate::number::{is_complex, reader};
use crate::options::{Interleave, Layer, Layout, Meaning, ReadOptions, setters};
use crate::pieces::PieceLimits;
use crate::pixels::Pixels;
use crate::window::Window;
use checksum::Checksum;
use moments::Moments;
use std::sync::Arc;
use strile_crs::DatumShift;
use strile_engine::Context;
use strile_tiff::DataType;

/// Which measurements to make, and of which pixels.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MeasureOptions {
    /// Page, level, window, bands, `decode_on` and limits. Everything else is ignored.
    pub read: ReadOptions,
    /// Minimum, maximum, mean, standard deviation, and the number of valid samples.
    pub statistics: bool,
    /// A histogram. Takes a second pass unless samples have 8 bits.
    pub histogram: bool,
    /// GDAL's checksum.
    pub checksum: bool,
    /// Measures only the pixels whose centre lies within this polygon. A polygon without a reference system uses that
    /// of the input.
    pub polygon: Option<Arc<Polygon>>,
}

impl MeasureOptions {
    /// Returns the options for all bands at full resolution, without any measurement yet.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets which pixels are measured.
        read: ReadOptions,
        /// Measures minimum, maximum, mean and standard deviation.
        statistics: bool,
        /// Computes a histogram.
        histogram: bool,
        /// Computes GDAL's checksum.
        checksum: bool,
    }

    /// Measures only the pixels whose centre lies within a polygon. Reads only blocks under it.
    #[must_use]
    pub fn polygon(mut self, polygon: impl Into<Arc<Polygon>>) -> Self {
        self.polygon = Some(polygon.into());
        self
    }
}

/// Measurements of one band.
#[derive(Debug, Clone, PartialEq)]
pub struct BandFigures {
    /// The band, from 1.
    pub band: u16,
    /// Statistics, if requested.
    pub statistics: Option<BandStatistics>,
    /// Histogram, if requested and the band has a valid sample.
    pub histogram: Option<Histogram>,
    /// Checksum of all samples, valid or not, if requested.
    pub checksum: Option<u16>,
}

/// Statistics of the valid samples of a band: those that are neither NaN nor the nodata value, or, without a nodata
/// value, those that the mask or alpha shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandStatistics {
    /// Number of valid samples.
    pub valid: u64,
    /// Number of all other samples.
    pub missing: u64,
    /// Values of the valid samples; `None` if there are none.
    pub values: Option<ValueRange>,
}

/// Range and distribution of the values of a band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueRange {
    /// The minimum.
    pub minimum: f64,
    /// The maximum.
    pub maximum: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the samples (population).
    pub deviation: f64,
}

/// Number of valid samples in each of 256 ranges, counted like `gdalinfo -hist`.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Start of the first range.
    pub minimum: f64,
    /// End of the last range.
    pub maximum: f64,
    /// Number of samples per range.
    pub counts: Vec<u64>,
}

/// Number of ranges of a histogram.
const BUCKETS: u16 = 256;

/// Pixels that are processed together.
const RUN: usize = 16 << 10;

/// Size of a row of blocks in bytes above which bands are read in several passes.
const ROOM: u64 = 256 << 20;

impl Input {
    /// Reads all pixels of the requested bands and returns their measurements.
    ///
    /// ```no_run
    /// use strile::{Context, Input, OpenOptions};
    /// use strile::measure::MeasureOptions;
    ///
    /// let input = Input::open("dem.tif", &OpenOptions::default())?;
    /// let options = MeasureOptions::new().statistics(true).checksum(true);
    /// for band in input.measure(&options, &Context::default())? {
    ///     println!("band {}: {:?}, checksum {:?}", band.band, band.statistics, band.checksum);
    /// }
    /// # Ok::<(), strile::Error>(())
    /// ```
    pub fn measure(&self, options: &MeasureOptions, context: &Context) -> Result<Vec<BandFigures>> {
        let job = Job::new(self, options, context)?;
        let mut figures = Vec::new();
        for bands in job.bands.chunks(job.at_once) {
            figures.extend(job.measure(bands, context)?);
        }
        Ok(figures)
    }

    /// Returns the number of blocks that `measure` will decode, for progress reports.
    pub fn measured_blocks(&self, options: &MeasureOptions, context: &Context) -> Result<u64> {
        let job = Job::new(self, options, context)?;
        let passes = 1 + u64::from(options.histogram && !is_byte(job.data_type));
        let of = |bands: &[u16]| {
            self.pieces(&job.read(bands), &PieceLimits::default(), context).map(|pieces| pieces.blocks)
        };
        let blocks: Result<u64> = job.bands.chunks(job.at_once).map(of).sum();
        Ok(blocks?.saturating_mul(passes))
    }
}

/// A measurement: its input and its settings.
struct Job<'a> {
    input: &'a Input,
    options: &'a MeasureOptions,
    bands: Vec<u16>,
    /// Number of bands that are read together.
    at_once: usize,
    data_type: DataType,
    shown: Shown,
    /// The window to read: with a polygon, the part of it that the polygon's box touches.
    window: Option<Window>,
    outline: Option<Outline>,
}

/// Intermediate results of one band.
struct Gathered {
    validity: BandValidity,
    moments: Moments,
    checksum: Checksum,
    /// Number of samples seen.
    samples: u64,
    buckets: Option<Buckets>,
}

struct Buckets {
    minimum: f64,
    maximum: f64,
    scale: f64,
    counts: Vec<u64>,
}

impl<'a> Job<'a> {
    fn new(input: &'a Input, options: &'a MeasureOptions, context: &Context) -> Result<Self> {
        let mut all = options.read.clone().layer(Layer::Pixels).masked(false).unpack(false);
        let outline = outline(input, options)?;
        if let Some((window, _)) = outline {
            all = all.window(window);
        }
        let pieces = input.pieces(&all, &PieceLimits::default(), context)?;
        let data_type = pieces.data_type;
        if is_complex(data_type) && (options.statistics || options.histogram) {
            let reason = format!("statistics and histograms are of real samples, and these are {data_type}");
            return Err(Error::Unsupported { file: input.name().to_owned(), reason });
        }
        let count = u16::try_from(pieces.bands).unwrap_or(u16::MAX);
        let bands = options.read.place.bands.clone().unwrap_or_else(|| (1..=count).collect());
        let block_height = match input {
            Input::Tiff(dataset) => dataset.target(&all.place)?.image.grid.block_height.min(pieces.rows),
            Input::Vrt(_) => 256.min(pieces.rows),
        };
        let row = u64::from(pieces.columns) * data_type.size() as u64;
        let room = ROOM.min(context.budget.limit() / 4);
        let at_once = room / row.saturating_mul(block_height.into()).max(1);
        let at_once = usize::try_from(at_once).unwrap_or(usize::MAX).max(1);
        Ok(Self {
            input,
            options,
            bands,
            at_once,
            data_type,
            shown: Shown::in_statistics(input, &all.place)?,
            window: all.place.window,
            outline: outline.map(|(_, outline)| outline),
        })
    }

    fn read(&self, bands: &[u16]) -> ReadOptions {
        let mut bands = bands.to_vec();
        if let Shown::Alpha(alpha) = self.shown
            && !bands.contains(&alpha)
        {
            bands.push(alpha);
        }
        let ReadOptions { place, execution, .. } = &self.options.read;
        ReadOptions {
            place: place.clone().layer(Layer::Pixels).window(self.window).bands(bands),
            meaning: Meaning::default(),
            layout: Layout::new().interleave(Interleave::BandLast),
            // Every block is read only once.
            execution: execution.cache(Cache::Off),
        }
    }

    fn measure(&self, bands: &[u16], context: &Context) -> Result<Vec<BandFigures>> {
        let MeasureOptions { statistics, histogram, checksum, .. } = *self.options;
        let gathered = |&band: &u16| Gathered {
            validity: self.shown.band(self.input, band, self.data_type),
            moments: Moments::default(),
            checksum: Checksum::new(self.data_type),
            samples: 0,
            buckets: (histogram && is_byte(self.data_type)).then(|| Buckets::of_bytes(self.data_type)),
        };
        let mut all: Vec<Gathered> = bands.iter().map(gathered).collect();
        let ranges = statistics || (histogram && !is_byte(self.data_type));
        self.each_run(bands, context, |at, samples, shown| {
            let Some(band) = all.get_mut(at) else { return };
            if checksum {
                band.checksum.add(samples.iter().copied());
            }
            if ranges || histogram {
                let valid = band.valid(samples, shown);
                if ranges {
                    band.moments.add(&valid);
                }
                band.count(&valid);
            }
            band.samples += samples.len() as u64;
        })?;
        if histogram && !is_byte(self.data_type) {
            for (band, number) in all.iter_mut().zip(bands) {
                band.buckets = Buckets::of_range(&band.moments).map_err(|problem| Error::Request {
                    file: self.input.name().to_owned(),
                    problem: format!("band {number} has no histogram: {problem}"),
                })?;
            }
            self.each_run(bands, context, |at, samples, shown| {
                if let Some(band) = all.get_mut(at) {
                    let valid = band.valid(samples, shown);
                    band.count(&valid);
                }
            })?;
        }
        let figures = |(band, &number): (Gathered, &u16)| BandFigures {
            band: number,
            statistics: statistics.then(|| band.statistics()),
            checksum: checksum.then(|| band.checksum.value()),
            histogram: band.buckets.map(Buckets::into_histogram),
        };
        Ok(all.into_iter().zip(bands).map(figures).collect())
    }

    /// Passes the samples of every band in runs of pixels, and a flag per pixel whether it is shown (no flags: all
    /// are).
    fn each_run(
        &self,
        bands: &[u16],
        context: &Context,
        mut give: impl FnMut(usize, &[&[u8]], &[bool]),
    ) -> Result<()> {
        let read = self.read(bands);
        let alpha = match self.shown {
            Shown::Alpha(alpha) => read.place.bands.iter().flatten().position(|band| *band == alpha),
            Shown::Values | Shown::Mask(_) => None,
        };
        let pieces = self.input.pieces(&read, &PieceLimits::default(), context)?;
        let corner = read.place.window.map_or((0, 0), |window| (window.column, window.row));
        let quiet = Context { progress: None, ..context.clone() };
        let mut row = 0;
        self.input.read_pieces::<Error>(&pieces, context, |raster| {
            let Pixels { rows, columns, .. } = raster;
            let window = Window::new(corner.0, corner.1 + row, columns, rows);
            let mask = match self.shown {
                Shown::Mask(_) => {
                    let place = read.place.of_layer(Layer::Mask).window(window);
                    let options = read.clone().place(place).interleave(Interleave::BandFirst);
                    self.input.read(&options, &quiet)?.into_bytes()?
                }
                Shown::Values | Shown::Alpha(_) => Vec::new(),
            };
            let inside = match &self.outline {
                Some(outline) => {
                    let inside = outline.inside(window, &context.cancel);
                    inside
                        .map_err(|problem| match context.cancel.is_cancelled() {
                            true => Error::Cancelled,
                            false => refused(self.input, &problem),
                        })?
                        .flags()?
                }
                None => Vec::new(),
            };
            row += rows;
            let size = raster.data_type.size();
            let pixel = size * raster.bands as usize;
            for (number, run) in raster.bytes()?.chunks(pixel * RUN).enumerate() {
                let first = number * RUN;
                let counts = |at: usize| inside.get(first + at).copied().unwrap_or(true);
                let of = |at: usize| {
                    let pixels = run.chunks_exact(pixel).enumerate().filter(|(index, _)| counts(*index));
                    pixels.filter_map(move |(_, pixel)| pixel.get(at * size..(at + 1) * size))
                };
                let shown: Vec<bool> = match (alpha, mask.get(first..mask.len().min(first + RUN))) {
                    (Some(alpha), _) => {
                        of(alpha).map(|sample| sample.iter().any(|&byte| byte != 0)).collect()
                    }
                    (None, Some(mask)) => {
                        let counted = mask.iter().enumerate().filter(|(index, _)| counts(*index));
                        counted.map(|(_, &valid)| valid != 0).collect()
                    }
                    (None, None) => Vec::new(),
                };
                for at in 0..bands.len() {
                    let samples: Vec<&[u8]> = of(at).collect();
                    give(at, &samples, &shown);
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Returns the pixels under the polygon, and its edges among them.
fn outline(input: &Input, options: &MeasureOptions) -> Result<Option<(Window, Outline)>> {
    let Some(polygon) = options.polygon.as_deref() else { return Ok(None) };
    if options.checksum {
        return Err(refused(
            input,
            "a checksum is of all pixels of a window: leave out the polygon or the checksum",
        ));
    }
    let grid = input.as_input().grid_of(&options.read)?;
    let outline = Outline::new(polygon, &grid, DatumShift::Required).map_err(|e| refused(input, &e))?;
    let under = outline.window((grid.width(), grid.height()));
    let window = match (under, options.read.place.window) {
        (Some(under), Some(window)) => under.intersection(&window),
        (under, _) => under,
    };
    let window =
        window.ok_or_else(|| refused(input, "the polygon lies outside the pixels that are measured"))?;
    Ok(Some((window, outline)))
}

fn refused(input: &Input, problem: &(impl ToString + ?Sized)) -> Error {
    Error::Request { file: input.name().to_owned(), problem: problem.to_string() }
}

impl Gathered {
    /// Returns the valid numbers of a run.
    fn valid(&self, samples: &[&[u8]], shown: &[bool]) -> Vec<f64> {
        let number = reader(self.validity.data_type());
        let is_shown = |at: usize| shown.get(at).copied().unwrap_or(true);
        let valid =
            samples.iter().enumerate().filter(|(at, sample)| self.validity.is_valid(sample, is_shown(*at)));
        valid.map(|(_, sample)| number(sample)).collect()
    }

    fn count(&mut self, numbers: &[f64]) {
        if let Some(buckets) = &mut self.buckets {
            numbers.iter().for_each(|&number| buckets.add(number));
        }
    }

    fn statistics(&self) -> BandStatistics {
        let Moments { count, minimum, maximum, mean, .. } = self.moments;
        let deviation = self.moments.deviation();
        BandStatistics {
            valid: count,
            missing: self.samples - count,
            values: (count > 0).then_some(ValueRange { minimum, maximum, mean, deviation }),
        }
    }
}

/// Returns whether a histogram has one range per value.
fn is_byte(data_type: DataType) -> bool {
    matches!(data_type, DataType::U8 | DataType::I8)
}

impl Buckets {
    fn of_bytes(data_type: DataType) -> Self {
        let first = if data_type == DataType::I8 { -128.5 } else { -0.5 };
        Self::between(first, first + 256.0)
    }

    /// Returns ranges with the extremes in the middle of the first and the last; `None` without numbers.
    fn of_range(moments: &Moments) -> std::result::Result<Option<Self>, &'static str> {
        let (low, high) = (moments.minimum, moments.maximum);
        if moments.count == 0 {
            return Ok(None);
        }
        if !low.is_finite() || !(high - low).is_finite() {
            return Err("its values are infinite, or too far apart");
        }
        let half = if high > low { (high - low) / (2.0 * f64::from(BUCKETS - 1)) } else { 0.5 };
        Ok(Some(Self::between(low - half, high + half)))
    }

    fn between(minimum: f64, maximum: f64) -> Self {
        let scale = f64::from(BUCKETS) / (maximum - minimum);
        Self { minimum, maximum, scale, counts: vec![0; usize::from(BUCKETS)] }
    }

    fn add(&mut self, number: f64) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let at = ((number - self.minimum) * self.scale).floor() as usize;
        if let Some(count) = self.counts.get_mut(at.min(usize::from(BUCKETS) - 1)) {
            *count += 1;
        }
    }

    fn into_histogram(self) -> Histogram {
        Histogram { minimum: self.minimum, maximum: self.maximum, counts: self.counts }
    }
}
