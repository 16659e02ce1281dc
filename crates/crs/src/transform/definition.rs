//! The properties of a reference system for transforming coordinates: datum, ellipsoid, meridian, projection, units,
//! axes.
//!
//! `dialect` and `proj_string` parse texts; methods that GeoKeys cannot describe are parsed here. An unknown method or
//! parameter is an error that names it.

use crate::dialect::{self, Heights};
use crate::method::{Role, plain};
use crate::reference::DEGREE;
use crate::wkt::Node;
use crate::{Crs, CrsKind};
use crate::{proj_string, registry};

use super::datum::{Datum, DatumKind};
use super::projection::Projection;

/// An ellipsoid of revolution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ellipsoid {
    /// Semi-major axis in metres.
    pub major: f64,
    /// 0 for a sphere.
    pub inverse_flattening: f64,
}

impl Ellipsoid {
    /// Inverse flattening of the flattest ellipsoid for which the series of the projections are exact.
    const FLATTEST: f64 = 150.0;

    pub fn new(major: f64, inverse_flattening: f64) -> Result<Self, String> {
        if !(major.is_finite() && major > 0.0) {
            return Err(format!("a semi-major axis of {major} m"));
        }
        if inverse_flattening != 0.0 && !(Self::FLATTEST..=1e12).contains(&inverse_flattening) {
            return Err(format!(
                "an ellipsoid with the inverse flattening {inverse_flattening}; at least {} is supported",
                Self::FLATTEST
            ));
        }
        Ok(Self { major, inverse_flattening })
    }

    pub fn is_sphere(self) -> bool {
        self.inverse_flattening == 0.0
    }

    pub fn flattening(self) -> f64 {
        if self.is_sphere() { 0.0 } else { 1.0 / self.inverse_flattening }
    }

    pub fn eccentricity_squared(self) -> f64 {
        self.flattening() * (2.0 - self.flattening())
    }

    pub fn third_flattening(self) -> f64 {
        self.flattening() / (2.0 - self.flattening())
    }

    /// Returns the radius of the sphere with the same surface.
    pub fn authalic_radius(self) -> f64 {
        let e2 = self.eccentricity_squared();
        if e2 == 0.0 {
            return self.major;
        }
        let e = e2.sqrt();
        let minor_squared = self.major * self.major * (1.0 - e2);
        ((self.major * self.major + minor_squared * e.atanh() / e) / 2.0).sqrt()
    }
}

/// Directions of the two axes in stored coordinates (x before y).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axes {
    EastNorth,
    WestSouth,
    SouthWest,
}

impl Axes {
    /// Returns easting and northing of stored coordinates.
    pub fn to_east_north(self, x: f64, y: f64) -> (f64, f64) {
        match self {
            Self::EastNorth => (x, y),
            Self::WestSouth => (-x, -y),
            Self::SouthWest => (-y, -x),
        }
    }

    /// Returns stored coordinates of an easting and northing: each conversion is its own inverse.
    pub fn stored(self, east: f64, north: f64) -> (f64, f64) {
        self.to_east_north(east, north)
    }
}

/// A reference system as numbers.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub datum: Datum,
    /// Longitude of the prime meridian, degrees east of Greenwich.
    pub meridian: f64,
    pub projection: Projection,
    /// Size of the unit of the coordinates in metres, or in degrees for a geographic system.
    pub unit: f64,
    pub axes: Axes,
    /// Whether the system has heights, which a transformation does not change.
    pub heights: bool,
}

impl Definition {
    /// Returns a system whose coordinates can only stay in it.
    pub fn plane(crs: &Crs) -> Self {
        let ellipsoid = Ellipsoid { major: 6_378_137.0, inverse_flattening: 0.0 };
        Self {
            datum: Datum { name: crs.name.clone(), ellipsoid, kind: DatumKind::Unknown },
            meridian: 0.0,
            projection: Projection::plane(),
            unit: 1.0,
            axes: Axes::EastNorth,
            heights: false,
        }
    }

    /// Parses the definition of a system. The error says why its coordinates cannot be computed.
    pub fn of(crs: &Crs) -> Result<Self, String> {
        if !matches!(
            crs.kind,
            CrsKind::Projected | CrsKind::Geographic | CrsKind::Geographic3D | CrsKind::Compound
        ) {
            return Err("its coordinates are neither projected nor geographic".to_owned());
        }
        let text = crs.wkt.as_deref().ok_or("its definition is not known here; give it as WKT")?;
        let node = Node::parse(text).map_err(|e| e.to_string())?;
        let heights = matches!(crs.kind, CrsKind::Geographic3D | CrsKind::Compound);
        let (horizontal, heights) = match dialect::system(&node) {
            Ok(system) => {
                let more = !matches!(system.heights, Heights::None);
                (system.horizontal, heights || more)
            }
            Err(reason) => {
                // Methods that keys cannot express, alone or in a compound system.
                let part = node.children().find(|n| n.is(&PROJECTED)).cloned();
                let horizontal = if node.is(&PROJECTED) { Some(node) } else { part };
                (horizontal.ok_or(reason)?, heights)
            }
        };
        let mut definition =
            if horizontal.is(&PROJECTED) { projected(&horizontal)? } else { geographic(&horizontal)? };
        definition.heights = heights;
        Ok(definition)
    }
}

