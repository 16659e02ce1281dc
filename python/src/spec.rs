//! The dict `raster`: what is written.

use crate::crs;
use crate::keys::{Keys, elements, float, integer, optional, text};
use crate::tags;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use strile::tiff::Photometric;
use strile::tiff::gdal::{BandMetadata, MetadataItem, NoData};
use strile::tiff::geo::{AreaOrPoint, Crs, CrsKind, Gcp, GeoTransform};
use strile::tiff::{ExtraSample, FieldValue, Tag};
use strile::{DataType, RasterSpec};

/// The raster that a dict describes.
pub(crate) fn raster(dict: &Bound<'_, PyDict>) -> PyResult<RasterSpec> {
    let py = dict.py();
    let mut keys = Keys::new("raster", dict);
    let mut sides = [0_u32; 2];
    for (side, key) in sides.iter_mut().zip(["width", "height"]) {
        let value = keys.integer(key, "a number of pixels from 1 on")?;
        *side = keys.needed(key, value)?;
        if *side == 0 {
            return Err(keys.refused(py, key, "expected a number of pixels from 1 on, got 0"));
        }
    }
    let bands = keys.integer("bands", "a number of bands from 1 to 65535")?;
    let bands: u16 = keys.needed("bands", bands)?;
    if bands == 0 {
        return Err(keys.refused(py, "bands", "expected a number of bands from 1 to 65535, got 0"));
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
    let merged = Merged::read(&mut keys, said)?;
    let xml = keys.text("gdal_metadata_xml")?;
    extra_tags(&mut keys, &mut spec, py)?;
    if let Some(xml) = xml {
        match merged.is_needed() || !spec.metadata.items.is_empty() {
            true => merged.apply(&xml, &mut spec),
            false => {
                let closed = xml.trim_end_matches('\0').to_owned();
                spec.extra_fields.push((Tag::GDAL_METADATA, FieldValue::Text(closed)));
            }
        }
    }
    keys.finish()?;
    Ok(spec)
}

/// How the items of `gdal_metadata_xml` are taken where they are not written as they are: of these bands, with these names
/// left out, below what other keys say.
struct Merged {
    said: bool,
    /// For each band of the raster, the one that the text has items of, from 0.
    bands: Option<Vec<u32>>,
    dropped: Vec<String>,
    without_statistics: bool,
}

impl Merged {
    fn read(keys: &mut Keys<'_, '_>, said: Option<&'static str>) -> PyResult<Self> {
        let band = |value: &Bound<'_, PyAny>| integer(value).and_then(|number| u32::try_from(number).ok());
        Ok(Self {
            said: said.is_some(),
            bands: keys.list("metadata_bands", "a list of band numbers from 0", band)?,
            dropped: keys.list("dropped_items", "a list of names", text)?.unwrap_or_default(),
            without_statistics: keys.flag("statistics")? == Some(false),
        })
    }

    fn is_needed(&self) -> bool {
        self.said || self.bands.is_some() || !self.dropped.is_empty() || self.without_statistics
    }

    fn apply(&self, xml: &str, spec: &mut RasterSpec) {
        let mut found = strile::tiff::gdal::Metadata::parse(xml, &mut strile::tiff::Warnings::new());
        let is_dropped = |name: &str| {
            self.dropped.iter().any(|dropped| dropped == name)
                || (self.without_statistics && name.starts_with("STATISTICS_"))
        };
        found.items.retain(|item| !is_dropped(&item.name));
        let last = found.items.iter().filter_map(|item| item.sample).max();
        let count = last.and_then(|last| usize::try_from(last).ok()).map_or(0, |last| last + 1);
        let of_file = found.bands(count.min(usize::from(u16::MAX)), &mut strile::tiff::Warnings::new());
        for (number, band) in spec.metadata.bands.iter_mut().enumerate() {
            let source = match &self.bands {
                None => Some(number),
                Some(bands) => bands.get(number).and_then(|band| usize::try_from(*band).ok()),
            };
            let Some(below) = source.and_then(|source| of_file.get(source)) else { continue };
            let own = std::mem::replace(band, below.clone());
            band.description = own.description.or(band.description.take());
            band.unit = own.unit.or(band.unit.take());
            band.scale = own.scale.or(band.scale);
            band.offset = own.offset.or(band.offset);
            band.items.retain(|(name, _)| !own.items.iter().any(|(other, _)| other == name));
            band.items.extend(own.items);
            band.domain_items.extend(own.domain_items);
        }
        let mut items: Vec<MetadataItem> =
            found.items.into_iter().filter(|item| item.sample.is_none()).collect();
        items.retain(|item| {
            !spec.metadata.items.iter().any(|own| own.name == item.name && own.domain == item.domain)
        });
        items.append(&mut spec.metadata.items);
        spec.metadata.items = items;
    }
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
    let gcps = keys.list("gcps", "a list of (row, column, x, y, z)", |value| {
        let values: Vec<f64> = elements(value)?.iter().map(float).collect::<Option<_>>()?;
        <[f64; 5]>::try_from(values).ok()
    })?;
    for (number, [row, column, x, y, z]) in (1..).zip(gcps.unwrap_or_default()) {
        georeference.gcps.push(Gcp { column, row, x, y, z, id: format!("{number}") });
    }
    georeference.crs = keys.get("crs")?.map(|definition| crs::parse(&definition)).transpose()?;
    if let Some(name) = keys.text("crs_citation")? {
        // A system that nothing is known of but what it is called.
        let (epsg, horizontal_epsg, wkt, unit, vertical) = (None, None, None, None, None);
        georeference.crs =
            Some(Crs { epsg, horizontal_epsg, wkt, name, kind: CrsKind::Other, unit, vertical });
    }
    if !georeference.gcps.is_empty() && georeference.transform.is_none() {
        georeference.gcp_crs = georeference.crs.take();
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
                    let problem = format!("expected a band from 1 to {}, got {number}", spec.bands);
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
        let problem = format!("expected one value for each of {} bands, got {}", bands.len(), values.len());
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
