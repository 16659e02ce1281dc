//! The attributes of a read: what the tags, the GeoKeys and GDAL's metadata of a file state.
//!
//! A key is there when the file has the feature, at every level: an overview that has no metadata, tags or resolution of
//! its own shows those of the full resolution. Tags about the layout of the file never show.

use crate::dataset::{Dataset, TABLES};
use crate::error::{refused, strile_error};
use crate::facts;
use crate::grid::Grid;
use crate::placement::Placement;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;
use strile::file::StoredField;
use strile::tiff::Warnings;
use strile::tiff::gdal::{Element, Metadata};
use strile::tiff::geo::{Crs, CrsKind, GeoKeys, Georeference, key};
use strile::tiff::{FieldType, Tag};
use strile::{Cancel, Input};

/// Arrays of xarray-spatial have these keys, too.
const CONTRACT: (&str, u8) = ("_xrspatial_geotiff_contract", 5);
const NO_GEOREF: &str = "_xrspatial_no_georef";

/// Tags about layout, codecs, offsets into the file, georeferencing, nodata and metadata.
const MANAGED: [u16; 54] = [
    254, 255, 256, 257, 258, 259, 262, 263, 264, 265, 266, 273, 274, 277, 278, 279, 282, 283, 284, 288, 289,
    292, 293, 296, 317, 322, 323, 324, 325, 330, 339, 347, 512, 513, 514, 515, 517, 518, 519, 520, 521, 530,
    33550, 33922, 34264, 34735, 34736, 34737, 34665, 34853, 40965, 42112, 42113, 50674,
];

/// The fields of a level over those of the full resolution, by tag.
struct Fields(BTreeMap<u16, StoredField>);

impl Fields {
    fn of(py: Python<'_>, dataset: &Dataset, file: &strile::Dataset, level: usize) -> PyResult<Self> {
        let wanted = |tag| !TABLES.contains(&tag);
        let mut all = BTreeMap::new();
        for level in [0].into_iter().chain((level > 0).then_some(level)) {
            let fields = dataset.quickly(py, &Cancel::default(), || file.fields(0, level, wanted))?;
            all.extend(fields.into_iter().map(|field| (field.tag.0, field)));
        }
        Ok(Self(all))
    }

    fn get(&self, tag: Tag) -> Option<&StoredField> {
        self.0.get(&tag.0)
    }

