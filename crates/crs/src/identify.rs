//! Finds the EPSG code of a system that is written out in full.
//!
//! A code is only returned for a registered system that is the same: projection, parameters, unit, prime meridian and
//! datum. A datum named "unknown" matches by its ellipsoid, if exactly one system does. GDAL and PROJ report the same,
//! so a file means the same in all of them.

use crate::registry;
use crate::wkt::Node;

/// Names that differ between dialects for one parameter.
const ROLES: [(&str, &[&str]); 2] = [
    ("lat0", &["latitude_of_origin", "latitude_of_center"]),
    ("lon0", &["central_meridian", "longitude_of_center", "longitude_of_origin"]),
];

/// Returns the code of a `PROJCS`, `GEOGCS` or `GEOCCS`, if a registered system is the same. Searching all projected
/// systems takes about a millisecond, so callers should call it once.
pub fn identify(node: &Node) -> Option<u32> {
    if let Some(code) = node.epsg_code() {
        return Some(code);
    }
    if node.is(&["PROJCS"]) {
        projected(node)
    } else if node.is(&["GEOGCS"]) {
        geographic(node)
    } else if node.is(&["GEOCCS"]) {
        geocentric(node)
    } else {
        None
    }
}

/// Returns whether two definitions in the same dialect are equivalent: everything except names and axes. Datums are
/// compared by code or, if one has none, by ellipsoid.
pub fn same(a: &Node, b: &Node) -> bool {
    same_system(a, b, true)
}

/// Returns whether two definitions are equivalent except for the code of the datum, which for some systems changed
/// between editions of the registry.
pub fn same_but_datum(a: &Node, b: &Node) -> bool {
    same_system(a, b, false)
}

fn same_system(a: &Node, b: &Node, datums: bool) -> bool {
    let method = |node: &Node| node.child(&["PROJECTION"]).and_then(Node::name).map(str::to_ascii_lowercase);
    if a.keyword != b.keyword || !same_unit(a, b) {
        return false;
    }
    match (a.child(&["GEOGCS"]), b.child(&["GEOGCS"])) {
        (Some(base_a), Some(base_b)) => {
            method(a) == method(b)
                && match (parameters(a), parameters(b)) {
                    (Some(a), Some(b)) => same_parameters(&a, &b),
                    _ => false,
                }
                && same_system(base_a, base_b, datums)
        }
        (None, None) => {
            let datum = |node: &Node| node.child(&["DATUM"]).and_then(Node::epsg_code);
            let other_datum = matches!((datum(a), datum(b)), (Some(a), Some(b)) if a != b);
            same_meridian(a, b) && same_spheroid(a, b) && !(datums && other_datum)
        }
        _ => false,
    }
}

/// Returns whether two definitions have the same parameters, or have them in different dialects. Some differ between
/// editions of the registry in the last digits.
pub fn may_be_same(a: &Node, b: &Node) -> bool {
    let method = |node: &Node| node.child(&["PROJECTION"]).and_then(Node::name).map(str::to_ascii_lowercase);
    match (method(a), method(b)) {
        (Some(first), Some(second)) if first == second => match (parameters(a), parameters(b)) {
            (Some(a), Some(b)) => {
                a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.0 == b.0 && close(a.1, b.1, 1e-8))
            }
            _ => false,
        },
        _ => true,
    }
}

fn geographic(node: &Node) -> Option<u32> {
    let datum = node.child(&["DATUM"])?.epsg_code()?;
    let found = registry::geographic_by_datum(datum)?;
    (same_meridian(node, &found) && same_unit(node, &found)).then(|| found.epsg_code())?
}

fn geocentric(node: &Node) -> Option<u32> {
    let found = registry::geocentric_by_datum(node.child(&["DATUM"])?.epsg_code()?)?;
    (same_meridian(node, &found) && same_unit(node, &found)).then(|| found.epsg_code())?
}

