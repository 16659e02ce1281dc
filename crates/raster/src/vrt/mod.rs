//! VRT mosaics: small XML files that combine parts of other files into one raster.
//!
//! `parse` reads the XML; `paths` decides which files it may refer to, `hosts` which remote objects; `index` finds the
//! sources of a window; `place` computes the positions of their pixels; `pool` holds the open files; `expand` splits a
//! window into rectangles of files and layers; `carve` finds their visible pixels; `canvas` is the form for
//! `crate::read`; `dataset` and `doors` have the reads. Layers are blended in the memory of the result, by
//! `Engine::blend`: `compose` orders them, `opened` reads samples of one source. `call` has the requests and limits of
//! one read, `several` the calls of many mosaics; `onto` reads windows that are warped onto a grid; `write` makes an
//! index of tiles from files.
//!
//! `warped` reads VRTs that are one TIFF on another grid.
//!
//! The pixels are the same as GDAL's. VRTs that are not mosaics (derived, pansharpened and processed VRTs, filters) are
//! refused by name. A VRT is untrusted text: it cannot refer to files outside its folder unless allowed, nor to hosts
//! other than that of its own URL.

mod call;
mod canvas;
mod carve;
mod compose;
mod dataset;
mod doors;
mod expand;
#[cfg(feature = "remote")]
mod hosts;
mod index;
mod listing;
mod missing;
mod one_array;
mod onto;
mod opened;
mod parse;
mod paths;
mod place;
mod pool;
mod several;
mod stored;
mod warped;
mod write;

pub(crate) use call::Shared;
pub(crate) use canvas::{Made, Named};
pub use listing::{VrtBand, VrtSource};
pub use one_array::OneArray;
pub(crate) use parse::table_entries;
pub(crate) use several::{Calls, Mosaics};
pub use write::{IndexOptions, WrittenIndex, write_index, write_tiles};

use crate::error::{Error, Result};
use crate::file::metadata::Metadata;
use crate::file::open::OpenOptions;
use crate::grid::KnownPlaces;
use crate::options::{optional, setters};
use crate::source::{Source, Version, open_regular, open_url, read_ranges, url_of};
use index::Index;
use parse::{Band, Problem, SourceFile};
use pool::Pooled;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::Cancel;
use strile_tiff::gdal::{NoData, pam};
use strile_tiff::geo::{AreaOrPoint, Georeference};
use strile_tiff::{DataType, TiffError, Warning, Warnings};

/// The problem of a missing source.
const NOT_THERE: &str = "there is no such file";

/// What to do about missing sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// A read that touches a missing source fails and names it.
    #[default]
    Raise,
    /// Missing and damaged sources are skipped, and `Vrt::warnings` names them.
    Warn,
}

/// Says which sources a VRT may have, how they are opened, and their limits.
///
/// ```no_run
/// use strile::vrt::{Missing, VrtOptions};
/// use strile::Vrt;
///
/// let options = VrtOptions::new().allowed_roots(vec!["/data/tiles".into()]).missing(Missing::Warn);
/// let vrt = Vrt::open("mosaic.vrt", &options)?;
/// # Ok::<(), strile::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VrtOptions {
    /// Whether sources may be anywhere in the file system, not only in the VRT's folder and below. For a remote VRT:
    /// anywhere on its host or in its bucket.
    pub allow_outside: bool,
    /// More folders that sources may be in. `None` also refuses absolute paths into the VRT's own folder.
    pub allowed_roots: Option<Vec<PathBuf>>,
    /// Hosts and buckets that sources may be on, besides that of a remote VRT itself: `example.org`, `s3://bucket`; `*`
    /// is all.
    pub allowed_hosts: Vec<String>,
    /// What to do about missing sources.
    pub missing: Missing,
    /// Whether to fill pixels that only a skipped source covers with NaN, or 0 in integers, instead of the band's
    /// nodata.
    pub empty_holes: bool,
    /// The type of every band; `None` is the type that all bands state.
    pub data_type: Option<DataType>,
    /// Options for opening sources.
    pub open: OpenOptions,
    /// Maximum number of sources of all bands together.
    pub max_sources: u64,
    /// Maximum size of a VRT in bytes.
    pub max_bytes: u64,
    /// Maximum nesting of VRTs.
    pub max_depth: usize,
    /// Maximum number of files that are open at once, for a VRT and all nested VRTs.
    pub max_open: usize,
    /// Maximum number of source samples that one read may place, for a VRT and all nested VRTs, beyond 64 per sample of
    /// the result. A source counts as at least 4,096.
    pub max_work: u64,
}

