//! Values of bands at places. Each block is decoded once per call, however many places it holds.
//!
//! Pixels of a TIFF are read as one batch of windows of one pixel. Pixels of a mosaic, and masks, are read by cells:
//! one read for all places in a cell.

use crate::batch::{BatchOptions, BatchWindow, read_batch};
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::input::{AsInput as _, Input};
use crate::measure::Shown;
use crate::options::{Execution, Interleave, Layer, Place, Processor, ReadOptions};
use crate::pieces::PieceLimits;
use crate::read::Area;
use crate::window::Window;
use std::collections::BTreeMap;
use strile_crs::{Area as OnEarth, Crs, TransformOptions, Transformer};
use strile_engine::Context;
use strile_engine::memory::try_filled;
use strile_tiff::DataType;
use strile_tiff::geo::GeoTransform;

/// Values of bands at places.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// Type of a value.
    pub data_type: DataType,
    /// Bands, from 1.
    pub bands: Vec<u16>,
    /// Values by (place, band), in native byte order. Places outside the image have the nodata value, else 0.
    pub values: Vec<u8>,
    /// By (place, band): whether the place is in the image and its sample is valid by nodata, mask or alpha.
    pub valid: Vec<bool>,
    /// Whether each place is in the image.
    pub inside: Vec<bool>,
    /// Encoded bytes that were decoded for them. Counted only for TIFFs.
    pub encoded_bytes: u64,
}

/// Recommended number of places per call. A batch of them takes some 30 MB.
pub const SAMPLE_CHUNK: usize = 65_536;

/// Side of a cell of a mosaic, in pixels.
const CELL: u32 = 256;

/// A place in the image: its number, column and row.
type Spot = (usize, u32, u32);

impl Input {
    /// Returns the transformation from the reference system of places to that of the file, for
    /// [`sample`](Self::sample); `None` if they are the same. Its operation between datums is valid for the whole file.
    ///
    /// ```no_run
    /// use strile::crs::Crs;
    /// use strile::{Context, Input, OpenOptions, ReadOptions};
    ///
    /// let input = Input::open("dem.tif", &OpenOptions::default())?;
    /// let mut places = [(14.2, 50.1)];
    /// if let Some(there) = input.transformer_of_places(&Crs::from_user_input("EPSG:4326")?)? {
    ///     there.transform_all(&mut places);
    /// }
    /// let samples = input.sample(&places, &ReadOptions::default(), &Context::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file has no reference system or no transform, or there is no operation between the two systems.
    pub fn transformer_of_places(&self, crs: &Crs) -> Result<Option<Transformer>> {
        let refuse = |problem: &str| Error::Request { file: self.name().into(), problem: problem.into() };
        let georeference = &self.metadata().georeference;
        let own = georeference.crs.as_ref();
        let own = own.ok_or_else(|| refuse("has no reference system that the points could be put in"))?;
        let is_same = match (own.epsg, crs.epsg) {
            (Some(own), Some(other)) => own == other,
            _ => own.wkt == crs.wkt,
        };
        if is_same {
            return Ok(None);
        }
        let (width, height) = self.as_input().size();
        let bounds = georeference.transform.map(|it| it.bounds(0.0, 0.0, width.into(), height.into()));
        let bounds = bounds.ok_or_else(|| refuse("has no georeferencing, so points cannot be located"))?;
        let area = OnEarth::of(own, (bounds.min_x, bounds.min_y), (bounds.max_x, bounds.max_y));
        let area = area.map_err(|error| refuse(&error.to_string()))?;
        let made = Transformer::new(crs, own, &TransformOptions::default().area(area));
        made.map(Some).map_err(|error| refuse(&error.to_string()))
    }

