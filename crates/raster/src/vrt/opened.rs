//! An opened source: a TIFF, a TIFF on the grid of a warped VRT, or another VRT. Returns the samples of a request in
//! its own type.

use super::Vrt;
use super::call::Call;
use super::compose::Composed;
use super::expand::Which;
use super::missing::near;
use super::parse::Source;
use super::place::{self, Placed, copied_from, picks};
use super::warped::Warped;
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::options::{Layer, Place, ReadOptions};
use crate::read::MaskSource;
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::{Change, Fill, FinishJob, Lease, OutputSpec, Picks, SharedPixels, Turn};
use strile_tiff::gdal::NoData;
use strile_tiff::{DataType, Image, Planar};

/// An opened source.
pub(super) enum Opened {
    File(Box<Leaf>),
    Warped(Warped),
    Mosaic(Box<Vrt>),
}

/// A TIFF, with properties used by every band, computed once.
pub(super) struct Leaf {
    pub(super) dataset: Arc<Dataset>,
    image: Arc<Image>,
    has_mask: bool,
    alpha: Option<u16>,
    nodata: Option<NoData>,
}

impl Leaf {
    pub(super) fn new(dataset: Dataset) -> Result<Self> {
        let image = dataset.target(&Place::default())?.image;
        let has_mask = dataset.mask_source(&Place::default())? == MaskSource::Image;
        let alpha = match MaskSource::of(&image, false) {
            MaskSource::Alpha(band) => Some(band),
            _ => None,
        };
        let nodata = dataset.metadata().nodata;
        Ok(Self { dataset: Arc::new(dataset), image, has_mask, alpha, nodata })
    }

    /// Returns columns and rows.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.image.width, self.image.height)
    }

    /// Returns the alpha band, from 1.
    pub(super) fn alpha(&self) -> Option<u16> {
        self.alpha
    }

    /// Returns the number of pixels per block.
    pub(super) fn block_pixels(&self) -> u64 {
        u64::from(self.image.grid.block_width) * u64::from(self.image.grid.block_height)
    }

    /// Returns the number of samples in the blocks that a window of some bands touches.
    pub(super) fn decoded(&self, window: &Window, bands: usize) -> u64 {
        let grid = &self.image.grid;
        let len = |blocks: Range<u32>, size: u32| u64::from(blocks.end - blocks.start) * u64::from(size);
        let across = len(window.block_columns(grid), grid.block_width);
        let down = len(window.block_rows(grid), grid.block_height);
        let samples = match self.image.planar {
            Planar::Chunky => u64::from(self.image.samples),
            Planar::Separate => bands as u64,
        };
        across.saturating_mul(down).saturating_mul(samples)
    }
}

/// The source of validity of one band, in GDAL's order.
pub(super) enum Validity {
    Image,
    NoData(NoData),
    Alpha(u16),
    All,
}

/// The content to read from a source.
#[derive(Clone)]
pub(super) enum Content {
    Pixels(Vec<u16>),
    Mask(u16),
}

/// Samples at the place of blending, in memory that is taken from the budget.
pub(super) enum Samples {
    /// All pixels that the samples of a request are picked from, band after band.
    Pixels(SharedPixels, Lease),
    /// The same sample everywhere.
    One(DataType, Fill),
}

impl Samples {
    /// Returns the pixels of a band, from 0.
    pub(super) fn band(&self, band: u32) -> Option<SharedPixels> {
        match self {
            Self::Pixels(pixels, _) => pixels.band(band),
            Self::One(..) => None,
        }
    }
}

/// The pixels to pick from those that are read.
pub(super) struct Picked {
    pub(super) columns: Picks,
    pub(super) rows: Picks,
    _lease: Lease,
}

/// The pixels of a request.
pub(super) struct Sampling {
    pub(super) across: Placed,
    pub(super) down: Placed,
    columns: place::Picks,
    rows: place::Picks,
    _lease: Option<Lease>,
}

impl Sampling {
    pub(super) fn new((across, down): (Placed, Placed), size: (u32, u32), call: &Call<'_>) -> Result<Self> {
        let lease = match copied_from(&across, &down) {
            Some(_) => None,
            None => {
                let picked = u64::from(across.part.count) + u64::from(down.part.count);
                Some(call.take(picked * size_of::<u32>() as u64, "the pixels that are picked")?)
            }
        };
        let (columns, rows) = picks(&across, &down, size);
        Ok(Self { across, down, columns, rows, _lease: lease })
    }

