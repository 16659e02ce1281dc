//! Map projections: converts projection keys to the `PROJECTION` and `PARAMETER` nodes of WKT 1.
//!
//! As required by WKT 1, lengths stay in the unit of the projected system and angles in that of the geographic one. As
//! usual, a missing scale is 1 and a missing false easting or northing 0; any other missing parameter is taken as 0
//! with a warning.

use super::keys::{GeoKeys, key};
use super::warning::GeoWarningCode as Code;
use crate::{Warning, Warnings};
use strile_crs::wkt::Node;

const LATITUDE: [u16; 3] = [key::NAT_ORIGIN_LAT, key::FALSE_ORIGIN_LAT, key::CENTER_LAT];
const LONGITUDE: [u16; 3] = [key::NAT_ORIGIN_LONG, key::FALSE_ORIGIN_LONG, key::CENTER_LONG];
const POLE_LONGITUDE: [u16; 4] =
    [key::STRAIGHT_VERT_POLE_LONG, key::NAT_ORIGIN_LONG, key::FALSE_ORIGIN_LONG, key::CENTER_LONG];
const EASTING: [u16; 3] = [key::FALSE_EASTING, key::FALSE_ORIGIN_EASTING, key::CENTER_EASTING];
const NORTHING: [u16; 3] = [key::FALSE_NORTHING, key::FALSE_ORIGIN_NORTHING, key::CENTER_NORTHING];
const SCALE: [u16; 2] = [key::SCALE_AT_NAT_ORIGIN, key::SCALE_AT_CENTER];

/// A projection: its WKT name, and its parameters in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Projection {
    pub name: &'static str,
    pub parameters: Vec<(&'static str, f64)>,
}

impl Projection {
    /// Adds the nodes to a `PROJCS`.
    pub fn add_to(&self, mut projcs: Node) -> Node {
        projcs = projcs.with(Node::named("PROJECTION", self.name));
        for (name, value) in &self.parameters {
            projcs = projcs.with(Node::named("PARAMETER", name).number(*value));
        }
        projcs
    }

    /// Returns whether it is a Mercator projection with every parameter at its natural value.
    pub fn is_mercator_at_zero(&self) -> bool {
        let natural = |name| if name == "scale_factor" { 1.0 } else { 0.0 };
        self.name == "Mercator_1SP" && self.parameters.iter().all(|(name, value)| *value == natural(*name))
    }

    /// Returns the axes: eastings and northings, or westings and southings.
    pub fn axes(&self) -> [(&'static str, &'static str); 2] {
        if self.name == "Transverse_Mercator_South_Orientated" {
            [("Westing", "WEST"), ("Southing", "SOUTH")]
        } else {
            [("Easting", "EAST"), ("Northing", "NORTH")]
        }
    }
}

/// Returns Universal Transverse Mercator for a projection code: 160zz in the north, 161zz in the south.
pub(super) fn utm(code: u16) -> Option<Projection> {
    let (zone, northing) = match code {
        16001..=16060 => (code - 16000, 0.0),
        16101..=16160 => (code - 16100, 10_000_000.0),
        _ => return None,
    };
    Some(Projection {
        name: "Transverse_Mercator",
        parameters: vec![
            ("latitude_of_origin", 0.0),
            ("central_meridian", f64::from(zone) * 6.0 - 183.0),
            ("scale_factor", 0.9996),
            ("false_easting", 500_000.0),
            ("false_northing", northing),
        ],
    })
}

