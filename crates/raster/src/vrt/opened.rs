//! An opened source: a TIFF or another VRT, which gives the samples of a request in its own type.

use super::Vrt;
use super::call::Call;
use super::expand::Which;
use super::number::{Number, reader};
use super::parse::Source;
use super::place::{Picks, Placed, copied_from, picks};
use super::values::is_near;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::{Interleave, Layer, Place, ReadOptions};
use crate::raster::Raster;
use crate::read::{MaskSource, from_alpha};
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::memory::{try_filled, try_with_capacity};
use strile_engine::{Fill, Lease};
use strile_tiff::gdal::NoData;
use strile_tiff::{DataType, Image, Planar};

/// An opened source.
pub(super) enum Opened {
    File(Box<Leaf>),
    Mosaic(Box<Vrt>),
}

/// A TIFF, with what is asked of it for every band, found once.
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

    /// Pixels of a block.
    pub(super) fn block_pixels(&self) -> u64 {
        u64::from(self.image.grid.block_width) * u64::from(self.image.grid.block_height)
    }

    /// Samples of the blocks that a window of some bands touches.
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

/// Where the validity of one band comes from, in GDAL's order.
pub(super) enum Validity {
    Image,
    NoData(f64),
    Alpha(u16),
    All,
}

/// What is taken from a source.
#[derive(Clone)]
pub(super) enum Content {
    Pixels(Vec<u16>),
    Mask(u16),
}

/// Samples in memory that is taken from the budget.
pub(super) struct Samples {
    pub(super) pixels: Vec<u8>,
    pub(super) data_type: DataType,
    _lease: Lease,
}

impl Samples {
    /// The same with other pixels, of bytes.
    fn with_bytes(
        self,
        count: usize,
        call: &Call<'_>,
        change: impl FnOnce(&Self) -> Vec<u8>,
    ) -> Result<Self> {
        let lease = call.take(count as u64, "the mask of a source")?;
        let pixels = change(&self);
        Ok(Self { pixels, data_type: DataType::U8, _lease: lease })
    }
}

/// Which pixels a request takes.
pub(super) struct Sampling {
    pub(super) across: Placed,
    pub(super) down: Placed,
    columns: Picks,
    rows: Picks,
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

    /// Rows of the result that are sampled at once: as many as `bytes` hold of the pixels they come from.
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
        if let (Picks::Run(from), true) = (&self.rows, end < count) {
            // Ends at a row of blocks, so that none is decoded twice.
            let aligned = ((from + end) / block_height * block_height).saturating_sub(*from);
            end = if aligned > first { aligned } else { end };
        }
        first..end
    }
}

impl Opened {
    pub(super) fn size(&self) -> (u32, u32) {
        match self {
            Self::File(leaf) => (leaf.image.width, leaf.image.height),
            Self::Mosaic(vrt) => (vrt.width(), vrt.height()),
        }
    }

    pub(super) fn bands(&self) -> u16 {
        match self {
            Self::File(leaf) => leaf.image.samples,
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
            Self::Mosaic(vrt) => Ok(vrt.data_type()),
        }
    }

    /// Rows of blocks are this high; `None` if rows must not be taken apart.
    pub(super) fn block_height(&self) -> Option<u32> {
        match self {
            Self::File(leaf) => Some(leaf.image.grid.block_height.max(1)),
            Self::Mosaic(_) => None,
        }
    }

    pub(super) fn validity(&self, band: u16) -> Validity {
        let (has_image, nodata, alpha) = match self {
            Self::File(leaf) => (leaf.has_mask, leaf.nodata, leaf.alpha),
            Self::Mosaic(vrt) => (vrt.has_mask(), vrt.nodata(band), vrt.alpha()),
        };
        match (has_image, nodata, alpha) {
            (true, ..) => Validity::Image,
            (_, Some(nodata), _) => Validity::NoData(nodata.as_f64()),
            (_, _, Some(alpha)) => Validity::Alpha(alpha),
            _ => Validity::All,
        }
    }

