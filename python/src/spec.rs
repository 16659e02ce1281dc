//! `RasterSpec`: what is written, and what an array says about it in its attributes.

use crate::call;
use crate::crs;
use crate::error::{refused, strile_error};
use crate::keys::{Keys, Keywords, elements, float, integer, optional, shown, text};
use crate::tags;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use strile::tiff::Photometric;
use strile::tiff::gdal::{BandMetadata, MetadataItem, NoData};
use strile::tiff::geo::{AreaOrPoint, Crs, CrsKind, Gcp, GeoTransform};
use strile::tiff::{FieldValue, Tag};
use strile::write::{ColoursError, StatedColours, StatedItems, rational};
use strile::{DataType, Window};

/// A raster to be written.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct RasterSpec {
    pub(crate) spec: strile::RasterSpec,
    /// What is not written, in words.
    #[pyo3(get)]
    warnings: Vec<String>,
    keywords: Keywords,
}

#[pymethods]
impl RasterSpec {
    #[new]
    #[pyo3(signature = (**keywords))]
    fn new(py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let keywords = Keywords::of(py, keywords)?;
        let (spec, warnings) = call::guarded(py, || raster(keywords.dict(py)))?;
        Ok(Self { spec, warnings, keywords })
    }

    /// The part of the raster inside a window.
    fn part(&self, py: Python<'_>, row: u32, column: u32, height: u32, width: u32) -> PyResult<Self> {
        let part = self.spec.part(&Window::new(column, row, width, height));
        let keywords = self.keywords.with(py, None)?;
        keywords.set_item("width", width)?;
        keywords.set_item("height", height)?;
        let georeference = &part.metadata.georeference;
        keywords.set_item("transform", georeference.transform.map(|t| (t.a, t.b, t.c, t.d, t.e, t.f)))?;
        let gcps: Vec<_> = georeference.gcps.iter().map(|p| (p.row, p.column, p.x, p.y, p.z)).collect();
        keywords.set_item("gcps", gcps)?;
        Ok(Self { spec: part, warnings: self.warnings.clone(), keywords: Keywords::of(py, Some(&keywords))? })
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.spec.data_type.name()
    }

    /// Whether 0 is white: pixels are stored inverted.
    #[getter]
    fn inverted(&self) -> bool {
        self.spec.photometric == Some(Photometric::MinIsWhite)
    }

    /// Whether values are indices of colours.
    #[getter]
    fn has_palette(&self) -> bool {
        self.spec.colour_map.is_some()
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> ((), Bound<'py, PyDict>) {
        ((), self.keywords.dict(py).clone())
    }
}

fn raster(dict: &Bound<'_, PyDict>) -> PyResult<(strile::RasterSpec, Vec<String>)> {
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
    let mut spec = strile::RasterSpec::new(width, height, bands, data_type);
    let mut warnings = Vec::new();
    spec.mask = keys.flag("mask")?.unwrap_or(false);
    georeference(&mut keys, &mut spec)?;
    if let Some(text) = keys.text("nodata_text")? {
        // A value that no sample has: the file states it, and it marks nothing.
        spec.extra_fields.push((Tag::GDAL_NODATA, FieldValue::Text(text)));
    }
    spec.metadata.categories = keys.list("categories", "a list of names", text)?.unwrap_or_default();
    bands_and_items(&mut keys, &mut spec)?;
    let band = |value: &Bound<'_, PyAny>| integer(value).and_then(|number| u32::try_from(number).ok());
    let source_bands = keys.list("source_bands", "a list of band numbers from 0", band)?;
    extra_tags(&mut keys, &mut spec)?;
    let stated = keys.typed("attrs", "a mapping", |value| {
        let stated = PyDict::new(py);
        stated.update(value.cast::<PyMapping>().ok()?).ok().map(|()| stated)
    })?;
    let stated = stated.unwrap_or_else(|| PyDict::new(py));
    let mut attrs = Keys::new("attrs", &stated);
    let tagged = stated_tags(&mut attrs, &mut spec)?;
    colours(&mut keys, &mut attrs, &mut spec, tagged, (source_bands.clone(), &mut warnings))?;
    stated_items(&mut keys, &mut attrs, &mut spec, (source_bands, &mut warnings))?;
    let is_white = spec.photometric == Some(Photometric::MinIsWhite);
    let nodata = nodata(&mut keys, data_type)?;
    spec.metadata.nodata = nodata.map(|value| if is_white { value.inverted(data_type) } else { value });
    keys.finish()?;
    Ok((spec, warnings))
}

/// Items of the file that the array was read from, below those of the raster's own.
fn stated_items(
    keys: &mut Keys<'_, '_>,
    attrs: &mut Keys<'_, '_>,
    spec: &mut strile::RasterSpec,
    (bands, warnings): (Option<Vec<u32>>, &mut Vec<String>),
) -> PyResult<()> {
    let dropped = keys.list("dropped_items", "a list of names", text)?.unwrap_or_default();
    let statistics = keys.flag("statistics")?.unwrap_or(true);
    let scaling = keys.flag("scaling")?.unwrap_or(true);
    let changed = keys.flag("changed")?.unwrap_or(false);
    let written =
        attrs.get("gdal_metadata_xml")?.and_then(|value| text(&value)).filter(|text| !text.is_empty());
    let mut stated = match (written, attrs.get("gdal_metadata")?) {
        (Some(text), _) => StatedItems::from_text(&text),
        (None, Some(items)) => StatedItems::from_items(items_of(&items)?),
        (None, None) => return Ok(()),
    };
    if changed && scaling && stated.has_scaling() {
        warnings.push(
            "the array changed since it was read, and the scale and offset of its file are written as they were: values \
             must still be stored ones. Read the file with unpack=True to compute with scaled values, or delete \
             attrs['gdal_metadata_xml'] and attrs['gdal_metadata'] to write values as they are"
                .to_owned(),
        );
    }
    (stated.bands, stated.dropped) = (bands, dropped);
    (stated.statistics, stated.scaling) = (statistics, scaling);
    if !stated.apply(spec) {
        warnings.push(format!(
            "names, scales and other items of bands are not written: the array has {} bands, its file had more, and no \
             band coordinate says which these are",
            spec.bands
        ));
    }
    Ok(())
}

/// Items by name, or by name and band (from 0).
fn items_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Option<u32>, String)>> {
    let Ok(mapping) = given.cast::<PyMapping>() else {
        let kind = given.get_type().name()?;
        return Err(refused(format!("attrs['gdal_metadata'] is {kind}: expected a dict of items")));
    };
    let mut items = Vec::new();
    for entry in mapping.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
        let (name, band) = match key.extract::<(Bound<'_, PyAny>, u32)>() {
            Ok((name, band)) => (name, Some(band)),
            Err(_) => (key, None),
        };
        items.push((name.str()?.to_string(), band, value.str()?.to_string()));
    }
    Ok(items)
}

