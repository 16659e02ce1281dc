//! Runs the parser on a source and finds the files beside a file.

use crate::error::{Error, Result};
use crate::options::setters;
use crate::read::coalesce;
use crate::source::{FileSource, Source, Version, open_regular, read_ranges};
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_engine::Cancel;
use strile_tiff::{InvalidValue, Limits, Parser, Step, Tiff, TiffError};

/// Options for opening a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Limits on the structure of the file.
    pub limits: Limits,
    /// Whether to look for `.ovr`, `.msk`, `.aux.xml` and world files beside the file.
    pub sidecars: SidecarSearch,
    /// Whether overviews will be used. If not, `SidecarSearch::Auto` does not request an `.ovr` beside a remote file.
    pub overviews: bool,
    /// Cancels the opening. Reads have their own token, in their `Context`.
    pub cancel: Cancel,
    /// Options for remote objects.
    #[cfg(feature = "remote")]
    pub remote: strile_remote::RemoteOptions,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            sidecars: SidecarSearch::Auto,
            overviews: true,
            cancel: Cancel::default(),
            #[cfg(feature = "remote")]
            remote: strile_remote::RemoteOptions::default(),
        }
    }
}

impl OpenOptions {
    /// Returns the options that open a file with its sidecars.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets limits on the structure of the file.
        limits: Limits,
        /// Sets whether overviews will be used.
        overviews: bool,
        /// Sets the token that cancels the opening.
        cancel: Cancel,
    }

    /// Sets whether to look for `.ovr`, `.msk`, `.aux.xml` and world files beside the file; `true` is `Auto`, `false`
    /// is `Never`.
    #[must_use]
    pub fn sidecars(mut self, sidecars: impl Into<SidecarSearch>) -> Self {
        self.sidecars = sidecars.into();
        self
    }

    /// Sets the options for remote objects.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn remote(mut self, remote: strile_remote::RemoteOptions) -> Self {
        self.remote = remote;
        self
    }
}

/// Whether to look for files beside a file: overviews (`.ovr`), masks (`.msk`), metadata (`.aux.xml`), world files.
///
/// Beside a remote file each name costs a request. All are requested at once, after the header. A name that the server
/// does not have, or does not give access to, is not an error; a server that fails is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SidecarSearch {
    /// Always beside local files. Beside a remote file only if it may need them: not if it declares itself a COG
    /// (GDAL's ghost area), nor if it has overviews and georeferencing of its own. For other remote files, only names
    /// that can add something are requested.
    #[default]
    Auto,
    /// Always, also beside remote files: for copies, which must not lose anything.
    Always,
    /// Never.
    Never,
}

impl From<bool> for SidecarSearch {
    fn from(look: bool) -> Self {
        if look { Self::Auto } else { Self::Never }
    }
}

impl std::str::FromStr for SidecarSearch {
    type Err = InvalidValue;

    /// Parses `auto`, `always` or `never`.
    fn from_str(text: &str) -> std::result::Result<Self, InvalidValue> {
        match text {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err(format!("expected auto, always or never, got `{text}`").into()),
        }
    }
}

/// Access to a file and its sidecars.
pub(crate) trait Files {
    /// Opens a file as a source.
    fn source(&self, path: &Path) -> Result<Arc<dyn Source>>;

    /// Returns whether the name exists.
    fn exists(&self, path: &Path) -> bool;

    /// Returns the text of a small file and its state; `None` if it does not exist. A file that cannot be read is an
    /// error.
    fn text(&self, path: &Path) -> Result<Option<(String, Version)>>;

    /// Returns known bytes of a file's structure, with their offsets.
    fn at_hand(&self, path: &Path) -> Vec<(u64, Vec<u8>)>;
}

/// Files of the file system.
pub(crate) struct OnDisk;

/// Largest size of a sidecar. A larger file is not a sidecar.
pub(crate) const LARGEST_SIDECAR: u64 = 16 << 20;

