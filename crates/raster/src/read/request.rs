//! Requests of a read: windows of files, and the conversion of their pixels.
//!
//! One window of one file and ten thousand windows of ten thousand files are the same kind of request. `resolve` checks
//! it once; the later stages do not use the caller's options.

use super::area::{Area, Frame};
use super::canvas::Canvas;
use super::lay::Laying;
use super::steps::Step;
use crate::error::Error;
use crate::file::dataset::Dataset;
use crate::options::{Execution, Interleave, Meaning, Place, ReadOptions};
use std::borrow::Cow;
use std::fmt;
use strile_engine::{Sampling, WarpSampling};
use strile_tiff::gdal::NoData;

/// The file or mosaic of a window.
#[derive(Clone, Copy)]
pub(crate) enum Of<'a> {
    File(&'a Dataset),
    /// A mosaic. The canvas is made for the window.
    Mosaic(&'a Canvas),
}

/// One window of one file or of one mosaic.
pub(crate) struct Request<'a> {
    pub(crate) of: Of<'a>,
    /// The pixels of the file; a canvas has its own.
    pub(crate) place: Cow<'a, Place>,
    /// The part of the level. `None` is the window of the place, or that of the canvas.
    pub(crate) area: Option<Area>,
}

impl<'a> Request<'a> {
    /// Requests the pixels of a file at a place.
    pub(crate) fn of_file(dataset: &'a Dataset, place: &'a Place) -> Self {
        Self { of: Of::File(dataset), place: Cow::Borrowed(place), area: None }
    }

    /// Requests an area of a level of a file.
    pub(crate) fn of_area(dataset: &'a Dataset, level: Place, area: Area) -> Self {
        Self { of: Of::File(dataset), place: Cow::Owned(level), area: Some(area) }
    }

    /// Requests a window of a mosaic.
    pub(crate) fn of_mosaic(canvas: &'a Canvas, area: Option<Area>) -> Self {
        Self { of: Of::Mosaic(canvas), place: Cow::Owned(Place::default()), area }
    }

    /// Returns the name of the file or of the mosaic.
    pub(super) fn name(&self) -> &'a str {
        match self.of {
            Of::File(dataset) => dataset.name(),
            Of::Mosaic(canvas) => &canvas.name,
        }
    }

    /// Returns the canvas, if it is a mosaic.
    pub(super) fn canvas(&self) -> Option<&'a Canvas> {
        match self.of {
            Of::File(_) => None,
            Of::Mosaic(canvas) => Some(canvas),
        }
    }
}

/// Settings that combine many windows into one array.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    /// Whether samples become floats even if a file has neither nodata nor scale.
    pub(crate) floats: bool,
    /// The value of pixels outside their image. `None` is NaN in masked reads, else nodata, else 0.
    pub(crate) fill: Option<NoData>,
    /// Columns and rows that every window is resampled to.
    pub(crate) size: Option<(u32, u32)>,
    /// The resampling method, if there is a size.
    pub(crate) sampling: Sampling,
}

impl Shape {
    /// Returns the pixels to read for a window: if it is resampled, those under it and the surrounding ones that its
    /// method needs.
    pub(crate) fn read(&self, frame: Frame, image: (u32, u32)) -> Frame {
        let margin = if self.sampling == Sampling::Bilinear { 1.0 } else { 0.0 };
        if self.size.is_some() { frame.under(margin, image) } else { frame }
    }
}

/// A read as requested.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) requests: &'a [Request<'a>],
    /// Shared by all requests.
    pub(crate) meaning: &'a Meaning,
    pub(crate) interleave: Interleave,
    pub(crate) execution: &'a Execution,
    /// `Some` for a batch, whose windows may extend beyond their images; `None` for one window, which must not.
    pub(crate) batch: Option<&'a Shape>,
    /// How the windows are warped onto a grid, if they are.
    pub(crate) laying: Option<&'a Laying>,
    /// The last steps, for reads of one window.
    pub(crate) steps: &'a [Step],
}

impl<'a> Asked<'a> {
    /// Requests one window, with the options of its read.
    pub(crate) fn one(requests: &'a [Request<'a>], options: &'a ReadOptions) -> Self {
        let ReadOptions { meaning, layout, execution, .. } = options;
        let interleave = layout.interleave;
        Self { requests, meaning, interleave, execution, batch: None, laying: None, steps: &[] }
    }

    /// Adds last steps.
    pub(crate) fn steps(self, steps: &'a [Step]) -> Self {
        Self { steps, ..self }
    }
}

impl Asked<'_> {
    /// Returns the name of the file or of the batch, for messages.
    pub(crate) fn name(&self) -> String {
        match (self.batch, self.requests) {
            (None, [one]) => one.name().to_owned(),
            (None, [first, ..]) if self.laying.is_some() => first.name().to_owned(),
            _ => format!("batch of {} windows", self.requests.len()),
        }
    }

    /// Returns the method of resampling windows.
    pub(super) fn sampling(&self) -> Sampling {
        self.batch.map_or(Sampling::Nearest, |batch| batch.sampling)
    }

    /// Returns the method of warping windows.
    pub(super) fn warp_sampling(&self) -> WarpSampling {
        self.laying.map_or(WarpSampling::Nearest, |laying| laying.sampling)
    }

    /// Returns an error about the read as a whole.
    pub(crate) fn refuse(&self, problem: String) -> Error {
        Error::Request { file: self.name(), problem }
    }

    /// Returns a function that adds the place of a request in its batch to an error. Errors of a single window are
    /// unchanged.
    pub(super) fn at(&self, index: usize) -> impl Fn(Error) -> Error + use<'_> {
        let area = self.batch.and_then(|_| self.requests.get(index)?.area);
        move |error| match (error, area) {
            (error @ (Error::Cancelled | Error::Memory { .. } | Error::NoMemory { .. }), _) => error,
            (error @ Error::Engine(_), _) | (error, None) => error,
            (error, Some(area)) => {
                Error::Window { window: index, area: area.to_string(), error: Box::new(error) }
            }
        }
    }
}

/// Returns the purpose of the memory of a read, for messages of the budget.
pub(super) fn purpose(batch: bool) -> &'static str {
    if batch { "the pixels of the batch" } else { "the decoded image" }
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