    fn text(&self, tag: Tag) -> Option<String> {
        let bytes = self.get(tag)?.bytes.as_deref()?;
        Some(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
    }

    fn number(&self, tag: Tag) -> PyResult<Option<f64>> {
        let field = self.get(tag);
        Ok(field.map(numbers).transpose()?.and_then(|numbers| numbers.first().copied()))
    }
}

/// The numbers of a field. A rational over 0 is refused.
fn numbers(field: &StoredField) -> PyResult<Vec<f64>> {
    let bytes = field.bytes.as_deref().unwrap_or_default();
    if matches!(field.field_type, FieldType::Rational | FieldType::SRational) {
        for pair in bytes.chunks_exact(8) {
            if field.byte_order.u32(pair, 4) == Some(0) {
                let above = field.byte_order.i32(pair, 0).unwrap_or_default();
                return Err(refused(format!(
                    "a tag has the rational {above}/0, expected another denominator"
                )));
            }
        }
    }
    Ok(field.field_type.floats(bytes, field.byte_order).unwrap_or_default())
}

/// Returns what the tags of a level state about the image and not about its layout. Empty for a VRT.
#[pyfunction]
pub(crate) fn stated<'py>(py: Python<'py>, dataset: &Dataset, level: usize) -> PyResult<Bound<'py, PyDict>> {
    let attrs = PyDict::new(py);
    let input = dataset.input(py)?;
    let Input::Tiff(file) = input.as_ref() else { return Ok(attrs) };
    let fields = Fields::of(py, dataset, file, level)?;
    if let Some(text) = fields.text(Tag::GDAL_METADATA)
        && let Some(items) = items(&text)
    {
        if !items.items.is_empty() {
            let shown = PyDict::new(py);
            for item in items.items {
                match item.sample {
                    None => shown.set_item(item.name, item.value)?,
                    Some(sample) => shown.set_item((item.name, sample), item.value)?,
                }
            }
            attrs.set_item("gdal_metadata", shown)?;
        }
        attrs.set_item("gdal_metadata_xml", text)?;
    }
    let extra = fields.0.iter().filter(|(tag, _)| !MANAGED.contains(tag));
    let extra: Vec<_> = extra.map(|(_, field)| extra_tag(py, field)).collect::<PyResult<_>>()?;
    if !extra.is_empty() {
        attrs.set_item("extra_tags", extra)?;
    }
    if let Some(field) = fields.get(Tag::ImageDescription) {
        attrs.set_item("image_description", facts::field(py, field)?.get_item(3)?)?;
    }
    for (key, tag) in [("extra_samples", Tag::ExtraSamples), ("colormap", Tag::ColorMap)] {
        if let Some(field) = fields.get(tag) {
            let value = facts::field(py, field)?.get_item(3)?;
            match value.is_instance_of::<PyTuple>() {
                true => attrs.set_item(key, value)?,
                false => attrs.set_item(key, (value,))?,
            }
        }
    }
    for (key, tag) in [("x_resolution", Tag::XResolution), ("y_resolution", Tag::YResolution)] {
        if let Some(value) = fields.number(tag)? {
            attrs.set_item(key, value)?;
        }
    }
    let units = [(1.0, "none"), (2.0, "inch"), (3.0, "centimeter")];
    let unit = fields.number(Tag::ResolutionUnit)?;
    if let Some((_, name)) = units.iter().find(|(number, _)| Some(*number) == unit) {
        attrs.set_item("resolution_unit", name)?;
    }
    // YCbCr is read as RGB; palettes have a `colormap`.
    let photometric = file.pages().first().and_then(|page| page.levels.get(level));
    let colours = match photometric.map(|level| level.image.colour.photometric.code()) {
        Some(2 | 6) => Some("rgb"),
        Some(5) => Some("cmyk"),
        Some(8) => Some("cielab"),
        Some(9) => Some("icclab"),
        Some(10) => Some("itulab"),
        _ => None,
    };
    if let Some(colours) = colours {
        attrs.set_item("photometric", colours)?;
    }
    Ok(attrs)
}

/// A further tag as (tag, type, count, value), rationals as numbers.
fn extra_tag<'py>(py: Python<'py>, field: &StoredField) -> PyResult<Bound<'py, PyTuple>> {
    if !matches!(field.field_type, FieldType::Rational | FieldType::SRational) {
        return facts::field(py, field);
    }
    let numbers = numbers(field)?;
    let value = match numbers.as_slice() {
        [one] => one.into_pyobject(py)?.into_any(),
        all => PyTuple::new(py, all)?.into_any(),
    };
    (field.tag.0, field.field_type.code(), field.count, value).into_pyobject(py)
}

/// The items of GDAL's metadata; `None` where the text is not XML.
fn items(text: &str) -> Option<Metadata> {
    Element::parse(text).ok()?;
    Some(Metadata::parse(text, &mut Warnings::new()))
}

