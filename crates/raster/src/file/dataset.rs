//! An opened file: its pages, overviews, masks and georeferencing. `read` reads from it.

use super::beside::{self, Found};
use super::metadata::{Metadata, Sidecars};
use super::open::{Files, OnDisk, OpenFile, OpenOptions, SidecarSearch};
use super::pages::{Level, Page, add_external_masks, add_external_overviews, pages_of};
use super::resolution::reduced;
use crate::error::{Error, Result};
use crate::grid::KnownPlaces;
use crate::options::{Layer, Place};
use crate::read::{MaskSource, Size, check_result};
use crate::source::{Source, Version, open_url, url_of};
use crate::window::Window;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_engine::Fill;
use strile_tiff::{Image, Tiff, Warning, Warnings};

/// An open TIFF: its pages, levels and metadata, and the reads of its pixels.
///
/// Opening reads headers only. Threads may share a dataset; every read checks that the file has not changed since.
///
/// ```no_run
/// use strile::{Context, Dataset, ReadOptions};
///
/// let dataset = Dataset::open("dem.tif")?;
/// let overview = dataset.read(&ReadOptions::new().level(1), &Context::default())?;
/// println!("{} × {}", overview.columns, overview.rows);
/// # Ok::<(), strile::Error>(())
/// ```
pub struct Dataset {
    files: Vec<OpenFile>,
    pages: Vec<Page>,
    metadata: Metadata,
    warnings: Warnings,
    places: KnownPlaces,
}

/// Adds the pages of a sidecar, whose file has this number.
type Add = fn(&mut [Page], usize, Vec<Page>);
const ADD_OVERVIEWS: Add = add_external_overviews;
const ADD_MASKS: Add = add_external_masks;

/// The image and the window that a request resolves to.
pub(crate) struct Target<'a> {
    pub(crate) file: &'a OpenFile,
    pub(crate) image: Arc<Image>,
    pub(crate) window: Window,
    pub(crate) bands: Vec<u16>,
}

impl Dataset {
    /// Returns the cached placements of the file under grids.
    pub(crate) const fn places(&self) -> &KnownPlaces {
        &self.places
    }