    /// Returns values of the full image at places (x, y) in the file's reference system: those of the pixel that
    /// contains the place. Of `options`, only the bands and the limits count. In a file without georeferencing, places
    /// are columns and rows.
    ///
    /// Memory grows with the number of places; pass at most [`SAMPLE_CHUNK`] at once.
    ///
    /// ```no_run
    /// use strile::{Context, Input, OpenOptions, ReadOptions};
    ///
    /// let input = Input::open("dem.tif", &OpenOptions::default())?;
    /// let places = [(500_000.0, 4_400_000.0)];
    /// let samples = input.sample(&places, &ReadOptions::default(), &Context::default())?;
    /// println!("{:?}, inside: {}", samples.values, samples.inside[0]);
    /// # Ok::<(), strile::Error>(())
    /// ```
    pub fn sample(&self, places: &[(f64, f64)], options: &ReadOptions, context: &Context) -> Result<Samples> {
        let refuse = |problem: &str| Error::Request { file: self.name().into(), problem: problem.into() };
        let Execution { max_pixels, max_block_bytes, .. } = options.execution;
        let execution =
            Execution { max_pixels, max_block_bytes, decode_on: Processor::Cpu, ..Execution::default() };
        let place = Place { bands: options.place.bands.clone(), ..Place::default() };
        let (columns, rows) = match self {
            Self::Tiff(dataset) => {
                let image = dataset.target(&place)?.image;
                (image.width, image.height)
            }
            Self::Vrt(vrt) => (vrt.width(), vrt.height()),
        };
        // Type and number of the bands do not depend on the size of the file.
        let one = ReadOptions::new().place(place.clone().window(Window::full(1, 1))).execution(execution);
        let pieces = self.pieces(&one, &PieceLimits::default(), context)?;
        let data_type = pieces.data_type;
        let bands = match &place.bands {
            Some(bands) => bands.clone(),
            None => (1..=u16::try_from(pieces.bands).unwrap_or(u16::MAX)).collect(),
        };
        let transform = self.transform(&ReadOptions::default())?.unwrap_or(GeoTransform::IDENTITY);
        let to_pixel =
            transform.locator().ok_or_else(|| refuse("has a georeference that cannot be inverted"))?;
        let mut spots: Vec<Spot> = Vec::with_capacity(places.len());
        let mut inside = vec![false; places.len()];
        for ((index, &(x, y)), inside) in places.iter().enumerate().zip(&mut inside) {
            if let Some((column, row)) = within(to_pixel(x, y), (columns, rows)) {
                spots.push((index, column, row));
                *inside = true;
            }
        }
        let shown = Shown::in_reading(self, &Place::default())?;
        let mut read = bands.clone();
        if let Shown::Alpha(alpha) = shown
            && !read.contains(&alpha)
        {
            read.push(alpha);
        }
        let size = data_type.size();
        let (values, encoded_bytes) = self.pixels_at(&spots, &read, &execution, context)?;
        let mask = match shown {
            Shown::Mask(_) => self.by_cells(&spots, &[], &execution, context)?,
            Shown::Values | Shown::Alpha(_) => Vec::new(),
        };
        let alpha = match shown {
            Shown::Alpha(alpha) => read.iter().position(|band| *band == alpha),
            Shown::Values | Shown::Mask(_) => None,
        };
        let rules: Vec<_> = bands.iter().map(|&band| shown.band(self, band, data_type)).collect();
        let fills: Vec<[u8; 16]> = bands.iter().map(|&band| self.nodata_sample(band, data_type)).collect();
        let len = places.len().saturating_mul(bands.len());
        let mut samples = Samples {
            data_type,
            values: try_filled(0, len.saturating_mul(size), "the samples")?,
            valid: vec![false; len],
            bands,
            inside,
            encoded_bytes,
        };
        let count = samples.bands.len();
        let fill: Vec<u8> =
            fills.iter().flat_map(|fill| fill.get(..size).unwrap_or_default()).copied().collect();
        for place in samples.values.chunks_exact_mut((count * size).max(1)) {
            place.copy_from_slice(&fill);
        }
        for ((at, &(index, ..)), pixel) in
            spots.iter().enumerate().zip(values.chunks_exact((read.len() * size).max(1)))
        {
            let own = pixel.get(..count * size).unwrap_or_default();
            if let Some(place) = samples.values.get_mut(index * count * size..(index + 1) * count * size) {
                place.copy_from_slice(own);
            }
            let is_shown = match (alpha, mask.get(at)) {
                (Some(alpha), _) => pixel
                    .get(alpha * size..(alpha + 1) * size)
                    .is_some_and(|sample| sample.iter().any(|&b| b != 0)),
                (None, Some(&mask)) => mask != 0,
                (None, None) => true,
            };
            let valid = samples.valid.get_mut(index * count..(index + 1) * count).unwrap_or_default();
            for ((valid, rule), sample) in valid.iter_mut().zip(&rules).zip(own.chunks_exact(size)) {
                *valid = rule.is_valid(sample, is_shown);
            }
        }
        Ok(samples)
    }

