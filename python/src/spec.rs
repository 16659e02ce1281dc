//! The dict `raster`: what is written.

use crate::crs;
use crate::keys::{Keys, elements, float, integer, optional, text};
use crate::tags;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use strile::tiff::gdal::{BandMetadata, MetadataItem, NoData};
use strile::tiff::geo::{AreaOrPoint, Crs, CrsKind, GeoTransform};
use strile::tiff::{ExtraSample, FieldValue, Tag};
use strile::{DataType, Photometric, RasterSpec};

/// The raster that a dict describes.
pub(crate) fn raster(dict: &Bound<'_, PyDict>) -> PyResult<RasterSpec> {
    let py = dict.py();
    let mut keys = Keys::new("raster", dict);
    let mut sides = [0_u32; 2];
    for (side, key) in sides.iter_mut().zip(["width", "height"]) {
        let value = keys.integer(key, "a number of pixels from 1 on")?;
        *side = keys.needed(key, value)?;
        if *side == 0 {
            return Err(keys.refused(py, key, "0 given, a number of pixels from 1 on expected"));
        }
    }
    let bands = keys.integer("bands", "a number of bands from 1 to 65535")?;
    let bands: u16 = keys.needed("bands", bands)?;
    if bands == 0 {
        return Err(keys.refused(py, "bands", "0 given, a number of bands from 1 to 65535 expected"));
    }
    let names: Vec<&str> = DataType::ALL.iter().map(|data_type| data_type.name()).collect();
    let data_type = keys
        .word("dtype", &names, |name| DataType::ALL.into_iter().find(|data_type| data_type.name() == name))?;
    let data_type = keys.needed("dtype", data_type)?;
    let [width, height] = sides;
    let mut spec = RasterSpec::new(width, height, bands, data_type);
    spec.mask = keys.flag("mask")?.unwrap_or(false);
    colours(&mut keys, &mut spec)?;
    georeference(&mut keys, &mut spec)?;
    spec.metadata.nodata = nodata(&mut keys, data_type)?;
    if let Some(text) = keys.text("nodata_text")? {
        // A value that no sample has: the file states it, and it marks nothing.
        spec.extra_fields.push((Tag::GDAL_NODATA, FieldValue::Text(text)));
    }
    spec.metadata.categories = keys.list("categories", "a list of names", text)?.unwrap_or_default();
    let said = bands_and_items(&mut keys, &mut spec)?;
    let xml = keys.text("gdal_metadata_xml")?;
    extra_tags(&mut keys, &mut spec, py)?;
    if let Some(xml) = xml {
        if let Some(key) = said {
            let problem = format!("is written as it is, so that `{key}` has no place; leave one out");
            return Err(keys.refused(py, "gdal_metadata_xml", &problem));
        }
        spec.metadata.items.clear();
        let closed = xml.trim_end_matches('\0').to_owned();
        spec.extra_fields.push((Tag::GDAL_METADATA, FieldValue::Text(closed)));
    }
    keys.finish()?;
    Ok(spec)
}

fn colours(keys: &mut Keys<'_, '_>, spec: &mut RasterSpec) -> PyResult<()> {
    let code = keys.integer::<u16>("photometric", "a number of TIFF's table")?;
    spec.photometric = code.map(Photometric::from_code);
    spec.extra_samples =
        keys.list("extra_samples", "a list of 0, 1 and 2", |value| match integer(value)? {
            0 => Some(ExtraSample::Unspecified),
            1 => Some(ExtraSample::AssociatedAlpha),
            2 => Some(ExtraSample::UnassociatedAlpha),
            _ => None,
        })?;
    spec.colour_map = keys.list("colormap", "a list of (red, green, blue) from 0 to 65535", |value| {
        let parts = elements(value)?;
        let parts: Vec<u16> =
            parts.iter().map(|part| u16::try_from(integer(part)?).ok()).collect::<Option<_>>()?;
        parts.try_into().ok()
    })?;
    Ok(())
}

fn georeference(keys: &mut Keys<'_, '_>, spec: &mut RasterSpec) -> PyResult<()> {
    let georeference = &mut spec.metadata.georeference;
    georeference.transform = keys
        .typed("transform", "six numbers (a, b, c, d, e, f)", |value| {
            let values: Vec<f64> = elements(value)?.iter().map(float).collect::<Option<_>>()?;
            values.try_into().ok()
        })?
        .map(GeoTransform::from_coefficients);
    georeference.area_or_point = keys.word("area_or_point", &["area", "point"], |word| match word {
        "area" => Some(AreaOrPoint::Area),
        "point" => Some(AreaOrPoint::Point),
        _ => None,
    })?;
    georeference.crs = keys.get("crs")?.map(|definition| crs::parse(&definition)).transpose()?;
    if let Some(name) = keys.text("crs_citation")? {
        // A system that nothing is known of but what it is called.
        let (epsg, horizontal_epsg, wkt, unit, vertical) = (None, None, None, None, None);
        georeference.crs =
            Some(Crs { epsg, horizontal_epsg, wkt, name, kind: CrsKind::Other, unit, vertical });
    }
    Ok(())
}