/// Registered systems on an ellipsoid with the projection of the sphere with the ellipsoid's surface, which WKT 1
/// cannot express.
const SPHERICAL: [u32; 4] = [3973, 3974, 3975, 9311];
const PROJECTED: [&str; 3] = ["PROJCS", "PROJCRS", "PROJECTEDCRS"];

/// Converts a number in units of `unit` radians to degrees.
pub(super) fn degrees(value: f64, unit: f64) -> f64 {
    // The unit is written with 15 digits, but means the degree.
    if is_degree(unit) { value } else { (value * unit).to_degrees() }
}

fn is_degree(unit: f64) -> bool {
    (unit - DEGREE).abs() <= 1e-11 * DEGREE
}

fn geographic(node: &Node) -> Result<Definition, String> {
    let node = dialect::geographic(node)?;
    let unit = node.child(&["UNIT"]).and_then(|n| n.f64(1)).unwrap_or(DEGREE);
    let datum = node.child(&["DATUM"]).ok_or("a system without a datum")?;
    let spheroid = datum.child(&["SPHEROID"]).ok_or("a datum without an ellipsoid")?;
    let (Some(major), Some(inverse_flattening)) = (spheroid.f64(1), spheroid.f64(2)) else {
        return Err("an ellipsoid without numbers".to_owned());
    };
    let ellipsoid = Ellipsoid::new(major, inverse_flattening)?;
    let meridian = node.child(&["PRIMEM"]).and_then(|n| n.f64(1)).unwrap_or(0.0);
    if !(-360.0..=360.0).contains(&meridian) {
        return Err(format!("a prime meridian at {meridian} degrees"));
    }
    Ok(Definition {
        datum: Datum::of(&node, datum, ellipsoid),
        meridian,
        projection: Projection::geographic(),
        unit: degrees(1.0, unit),
        axes: Axes::EastNorth,
        heights: false,
    })
}

fn projected(node: &Node) -> Result<Definition, String> {
    let base = node.child(&dialect::GEOGRAPHIC).ok_or("a projected system without a geographic one")?;
    let mut out = geographic(base)?;
    let angle = dialect::geographic(base)?.child(&["UNIT"]).and_then(|n| n.f64(1)).unwrap_or(DEGREE);
    let unit = dialect::unit(node, ("metre", 1.0))?.f64(1).unwrap_or(1.0);
    let conversion = node.child(&["CONVERSION"]).unwrap_or(node);
    let method = conversion.child(&["METHOD", "PROJECTION"]).and_then(Node::name);
    let method = method.ok_or("a projected system without a method")?;
    let ellipsoid = out.datum.ellipsoid;
    out.unit = unit;
    if dialect::is_pseudo_mercator(node, method) {
        // Longitude and latitude of the ellipsoid, used as if they were those of a sphere.
        let registered = registry::lookup(3857);
        if node.epsg_code() != Some(3857) || registered.as_ref() != Some(node) {
            return Err("a pseudo-Mercator other than EPSG:3857".to_owned());
        }
        out.projection = Projection::pseudo_mercator(ellipsoid)?;
        return Ok(out);
    }
    let method = match node.child(&["EXTENSION"]) {
        None => method,
        Some(extension) => extended(node, method, extension).ok_or("an extension of the projected system")?,
    };
    let parameters = Parameters::read(conversion, angle, unit)?;
    let figure = match node.epsg_code().is_some_and(|code| SPHERICAL.contains(&code)) {
        true => Ellipsoid { major: ellipsoid.authalic_radius(), inverse_flattening: 0.0 },
        false => ellipsoid,
    };
    let (projection, is_polar) = Projection::of(method, parameters, figure)?;
    out.projection = projection;
    out.axes = if is_polar { Axes::EastNorth } else { axes(node)? };
    Ok(out)
}

