//! One window of a batch.

use crate::dataset::Dataset;
use crate::error::Error;
use crate::read::{Area, Of, Request};

/// One window of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchWindow {
    /// Index of its file among those of the batch.
    pub file: usize,
    /// Page of the file, from 0.
    pub page: usize,
    /// `None` is the full image, `Some(k)` its k-th overview, 0 the largest.
    pub overview: Option<usize>,
    /// Bands from 1, in the order wanted; `None` is all. All windows have the same number of bands.
    pub bands: Option<Vec<u16>>,
    /// Which pixels of that level.
    pub area: Area,
}

impl BatchWindow {
    /// All bands of some pixels of a file's first page.
    pub fn of_pixels(file: usize, x: i64, y: i64, (width, height): (u32, u32)) -> Self {
        Self { file, page: 0, overview: None, bands: None, area: Area::Pixels { x, y, width, height } }
    }

    /// Adds the window's place in its batch to an error.
    pub(super) fn fail(&self, at: usize, error: Error) -> Error {
        match error {
            Error::Cancelled | Error::Memory { .. } | Error::NoMemory { .. } | Error::Engine(_) => error,
            error => Error::Window { window: at, area: self.area.to_string(), error: Box::new(error) },
        }
    }

    /// The window as a request for pixels of its file.
    pub(super) fn request<'a>(&'a self, dataset: &'a Dataset) -> Request<'a> {
        let Self { page, overview, ref bands, area, .. } = *self;
        Request { of: Of::File(dataset), page, overview, bands: bands.as_deref(), area: Some(area) }
    }
}