/// Returns the scale and offset of a band (from 0), or of all bands where none is named; `None` where none is stated.
#[pyfunction]
#[pyo3(signature = (dataset, band=None))]
pub(crate) fn scaling(py: Python<'_>, dataset: &Dataset, band: Option<u32>) -> PyResult<Option<(f64, f64)>> {
    let input = dataset.input(py)?;
    let Input::Tiff(file) = input.as_ref() else { return Ok(None) };
    let Some(text) = Fields::of(py, dataset, file, 0)?.text(Tag::GDAL_METADATA) else { return Ok(None) };
    let name = file.name();
    let malformed =
        |problem: String| strile_error(py, "MalformedScaleOffsetError", format!("{name}: {problem}"));
    let found =
        items(&text).ok_or_else(|| malformed("the metadata with scale and offset is not XML".into()))?;
    let all = u32::try_from(file.metadata().bands.len()).unwrap_or(u32::MAX);
    let bands = band.map_or(0..all, |band| band..band.saturating_add(1));
    let one = |key: &str, default: f64| -> PyResult<Option<f64>> {
        let text = |sample: Option<u32>| {
            let item = found.items.iter().rfind(|item| item.name == key && item.sample == sample);
            item.map(|item| item.value.as_str())
        };
        let (whole, mut values) = (text(None), Vec::new());
        let mut any = whole.is_some();
        for band in bands.clone() {
            let own = text(Some(band));
            any |= own.is_some();
            let value = match own.or(whole) {
                None => default,
                Some(text) => {
                    let value = text.trim().parse().ok().filter(|value: &f64| value.is_finite());
                    value.ok_or_else(|| malformed(format!("{key} is {text:?}, expected a finite number")))?
                }
            };
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.len() > 1 && any {
            values.sort_by(f64::total_cmp);
            let shown: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            let sentence = format!(
                "{name}: the bands have different values of {key} ({}): pass band to read one of them",
                shown.join(", ")
            );
            return Err(strile_error(py, "MixedBandMetadataError", sentence));
        }
        Ok(values.first().copied().filter(|_| any))
    };
    match (one("SCALE", 1.0)?, one("OFFSET", 0.0)?) {
        (None, None) => Ok(None),
        (Some(0.0), _) => Err(malformed("the scale is 0 and every value would be the offset".into())),
        (scale, offset) => Ok(Some((scale.unwrap_or(1.0), offset.unwrap_or(0.0)))),
    }
}

/// Returns the status of the georeference, the reference system, and the transform of a window that begins at a pixel.
/// With `shifted` control points count from that pixel.
#[pyfunction]
#[pyo3(signature = (dataset, placement, level, row, column, *, shifted=false, allow_unparseable_crs=false))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn placed<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    placement: &Placement,
    level: usize,
    row: u32,
    column: u32,
    shifted: bool,
    allow_unparseable_crs: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let input = dataset.input(py)?;
    let attrs = PyDict::new(py);
    attrs.set_item(CONTRACT.0, CONTRACT.1)?;
    if let Some(rotated) = placement.rotated {
        attrs.set_item("georef_status", "rotated_dropped")?;
        attrs.set_item(NO_GEOREF, true)?;
        attrs.set_item("rotated_affine", rotated)?;
        return Ok(attrs);
    }
    let levels = input.tiff().and_then(|file| Some((file, file.pages().first()?.levels.get(level)?)));
    let own = levels.and_then(|(file, level)| file.own_georeference(level));
    let georeference = own.as_ref().unwrap_or(&input.metadata().georeference);
    let crs = reference_system(py, georeference, allow_unparseable_crs, input.name())?;
    let transform = placement.at(row, column);
    let status = match (transform.is_some(), crs.is_empty()) {
        (true, false) => "full",
        (true, true) => "transform_only",
        (false, false) => "crs_only",
        (false, true) => "none",
    };
    attrs.set_item("georef_status", status)?;
    match transform {
        Some(transform) => attrs.set_item("transform", transform)?,
        None => attrs.set_item(NO_GEOREF, true)?,
    }
    if placement.point {
        attrs.set_item("raster_type", "point")?;
    }
    if !placement.gcps.is_empty() {
        let (row, column) = if shifted { (f64::from(row), f64::from(column)) } else { (0.0, 0.0) };
        let points =
            placement.gcps.iter().map(|&(down, across, x, y, z)| (down - row, across - column, x, y, z));
        attrs.set_item("gcps", PyTuple::new(py, points.collect::<Vec<_>>())?)?;
    }
    attrs.update(crs.as_mapping())?;
    Ok(attrs)
}

/// Returns the same attributes of pixels on a grid. Of a turned one the transform is `rotated_affine`.
#[pyfunction]
pub(crate) fn placed_on<'py>(py: Python<'py>, grid: &Grid) -> PyResult<Bound<'py, PyDict>> {
    let attrs = PyDict::new(py);
    attrs.set_item(CONTRACT.0, CONTRACT.1)?;
    let transform = grid.transform();
    let (_, b, _, d, _, _) = transform;
    let turned = b != 0.0 || d != 0.0;
    attrs.set_item("georef_status", if turned { "crs_only" } else { "full" })?;
    attrs.set_item(if turned { "rotated_affine" } else { "transform" }, transform)?;
    let crs = grid.0.crs();
    if let Some(code) = crs.epsg {
        attrs.set_item("crs", code)?;
    }
    if let Some(wkt) = &crs.wkt {
        attrs.set_item("crs_wkt", wkt)?;
    }
    Ok(attrs)
}

