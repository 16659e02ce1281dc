//! Writes a VRT that places files side by side, or each in separate bands, as `gdalbuildvrt` does.
//!
//! `tile` reads the properties of a file; `agree` finds the properties common to all files, and those that are lost;
//! `place` computes the position of each file; `text` writes the XML; `tiles` writes the VRT of tiles that one raster
//! was cut into. The files must have one reference system and type and must not be rotated. A file that contradicts the
//! others in the meaning of its values is an error that names it; properties that a VRT cannot hold cause a warning.
//! The VRT is written atomically.

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
    /// Options for opening the files.
    pub open: OpenOptions,
    /// The value that is transparent in the files and fills areas that no file covers. `None` keeps those of the files,
    /// `Some(None)` uses none.
    pub nodata: Option<Option<NoData>>,
    /// Whether to replace an existing file.
    pub overwrite: bool,
    /// Whether to store absolute paths instead of paths relative to the VRT's folder.
    pub absolute: bool,
    /// Whether to put every band of every file into a separate band.
    pub separate: bool,
    /// West, south, east and north of the VRT, in its reference system. `None` covers all files.
    pub extent: Option<[f64; 4]>,
    /// Width and height of a pixel. `None` uses that of the files, which must then be the same.
    pub resolution: Option<(f64, f64)>,
}

impl IndexOptions {
    /// Returns the defaults: relative paths, the files' own nodata, and the extent of all files.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the options for opening the files.
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

    /// Sets the value that is transparent in the files and fills areas that no file covers; `None` uses none.
    #[must_use]
    pub fn nodata(mut self, nodata: impl Into<Option<NoData>>) -> Self {
        self.nodata = Some(nodata.into());
        self
    }
}

/// The result of [`write_index`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenIndex {
    /// Warnings about properties of the files that the VRT does not have.
    pub warnings: Vec<String>,
    /// Folders outside of the VRT's own that contain sources. To read the VRT, strile needs them in
    /// `VrtOptions::allowed_roots`.
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

/// Returns the name of a file in a VRT in `folder`, and whether it is relative to the folder.
fn name_in(file: &Path, folder: &Path, absolute: bool) -> (PathBuf, bool) {
    let relative = (!absolute).then(|| relative(file, folder)).flatten();
    match relative {
        Some(relative) => (relative, true),
        None => (file.to_owned(), false),
    }
}

/// Returns the relative path from a folder to a file, both resolved; `None` if there is none, for example between
/// drives.
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
