//! An index of tiles: a VRT that lays files of one kind side by side, as `gdalbuildvrt` does.
//!
//! The files have one reference system, resolution, type and number of bands, and are not rotated; a file
//! that differs is named. Files of one folder tree are named relative to the VRT. It is there whole or not at all.

use super::parse::TYPES;
use super::place::snap;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::open::OpenOptions;
use crate::options::ReadOptions;
use crate::sink::{FileSink, Sink as _};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_tiff::DataType;
use strile_tiff::gdal::NoData;
use strile_tiff::geo::{Crs, GeoTransform};

/// What can be chosen for an index.
#[derive(Debug, Clone, Default)]
pub struct IndexOptions {
    /// How the files are opened.
    pub open: OpenOptions,
    /// Where no file lies and what is transparent; of the first file where `None`.
    pub nodata: Option<NoData>,
    /// Replace a file that is there.
    pub overwrite: bool,
    /// Name every file by its whole path.
    pub absolute: bool,
}

/// What has to be the same, or be known, of a file.
struct Tile {
    path: PathBuf,
    size: (u32, u32),
    bands: u16,
    data_type: DataType,
    transform: GeoTransform,
    crs: Option<Crs>,
    nodata: Option<NoData>,
    block: (u32, u32),
    colours: Vec<Option<String>>,
}

/// Resolutions that differ by less are the same but for rounding.
const SAME: f64 = 1e-6;

