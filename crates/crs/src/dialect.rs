//! Converts any well-known text to the WKT 1 that is written here, with GDAL's names and GDAL's order.
//!
//! WKT 2 and ESRI's WKT differ in names, in the position of units and in the meaning of names. The result has one form:
//! angles of parameters in the unit of the geographic system, lengths in that of the projected one, prime meridians in
//! degrees, and EPSG codes if the text or a known datum name gives them. Anything that this form cannot express is an
//! error with its reason, never an approximation.

use crate::datum_names;
use crate::identify;
use crate::invalid::InvalidValue;
use crate::method::{Role, Values, plain, resolve};
use crate::reference::DEGREE;
use crate::registry;
use crate::wkt::{Node, Value};

/// The parts of a reference system.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// `PROJCS`, `GEOGCS`, `GEOCCS` or `LOCAL_CS`.
    pub horizontal: Node,
    /// The heights of the system.
    pub heights: Heights,
    /// Name of the whole system.
    pub name: String,
}

/// The heights of a system.
#[derive(Debug, Clone, PartialEq)]
pub enum Heights {
    /// None.
    None,
    /// Above the ellipsoid, in metres; with the code of the geographic system with three axes, if stated.
    Ellipsoidal(Option<u32>),
    /// A `VERT_CS`.
    Vertical(Node),
}

impl Heights {
    fn of_third_axis(node: &Node) -> Result<Self, String> {
        if node.child(&["CS"]).and_then(|cs| cs.f64(1)) != Some(3.0) {
            return Ok(Self::None);
        }
        let third = node.children().filter(|n| n.is(&["AXIS"])).nth(2);
        match third.and_then(unit_size).or_else(|| node.child(&["LENGTHUNIT"])?.f64(1)) {
            None | Some(1.0) => Ok(Self::Ellipsoidal(three_axes_code(node))),
            Some(size) => Err(format!("heights above the ellipsoid in a unit of {size} m")),
        }
    }
}

fn three_axes_code(node: &Node) -> Option<u32> {
    let geographic = if node.is(&GEOGRAPHIC) { node } else { node.child(&GEOGRAPHIC)? };
    registered(geographic)?.epsg_code()
}

const PROJECTED: [&str; 3] = ["PROJCS", "PROJCRS", "PROJECTEDCRS"];
pub(crate) const GEOGRAPHIC: [&str; 7] =
    ["GEOGCS", "GEOGCRS", "GEOGRAPHICCRS", "BASEGEOGCRS", "GEODCRS", "GEODETICCRS", "BASEGEODCRS"];
const VERTICAL: [&str; 3] = ["VERT_CS", "VERTCRS", "VERTICALCRS"];
const UNITS: [&str; 3] = ["UNIT", "LENGTHUNIT", "ANGLEUNIT"];

/// Splits a system into its parts. The error says what WKT 1 and keys cannot express.
pub fn system(node: &Node) -> Result<System, InvalidValue> {
    Ok(taken_apart(node)?)
}

fn taken_apart(node: &Node) -> Result<System, String> {
    let name = node.name().unwrap_or("unknown").to_owned();
    if node.is(&["COMPD_CS", "COMPOUNDCRS"]) {
        let parts: Vec<&Node> = node.children().filter(|n| !is_about(n)).collect();
        let [horizontal, vertical] = parts.as_slice() else {
            return Err(format!("a compound system of {} parts", parts.len()));
        };
        let System { horizontal, heights: Heights::None, .. } = taken_apart(horizontal)? else {
            return Err("a compound system whose horizontal part has heights".to_owned());
        };
        let given = System { horizontal, heights: Heights::Vertical(self::vertical(vertical)?), name };
        // The parts of a registered system have codes that a text may omit.
        let known = registered(node).filter(|found| found != node).and_then(|found| system(&found).ok());
        let known = known.filter(|known| identify::same(&known.horizontal, &given.horizontal));
        return Ok(known.unwrap_or(given));
    }
    let heights = Heights::of_third_axis(node)?;
    if node.is(&PROJECTED) {
        let horizontal = projected(node).or_else(|reason| registered(node).ok_or(reason))?;
        let flat = matches!(heights, Heights::None);
        Ok(System { horizontal: if flat { horizontal } else { without_code(horizontal) }, heights, name })
    } else if is_geocentric(node) {
        Ok(System { horizontal: geocentric(node)?, heights: Heights::None, name })
    } else if node.is(&GEOGRAPHIC) {
        let horizontal = geographic(node)?;
        let flat = matches!(heights, Heights::None);
        Ok(System { horizontal: if flat { horizontal } else { without_code(horizontal) }, heights, name })
    } else if node.is(&["LOCAL_CS"]) {
        Ok(System { horizontal: node.clone(), heights: Heights::None, name })
    } else {
        Err(format!("a system of the kind {}", node.keyword.escape_debug()))
    }
}

