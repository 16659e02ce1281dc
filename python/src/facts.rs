//! `Dataset.facts` and `Dataset.tags`: what is known without reading pixels, as Python values.

use crate::error::exception;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use strile::file::Metadata;
use strile::file::{Level, StoredField};
use strile::read::{MaskSource, Place};
use strile::tiff::gdal::{BandMetadata, MetadataItem, NoData};
use strile::tiff::geo::{AreaOrPoint, Crs, CrsKind, Georeference, KeyValue};
use strile::tiff::{BlockArray, BlockKind, ByteOrder, ExtraSample, FieldType, SampleFormat, Tag, Variant};
use strile::tiff::{Photometric, Planar, Predictor, Warning};
use strile::{Dataset, Input, Vrt};

/// All that is known of an opened file.
pub(crate) fn facts<'py>(py: Python<'py>, input: &Input) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    match input {
        Input::Tiff(dataset) => of_file(&dict, dataset)?,
        Input::Vrt(vrt) => of_mosaic(&dict, vrt)?,
    }
    of_metadata(&dict, input.metadata())?;
    dict.set_item("stated_nodata", number(py, input.stated_nodata())?)?;
    dict.set_item("colours", input.band_colours().map_err(exception)?)?;
    let warnings = input.warnings();
    dict.set_item("warnings", PyList::new(py, warnings.iter().map(warning))?)?;
    Ok(dict)
}

fn warning(warning: &Warning) -> (&str, &str, &str) {
    (warning.code, &warning.place, &warning.message)
}

fn of_file(dict: &Bound<'_, PyDict>, dataset: &Dataset) -> PyResult<()> {
    let py = dict.py();
    dict.set_item("kind", "tiff")?;
    let Some(tiff) = dataset.tiff() else { return Ok(()) };
    dict.set_item("byte_order", order_name(tiff.header.byte_order))?;
    dict.set_item("bigtiff", tiff.header.variant == Variant::Big)?;
    let pages = PyList::empty(py);
    for page in dataset.pages() {
        let levels = PyList::empty(py);
        for level in &page.levels {
            levels.append(of_level(py, dataset, level)?)?;
        }
        let one = PyDict::new(py);
        one.set_item("levels", levels)?;
        pages.append(one)?;
    }
    dict.set_item("pages", pages)?;
    let text = tiff.directories.first().and_then(|directory| directory.text(Tag::GDAL_NODATA));
    dict.set_item("nodata_text", text)?;
    let mask = dataset.mask_source(&Place::default()).unwrap_or(MaskSource::AllValid);
    dict.set_item("mask_source", mask_name(mask))
}

fn of_level<'py>(py: Python<'py>, dataset: &Dataset, level: &Level) -> PyResult<Bound<'py, PyDict>> {
    let image = &level.image;
    let dict = PyDict::new(py);
    dict.set_item("width", image.width)?;
    dict.set_item("height", image.height)?;
    dict.set_item("bands", image.samples)?;
    let data_type = image.sample.data_type();
    dict.set_item("dtype", data_type.map_or_else(|| image.sample.to_string(), |t| t.name().to_owned()))?;
    let bits =
        image.mixed_bits.clone().unwrap_or_else(|| vec![image.sample.bits; usize::from(image.samples)]);
    dict.set_item("bits", bits)?;
    dict.set_item("sample_formats", vec![format_code(image.sample.format); usize::from(image.samples)])?;
    dict.set_item("block", (image.grid.block_height, image.grid.block_width))?;
    dict.set_item("tiled", image.grid.kind == BlockKind::Tile)?;
    let largest = match &image.table.sizes {
        BlockArray::Here(sizes) => sizes.iter().max(),
        BlockArray::There(_) => None,
    };
    dict.set_item("largest_block", largest)?;
    dict.set_item("compression", image.compression.name())?;
    let stored = dataset.tiff().filter(|_| level.file == 0);
    let stored =
        stored.and_then(|tiff| tiff.directories.get(image.directory)?.integer(Tag::Compression).ok()?);
    let usual = image.compression.codes().first().copied().map(u64::from);
    dict.set_item("compression_code", stored.or(usual))?;
    let predictor = match image.predictor {
        Predictor::None => 1,
        Predictor::Horizontal => 2,
        Predictor::FloatingPoint => 3,
    };
    dict.set_item("predictor", predictor)?;
    dict.set_item("photometric", image.colour.photometric.code())?;
    dict.set_item("planar", if image.planar == Planar::Chunky { "contig" } else { "separate" })?;
    dict.set_item("orientation", image.orientation)?;
    let extra = image.colour.extra_samples.iter().map(|extra| match extra {
        ExtraSample::Unspecified => 0u16,
        ExtraSample::AssociatedAlpha => 1,
        ExtraSample::UnassociatedAlpha => 2,
    });
    dict.set_item("extra_samples", extra.collect::<Vec<_>>())?;
    dict.set_item("sidecar", level.file != 0)?;
    dict.set_item("has_mask", level.mask.is_some())?;
    let own = dataset.own_georeference(level);
    let own = own.map(|own| {
        let dict = PyDict::new(py);
        of_georeference(&dict, &own).map(|()| dict)
    });
    dict.set_item("georeference", own.transpose()?)?;
    Ok(dict)
}