/// Writes a VRT at `path` with one source for each file and band, later files on top.
pub fn write_index<P: AsRef<Path>>(
    path: impl AsRef<Path>,
    files: &[P],
    options: &IndexOptions,
) -> Result<()> {
    let path = path.as_ref();
    let fail = |error: std::io::Error| Error::Io { path: path.to_owned(), error: Arc::new(error) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(fail)?;
    let tiles = files.iter().map(|file| tile(file.as_ref(), options)).collect::<Result<Vec<_>>>()?;
    let text = index_of(&tiles, &folder, options)?;
    let mut sink = Box::new(FileSink::create(path, options.overwrite)?);
    sink.append(text.as_bytes()).and_then(|()| sink.commit()).map_err(fail)
}

fn tile(path: &Path, options: &IndexOptions) -> Result<Tile> {
    let dataset = Dataset::open_with(path, &options.open)?;
    let refuse =
        |problem: &str| Error::Request { file: dataset.name().to_owned(), problem: problem.to_owned() };
    let image = dataset.target(&ReadOptions::default())?.image;
    let metadata = dataset.metadata();
    let transform = metadata.georeference.transform;
    let transform = transform.ok_or_else(|| refuse("has no georeference, which an index of tiles needs"))?;
    if !transform.is_north_up() {
        return Err(refuse("is rotated or not north up, which an index of tiles cannot lay"));
    }
    let data_type =
        image.sample.data_type().ok_or_else(|| refuse("has samples that strile does not read"))?;
    Ok(Tile {
        path: path
            .canonicalize()
            .map_err(|error| Error::Io { path: path.to_owned(), error: Arc::new(error) })?,
        size: (image.width, image.height),
        bands: image.samples,
        // A VRT has no halves; GDAL reads them as singles.
        data_type: if data_type == DataType::F16 { DataType::F32 } else { data_type },
        transform,
        crs: metadata.georeference.crs.clone(),
        nodata: options.nodata.or(metadata.nodata),
        block: (image.grid.block_width, image.grid.block_height),
        colours: metadata.bands.iter().map(|band| band.colour.clone()).collect(),
    })
}

/// Why a tile cannot lie beside the first.
fn differs(tile: &Tile, first: &Tile) -> Option<String> {
    let same_crs = match (&tile.crs, &first.crs) {
        (None, None) => true,
        (Some(a), Some(b)) => a.wkt == b.wkt || (a.epsg.is_some() && a.epsg == b.epsg),
        _ => false,
    };
    let close = |a: f64, b: f64| ((a - b) / b).abs() < SAME;
    if !same_crs {
        return Some("has another reference system than the first file".into());
    }
    if tile.bands != first.bands {
        return Some(format!("has {} bands, the first file {}", tile.bands, first.bands));
    }
    if tile.data_type != first.data_type {
        return Some(format!("is {}, the first file {}", tile.data_type, first.data_type));
    }
    if !close(tile.transform.a, first.transform.a) || !close(tile.transform.e, first.transform.e) {
        let ((x, y), (fx, fy)) = (tile.transform.resolution(), first.transform.resolution());
        return Some(format!("has pixels of {x} × {y}, the first file of {fx} × {fy}"));
    }
    None
}

fn index_of(tiles: &[Tile], folder: &Path, options: &IndexOptions) -> Result<String> {
    let name = || folder.display().to_string();
    let Some(first) = tiles.first() else {
        return Err(Error::Request { file: name(), problem: "no file for the index of tiles".into() });
    };
    if let Some((tile, problem)) = tiles.iter().find_map(|tile| Some((tile, differs(tile, first)?))) {
        return Err(Error::Request { file: tile.path.display().to_string(), problem });
    }
    let type_name = TYPES.iter().find(|(_, t)| *t == first.data_type).map_or("Byte", |(name, _)| name);
    let (a, e) = (first.transform.a, first.transform.e);
    let (mut west, mut north) = (f64::INFINITY, f64::NEG_INFINITY);
    for tile in tiles {
        west = west.min(tile.transform.c);
        north = north.max(tile.transform.f);
    }
    let place = |tile: &Tile| (snap((tile.transform.c - west) / a), snap((tile.transform.f - north) / e));
    let ends = tiles.iter().map(|tile| {
        let (x, y) = place(tile);
        (x + f64::from(tile.size.0), y + f64::from(tile.size.1))
    });
    let (width, height) = ends.fold((0.0f64, 0.0f64), |(w, h), (x, y)| (w.max(x.ceil()), h.max(y.ceil())));
    if !(width <= f64::from(i32::MAX) && height <= f64::from(i32::MAX)) {
        let problem = format!("the tiles cover {width} × {height} pixels, more than a VRT can have");
        return Err(Error::Request { file: name(), problem });
    }
    let nodata = options.nodata.or(first.nodata);
    let mut out = format!("<VRTDataset rasterXSize=\"{width}\" rasterYSize=\"{height}\">\n");
    if let Some(wkt) =
        first.crs.as_ref().and_then(|crs| crs.wkt.clone().or(crs.epsg.map(|code| format!("EPSG:{code}"))))
    {
        let _ = writeln!(out, "  <SRS>{}</SRS>", escaped(&wkt));
    }
    let _ = writeln!(out, "  <GeoTransform>{west}, {a}, 0, {north}, 0, {e}</GeoTransform>");
    for band in 1..=first.bands {
        let _ = writeln!(out, "  <VRTRasterBand dataType=\"{type_name}\" band=\"{band}\">");
        if let Some(nodata) = nodata {
            let _ = writeln!(out, "    <NoDataValue>{}</NoDataValue>", number(nodata));
        }
        if let Some(Some(colour)) = first.colours.get(usize::from(band) - 1) {
            let _ = writeln!(out, "    <ColorInterp>{}</ColorInterp>", escaped(colour));
        }
        for tile in tiles {
            let (x, y) = place(tile);
            source(&mut out, tile, (type_name, band), (x, y), (!options.absolute).then_some(folder));
        }
        out.push_str("  </VRTRasterBand>\n");
    }
    out.push_str("</VRTDataset>\n");
    Ok(out)
}

/// One source; complex where it has nodata, which is transparent. It is named from `folder` where it lies below.
fn source(
    out: &mut String,
    tile: &Tile,
    (type_name, band): (&str, u16),
    (x, y): (f64, f64),
    folder: Option<&Path>,
) {
    let kind = if tile.nodata.is_some() { "ComplexSource" } else { "SimpleSource" };
    let (relative, name) = match folder.and_then(|folder| tile.path.strip_prefix(folder).ok()) {
        Some(below) => (1, below),
        None => (0, tile.path.as_path()),
    };
    let ((width, height), (block_width, block_height)) = (tile.size, tile.block);
    let _ = write!(
        out,
        "    <{kind}>\n      <SourceFilename relativeToVRT=\"{relative}\">{}</SourceFilename>\n      \
         <SourceBand>{band}</SourceBand>\n      <SourceProperties RasterXSize=\"{width}\" RasterYSize=\"{height}\" \
         DataType=\"{type_name}\" BlockXSize=\"{block_width}\" BlockYSize=\"{block_height}\" />\n      \
         <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"{width}\" ySize=\"{height}\" />\n      \
         <DstRect xOff=\"{x}\" yOff=\"{y}\" xSize=\"{width}\" ySize=\"{height}\" />\n",
        escaped(&name.to_string_lossy())
    );
    if let Some(nodata) = tile.nodata {
        let _ = writeln!(out, "      <NODATA>{}</NODATA>", number(nodata));
    }
    let _ = writeln!(out, "    </{kind}>");
}

fn number(nodata: NoData) -> String {
    match nodata {
        NoData::Integer(v) => v.to_string(),
        NoData::Float(v) if v.is_nan() => "nan".into(),
        NoData::Float(v) => format!("{v:e}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