/// Tags of the file that the array was read from, but for those that the raster states itself. Returns what they say about colours:
/// the photometric interpretation, the meaning of further samples, the colour table.
fn stated_tags(attrs: &mut Keys<'_, '_>, spec: &mut strile::RasterSpec) -> PyResult<[Option<Vec<u16>>; 3]> {
    let form = "a list of (tag, type, count, value)";
    let mut tagged = [None, None, None];
    let places = [Tag::PhotometricInterpretation, Tag::ExtraSamples, Tag::ColorMap];
    for given in attrs.typed("extra_tags", form, elements)?.unwrap_or_default() {
        let wrong = |problem: String| refused(format!("attrs['extra_tags']: {problem}"));
        let Some((tag, value)) = tags::stated(&given).map_err(wrong)? else { continue };
        match places.iter().position(|place| *place == tag).and_then(|at| tagged.get_mut(at)) {
            Some(place) => *place = value.shorts(),
            None => put(spec, tag, value),
        }
    }
    for (tag, key) in [(Tag::XResolution, "x_resolution"), (Tag::YResolution, "y_resolution")] {
        let Some(value) = attrs.get(key)? else { continue };
        let fraction = float(&value).and_then(rational);
        let wrong = || refused(format!("attrs['{key}'] is {}: expected a number from 0 on", shown(&value)));
        put(spec, tag, FieldValue::Rationals(vec![fraction.ok_or_else(wrong)?]));
    }
    let unit = attrs.get("resolution_unit")?.and_then(|unit| {
        let named = text(&unit).map(|name| name.to_lowercase());
        let code =
            ["none", "inch", "centimeter"].iter().zip(1..).find(|(name, _)| named.as_deref() == Some(**name));
        code.map(|(_, code)| code).or_else(|| integer(&unit).and_then(|code| u16::try_from(code).ok()))
    });
    if let Some(unit) = unit {
        put(spec, Tag::ResolutionUnit, FieldValue::short(unit));
    }
    let description = attrs.get("image_description")?.and_then(|value| text(&value));
    if let Some(description) = description.filter(|description| !description.is_empty()) {
        put(spec, Tag::ImageDescription, FieldValue::Text(description));
    }
    Ok(tagged)
}

/// Adds a tag, unless the raster has it.
fn put(spec: &mut strile::RasterSpec, tag: Tag, value: FieldValue) {
    if !spec.extra_fields.iter().any(|(known, _)| *known == tag) {
        spec.extra_fields.push((tag, value));
    }
}

