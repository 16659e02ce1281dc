//! Makes the attributes of a read from the tags, the GeoKeys and GDAL's metadata of a file.
//!
//! A file has the key of each feature that it has, at every level: an overview without metadata, tags or resolution of
//! its own has those of the full resolution. Tags about the layout of the file are left out.

use crate::arguments::Value;
use crate::dataset::{Dataset, data_type};
use crate::error::{fallback_warning, refused, strile_error};
use crate::facts;
use crate::grid::Grid;
use crate::placement::{Placement, numbers_of};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};
use strile::engine::Convert;
use strile::error::InvalidValue;
use strile::file::{RESOLUTION_UNITS, StatedCrs, StoredField, colours_name};
use strile::tiff::{FieldType, Tag};
use strile::{Cancel, Input};

/// Arrays of xarray-spatial have these keys, too.
const CONTRACT: (&str, u8) = ("_xrspatial_geotiff_contract", 5);
const NO_GEOREF: &str = "_xrspatial_no_georef";

fn invalid(problem: InvalidValue) -> PyErr {
    refused(problem.to_string())
}

/// Returns attributes of the tags of a level, without those about the layout of the file. Empty for a VRT.
#[pyfunction]
pub(crate) fn stated<'py>(py: Python<'py>, dataset: &Dataset, level: usize) -> PyResult<Bound<'py, PyDict>> {
    let attrs = PyDict::new(py);
    let input = dataset.input(py)?;
    let Input::Tiff(file) = input.as_ref() else { return Ok(attrs) };
    let fields = dataset.quickly(py, &Cancel::default(), || file.stated_fields(level))?;
    if let Some((text, items)) = fields.metadata() {
        if !items.is_empty() {
            let shown = PyDict::new(py);
            for item in items {
                match item.sample {
                    None => shown.set_item(item.name, item.value)?,
                    Some(sample) => shown.set_item((item.name, sample), item.value)?,
                }
            }
            attrs.set_item("gdal_metadata", shown)?;
        }
        attrs.set_item("gdal_metadata_xml", text)?;
    }
    let extra: Vec<_> = fields.further().map(|field| extra_tag(py, field)).collect::<PyResult<_>>()?;
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
        if let Some(value) = fields.number(tag).map_err(invalid)? {
            attrs.set_item(key, value)?;
        }
    }
    let unit = fields.number(Tag::ResolutionUnit).map_err(invalid)?;
    if let Some((name, _)) = RESOLUTION_UNITS.iter().zip(1..).find(|(_, code)| Some(f64::from(*code)) == unit)
    {
        attrs.set_item("resolution_unit", name)?;
    }
    let level = file.pages().first().and_then(|page| page.levels.get(level));
    if let Some(colours) = level.and_then(|level| colours_name(level.image.colour.photometric)) {
        attrs.set_item("photometric", colours)?;
    }
    Ok(attrs)
}

/// Returns a further tag as (tag, type, count, value), rationals as numbers.
fn extra_tag<'py>(py: Python<'py>, field: &StoredField) -> PyResult<Bound<'py, PyTuple>> {
    if !matches!(field.field_type, FieldType::Rational | FieldType::SRational) {
        return facts::field(py, field);
    }
    let numbers = field.numbers().map_err(invalid)?;
    let value = match numbers.as_slice() {
        [one] => one.into_pyobject(py)?.into_any(),
        all => PyTuple::new(py, all)?.into_any(),
    };
    (field.tag.0, field.field_type.code(), field.count, value).into_pyobject(py)
}

/// Returns the scale and offset of a band (from 0), or of all bands where none is named; `None` where none is stated.
#[pyfunction]
#[pyo3(signature = (dataset, band=None))]
pub(crate) fn scaling(py: Python<'_>, dataset: &Dataset, band: Option<u32>) -> PyResult<Option<(f64, f64)>> {
    match dataset.input(py)?.as_ref() {
        Input::Tiff(file) => dataset.quickly(py, &Cancel::default(), || file.stated_scaling(band)),
        Input::Vrt(_) => Ok(None),
    }
}