/// Returns the method that an extension of WKT 1 substitutes, if its PROJ string has the parameters of the system: PROJ
/// writes a geostationary system whose satellite sweeps along x like this.
fn extended(node: &Node, method: &str, extension: &Node) -> Option<&'static str> {
    let text = extension.text(1).filter(|_| plain(method) == "geostationarysatellite")?;
    if !text.split_whitespace().any(|word| word == "+sweep=x") {
        return None;
    }
    let stated = proj_string::parse(text).ok()?;
    let parameters = |node: &Node| -> Vec<(String, f64)> {
        let all = node.children().filter(|child| child.is(&["PARAMETER"]));
        let mut all: Vec<_> = all.filter_map(|child| Some((plain(child.name()?), child.f64(1)?))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let figure = |node: &Node| -> Option<(f64, f64)> {
        let ellipsoid = geographic(node.child(&dialect::GEOGRAPHIC)?).ok()?.datum.ellipsoid;
        Some((ellipsoid.major, ellipsoid.inverse_flattening))
    };
    let (a, b) = (figure(&stated)?, figure(node)?);
    let is_same_figure = (a.0 - b.0).abs() <= 1e-3 && (a.1 - b.1).abs() <= 1e-6;
    let (stated, own) = (parameters(&stated), parameters(node));
    let same = |(a, b): (&(String, f64), &(String, f64))| a.0 == b.0 && (a.1 - b.1).abs() <= 1e-9 * a.1.abs();
    let is_same = is_same_figure && stated.len() == own.len() && stated.iter().zip(&own).all(same);
    is_same.then_some("Geostationary Satellite (Sweep X)")
}

fn axes(node: &Node) -> Result<Axes, String> {
    let directions: Vec<String> = node
        .children()
        .filter(|n| n.is(&["AXIS"]))
        .take(2)
        .filter_map(|n| n.text(1))
        .map(str::to_ascii_lowercase)
        .collect();
    match directions.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["east", "north"] | ["north", "east"] => Ok(Axes::EastNorth),
        ["west", "south"] => Ok(Axes::WestSouth),
        ["south", "west"] => Ok(Axes::SouthWest),
        _ => Err(format!("axes that point {}", directions.join(" and "))),
    }
}

/// Parameters of a projection by their plain names; angles in degrees, lengths in metres. Unused parameters are an
/// error.
#[derive(Debug)]
pub(super) struct Parameters(Vec<(String, f64)>);

impl Parameters {
    fn read(conversion: &Node, angle: f64, length: f64) -> Result<Self, String> {
        let mut list: Vec<(String, f64)> = Vec::new();
        for parameter in conversion.children().filter(|n| n.is(&["PARAMETER"])) {
            let name = parameter.name().unwrap_or("");
            let shown = name.escape_debug();
            let value = parameter.f64(1).ok_or_else(|| format!("parameter `{shown}` is not a number"))?;
            let plain = plain(name);
            let own =
                parameter.child(&["UNIT", "LENGTHUNIT", "ANGLEUNIT", "SCALEUNIT"]).and_then(|n| n.f64(1));
            let value = match Role::of(&plain) {
                Some(role) if role.is_angle() => degrees(value, own.unwrap_or(angle)),
                Some(role) if role.is_length() => value * own.unwrap_or(length),
                Some(_) => value,
                None if LENGTHS.contains(&plain.as_str()) => value * own.unwrap_or(length),
                None if ANGLES.contains(&plain.as_str()) => degrees(value, own.unwrap_or(angle)),
                None if PLAIN.contains(&plain.as_str()) => value,
                None => return Err(format!("unknown projection parameter `{shown}`")),
            };
            if !value.is_finite() || list.iter().any(|(known, _)| *known == plain) {
                return Err(format!("parameter `{shown}` is there twice or is not finite"));
            }
            list.push((plain, value));
        }
        Ok(Self(list))
    }

    /// Takes the parameter with one of these names.
    pub fn take(&mut self, names: &[&str]) -> Option<f64> {
        let at = self.0.iter().position(|(name, _)| names.contains(&name.as_str()))?;
        Some(self.0.remove(at).1)
    }

    /// Takes the parameter of a role.
    pub fn role(&mut self, role: Role) -> Option<f64> {
        let at = self.0.iter().position(|(name, _)| Role::of(name) == Some(role))?;
        Some(self.0.remove(at).1)
    }

    /// Fails if a parameter was not taken.
    pub fn finish(self, method: &str) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!(
                "parameter `{}` beside the method `{}`",
                name.escape_debug(),
                method.escape_debug()
            )),
        }
    }
}

/// Parameters that GeoKeys cannot express.
const LENGTHS: [&str; 2] = ["satelliteheight", "height"];
const ANGLES: [&str; 3] =
    ["pseudostandardparallel1", "latitudeofpseudostandardparallel", "colatitudeofconeaxis"];
const PLAIN: [&str; 3] = ["scalefactoronpseudostandardparallel", "ellipsoidscalingfactor", "option"];
