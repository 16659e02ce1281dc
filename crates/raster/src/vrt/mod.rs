//! VRT mosaics: a small XML file that lays parts of other files upon one raster.
//!
//! `parse` the XML as facts; `paths` which files it may lead to; `index` which sources a window touches;
//! `place` where their pixels lie; `sources` the opened files; `values` and `number` what is done to a value;
//! `blend` one source laid upon a band; `read` all of them; `write` an index of tiles made from files.
//!
//! The pixels are those that GDAL gives. What is not a mosaic (warped, derived, pansharpened and processed
//! VRTs, filters) is refused by name. A VRT is text from anywhere: it reaches no file outside its folder
//! unless told so, and no network.

mod blend;
mod dataset;
mod index;
mod listing;
mod number;
mod parse;
mod paths;
mod place;
mod read;
mod sources;
mod stored;
mod values;
mod write;

pub use listing::VrtSource;
pub use write::{IndexOptions, write_index};

use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::open::OpenOptions;
use index::Index;
use parse::{Band, Problem, SourceFile};
use sources::Kept;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strile_tiff::gdal::{NoData, pam};
use strile_tiff::geo::{AreaOrPoint, Georeference};
use strile_tiff::{DataType, TiffError, Warning, Warnings};

/// The problem of a source that is missing.
const NOT_THERE: &str = "there is no such file";

/// What to do about sources that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// A read that touches one fails and names it.
    #[default]
    Raise,
    /// Nothing is laid where it would lie, and `Vrt::warnings` names it; nor of one that is damaged.
    Warn,
}

/// What can be chosen when opening a VRT.
#[derive(Debug, Clone)]
pub struct VrtOptions {
    /// Sources may lie anywhere in the file system, not only in the VRT's folder and below.
    pub allow_outside: bool,
    /// More folders that sources may lie in, by absolute paths; `None` refuses absolute paths altogether, an empty list
    /// those that leave the VRT's folder.
    pub roots: Option<Vec<PathBuf>>,
    /// Sources that are not there.
    pub missing: Missing,
    /// Where a source that is gone on without would lie alone there is NaN, or 0 in integers, and not the band's nodata.
    pub empty_holes: bool,
    /// The type that every band is given in; `None` for the one that all of them state.
    pub data_type: Option<DataType>,
    /// How sources are opened.
    pub open: OpenOptions,
    /// Sources of all bands together.
    pub max_sources: u64,
    /// Bytes of XML.
    pub max_bytes: u64,
    /// VRTs in VRTs.
    pub max_depth: usize,
    /// Files kept open at once.
    pub max_open: usize,
}

impl Default for VrtOptions {
    fn default() -> Self {
        Self {
            allow_outside: false,
            roots: None,
            missing: Missing::default(),
            empty_holes: false,
            data_type: None,
            open: OpenOptions::default(),
            max_sources: 1_000_000,
            max_bytes: 1 << 30,
            max_depth: 8,
            max_open: 64,
        }
    }
}

/// An opened mosaic; its sources are opened when pixels of theirs are read.
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
    /// Where relative names begin.
    folder: PathBuf,
    /// What sources have to be below of; more of it in the options.
    root: Option<PathBuf>,
    /// This file and those it is nested in.
    chain: Vec<PathBuf>,
    kept: Mutex<Kept>,
    /// Sources that reads went on without, and why.
    missing: Mutex<BTreeMap<String, String>>,
}

/// Whether a file begins as a VRT does.
pub fn is_vrt(path: &Path) -> Result<bool> {
    let fail = |error| Error::Io { path: path.to_owned(), error: Arc::new(error) };
    let mut head = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Ok(false);
    }
    file.take(1024).read_to_end(&mut head).map_err(fail)?;
    Ok(is_vrt_text(&head))
}

fn is_vrt_text(head: &[u8]) -> bool {
    let starts = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().starts_with(b"<");
    starts && head.windows(11).any(|word| word.eq_ignore_ascii_case(b"<VRTDataset"))
}

impl Vrt {
    /// Opens a VRT; no source is opened yet.
    pub fn open(path: impl AsRef<Path>, options: &VrtOptions) -> Result<Self> {
        let path = path.as_ref();
        let fail = |error| Error::Io { path: path.to_owned(), error: Arc::new(error) };
        let resolved = path.canonicalize().map_err(fail)?;
        let root = resolved.parent().map(Path::to_owned).filter(|_| !options.allow_outside);
        Self::open_at(path.display().to_string(), resolved, root, Vec::new(), options)
    }

    /// A VRT whose text is at hand, read as if it were a file in `folder`.
    pub fn from_text(name: &str, text: &str, folder: impl AsRef<Path>, options: &VrtOptions) -> Result<Self> {
        let folder = folder.as_ref();
        let fail = |error| Error::Io { path: folder.to_owned(), error: Arc::new(error) };
        let resolved = folder.canonicalize().map_err(fail)?;
        let root = Some(resolved.clone()).filter(|_| !options.allow_outside);
        Self::of_text(name.to_owned(), text, (resolved, root), Vec::new(), options)
    }