impl Default for VrtOptions {
    fn default() -> Self {
        Self {
            allow_outside: false,
            allowed_roots: None,
            allowed_hosts: Vec::new(),
            missing: Missing::default(),
            empty_holes: false,
            data_type: None,
            open: OpenOptions::default(),
            max_sources: 1_000_000,
            max_bytes: 64 << 20,
            max_depth: 8,
            max_open: 64,
            max_work: 1 << 28,
        }
    }
}

impl VrtOptions {
    /// Returns the defaults: sources are in the VRT's folder or below it.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets whether sources may be anywhere in the file system or on the VRT's host.
        allow_outside: bool,
        /// Sets the hosts and buckets that sources may be on.
        allowed_hosts: Vec<String>,
        /// Sets what to do about missing sources.
        missing: Missing,
        /// Fills pixels of a skipped source with NaN, or 0 in integers, instead of nodata.
        empty_holes: bool,
        /// Sets the options for opening sources.
        open: OpenOptions,
        /// Limits the number of sources of all bands.
        max_sources: u64,
        /// Limits the size of a VRT in bytes.
        max_bytes: u64,
        /// Limits the nesting of VRTs.
        max_depth: usize,
        /// Limits the number of files that are open at once.
        max_open: usize,
        /// Limits the number of source samples that one read may place.
        max_work: u64,
    }

    optional! {
        /// Sets more folders that sources may be in.
        allowed_roots: Vec<PathBuf>,
        /// Sets the type of every band.
        data_type: DataType,
    }
}

/// An opened mosaic. Its sources are opened when their pixels are read.
pub struct Vrt {
    name: String,
    width: u32,
    height: u32,
    bands: Vec<Band>,
    indexes: Vec<Index>,
    mask: Option<(Band, Index)>,
    files: Vec<SourceFile>,
    metadata: Metadata,
    warnings: Warnings,
    options: VrtOptions,
    /// The base of relative names.
    folder: PathBuf,
    /// The folder that sources must be in. The options may allow more.
    root: Option<PathBuf>,
    /// The file and its state; `None` for text in memory.
    path: Option<(PathBuf, Version)>,
    alpha: Option<u16>,
    ignored_resampling: Option<String>,
    /// The warp of its source, if it is a warped VRT.
    warp: Option<Arc<warped::Warp>>,
    pool: Pooled,
    /// Sources that reads skipped, and the reasons.
    missing: Mutex<BTreeMap<String, String>>,
    places: KnownPlaces,
}

/// Returns whether a file begins like a VRT. A path that is not a regular file is an error.
pub fn is_vrt(path: &Path) -> Result<bool> {
    let fail = |error| Error::Io { path: path.to_owned(), error: Arc::new(error) };
    let mut head = Vec::new();
    let (file, _) = open_regular(path).map_err(fail)?;
    file.take(1024).read_to_end(&mut head).map_err(fail)?;
    Ok(is_vrt_text(&head))
}

/// Returns whether the object of a URL begins like a VRT. Its first bytes are in memory once it is open.
pub(crate) fn is_vrt_source(source: &dyn Source, cancel: &Cancel) -> Result<bool> {
    let range = 0..source.len().min(1024);
    let head = read_ranges(source, std::slice::from_ref(&range), cancel);
    let head = head.map_err(|error| Error::Io { path: source.name().into(), error: Arc::new(error) })?;
    Ok(head.first().is_some_and(|head| is_vrt_text(head)))
}

