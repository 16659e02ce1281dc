//! Writes a VRT that lays files side by side, or each in bands of its own, as `gdalbuildvrt` does.
//!
//! `tile` what is known of a file; `agree` what all files say alike, and what is lost; `place` where each file lies;
//! `text` the XML; `tiles` the VRT of tiles that one raster was cut into. The files have one reference system and type and are not rotated. A file that contradicts the others
//! in what its values mean is an error that names it; what a VRT cannot hold is told in a warning. The VRT is written
//! whole or not at all.

mod agree;
mod place;
mod text;
mod tile;
mod tiles;

use crate::error::{Error, Result};
use crate::file::open::OpenOptions;
use crate::options::{optional, setters};
use crate::sink::{FileSink, Sink as _, folder_of};
use std::path::{Component, Path, PathBuf};
use strile_tiff::gdal::NoData;
use tile::Tile;
pub use tiles::write_tiles;

/// Options of [`write_index`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IndexOptions {
    /// How the files are opened.
    pub open: OpenOptions,
    /// The value that is transparent in the files and fills what no file covers: `None` keeps those of the files,
    /// `Some(None)` takes none.
    pub nodata: Option<Option<NoData>>,
    /// Replace an existing file.
    pub overwrite: bool,
    /// Store absolute paths, not paths relative to the VRT's folder.
    pub absolute: bool,
    /// Put every band of every file into a band of its own.
    pub separate: bool,
    /// West, south, east and north of the VRT, in its reference system; `None` takes all files.
    pub extent: Option<[f64; 4]>,
    /// Width and height of a pixel; `None` takes those of the files, which must then be the same.
    pub resolution: Option<(f64, f64)>,
}

impl IndexOptions {
    /// Returns the defaults: relative paths, the files' own nodata, and the extent of all files.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets how the files are opened.
        open: OpenOptions,
        /// Replaces an existing file.
        overwrite: bool,
        /// Stores absolute paths.
        absolute: bool,
        /// Puts every band of every file into a separate band.
        separate: bool,
    }

    optional! {
        /// Sets west, south, east and north of the VRT, in its reference system.
        extent: [f64; 4],
        /// Sets width and height of a pixel.
        resolution: (f64, f64),
    }

    /// Sets the value that is transparent in the files and fills what no file covers; `None` takes none.
    #[must_use]
    pub fn nodata(mut self, nodata: impl Into<Option<NoData>>) -> Self {
        self.nodata = Some(nodata.into());
        self
    }
}

/// What `write_index` has to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenIndex {
    /// What the files say and the VRT does not, in words.
    pub warnings: Vec<String>,
    /// Folders outside of the VRT's own that sources lie in: readers of strile need `VrtOptions::allowed_roots`.
    pub outside: Vec<PathBuf>,
}

/// Writes a VRT at `path` with one source per file and band, later files on top.
///
/// ```no_run
/// use strile::vrt::{IndexOptions, write_index};
///
/// let written = write_index("all.vrt", &["tiles/a.tif", "tiles/b.tif"], &IndexOptions::default())?;
/// for warning in written.warnings {
///     eprintln!("{warning}");
/// }
/// # Ok::<(), strile::Error>(())
/// ```
pub fn write_index<P: AsRef<Path>>(
    path: impl AsRef<Path>,
    files: &[P],
    options: &IndexOptions,
) -> Result<WrittenIndex> {
    let path = path.as_ref();
    let refuse = |problem: String| Error::Request { file: path.display().to_string(), problem };
    if !path.extension().is_some_and(|end| end.eq_ignore_ascii_case("vrt")) {
        return Err(refuse("expected a name that ends in `.vrt`: a VRT is written, which is XML".into()));
    }
    let folder = folder_of(path).canonicalize().map_err(|error| Error::io(path, error))?;
    let target = path.file_name().map(|name| folder.join(name));
    let tiles = files.iter().map(|file| Tile::open(file.as_ref(), options)).collect::<Result<Vec<_>>>()?;
    if let Some(tile) = tiles.iter().find(|tile| Some(&tile.path) == target.as_ref()) {
        return Err(refuse(format!("`{}` cannot be a source of itself", tile.name)));
    }
    let grid = place::grid_of(&tiles, options).map_err(|(file, problem)| match file {
        Some(file) => Error::Request { file, problem },
        None => refuse(problem),
    })?;
    let mut written = WrittenIndex::default();
    let said = agree::said_by(&tiles, &grid, options, &mut written.warnings)?;
    let mut paths = Vec::new();
    for tile in &tiles {
        let (name, is_relative) = name_in(&tile.path, &folder, options.absolute);
        let name = name.to_str().ok_or_else(|| Error::Request {
            file: tile.name.clone(),
            problem: "its path is not UTF-8, which XML needs".into(),
        })?;
        paths.push((name.to_owned(), is_relative));
        let beside = tile.path.parent().unwrap_or(&tile.path);
        if !beside.starts_with(&folder) && !written.outside.iter().any(|known| known == beside) {
            written.outside.push(beside.to_owned());
        }
    }
    let text = text::text_of(&tiles, &paths, &grid, &said);
    let mut sink = Box::new(FileSink::create(path, options.overwrite)?);
    let stored = sink.append(text.as_bytes()).and_then(|()| sink.commit());
    stored.map_err(|error| Error::io(path, error))?;
    Ok(written)
}

/// How a file is named in a VRT in `folder`, and whether that is relative to it.
fn name_in(file: &Path, folder: &Path, absolute: bool) -> (PathBuf, bool) {
    let relative = (!absolute).then(|| relative(file, folder)).flatten();
    match relative {
        Some(relative) => (relative, true),
        None => (file.to_owned(), false),
    }
}

/// The way from a folder to a file, both resolved; `None` if there is none, as between drives.
fn relative(file: &Path, folder: &Path) -> Option<PathBuf> {
    let (mut file, mut folder) = (file.components().peekable(), folder.components().peekable());
    if file.peek() != folder.peek() {
        return None;
    }
    while file.peek().is_some() && file.peek() == folder.peek() {
        file.next();
        folder.next();
    }
    let mut way: PathBuf = folder.map(|_| Component::ParentDir).collect();
    way.extend(file);
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn ways_go_up_and_down() {
        let way = |file: &str, folder: &str| relative(Path::new(file), Path::new(folder)).unwrap();
        assert_eq!(way("/a/b/c.tif", "/a/b"), Path::new("c.tif"));
        assert_eq!(way("/a/b/c.tif", "/a/x/y"), Path::new("../../b/c.tif"));
        assert_eq!(way("/c.tif", "/a"), Path::new("../c.tif"));
        assert_eq!(way("/a/b/c.tif", "/"), Path::new("a/b/c.tif"));
    }
}
