//! Compares nodata, georeferencing, bands and metadata items.

use super::{Differences, against, text_or_none};
use crate::file::metadata::Metadata;
use std::collections::BTreeMap;
use strile_tiff::gdal::{BandMetadata, Element, MetadataItem, NoData};
use strile_tiff::geo::{AreaOrPoint, Crs, Gcp, GeoTransform, Georeference};

/// Relative difference up to which two coordinates are equal: text and float both lose less precision.
const RELATIVE: f64 = 1e-9;

fn near(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= RELATIVE * a.abs().max(b.abs())
}

pub(super) fn compare(a: &Metadata, b: &Metadata, structure: bool, found: &mut Differences) {
    if !same_nodata(a.nodata, b.nodata) {
        let words = |nodata: Option<NoData>| match nodata.map(|value| (value.as_integer(), value.as_f64())) {
            None => "none".to_owned(),
            Some((Some(whole), _)) => whole.to_string(),
            Some((None, value)) => value.to_string(),
        };
        found.add("nodata", "", against(&words(a.nodata), &words(b.nodata)));
    }
    georeference(&a.georeference, &b.georeference, found);
    for (number, (a, b)) in (1..).zip(a.bands.iter().zip(&b.bands)) {
        band(number, a, b, found);
    }
    found.unequal(("categories", ""), (&a.categories, &b.categories), |names| match names.as_slice() {
        [] => "none".into(),
        names => format!("`{}`", names.join(", ").escape_debug()),
    });
    items(&a.items, &b.items, structure, found);
}