fn is_vrt_text(head: &[u8]) -> bool {
    let starts = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().starts_with(b"<");
    starts && head.windows(11).any(|word| word.eq_ignore_ascii_case(b"<VRTDataset"))
}

impl Vrt {
    /// Opens a VRT by path or URL. Does not open its sources yet.
    pub fn open(path: impl AsRef<Path>, options: &VrtOptions) -> Result<Self> {
        let path = path.as_ref();
        if let Some(url) = url_of(path) {
            return Self::open_remote(url, open_url(url, &options.open)?.as_ref(), options);
        }
        let fail = |error| Error::Io { path: path.to_owned(), error: Arc::new(error) };
        let resolved = path.canonicalize().map_err(fail)?;
        let root = resolved.parent().map(Path::to_owned).filter(|_| !options.allow_outside);
        Self::open_at(path.display().to_string(), resolved, root, Pooled::new(options.max_open), options)
    }

    /// Parses the text of a VRT, as if it were a file in `folder`.
    pub fn from_text(name: &str, text: &str, folder: impl AsRef<Path>, options: &VrtOptions) -> Result<Self> {
        let folder = folder.as_ref();
        let fail = |error| Error::Io { path: folder.to_owned(), error: Arc::new(error) };
        let resolved = folder.canonicalize().map_err(fail)?;
        let root = Some(resolved.clone()).filter(|_| !options.allow_outside);
        let pool = Pooled::new(options.max_open);
        Self::of_text(name.to_owned(), text, (resolved, root), (None, pool), options)
    }

    /// Opens the VRT of a URL whose source is open.
    pub(crate) fn open_remote(url: &str, source: &dyn Source, options: &VrtOptions) -> Result<Self> {
        let folder = folder_of_url(url);
        Self::of_source(url, source, Some(folder), Pooled::new(options.max_open), options)
    }

    fn of_source(
        url: &str,
        source: &dyn Source,
        root: Option<PathBuf>,
        pool: Pooled,
        options: &VrtOptions,
    ) -> Result<Self> {
        let (name, version) = (source.name().to_owned(), source.version());
        let fail = |error| Error::Io { path: PathBuf::from(&name), error: Arc::new(error) };
        if version.len > options.max_bytes {
            return Err(too_large(&name, version.len, options.max_bytes));
        }
        let whole = 0..version.len;
        let bytes = read_ranges(source, std::slice::from_ref(&whole), &options.open.cancel).map_err(fail)?;
        let text = utf8(&name, bytes.into_iter().next().unwrap_or_default())?;
        let path = Some((PathBuf::from(&name), version));
        Self::of_text(name, &text, (folder_of_url(url), root), (path, pool), options)
    }

    fn open_at(
        name: String,
        resolved: PathBuf,
        root: Option<PathBuf>,
        pool: Pooled,
        options: &VrtOptions,
    ) -> Result<Self> {
        let (text, version) = text_of(&name, &resolved, options.max_bytes)?;
        let folder = resolved.parent().map(Path::to_owned).unwrap_or_default();
        Self::of_text(name, &text, (folder, root), (Some((resolved, version)), pool), options)
    }

