//! The vertical part of a system: keys 4096 to 4099.

use super::crs::{Crs, CrsKind, Unit, VerticalCrs};
use super::keys::{GeoKeys, USER_DEFINED, key};
use super::registry;
use super::warning::{GeoWarning, GeoWarningCode as Code};
use super::wkt::{Node, Value};

/// The horizontal system, with the vertical one of the keys where they name one.
pub(super) fn add(horizontal: Node, keys: &GeoKeys, warnings: &mut Vec<GeoWarning>) -> Crs {
    let alone = Crs::from_node(&horizontal);
    let Some(code) = keys.short(key::VERTICAL_CRS).filter(|&code| code != 0) else {
        return alone;
    };
    if is_ellipsoidal(code) {
        return with_ellipsoidal_height(alone, code);
    }
    let Some(vertical) = vertical(code, keys, warnings) else {
        let message = format!("code {code} is no known vertical system; only the horizontal one was kept");
        warnings.push(GeoWarning::new(Code::UnknownCode, "key 4096", message));
        return alone;
    };
    if let (Some(h), Some(v)) = (horizontal.epsg_code(), vertical.epsg_code())
        && let Some(node) = registry::compound(h, v)
    {
        return Crs::from_node(&node);
    }
    let name = match keys.text(key::CITATION) {
        Some(citation) if citation.contains('+') => citation.to_owned(),
        _ => format!("{} + {}", alone.name, vertical.name().unwrap_or("unknown")),
    };
    Crs::from_node(&Node::named("COMPD_CS", &name).with(horizontal).with(vertical))
}

/// Heights above the ellipsoid: GeoTIFF 1.0 has codes of its own, 5001 to 5033; GeoTIFF 1.1 repeats the
/// code of the geographic system with three axes.
fn is_ellipsoidal(code: u16) -> bool {
    (5001..=5033).contains(&code) || registry::lookup(u32::from(code)).is_some_and(|n| n.is(&["GEOGCRS"]))
}

fn with_ellipsoidal_height(horizontal: Crs, code: u16) -> Crs {
    let whole = Crs::from_epsg(u32::from(code)).filter(|crs| crs.kind == CrsKind::Geographic3D);
    let vertical = Some(VerticalCrs {
        epsg: None,
        name: "ellipsoidal height".to_owned(),
        unit: Some(Unit { name: "metre".to_owned(), size: 1.0 }),
    });
    match whole {
        Some(whole) if matches!(horizontal.kind, CrsKind::Geographic | CrsKind::Geographic3D) => {
            Crs { horizontal_epsg: horizontal.epsg, vertical, ..whole }
        }
        // The same system with heights has no code of its own.
        _ => Crs { horizontal_epsg: horizontal.epsg, epsg: None, vertical, ..horizontal },
    }
}

fn vertical(code: u16, keys: &GeoKeys, warnings: &mut Vec<GeoWarning>) -> Option<Node> {
    let unit = keys.short(key::VERTICAL_UNITS).filter(|&u| u != 0 && u != USER_DEFINED);
    let unit = unit.and_then(|u| match registry::length(u) {
        Some(row) => Some(Node::named("UNIT", row.1).number(row.2).epsg(Some(u32::from(u)))),
        None => {
            let message = format!("unit of length {u} is not known; ignored");
            warnings.push(GeoWarning::new(Code::UnknownCode, "key 4099", message));
            None
        }
    });
    if code == USER_DEFINED {
        let name = keys.text(key::VERTICAL_CITATION).unwrap_or("unknown");
        let datum = Node::named("VERT_DATUM", "unknown").number(2005.0);
        let metre = || Node::named("UNIT", "metre").number(1.0).epsg(Some(9001));
        let node = Node::named("VERT_CS", name).with(datum).with(unit.unwrap_or_else(metre));
        return Some(node.with(Node::named("AXIS", "Up").word("UP")));
    }
    let mut node = registry::lookup(u32::from(code)).filter(|n| n.is(&["VERT_CS"]))?;
    let size = |n: &Node| n.f64(1);
    if let (Some(unit), Some(own)) = (unit, node.child_mut(&["UNIT"]))
        && size(&unit) != size(own)
    {
        let message = "another unit than the code's own; heights are in the former";
        warnings.push(GeoWarning::new(Code::Contradiction, "key 4099", message));
        *own = unit;
        node.values.retain(|v| !matches!(v, Value::Node(n) if n.is(&["AUTHORITY"])));
    }
    Some(node)
}
