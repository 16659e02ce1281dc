//! The vertical part of a system: keys 4096 to 4099.

use super::keys::{GeoKeys, USER_DEFINED, key};
use super::warning::GeoWarningCode as Code;
use crate::{Warning, Warnings};
use strile_crs::identify::identify;
use strile_crs::registry;
use strile_crs::wkt::Node;
use strile_crs::{Crs, CrsKind, VerticalCrs};

/// Returns the horizontal system, combined with the vertical one of the keys if they name one.
pub(super) fn add(horizontal: Node, keys: &GeoKeys, warnings: &mut Warnings) -> Crs {
    let code = identify(&horizontal);
    let alone = Crs::from_node_with(&horizontal, code);
    let Some(height) = keys.short(key::VERTICAL_CRS).filter(|&code| code != 0) else {
        return alone;
    };
    if is_ellipsoidal(height) {
        return with_ellipsoidal_height(alone, height);
    }
    let Some(vertical) = vertical(height, keys, warnings) else {
        let message = format!("unknown vertical system code {height}; only the horizontal one was kept");
        warnings.push(Warning::new(Code::UnknownCode, "key 4096", message));
        return alone;
    };
    // GDAL only combines the two from GeoTIFF 1.1 on; older files used the key too loosely.
    if keys.revision < (1, 1) {
        return Crs { vertical: Some(VerticalCrs::of(&vertical)), ..alone };
    }
    if let (Some(h), Some(v)) = (code, vertical.epsg_code())
        && let Some(node) = registry::compound(h, v)
    {
        return Crs::from_node_with(&node, code);
    }
    let own = |id| keys.short(id) == Some(USER_DEFINED);
    let described = own(key::PROJECTED_CRS) || own(key::GEODETIC_CRS);
    let name = match keys.text(key::CITATION) {
        Some(citation) if citation.contains('+') || described => citation.to_owned(),
        _ => format!("{} + {}", alone.name, vertical.name().unwrap_or("unknown")),
    };
    Crs::from_node_with(&Node::named("COMPD_CS", &name).with(horizontal).with(vertical), code)
}

/// Returns whether a code means heights above the ellipsoid: GeoTIFF 1.0 has separate codes, 5001 to 5033; GeoTIFF 1.1
/// repeats the code of the geographic system with three axes.
fn is_ellipsoidal(code: u16) -> bool {
    (5001..=5033).contains(&code) || registry::lookup(u32::from(code)).is_some_and(|n| n.is(&["GEOGCRS"]))
}

fn with_ellipsoidal_height(horizontal: Crs, code: u16) -> Crs {
    let whole = Crs::from_epsg(u32::from(code)).filter(|crs| crs.kind == CrsKind::Geographic3D);
    let vertical = Some(VerticalCrs { epsg: None, name: "ellipsoidal height".to_owned(), unit: None });
    match whole {
        Some(whole) if matches!(horizontal.kind, CrsKind::Geographic | CrsKind::Geographic3D) => {
            Crs { horizontal_epsg: horizontal.epsg, vertical, ..whole }
        }
        // The same system with heights has no code of its own.
        _ => Crs { horizontal_epsg: horizontal.epsg, epsg: None, vertical, ..horizontal },
    }
}

fn vertical(code: u16, keys: &GeoKeys, warnings: &mut Warnings) -> Option<Node> {
    let unit = keys.short(key::VERTICAL_UNITS).filter(|&u| u != 0 && u != USER_DEFINED);
    let unit = unit.and_then(|u| match registry::length(u) {
        Some(row) => Some(Node::named("UNIT", row.1).number(row.2).epsg(Some(u32::from(u)))),
        None => {
            let message = format!("unit of length {u} is not known; ignored");
            warnings.push(Warning::new(Code::UnknownCode, "key 4099", message));
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
    let node = registry::lookup(u32::from(code)).filter(|n| n.is(&["VERT_CS"]))?;
    let own = node.child(&["UNIT"]).and_then(|n| n.f64(1));
    if unit.is_some_and(|unit| unit.f64(1) != own) {
        let message = "another unit than that of the vertical system; the system's own was kept";
        warnings.push(Warning::new(Code::Contradiction, "key 4099", message));
    }
    Some(node)
}
