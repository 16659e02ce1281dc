//! The input of a read: a TIFF, or a VRT mosaic of TIFFs. The content decides which.

use super::dataset::Dataset;
use super::metadata::Metadata;
use super::open::OpenOptions;
use crate::error::{Error, Result};
use crate::grid::KnownPlaces;
use crate::options::{Place, ReadOptions};
use crate::pieces::{PieceLimits, Pieces};
use crate::pixels::Pixels;
use crate::read::{MaskSource, ReadPlan};
use crate::source::{open_url, url_of};
use crate::vrt::{Vrt, VrtOptions, is_vrt, is_vrt_source};
use crate::window::Window;
use std::path::Path;
use std::sync::Arc;
use strile_engine::{Context, LocatedFault, Output, Report};
use strile_tiff::Warning;
use strile_tiff::gdal::NoData;
use strile_tiff::geo::GeoTransform;

/// An opened TIFF or VRT.
pub enum Input {
    /// A TIFF.
    Tiff(Box<Dataset>),
    /// A mosaic.
    Vrt(Box<Vrt>),
}

impl Input {
    /// Opens a TIFF or a VRT, with defaults for the options of mosaics.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::open_with(path, &VrtOptions { open: options.clone(), ..VrtOptions::default() })
    }

    /// Opens a TIFF or a VRT, or the object of a URL.
    pub fn open_with(path: impl AsRef<Path>, options: &VrtOptions) -> Result<Self> {
        let path = path.as_ref();
        if let Some(url) = url_of(path) {
            let source = open_url(url, &options.open)?;
            return match is_vrt_source(source.as_ref(), &options.open.cancel)? {
                true => Ok(Self::Vrt(Box::new(Vrt::open_remote(url, source.as_ref(), options)?))),
                false => Ok(Self::Tiff(Box::new(Dataset::open_remote(url, source, &options.open)?))),
            };
        }
        match is_vrt(path)? {
            true => Ok(Self::Vrt(Box::new(Vrt::open(path, options)?))),
            false => Ok(Self::Tiff(Box::new(Dataset::open_with(path, &options.open)?))),
        }
    }

    /// Returns the TIFF, if it is one.
    pub fn tiff(&self) -> Option<&Dataset> {
        match self {
            Self::Tiff(dataset) => Some(dataset),
            Self::Vrt(_) => None,
        }
    }

    /// Returns the name of the file, for messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Tiff(dataset) => dataset.name(),
            Self::Vrt(vrt) => vrt.name(),
        }
    }

    /// Returns georeferencing, nodata, scales and names.
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::Tiff(dataset) => dataset.metadata(),
            Self::Vrt(vrt) => vrt.metadata(),
        }
    }

    /// Returns the warnings so far about what was tolerated.
    pub fn warnings(&self) -> Vec<Warning> {
        match self {
            Self::Tiff(dataset) => dataset.warnings().to_vec(),
            Self::Vrt(vrt) => vrt.warnings(),
        }
    }

    /// Returns the transform of a request's own pixels.
    pub fn transform(&self, options: &ReadOptions) -> Result<Option<GeoTransform>> {
        match self {
            Self::Tiff(dataset) => dataset.transform(options),
            Self::Vrt(vrt) => vrt.transform(options),
        }
    }

    /// Returns the window that covers the part of a box (west, south, east, north) in the image.
    pub fn window_of_box(&self, place: &Place, sides: [f64; 4]) -> Result<Window> {
        match self {
            Self::Tiff(dataset) => dataset.window_of_box(place, sides),
            Self::Vrt(vrt) => vrt.window_of_box(place, sides),
        }
    }

    /// Returns the window of all pixels of a level.
    pub fn whole_window(&self, place: &Place) -> Result<Window> {
        match self {
            Self::Tiff(dataset) => Ok(dataset.target(&place.all())?.window),
            Self::Vrt(vrt) => Ok(vrt.target(&place.all())?.0),
        }
    }

    /// Checks the size of a result by the rule of every read; see `ReadOptions::max_pixels`. For callers that make a
    /// larger result from what they read.
    pub fn check_size(&self, samples: u64, bytes: u64, max_pixels: Option<u64>) -> Result<()> {
        match self {
            Self::Tiff(dataset) => dataset.check_size(samples, bytes, max_pixels),
            Self::Vrt(vrt) => vrt.check_size(samples, bytes, max_pixels),
        }
    }

    /// Reads pixels into new memory.
    pub fn read(&self, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        match self {
            Self::Tiff(dataset) => dataset.read(options, context),
            Self::Vrt(vrt) => vrt.read(options, context),
        }
    }

    /// Reads pixels into new memory of the CUDA device `device`.
    pub fn read_on_device(&self, device: u32, options: &ReadOptions, context: &Context) -> Result<Pixels> {
        match self {
            Self::Tiff(dataset) => dataset.read_on_device(device, options, context),
            Self::Vrt(vrt) => vrt.read_on_device(device, options, context),
        }
    }

    /// Reads pixels into the caller's output, which must have the type and shape of the result. Faulty blocks that were
    /// filled are in the report.
    pub fn read_into(&self, output: &Output, options: &ReadOptions, context: &Context) -> Result<Report> {
        match self {
            Self::Tiff(dataset) => dataset.read_into(output, options, context),
            Self::Vrt(vrt) => vrt.read_into(output, options, context),
        }
    }

    /// Plans `read` without touching a pixel.
    pub fn plan(&self, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        match self {
            Self::Tiff(dataset) => dataset.plan(options, context),
            Self::Vrt(vrt) => vrt.plan(options, context),
        }
    }

    /// Plans a read into the memory of the CUDA device `device`.
    pub fn plan_on_device(&self, device: u32, options: &ReadOptions, context: &Context) -> Result<ReadPlan> {
        match self {
            Self::Tiff(dataset) => dataset.plan_on_device(device, options, context),
            Self::Vrt(vrt) => vrt.plan_on_device(device, options, context),
        }
    }

    /// Decides how a result is cut into pieces, without touching a pixel.
    pub fn pieces(&self, options: &ReadOptions, limits: &PieceLimits, context: &Context) -> Result<Pieces> {
        match self {
            Self::Tiff(dataset) => dataset.pieces(options, limits, context),
            Self::Vrt(vrt) => vrt.pieces(options, limits, context),
        }
    }

    /// Reads the pieces and passes them, in order, to `give`.
    pub fn read_pieces<E: From<Error>>(
        &self,
        pieces: &Pieces,
        context: &Context,
        give: impl FnMut(Pixels) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<LocatedFault>, E> {
        match self {
            Self::Tiff(dataset) => dataset.read_pieces(pieces, context, give),
            Self::Vrt(vrt) => vrt.read_pieces(pieces, context, give),
        }
    }
}

