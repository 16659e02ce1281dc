//! Warped VRTs, as written by gdalwarp and rasterio's `WarpedVRT`: one TIFF, warped onto the grid of the VRT.
//!
//! Such a VRT is read as a mosaic with one source that covers all of it (`Opened::Warped`). The warp is that of every
//! read onto a grid (`read/onto`), from the full resolution of the source. Features that would give other pixels than
//! GDAL are refused by name: alpha bands, cutlines, sources that are placed by anything but a transform, options that
//! change pixels. The notes in `docs/correctness.md` on reads onto a grid apply here, too.

use super::opened::{Leaf, Opened};
use super::parse::{
    Band, Problem, Source, SourceFile, attribute, child, invalid, is, number_of, shown, type_named, value,
};
use super::pool::InUse;
use crate::error::{Error, Result};
use crate::grid::{Avoid, Grid, Onto, WarpOptions, sampling_named};
use crate::options::Place;
use crate::window::Window;
use std::sync::Arc;
use strile_crs::{Crs, TransformOptions, Transformer};
use strile_engine::WarpSampling;
use strile_tiff::DataType;
use strile_tiff::gdal::{Element, NoData};
use strile_tiff::geo::GeoTransform;

/// Options of GDAL's warper that do not change the result, except `INIT_DEST`, which is applied, and
/// `UNIFIED_SRC_NODATA`: bands are warped one by one (`docs/correctness.md`).
const KNOWN: [&str; 9] = [
    "ERROR_OUT_IF_EMPTY_SOURCE_WINDOW",
    "INIT_DEST",
    "NUM_THREADS",
    "OPTIMIZE_SIZE",
    "SAMPLE_GRID",
    "SAMPLE_STEPS",
    "SKIP_NOSOURCE",
    "UNIFIED_SRC_NODATA",
    "WRITE_FLUSH",
];

/// Elements that place a source by something other than its transform.
const OTHER_PLACES: [&str; 5] = [
    "SrcGCPTransformer",
    "SrcTPSTransformer",
    "SrcRPCTransformer",
    "SrcGeoLocTransformer",
    "SrcApproxTransformer",
];

/// Largest difference between the source transform in the VRT and that of the file, in source pixels.
const SAME_PLACE: f64 = 1e-6;

/// A parsed value of a warped VRT, or the reason why it is not read.
type Parsed<T> = std::result::Result<T, Problem>;

/// The settings of a warped VRT.
#[derive(Debug, PartialEq)]
pub(super) struct Warp {
    onto: Arc<Onto>,
    /// The transform of the source.
    from: GeoTransform,
    /// The period of coordinates without reprojection: GDAL then takes no pixel from the other end.
    period: Option<f64>,
    /// The type in which pixels are computed. The bands may have another.
    working: DataType,
}

/// The source of a warped VRT on the grid of the VRT.
pub(super) struct Warped {
    pub(super) warp: Arc<Warp>,
    pub(super) of: Arc<InUse>,
}

/// Returns whether a root element is that of a warped VRT.
pub(super) fn is_warped(root: &Element) -> bool {
    attribute(root, "subClass").is_some_and(|kind| kind.eq_ignore_ascii_case("VRTWarpedDataset"))
}

fn unsupported(what: impl std::fmt::Display) -> Problem {
    Problem::Unsupported(format!("a warped VRT with {what} is not read"))
}

fn missing(name: &str) -> Problem {
    Problem::Unsupported(format!("a VRT of kind `VRTWarpedDataset` without `{name}` is not read"))
}

