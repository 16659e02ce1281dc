//! Which pixels are read.

use super::setters::setters;
use crate::Window;
use crate::grid::{Grid, Onto, WarpOptions};
use std::sync::Arc;

/// The part of an image that a read returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layer {
    /// The pixels.
    #[default]
    Pixels,
    /// The mask: 255 for valid pixels, 0 for missing ones.
    Mask,
}

/// Says which pixels of a file are read: page, resolution level, window and bands.
///
/// ```
/// use strile::Window;
/// use strile::read::Place;
///
/// let place = Place::new().level(1).window(Window::new(0, 0, 256, 256)).bands([3, 2, 1]);
/// assert_eq!(place.level, 1);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Place {
    /// Page of the file, counted from 0.
    pub page: usize,
    /// Resolution level: 0 is full resolution, 1 is the largest overview.
    pub level: usize,
    /// Decodes at 1/2ⁿ of the level's resolution (JPEG 2000 only). The size of the result is rounded up. Fails if the
    /// reduced blocks do not fit together, or if a block has fewer resolutions.
    pub reduce: u8,
    /// Window in pixels of the level (after `reduce`), or of the grid in a read onto a grid. `None` reads the whole level.
    pub window: Option<Window>,
    /// Grid that the pixels are warped onto. `None` keeps the pixels of the file.
    pub onto: Option<Arc<Onto>>,
    /// Bands in the order of the result, counted from 1. `None` reads all bands.
    pub bands: Option<Vec<u16>>,
    /// Reads the pixels or their mask.
    pub layer: Layer,
}

impl Place {
    /// Returns the place of all pixels of the first page at full resolution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads these bands in this order, counted from 1.
    #[must_use]
    pub fn bands(mut self, bands: impl IntoIterator<Item = u16>) -> Self {
        self.bands = Some(bands.into_iter().collect());
        self
    }

    /// Reads this window of the level. `None` reads the whole level.
    #[must_use]
    pub fn window(mut self, window: impl Into<Option<Window>>) -> Self {
        self.window = window.into();
        self
    }

    /// Warps the pixels onto a grid; see [`ReadOptions::onto`](crate::ReadOptions::onto).
    #[must_use]
    pub fn onto(mut self, grid: Grid, warp: WarpOptions) -> Self {
        self.onto = Some(Arc::new(Onto { grid, warp }));
        self
    }

    setters! {
        /// Reads this page, counted from 0.
        page: usize,
        /// Reads this resolution level; 0 is full resolution.
        level: usize,
        /// Decodes at 1/2ⁿ of full resolution (JPEG 2000 only).
        reduce: u8,
        /// Reads the pixels or their mask.
        layer: Layer,
    }

    /// Returns the place of all pixels and bands of the same image.
    pub(crate) fn all(&self) -> Self {
        Self { bands: None, window: None, ..self.clone() }
    }

    /// Returns the place of all bands of the same pixels, or of their mask.
    pub(crate) fn of_layer(&self, layer: Layer) -> Self {
        Self { bands: None, layer, ..self.clone() }
    }
}
