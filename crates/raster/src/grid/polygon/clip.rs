//! Clips an image by a polygon in its own pixels: a read onto its own grid.

use super::Polygon;
use crate::error::Result;
use crate::file::input::InputRef;
use crate::grid::{Grid, WarpOptions};
use crate::options::{Layer, Place, ReadOptions};
use crate::window::Window;
use std::sync::Arc;
use strile_crs::DatumShift;

impl InputRef<'_> {
    /// Returns the grid of the full image.
    ///
    /// # Errors
    /// If it has no reference system or no transform.
    pub fn grid(self) -> Result<Grid> {
        self.grid_of(&ReadOptions::default())
    }

    /// Returns the grid of the image that the options select: its page and level.
    pub(crate) fn grid_of(self, options: &ReadOptions) -> Result<Grid> {
        let place = Place { window: None, onto: None, layer: Layer::Pixels, ..options.place.clone() };
        let whole = options.clone().place(place);
        let (transform, (width, height)) = match self {
            Self::Tiff(dataset) => {
                let image = dataset.target(&whole.place)?.image;
                (dataset.transform(&whole)?, (image.width, image.height))
            }
            Self::Vrt(vrt) => {
                vrt.target(&whole.place)?;
                (vrt.transform(&whole)?, self.size())
            }
        };
        let mut georeference = self.metadata().georeference.clone();
        georeference.transform = transform;
        Grid::like(&georeference, width, height).map_err(|problem| self.refuse(problem.to_string()))
    }

    /// Returns options that read the same pixels clipped by a polygon. Pixels whose centre lies outside are missing:
    /// NaN in masked reads, else nodata, else 0. Only blocks under the polygon are read.
    ///
    /// ```no_run
    /// use strile::file::AsInput;
    /// use strile::grid::Polygon;
    /// use strile::{Context, Dataset, ReadOptions};
    ///
    /// let scene = Dataset::open("scene.tif")?;
    /// let field = Polygon::from_text("POLYGON ((500100 5199900, 500600 5199800, 500400 5199600, 500100 5199900))")?;
    /// let options = scene.as_input().clipped(&ReadOptions::new(), field)?;
    /// let pixels = scene.read(&options, &Context::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the options name a grid, or the image has no reference system or no transform.
    pub fn clipped(self, options: &ReadOptions, polygon: impl Into<Arc<Polygon>>) -> Result<ReadOptions> {
        if options.place.onto.is_some() {
            return Err(
                self.refuse("a read onto a grid is clipped by the polygon of its `WarpOptions`".into())
            );
        }
        let grid = self.grid_of(options)?;
        let mut warp = WarpOptions::new().level(Some(options.place.level));
        warp.polygon = Some(polygon.into());
        Ok(options.clone().level(0).onto(grid, warp))
    }

    /// Returns the window of the pixels that the box around a polygon touches, in the image that the options select.
    ///
    /// # Errors
    /// If the polygon lies outside the image, or its coordinates cannot be transformed.
    pub fn window_of_polygon(self, options: &ReadOptions, polygon: &Polygon) -> Result<Window> {
        let window = self.grid_of(options)?.window_of_polygon(polygon, DatumShift::Required);
        window.map_err(|problem| self.refuse(problem.to_string()))
    }
}