/// Returns the registered definition, if a text has a code, that system's name and, as far as they are comparable, its
/// parameters.
fn registered(node: &Node) -> Option<Node> {
    let found = registry::lookup(node.epsg_code()?)?;
    let same_name = plain(found.name()?) == plain(node.name()?);
    (same_name && identify::may_be_same(node, &found)).then_some(found)
}

fn is_geocentric(node: &Node) -> bool {
    let shape = node.child(&["CS"]).and_then(|cs| cs.text(0)).unwrap_or("");
    node.is(&["GEOCCS"]) || (node.is(&["GEODCRS", "GEODETICCRS"]) && shape.eq_ignore_ascii_case("cartesian"))
}

/// Returns whether a part only describes a system and is not part of its definition.
fn is_about(node: &Node) -> bool {
    node.is(&["AUTHORITY", "ID", "USAGE", "SCOPE", "AREA", "BBOX", "REMARK", "EXTENSION", "VERTICALEXTENT"])
}

fn unit_size(node: &Node) -> Option<f64> {
    node.child(&UNITS)?.f64(1)
}

/// Returns the unit of a system: its own, or that of its first axis.
fn unit_of(node: &Node) -> Option<&Node> {
    node.child(&UNITS).or_else(|| node.child(&["AXIS"])?.child(&UNITS))
}

pub(crate) fn unit(node: &Node, fallback: (&str, f64)) -> Result<Node, String> {
    let (name, size, code) = match unit_of(node) {
        None => (fallback.0, fallback.1, None),
        Some(unit) => match unit.f64(1).filter(|v| *v > 0.0) {
            Some(size) => (unit.name().unwrap_or("unknown"), size, unit.epsg_code()),
            None => return Err("a unit without a positive size".to_owned()),
        },
    };
    Ok(Node::named("UNIT", name).number(size).epsg(code))
}

/// Fails for axes that point west or south: they invert every coordinate.
fn check_axes(node: &Node, polar: bool, south_orientated: bool) -> Result<(), String> {
    let turned = node.children().filter(|n| n.is(&["AXIS"])).take(2).filter_map(|n| n.text(1));
    let turned = turned.filter(|d| d.eq_ignore_ascii_case("WEST") || d.eq_ignore_ascii_case("SOUTH")).count();
    let expected = if south_orientated { [0, 2] } else { [0, 0] };
    if polar || expected.contains(&turned) { Ok(()) } else { Err("axes that point west or south".to_owned()) }
}

pub(crate) fn geographic(node: &Node) -> Result<Node, String> {
    if node.child(&["DERIVINGCONVERSION"]).is_some() {
        return Err("a system derived from another by a conversion".to_owned());
    }
    check_axes(node, false, false)?;
    // Under a projected system of WKT 2, only the prime meridian gives the unit.
    let meridian_unit = || node.child(&["PRIMEM", "PRIMEMERIDIAN"])?.child(&["ANGLEUNIT", "UNIT"]);
    let from = if unit_of(node).is_some() { None } else { meridian_unit() };
    let unit = match from.and_then(|unit| Some((unit.name()?, unit.f64(1).filter(|v| *v > 0.0)?))) {
        Some((name, size)) => Node::named("UNIT", name).number(size),
        None => unit(node, ("degree", DEGREE))?,
    };
    let size = unit.f64(1).unwrap_or(DEGREE);
    let name = node.name().unwrap_or("unknown");
    // ESRI's names have this prefix.
    let name = name.strip_prefix("GCS_").filter(|_| is_esri(node)).unwrap_or(name);
    let out = Node::named("GEOGCS", name).with(datum(node)?).with(meridian(node, size)?).with(unit);
    Ok(out.epsg(node.epsg_code()))
}

fn geocentric(node: &Node) -> Result<Node, String> {
    let name = node.name().unwrap_or("unknown");
    let unit = unit(node, ("metre", 1.0))?;
    let out = Node::named("GEOCCS", name).with(datum(node)?).with(meridian(node, DEGREE)?).with(unit);
    Ok(out.epsg(node.epsg_code()))
}

fn is_esri(geographic: &Node) -> bool {
    geographic.child(&["DATUM"]).and_then(Node::name).is_some_and(|n| n.starts_with("D_"))
}