/// The photometric interpretation: that of the tags, the one that was chosen, or with "auto" what the file of the array had.
fn colours(
    keys: &mut Keys<'_, '_>,
    attrs: &mut Keys<'_, '_>,
    spec: &mut strile::RasterSpec,
    [tag, extra, table]: [Option<Vec<u16>>; 3],
    (bands, warnings): (Option<Vec<u32>>, &mut Vec<String>),
) -> PyResult<()> {
    let short = |value: &Bound<'_, PyAny>| u16::try_from(integer(value)?).ok();
    let samples = |value: &Bound<'_, PyAny>| short(value).filter(|meaning| *meaning <= 2);
    let (alpha, overviews) = (keys.flag("alpha")?.unwrap_or(false), keys.flag("overviews")?.unwrap_or(false));
    let own_extra = keys.list("extra_samples", "a list of 0, 1 and 2", samples)?;
    let form = "whole numbers from 0 to 65535: all reds, then greens, then blues";
    let own_table = keys.list("colormap", form, short)?;
    let is_auto = |value: &Bound<'_, PyAny>| text(value).is_some_and(|word| word == "auto");
    let chosen = match keys.get("photometric")? {
        Some(value) if is_auto(&value) => None,
        Some(_) => keys.integer::<u16>("photometric", "a number of TIFF's table")?,
        None if own_extra.is_none() && own_table.is_none() => return Ok(()),
        None => None,
    };
    let listed = |value: &Bound<'_, PyAny>| match short(value) {
        Some(one) => Some(vec![one]),
        None => elements(value)?.iter().map(short).collect(),
    };
    let stated_extra = attrs.typed("extra_samples", "whole numbers", listed)?;
    let stated_table = attrs.typed("colormap", form, listed)?;
    let named = attrs.get("photometric")?.and_then(|value| text(&value)).map(|name| name.to_lowercase());
    let kept = match named.as_deref() {
        Some("rgb") => Some(Photometric::Rgb),
        Some("cmyk") => Some(Photometric::Separated),
        Some("cielab") => Some(Photometric::CieLab),
        Some("icclab") => Some(Photometric::IccLab),
        Some("itulab") => Some(Photometric::ItuLab),
        _ => None,
    };
    let tag = tag.and_then(|codes| codes.first().copied());
    let (extra, table) = (own_extra.or(extra).or(stated_extra), own_table.or(table).or(stated_table));
    let numbers = table.as_ref().map_or(0, Vec::len);
    let stated = StatedColours { tag, chosen, kept, alpha, extra, table, bands, overviews };
    let fits = stated.apply(spec).map_err(|problem| match problem {
        ColoursError::Invalid(problem) => refused(problem),
        ColoursError::Unsupported(problem) => {
            strile_error(keys.py(), "UnsupportedGeoTIFFFeatureError", problem)
        }
    })?;
    if !fits {
        warnings.push(format!(
            "the colour table is not written: it has {numbers} numbers, and a palette is one band of uint8 or uint16 with \
             three numbers per value; the array has {} bands of {}",
            spec.bands,
            spec.data_type.name()
        ));
    }
    Ok(())
}

fn georeference(keys: &mut Keys<'_, '_>, spec: &mut strile::RasterSpec) -> PyResult<()> {
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

/// What is said of bands and of the whole.
fn bands_and_items(keys: &mut Keys<'_, '_>, spec: &mut strile::RasterSpec) -> PyResult<()> {
    let mut bands = vec![BandMetadata::default(); usize::from(spec.bands)];
    for (key, of) in [
        ("band_descriptions", (|band| &mut band.description) as fn(&mut BandMetadata) -> &mut Option<String>),
        ("band_units", |band| &mut band.unit),
    ] {
        if let Some(values) = keys.list(key, "a list of texts or None", |value| optional(value, text))? {
            each(keys, key, values, &mut bands, of)?;
        }
    }
    for (key, of) in [
        ("scales", (|band| &mut band.scale) as fn(&mut BandMetadata) -> &mut Option<f64>),
        ("offsets", |band| &mut band.offset),
    ] {
        if let Some(values) = keys.list(key, "a list of numbers or None", |value| optional(value, float))? {
            each(keys, key, values, &mut bands, of)?;
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
    Ok(())
}

/// Sets one value of each band.
fn each<T>(
    keys: &Keys<'_, '_>,
    key: &'static str,
    values: Vec<Option<T>>,
    bands: &mut [BandMetadata],
    of: fn(&mut BandMetadata) -> &mut Option<T>,
) -> PyResult<()> {
    if values.len() != bands.len() {
        let problem = format!("expected one value for each of {} bands, got {}", bands.len(), values.len());
        return Err(keys.refused(keys.py(), key, &problem));
    }
    for (band, value) in bands.iter_mut().zip(values) {
        *of(band) = value;
    }
    Ok(())
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

fn extra_tags(keys: &mut Keys<'_, '_>, spec: &mut strile::RasterSpec) -> PyResult<()> {
    let py = keys.py();
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