    /// The samples of some rows of a request: band after band, in the source's type (masks as bytes).
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
        let count = sampling.across.part.count as usize * (rows.end - rows.start) as usize;
        match self.validity(band) {
            Validity::Image => self.read(Layer::Mask, &[band], sampling, rows, call),
            Validity::Alpha(alpha) if alpha != band => self.own_alpha(alpha, sampling, rows, call),
            Validity::Alpha(_) | Validity::All => {
                let lease = call.take(count as u64, "the mask of a source")?;
                Ok(Samples {
                    pixels: try_filled(255, count, "the mask of a source")?,
                    data_type: DataType::U8,
                    _lease: lease,
                })
            }
            Validity::NoData(nodata) => {
                let samples = self.read(Layer::Pixels, &[band], sampling, rows, call)?;
                samples.with_bytes(count, call, |samples| {
                    let (number, nodata) = (reader(samples.data_type), Number::Double(nodata));
                    let samples = samples.pixels.chunks_exact(samples.data_type.size());
                    samples.map(|sample| if is_nodata(number(sample).0, nodata) { 0 } else { 255 }).collect()
                })
            }
        }
    }

    /// The samples of alpha as validity.
    pub(super) fn own_alpha(
        &self,
        band: u16,
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Samples> {
        let (columns, count) = (sampling.across.part.count, rows.end - rows.start);
        let samples = self.read(Layer::Pixels, &[band], sampling, rows, call)?;
        let Samples { pixels, data_type, _lease } = samples;
        let (interleave, fill) = (Interleave::BandFirst, Fill::default());
        let alpha = Raster { data_type, bands: 1, rows: count, columns, interleave, pixels, fill };
        let lease = call.take(u64::from(columns) * u64::from(count), "the mask of a source")?;
        Ok(Samples { pixels: from_alpha(alpha).pixels, data_type: DataType::U8, _lease: lease })
    }

    fn read(
        &self,
        layer: Layer,
        bands: &[u16],
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Samples> {
        let leaf = match self {
            Self::File(leaf) => leaf,
            Self::Mosaic(vrt) => {
                let which: Vec<Which> = match layer {
                    Layer::Pixels => bands.iter().map(|&band| Which::Band(band)).collect(),
                    Layer::Mask => vec![Which::Mask],
                };
                let request = (sampling.across.part, sampling.down.part);
                let (raster, lease) = vrt.planes(&which, request, &call.inside(vrt))?;
                return Ok(Samples { pixels: raster.pixels, data_type: raster.data_type, _lease: lease });
            }
        };
        let (columns, last) = (sampling.across.part.count, |count: u32| count.saturating_sub(1));
        let (left, right) = (sampling.columns.get(0), sampling.columns.get(last(columns)));
        let (top, bottom) = (sampling.rows.get(rows.start), sampling.rows.get(last(rows.end)));
        let window = Window::new(left, top, right - left + 1, bottom - top + 1);
        call.count_decoded(leaf.dataset.name(), leaf.decoded(&window, bands.len()))?;
        let bands = (layer == Layer::Pixels).then(|| bands.to_vec());
        let place = Place { window: Some(window), bands, layer, ..Place::default() };
        let options = ReadOptions::new().place(place).execution(*call.execution());
        let mut read = leaf.dataset.read(&options, call.context())?;
        call.found_by(std::mem::take(&mut read.faults));
        let raster = read.into_raster()?;
        // The read gives back what it took; the pixels stay.
        let lease = call.take(raster.pixels.len() as u64, "the pixels of a source")?;
        if window.width == columns && window.height == rows.end - rows.start {
            return Ok(Samples { pixels: raster.pixels, data_type: raster.data_type, _lease: lease });
        }
        picked(&raster, sampling, rows, call)
    }
}

/// The value where what is below a source shows: its own, or by the mask of its file.
pub(super) fn nodata_of(opened: &Opened, source: &Source) -> Option<f64> {
    let complex = source.complex.as_ref()?;
    match complex.uses_mask && !source.is_mask {
        true => match opened.validity(source.band) {
            Validity::NoData(value) => Some(value),
            _ => complex.nodata,
        },
        false => complex.nodata,
    }
}

pub(super) fn is_nodata(value: Number, nodata: Number) -> bool {
    let same_precision = match value {
        Number::Single(_) => Number::Single(nodata.as_f32()),
        Number::Integer(_) | Number::Double(_) => nodata,
    };
    match value {
        Number::Integer(_) => value.as_f64() == nodata.as_f64(),
        _ => is_near(value, same_precision) || (value.as_f64().is_nan() && nodata.as_f64().is_nan()),
    }
}

/// The nearest pixels out of those that were read.
fn picked(raster: &Raster, sampling: &Sampling, rows: Range<u32>, call: &Call<'_>) -> Result<Samples> {
    let size = raster.data_type.size();
    let (columns, count) = (sampling.across.part.count, rows.end - rows.start);
    let len = u64::from(columns) * u64::from(count) * u64::from(raster.bands) * size as u64;
    let lease = call.take(len, "resampled pixels")?;
    let (left, top) = (sampling.columns.get(0), sampling.rows.get(rows.start));
    let mut pixels = try_with_capacity(usize::try_from(len).unwrap_or(usize::MAX), "resampled pixels")?;
    let row_len = raster.columns as usize * size;
    let plane_len = row_len * raster.rows as usize;
    for band in 0..raster.bands as usize {
        let mut above = None;
        for row in rows.clone() {
            let picked = sampling.rows.get(row);
            // Enlarged rows repeat: copying one is faster than picking its pixels again.
            if above == Some(picked) {
                let start = pixels.len().saturating_sub(columns as usize * size);
                pixels.extend_from_within(start..);
                continue;
            }
            above = Some(picked);
            let at = band * plane_len + (picked - top) as usize * row_len;
            let line = raster.pixels.get(at..at + row_len).unwrap_or_default();
            for column in 0..columns {
                let at = (sampling.columns.get(column) - left) as usize * size;
                pixels.extend_from_slice(line.get(at..at + size).unwrap_or_default());
            }
        }
    }
    Ok(Samples { pixels, data_type: raster.data_type, _lease: lease })
}