/// A reference to a TIFF or a mosaic, as batches take them.
#[derive(Clone, Copy)]
pub enum InputRef<'a> {
    /// A TIFF.
    Tiff(&'a Dataset),
    /// A mosaic.
    Vrt(&'a Vrt),
}

impl<'a> InputRef<'a> {
    /// Returns a number that identifies the opened file.
    pub(crate) fn address(self) -> usize {
        match self {
            Self::Tiff(dataset) => std::ptr::from_ref(dataset).addr(),
            Self::Vrt(vrt) => std::ptr::from_ref(vrt).addr(),
        }
    }

    /// Returns the cached placements of the file under grids.
    pub(crate) fn places(self) -> &'a KnownPlaces {
        match self {
            Self::Tiff(dataset) => dataset.places(),
            Self::Vrt(vrt) => vrt.places(),
        }
    }

    /// Returns the name of the file, for messages.
    pub fn name(self) -> &'a str {
        match self {
            Self::Tiff(dataset) => dataset.name(),
            Self::Vrt(vrt) => vrt.name(),
        }
    }

    /// Returns georeferencing, nodata, scales and names.
    pub fn metadata(self) -> &'a Metadata {
        match self {
            Self::Tiff(dataset) => dataset.metadata(),
            Self::Vrt(vrt) => vrt.metadata(),
        }
    }

    /// Returns the source of validity of the full image's pixels.
    pub(crate) fn mask_source(self) -> Result<MaskSource> {
        match self {
            Self::Tiff(dataset) => dataset.mask_source(&Place::default()),
            Self::Vrt(vrt) => Ok(vrt.mask_source()),
        }
    }

    /// Returns columns and rows of the full image.
    pub fn size(self) -> (u32, u32) {
        match self {
            Self::Tiff(dataset) => {
                let full = dataset.pages().first().and_then(|page| page.full());
                full.map_or((0, 0), |level| (level.image.width, level.image.height))
            }
            Self::Vrt(vrt) => (vrt.width(), vrt.height()),
        }
    }

    /// Returns the nodata value of some bands, or of all if `None`: that of a file, or the one that all these bands of
    /// a mosaic share.
    pub(crate) fn nodata(self, bands: Option<&[u16]>) -> Result<Option<NoData>> {
        match self {
            Self::Tiff(dataset) => Ok(dataset.metadata().nodata),
            Self::Vrt(vrt) => match bands {
                Some(bands) => vrt.one_nodata(bands),
                None => vrt.one_nodata(&(1..=vrt.bands()).collect::<Vec<_>>()),
            },
        }
    }

    /// Returns the stored size of its files in bytes.
    pub(crate) fn stored_len(self) -> u64 {
        match self {
            Self::Tiff(dataset) => dataset.stored_len(),
            Self::Vrt(vrt) => vrt.stored(),
        }
    }

    pub(crate) fn refuse(self, problem: String) -> Error {
        Error::Request { file: self.name().to_owned(), problem }
    }
}

/// Types that can be a file of a batch.
pub trait AsInput {
    /// Returns the TIFF or the mosaic.
    fn as_input(&self) -> InputRef<'_>;
}

impl AsInput for Dataset {
    fn as_input(&self) -> InputRef<'_> {
        InputRef::Tiff(self)
    }
}

impl AsInput for Vrt {
    fn as_input(&self) -> InputRef<'_> {
        InputRef::Vrt(self)
    }
}

impl AsInput for Input {
    fn as_input(&self) -> InputRef<'_> {
        match self {
            Self::Tiff(dataset) => InputRef::Tiff(dataset),
            Self::Vrt(vrt) => InputRef::Vrt(vrt),
        }
    }
}

impl AsInput for InputRef<'_> {
    fn as_input(&self) -> InputRef<'_> {
        *self
    }
}

impl<T: AsInput> AsInput for &T {
    fn as_input(&self) -> InputRef<'_> {
        T::as_input(self)
    }
}

impl<T: AsInput> AsInput for Arc<T> {
    fn as_input(&self) -> InputRef<'_> {
        T::as_input(self)
    }
}