/// Returns the projection described by key 3075 and the parameter keys. Angles of the keys are in `key_unit` and are
/// written in `geographic_unit`, both in radians. The error says what cannot be written.
pub(super) fn from_keys(
    keys: &GeoKeys,
    key_unit: f64,
    geographic_unit: f64,
    warnings: &mut Warnings,
) -> Result<Projection, String> {
    let method = keys.short(key::METHOD).ok_or("no projection method (key 3075)")?;
    let angle = key_unit / geographic_unit;
    let right_angle = std::f64::consts::FRAC_PI_2 / geographic_unit;
    let mut p = Builder { keys, angle, warnings, parameters: Vec::new() };
    let name = match method {
        1 | 14 | 16 | 27 => {
            p.latitude("latitude_of_origin").longitude("central_meridian").scale();
            match method {
                1 => "Transverse_Mercator",
                14 => "Stereographic",
                16 => "Oblique_Stereographic",
                _ => "Transverse_Mercator_South_Orientated",
            }
        }
        3 | 9815 => {
            p.latitude("latitude_of_center").longitude("longitude_of_center");
            p.angle("azimuth", &[key::AZIMUTH]);
            // Without its own key the grid is not rotated, as in GDAL.
            let rectified = keys.double(key::RECTIFIED_GRID_ANGLE).map_or(right_angle, |v| v * angle);
            p.parameters.push(("rectified_grid_angle", rectified));
            p.scale();
            if method == 3 { "Hotine_Oblique_Mercator" } else { "Hotine_Oblique_Mercator_Azimuth_Center" }
        }
        5 => {
            p.latitude("latitude_of_center").longitude("central_meridian");
            "Swiss_Oblique_Cylindrical"
        }
        7 if keys.double(key::STD_PARALLEL_1).is_some() && p.first(&SCALE).is_none() => {
            p.parallel_1().longitude("central_meridian");
            "Mercator_2SP"
        }
        7 => {
            // For a Mercator projection with one parallel, only a latitude of 0 is meaningful.
            if p.first(&LATITUDE).is_some_and(|v| v != 0.0) {
                p.latitude("latitude_of_origin");
            }
            p.longitude("central_meridian").scale();
            "Mercator_1SP"
        }
        8 => {
            p.parallel_1().parallel_2().latitude("latitude_of_origin").longitude("central_meridian");
            "Lambert_Conformal_Conic_2SP"
        }
        9 => {
            p.latitude("latitude_of_origin").longitude("central_meridian").scale();
            "Lambert_Conformal_Conic_1SP"
        }
        10 | 12 | 20 => {
            p.latitude("latitude_of_center").longitude("longitude_of_center");
            match method {
                10 => "Lambert_Azimuthal_Equal_Area",
                12 => "Azimuthal_Equidistant",
                _ => "Miller_Cylindrical",
            }
        }
        11 | 13 => {
            p.parallel_1().parallel_2().latitude("latitude_of_center").longitude("longitude_of_center");
            if method == 11 { "Albers_Conic_Equal_Area" } else { "Equidistant_Conic" }
        }
        15 => {
            p.latitude("latitude_of_origin").angle("central_meridian", &POLE_LONGITUDE);
            p.scale();
            "Polar_Stereographic"
        }
        17 => {
            if keys.double(key::STD_PARALLEL_1).is_some() {
                p.parallel_1();
            }
            if p.first(&LATITUDE).is_some_and(|v| v != 0.0) {
                p.latitude("latitude_of_origin");
            }
            p.longitude("central_meridian");
            "Equirectangular"
        }
        18 | 19 | 21 | 22 | 26 => {
            p.latitude("latitude_of_origin").longitude("central_meridian");
            match method {
                18 => "Cassini_Soldner",
                19 => "Gnomonic",
                21 => "Orthographic",
                22 => "Polyconic",
                _ => "New_Zealand_Map_Grid",
            }
        }
        23 | 24 => {
            p.longitude("longitude_of_center");
            if method == 23 { "Robinson" } else { "Sinusoidal" }
        }
        25 => {
            p.longitude("central_meridian");
            "VanDerGrinten"
        }
        28 => {
            p.parallel_1().longitude("central_meridian");
            "Cylindrical_Equal_Area"
        }
        other => return Err(format!("projection method {other} (key 3075) is not written as WKT here")),
    };
    p.offset("false_easting", &EASTING).offset("false_northing", &NORTHING);
    Ok(Projection { name, parameters: p.parameters })
}

/// Collects parameters from keys.
struct Builder<'a> {
    keys: &'a GeoKeys,
    angle: f64,
    warnings: &'a mut Warnings,
    parameters: Vec<(&'static str, f64)>,
}

impl Builder<'_> {
    fn first(&self, keys: &[u16]) -> Option<f64> {
        keys.iter().find_map(|&id| self.keys.double(id))
    }

    fn angle(&mut self, name: &'static str, keys: &[u16]) -> f64 {
        let value = self.first(keys).map(|v| v * self.angle);
        if value.is_none() {
            let place = format!("key {}", keys.first().copied().unwrap_or_default());
            let message = format!("`{name}` is missing; 0 was taken");
            self.warnings.push(Warning::new(Code::BadKey, place, message));
        }
        let value = value.unwrap_or(0.0);
        self.parameters.push((name, value));
        value
    }

    fn latitude(&mut self, name: &'static str) -> &mut Self {
        self.angle(name, &LATITUDE);
        self
    }

    fn longitude(&mut self, name: &'static str) -> &mut Self {
        self.angle(name, &LONGITUDE);
        self
    }

    fn parallel_1(&mut self) -> &mut Self {
        self.angle("standard_parallel_1", &[key::STD_PARALLEL_1]);
        self
    }

    fn parallel_2(&mut self) -> &mut Self {
        self.angle("standard_parallel_2", &[key::STD_PARALLEL_2]);
        self
    }

    fn scale(&mut self) -> &mut Self {
        let value = self.first(&SCALE).unwrap_or(1.0);
        self.parameters.push(("scale_factor", value));
        self
    }

    fn offset(&mut self, name: &'static str, keys: &[u16]) -> &mut Self {
        let value = self.first(keys).unwrap_or(0.0);
        self.parameters.push((name, value));
        self
    }
}