/// `crs`, the EPSG code of the whole system, and `crs_wkt`, whichever are known. Contradicting keys are refused, and so is
/// text that is meant as a definition and cannot be understood.
fn reference_system<'py>(
    py: Python<'py>,
    georeference: &Georeference,
    allow_unparseable: bool,
    name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let attrs = PyDict::new(py);
    let keys = &georeference.keys;
    check_consistent(py, keys, name)?;
    let crs = georeference.crs.as_ref().or(georeference.gcp_crs.as_ref());
    let code = keys.code(key::PROJECTED_CRS).or(keys.code(key::GEODETIC_CRS));
    if crs.is_none_or(|crs| crs.kind == CrsKind::Local)
        && code.is_none()
        && let Some(text) = citation(keys)
    {
        if let Err(problem) = Crs::from_user_input(text)
            && !allow_unparseable
        {
            let shown: String = text.chars().take(60).collect();
            let sentence = format!(
                "{name}: the reference system {shown:?} cannot be understood ({problem}): pass \
                 allow_unparseable_crs=True to keep the text"
            );
            return Err(strile_error(py, "UnparseableCRSError", sentence));
        }
        attrs.set_item("crs_wkt", text)?;
        return Ok(attrs);
    }
    let Some(crs) = crs else { return Ok(attrs) };
    if let Some(code) = crs.epsg {
        attrs.set_item("crs", code)?;
    }
    match (&crs.wkt, crs.epsg) {
        (Some(wkt), _) => attrs.set_item("crs_wkt", wkt)?,
        (None, Some(code)) => {
            let class = py.import("strile.errors")?.getattr("GeoTIFFFallbackWarning")?;
            let sentence = format!(
                "{name}: EPSG:{code} is not in the table of reference systems, so there is no crs_wkt"
            );
            py.import("warnings")?.call_method1("warn", (sentence, class, 2))?;
        }
        (None, None) => {}
    }
    Ok(attrs)
}

/// Text of a citation that is a definition rather than a name.
fn citation(keys: &GeoKeys) -> Option<&str> {
    const WKT: [&str; 14] = [
        "PROJCS",
        "PROJCRS",
        "GEOGCS",
        "GEOGCRS",
        "GEODCRS",
        "GEODETICCRS",
        "GEOCCS",
        "COMPD_CS",
        "COMPOUNDCRS",
        "LOCAL_CS",
        "ENGCRS",
        "BOUNDCRS",
        "VERT_CS",
        "VERTCRS",
    ];
    let places = [key::PROJECTED_CITATION, key::CITATION, key::GEODETIC_CITATION];
    places.into_iter().filter_map(|place| keys.text(place)).find_map(|text| {
        let text = text.trim().trim_matches(['|', '\0']).trim();
        let starts = |word: &&str| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        (WKT.iter().any(starts) && text.contains('[')).then_some(text)
    })
}

fn check_consistent(py: Python<'_>, keys: &GeoKeys, name: &str) -> PyResult<()> {
    let (projected, geographic) = (keys.code(key::PROJECTED_CRS), keys.code(key::GEODETIC_CRS));
    let problem = match (keys.short(key::MODEL_TYPE), projected, geographic) {
        (Some(2), Some(code), _) => {
            format!("the model is geographic and a projected system is stated (EPSG:{code})")
        }
        (Some(1), _, Some(code))
            if !keys.values.contains_key(&key::PROJECTED_CRS) && citation(keys).is_none() =>
        {
            format!("the model is projected and only a geographic system is stated (EPSG:{code})")
        }
        _ => return Ok(()),
    };
    Err(strile_error(py, "InconsistentGeoKeysError", format!("{name}: {problem}")))
}