/// Returns whether pixels of a type can have a nodata value that a file states. One that is not a whole number is refused for
/// integers, unless it is allowed.
#[pyfunction]
#[pyo3(signature = (value, dtype, name, *, allow_invalid=false))]
pub(crate) fn check_nodata(
    py: Python<'_>,
    value: Value,
    dtype: &str,
    name: &str,
    allow_invalid: bool,
) -> PyResult<bool> {
    let (Value(value), data_type) = (value, data_type(dtype)?);
    if !Convert::takes(data_type)
        || Convert::gives(data_type)
        || value.as_integer().is_some()
        || allow_invalid
    {
        return Ok(value.to_sample(data_type).is_some());
    }
    let problem = format!(
        "{name}: the nodata value {} is not a whole number and pixels are {dtype}: pass allow_invalid_nodata=True to \
         read it unmasked",
        value.to_text()
    );
    Err(strile_error(py, "InvalidIntegerNodataError", problem))
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
    let attrs = [CONTRACT].into_py_dict(py)?;
    if let Some(rotated) = placement.0.rotated {
        attrs.set_item("georef_status", "rotated_dropped")?;
        attrs.set_item(NO_GEOREF, true)?;
        attrs.set_item("rotated_affine", numbers_of(rotated))?;
        return Ok(attrs);
    }
    let levels = input.tiff().and_then(|file| Some((file, file.pages().first()?.levels.get(level)?)));
    let own = levels.and_then(|(file, level)| file.own_georeference(level));
    let georeference = own.as_ref().unwrap_or(&input.metadata().georeference);
    let name = input.name();
    let crs = StatedCrs::of(georeference, allow_unparseable_crs, name).map_err(crate::error::exception)?;
    let transform = placement.0.at(row, column);
    let status = match (transform.is_some(), crs.is_empty()) {
        (true, false) => "full",
        (true, true) => "transform_only",
        (false, false) => "crs_only",
        (false, true) => "none",
    };
    attrs.set_item("georef_status", status)?;
    match transform {
        Some(transform) => attrs.set_item("transform", numbers_of(transform))?,
        None => attrs.set_item(NO_GEOREF, true)?,
    }
    if placement.0.is_point {
        attrs.set_item("raster_type", "point")?;
    }
    if !placement.0.gcps.is_empty() {
        let (row, column) = if shifted { (row, column) } else { (0, 0) };
        attrs.set_item("gcps", PyTuple::new(py, placement.gcps_from(row, column))?)?;
    }
    if let (Some(code), None) = (crs.epsg, &crs.wkt) {
        let sentence =
            format!("{name}: EPSG:{code} is not in the table of reference systems, so there is no crs_wkt");
        fallback_warning(py, &sentence, 2)?;
    }
    system(&attrs, crs.epsg, crs.wkt.as_deref())?;
    Ok(attrs)
}

/// Adds `crs`, the EPSG code of the whole system, and `crs_wkt`, whichever are known.
fn system(attrs: &Bound<'_, PyDict>, epsg: Option<u32>, wkt: Option<&str>) -> PyResult<()> {
    if let Some(code) = epsg {
        attrs.set_item("crs", code)?;
    }
    wkt.map_or(Ok(()), |wkt| attrs.set_item("crs_wkt", wkt))
}

/// Returns the same attributes of pixels on a grid. Of a turned one the transform is `rotated_affine`.
#[pyfunction]
pub(crate) fn placed_on<'py>(py: Python<'py>, grid: &Grid) -> PyResult<Bound<'py, PyDict>> {
    let attrs = [CONTRACT].into_py_dict(py)?;
    let transform = grid.0.transform();
    let (status, key) = match transform.is_axis_aligned() {
        true => ("full", "transform"),
        false => ("crs_only", "rotated_affine"),
    };
    attrs.set_item("georef_status", status)?;
    attrs.set_item(key, numbers_of(transform))?;
    let crs = grid.0.crs();
    system(&attrs, crs.epsg, crs.wkt.as_deref())?;
    Ok(attrs)
}

/// Returns the items of the file in GDAL's default domain: those of its metadata, and the words of baseline tags.
#[pyfunction]
pub(crate) fn words<'py>(py: Python<'py>, dataset: &Dataset) -> PyResult<Bound<'py, PyDict>> {
    let input = dataset.input(py)?;
    dataset.quickly(py, &Cancel::default(), || input.words())?.into_py_dict(py)
}

/// Refuses a level whose table of blocks has fewer entries than it has blocks, or whose signed samples are stored white as zero.
#[pyfunction]
pub(crate) fn check_level(py: Python<'_>, dataset: &Dataset, level: usize) -> PyResult<()> {
    match dataset.input(py)?.as_ref() {
        Input::Tiff(file) => dataset.quickly(py, &Cancel::default(), || {
            file.check_block_tables(level)?;
            file.check_white(level)
        }),
        Input::Vrt(_) => Ok(()),
    }
}
