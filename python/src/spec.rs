//! Provides `RasterSpec`: the raster to be written, with the metadata that an array has in its attributes.

use crate::arguments::{Float, Int, Row, Value, elements, float, integer, ints, shown, text, word};
use crate::crs;
use crate::error::{refused, strile_error};
use crate::tags;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use strile::file::{RESOLUTION_UNITS, colours_named};
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
}

/// A name, a value, a domain, and the band (from 1) that it is about.
#[derive(FromPyObject)]
enum Item {
    OfBand(String, String, Option<String>, Option<Int<u32>>),
    OfFile(String, String, Option<String>),
}

/// A photometric interpretation by its number, or "auto" for that of the file of the array.
#[derive(FromPyObject)]
enum GivenPhotometric {
    Number(Int<i128>),
    Word(String),
}

/// Of colours, what the keywords state.
struct OwnColours {
    photometric: Option<GivenPhotometric>,
    alpha: bool,
    extra: Option<Vec<u16>>,
    table: Option<Vec<u16>>,
    overviews: bool,
}

/// The rule which items of the file of an array hold for the array.
struct KeptItems {
    dropped: Vec<String>,
    statistics: bool,
    scaling: bool,
    changed: bool,
}

#[pymethods]
impl RasterSpec {
    #[new]
    #[pyo3(signature = (*, width, height, bands, dtype, mask=false, transform=None, gcps=Vec::new(), area_or_point=None, crs=None,
                        crs_citation=None, nodata=None, nodata_text=None, categories=Vec::new(), band_descriptions=None,
                        band_units=None, scales=None, offsets=None, items=Vec::new(), extra_tags=None, photometric=None,
                        alpha=false, extra_samples=None, colormap=None, attrs=None, source_bands=None,
                        dropped_items=Vec::new(), statistics=true, scaling=true, changed=false, overviews=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        width: Int<u32>,
        height: Int<u32>,
        bands: Int<u16>,
        dtype: &str,
        mask: bool,
        transform: Option<Row<Float, 6>>,
        gcps: Vec<Row<Float, 5>>,
        area_or_point: Option<&str>,
        crs: Option<&Bound<'_, PyAny>>,
        crs_citation: Option<String>,
        nodata: Option<Value>,
        nodata_text: Option<String>,
        categories: Vec<String>,
        band_descriptions: Option<Vec<Option<String>>>,
        band_units: Option<Vec<Option<String>>>,
        scales: Option<Vec<Option<Float>>>,
        offsets: Option<Vec<Option<Float>>>,
        items: Vec<Item>,
        extra_tags: Option<Vec<Bound<'_, PyAny>>>,
        photometric: Option<GivenPhotometric>,
        alpha: bool,
        extra_samples: Option<Vec<Int<u16>>>,
        colormap: Option<Vec<Int<u16>>>,
        attrs: Option<Bound<'_, PyMapping>>,
        source_bands: Option<Vec<Int<u32>>>,
        dropped_items: Vec<String>,
        statistics: bool,
        scaling: bool,
        changed: bool,
        overviews: bool,
    ) -> PyResult<Self> {
        let (Int(width), Int(height), Int(bands)) = (width, height, bands);
        for (side, name) in [(width, "width"), (height, "height"), (u32::from(bands), "bands")] {
            if side == 0 {
                return Err(refused(format!("{name} is 0: expected at least 1")));
            }
        }
        let data_type = crate::dataset::data_type(dtype)?;
        let mut spec = strile::RasterSpec::new(width, height, bands, data_type);
        let mut warnings = Vec::new();
        spec.mask = mask;
        let georeference = &mut spec.metadata.georeference;
        georeference.transform = transform.map(|numbers| GeoTransform::from_coefficients(numbers.numbers()));
        let kinds = [("area", AreaOrPoint::Area), ("point", AreaOrPoint::Point)];
        georeference.area_or_point =
            area_or_point.map(|kind| word("area_or_point", kind, &kinds)).transpose()?;
        for (number, point) in (1..).zip(gcps) {
            let [row, column, x, y, z] = point.numbers();
            georeference.gcps.push(Gcp { column, row, x, y, z, id: format!("{number}") });
        }
        georeference.crs = crs.map(crs::parse).transpose()?;
        if let Some(name) = crs_citation {
            // A system that nothing is known of but what it is called.
            let (epsg, horizontal_epsg, wkt, unit, vertical) = (None, None, None, None, None);
            georeference.crs =
                Some(Crs { epsg, horizontal_epsg, wkt, name, kind: CrsKind::Other, unit, vertical });
        }
        if !georeference.gcps.is_empty() && georeference.transform.is_none() {
            georeference.gcp_crs = georeference.crs.take();
        }
        if let Some(text) = nodata_text {
            // A value that no sample has: the file states it, and it marks nothing.
            spec.extra_fields.push((Tag::GDAL_NODATA, FieldValue::Text(text)));
        }
        spec.metadata.categories = categories;
        let mut own = vec![BandMetadata::default(); usize::from(bands)];
        each("band_descriptions", band_descriptions, &mut own, |band| &mut band.description)?;
        each("band_units", band_units, &mut own, |band| &mut band.unit)?;
        each("scales", scales.map(floats), &mut own, |band| &mut band.scale)?;
        each("offsets", offsets.map(floats), &mut own, |band| &mut band.offset)?;
        spec.metadata.bands = own;
        for item in items {
            add(item, &mut spec)?;
        }
        let source_bands = source_bands.map(ints);
        extra_fields(extra_tags.unwrap_or_default(), &mut spec)?;
        let stated = PyDict::new(py);
        if let Some(attrs) = attrs {
            stated.update(&attrs)?;
        }
        let attrs = Attrs(stated);
        let tagged = stated_tags(&attrs, &mut spec)?;
        let (extra, table) = (extra_samples.map(ints), colormap.map(ints));
        let own = OwnColours { photometric, alpha, extra, table, overviews };
        colours(own, &attrs, &mut spec, tagged, (source_bands.clone(), &mut warnings))?;
        let kept = KeptItems { dropped: dropped_items, statistics, scaling, changed };
        stated_items(kept, &attrs, &mut spec, (source_bands, &mut warnings))?;
        let is_white = spec.photometric == Some(Photometric::MinIsWhite);
        let nodata = nodata.map(|Value(value)| checked_nodata(value, data_type)).transpose()?;
        spec.metadata.nodata = nodata.map(|value| if is_white { value.inverted(data_type) } else { value });
        Ok(Self { spec, warnings })
    }

    /// Returns the part of the raster inside a window.
    fn part(&self, row: u32, column: u32, height: u32, width: u32) -> Self {
        let part = self.spec.part(&Window::new(column, row, width, height));
        Self { spec: part, warnings: self.warnings.clone() }
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.spec.data_type.name()
    }

    /// Returns whether 0 is white: pixels are stored inverted.
    #[getter]
    fn inverted(&self) -> bool {
        self.spec.photometric == Some(Photometric::MinIsWhite)
    }

    /// Returns whether values are indices of colours.
    #[getter]
    fn has_palette(&self) -> bool {
        self.spec.colour_map.is_some()
    }
}