impl Files for OnDisk {
    fn source(&self, path: &Path) -> Result<Arc<dyn Source>> {
        Ok(Arc::new(FileSource::open(path)?))
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn text(&self, path: &Path) -> Result<Option<(String, Version)>> {
        let fail = |error| Error::io(path, error);
        let (file, version) = match open_regular(path) {
            Ok(opened) => opened,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(fail(error)),
        };
        let mut bytes = Vec::new();
        file.take(LARGEST_SIDECAR + 1).read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() as u64 > LARGEST_SIDECAR {
            let problem = format!("has more than {LARGEST_SIDECAR} bytes");
            return Err(fail(std::io::Error::other(problem)));
        }
        Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), version)))
    }

    fn at_hand(&self, _path: &Path) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }
}

/// Returns whether the system's error means that the name does not exist, or is too long to exist.
pub(crate) fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Kind;
    matches!(error.kind(), Kind::NotFound | Kind::NotADirectory | Kind::InvalidFilename)
}

/// An opened source and its structure.
pub(crate) struct OpenFile {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) tiff: Tiff,
}

impl OpenFile {
    pub(crate) fn open(source: Arc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        Self::open_with(source, Vec::new(), options)
    }

    /// Opens a source with some of its bytes already in memory.
    pub(crate) fn open_with(
        source: Arc<dyn Source>,
        at_hand: Vec<(u64, Vec<u8>)>,
        options: &OpenOptions,
    ) -> Result<Self> {
        let wrong = |error: TiffError| Error::File { file: source.name().to_owned(), error };
        if source.len() == 0 {
            let problem = TiffError::Invalid { place: "header".into(), problem: "the file is empty".into() };
            return Err(wrong(problem));
        }
        let mut parser = Parser::new(source.len(), options.limits.clone());
        let mut ahead =
            Ahead { len: FIRST_AHEAD, left: if source.local().is_some() { 0 } else { MOST_AHEAD } };
        for (offset, bytes) in at_hand {
            parser.feed(offset, bytes);
        }
        loop {
            match parser.next().map_err(wrong)? {
                Step::Done(tiff) => return Ok(Self { source, tiff }),
                Step::Need(ranges) => {
                    let ranges = ahead.widen(ranges, source.len());
                    let read = match read_ranges(source.as_ref(), &ranges, &options.cancel) {
                        Err(_) if options.cancel.is_cancelled() => return Err(Error::Cancelled),
                        read => read.map_err(|error| io_error(&*source, error))?,
                    };
                    for (range, bytes) in ranges.iter().zip(read) {
                        parser.feed(range.start, bytes);
                    }
                }
            }
        }
    }
}

/// Reads ahead in the headers of remote files, doubling the distance each time: a round trip costs more than the bytes.
struct Ahead {
    len: u64,
    /// Bytes that may still be read in vain.
    left: u64,
}

const FIRST_AHEAD: u64 = 32 << 10;
const MOST_AHEAD: u64 = 4 << 20;

impl Ahead {
    fn widen(&mut self, ranges: Vec<Range<u64>>, file_len: u64) -> Vec<Range<u64>> {
        if self.left == 0 {
            return ranges;
        }
        let mut wide = Vec::with_capacity(ranges.len());
        for range in ranges {
            let end = range.start.saturating_add(self.len).min(file_len).max(range.end);
            let end = end.min(range.end.saturating_add(self.left));
            self.left -= end - range.end;
            wide.push(range.start..end);
        }
        self.len = self.len.saturating_mul(2);
        coalesce(&wide, 0)
    }
}

pub(crate) fn io_error(source: &dyn Source, error: std::io::Error) -> Error {
    Error::Io { path: PathBuf::from(source.name()), error: Arc::new(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ahead_doubles_and_ends() {
        let mut ahead = Ahead { len: FIRST_AHEAD, left: MOST_AHEAD };
        let one = |range: Range<u64>| Vec::from([range]);
        let mut lens = Vec::new();
        for at in 0..10u64 {
            let wide = ahead.widen(one(at << 30..(at << 30) + 100), 1 << 40);
            lens.extend(wide.iter().map(|range| range.end - range.start));
        }
        let doubled: Vec<u64> = (0..6).map(|n| FIRST_AHEAD << n).collect();
        assert_eq!(lens[..6], doubled);
        assert!(lens.iter().sum::<u64>() <= MOST_AHEAD + 1000 && lens[9] == 100, "{lens:?}");
        assert_eq!(Ahead { len: FIRST_AHEAD, left: MOST_AHEAD }.widen(one(0..8), 5000), one(0..5000));
    }
}