    /// Returns the rows of the result that are sampled at once: as many as `bytes` hold of their source pixels.
    pub(super) fn chunk(&self, first: u32, pixel: u64, bytes: u64, block_height: u32) -> Range<u32> {
        let count = self.down.part.count;
        let width =
            u64::from(self.columns.get(self.across.part.count.saturating_sub(1)) - self.columns.get(0)) + 1;
        let (row, top) = (width.saturating_mul(pixel).max(1), self.rows.get(first));
        let fits =
            |end: u32| (u64::from(self.rows.get(end)) - u64::from(top) + 1).saturating_mul(row) <= bytes;
        let mut end = first + 1;
        while end < count && fits(end) {
            end += 1;
        }
        if let (place::Picks::Run(from), true) = (&self.rows, end < count) {
            // Ends at a row of blocks, so that none is decoded twice.
            let aligned = ((from + end) / block_height * block_height).saturating_sub(*from);
            end = if aligned > first { aligned } else { end };
        }
        first..end
    }

    /// Returns the pixels of a file for some rows.
    fn window(&self, rows: &Range<u32>) -> Window {
        let last = |count: u32| count.saturating_sub(1);
        let (left, right) = (self.columns.get(0), self.columns.get(last(self.across.part.count)));
        let (top, bottom) = (self.rows.get(rows.start), self.rows.get(last(rows.end)));
        Window::new(left, top, right - left + 1, bottom - top + 1)
    }
}

impl Opened {
    pub(super) fn size(&self) -> (u32, u32) {
        match self {
            Self::File(leaf) => leaf.size(),
            Self::Warped(warped) => warped.size(),
            Self::Mosaic(vrt) => (vrt.width(), vrt.height()),
        }
    }

    pub(super) fn bands(&self) -> u16 {
        match self {
            Self::File(leaf) => leaf.image.samples,
            Self::Warped(warped) => warped.leaf().map_or(0, |leaf| leaf.image.samples),
            Self::Mosaic(vrt) => vrt.bands(),
        }
    }

    pub(super) fn data_type(&self) -> Result<DataType> {
        match self {
            Self::File(leaf) => {
                let sample = leaf.image.sample;
                let file = || leaf.dataset.name().to_owned();
                let unsupported = || Error::Unsupported { file: file(), reason: format!("{sample} samples") };
                sample.data_type().ok_or_else(unsupported)
            }
            Self::Warped(warped) => Ok(warped.data_type()),
            Self::Mosaic(vrt) => Ok(vrt.data_type()),
        }
    }

    /// Returns the height of rows of blocks; `None` if rows must not be separated.
    pub(super) fn block_height(&self) -> Option<u32> {
        match self {
            Self::File(leaf) => Some(leaf.image.grid.block_height.max(1)),
            Self::Warped(_) | Self::Mosaic(_) => None,
        }
    }

    pub(super) fn validity(&self, band: u16) -> Validity {
        let (has_image, nodata, alpha) = match self {
            Self::File(leaf) => (leaf.has_mask, leaf.nodata, leaf.alpha),
            // Its missing pixels have the nodata value of the VRT.
            Self::Warped(_) => return Validity::All,
            Self::Mosaic(vrt) => (vrt.has_mask(), vrt.nodata(band), vrt.alpha()),
        };
        match (has_image, nodata, alpha) {
            (true, ..) => Validity::Image,
            (_, Some(nodata), _) => Validity::NoData(nodata),
            (_, _, Some(alpha)) => Validity::Alpha(alpha),
            _ => Validity::All,
        }
    }

    /// Returns the pixels that some rows of a request pick from those that are read for them.
    pub(super) fn picked(&self, sampling: &Sampling, rows: &Range<u32>, call: &Call<'_>) -> Result<Picked> {
        let Window { column, row, width, height } = sampling.window(rows);
        let columns = 0..sampling.across.part.count;
        // A mosaic returns exactly the requested pixels.
        let is_mosaic = matches!(self, Self::Mosaic(_));
        let run = |from: &Range<u32>, size: u32| is_mosaic || from.end - from.start == size;
        let (across, down) = (run(&columns, width), run(rows, height));
        let count = |range: &Range<u32>, run: bool| if run { 0 } else { u64::from(range.end - range.start) };
        let bytes = (count(&columns, across) + count(rows, down)) * size_of::<u32>() as u64;
        let _lease = call.take(bytes, "the pixels that are picked")?;
        let picks = |of: &place::Picks, range: Range<u32>, first: u32, run: bool| match run {
            true => Picks::Run,
            false => Picks::Each(range.map(|at| of.get(at).saturating_sub(first)).collect()),
        };
        let columns = picks(&sampling.columns, columns, column, across);
        Ok(Picked { columns, rows: picks(&sampling.rows, rows.clone(), row, down), _lease })
    }

