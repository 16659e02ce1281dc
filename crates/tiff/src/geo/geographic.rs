//! The geographic system of keys 2048 to 2061: a code, or datum, ellipsoid, prime meridian and unit.

use std::ops::RangeInclusive;

use super::keys::{GeoKeys, KeyValue, USER_DEFINED, key};
use super::warning::GeoWarningCode as Code;
use crate::{Warning, Warnings};
use strile_crs::reference::DEGREE;
use strile_crs::registry;
use strile_crs::wkt::{Node, Value};

/// Geographic systems with three axes that GDAL also reads as such from key 2048: those whose datum is dynamic or an
/// ensemble, which its WKT 1 cannot express. It reads all others as the system with two axes.
const KEEPS_THIRD_AXIS: [RangeInclusive<u16>; 29] = [
    4891..=4891,
    4923..=4923,
    4937..=4937,
    4979..=4979,
    4985..=4985,
    4987..=4987,
    7657..=7657,
    7659..=7659,
    7661..=7661,
    7663..=7663,
    7665..=7665,
    7678..=7678,
    7680..=7680,
    7816..=7816,
    7900..=7912,
    7915..=7915,
    7917..=7917,
    7919..=7919,
    7921..=7921,
    7923..=7923,
    7925..=7925,
    7927..=7927,
    7929..=7929,
    7931..=7931,
    8399..=8403,
    9002..=9005,
    9008..=9008,
    9011..=9013,
    9016..=9018,
];

/// Returns the geographic system as a `GEOGCS` node; `None` if the keys do not describe one.
pub(super) fn from_keys(keys: &GeoKeys, warnings: &mut Warnings) -> Option<Node> {
    if let Some(code) = keys.code(key::GEODETIC_CRS) {
        match registry::lookup(u32::from(code)) {
            Some(node) if node.is(&["GEOGCS"]) => return Some(node),
            Some(node) if node.is(&["GEOGCRS"]) => {
                if KEEPS_THIRD_AXIS.iter().any(|range| range.contains(&code)) {
                    return Some(node);
                }
                let flat = node.name().and_then(registry::geographic_by_name);
                if let Some(flat) = flat {
                    let message = format!("code {code} has three axes; read as the system with two");
                    warnings.push(Warning::new(Code::UnknownCode, "key 2048", message));
                    return Some(flat);
                }
            }
            Some(node) if node.is(&["GEOCCS", "PROJCS", "COMPD_CS"]) => return Some(node),
            _ => {}
        }
        let message = format!("code {code} is not known");
        warnings.push(Warning::new(Code::UnknownCode, "key 2048", message));
    }
    let mut datum = datum(keys, warnings)?;
    if let Some(shift) = shift(keys, warnings) {
        // After the ellipsoid, before the code.
        datum.values.insert(2.min(datum.values.len()), Value::Node(shift));
    }
    let citation = Citation::of(keys.text(key::GEODETIC_CITATION));
    let (meridian_name, meridian, meridian_code) = meridian(keys, &citation, warnings);
    let name = citation.name.unwrap_or("unknown");
    let unit = angular_unit(keys, &citation, warnings);
    let size = unit.f64(1).unwrap_or(DEGREE);
    // WKT 1 uses the unit of the system, except for registered meridians, which are always written in degrees.
    let in_unit = if meridian_code.is_some() || size == DEGREE { meridian } else { meridian * DEGREE / size };
    let mut primem = Node::named("PRIMEM", &meridian_name).number(in_unit);
    if keys.code(key::PRIME_MERIDIAN).is_some() || datum.epsg_code().is_some() {
        primem = primem.epsg(meridian_code);
    }
    let node = Node::named("GEOGCS", name).with(datum).with(primem).with(unit);
    // GDAL reads them in this order, and systems are compared in it.
    let node = node.with(Node::named("AXIS", "Latitude").word("NORTH"));
    Some(node.with(Node::named("AXIS", "Longitude").word("EAST")))
}

/// Returns the size of the angular unit of key 2054, in radians.
pub(super) fn key_unit(keys: &GeoKeys) -> Option<f64> {
    keys.short(key::ANGULAR_UNITS).filter(|&code| code != 0)?;
    // The same call warns when the geographic system is created.
    angular_unit(keys, &Citation::default(), &mut Warnings::new()).f64(1)
}

fn angular_unit(keys: &GeoKeys, citation: &Citation<'_>, warnings: &mut Warnings) -> Node {
    let degree = || Node::named("UNIT", "degree").number(DEGREE).epsg(Some(9122));
    match keys.short(key::ANGULAR_UNITS) {
        None | Some(0 | 9102 | 9122) => degree(),
        Some(USER_DEFINED) => {
            let name = citation.angular_unit.unwrap_or("unknown");
            match keys.double(key::ANGULAR_UNIT_SIZE).filter(|v| *v > 0.0) {
                Some(size) => Node::named("UNIT", name).number(size),
                None => {
                    let message = "no positive size for the user-defined angular unit; degrees were taken";
                    warnings.push(Warning::new(Code::BadKey, "key 2055", message));
                    Node::named("UNIT", name).number(DEGREE)
                }
            }
        }
        // Degrees written as degrees, minutes and seconds in one number: the unit is still the degree.
        Some(9107 | 9108 | 9110 | 9111 | 9115..=9120) => degree(),
        Some(code) => match registry::angle(code) {
            Some(row) => Node::named("UNIT", row.1).number(row.2).epsg(Some(u32::from(code))),
            None => {
                let message = format!("angular unit {code} is not known; degrees were taken");
                warnings.push(Warning::new(Code::UnknownCode, "key 2054", message));
                degree()
            }
        },
    }
}

