//! The keys of a projected, geographic, geocentric or local system.

use super::super::keys::{GeoKeys, KeyValue, USER_DEFINED, key};
use super::super::warning::GeoWarningCode as Code;
use super::system::put;
use crate::{Warning, Warnings};
use strile_crs::dialect;
use strile_crs::identify::{identify, same, same_but_datum};
use strile_crs::method::{Method, plain};
use strile_crs::reference::DEGREE;
use strile_crs::reference::{ANGLES, LENGTHS, MERIDIANS, UnitRow};
use strile_crs::registry;
use strile_crs::wkt::Node;

/// Adds the keys of a node made by `dialect`. The error says what keys cannot express.
pub(super) fn put_system(keys: &mut GeoKeys, node: &Node, warnings: &mut Warnings) -> Result<(), String> {
    match node.keyword.as_str() {
        "PROJCS" => projected(keys, node, warnings),
        "GEOGCS" => {
            put(keys, key::MODEL_TYPE, 2);
            geographic(keys, node, warnings)
        }
        "GEOCCS" => geocentric(keys, node, warnings),
        _ => local(keys, node),
    }
}

/// Returns a code in the range of keys: EPSG's are within it, higher ones are private.
pub(super) fn key_code(code: u32) -> Option<u16> {
    u16::try_from(code).ok().filter(|code| (1024..USER_DEFINED).contains(code))
}

/// Returns the code for a system: its own if the registered definition agrees, or that of the equivalent registered
/// system. A system whose datum has no code has none.
fn code_of(node: &Node, warnings: &mut Warnings) -> Option<u16> {
    let code = match node.epsg_code() {
        Some(stated) => {
            let found = registry::lookup(stated)?;
            if found != *node && !is_edition_of(&found, node) {
                let message =
                    format!("EPSG:{stated} is another system than the one described; written in full");
                warnings.push(Warning::new(Code::Contradiction, "AUTHORITY", message));
                return None;
            }
            stated
        }
        None => {
            let base = node.child(&["GEOGCS"]).unwrap_or(node);
            base.child(&["DATUM"])?.epsg_code()?;
            identify(node)?
        }
    };
    key_code(code)
}

/// Returns whether a text describes a registered system, in this or in another edition of the registry.
fn is_edition_of(found: &Node, node: &Node) -> bool {
    let same_name = || found.name().map(plain) == node.name().map(plain);
    dialect::system(found).is_ok_and(|found| {
        same(&found.horizontal, node) || (same_name() && same_but_datum(&found.horizontal, node))
    })
}

fn projected(keys: &mut GeoKeys, node: &Node, warnings: &mut Warnings) -> Result<(), String> {
    let base = node.child(&["GEOGCS"]).ok_or("a projected system without a geographic one")?;
    put(keys, key::MODEL_TYPE, 1);
    if let Some(code) = code_of(node, warnings) {
        shift_is_lost(base, warnings);
        put(keys, key::GEODETIC_CITATION, base.name().unwrap_or("unknown"));
        put(keys, key::ANGULAR_UNITS, unit_code(base, ANGLES).map_or(9102, degree));
        put(keys, key::PROJECTED_CRS, code);
        if let Some(unit) = unit_code(node, LENGTHS) {
            put(keys, key::LINEAR_UNITS, unit);
        }
        return Ok(());
    }
    let method = node.child(&["PROJECTION"]).and_then(Node::name).and_then(Method::by_name);
    let method = method.ok_or("keys have no such projection method")?;
    geographic(keys, base, warnings)?;
    put(keys, key::PROJECTED_CRS, USER_DEFINED);
    put(keys, key::PROJECTION, USER_DEFINED);
    put(keys, key::METHOD, method.code);
    let name = node.name().unwrap_or("unknown");
    let of_whole = keys.text(key::CITATION) == Some(name);
    // The citation is the name of the whole system, which differs for a compound system.
    let mut citation = if of_whole { String::new() } else { format!("PCS Name = {}|", part(name)) };
    linear_unit(keys, node, &mut citation)?;
    if !citation.is_empty() {
        put(keys, key::PROJECTED_CITATION, citation.as_str());
    }
    let value = |name: &str| {
        let parameter = node.children().find(|n| n.is(&["PARAMETER"]) && n.name() == Some(name));
        parameter.and_then(|n| n.f64(1)).ok_or_else(|| format!("no number for `{name}`"))
    };
    let (easting, northing) = method.offsets();
    let offsets = [("false_easting", easting), ("false_northing", northing)];
    for (name, id) in method.parameters.iter().map(|(_, name, id)| (*name, *id)).chain(offsets) {
        put(keys, id, value(name)?);
    }
    Ok(())
}