/// Whole numbers exactly, others as they are; one that the type has no value near is refused.
fn nodata(keys: &mut Keys<'_, '_>, data_type: DataType) -> PyResult<Option<NoData>> {
    let Some(value) = keys.get("nodata")? else { return Ok(None) };
    let given = match integer(&value) {
        Some(number) => NoData::Integer(number),
        None => {
            let number = float(&value).ok_or_else(|| keys.wrong_type("nodata", &value, "a number"))?;
            NoData::Float(number)
        }
    };
    use DataType as D;
    let is_float = matches!(data_type, D::F16 | D::F32 | D::F64 | D::C64 | D::C128);
    let is_whole = given.as_integer().is_some();
    if given.for_type(data_type).is_none() || !(is_float || is_whole) {
        return Err(keys.out_of_range("nodata", &value, &format!("a value of {}", data_type.name())));
    }
    Ok(Some(given))
}

/// What is said of bands and of the whole; the key of the first thing that is said of bands.
fn bands_and_items(keys: &mut Keys<'_, '_>, spec: &mut RasterSpec) -> PyResult<Option<&'static str>> {
    let mut bands = vec![BandMetadata::default(); usize::from(spec.bands)];
    let mut said = None;
    for (key, of) in [
        ("band_descriptions", (|band| &mut band.description) as fn(&mut BandMetadata) -> &mut Option<String>),
        ("band_units", |band| &mut band.unit),
    ] {
        if let Some(values) = keys.list(key, "a list of texts or None", |value| optional(value, text))? {
            said = each(keys, key, values, &mut bands, of)?.or(said);
        }
    }
    for (key, of) in [
        ("scales", (|band| &mut band.scale) as fn(&mut BandMetadata) -> &mut Option<f64>),
        ("offsets", |band| &mut band.offset),
    ] {
        if let Some(values) = keys.list(key, "a list of numbers or None", |value| optional(value, float))? {
            said = each(keys, key, values, &mut bands, of)?.or(said);
        }
    }
    let form = "a list of (name, value, domain) or (name, value, domain, band)";
    for (name, value, domain, band) in keys.list("items", form, item)?.unwrap_or_default() {
        match band {
            None => {
                spec.metadata.items.push(MetadataItem { name, domain, sample: None, role: None, value });
            }
            Some(number) => {
                let at =
                    usize::try_from(number).ok().and_then(|number| bands.get_mut(number.checked_sub(1)?));
                let Some(band) = at else {
                    let problem = format!("band {number} given, one of 1 to {} expected", spec.bands);
                    return Err(keys.refused(keys.py(), "items", &problem));
                };
                match domain.is_empty() {
                    true => band.items.push((name, value)),
                    false => band.domain_items.push((domain, name, value)),
                }
            }
        }
    }
    spec.metadata.bands = bands;
    Ok(said)
}

/// Sets one value of each band; the key, where there is a value.
fn each<T>(
    keys: &Keys<'_, '_>,
    key: &'static str,
    values: Vec<Option<T>>,
    bands: &mut [BandMetadata],
    of: fn(&mut BandMetadata) -> &mut Option<T>,
) -> PyResult<Option<&'static str>> {
    if values.len() != bands.len() {
        let problem =
            format!("{} values given, one for each of {} bands expected", values.len(), bands.len());
        return Err(keys.refused(keys.py(), key, &problem));
    }
    let any = values.iter().any(Option::is_some);
    for (band, value) in bands.iter_mut().zip(values) {
        *of(band) = value;
    }
    Ok(any.then_some(key))
}

type Item = (String, String, String, Option<i128>);

fn item(value: &Bound<'_, PyAny>) -> Option<Item> {
    let parts = elements(value)?;
    let (name, value, domain, band) = match parts.as_slice() {
        [name, value, domain] => (name, value, domain, None),
        [name, value, domain, band] => (name, value, domain, optional(band, integer)?),
        _ => return None,
    };
    Some((text(name)?, text(value)?, optional(domain, text)?.unwrap_or_default(), band))
}

fn extra_tags(keys: &mut Keys<'_, '_>, spec: &mut RasterSpec, py: Python<'_>) -> PyResult<()> {
    let Some(given) = keys.typed("extra_tags", "a list of (tag, type, count, value)", elements)? else {
        return Ok(());
    };
    for field in given {
        let (tag, value) = tags::field(&field).map_err(|problem| keys.refused(py, "extra_tags", &problem))?;
        if spec.extra_fields.iter().any(|(known, _)| *known == tag) {
            return Err(keys.refused(py, "extra_tags", &format!("{tag} is given twice")));
        }
        spec.extra_fields.push((tag, value));
    }
    Ok(())
}