    /// Returns the pixels that some rows of a request are picked from: in the source's type, masks as bytes.
    pub(super) fn sample(
        &self,
        content: &Content,
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Samples> {
        let band = match content {
            Content::Pixels(bands) => return self.read(Layer::Pixels, bands, sampling, rows, call),
            Content::Mask(band) => *band,
        };
        let all_valid = Samples::One(DataType::U8, Fill([u8::MAX; 16]));
        match self.validity(band) {
            Validity::Image => self.read(Layer::Mask, &[band], sampling, rows, call),
            Validity::Alpha(alpha) if alpha != band => self.own_alpha(alpha, sampling, rows, call),
            Validity::Alpha(_) | Validity::All => Ok(all_valid),
            Validity::NoData(nodata) => match near(nodata, self.data_type()?) {
                Some(missing) => self.mask_of(band, Change::Differs(missing), sampling, rows, call),
                None => Ok(all_valid),
            },
        }
    }

    /// Returns the samples of alpha as validity.
    pub(super) fn own_alpha(
        &self,
        band: u16,
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Samples> {
        self.mask_of(band, Change::Alpha, sampling, rows, call)
    }

    /// Returns the mask of a band.
    fn mask_of(
        &self,
        band: u16,
        change: Change,
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Samples> {
        let samples = self.read(Layer::Pixels, &[band], sampling, rows, call)?;
        let Samples::Pixels(pixels, _lease) = samples else { return Ok(samples) };
        let OutputSpec { rows, columns, .. } = *pixels.spec();
        let spec = OutputSpec::band_first(DataType::U8, 1, rows, columns);
        let (mask, lease) = call.output(spec.map_err(|error| call.unfit(error))?, "the mask of a source")?;
        let job = FinishJob { change, turn: Turn::default() };
        call.engine()?.finish(&job, Some(&pixels), &mask, call.context())?;
        Ok(Samples::Pixels(call.pixels(mask)?, lease))
    }

    fn read(
        &self,
        layer: Layer,
        bands: &[u16],
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Samples> {
        let window = sampling.window(&rows);
        let (leaf, place, touched) = match self {
            Self::File(leaf) => {
                let bands = (layer == Layer::Pixels).then(|| bands.to_vec());
                let place = Place { window: Some(window), bands, layer, ..Place::default() };
                (leaf.as_ref(), place, window)
            }
            Self::Warped(warped) => {
                let leaf = warped.leaf()?;
                let (width, height) = leaf.size();
                (leaf, warped.place(window, bands), Window::full(width, height))
            }
            Self::Mosaic(vrt) => {
                let which: Vec<Which> = match layer {
                    Layer::Pixels => bands.iter().map(|&band| Which::Band(band)).collect(),
                    Layer::Mask => vec![Which::Mask],
                };
                let request = (sampling.across.part, sampling.down.part);
                let Composed { output, lease, .. } = vrt.planes(&which, request, &call.inside(vrt))?;
                return Ok(Samples::Pixels(call.pixels(output)?, lease));
            }
        };
        call.count_decoded(leaf.dataset.name(), leaf.decoded(&touched, bands.len()))?;
        let options = ReadOptions::new().place(place).execution(*call.execution());
        let mut read = leaf.dataset.read_to(call.place(), &options, call.context())?;
        call.found_by(std::mem::take(&mut read.faults));
        let spec = read.spec()?;
        // The read releases its memory; the pixels stay.
        let (pixels, need) = match read.device_bytes() {
            Some(bytes) => (SharedPixels::on_device(spec, bytes.clone()), 0),
            None => {
                let bytes = read.into_bytes()?;
                let len = bytes.len() as u64;
                (SharedPixels::new(spec, Arc::new(bytes)), len)
            }
        };
        let lease = call.take(need, "the pixels of a source")?;
        Ok(Samples::Pixels(pixels.map_err(|error| call.unfit(error))?, lease))
    }
}

/// Returns the transparent value of a source: its own, or that by the mask of its file.
pub(super) fn nodata_of(opened: &Opened, source: &Source) -> Option<f64> {
    let complex = source.complex.as_ref()?;
    match complex.uses_mask && !source.is_mask {
        true => match opened.validity(source.band) {
            Validity::NoData(value) => Some(value.as_f64()),
            _ => complex.nodata,
        },
        false => complex.nodata,
    }
}
