//! The files behind a mosaic: opened when first needed, a bounded number kept, and sampled.
//!
//! A source is a TIFF or another VRT; both give the samples of a request in their own type.

use super::number::{Number, reader};
use super::place::{Picks, Placed, picks};
use super::read::{Call, Which};
use super::values::is_near;
use super::{Vrt, paths::Refusal};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::mask;
use crate::options::{Interleave, Layer, ReadOptions};
use crate::raster::Raster;
use crate::window::Window;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::Fill;
use strile_engine::memory::{try_filled, try_with_capacity};
use strile_tiff::DataType;

/// An opened source.
pub(super) enum Opened {
    File(Box<Dataset>),
    Mosaic(Box<Vrt>),
}

/// Opened sources and when each was last asked for.
#[derive(Default)]
pub(super) struct Kept {
    by_file: HashMap<u32, (Arc<Opened>, u64)>,
    clock: u64,
}

impl Kept {
    pub(super) fn get(&mut self, file: u32) -> Option<Arc<Opened>> {
        self.clock += 1;
        let (opened, used) = self.by_file.get_mut(&file)?;
        *used = self.clock;
        Some(Arc::clone(opened))
    }

    /// Keeps one more, in the place of the one not asked for longest where there are `most`.
    pub(super) fn keep(&mut self, file: u32, opened: Arc<Opened>, most: usize) {
        if self.by_file.len() >= most.max(1)
            && let Some(oldest) =
                self.by_file.iter().min_by_key(|(_, (_, used))| *used).map(|(file, _)| *file)
        {
            self.by_file.remove(&oldest);
        }
        self.clock += 1;
        self.by_file.insert(file, (opened, self.clock));
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

/// Which pixels a request takes.
pub(super) struct Sampling {
    pub(super) across: Placed,
    pub(super) down: Placed,
    columns: Picks,
    rows: Picks,
}

impl Sampling {
    pub(super) fn new((across, down): (Placed, Placed), size: (u32, u32)) -> Self {
        let (columns, rows) = picks(&across, &down, size);
        Self { across, down, columns, rows }
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
    pub(super) fn size(&self) -> Result<(u32, u32)> {
        match self {
            Self::File(dataset) => {
                let image = dataset.target(&ReadOptions::default())?.image;
                Ok((image.width, image.height))
            }
            Self::Mosaic(vrt) => Ok((vrt.width(), vrt.height())),
        }
    }

    pub(super) fn bands(&self) -> Result<u16> {
        match self {
            Self::File(dataset) => Ok(dataset.target(&ReadOptions::default())?.image.samples),
            Self::Mosaic(vrt) => Ok(vrt.bands()),
        }
    }

    pub(super) fn data_type(&self) -> Result<DataType> {
        match self {
            Self::File(dataset) => {
                let sample = dataset.target(&ReadOptions::default())?.image.sample;
                let reason = || format!("{sample} samples");
                sample
                    .data_type()
                    .ok_or_else(|| Error::Unsupported { file: dataset.name().into(), reason: reason() })
            }
            Self::Mosaic(vrt) => Ok(vrt.data_type()),
        }
    }

    /// Rows of blocks are this high; `None` where rows are not to be taken apart.
    pub(super) fn block_height(&self) -> Result<Option<u32>> {
        Ok(match self {
            Self::File(dataset) => {
                Some(dataset.target(&ReadOptions::default())?.image.grid.block_height.max(1))
            }
            Self::Mosaic(_) => None,
        })
    }

    pub(super) fn validity(&self, band: u16) -> Result<Validity> {
        let (has_image, nodata, alpha) = match self {
            Self::File(dataset) => {
                let target = dataset.target(&ReadOptions::default())?;
                let source = dataset.mask_source(&ReadOptions::default())?;
                let alpha = match mask::MaskSource::of(&target.image, false) {
                    mask::MaskSource::Alpha(band) => Some(band),
                    _ => None,
                };
                (source == mask::MaskSource::Image, dataset.metadata().nodata, alpha)
            }
            Self::Mosaic(vrt) => (vrt.has_mask(), vrt.nodata(band), vrt.alpha()),
        };
        Ok(match (has_image, nodata, alpha) {
            (true, ..) => Validity::Image,
            (_, Some(nodata), _) => Validity::NoData(nodata.as_f64()),
            (_, _, Some(alpha)) => Validity::Alpha(alpha),
            _ => Validity::All,
        })
    }

    /// The samples of some rows of a request: band after band, in the source's type (masks as bytes).
    pub(super) fn sample(
        &self,
        content: &Content,
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Vec<u8>> {
        let band = match content {
            Content::Pixels(bands) => {
                return Ok(self.read(Layer::Pixels, bands, sampling, rows, call)?.pixels);
            }
            Content::Mask(band) => *band,
        };
        let count = sampling.across.part.count as usize * (rows.end - rows.start) as usize;
        Ok(match self.validity(band)? {
            Validity::Image => self.read(Layer::Mask, &[band], sampling, rows, call)?.pixels,
            Validity::Alpha(alpha) if alpha != band => {
                mask::from_alpha(self.read(Layer::Pixels, &[alpha], sampling, rows, call)?).pixels
            }
            Validity::Alpha(_) | Validity::All => try_filled(255, count, "the mask of a source")?,
            Validity::NoData(nodata) => {
                let raster = self.read(Layer::Pixels, &[band], sampling, rows, call)?;
                let (number, nodata) = (reader(raster.data_type), Number::Double(nodata));
                let samples = raster.pixels.chunks_exact(raster.data_type.size());
                samples.map(|sample| if is_nodata(number(sample).0, nodata) { 0 } else { 255 }).collect()
            }
        })
    }

    /// The samples of alpha as validity.
    pub(super) fn own_alpha(
        &self,
        band: u16,
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Vec<u8>> {
        Ok(mask::from_alpha(self.read(Layer::Pixels, &[band], sampling, rows, call)?).pixels)
    }

    fn read(
        &self,
        layer: Layer,
        bands: &[u16],
        sampling: &Sampling,
        rows: Range<u32>,
        call: &Call<'_>,
    ) -> Result<Raster> {
        let dataset = match self {
            Self::File(dataset) => dataset,
            Self::Mosaic(vrt) => {
                let which: Vec<Which> = match layer {
                    Layer::Pixels => bands.iter().map(|&band| Which::Band(band)).collect(),
                    Layer::Mask => vec![Which::Mask],
                };
                return vrt.planes(&which, (sampling.across.part, sampling.down.part), call);
            }
        };
        let (columns, last) = (sampling.across.part.count, |count: u32| count.saturating_sub(1));
        let (left, right) = (sampling.columns.get(0), sampling.columns.get(last(columns)));
        let (top, bottom) = (sampling.rows.get(rows.start), sampling.rows.get(last(rows.end)));
        let window = Window { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
        let options = ReadOptions {
            window: Some(window),
            bands: (layer == Layer::Pixels).then(|| bands.to_vec()),
            layer,
            interleave: Interleave::BandFirst,
            on_fault: call.options.on_fault,
            max_pixels: call.options.max_pixels,
            max_block_bytes: call.options.max_block_bytes,
            device: call.options.device,
            device_memory: call.options.device_memory,
            direct_io: call.options.direct_io,
            nvcomp: call.options.nvcomp,
            nvjpeg: call.options.nvjpeg,
            ..ReadOptions::default()
        };
        let raster = dataset.read(&options, &call.context)?;
        call.found(&raster.faults);
        if window.width == columns && window.height == rows.end - rows.start {
            return Ok(raster);
        }
        picked(&raster, sampling, rows, call)
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
fn picked(raster: &Raster, sampling: &Sampling, rows: Range<u32>, call: &Call<'_>) -> Result<Raster> {
    let size = raster.data_type.size();
    let (columns, count) = (sampling.across.part.count, rows.end - rows.start);
    let len = u64::from(columns) * u64::from(count) * u64::from(raster.bands) * size as u64;
    let _lease = call.context.take(len, "resampled pixels")?;
    let (left, top) = (sampling.columns.get(0), sampling.rows.get(rows.start));
    let mut pixels = try_with_capacity(usize::try_from(len).unwrap_or(usize::MAX), "resampled pixels")?;
    let row_len = raster.columns as usize * size;
    let plane_len = row_len * raster.rows as usize;
    for band in 0..raster.bands as usize {
        for row in rows.clone() {
            let at = band * plane_len + (sampling.rows.get(row) - top) as usize * row_len;
            let line = raster.pixels.get(at..at + row_len).unwrap_or_default();
            for column in 0..columns {
                let at = (sampling.columns.get(column) - left) as usize * size;
                pixels.extend_from_slice(line.get(at..at + size).unwrap_or_default());
            }
        }
    }
    let fill = Fill::default();
    Ok(Raster { rows: count, columns, pixels, fill, faults: Vec::new(), ..raster.clone_shape() })
}

impl Raster {
    /// The same without pixels.
    fn clone_shape(&self) -> Self {
        Self {
            data_type: self.data_type,
            bands: self.bands,
            rows: self.rows,
            columns: self.columns,
            interleave: self.interleave,
            pixels: Vec::new(),
            fill: self.fill,
            faults: Vec::new(),
        }
    }
}

impl Vrt {
    /// The opened source; `None` where it is missing and that is only warned of.
    pub(super) fn source(&self, file: u32) -> Result<Option<Arc<Opened>>> {
        if let Some(opened) = self.lock_kept().get(file) {
            return Ok(Some(opened));
        }
        let Some(named) = self.files.get(file as usize) else { return Ok(None) };
        let path = match self.resolve(named) {
            Ok(path) => path,
            Err(Refusal::Missing) => return self.is_missing(named).map(|()| None),
            Err(Refusal::Refused(reason)) => return Err(self.unsupported(reason)),
            Err(Refusal::Io(error)) => {
                return Err(Error::Io { path: named.name.clone().into(), error: Arc::new(error) });
            }
        };
        let opened = match super::is_vrt(&path)? {
            true => Opened::Mosaic(Box::new(self.nested(path)?)),
            false => Opened::File(Box::new(Dataset::open_with(&path, &self.options.open)?)),
        };
        let opened = Arc::new(opened);
        self.lock_kept().keep(file, Arc::clone(&opened), self.options.max_open);
        Ok(Some(opened))
    }
}
