//! One window of one file that is resized or reaches outside its image, with the masks of its bands.

use super::options::BatchOptions;
use super::read::{read_batch, read_batch_on_device};
use super::suffice::sufficient_levels;
use super::window::BatchWindow;
use crate::error::Result;
use crate::file::input::Input;
use crate::options::ReadOptions;
use crate::pixels::Pixels;
use crate::read::Area;
use strile_engine::{Context, Location, Sampling};
use strile_tiff::gdal::NoData;

/// Says how to read and resize a window of a level.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct SizedWindow {
    /// Pixels of the level; they may lie outside the image. `None` is the whole level.
    pub area: Option<Area>,
    /// Columns and rows of the result.
    pub size: (u32, u32),
    /// The resampling method.
    pub sampling: Sampling,
    /// Value of pixels outside the image; see [`BatchOptions::fill`].
    pub fill: Option<NoData>,
    /// Whether to read the smallest overview that has enough pixels. `area` is then in pixels of the full image.
    pub sufficient: bool,
    /// Whether to return the masks of the bands, too.
    pub masks: bool,
}

impl SizedWindow {
    /// Returns the options for the whole level, resized to `size` columns and rows.
    pub fn new(size: (u32, u32)) -> Self {
        Self { size, ..Self::default() }
    }
}

impl Input {
    /// Reads one window into the memory `to`, (band, row, column), and its masks into host memory: 255 for valid
    /// samples, 0 for missing ones and for pixels whose centre lies outside the image. Of `options`, only the page, the
    /// level, the bands, the meaning and the execution count; masks are those of stored samples in host memory.
    ///
    /// ```no_run
    /// use strile::batch::{Sampling, SizedWindow};
    /// use strile::{Context, Input, Location, OpenOptions, ReadOptions};
    ///
    /// let input = Input::open("scene.tif", &OpenOptions::default())?;
    /// let mut sized = SizedWindow::new((256, 256));
    /// (sized.sampling, sized.sufficient, sized.masks) = (Sampling::Average, true, true);
    /// let (pixels, masks) = input.read_sized(Location::Host, &ReadOptions::new(), &sized, &Context::default())?;
    /// assert_eq!((pixels.columns, pixels.rows), (256, 256));
    /// # Ok::<(), strile::Error>(())
    /// ```
    pub fn read_sized(
        &self,
        to: Location,
        options: &ReadOptions,
        sized: &SizedWindow,
        context: &Context,
    ) -> Result<(Pixels, Option<Pixels>)> {
        let place = &options.place;
        let area = match sized.area {
            Some(area) => area,
            None => self.whole_window(place)?.into(),
        };
        let mut window = BatchWindow::new(0, area).page(place.page).level(place.level);
        window.bands.clone_from(&place.bands);
        let mut windows = vec![window];
        let batch = BatchOptions::new().meaning(options.meaning).sampling(sized.sampling);
        let mut batch = batch.execution(options.execution).size(sized.size);
        batch.fill = sized.fill;
        if sized.sufficient {
            windows = sufficient_levels(&[self], &windows, sized.size)?;
        }
        let pixels = match to {
            Location::Cuda(index) => read_batch_on_device(index, &[self], &windows, &batch, context)?,
            Location::Host => read_batch(&[self], &windows, &batch, context)?,
        };
        let pixels = Pixels { windows: None, ..pixels };
        match windows.first().filter(|_| sized.masks) {
            None => Ok((pixels, None)),
            Some(window) => {
                self.with_masks(window, pixels, &batch, context).map(|(pixels, masks)| (pixels, Some(masks)))
            }
        }
    }
}
