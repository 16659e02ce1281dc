//! Converts a reference system to GeoKeys.
//!
//! A registered system is written by code, others in full if keys can express them, else as a citation with the
//! definition in the sidecar. A stated code counts only if its definition agrees.

use super::super::keys::{GeoKeys, KeyValue, USER_DEFINED, key};
use super::super::warning::GeoWarningCode as Code;
use super::{horizontal, vertical};
use crate::{Warning, Warnings};
use strile_crs::dialect::{self, Heights, System};
use strile_crs::registry;
use strile_crs::wkt::Node;
use strile_crs::{Crs, CrsKind};

/// Longest WKT that is stored in a citation: the limit of GDAL's reader.
const LONGEST_CITATION: usize = 2300;

/// Keys of a system, and whether they are complete.
pub(super) struct Written {
    pub keys: GeoKeys,
    pub needs_sidecar: bool,
}

/// Adds a key.
pub(super) fn put(keys: &mut GeoKeys, id: u16, value: impl Into<KeyValue>) {
    keys.values.insert(id, value.into());
}

impl From<u16> for KeyValue {
    fn from(value: u16) -> Self {
        Self::Short(value)
    }
}

impl From<f64> for KeyValue {
    fn from(value: f64) -> Self {
        Self::Doubles(vec![value])
    }
}

impl From<&str> for KeyValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// Returns the keys of a system. The error says why nothing can be written.
pub(super) fn keys_of(crs: &Crs, warnings: &mut Warnings) -> Result<Written, String> {
    let Some(text) = &crs.wkt else { return bare_code(crs) };
    let node = Node::parse(text)?;
    let described = dialect::system(&node).map_err(String::from).and_then(|system| {
        let mut keys = GeoKeys { revision: (1, 0), ..Default::default() };
        let mut told = Warnings::new();
        put(&mut keys, key::CITATION, system.name.as_str());
        horizontal::put_system(&mut keys, &system.horizontal, &mut told)?;
        let whole = vertical::put_heights(&mut keys, &with_heights_beside(system, crs), crs, &mut told)?;
        warnings.append(told);
        Ok(Written { keys, needs_sidecar: !whole })
    });
    described.or_else(|reason| Ok(citation(crs, &node, &reason, warnings)))
}

/// Readers keep heights with a system whose definition has none.
fn with_heights_beside(system: System, crs: &Crs) -> System {
    match (&system.heights, &crs.vertical) {
        (Heights::None, Some(vertical)) if vertical.epsg.is_none() && vertical.unit.is_none() => {
            System { heights: Heights::Ellipsoidal(None), ..system }
        }
        _ => system,
    }
}

/// Returns the keys of a code whose definition is not known here, or of a name alone.
fn bare_code(crs: &Crs) -> Result<Written, String> {
    if crs.epsg.is_none() && crs.kind == CrsKind::Other && !crs.name.is_empty() {
        let mut keys = GeoKeys { revision: (1, 0), ..Default::default() };
        put(&mut keys, key::MODEL_TYPE, 1);
        put(&mut keys, key::CITATION, crs.name.as_str());
        put(&mut keys, key::PROJECTED_CRS, USER_DEFINED);
        return Ok(Written { keys, needs_sidecar: false });
    }
    let code = crs.epsg.and_then(horizontal::key_code);
    let code = code.ok_or("a reference system with neither a definition nor a code that keys can hold")?;
    let mut keys = GeoKeys { revision: (1, 0), ..Default::default() };
    put(&mut keys, key::CITATION, crs.name.as_str());
    match crs.kind {
        CrsKind::Projected => {
            put(&mut keys, key::MODEL_TYPE, 1);
            put(&mut keys, key::PROJECTED_CRS, code);
        }
        CrsKind::Geographic => {
            put(&mut keys, key::MODEL_TYPE, 2);
            put(&mut keys, key::GEODETIC_CRS, code);
        }
        kind => return Err(format!("code {code} of a {kind:?} system without its definition")),
    }
    Ok(Written { keys, needs_sidecar: false })
}

/// Returns a citation for a system that keys cannot describe: its name, its text if it is WKT 1, and the sidecar.
fn citation(crs: &Crs, node: &Node, reason: &str, warnings: &mut Warnings) -> Written {
    let message =
        format!("{reason}: keys hold no more than name and code; the definition is in the .aux.xml");
    warnings.push(Warning::new(Code::UnsupportedCrs, "GeoKeyDirectory", message));
    let mut keys = GeoKeys { revision: (1, 0), ..Default::default() };
    put(&mut keys, key::CITATION, crs.name.as_str());
    // A code of a newer registry than the one here may be known to other readers.
    let newer = node.epsg_code().filter(|code| registry::lookup(*code).is_none());
    if let (CrsKind::Projected, Some(code)) = (crs.kind, newer.and_then(horizontal::key_code)) {
        put(&mut keys, key::MODEL_TYPE, 1);
        put(&mut keys, key::PROJECTED_CRS, code);
        return Written { keys, needs_sidecar: true };
    }
    put(&mut keys, key::MODEL_TYPE, USER_DEFINED);
    let text = node.to_string();
    if node.is(&["PROJCS"]) && text.len() <= LONGEST_CITATION {
        put(&mut keys, key::PROJECTED_CITATION, format!("ESRI PE String = {text}").as_str());
    }
    Written { keys, needs_sidecar: true }
}