/// Fails for a root without a warp, or with bands that are not warped.
pub(super) fn check(root: &Element) -> Parsed<()> {
    child(root, "GDALWarpOptions").ok_or_else(|| missing("GDALWarpOptions"))?;
    if child(root, "VerticalShiftGrids").is_some() {
        return Err(unsupported("`VerticalShiftGrids`"));
    }
    let mut bands = root.children.iter().filter(|band| is(band, "VRTRasterBand"));
    let is_other = |band: &&Element| {
        attribute(band, "subClass").is_none_or(|kind| !kind.eq_ignore_ascii_case("VRTWarpedRasterBand"))
    };
    match bands.find(is_other) {
        Some(_) => Err(unsupported("a band that is not a `VRTWarpedRasterBand`")),
        None => Ok(()),
    }
}

/// Parses the warp of a VRT of this size, and sets the source of each band, which is file 0.
pub(super) fn parse(
    root: &Element,
    (width, height): (u32, u32),
    srs: Option<&Crs>,
    bands: &mut [Band],
) -> Parsed<(Warp, SourceFile)> {
    const PLACE: &str = "GDALWarpOptions";
    let options = child(root, PLACE).ok_or_else(|| missing(PLACE))?;
    for name in ["SrcAlphaBand", "DstAlphaBand", "Cutline", "OpenOptions"] {
        if child(options, name).is_some() {
            return Err(unsupported(format_args!("`{name}`")));
        }
    }
    let named = options.children.iter().filter(|option| is(option, "Option"));
    let mut named = named.map(|option| (attribute(option, "name").unwrap_or(""), option.text.trim()));
    for (name, _) in named.clone() {
        if !KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Err(unsupported(format_args!("the option `{}`", shown(name))));
        }
    }
    // The last one counts, as in GDAL.
    let init = named.rfind(|(name, _)| name.eq_ignore_ascii_case("INIT_DEST")).map(|(_, value)| value);
    let source = child(options, "SourceDataset").filter(|source| !source.text.trim().is_empty());
    let source = source.ok_or_else(|| missing("SourceDataset"))?;
    let relative =
        attribute(source, "relativeToVRT").is_some_and(|v| v.trim().parse::<i64>().is_ok_and(|v| v != 0));
    let file = SourceFile { name: source.text.trim().to_owned(), relative };
    let stated = |band: &Band| band.stated_type.unwrap_or(DataType::U8);
    let data_type = bands.first().map_or(DataType::U8, stated);
    if bands.iter().any(|band| stated(band) != data_type) {
        return Err(unsupported("bands of several types"));
    }
    let working = match value(options, "WorkingDataType") {
        None => data_type,
        Some(name) => {
            type_named(name).ok_or_else(|| unsupported(format_args!("the type `{}`", shown(name))))?
        }
    };
    let lists = mapped(options, bands)?;
    let fill = match init {
        None => Some(NoData::Integer(0)),
        Some(name) if name.eq_ignore_ascii_case("NO_DATA") => lists.fill,
        Some(text) => one_of(text.split(',').map(str::trim), "INIT_DEST")?,
    };
    let fill = fill.unwrap_or(NoData::Integer(0));
    if fill.to_sample(working).is_none() {
        let fill = fill.to_text();
        return Err(unsupported(format_args!("pixels outside of its source that are {fill}, as {working}")));
    }
    let is_between = |nodata: NoData| nodata.as_f64().is_finite() && nodata.as_integer().is_none();
    if is_whole(working) && lists.nodata.is_some_and(is_between) {
        return Err(unsupported(format_args!("a fraction in `SrcNoDataReal` of {working}")));
    }
    let (transformer, tolerance) = transformer(options)?;
    if let Some(name) = OTHER_PLACES.iter().find(|name| child(transformer, name).is_some()) {
        return Err(unsupported(format_args!("`{name}`")));
    }
    let transform = |name: &str| {
        let text = value(transformer, name).ok_or_else(|| missing(name))?;
        let numbers: Option<Vec<f64>> =
            text.split(',').take(7).map(|number| number.trim().parse().ok()).collect();
        let numbers = numbers.and_then(|numbers| <[f64; 6]>::try_from(numbers).ok());
        let found = numbers.map(GeoTransform::from_gdal).filter(GeoTransform::is_finite);
        found
            .ok_or_else(|| invalid(PLACE, format!("expected six numbers in `{name}`, got `{}`", shown(text))))
    };
    let (from, to) = (transform("SrcGeoTransform")?, transform("DstGeoTransform")?);
    let (source_crs, crs, is_moved) = systems(transformer, srs)?;
    let period = match is_moved {
        true => None,
        false => Transformer::new(&source_crs, &crs, &TransformOptions::default())
            .map_err(|problem| invalid(PLACE, problem.to_string()))?
            .target_period(),
    };
    let grid = Grid::new(crs, to, width, height).map_err(|problem| invalid(PLACE, problem.to_string()))?;
    let warp = WarpOptions::new()
        .resampling(resampling(value(options, "ResampleAlg"))?)
        .tolerance(tolerance)
        .level(0)
        .source_crs(source_crs)
        .nodata(lists.nodata)
        .fill(fill)
        .data_type(working);
    let avoid = Avoid::Only(lists.fill.filter(|&fill| is_exact(fill, working)));
    let warp = WarpOptions { avoid, ..warp };
    Ok((Warp { onto: Arc::new(Onto { grid, warp }), from, period, working }, file))
}