/// Returns the code of a projected system. Among several systems that only differ in their axes, the one with the same
/// name is preferred, then one with eastings first, as coordinates in files are; a system with northings first only if
/// it is the only one.
fn projected(node: &Node) -> Option<u32> {
    let method = node.child(&["PROJECTION"])?.name()?;
    let geographic = node.child(&["GEOGCS"])?;
    let parameters = parameters(node)?;
    let datum = geographic.child(&["DATUM"])?;
    let unknown = datum.name()?.eq_ignore_ascii_case("unknown");
    let datum = match datum.epsg_code() {
        Some(code) => format!("AUTHORITY[\"EPSG\",\"{code}\"]"),
        None if unknown => String::new(),
        None => return None,
    };
    let method = format!("PROJECTION[\"{method}\"");
    // A search of the bare text excludes nearly all candidates. A candidate that refers to its geographic system by
    // code does not show its datum.
    let likely = |text: &str| {
        text.contains(&method)
            && (text.contains(&datum) || !text.contains("DATUM["))
            && !text.contains("EXTENSION[")
            && scan_parameters(text).is_some_and(|found| same_parameters(&parameters, &found))
    };
    let found = registry::all("PROJCS").filter(|(_, text)| likely(text)).filter_map(|(code, _)| {
        let candidate = registry::lookup(code)?;
        let base = candidate.child(&["GEOGCS"])?;
        let same = same_unit(node, &candidate)
            && !candidate.name()?.ends_with("(deprecated)")
            && same_meridian(geographic, base)
            && same_unit(geographic, base)
            && if unknown { same_spheroid(geographic, base) } else { same_datum(geographic, base) };
        same.then_some((code, candidate))
    });
    let (eastings, northings): (Vec<_>, Vec<_>) =
        found.partition(|(_, candidate)| !northings_first(candidate));
    let named = eastings.iter().chain(&northings).find(|(_, candidate)| candidate.name() == node.name());
    if let Some((code, _)) = named {
        return Some(*code);
    }
    match (eastings.as_slice(), northings.as_slice()) {
        ([(code, _)], _) | ([], [(code, _)]) => Some(*code),
        ([(code, _), ..], _) if !unknown => Some(*code),
        _ => None,
    }
}

/// The parameters by role, sorted, without those that have their default value.
type Parameters = Vec<(String, f64)>;

fn parameters(node: &Node) -> Option<Parameters> {
    let nodes = node.children().filter(|n| n.is(&["PARAMETER"]));
    by_role(nodes.map(|n| Some((n.name()?, n.f64(1)?))))
}

/// Returns the parameters from the text of a definition, without parsing it into a tree.
fn scan_parameters(text: &str) -> Option<Parameters> {
    by_role(text.split("PARAMETER[\"").skip(1).map(|rest| {
        let (name, rest) = rest.split_once("\",")?;
        let (value, _) = rest.split_once(']')?;
        Some((name, value.parse().ok()?))
    }))
}

fn by_role<'a>(parameters: impl Iterator<Item = Option<(&'a str, f64)>>) -> Option<Parameters> {
    let mut out = Vec::new();
    for parameter in parameters {
        let (name, value) = parameter?;
        let name = name.to_ascii_lowercase();
        let role = ROLES.iter().find(|(_, names)| names.contains(&name.as_str()));
        let role = role.map_or(name, |(role, _)| (*role).to_owned());
        let default = if role == "scale_factor" { 1.0 } else { 0.0 };
        if value != default {
            out.push((role, value));
        }
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    Some(out)
}

fn same_parameters(a: &[(String, f64)], b: &[(String, f64)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && close(a.1, b.1, 1e-10))
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

fn northings_first(candidate: &Node) -> bool {
    let mut axes = candidate.children().filter(|n| n.is(&["AXIS"])).filter_map(|n| n.text(1));
    match (axes.next(), axes.next()) {
        (Some(first), Some(second)) => {
            first.eq_ignore_ascii_case("NORTH") && second.eq_ignore_ascii_case("EAST")
        }
        _ => false,
    }
}

fn same_unit(a: &Node, b: &Node) -> bool {
    match (a.child(&["UNIT"]).and_then(|n| n.f64(1)), b.child(&["UNIT"]).and_then(|n| n.f64(1))) {
        (Some(a), Some(b)) => close(a, b, 1e-10),
        _ => false,
    }
}

fn same_meridian(a: &Node, b: &Node) -> bool {
    match (a.child(&["PRIMEM"]).and_then(|n| n.f64(1)), b.child(&["PRIMEM"]).and_then(|n| n.f64(1))) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        _ => false,
    }
}

fn same_datum(a: &Node, b: &Node) -> bool {
    match (a.child(&["DATUM"]).and_then(Node::epsg_code), b.child(&["DATUM"]).and_then(Node::epsg_code)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn same_spheroid(a: &Node, b: &Node) -> bool {
    let axes = |node: &Node| {
        let spheroid = node.child(&["DATUM"])?.child(&["SPHEROID"])?;
        Some((spheroid.f64(1)?, spheroid.f64(2)?))
    };
    match (axes(a), axes(b)) {
        (Some(a), Some(b)) => close(a.0, b.0, 1e-10) && close(a.1, b.1, 1e-9),
        _ => false,
    }
}
