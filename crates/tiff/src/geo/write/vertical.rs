//! The keys of heights: 4096 to 4099.
//!
//! With them the directory is of GeoTIFF 1.1, from which on readers combine the two systems. Heights that are separate
//! from a system in an older file stay separate.

use super::super::keys::{GeoKeys, USER_DEFINED, key};
use super::super::warning::GeoWarningCode as Code;
use super::horizontal::{key_code, length_code};
use super::system::put;
use crate::{Warning, Warnings};
use strile_crs::dialect::{Heights, System};
use strile_crs::registry;
use strile_crs::wkt::Node;
use strile_crs::{Crs, CrsKind};

/// Adds the keys of heights. Returns whether they are complete.
pub(super) fn put_heights(
    keys: &mut GeoKeys,
    system: &System,
    crs: &Crs,
    warnings: &mut Warnings,
) -> Result<bool, String> {
    match &system.heights {
        Heights::None => beside(keys, crs),
        Heights::Ellipsoidal(code) => {
            let code = code.or_else(|| three_axes(&system.horizontal)).and_then(key_code);
            let code = code.ok_or("heights above an ellipsoid without a registered system of three axes")?;
            keys.revision = (1, 1);
            put(keys, key::VERTICAL_CRS, code);
            Ok(true)
        }
        Heights::Vertical(node) => {
            keys.revision = (1, 1);
            put_vertical(keys, node, warnings)
        }
    }
}

/// Adds heights of a file older than GeoTIFF 1.1.
fn beside(keys: &mut GeoKeys, crs: &Crs) -> Result<bool, String> {
    let Some(vertical) = crs.vertical.as_ref().filter(|_| crs.kind != CrsKind::Compound) else {
        return Ok(true);
    };
    match vertical.epsg.and_then(key_code) {
        Some(code) => put(keys, key::VERTICAL_CRS, code),
        None => {
            put(keys, key::VERTICAL_CRS, USER_DEFINED);
            put(keys, key::VERTICAL_CITATION, vertical.name.as_str());
        }
    }
    if let Some(unit) = &vertical.unit {
        put(keys, key::VERTICAL_UNITS, length_code(unit.size).ok_or("heights in a unit without a code")?);
    }
    Ok(true)
}

/// Returns the code of the system with three axes on the same datum.
fn three_axes(horizontal: &Node) -> Option<u32> {
    let geographic = horizontal.child(&["GEOGCS"]).unwrap_or(horizontal);
    let datum = geographic.child(&["DATUM"])?.epsg_code()?;
    let flat = registry::geographic_by_datum(datum)?;
    let needle = format!("GEOGCRS[\"{}\",", flat.name()?);
    registry::all("GEOGCRS").find(|(_, text)| text.starts_with(&needle)).map(|(code, _)| code)
}

fn put_vertical(keys: &mut GeoKeys, node: &Node, warnings: &mut Warnings) -> Result<bool, String> {
    let unit = node.child(&["UNIT"]).and_then(|n| n.f64(1)).unwrap_or(1.0);
    if let Some(code) = registered(node, unit) {
        put(keys, key::VERTICAL_CRS, code);
        return Ok(true);
    }
    if node.child(&["AXIS"]).and_then(|n| n.text(1)).is_some_and(|d| d.eq_ignore_ascii_case("DOWN")) {
        return Err("depths of a system without a code".to_owned());
    }
    let unit = length_code(unit).ok_or("heights in a unit without a code")?;
    let datum = node.child(&["VERT_DATUM"]);
    put(keys, key::VERTICAL_CRS, USER_DEFINED);
    put(keys, key::VERTICAL_CITATION, node.name().unwrap_or("unknown"));
    put(keys, key::VERTICAL_DATUM, USER_DEFINED);
    put(keys, key::VERTICAL_UNITS, unit);
    let name = datum.and_then(Node::name).unwrap_or("unknown");
    let unnamed = name.eq_ignore_ascii_case("unknown");
    if !unnamed {
        let message = format!(
            "keys have no name for the vertical datum `{}`; the definition is in the .aux.xml",
            name.escape_debug()
        );
        warnings.push(Warning::new(Code::UnsupportedCrs, "key 4098", message));
    }
    Ok(unnamed)
}

/// Returns the code of a vertical system, stated or found by its name, if the registered one has the same unit. Names
/// change between editions of the registry, so they are not compared if there is a code.
fn registered(node: &Node, unit: f64) -> Option<u16> {
    let name = node.name()?;
    let found = match node.epsg_code() {
        Some(code) => registry::lookup(code),
        None => {
            let needle = format!("VERT_CS[\"{name}\",");
            let found = registry::all("VERT_CS").find(|(_, text)| text.starts_with(&needle));
            found.and_then(|(code, _)| registry::lookup(code))
        }
    }?;
    let same_unit = found.child(&["UNIT"])?.f64(1).is_some_and(|size| (size - unit).abs() <= 1e-11 * size);
    (found.is(&["VERT_CS"]) && same_unit).then(|| found.epsg_code())?.and_then(key_code)
}