/// Attributes of an array, by name.
struct Attrs<'py>(Bound<'py, PyDict>);

impl<'py> Attrs<'py> {
    /// Returns the value of an attribute; `None` where there is none or it is None.
    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.get_item(name)?.filter(|value| !value.is_none()))
    }

    fn text(&self, name: &str) -> PyResult<Option<String>> {
        Ok(self.get(name)?.and_then(|value| text(&value)).filter(|text| !text.is_empty()))
    }

    /// Reads an attribute with `read`; other values are a TypeError.
    fn typed<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Option<T>,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let wrong =
            || PyTypeError::new_err(format!("attrs['{name}'] is {}: expected {expected}", shown(&value)));
        read(&value).map(Some).ok_or_else(wrong)
    }
}

/// Returns items of the file that the array was read from, below those of the raster's own.
fn stated_items(
    KeptItems { dropped, statistics, scaling, changed }: KeptItems,
    attrs: &Attrs<'_>,
    spec: &mut strile::RasterSpec,
    (bands, warnings): (Option<Vec<u32>>, &mut Vec<String>),
) -> PyResult<()> {
    let mut stated = match (attrs.text("gdal_metadata_xml")?, attrs.get("gdal_metadata")?) {
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

/// Returns items by name, or by name and band (from 0).
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

/// Adds the tags of the file that the array was read from, except those that the raster states itself. Returns the tags about colours:
/// the photometric interpretation, the meaning of further samples, the colour table.
fn stated_tags(attrs: &Attrs<'_>, spec: &mut strile::RasterSpec) -> PyResult<[Option<Vec<u16>>; 3]> {
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
        let code = RESOLUTION_UNITS.iter().zip(1..).find(|(name, _)| named.as_deref() == Some(**name));
        code.map(|(_, code)| code).or_else(|| integer(&unit).and_then(|code| u16::try_from(code).ok()))
    });
    if let Some(unit) = unit {
        put(spec, Tag::ResolutionUnit, FieldValue::short(unit));
    }
    if let Some(description) = attrs.text("image_description")? {
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

/// Returns the photometric interpretation: that of the tags, the one that was chosen, or with "auto" what the file of the array had.
fn colours(
    own: OwnColours,
    attrs: &Attrs<'_>,
    spec: &mut strile::RasterSpec,
    [tag, extra, table]: [Option<Vec<u16>>; 3],
    (bands, warnings): (Option<Vec<u32>>, &mut Vec<String>),
) -> PyResult<()> {
    let OwnColours { photometric, alpha, extra: own_extra, table: own_table, overviews } = own;
    if own_extra.iter().flatten().any(|meaning| *meaning > 2) {
        return Err(refused("extra_samples: expected a list of 0, 1 and 2"));
    }
    let chosen = match photometric {
        Some(GivenPhotometric::Word(word)) if word == "auto" => None,
        Some(GivenPhotometric::Number(Int(number))) if u16::try_from(number).is_ok() => {
            u16::try_from(number).ok()
        }
        Some(_) => return Err(refused("photometric: expected 'auto', or a number of TIFF's table")),
        None if own_extra.is_none() && own_table.is_none() => return Ok(()),
        None => None,
    };
    let short = |value: &Bound<'_, PyAny>| u16::try_from(integer(value)?).ok();
    let form = "whole numbers from 0 to 65535: all reds, then greens, then blues";
    let listed = |value: &Bound<'_, PyAny>| match short(value) {
        Some(one) => Some(vec![one]),
        None => elements(value)?.iter().map(short).collect(),
    };
    let stated_extra = attrs.typed("extra_samples", "whole numbers", listed)?;
    let stated_table = attrs.typed("colormap", form, listed)?;
    let named = attrs.get("photometric")?.and_then(|value| text(&value));
    let kept = named.and_then(|name| colours_named(&name));
    let tag = tag.and_then(|codes| codes.first().copied());
    let (extra, table) = (own_extra.or(extra).or(stated_extra), own_table.or(table).or(stated_table));
    let numbers = table.as_ref().map_or(0, Vec::len);
    let stated = StatedColours { tag, chosen, kept, alpha, extra, table, bands, overviews };
    let fits = stated.apply(spec).map_err(|problem| match problem {
        ColoursError::Invalid(problem) => refused(problem),
        ColoursError::Unsupported(problem) => {
            strile_error(attrs.0.py(), "UnsupportedGeoTIFFFeatureError", problem)
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

/// Returns a nodata value, checked: one that the type has no value near is refused.
fn checked_nodata(given: NoData, data_type: DataType) -> PyResult<NoData> {
    use DataType as D;
    let is_float = matches!(data_type, D::F16 | D::F32 | D::F64 | D::C64 | D::C128);
    if given.for_type(data_type).is_none() || !(is_float || given.as_integer().is_some()) {
        return Err(refused(format!(
            "nodata is {}: expected a value of {}",
            given.to_text(),
            data_type.name()
        )));
    }
    Ok(given)
}

fn floats(values: Vec<Option<Float>>) -> Vec<Option<f64>> {
    values.into_iter().map(|value| value.map(|Float(number)| number)).collect()
}

/// Sets one value of each band, if there are any.
fn each<T>(
    name: &str,
    values: Option<Vec<Option<T>>>,
    bands: &mut [BandMetadata],
    of: fn(&mut BandMetadata) -> &mut Option<T>,
) -> PyResult<()> {
    let Some(values) = values else { return Ok(()) };
    if values.len() != bands.len() {
        let (count, found) = (bands.len(), values.len());
        return Err(refused(format!("{name}: expected one value for each of {count} bands, got {found}")));
    }
    for (band, value) in bands.iter_mut().zip(values) {
        *of(band) = value;
    }
    Ok(())
}

/// Adds an item of a band or of the whole.
fn add(item: Item, spec: &mut strile::RasterSpec) -> PyResult<()> {
    let (name, value, domain, band) = match item {
        Item::OfBand(name, value, domain, band) => (name, value, domain, band),
        Item::OfFile(name, value, domain) => (name, value, domain, None),
    };
    let domain = domain.unwrap_or_default();
    let Some(Int(number)) = band else {
        spec.metadata.items.push(MetadataItem { name, domain, sample: None, role: None, value });
        return Ok(());
    };
    let count = spec.bands;
    let at =
        usize::try_from(number).ok().and_then(|number| spec.metadata.bands.get_mut(number.checked_sub(1)?));
    let Some(band) = at else {
        return Err(refused(format!("items: expected a band from 1 to {count}, got {number}")));
    };
    match domain.is_empty() {
        true => band.items.push((name, value)),
        false => band.domain_items.push((domain, name, value)),
    }
    Ok(())
}

/// Adds further tags, each (tag, type, count, value).
fn extra_fields(given: Vec<Bound<'_, PyAny>>, spec: &mut strile::RasterSpec) -> PyResult<()> {
    for field in given {
        let (tag, value) =
            tags::field(&field).map_err(|problem| refused(format!("extra_tags: {problem}")))?;
        if spec.extra_fields.iter().any(|(known, _)| *known == tag) {
            return Err(refused(format!("extra_tags: {tag} is given twice")));
        }
        spec.extra_fields.push((tag, value));
    }
    Ok(())
}