fn of_mosaic(dict: &Bound<'_, PyDict>, vrt: &Vrt) -> PyResult<()> {
    let py = dict.py();
    dict.set_item("kind", "vrt")?;
    dict.set_item("warped", vrt.is_warped())?;
    dict.set_item("byte_order", order_name(ByteOrder::NATIVE))?;
    dict.set_item("bigtiff", false)?;
    let data_type = vrt.data_type();
    let bands = usize::from(vrt.bands());
    let letter = crate::raster::kind(data_type).0;
    let format = match letter {
        'i' => SampleFormat::Int,
        'f' => SampleFormat::Float,
        'c' => SampleFormat::ComplexFloat,
        _ => SampleFormat::Uint,
    };
    let level = PyDict::new(py);
    level.set_item("width", vrt.width())?;
    level.set_item("height", vrt.height())?;
    level.set_item("bands", bands)?;
    level.set_item("dtype", data_type.name())?;
    level.set_item("bits", vec![data_type.size() * 8; bands])?;
    level.set_item("sample_formats", vec![format_code(format); bands])?;
    // As GDAL has it.
    level.set_item("block", (vrt.height().min(128), vrt.width().min(128)))?;
    level.set_item("tiled", true)?;
    level.set_item("compression", "none")?;
    level.set_item("compression_code", 1)?;
    level.set_item("predictor", 1)?;
    let palette = !vrt.colour_table(1).is_empty();
    let photometric = if palette { Photometric::Palette } else { Photometric::MinIsBlack };
    level.set_item("photometric", photometric.code())?;
    level.set_item("planar", "separate")?;
    level.set_item("orientation", 1)?;
    level.set_item("extra_samples", PyList::empty(py))?;
    level.set_item("sidecar", false)?;
    let mask = vrt.mask_source();
    level.set_item("has_mask", mask == MaskSource::Image)?;
    let page = PyDict::new(py);
    page.set_item("levels", [level])?;
    dict.set_item("pages", [page])?;
    dict.set_item("nodata_text", vrt.nodata(1).map(NoData::to_text))?;
    dict.set_item("mask_source", mask_name(mask))?;
    // Bands of a mosaic may differ in it.
    let nodata = (1..=vrt.bands()).map(|band| number(py, vrt.nodata(band)));
    dict.set_item("band_nodata", nodata.collect::<PyResult<Vec<_>>>()?)
}

fn of_metadata(dict: &Bound<'_, PyDict>, metadata: &Metadata) -> PyResult<()> {
    let py = dict.py();
    dict.set_item("nodata", number(py, metadata.nodata)?)?;
    of_georeference(dict, &metadata.georeference)?;
    let bands = PyList::empty(py);
    for band in &metadata.bands {
        bands.append(of_band(py, band)?)?;
    }
    dict.set_item("bands", bands)?;
    let item = |item: &MetadataItem| (item.name.clone(), item.value.clone(), item.domain.clone());
    dict.set_item("items", metadata.items.iter().map(item).collect::<Vec<_>>())?;
    dict.set_item("categories", &metadata.categories)
}

fn of_georeference(dict: &Bound<'_, PyDict>, georeference: &Georeference) -> PyResult<()> {
    let py = dict.py();
    let transform = georeference.transform.map(|t| (t.a, t.b, t.c, t.d, t.e, t.f));
    dict.set_item("transform", transform)?;
    let area_or_point = georeference.area_or_point.map(|kind| match kind {
        AreaOrPoint::Area => "area",
        AreaOrPoint::Point => "point",
    });
    dict.set_item("area_or_point", area_or_point)?;
    let crs = georeference.crs.as_ref().or(georeference.gcp_crs.as_ref());
    dict.set_item("crs", crs.map(|crs| of_crs(py, crs)).transpose()?)?;
    let gcps = georeference.gcps.iter().map(|gcp| (gcp.row, gcp.column, gcp.x, gcp.y, gcp.z));
    dict.set_item("gcps", gcps.collect::<Vec<_>>())?;
    let keys = PyDict::new(py);
    for (id, value) in &georeference.keys.values {
        match value {
            KeyValue::Short(value) => keys.set_item(id, value)?,
            KeyValue::Shorts(values) => keys.set_item(id, PyTuple::new(py, values)?)?,
            KeyValue::Doubles(values) => match values.as_slice() {
                [value] => keys.set_item(id, value)?,
                values => keys.set_item(id, PyTuple::new(py, values)?)?,
            },
            KeyValue::Text(text) => keys.set_item(id, text)?,
        }
    }
    dict.set_item("geokeys", keys)
}