/// Returns the items of the file in GDAL's default domain: those of its metadata, and the words of baseline tags.
#[pyfunction]
pub(crate) fn words<'py>(py: Python<'py>, dataset: &Dataset) -> PyResult<Bound<'py, PyDict>> {
    const TEXTS: [(Tag, &str); 7] = [
        (Tag::DocumentName, "TIFFTAG_DOCUMENTNAME"),
        (Tag::ImageDescription, "TIFFTAG_IMAGEDESCRIPTION"),
        (Tag::Software, "TIFFTAG_SOFTWARE"),
        (Tag::DateTime, "TIFFTAG_DATETIME"),
        (Tag::Artist, "TIFFTAG_ARTIST"),
        (Tag::HostComputer, "TIFFTAG_HOSTCOMPUTER"),
        (Tag::Copyright, "TIFFTAG_COPYRIGHT"),
    ];
    const NUMBERS: [(Tag, &str); 4] = [
        (Tag::MinSampleValue, "TIFFTAG_MINSAMPLEVALUE"),
        (Tag::MaxSampleValue, "TIFFTAG_MAXSAMPLEVALUE"),
        (Tag::XResolution, "TIFFTAG_XRESOLUTION"),
        (Tag::YResolution, "TIFFTAG_YRESOLUTION"),
    ];
    let input = dataset.input(py)?;
    let words = PyDict::new(py);
    for item in input.metadata().items.iter().filter(|item| item.domain.is_empty()) {
        words.set_item(&item.name, &item.value)?;
    }
    let set_default = |name: &str, value: String| match words.contains(name)? {
        true => Ok(()),
        false => words.set_item(name, value),
    };
    if let Input::Tiff(file) = input.as_ref() {
        let fields = Fields::of(py, dataset, file, 0)?;
        for (tag, name) in TEXTS {
            if let Some(text) = fields.text(tag) {
                set_default(name, text)?;
            }
        }
        for (tag, name) in NUMBERS {
            let number = fields.get(tag).and_then(|field| {
                field.field_type.floats(field.bytes.as_deref()?, field.byte_order)?.first().copied()
            });
            if let Some(number) = number {
                set_default(name, eight_digits(number))?;
            }
        }
        if let Some(unit) = fields.number(Tag::ResolutionUnit)? {
            let known = [(1.0, "1 (unitless)"), (2.0, "2 (pixels/inch)"), (3.0, "3 (pixels/cm)")];
            let name = known.iter().find(|(number, _)| *number == unit);
            set_default(
                "TIFFTAG_RESOLUTIONUNIT",
                name.map_or(unit.to_string(), |(_, name)| (*name).to_owned()),
            )?;
        }
    }
    if let Some(kind) = input.metadata().georeference.area_or_point {
        words.set_item("AREA_OR_POINT", kind.as_str())?;
    }
    Ok(words)
}

/// A number as `%.8g` of C has it, which is what GDAL prints.
fn eight_digits(number: f64) -> String {
    let scientific = format!("{number:.7e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return number.to_string() };
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    match exponent.parse::<i32>() {
        Ok(exponent @ -4..8) => {
            let decimals = usize::try_from(7 - exponent).unwrap_or(0);
            short(&format!("{number:.decimals$}"))
        }
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", short(digits), exponent.unsigned_abs())
        }
        Err(_) => number.to_string(),
    }
}

/// Refuses a level whose table of blocks has fewer entries than it has blocks.
#[pyfunction]
pub(crate) fn check_tables(py: Python<'_>, dataset: &Dataset, level: usize) -> PyResult<()> {
    let input = dataset.input(py)?;
    let Input::Tiff(file) = input.as_ref() else { return Ok(()) };
    let Some(found) = file.pages().first().and_then(|page| page.levels.get(level)) else { return Ok(()) };
    let image = &found.image;
    let blocks = |side: u32, block: u32| u64::from(side.div_ceil(block.max(1)));
    let (apart, planar) = match image.planar {
        strile::tiff::Planar::Separate => (u64::from(image.samples), "separate"),
        strile::tiff::Planar::Chunky => (1, "contig"),
    };
    let down = blocks(image.height, image.grid.block_height);
    let needed = down.saturating_mul(blocks(image.width, image.grid.block_width)).saturating_mul(apart);
    let fields = dataset.quickly(py, &Cancel::default(), || file.fields(0, level, |_| false))?;
    if let Some(field) = fields.iter().find(|field| TABLES.contains(&field.tag) && field.count < needed) {
        let (tag, count, bands) = (field.tag.0, field.count, image.samples);
        return Err(refused(format!(
            "{}: {needed} entries of a {planar} planar image with {bands} bands are needed in the table of blocks (tag \
             {tag}) and it has {count}",
            file.name()
        )));
    }
    Ok(())
}