/// Converts the code of the degree: key 2054 has its own.
fn degree(code: u16) -> u16 {
    if code == 9122 { 9102 } else { code }
}

fn geographic(keys: &mut GeoKeys, node: &Node, warnings: &mut Warnings) -> Result<(), String> {
    let name = node.name().unwrap_or("unknown");
    let unit = unit_code(node, ANGLES).map(degree);
    put(keys, key::ANGULAR_UNITS, unit.unwrap_or(USER_DEFINED));
    let size = node.child(&["UNIT"]).and_then(|n| n.f64(1)).unwrap_or(DEGREE);
    if unit.is_none() {
        put(keys, key::ANGULAR_UNIT_SIZE, size);
    }
    let datum = node.child(&["DATUM"]).ok_or("a system without a datum")?;
    ellipsoid(keys, datum)?;
    if let Some(code) = code_of(node, warnings) {
        shift_is_lost(node, warnings);
        put(keys, key::GEODETIC_CRS, code);
        put(keys, key::GEODETIC_CITATION, name);
        return Ok(());
    }
    put(keys, key::GEODETIC_CRS, USER_DEFINED);
    let mut citation = format!("GCS Name = {}|", part(name));
    match datum.epsg_code().and_then(key_code) {
        Some(code) => put(keys, key::GEODETIC_DATUM, code),
        None => {
            put(keys, key::GEODETIC_DATUM, USER_DEFINED);
            let spheroid = datum.child(&["SPHEROID"]);
            put(keys, key::ELLIPSOID, spheroid.and_then(ellipsoid_code).unwrap_or(USER_DEFINED));
            let ellipsoid = spheroid.and_then(Node::name).unwrap_or("unknown");
            let datum = datum.name().unwrap_or("unknown");
            citation += &format!("Datum = {}|Ellipsoid = {}|", part(datum), part(ellipsoid));
        }
    }
    meridian(keys, node, size, &mut citation)?;
    if unit.is_none() {
        let name = node.child(&["UNIT"]).and_then(Node::name).unwrap_or("unknown");
        citation += &format!("AUnits = {}|", part(name));
    }
    put(keys, key::GEODETIC_CITATION, citation.as_str());
    if let Some(shift) = datum.child(&["TOWGS84"]) {
        let numbers: Option<Vec<f64>> = (0..shift.values.len()).map(|i| shift.f64(i)).collect();
        let numbers = numbers.filter(|n| n.len() == 3 || n.len() == 7);
        let numbers = numbers.ok_or("a datum shift that is not three or seven numbers")?;
        keys.values.insert(key::TOWGS84, KeyValue::Doubles(numbers));
    }
    Ok(())
}

/// Replaces bars, which separate the parts of a citation.
fn part(text: &str) -> String {
    text.replace('|', "/")
}

/// Returns the code of an ellipsoid, if it is the registered one.
fn ellipsoid_code(spheroid: &Node) -> Option<u16> {
    let row = registry::ellipsoid(key_code(spheroid.epsg_code()?)?)?;
    let same = |at, registered: f64| {
        spheroid.f64(at).is_some_and(|found| (found - registered).abs() <= 1e-10 * registered)
    };
    (same(1, row.2) && same(2, row.3)).then_some(row.0)
}

fn ellipsoid(keys: &mut GeoKeys, datum: &Node) -> Result<(), String> {
    let spheroid = datum.child(&["SPHEROID"]).ok_or("a datum without an ellipsoid")?;
    let major = spheroid.f64(1).ok_or("an ellipsoid without its axis")?;
    put(keys, key::SEMI_MAJOR, major);
    match spheroid.f64(2) {
        // A sphere has no inverse flattening; its second axis is given instead.
        Some(0.0) | None => put(keys, key::SEMI_MINOR, major),
        Some(inverse_flattening) => put(keys, key::INVERSE_FLATTENING, inverse_flattening),
    }
    Ok(())
}