/// Statements of the band list that apply to all bands.
struct Lists {
    nodata: Option<NoData>,
    /// The value that valid pixels must not get.
    fill: Option<NoData>,
}

fn is_whole(data_type: DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::U8 | D::I8 | D::U16 | D::I16 | D::U32 | D::I32 | D::U64 | D::I64)
}

/// Returns whether a sample of a type can equal a value without rounding.
fn is_exact(value: NoData, data_type: DataType) -> bool {
    value.for_type(data_type).is_some_and(|rounded| rounded.as_f64() == value.as_f64())
}

/// Returns whether another type holds every sample of a type.
fn is_held(stored: DataType, working: DataType) -> bool {
    use DataType as D;
    match stored {
        _ if stored == working => true,
        D::U8 => is_whole(working) && working != D::I8 || matches!(working, D::F32 | D::F64),
        D::I8 => matches!(working, D::I16 | D::I32 | D::I64 | D::F32 | D::F64),
        D::U16 => matches!(working, D::I32 | D::U32 | D::I64 | D::U64 | D::F32 | D::F64),
        D::I16 => matches!(working, D::I32 | D::I64 | D::F32 | D::F64),
        D::U32 => matches!(working, D::I64 | D::U64 | D::F64),
        D::I32 => matches!(working, D::I64 | D::F64),
        D::F16 => matches!(working, D::F32 | D::F64),
        D::F32 => working == D::F64,
        D::U64 | D::I64 | D::F64 | D::C64 | D::C128 => false,
    }
}

/// Sets the source of each band.
fn mapped(options: &Element, bands: &mut [Band]) -> Parsed<Lists> {
    const PLACE: &str = "BandList";
    let list = child(options, PLACE).ok_or_else(|| missing(PLACE))?;
    let mappings: Vec<&Element> = list.children.iter().filter(|one| is(one, "BandMapping")).collect();
    // GDAL ignores sources in warped bands, and does not limit values to NBITS.
    for band in bands.iter_mut() {
        band.sources.clear();
        (band.bits, band.largest) = (None, None);
    }
    for mapping in &mappings {
        let number = |name: &str| {
            let text = attribute(mapping, name).unwrap_or("");
            let number = text.trim().parse::<u16>().ok().filter(|&number| number > 0);
            number
                .ok_or_else(|| invalid(PLACE, format!("expected a band in `{name}`, got `{}`", shown(text))))
        };
        let (from, to) = (number("src")?, number("dst")?);
        let band = bands.get_mut(usize::from(to) - 1);
        let band = band.ok_or_else(|| invalid(PLACE, format!("band {to}, which the VRT does not have")))?;
        band.sources = vec![Source { file: 0, band: from, is_mask: false, rectangles: None, complex: None }];
    }
    if let Some(at) = bands.iter().position(|band| band.sources.is_empty()) {
        return Err(unsupported(format_args!("band {}, which no band of the source is warped to,", at + 1)));
    }
    let each = |name: &'static str| {
        let stated: Vec<_> = mappings.iter().map(|mapping| value(mapping, name)).collect();
        match stated.iter().flatten().count() {
            0 => Ok(None),
            count if count == stated.len() => one_of(stated.into_iter().flatten(), name),
            _ => Err(unsupported(format_args!("`{name}` for some bands only"))),
        }
    };
    Ok(Lists { nodata: each("SrcNoDataReal")?, fill: each("DstNoDataReal")? })
}