    fn nodata_sample(&self, band: u16, data_type: DataType) -> [u8; 16] {
        let nodata = match self {
            Self::Tiff(dataset) => dataset.metadata().nodata,
            Self::Vrt(vrt) => vrt.nodata(band),
        };
        nodata.and_then(|nodata| nodata.to_sample(data_type)).unwrap_or_default()
    }

    /// Reads the pixels by (spot, band), and the number of encoded bytes that were decoded.
    fn pixels_at(
        &self,
        spots: &[Spot],
        bands: &[u16],
        execution: &Execution,
        context: &Context,
    ) -> Result<(Vec<u8>, u64)> {
        match self {
            _ if spots.is_empty() => Ok((Vec::new(), 0)),
            Self::Tiff(dataset) => batch(dataset, spots, bands, execution, context),
            Self::Vrt(_) => Ok((self.by_cells(spots, bands, execution, context)?, 0)),
        }
    }

    /// Reads the pixels of a mosaic by (spot, band), or the mask if no band is named: one read per cell.
    fn by_cells(
        &self,
        spots: &[Spot],
        bands: &[u16],
        execution: &Execution,
        context: &Context,
    ) -> Result<Vec<u8>> {
        let cell = match self {
            Self::Tiff(dataset) => {
                let grid = dataset.target(&Place::new().layer(Layer::Mask))?.image.grid;
                (grid.block_width.max(1), grid.block_height.max(1))
            }
            Self::Vrt(_) => (CELL, CELL),
        };
        let mut cells: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        for (at, &(_, column, row)) in spots.iter().enumerate() {
            cells.entry((row / cell.1, column / cell.0)).or_default().push(at);
        }
        let mut pixels = Vec::new();
        for members in cells.values() {
            let places = || members.iter().filter_map(|&at| spots.get(at));
            let window = around(places());
            let place = match bands {
                [] => Place::new().layer(Layer::Mask),
                bands => Place::new().bands(bands.iter().copied()),
            };
            let options = ReadOptions::new().place(place.window(window)).execution(*execution);
            let options = options.interleave(Interleave::BandLast);
            let raster = self.read(&options, context)?.into_raster()?;
            let pixel = raster.data_type.size() * raster.bands as usize;
            pixels.resize(spots.len() * pixel, 0);
            for (&at, &(_, column, row)) in members.iter().zip(places()) {
                let from =
                    (row - window.row) as usize * window.width as usize + (column - window.column) as usize;
                let from = raster.pixels.get(from * pixel..(from + 1) * pixel);
                if let (Some(from), Some(to)) = (from, pixels.get_mut(at * pixel..(at + 1) * pixel)) {
                    to.copy_from_slice(from);
                }
            }
        }
        Ok(pixels)
    }
}

/// Reads the pixels of a TIFF by (spot, band) as one batch.
fn batch(
    dataset: &Dataset,
    spots: &[Spot],
    bands: &[u16],
    execution: &Execution,
    context: &Context,
) -> Result<(Vec<u8>, u64)> {
    let window = |&(_, column, row): &Spot| BatchWindow {
        bands: Some(bands.to_vec()),
        area: Area::Pixels { column: column.into(), row: row.into(), width: 1, height: 1 },
        ..BatchWindow::of_pixels(0, 0, 0, (1, 1))
    };
    let windows: Vec<BatchWindow> = spots.iter().map(window).collect();
    let options = BatchOptions::new().execution(*execution);
    let pixels = read_batch(&[dataset], &windows, &options, context)?;
    let encoded = pixels.report.encoded_bytes;
    Ok((pixels.into_bytes()?, encoded))
}

/// Returns the smallest window that holds all spots.
fn around<'a>(spots: impl Iterator<Item = &'a Spot>) -> Window {
    let none = (u32::MAX, u32::MAX, 0, 0);
    let (left, top, right, bottom) = spots.fold(none, |(left, top, right, bottom), &(_, column, row)| {
        (left.min(column), top.min(row), right.max(column), bottom.max(row))
    });
    Window::new(left, top, right.saturating_sub(left) + 1, bottom.saturating_sub(top) + 1)
}

/// Returns the pixel of an image that contains a place.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside of the image, checked")]
fn within((column, row): (f64, f64), (columns, rows): (u32, u32)) -> Option<(u32, u32)> {
    let is_inside = (0.0..f64::from(columns)).contains(&column) && (0.0..f64::from(rows)).contains(&row);
    is_inside.then_some((column.floor() as u32, row.floor() as u32))
}