/// A reference system as a dict.
pub(crate) fn of_crs<'py>(py: Python<'py>, crs: &Crs) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("epsg", crs.epsg)?;
    dict.set_item("horizontal_epsg", crs.horizontal_epsg)?;
    dict.set_item("wkt", &crs.wkt)?;
    dict.set_item("name", &crs.name)?;
    let kind = match crs.kind {
        CrsKind::Projected => "projected",
        CrsKind::Geographic | CrsKind::Geographic3D => "geographic",
        CrsKind::Geocentric => "geocentric",
        CrsKind::Compound => "compound",
        CrsKind::Local => "local",
        CrsKind::Vertical => "vertical",
        CrsKind::Other => "unknown",
    };
    dict.set_item("kind", kind)?;
    Ok(dict)
}

fn of_band<'py>(py: Python<'py>, band: &BandMetadata) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("description", &band.description)?;
    dict.set_item("unit", &band.unit)?;
    dict.set_item("scale", band.scale)?;
    dict.set_item("offset", band.offset)?;
    let items = PyDict::new(py);
    for (name, value) in &band.items {
        items.set_item(name, value)?;
    }
    dict.set_item("items", items)?;
    Ok(dict)
}

/// Whole numbers exactly.
pub(crate) fn number(py: Python<'_>, value: Option<NoData>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let value = match value {
        None => return Ok(None),
        Some(NoData::Integer(value)) => value.into_pyobject(py)?.into_any(),
        Some(NoData::Float(value)) => value.into_pyobject(py)?.into_any(),
    };
    Ok(Some(value))
}

fn order_name(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    }
}

fn mask_name(mask: MaskSource) -> &'static str {
    match mask {
        MaskSource::Image => "image",
        MaskSource::Alpha(_) => "alpha",
        MaskSource::NoData => "nodata",
        MaskSource::AllValid => "none",
    }
}

/// Tag SampleFormat.
fn format_code(format: SampleFormat) -> u16 {
    match format {
        SampleFormat::Uint => 1,
        SampleFormat::Int => 2,
        SampleFormat::Float => 3,
        SampleFormat::ComplexInt => 5,
        SampleFormat::ComplexFloat => 6,
    }
}

/// A field as (tag, type, count, value): a number, a tuple of them (pairs of rationals flat), text or bytes; None for a
/// value of more than 16 MiB.
pub(crate) fn field<'py>(py: Python<'py>, field: &StoredField) -> PyResult<Bound<'py, PyTuple>> {
    let value = match &field.bytes {
        None => py.None().into_bound(py),
        Some(bytes) => value(py, field, bytes)?,
    };
    let (tag, code) = (field.tag.0, field.field_type.code());
    (tag, code, field.count, value).into_pyobject(py)
}

fn value<'py>(py: Python<'py>, field: &StoredField, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let order = field.byte_order;
    let unit = usize::try_from(field.field_type.swap_unit()).unwrap_or(1);
    let parts = bytes.chunks_exact(unit);
    macro_rules! numbers {
        ($one:expr) => {{
            let all: Vec<_> = parts.filter_map($one).collect();
            match all.as_slice() {
                [one] => one.into_pyobject(py)?.into_any(),
                all => PyTuple::new(py, all)?.into_any(),
            }
        }};
    }
    Ok(match field.field_type {
        FieldType::Ascii => {
            // As stored, less the closing NUL; several texts keep the NULs between them.
            let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
            PyString::new(py, &String::from_utf8_lossy(text)).into_any()
        }
        FieldType::Undefined => PyBytes::new(py, bytes).into_any(),
        FieldType::Byte => numbers!(|b: &[u8]| b.first().copied()),
        FieldType::SByte => numbers!(|b: &[u8]| b.first().map(|v| v.cast_signed())),
        FieldType::Short => numbers!(|b: &[u8]| order.u16(b, 0)),
        FieldType::SShort => numbers!(|b: &[u8]| order.i16(b, 0)),
        FieldType::Long | FieldType::Ifd | FieldType::Rational => numbers!(|b: &[u8]| order.u32(b, 0)),
        FieldType::SLong | FieldType::SRational => numbers!(|b: &[u8]| order.i32(b, 0)),
        FieldType::Long8 | FieldType::Ifd8 => numbers!(|b: &[u8]| order.u64(b, 0)),
        FieldType::SLong8 => numbers!(|b: &[u8]| order.i64(b, 0)),
        FieldType::Float => numbers!(|b: &[u8]| order.f32(b, 0)),
        FieldType::Double => numbers!(|b: &[u8]| order.f64(b, 0)),
    })
}