    fn of_text(
        name: String,
        text: &str,
        (folder, root): (PathBuf, Option<PathBuf>),
        (path, pool): (Option<(PathBuf, Version)>, Pooled),
        options: &VrtOptions,
    ) -> Result<Self> {
        let wrong = |error| Error::File { file: name.clone(), error };
        let mosaic =
            parse::parse(text, options.max_sources, options.data_type).map_err(|problem| match problem {
                Problem::Invalid { place, problem } => wrong(TiffError::Invalid { place, problem }),
                Problem::Unsupported(reason) => Error::Unsupported { file: name.clone(), reason },
                Problem::Limit { what, found, limit } => {
                    wrong(TiffError::Limit { place: "VRT".into(), what, found, limit })
                }
            })?;
        let metadata = metadata_of(&mosaic);
        let mut warnings = mosaic.warnings;
        if mosaic.metadata.bands.iter().skip(1).any(|band| !band.categories.is_empty()) {
            let message = "category names are read for the first band only";
            warnings.push(Warning::new("vrt-categories", "VRTRasterBand", message));
        }
        let alpha = mosaic.bands.iter().position(|band| band.is_alpha);
        let alpha = alpha.and_then(|at| u16::try_from(at + 1).ok());
        Ok(Self {
            name,
            width: mosaic.width,
            height: mosaic.height,
            indexes: mosaic.bands.iter().map(|band| Index::new(&band.sources)).collect(),
            bands: mosaic.bands,
            mask: mosaic.mask.map(|band| {
                let index = Index::new(&band.sources);
                (band, index)
            }),
            files: mosaic.files,
            metadata,
            warnings,
            options: options.clone(),
            folder,
            root,
            path,
            alpha,
            ignored_resampling: mosaic.ignored_resampling,
            warp: mosaic.warp.map(Arc::new),
            pool,
            missing: Mutex::default(),
            places: KnownPlaces::default(),
        })
    }

    /// Returns the cached placements of the mosaic under grids.
    pub(crate) const fn places(&self) -> &KnownPlaces {
        &self.places
    }

    /// Returns the name of the file, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of columns.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the number of rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the number of bands.
    pub fn bands(&self) -> u16 {
        u16::try_from(self.bands.len()).unwrap_or(u16::MAX)
    }

    /// Returns the type of all bands.
    pub fn data_type(&self) -> DataType {
        self.bands.first().map_or(DataType::U8, |band| band.data_type)
    }

    /// Returns the nodata value of a band, from 1, if samples can hold it.
    pub fn nodata(&self, band: u16) -> Option<NoData> {
        self.bands.get(usize::from(band).checked_sub(1)?)?.nodata
    }

    /// Returns the bits of a band's values, from 1, if fewer than those of its type.
    pub(crate) fn bits(&self, band: u16) -> Option<u32> {
        self.bands.get(usize::from(band).checked_sub(1)?)?.bits
    }

    /// Returns red, green, blue and alpha of the values of a band, from 1; empty if it has no table.
    pub fn colour_table(&self, band: u16) -> &[[u16; 4]] {
        let band = usize::from(band).checked_sub(1).and_then(|at| self.bands.get(at));
        band.map_or(&[], |band| &band.colour_table)
    }

    /// Returns the number of sources of all bands.
    pub fn sources(&self) -> usize {
        self.bands.iter().map(|band| band.sources.len()).sum()
    }

    /// Returns georeferencing, nodata and names; those of the first band if bands differ.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns warnings about what was tolerated, and about sources that reads found missing so far.
    pub fn warnings(&self) -> Vec<Warning> {
        self.warnings.iter().cloned().chain(self.missing()).collect()
    }

