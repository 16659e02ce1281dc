//! Makes `Dataset.facts` and `Dataset.tags`: the metadata of a file as Python values.

use crate::dict::{Dicts, dict};
use crate::error::exception;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyList, PyString, PyTuple};
use strile::file::Metadata;
use strile::file::{Level, StoredField};
use strile::read::{MaskSource, Place};
use strile::tiff::gdal::{BandMetadata, MetadataItem, NoData};
use strile::tiff::geo::{AreaOrPoint, Crs, CrsKind, Georeference, KeyValue};
use strile::tiff::{BlockArray, BlockKind, ByteOrder, ExtraSample, FieldType, SampleFormat, Tag, Variant};
use strile::tiff::{Photometric, Planar, Predictor, Warning};
use strile::{Dataset, Input, Vrt};

/// Returns all metadata of an opened file.
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
    let pages = PyList::empty(py);
    for page in dataset.pages() {
        let levels = page.levels.iter().map(|level| of_level(py, dataset, level));
        pages.append(dict!(py; "levels" => levels.collect::<PyResult<Dicts<'_>>>()?))?;
    }
    let text = tiff.directories.first().and_then(|directory| directory.text(Tag::GDAL_NODATA));
    let mask = dataset.mask_source(&Place::default()).unwrap_or(MaskSource::AllValid);
    let facts = dict!(
        py; "byte_order" => order_name(tiff.header.byte_order), "bigtiff" => tiff.header.variant == Variant::Big,
        "pages" => pages, "nodata_text" => text, "mask_source" => mask_name(mask),
    );
    dict.update(facts.as_mapping())
}

fn of_level<'py>(py: Python<'py>, dataset: &Dataset, level: &Level) -> PyResult<Bound<'py, PyDict>> {
    let image = &level.image;
    let (sample, bands) = (image.sample, usize::from(image.samples));
    let dtype = sample.data_type().map_or_else(|| sample.to_string(), |t| t.name().to_owned());
    let largest = match &image.table.sizes {
        BlockArray::Here(sizes) => sizes.iter().max(),
        BlockArray::There(_) => None,
    };
    let stored = dataset.tiff().filter(|_| level.file == 0);
    let stored =
        stored.and_then(|tiff| tiff.directories.get(image.directory)?.integer(Tag::Compression).ok()?);
    let usual = image.compression.codes().first().copied().map(u64::from);
    let predictor = match image.predictor {
        Predictor::None => 1,
        Predictor::Horizontal => 2,
        Predictor::FloatingPoint => 3,
    };
    let extra = image.colour.extra_samples.iter().map(|extra| match extra {
        ExtraSample::Unspecified => 0u16,
        ExtraSample::AssociatedAlpha => 1,
        ExtraSample::UnassociatedAlpha => 2,
    });
    let own = dataset.own_georeference(level);
    let own = own.map(|own| {
        let dict = PyDict::new(py);
        of_georeference(&dict, &own).map(|()| dict)
    });
    Ok(dict!(
        py; image { width, height, orientation }, "bands" => bands, "dtype" => dtype,
        "bits" => image.mixed_bits.clone().unwrap_or_else(|| vec![sample.bits; bands]),
        "sample_formats" => vec![format_code(sample.format); bands],
        "block" => (image.grid.block_height, image.grid.block_width),
        "tiled" => image.grid.kind == BlockKind::Tile, "largest_block" => largest,
        "compression" => image.compression.name(), "compression_code" => stored.or(usual),
        "predictor" => predictor, "photometric" => image.colour.photometric.code(),
        "planar" => if image.planar == Planar::Chunky { "contig" } else { "separate" },
        "extra_samples" => extra.collect::<Vec<_>>(), "sidecar" => level.file != 0,
        "has_mask" => level.mask.is_some(), "georeference" => own.transpose()?,
    ))
}

fn of_mosaic(dict: &Bound<'_, PyDict>, vrt: &Vrt) -> PyResult<()> {
    let py = dict.py();
    let (width, height, bands) = (vrt.width(), vrt.height(), usize::from(vrt.bands()));
    let data_type = vrt.data_type();
    let format = match crate::raster::kind(data_type).0 {
        'i' => SampleFormat::Int,
        'f' => SampleFormat::Float,
        'c' => SampleFormat::ComplexFloat,
        _ => SampleFormat::Uint,
    };
    let palette = !vrt.colour_table(1).is_empty();
    let photometric = if palette { Photometric::Palette } else { Photometric::MinIsBlack };
    let mask = vrt.mask_source();
    let level = dict!(
        py; "width" => width, "height" => height, "bands" => bands, "dtype" => data_type.name(),
        "bits" => vec![data_type.size() * 8; bands], "sample_formats" => vec![format_code(format); bands],
        // As GDAL has it.
        "block" => (height.min(128), width.min(128)), "tiled" => true, "compression" => "none",
        "compression_code" => 1, "predictor" => 1, "photometric" => photometric.code(), "planar" => "separate",
        "orientation" => 1, "extra_samples" => PyList::empty(py), "sidecar" => false,
        "has_mask" => mask == MaskSource::Image,
    );
    // Bands of a mosaic may differ in it.
    let nodata = (1..=vrt.bands()).map(|band| number(py, vrt.nodata(band)));
    let facts = dict!(
        py; "kind" => "vrt", "warped" => vrt.is_warped(), "byte_order" => order_name(ByteOrder::NATIVE),
        "bigtiff" => false, "pages" => [dict!(py; "levels" => [level])],
        "nodata_text" => vrt.nodata(1).map(NoData::to_text), "mask_source" => mask_name(mask),
        "band_nodata" => nodata.collect::<PyResult<Vec<_>>>()?,
    );
    dict.update(facts.as_mapping())
}

fn of_metadata(dict: &Bound<'_, PyDict>, metadata: &Metadata) -> PyResult<()> {
    let py = dict.py();
    dict.set_item("nodata", number(py, metadata.nodata)?)?;
    of_georeference(dict, &metadata.georeference)?;
    let bands = metadata.bands.iter().map(|band| of_band(py, band));
    dict.set_item("bands", bands.collect::<PyResult<Dicts<'_>>>()?)?;
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

/// Returns a reference system as a dict.
pub(crate) fn of_crs<'py>(py: Python<'py>, crs: &Crs) -> PyResult<Bound<'py, PyDict>> {
    let kind = match crs.kind {
        CrsKind::Projected => "projected",
        CrsKind::Geographic | CrsKind::Geographic3D => "geographic",
        CrsKind::Geocentric => "geocentric",
        CrsKind::Compound => "compound",
        CrsKind::Local => "local",
        CrsKind::Vertical => "vertical",
        CrsKind::Other => "unknown",
    };
    Ok(dict!(py; crs { epsg, horizontal_epsg, wkt, name }, "kind" => kind))
}

fn of_band<'py>(py: Python<'py>, band: &BandMetadata) -> PyResult<Bound<'py, PyDict>> {
    let items = band.items.iter().map(|(name, value)| (name, value)).into_py_dict(py)?;
    Ok(dict!(py; band { description, unit, scale, offset }, "items" => items))
}

/// Returns a value as a number of Python, whole numbers exactly.
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

/// Returns the number of a sample format in its tag.
fn format_code(format: SampleFormat) -> u16 {
    match format {
        SampleFormat::Uint => 1,
        SampleFormat::Int => 2,
        SampleFormat::Float => 3,
        SampleFormat::ComplexInt => 5,
        SampleFormat::ComplexFloat => 6,
    }
}

/// Returns a field as (tag, type, count, value): a number, a tuple of them (pairs of rationals flat), text or bytes; None for a
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
