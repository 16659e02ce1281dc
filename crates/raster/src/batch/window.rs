//! One window of a batch.

use super::options::BatchOptions;
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::input::InputRef;
use crate::grid::Polygon;
use crate::options::{Place, setters};
use crate::read::{Area, Frame, Request, Shape};
use std::sync::Arc;
use strile_crs::Crs;

/// One window of a batch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BatchWindow {
    /// Index of its file among those of the batch.
    pub file: usize,
    /// Page of the file, from 0.
    pub page: usize,
    /// Resolution level: 0 is full resolution, 1 the largest overview.
    pub level: usize,
    /// Bands from 1, in the order of the result; `None` is all. All windows have the same number of bands.
    pub bands: Option<Vec<u16>>,
    /// Pixels of that level.
    pub area: Area,
    /// The reference system of a box or point in `area`. `None` is that of the file, or of the grid that windows are
    /// warped onto. A box becomes the bounds of its transformed edges. Ignored for windows of pixels.
    pub bounds_crs: Option<Arc<Crs>>,
    /// Pixels whose centre lies outside are missing, and only blocks under the polygon are read. Files must have a
    /// reference system and a transform, and windows without a grid are not resampled to a `size`.
    pub polygon: Option<Arc<Polygon>>,
}

impl BatchWindow {
    /// Returns the window of all bands of an area of a file's first page, at full resolution.
    pub fn new(file: usize, area: impl Into<Area>) -> Self {
        Self { file, page: 0, level: 0, bands: None, area: area.into(), bounds_crs: None, polygon: None }
    }

    /// Reads these bands, from 1, in this order.
    #[must_use]
    pub fn bands(mut self, bands: impl IntoIterator<Item = u16>) -> Self {
        self.bands = Some(bands.into_iter().collect());
        self
    }

    /// Sets the reference system of the box or the point.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use strile::batch::BatchWindow;
    /// use strile::crs::Crs;
    /// use strile::read::Area;
    ///
    /// let wgs84 = Arc::new(Crs::from_user_input("EPSG:4326")?);
    /// let window = BatchWindow::new(0, Area::Bounds([14.9, 49.9, 15.1, 50.1])).bounds_crs(&wgs84);
    /// assert_eq!(window.bounds_crs, Some(wgs84));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bounds_crs(mut self, crs: &Arc<Crs>) -> Self {
        self.bounds_crs = Some(Arc::clone(crs));
        self
    }

    /// Clips the window by a polygon.
    #[must_use]
    pub fn polygon(mut self, polygon: impl Into<Arc<Polygon>>) -> Self {
        self.polygon = Some(polygon.into());
        self
    }

    setters! {
        /// Reads this page, from 0.
        page: usize,
        /// Reads this resolution level; 0 is full resolution.
        level: usize,
        /// Reads these pixels of the level.
        area: Area,
    }

    /// Returns the window of all bands of some pixels of a file's first page, at full resolution.
    pub fn of_pixels(file: usize, column: i64, row: i64, (width, height): (u32, u32)) -> Self {
        Self::new(file, Area::Pixels { column, row, width, height })
    }

    /// Adds the window's number in its batch to an error.
    pub(super) fn fail(&self, at: usize, error: Error) -> Error {
        match error {
            Error::Cancelled | Error::Memory { .. } | Error::NoMemory { .. } | Error::Engine(_) => error,
            error => Error::Window { window: at, area: self.area.to_string(), error: Box::new(error) },
        }
    }

    /// Returns the window's page, level and bands.
    pub(crate) fn place(&self) -> Place {
        let Self { page, level, ref bands, .. } = *self;
        Place { page, level, bands: bands.clone(), ..Place::default() }
    }

    /// Returns the window as a request for pixels of its file.
    pub(super) fn request<'a>(&self, dataset: &'a Dataset) -> Request<'a> {
        Request::of_area(dataset, self.place(), self.area)
    }
}

impl InputRef<'_> {
    /// Returns, for each column and each row of the result of a window, the pixel of the level that its centre lies in,
    /// by the engine's arithmetic; `None` outside the image.
    pub(crate) fn pixels_under(
        self,
        window: &BatchWindow,
        (columns, rows): (u32, u32),
        options: &BatchOptions,
    ) -> Result<[Vec<Option<u32>>; 2]> {
        let (place, area) = (window.place(), &window.area);
        let (frame, image) = match self {
            InputRef::Tiff(file) => {
                let image = file.target(&place)?.image;
                (Frame::of(area, file, &place)?, (image.width, image.height))
            }
            InputRef::Vrt(vrt) => {
                let (whole, _) = vrt.target(&place)?;
                let refuse = |problem: &str| vrt.refuse(problem.to_owned());
                let frame = Frame::found(area, || vrt.stored_transform(&place), refuse)?;
                (frame, (whole.width, whole.height))
            }
        };
        let shape = Shape { size: Some((columns, rows)), sampling: options.sampling, ..Shape::default() };
        let frame = shape.read(frame, image);
        let [left, top, width, height] = frame.exact;
        let across = under((left, width), frame.x, (columns, frame.width));
        let down = under((top, height), frame.y, (rows, frame.height));
        Ok([across, down])
    }
}

/// Returns the pixels that the centres of `count` pixels from `first` on lie in.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a pixel of an image"
)]
fn under((start, len): (f64, f64), first: i64, (count, pixels): (u32, u32)) -> Vec<Option<u32>> {
    let start = start - first as f64;
    let pixel = |at: u32| {
        let centre = start + ((f64::from(at) + 0.5) * len) / f64::from(count);
        let is_inside = (0.0..f64::from(pixels)).contains(&centre);
        is_inside.then(|| u32::try_from(first + i64::from(centre as u32)).ok()).flatten()
    };
    (0..count).map(pixel).collect()
}