/// Returns the number that all texts have in common. Fails if they differ.
fn one_of<'a>(texts: impl Iterator<Item = &'a str>, name: &str) -> Parsed<Option<NoData>> {
    let mut one: Option<NoData> = None;
    for text in texts {
        let wrong =
            || invalid("GDALWarpOptions", format!("expected a number in `{name}`, got `{}`", shown(text)));
        let number = number_of(text).ok_or_else(wrong)?;
        if one.is_some_and(|one| one.to_text() != number.to_text()) {
            return Err(unsupported(format_args!("`{name}` that differs between bands")));
        }
        one = Some(number);
    }
    Ok(one)
}

/// Returns the element that places source and target, and the tolerance of places, in source pixels.
fn transformer(options: &Element) -> Parsed<(&Element, f64)> {
    let missing = || missing("GenImgProjTransformer");
    let found = child(options, "Transformer").ok_or_else(missing)?;
    let Some(approximate) = child(found, "ApproxTransformer") else {
        return Ok((child(found, "GenImgProjTransformer").ok_or_else(missing)?, 0.0));
    };
    let text = value(approximate, "MaxError").unwrap_or("0.25");
    let error = text.parse::<f64>().ok().filter(|error| error.is_finite() && *error >= 0.0);
    let wrong = || invalid("MaxError", format!("expected a number of pixels, got `{}`", shown(text)));
    let base = child(approximate, "BaseTransformer").and_then(|base| child(base, "GenImgProjTransformer"));
    Ok((base.ok_or_else(missing)?, error.ok_or_else(wrong)?))
}

/// Returns the reference systems of source and target, and whether there is a reprojection; without one both are that
/// of the VRT.
fn systems(transformer: &Element, srs: Option<&Crs>) -> Parsed<(Crs, Crs, bool)> {
    let reprojection = child(transformer, "ReprojectTransformer");
    let Some(reprojection) = reprojection.and_then(|found| child(found, "ReprojectionTransformer")) else {
        let srs = srs.ok_or_else(|| unsupported("no reference system"))?;
        return Ok((srs.clone(), srs.clone(), false));
    };
    let mut options = child(reprojection, "Options").into_iter().flat_map(|options| options.children.iter());
    let other = options.find(|option| {
        attribute(option, "key").is_none_or(|key| !key.eq_ignore_ascii_case("AREA_OF_INTEREST"))
    });
    if let Some(option) = other {
        let key = attribute(option, "key").unwrap_or(&option.name);
        return Err(unsupported(format_args!("`{}` of its reprojection", shown(key))));
    }
    let system = |name: &str| {
        let text = value(reprojection, name).unwrap_or("");
        Crs::from_user_input(text).map_err(|problem| invalid(name, problem.to_string()))
    };
    Ok((system("SourceSRS")?, system("TargetSRS")?, true))
}

/// Returns the method with GDAL's name in this element.
fn resampling(name: Option<&str>) -> Parsed<WarpSampling> {
    let name = name.unwrap_or("NearestNeighbour");
    if name.eq_ignore_ascii_case("NearestNeighbour") || name.eq_ignore_ascii_case("Default") {
        return Ok(WarpSampling::Nearest);
    }
    let known = match name.to_ascii_lowercase().as_str() {
        "quartile1" => "q1",
        "quartile3" => "q3",
        "minimum" => "min",
        "maximum" => "max",
        "rootmeansquare" => "rms",
        _ => name,
    };
    sampling_named(known).map_err(|problem| invalid("ResampleAlg", problem.to_string()))
}