fn datum(node: &Node) -> Result<Node, String> {
    let datum =
        node.child(&["DATUM", "ENSEMBLE", "GEODETICDATUM", "TRF"]).ok_or("a system without a datum")?;
    let name = datum.name().unwrap_or("unknown");
    let ellipsoid = datum.child(&["SPHEROID", "ELLIPSOID"]).ok_or("a datum without an ellipsoid")?;
    let axes = (ellipsoid.f64(1).filter(|v| *v > 0.0), ellipsoid.f64(2).filter(|v| *v == 0.0 || *v > 1.0));
    let (Some(major), Some(inverse_flattening)) = axes else {
        return Err("an ellipsoid that is neither a sphere nor flattened".to_owned());
    };
    let major = major * unit_size(ellipsoid).unwrap_or(1.0);
    let ellipsoid_name = ellipsoid.name().unwrap_or("unknown");
    let mut spheroid = Node::named("SPHEROID", ellipsoid_name).number(major).number(inverse_flattening);
    spheroid = spheroid.epsg(ellipsoid.epsg_code());
    let (name, code) = datum_names::known(name, datum.epsg_code(), (major, inverse_flattening));
    let mut out = Node::named("DATUM", &name).with(spheroid);
    if let Some(shift) = datum.child(&["TOWGS84"]) {
        out = out.with(shift.clone());
    }
    if node.child(&["EXTENSION"]).or_else(|| datum.child(&["EXTENSION"])).is_some() {
        return Err("an extension of the geographic system".to_owned());
    }
    Ok(out.epsg(code))
}

/// Returns the prime meridian in degrees.
fn meridian(node: &Node, unit: f64) -> Result<Node, String> {
    let Some(given) = node.child(&["PRIMEM", "PRIMEMERIDIAN"]) else {
        return Ok(Node::named("PRIMEM", "Greenwich").number(0.0).epsg(Some(8901)));
    };
    let value = given.f64(1).ok_or("a prime meridian without a number")?;
    // GDAL and ESRI write Paris in degrees although the unit is grads, contrary to the standard.
    let in_degrees = (value - 2.337_229_17).abs() < 1e-6;
    let size = unit_size(given).unwrap_or(if in_degrees { DEGREE } else { unit });
    let degrees = if close(size, DEGREE) { value } else { value * size / DEGREE };
    Ok(Node::named("PRIMEM", given.name().unwrap_or("unknown")).number(degrees).epsg(given.epsg_code()))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-11 * b.abs()
}

fn projected(node: &Node) -> Result<Node, String> {
    let base = node.child(&GEOGRAPHIC).ok_or("a projected system without a geographic one")?;
    let geographic = geographic(base)?;
    let angle = geographic.child(&["UNIT"]).and_then(|n| n.f64(1)).unwrap_or(DEGREE);
    let unit = unit(node, ("metre", 1.0))?;
    let length = unit.f64(1).unwrap_or(1.0);
    // WKT 2 keeps method and parameters together.
    let conversion = node.child(&["CONVERSION"]).unwrap_or(node);
    let method = conversion.child(&["METHOD", "PROJECTION"]).ok_or("a projected system without a method")?;
    let method = method.name().ok_or("a projection method without a name")?;
    if is_pseudo_mercator(node, method) {
        return pseudo_mercator(node, conversion, geographic, length);
    }
    if node.child(&["EXTENSION"]).is_some() {
        return Err("an extension of the projected system".to_owned());
    }
    let mut values = values(conversion, angle, length)?;
    let spheroid = geographic.child(&["DATUM"]).and_then(|d| d.child(&["SPHEROID"]));
    let sphere = spheroid.and_then(|s| s.f64(2)) == Some(0.0);
    let right_angle = std::f64::consts::FRAC_PI_2 / angle;
    let right_angle = if close(angle, DEGREE) { 90.0 } else { right_angle };
    let method = resolve(method, &mut values, right_angle, sphere)?;
    let latitude = values.get(Role::Latitude).unwrap_or(0.0);
    let polar = method.code == 15 || (latitude.abs() - right_angle).abs() < 1e-9 * right_angle;
    check_axes(node, polar, method.code == 27)?;
    let mut out = Node::named("PROJCS", node.name().unwrap_or("unknown")).with(geographic);
    out = out.with(Node::named("PROJECTION", method.name));
    let parameters = method.parameters.iter().map(|(role, name, _)| (*role, *name));
    for (role, name) in
        parameters.chain([(Role::Easting, "false_easting"), (Role::Northing, "false_northing")])
    {
        let value = values.get(role).or(role.default()).unwrap_or(0.0);
        out = out.with(Node::named("PARAMETER", name).number(value));
    }
    out = out.with(unit);
    for (axis, direction) in axes(method.code) {
        out = out.with(Node::named("AXIS", axis).word(direction));
    }
    Ok(out.epsg(node.epsg_code()))
}