    /// A VRT that is a source of this one; what this one may not reach it may not either.
    fn nested(&self, path: PathBuf) -> Result<Self> {
        if self.chain.contains(&path) {
            return Err(self.invalid(format!("`{}` is a source of itself", path.display())));
        }
        if self.chain.len() >= self.options.max_depth {
            let (found, limit) = (self.chain.len() as u64 + 1, self.options.max_depth as u64);
            let error = TiffError::Limit { place: "VRT".into(), what: "depth of VRTs in VRTs", found, limit };
            return Err(Error::File { file: self.name.clone(), error });
        }
        let options = VrtOptions { data_type: None, ..self.options.clone() };
        Self::open_at(path.display().to_string(), path, self.root.clone(), self.chain.clone(), &options)
    }

    fn open_at(
        name: String,
        resolved: PathBuf,
        root: Option<PathBuf>,
        mut chain: Vec<PathBuf>,
        options: &VrtOptions,
    ) -> Result<Self> {
        let text = text_of(&name, &resolved, options.max_bytes)?;
        let folder = resolved.parent().map(Path::to_owned).unwrap_or_default();
        chain.push(resolved);
        Self::of_text(name, &text, (folder, root), chain, options)
    }

    fn of_text(
        name: String,
        text: &str,
        (folder, root): (PathBuf, Option<PathBuf>),
        chain: Vec<PathBuf>,
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
            warnings: mosaic.warnings,
            options: options.clone(),
            folder,
            root,
            chain,
            kept: Mutex::default(),
            missing: Mutex::default(),
        })
    }

    /// The name of the file, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Columns.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Number of bands.
    pub fn bands(&self) -> u16 {
        u16::try_from(self.bands.len()).unwrap_or(u16::MAX)
    }

    /// Type of all bands.
    pub fn data_type(&self) -> DataType {
        self.bands.first().map_or(DataType::U8, |band| band.data_type)
    }

    /// Nodata of a band, from 1, as samples can hold it.
    pub fn nodata(&self, band: u16) -> Option<NoData> {
        self.bands.get(usize::from(band).checked_sub(1)?)?.nodata
    }

    /// Red, green, blue and alpha of the values of a band, from 1; empty where it has no table.
    pub fn colour_table(&self, band: u16) -> &[[u16; 4]] {
        let band = usize::from(band).checked_sub(1).and_then(|at| self.bands.get(at));
        band.map_or(&[], |band| &band.colour_table)
    }

    /// Number of sources of all bands.
    pub fn sources(&self) -> usize {
        self.bands.iter().map(|band| band.sources.len()).sum()
    }

    /// Georeference, nodata, names; those of the first band where bands differ.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What was tolerated, and which sources were found missing by reads so far.
    pub fn warnings(&self) -> Vec<Warning> {
        self.warnings.iter().cloned().chain(self.missing()).collect()
    }

    /// Which sources were found missing by reads so far, in one warning.
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

    pub(crate) fn has_mask(&self) -> bool {
        self.mask.is_some()
    }

    pub(crate) fn alpha(&self) -> Option<u16> {
        let at = self.bands.iter().position(|band| band.is_alpha)?;
        u16::try_from(at + 1).ok()
    }

    fn lock_kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resolve(&self, file: &SourceFile) -> std::result::Result<PathBuf, paths::Refusal> {
        let more = self.options.roots.as_deref();
        paths::resolve(file, &self.folder, self.root.as_deref().map(|root| paths::Roots { root, more }))
    }

    fn is_missing(&self, file: &SourceFile) -> Result<()> {
        if self.options.missing == Missing::Raise {
            let problem = format!(
                "source `{}` is missing; go on without it with `Missing::Warn` (`--missing warn`)",
                file.name
            );
            return Err(self.refuse(problem));
        }
        self.goes_without(&file.name, NOT_THERE.into());
        Ok(())
    }

    fn goes_without(&self, name: &str, problem: String) {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), problem);
    }

    fn file_name(&self, file: u32) -> &str {
        self.files.get(file as usize).map_or("", |file| file.name.as_str())
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

fn text_of(name: &str, path: &Path, limit: u64) -> Result<String> {
    let fail = |error| Error::Io { path: name.into(), error: Arc::new(error) };
    let file = std::fs::File::open(path).map_err(fail)?;
    let found = file.metadata().map_err(fail)?.len();
    let too_large = |found| {
        let error = TiffError::Limit { place: "VRT".into(), what: "size of the file", found, limit };
        Error::File { file: name.to_owned(), error }
    };
    if found > limit {
        return Err(too_large(found));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    String::from_utf8(bytes).map_err(|error| {
        let problem = format!("byte {} is not UTF-8", error.utf8_error().valid_up_to());
        Error::File { file: name.to_owned(), error: TiffError::Invalid { place: "XML".into(), problem } }
    })
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
    let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let bands = (0..mosaic.bands.len())
        .map(|at| told.band(number(at)).map(|band| band.metadata.clone()).unwrap_or_default());
    Metadata {
        georeference,
        nodata: mosaic.bands.first().and_then(|band| band.nodata),
        bands: bands.collect(),
        items: told.items.iter().filter(|item| item.sample.is_none()).cloned().collect(),
        categories: told.band(1).map(|band| band.categories.clone()).unwrap_or_default(),
    }
}
