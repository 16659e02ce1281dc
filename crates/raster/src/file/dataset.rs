//! An opened file: its pages, overviews, masks and georeference. `read` reads from it.

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

/// Adds the pages of a sidecar, which is the file of that number.
type Add = fn(&mut [Page], usize, Vec<Page>);
const ADD_OVERVIEWS: Add = add_external_overviews;
const ADD_MASKS: Add = add_external_masks;

/// What a request resolves to.
pub(crate) struct Target<'a> {
    pub(crate) file: &'a OpenFile,
    pub(crate) image: Arc<Image>,
    pub(crate) window: Window,
    pub(crate) bands: Vec<u16>,
}

impl Dataset {
    /// How the file is placed under grids that were asked for.
    pub(crate) const fn places(&self) -> &KnownPlaces {
        &self.places
    }

    /// Opens a file, and what lies beside it. With the feature `remote`, a URL (`https://…`, `s3://…`) opens a remote object.
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

    /// Opens the object of a URL, and what lies beside it as the options say.
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

    /// Opens one of `files`, and what of them lies beside it.
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

    /// Allows the caller to change the files of this dataset while they are read.
    pub(crate) fn expect_changes(&self) {
        self.files.iter().for_each(|file| file.source.expect_changes());
    }

    /// Opens any source; nothing beside it is looked for.
    pub fn from_source(source: Arc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        Self::from_source_with(source, Vec::new(), options)
    }

    /// The same, with some of the source's bytes at hand.
    pub(crate) fn from_source_with(
        source: Arc<dyn Source>,
        at_hand: Vec<(u64, Vec<u8>)>,
        options: &OpenOptions,
    ) -> Result<Self> {
        Self::from_parts(OpenFile::open_with(source, at_hand, options)?, &Sidecars::default(), options)
    }

    /// Opens any source, with the overviews of another (what `.ovr` is beside a file) and the text of a `.aux.xml`.
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
                // Nobody knows what is in a source that fails.
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

    /// A sidecar that cannot be read takes nothing away from the file itself.
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

    /// The name of the file, for messages.
    pub fn name(&self) -> &str {
        self.files.first().map_or("", |file| file.source.name())
    }

    /// What tells this state of the file from others.
    pub fn version(&self) -> Option<Version> {
        self.files.first().map(|file| file.source.version())
    }

    /// Bytes of the file and its sidecars.
    pub(crate) fn stored_len(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.source.len()))
    }

    /// Refuses a result of so many samples and bytes by the rule of every read; see `ReadOptions::max_pixels`. For
    /// callers that make a larger result of what they read.
    pub fn check_size(&self, samples: u64, bytes: u64, max_pixels: Option<u64>) -> Result<()> {
        check_result((self.name(), "the file"), Size { samples, bytes }, max_pixels, || self.stored_len())
    }

    /// The structure of the file itself.
    pub fn tiff(&self) -> Option<&Tiff> {
        self.files.first().map(|file| &file.tiff)
    }

    /// Its pages, each with overviews and masks.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Georeference, nodata, scales, names of the first page.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What was tolerated.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The file itself for 0, then sidecars.
    pub(crate) fn file(&self, index: usize) -> Option<&OpenFile> {
        self.files.get(index)
    }

    /// Whether a sidecar of that extension was opened.
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
            return Err(
                self.refuse(format!("there is no band {band}, the image has {} (from 1)", image.samples))
            );
        }
        Ok(Target { file, image, window, bands })
    }

    /// What missing blocks and masked pixels become.
    pub(crate) fn fill(&self, image: &Image) -> Fill {
        let sample = self.metadata.nodata.zip(image.sample.data_type());
        sample.and_then(|(nodata, data_type)| nodata.to_sample(data_type)).map(Fill).unwrap_or_default()
    }

    /// Bytes of the decoded blocks that a window touches; `None` without such a level.
    pub fn decoded_bytes(&self, place: &Place) -> Option<u64> {
        let image = &self.level(place).ok()?.image;
        let (window, grid) = (place.window.unwrap_or(Window::full(image.width, image.height)), &image.grid);
        // Blocks along an axis, those that are cut included.
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

    /// Where the validity of a level's pixels comes from.
    pub fn mask_source(&self, place: &Place) -> Result<MaskSource> {
        let level = self.level(place)?;
        Ok(match level.mask {
            Some(_) => MaskSource::Image,
            None => {
                // A nodata value that the samples cannot hold is nowhere in them.
                let nodata = self.metadata.nodata.zip(level.image.sample.data_type());
                let held = nodata.and_then(|(nodata, data_type)| nodata.to_sample(data_type));
                MaskSource::of(&level.image, held.is_some())
            }
        })
    }
}