const fn axes(code: u16) -> [(&'static str, &'static str); 2] {
    if code == 27 {
        [("Westing", "WEST"), ("Southing", "SOUTH")]
    } else {
        [("Easting", "EAST"), ("Northing", "NORTH")]
    }
}

/// Returns the parameters by role, with angles in `angle` and lengths in `length`.
fn values(conversion: &Node, angle: f64, length: f64) -> Result<Values, String> {
    let mut values = Values::default();
    for parameter in conversion.children().filter(|n| n.is(&["PARAMETER"])) {
        let name = parameter.name().unwrap_or("");
        let value =
            parameter.f64(1).ok_or_else(|| format!("parameter `{}` is not a number", name.escape_debug()))?;
        let Some(role) = Role::of(&plain(name)) else {
            return Err(format!("keys have no parameter `{}`", name.escape_debug()));
        };
        let wanted = if role.is_angle() { angle } else { length };
        let value = match unit_size(parameter) {
            Some(own) if (role.is_angle() || role.is_length()) && !close(own, wanted) => value * own / wanted,
            _ => value,
        };
        if values.get(role).is_some() {
            return Err(format!("`{}` is there twice", name.escape_debug()));
        }
        values.0.push((role, value));
    }
    Ok(values)
}

pub(crate) fn is_pseudo_mercator(node: &Node, method: &str) -> bool {
    let by_extension = || {
        let text = node.child(&["EXTENSION"]).and_then(|n| n.text(1)).unwrap_or("");
        plain(method) == "mercator1sp" && text.contains("+proj=merc") && text.contains("+nadgrids=@null")
    };
    matches!(plain(method).as_str(), "mercatorauxiliarysphere" | "popularvisualisationpseudomercator")
        || by_extension()
}

/// Returns the only pseudo-Mercator with a code; keys cannot describe another.
fn pseudo_mercator(node: &Node, conversion: &Node, geographic: Node, length: f64) -> Result<Node, String> {
    let zero = conversion.children().filter(|n| n.is(&["PARAMETER"])).all(|p| {
        let scale = p.name().is_some_and(|n| Role::of(&plain(n)) == Some(Role::Scale));
        p.f64(1) == Some(if scale { 1.0 } else { 0.0 })
    });
    let wgs84 = geographic.child(&["DATUM"]).and_then(Node::epsg_code) == Some(6326);
    let greenwich = geographic.child(&["PRIMEM"]).and_then(|n| n.f64(1)) == Some(0.0);
    if !(zero && wgs84 && greenwich && length == 1.0) || node.epsg_code().is_some_and(|code| code != 3857) {
        return Err("a pseudo-Mercator other than EPSG:3857".to_owned());
    }
    registry::lookup(3857).ok_or_else(|| "no definition of EPSG:3857".to_owned())
}

fn vertical(node: &Node) -> Result<Node, String> {
    if !node.is(&VERTICAL) {
        return Err(format!("a compound system with a part of the kind {}", node.keyword.escape_debug()));
    }
    let datum = node.child(&["VERT_DATUM", "VDATUM", "VERTICALDATUM", "VRF", "ENSEMBLE"]);
    let datum = datum.ok_or("a vertical system without a datum")?;
    let up = node.child(&["AXIS"]).and_then(|n| n.text(1)).unwrap_or("UP");
    let axis = if up.eq_ignore_ascii_case("UP") {
        Node::named("AXIS", "Gravity-related height").word("UP")
    } else {
        Node::named("AXIS", "Depth").word("DOWN")
    };
    let name = node.name().unwrap_or("unknown");
    let vert_datum = Node::named("VERT_DATUM", datum.name().unwrap_or("unknown")).number(2005.0);
    let out = Node::named("VERT_CS", name).with(vert_datum.epsg(datum.epsg_code()));
    Ok(out.with(unit(node, ("metre", 1.0))?).with(axis).epsg(node.epsg_code()))
}

/// Returns a node without its own EPSG code.
pub fn without_code(mut node: Node) -> Node {
    node.values.retain(|v| !matches!(v, Value::Node(n) if n.is(&["AUTHORITY", "ID"])));
    node
}