fn same_nodata(a: Option<NoData>, b: Option<NoData>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => match (a.as_integer(), b.as_integer()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.as_f64() == b.as_f64() || (a.as_f64().is_nan() && b.as_f64().is_nan()),
            _ => false,
        },
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn georeference(a: &Georeference, b: &Georeference, found: &mut Differences) {
    if !same_transform(a.transform, b.transform) {
        let words = |transform: Option<GeoTransform>| match transform {
            Some(t) => format!("({}, {}, {}, {}, {}, {})", t.a, t.b, t.c, t.d, t.e, t.f),
            None => "none".into(),
        };
        found.add("transform", "", against(&words(a.transform), &words(b.transform)));
    }
    crs("crs", (a.crs.as_ref(), b.crs.as_ref()), found);
    let kind = |place: &Georeference| place.area_or_point.unwrap_or(AreaOrPoint::Area);
    found.unequal(("area-or-point", ""), (kind(a), kind(b)), |kind| kind.as_str().to_owned());
    gcps(&a.gcps, &b.gcps, found);
    crs("gcp-crs", (a.gcp_crs.as_ref(), b.gcp_crs.as_ref()), found);
    if a.rpc != b.rpc {
        let message = match (&a.rpc, &b.rpc) {
            (Some(_), None) => "a camera model in the first file, none in the second",
            (None, Some(_)) => "no camera model in the first file, one in the second",
            _ => "the coefficients of the camera models differ",
        };
        found.add("rpc", "", message);
    }
}

fn same_transform(a: Option<GeoTransform>, b: Option<GeoTransform>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            let values = |t: GeoTransform| [t.a, t.b, t.c, t.d, t.e, t.f];
            values(a).into_iter().zip(values(b)).all(|(a, b)| near(a, b))
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Returns the text of a definition without the codes of its parts, which some writers include and others do not.
fn definition(crs: &Crs) -> Option<String> {
    let mut parts = crs.wkt.as_deref()?.split(",AUTHORITY[");
    let first = parts.next().unwrap_or_default().to_owned();
    Some(parts.fold(first, |text, part| text + part.split_once(']').map_or("", |(_, rest)| rest)))
}

/// Compares systems. Those with the same registered code are equal, however they are spelt.
fn crs(category: &'static str, (a, b): (Option<&Crs>, Option<&Crs>), found: &mut Differences) {
    let same = match (a, b) {
        (Some(a), Some(b)) => match (a.epsg, b.epsg) {
            (None, None) => a == b || (a.vertical == b.vertical && definition(a) == definition(b)),
            (a, b) => a == b,
        },
        (a, b) => a.is_none() && b.is_none(),
    };
    if same {
        return;
    }
    let words = |crs: Option<&Crs>| match crs {
        None => "none".to_owned(),
        Some(Crs { epsg: Some(code), .. }) => format!("EPSG:{code}"),
        Some(crs) => format!("`{}`", crs.name.escape_debug()),
    };
    let message = match (words(a), words(b)) {
        (a, b) if a == b => format!("{a} in both, with definitions that differ"),
        (a, b) => against(&a, &b),
    };
    found.add(category, "", message);
}

fn gcps(a: &[Gcp], b: &[Gcp], found: &mut Differences) {
    if a.len() != b.len() {
        let words = |points: &[Gcp]| format!("{} control points", points.len());
        return found.add("gcps", "", against(&words(a), &words(b)));
    }
    let values = |p: &Gcp| [p.column, p.row, p.x, p.y, p.z];
    let same = |a: &Gcp, b: &Gcp| values(a).into_iter().zip(values(b)).all(|(a, b)| near(a, b));
    if let Some((number, (a, b))) = (1..).zip(a.iter().zip(b)).find(|(_, (a, b))| !same(a, b)) {
        let words = |point: &Gcp| format!("{:?}", values(point));
        found.add("gcps", format!("point {number}"), against(&words(a), &words(b)));
    }
}

fn band(number: u32, a: &BandMetadata, b: &BandMetadata, found: &mut Differences) {
    let place = format!("band {number}");
    for (category, default, (a, b)) in
        [("scale", 1.0, (a.scale, b.scale)), ("offset", 0.0, (a.offset, b.offset))]
    {
        let (a, b) = (a.unwrap_or(default), b.unwrap_or(default));
        if !near(a, b) {
            found.add(category, place.clone(), against(&a.to_string(), &b.to_string()));
        }
    }
    found.unequal(("unit", &place), (&a.unit, &b.unit), |text| text_or_none(text));
    found.unequal(("description", &place), (&a.description, &b.description), |text| text_or_none(text));
    found.unequal(("colour", &place), (&a.colour, &b.colour), |text| text_or_none(text));
    let table = |band: &BandMetadata, name: &str| band.sidecar.iter().find(|e| e.name == name).cloned();
    for (category, name) in [("attribute-table", "GDALRasterAttributeTable"), ("categories", "CategoryNames")]
    {
        let words = |found: &Option<Element>| if found.is_some() { "one" } else { "none" }.to_owned();
        found.unequal((category, &place), (table(a, name), table(b, name)), words);
    }
    let all = |band: &BandMetadata| -> BTreeMap<String, String> { band.items.iter().cloned().collect() };
    by_name(&place, &all(a), &all(b), found);
}

/// Compares items. Those in the domain about pixel storage are compared only with `structure`.
fn items(a: &[MetadataItem], b: &[MetadataItem], structure: bool, found: &mut Differences) {
    let all = |items: &[MetadataItem]| -> BTreeMap<String, String> {
        let told = items.iter().filter(|item| structure || item.domain != "IMAGE_STRUCTURE");
        let name = |item: &MetadataItem| match item.domain.as_str() {
            "" => item.name.clone(),
            domain => format!("{domain}:{}", item.name),
        };
        told.map(|item| (name(item), item.value.clone())).collect()
    };
    by_name("", &all(a), &all(b), found);
}

fn by_name(place: &str, a: &BTreeMap<String, String>, b: &BTreeMap<String, String>, found: &mut Differences) {
    let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    for name in names {
        let here = format!("{place}{}`{}`", if place.is_empty() { "" } else { ", " }, name.escape_debug());
        found.unequal(("item", &here), (a.get(name).cloned(), b.get(name).cloned()), text_or_none);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodata_is_compared_as_a_number() {
        let same = |a, b| same_nodata(Some(a), Some(b));
        assert!(same(NoData::Float(f64::NAN), NoData::Float(-f64::NAN)));
        assert!(same(NoData::Float(-9999.0), NoData::Integer(-9999)));
        assert!(!same(NoData::Integer(i128::from(u64::MAX)), NoData::Integer(i128::from(u64::MAX - 1))));
        assert!(!same_nodata(Some(NoData::Integer(0)), None));
    }

    #[test]
    fn coordinates_agree_to_a_part_of_their_size() {
        assert!(near(500_000.0, 500_000.000_000_1));
        assert!(!near(500_000.0, 500_000.01));
        assert!(!near(0.0, 1e-12));
    }
}