/// Adds the prime meridian: by code if it is registered. Otherwise it must be in degrees: with grads, GDAL converts it
/// twice.
fn meridian(keys: &mut GeoKeys, geographic: &Node, unit: f64, citation: &mut String) -> Result<(), String> {
    let primem = geographic.child(&["PRIMEM"]);
    let degrees = primem.and_then(|n| n.f64(1)).unwrap_or(0.0);
    let name = primem.and_then(Node::name).unwrap_or("Greenwich");
    let row = MERIDIANS.iter().find(|row| (row.2 - degrees).abs() < 1e-9 && row.1.eq_ignore_ascii_case(name));
    match row {
        Some(row) => put(keys, key::PRIME_MERIDIAN, row.0),
        None if (unit - DEGREE).abs() > 1e-11 * DEGREE => {
            return Err("a prime meridian without a code beside angles that are not degrees".to_owned());
        }
        None => {
            put(keys, key::PRIME_MERIDIAN, USER_DEFINED);
            put(keys, key::PRIME_MERIDIAN_LONG, degrees);
        }
    }
    *citation += &format!("Primem = {}|", part(name));
    Ok(())
}

fn geocentric(keys: &mut GeoKeys, node: &Node, warnings: &mut Warnings) -> Result<(), String> {
    put(keys, key::MODEL_TYPE, 3);
    if let Some(code) = node.epsg_code().and_then(|_| code_of(node, warnings)) {
        put(keys, key::GEODETIC_CRS, code);
        return Ok(());
    }
    linear_unit(keys, node, &mut String::new())?;
    let mut base = Node::named("GEOGCS", node.name().unwrap_or("unknown"));
    for word in ["DATUM", "PRIMEM"] {
        base = base.with(node.child(&[word]).ok_or("a geocentric system without a datum")?.clone());
    }
    geographic(keys, &base.with(Node::named("UNIT", "degree").number(DEGREE).epsg(Some(9122))), warnings)
}

/// Adds a system without a place on the Earth: keys only hold its name and unit.
fn local(keys: &mut GeoKeys, node: &Node) -> Result<(), String> {
    let mut citation = String::new();
    linear_unit(keys, node, &mut citation)?;
    if !citation.is_empty() {
        put(keys, key::PROJECTED_CITATION, citation.as_str());
    }
    let known = |n: &Node| match n.keyword.as_str() {
        "UNIT" => true,
        "AXIS" => matches!(
            (n.name(), n.text(1)),
            (Some("Easting"), Some("EAST")) | (Some("Northing"), Some("NORTH"))
        ),
        _ => false,
    };
    if node.children().all(known) {
        Ok(())
    } else {
        Err("a local system with a datum or axes of its own".to_owned())
    }
}

fn linear_unit(keys: &mut GeoKeys, node: &Node, citation: &mut String) -> Result<(), String> {
    let Some(unit) = node.child(&["UNIT"]) else { return Ok(()) };
    match unit_code(node, LENGTHS) {
        Some(code) => put(keys, key::LINEAR_UNITS, code),
        None => {
            let size = unit.f64(1).filter(|v| *v > 0.0).ok_or("a unit without a positive size")?;
            put(keys, key::LINEAR_UNITS, USER_DEFINED);
            put(keys, key::LINEAR_UNIT_SIZE, size);
            *citation += &format!("LUnits = {}|", part(unit.name().unwrap_or("unknown")));
        }
    }
    Ok(())
}

/// Returns the code of the unit of a system, by its size.
fn unit_code(node: &Node, rows: &[UnitRow]) -> Option<u16> {
    code_by_size(node.child(&["UNIT"])?.f64(1)?, rows)
}

/// Returns the code of a unit of length by its size in metres.
pub(super) fn length_code(size: f64) -> Option<u16> {
    code_by_size(size, LENGTHS)
}

/// Returns the code of a unit by its size. Texts give units with 15 digits, some with 13.
fn code_by_size(size: f64, rows: &[UnitRow]) -> Option<u16> {
    rows.iter().find(|row| (row.2 - size).abs() <= 1e-11 * row.2).map(|row| row.0)
}

/// Warns that a shift is lost: GDAL takes the shift of a registered datum from its own list, so it cannot be stored
/// with a code.
fn shift_is_lost(geographic: &Node, warnings: &mut Warnings) {
    let shift = geographic.child(&["DATUM"]).and_then(|d| d.child(&["TOWGS84"]));
    if shift.is_some_and(|s| (0..s.values.len()).any(|i| s.f64(i) != Some(0.0))) {
        let message = "a datum shift beside a registered system has no place in keys; not written";
        warnings.push(Warning::new(Code::UnsupportedCrs, "TOWGS84", message));
    }
}