    /// Returns one warning about the sources that reads found missing so far.
    pub(crate) fn missing(&self) -> Option<Warning> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let shown: Vec<&str> = missing.keys().map(String::as_str).take(20).collect();
        let more = match missing.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message =
            format!("missing or damaged, nothing is laid in their place: {}{more}", shown.join(", "));
        (!missing.is_empty()).then(|| Warning::new("missing-source", "sources", message))
    }

    /// Returns whether a missing or damaged source makes the read fail.
    pub(crate) fn raises(&self) -> bool {
        self.options.missing == Missing::Raise
    }

    pub(crate) fn has_mask(&self) -> bool {
        self.mask.is_some()
    }

    pub(crate) fn alpha(&self) -> Option<u16> {
        self.alpha
    }

    fn path(&self) -> Option<&Path> {
        self.path.as_ref().map(|(path, _)| path.as_path())
    }

    /// Returns the state of the file when it was opened; `None` for text in memory.
    pub fn version(&self) -> Option<&Version> {
        self.path.as_ref().map(|(_, version)| version)
    }

    /// Returns the path of a source, or its URL.
    fn resolve(&self, file: &SourceFile) -> std::result::Result<PathBuf, paths::Refusal> {
        #[cfg(feature = "remote")]
        if let Some(found) = hosts::resolve(file, &self.folder, self.root.as_deref(), &self.options) {
            return found;
        }
        let more = self.options.allowed_roots.as_deref();
        paths::resolve(file, &self.folder, self.root.as_deref().map(|root| paths::Roots { root, more }))
    }

    fn goes_without(&self, name: &str, problem: String) {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), problem);
    }

    /// Returns the name of a source for messages: without credentials.
    fn file_name(&self, file: u32) -> String {
        self.files.get(file as usize).map_or_else(String::new, |file| crate::source::redacted(&file.name))
    }

    pub(crate) fn refuse(&self, problem: String) -> Error {
        Error::Request { file: self.name.clone(), problem }
    }

    fn unsupported(&self, reason: String) -> Error {
        Error::Unsupported { file: self.name.clone(), reason }
    }

    fn invalid(&self, problem: String) -> Error {
        Error::File { file: self.name.clone(), error: TiffError::Invalid { place: "VRT".into(), problem } }
    }
}

/// Reads the text of a VRT after checking its size.
fn text_of(name: &str, path: &Path, limit: u64) -> Result<(String, Version)> {
    let fail = |error| Error::Io { path: name.into(), error: Arc::new(error) };
    let (file, version) = open_regular(path).map_err(fail)?;
    if version.len > limit {
        return Err(too_large(name, version.len, limit));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(name, bytes.len() as u64, limit));
    }
    Ok((utf8(name, bytes)?, version))
}

fn too_large(name: &str, found: u64, limit: u64) -> Error {
    let what =
        "size in bytes (raise it with `vrt_max_bytes` or the environment variable STRILE_VRT_MAX_XML_BYTES)";
    let error = TiffError::Limit { place: "VRT".into(), what, found, limit };
    Error::File { file: name.to_owned(), error }
}

fn utf8(name: &str, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let problem = format!("byte {} is not UTF-8", error.utf8_error().valid_up_to());
        Error::File { file: name.to_owned(), error: TiffError::Invalid { place: "XML".into(), problem } }
    })
}

/// Returns the folder of the VRT at a URL, as a path.
fn folder_of_url(url: &str) -> PathBuf {
    #[cfg(feature = "remote")]
    return hosts::folder_of(url);
    #[cfg(not(feature = "remote"))]
    PathBuf::from(url)
}

fn metadata_of(mosaic: &parse::Mosaic) -> Metadata {
    let told = &mosaic.metadata;
    let mut georeference = pam::apply(Georeference::default(), Some(told), None);
    let kind = told.items.iter().find(|item| item.domain.is_empty() && item.name == "AREA_OR_POINT");
    georeference.area_or_point = kind.and_then(|item| {
        [AreaOrPoint::Area, AreaOrPoint::Point]
            .into_iter()
            .find(|kind| kind.as_str().eq_ignore_ascii_case(&item.value))
    });
    // Bands are numbered in order; searching each by its number would take quadratic time.
    let bands = (0..mosaic.bands.len())
        .map(|at| told.bands.get(at).map(|band| band.metadata.clone()).unwrap_or_default());
    Metadata {
        georeference,
        nodata: mosaic.bands.first().and_then(|band| band.nodata),
        bands: bands.collect(),
        items: told.items.iter().filter(|item| item.sample.is_none()).cloned().collect(),
        categories: told.bands.first().map(|band| band.categories.clone()).unwrap_or_default(),
    }
}