impl Warped {
    /// Creates the source of a warped VRT. Fails if it does not match the VRT.
    pub(super) fn new(warp: &Arc<Warp>, of: Arc<InUse>) -> Result<Self> {
        let warped = Self { warp: Arc::clone(warp), of };
        let leaf = warped.leaf()?;
        let refuse = |reason: &str| {
            Err(Error::Unsupported {
                file: leaf.dataset.name().to_owned(),
                reason: format!("as the source of a warped VRT: {reason}"),
            })
        };
        let (stored, working) = (warped.of.opened.data_type()?, warp.working);
        if !is_held(stored, working) {
            return refuse(&format!("it has {stored} samples, which are computed as {working}"));
        }
        let is_complex = matches!(working, DataType::C64 | DataType::C128);
        if is_complex && warp.onto.warp.resampling != WarpSampling::Nearest {
            return refuse("complex samples are warped by the nearest pixel alone");
        }
        let metadata = leaf.dataset.metadata();
        if leaf.alpha().is_some() {
            return refuse("it has an alpha band");
        }
        if metadata.nodata.is_some() && warp.onto.warp.nodata.is_none() {
            return refuse("it has a nodata value that the VRT does not use");
        }
        let (width, height) = leaf.size();
        let corners = [(0.0, 0.0), (f64::from(width), 0.0), (0.0, f64::from(height))];
        let pixel = warp.from.resolution().0.min(warp.from.resolution().1);
        let is_same = |own: &GeoTransform| {
            corners.iter().all(|&(x, y)| {
                let ((x0, y0), (x1, y1)) = (own.to_world(x, y), warp.from.to_world(x, y));
                (x0 - x1).abs().max((y0 - y1).abs()) <= SAME_PLACE * pixel
            })
        };
        if !metadata.georeference.transform.as_ref().is_some_and(is_same) {
            return refuse("its transform is not the one that the VRT states for it");
        }
        if warp.period.is_some_and(|period| warped.reaches_around(period)) {
            return refuse(
                "the grid of the VRT lies on both sides of its edge, a whole turn apart, without a reprojection",
            );
        }
        Ok(warped)
    }

    /// Returns whether a part of the grid beside the source lies in it after a turn.
    fn reaches_around(&self, period: f64) -> bool {
        let (width, height) = self.leaf().map_or((0, 0), Leaf::size);
        let source = self.warp.from.bounds(0.0, 0.0, width.into(), height.into());
        let grid = self.warp.onto.grid.bounds();
        let left = grid.min_x < source.min_x && grid.min_x + period < source.max_x;
        let right = grid.max_x > source.max_x && grid.max_x - period > source.min_x;
        left || right
    }

    /// Returns the source.
    pub(super) fn leaf(&self) -> Result<&Leaf> {
        match self.of.opened.as_ref() {
            Opened::File(leaf) => Ok(leaf),
            Opened::Mosaic(vrt) => {
                Err(vrt.unsupported("a VRT as the source of a warped VRT is not read".into()))
            }
            Opened::Warped(_) => Err(Error::Engine(strile_engine::EngineError::Abandoned)),
        }
    }

    /// Returns columns and rows of the grid.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.warp.onto.grid.width(), self.warp.onto.grid.height())
    }

    pub(super) fn data_type(&self) -> DataType {
        self.warp.working
    }

    /// Returns the place to read for a window of the grid.
    pub(super) fn place(&self, window: Window, bands: &[u16]) -> Place {
        let onto = Some(Arc::clone(&self.warp.onto));
        Place { window: Some(window), bands: Some(bands.to_vec()), onto, ..Place::default() }
    }
}