    /// Opens a file and its sidecars. With the feature `remote`, a URL (`https://…`, `s3://…`) opens a remote object.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a file, or the remote object of a URL, with options.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        match url_of(path.as_ref()) {
            Some(url) => Self::open_remote(url, open_url(url, options)?, options),
            None => Self::open_among(path.as_ref(), &OnDisk, options),
        }
    }

    /// Opens the object of a URL, and its sidecars as the options say.
    pub(crate) fn open_remote(url: &str, source: Arc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        let (file, pages, warnings) = Self::parts(OpenFile::open(source, options)?, options)?;
        let Found { sidecars, overviews, masks } = beside::found(url, &file, &pages, options)?;
        let mut dataset = Self::complete(file, pages, warnings, &sidecars);
        for (opened, add) in [(overviews, ADD_OVERVIEWS), (masks, ADD_MASKS)] {
            if let Some((name, opened)) = opened {
                dataset.add_opened(name, opened, options, add);
            }
        }
        Ok(dataset)
    }

    /// Opens a file of `files`, with its sidecars from there.
    pub(crate) fn open_among(path: &Path, files: &dyn Files, options: &OpenOptions) -> Result<Self> {
        let source = files.source(path)?;
        let look = options.sidecars != SidecarSearch::Never;
        let sidecars = if look { Sidecars::beside(path, files) } else { Sidecars::default() };
        let file = OpenFile::open_with(source, files.at_hand(path), options)?;
        let mut dataset = Self::from_parts(file, &sidecars, options)?;
        if look {
            dataset.add_sidecar(path, "ovr", (files, options), ADD_OVERVIEWS);
            dataset.add_sidecar(path, "msk", (files, options), ADD_MASKS);
        }
        Ok(dataset)
    }

    /// Allows the caller to change the files of this dataset while they are being read.
    pub(crate) fn expect_changes(&self) {
        self.files.iter().for_each(|file| file.source.expect_changes());
    }

    /// Opens any source, without sidecars.
    pub fn from_source(source: Arc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        Self::from_source_with(source, Vec::new(), options)
    }

    /// Like [`from_source`](Self::from_source), with some of the source's bytes already in memory.
    pub(crate) fn from_source_with(
        source: Arc<dyn Source>,
        at_hand: Vec<(u64, Vec<u8>)>,
        options: &OpenOptions,
    ) -> Result<Self> {
        Self::from_parts(OpenFile::open_with(source, at_hand, options)?, &Sidecars::default(), options)
    }

    /// Opens any source, with the overviews of another source (the content of an `.ovr` file) and the text of an
    /// `.aux.xml`.
    pub fn from_sources(
        source: Arc<dyn Source>,
        overviews: Option<Arc<dyn Source>>,
        aux_xml: Option<String>,
        options: &OpenOptions,
    ) -> Result<Self> {
        let file = OpenFile::open(source, options)?;
        let mut dataset = Self::from_parts(file, &Sidecars::of_texts(aux_xml, None), options)?;
        if let Some(overviews) = overviews {
            let name = overviews.name().to_owned();
            let opened = match OpenFile::open(overviews, options) {
                // The content of a failing source is unknown.
                Err(error @ Error::Io { .. }) => return Err(error),
                opened => opened,
            };
            dataset.add_opened(name, opened, options, ADD_OVERVIEWS);
        }
        Ok(dataset)
    }

    fn from_parts(file: OpenFile, sidecars: &Sidecars, options: &OpenOptions) -> Result<Self> {
        let (file, pages, warnings) = Self::parts(file, options)?;
        Ok(Self::complete(file, pages, warnings, sidecars))
    }

    fn parts(mut file: OpenFile, options: &OpenOptions) -> Result<(OpenFile, Vec<Page>, Warnings)> {
        let mut warnings = std::mem::take(&mut file.tiff.warnings);
        let wrong = |error| Error::File { file: file.source.name().to_owned(), error };
        let pages = pages_of(&file, &options.limits, &mut warnings).map_err(wrong)?;
        Ok((file, pages, warnings))
    }

    fn complete(file: OpenFile, pages: Vec<Page>, mut warnings: Warnings, sidecars: &Sidecars) -> Self {
        let first = pages.first().and_then(Page::full).map(|level| Arc::clone(&level.image));
        let metadata = match (first, file.tiff.directories.first()) {
            (Some(image), Some(directory)) => {
                let data_type = image.sample.data_type();
                Metadata::new(directory, image.samples, data_type, sidecars, &mut warnings)
            }
            _ => Metadata::default(),
        };
        Self { files: vec![file], pages, metadata, warnings, places: KnownPlaces::default() }
    }

    fn add_sidecar(
        &mut self,
        path: &Path,
        extension: &str,
        (files, options): (&dyn Files, &OpenOptions),
        add: Add,
    ) {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        let beside = PathBuf::from(name);
        if !files.exists(&beside) {
            return;
        }
        let opened = files.source(&beside);
        let opened = opened.and_then(|source| OpenFile::open_with(source, files.at_hand(&beside), options));
        self.add_opened(beside.display().to_string(), opened, options, add);
    }

    /// Adds an opened sidecar. A sidecar that cannot be read does not affect the file itself.
    fn add_opened(&mut self, name: String, opened: Result<OpenFile>, options: &OpenOptions, add: Add) {
        let pages = opened.and_then(|file| {
            let wrong = |error| Error::File { file: file.source.name().to_owned(), error };
            let pages = pages_of(&file, &options.limits, &mut self.warnings).map_err(wrong)?;
            Ok((file, pages))
        });
        match pages {
            Ok((file, pages)) => {
                add(&mut self.pages, self.files.len(), pages);
                self.files.push(file);
            }
            Err(error) => {
                self.warnings.push(Warning::new("unusable-sidecar", name, format!("ignored: {error}")));
            }
        }
    }

    /// Returns the name of the file, for messages.
    pub fn name(&self) -> &str {
        self.files.first().map_or("", |file| file.source.name())
    }

    /// Returns the version of the file, which identifies its state.
    pub fn version(&self) -> Option<Version> {
        self.files.first().map(|file| file.source.version())
    }

    /// Returns the total size of the file and its sidecars in bytes.
    pub(crate) fn stored_len(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.source.len()))
    }

    /// Checks the size of a result by the rule of every read; see `ReadOptions::max_pixels`. For callers that make a
    /// larger result from what they read.
    pub fn check_size(&self, samples: u64, bytes: u64, max_pixels: Option<u64>) -> Result<()> {
        check_result((self.name(), "the file"), Size { samples, bytes }, max_pixels, || self.stored_len())
    }

    /// Returns the structure of the file itself.
    pub fn tiff(&self) -> Option<&Tiff> {
        self.files.first().map(|file| &file.tiff)
    }

    /// Returns its pages, each with overviews and masks.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Returns the georeferencing, nodata, scales and names of the first page.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the warnings about what was tolerated.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns a file by index: 0 is the file itself, then sidecars.
    pub(crate) fn file(&self, index: usize) -> Option<&OpenFile> {
        self.files.get(index)
    }

    /// Returns whether a sidecar with that extension was opened.
    pub(crate) fn has_sidecar(&self, extension: &str) -> bool {
        let is = |file: &OpenFile| Path::new(file.source.name()).extension().is_some_and(|e| e == extension);
        self.files.iter().skip(1).any(is)
    }

    pub(crate) fn refuse(&self, problem: String) -> Error {
        Error::Request { file: self.name().to_owned(), problem }
    }

    fn level(&self, place: &Place) -> Result<&Level> {
        let page = self.pages.get(place.page).ok_or_else(|| {
            self.refuse(format!(
                "there is no page {}, the file has {} (from 0)",
                place.page,
                self.pages.len()
            ))
        })?;
        page.levels.get(place.level).ok_or_else(|| {
            let Place { page: number, level, .. } = *place;
            let there = page.levels.len();
            self.refuse(format!(
                "there is no level {level}, page {number} has {there} (0 is full resolution)"
            ))
        })
    }

    pub(crate) fn target(&self, place: &Place) -> Result<Target<'_>> {
        let level = self.level(place)?;
        let (file, image) = match place.layer {
            Layer::Pixels => (level.file, &level.image),
            Layer::Mask => match &level.mask {
                Some((file, mask)) => (*file, mask),
                None => return Err(self.refuse("there is no mask".into())),
            },
        };
        let file = self.files.get(file).ok_or_else(|| self.refuse("a sidecar is gone".into()))?;
        let image = match place.reduce {
            0 => Arc::clone(image),
            levels => Arc::new(reduced(image, levels).map_err(|problem| self.refuse(problem))?),
        };
        let window = place.window.unwrap_or(Window::full(image.width, image.height));
        if !window.is_inside(image.width, image.height) {
            return Err(self.refuse(format!(
                "window {window} is not inside the image of {} × {} pixels (a window is column,row,width,height)",
                image.width, image.height
            )));
        }
        let bands = match &place.bands {
            None => (1..=image.samples).collect(),
            Some(bands) => bands.clone(),
        };
        if bands.is_empty() {
            return Err(self.refuse("no band is asked for".into()));
        }
        if let Some(band) = bands.iter().find(|&&band| band == 0 || band > image.samples) {
            return Err(self.refuse(no_band(*band, image.samples)));
        }
        Ok(Target { file, image, window, bands })
    }

    /// Returns the value of missing blocks and masked pixels.
    pub(crate) fn fill(&self, image: &Image) -> Fill {
        let sample = self.metadata.nodata.zip(image.sample.data_type());
        sample.and_then(|(nodata, data_type)| nodata.to_sample(data_type)).map(Fill).unwrap_or_default()
    }

    /// Returns the decoded size in bytes of the blocks that a window touches; `None` if there is no such level.
    pub fn decoded_bytes(&self, place: &Place) -> Option<u64> {
        let image = &self.level(place).ok()?.image;
        let (window, grid) = (place.window.unwrap_or(Window::full(image.width, image.height)), &image.grid);
        // Blocks along an axis, including partial ones.
        let blocks = |first: u32, count: u32, size: u32| {
            let end = u64::from(first) + u64::from(count);
            end.div_ceil(u64::from(size.max(1))).saturating_sub(u64::from(first / size.max(1)))
        };
        let across = blocks(window.column, window.width, grid.block_width);
        let down = blocks(window.row, window.height, grid.block_height);
        let block = u64::from(grid.block_width) * u64::from(grid.block_height);
        let pixel = u64::from(image.samples) * image.sample.data_type().map_or(16, |t| t.size() as u64);
        Some([down, block, pixel].into_iter().fold(across, u64::saturating_mul))
    }

    /// Returns the source of validity of a level's pixels.
    pub fn mask_source(&self, place: &Place) -> Result<MaskSource> {
        let level = self.level(place)?;
        Ok(match level.mask {
            Some(_) => MaskSource::Image,
            None => {
                // A nodata value outside the range of the samples matches none of them.
                let nodata = self.metadata.nodata.zip(level.image.sample.data_type());
                let held = nodata.and_then(|(nodata, data_type)| nodata.to_sample(data_type));
                MaskSource::of(&level.image, held.is_some())
            }
        })
    }
}

/// Describes a request for a band that an image of `all` bands does not have.
pub(crate) fn no_band(band: u16, all: u16) -> String {
    format!(
        "there is no band {band}: the image has {all} band{}, counted from 1",
        if all == 1 { "" } else { "s" }
    )
}