/// Returns the `DATUM` with its `SPHEROID`.
fn datum(keys: &GeoKeys, warnings: &mut Warnings) -> Option<Node> {
    if let Some(code) = keys.code(key::GEODETIC_DATUM) {
        // Codes below 6200 name an unknown datum on the ellipsoid with the code plus 1000.
        match registry::geographic_by_datum(u32::from(code)) {
            Some(node) => return node.child(&["DATUM"]).cloned(),
            None => {
                let message = format!("datum {code} is not known; the ellipsoid was used");
                warnings.push(Warning::new(Code::UnknownCode, "key 2050", message));
            }
        }
    }
    let citation = Citation::of(keys.text(key::GEODETIC_CITATION));
    let spheroid = spheroid(keys, &citation, warnings)?;
    Some(Node::named("DATUM", citation.datum.unwrap_or("unknown")).with(spheroid))
}

/// Returns key 2062: three or seven numbers of a shift to WGS 84, written by GDAL with a datum of its own.
fn shift(keys: &GeoKeys, warnings: &mut Warnings) -> Option<Node> {
    let values = match keys.values.get(&key::TOWGS84)? {
        KeyValue::Doubles(values) => values.as_slice(),
        KeyValue::Short(_) | KeyValue::Shorts(_) | KeyValue::Text(_) => &[],
    };
    if ![3, 7].contains(&values.len()) || values.iter().any(|v| !v.is_finite()) {
        let message = "expected three or seven finite numbers; ignored";
        warnings.push(Warning::new(Code::BadKey, "key 2062", message));
        return None;
    }
    let mut node = Node { keyword: "TOWGS84".to_owned(), values: Vec::new() };
    for i in 0..7 {
        node = node.number(values.get(i).copied().unwrap_or(0.0));
    }
    Some(node)
}

fn spheroid(keys: &GeoKeys, citation: &Citation<'_>, warnings: &mut Warnings) -> Option<Node> {
    let code = keys.code(key::ELLIPSOID);
    let row = code.and_then(registry::ellipsoid);
    if let (Some(code), None) = (code, row) {
        let message = format!("ellipsoid {code} is not known; its axes were used");
        warnings.push(Warning::new(Code::UnknownCode, "key 2056", message));
    }
    if let Some(row) = row {
        return Some(Node::named("SPHEROID", row.1).number(row.2).number(row.3).epsg(Some(u32::from(row.0))));
    }
    let unit = match keys.short(key::GEOG_LINEAR_UNITS) {
        None | Some(0 | 9001) => 1.0,
        Some(USER_DEFINED) => keys.double(key::GEOG_LINEAR_UNIT_SIZE).filter(|v| *v > 0.0).unwrap_or(1.0),
        Some(code) => registry::length(code).map_or(1.0, |row| row.2),
    };
    let major = keys.double(key::SEMI_MAJOR).filter(|v| *v > 0.0)? * unit;
    let minor = keys.double(key::SEMI_MINOR).filter(|v| *v > 0.0).map(|v| v * unit);
    let inverse_flattening = match (keys.double(key::INVERSE_FLATTENING), minor) {
        (Some(v), _) if v >= 0.0 => v,
        (_, Some(minor)) if minor == major => 0.0,
        (_, Some(minor)) if minor < major => major / (major - minor),
        _ => {
            let message = "the ellipsoid has a major axis only; a sphere was taken";
            warnings.push(Warning::new(Code::BadKey, "key 2059", message));
            0.0
        }
    };
    let name = citation.ellipsoid.unwrap_or("unknown");
    Some(Node::named("SPHEROID", name).number(major).number(inverse_flattening))
}

/// Returns name, degrees and code of the prime meridian.
fn meridian(keys: &GeoKeys, citation: &Citation<'_>, warnings: &mut Warnings) -> (String, f64, Option<u32>) {
    let greenwich = || ("Greenwich".to_owned(), 0.0, Some(8901));
    match keys.code(key::PRIME_MERIDIAN) {
        Some(code) => match registry::meridian(code) {
            Some(row) => (row.1.to_owned(), row.2, Some(u32::from(code))),
            None => {
                let message = format!("prime meridian {code} is not known; Greenwich was taken");
                warnings.push(Warning::new(Code::UnknownCode, "key 2051", message));
                greenwich()
            }
        },
        None => match keys.double(key::PRIME_MERIDIAN_LONG) {
            None => greenwich(),
            Some(long) => {
                let degrees = long * key_unit(keys).unwrap_or(DEGREE) / DEGREE;
                let name = citation.meridian.unwrap_or(if degrees == 0.0 { "Greenwich" } else { "unknown" });
                (name.to_owned(), degrees, None)
            }
        },
    }
}

/// The parts of a citation such as `GCS Name = x|Datum = y|Ellipsoid = z|Primem = p|AUnits = u|`.
#[derive(Debug, Default)]
struct Citation<'a> {
    name: Option<&'a str>,
    datum: Option<&'a str>,
    ellipsoid: Option<&'a str>,
    meridian: Option<&'a str>,
    angular_unit: Option<&'a str>,
}

impl<'a> Citation<'a> {
    fn of(text: Option<&'a str>) -> Self {
        let mut parts = Self::default();
        let Some(text) = text else { return parts };
        for part in text.split('|') {
            match part.split_once(" = ") {
                Some(("GCS Name", v)) => parts.name = Some(v),
                Some(("Datum", v)) => parts.datum = Some(v),
                Some(("Ellipsoid", v)) => parts.ellipsoid = Some(v),
                Some(("Primem", v)) => parts.meridian = Some(v),
                Some(("AUnits", v)) => parts.angular_unit = Some(v),
                _ => {}
            }
        }
        if !text.contains(" = ") {
            parts.name = text.split('|').next().filter(|v| !v.is_empty());
        }
        parts
    }
}
