//! Projects longitude and latitude on an ellipsoid to eastings and northings in metres, and back.
//!
//! The mathematics is proj4rs's, except for the two projections of `cylindrical`. A point is inside the domain only if
//! the inverse restores it: outside its domain a formula returns meaningless finite numbers.

use std::f64::consts::{PI, TAU};
use std::fmt::Write as _;

use proj4rs::Proj;

use crate::method::{Role, plain};

use super::cylindrical::{Equidistant, Miller};
use super::definition::{Ellipsoid, Parameters};

/// The projection of a system, or none for a geographic one.
#[derive(Clone)]
pub(super) struct Projection {
    formula: Formula,
    /// Longitude of the centre in radians from the prime meridian, and false easting and northing in metres. Only used
    /// by strile's own formulas.
    centre: f64,
    offset: (f64, f64),
    /// Length of the equator, after which coordinates repeat: for cylindrical projections.
    period: Option<f64>,
    /// Approximate length of one radian on the ground, in metres.
    radius: f64,
}

#[derive(Clone)]
enum Formula {
    Geographic,
    /// Unknown: coordinates stay in their system.
    Plane,
    Proj4 {
        geographic: Box<Proj>,
        projected: Box<Proj>,
    },
    Equidistant(Equidistant),
    Miller(Miller),
}

impl std::fmt::Debug for Projection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.formula {
            Formula::Geographic => "geographic",
            Formula::Plane => "plane",
            Formula::Proj4 { projected, .. } => projected.projname(),
            Formula::Equidistant(_) => "eqc",
            Formula::Miller(_) => "mill",
        })
    }
}

/// Largest error of the inverse, in metres on the map.
const MISSES_MAP: f64 = 1e-3;
/// Largest error of the inverse on the ground; inverses near the edge of a domain are less exact.
const MISSES_GROUND: f64 = 1e-2;
/// Radius of the Earth, in metres. On smaller spheres the same angles are allowed.
const EARTH: f64 = 6_371_000.0;

impl Projection {
    /// Returns no projection: the coordinates are longitude and latitude.
    pub const fn geographic() -> Self {
        Self { formula: Formula::Geographic, centre: 0.0, offset: (0.0, 0.0), period: None, radius: 1.0 }
    }

    /// Returns a plane without a place on the Earth.
    pub const fn plane() -> Self {
        Self { formula: Formula::Plane, centre: 0.0, offset: (0.0, 0.0), period: None, radius: 1.0 }
    }

    /// Returns Mercator on the sphere with the semi-major axis, as in web maps.
    pub fn pseudo_mercator(ellipsoid: Ellipsoid) -> Result<Self, String> {
        let sphere = Ellipsoid { inverse_flattening: 0.0, ..ellipsoid };
        let mut out = Self::proj4("+proj=merc", sphere)?;
        out.period = Some(TAU * ellipsoid.major);
        Ok(out)
    }

    pub const fn is_geographic(&self) -> bool {
        matches!(self.formula, Formula::Geographic)
    }

    /// Returns the change of the easting per turn, in metres, if coordinates are periodic.
    pub const fn repeats(&self) -> Option<f64> {
        self.period
    }

    /// Returns the projection with this name in WKT, and whether it surrounds a pole, so that axes point south or north
    /// in every direction.
    pub fn of(method: &str, mut given: Parameters, ellipsoid: Ellipsoid) -> Result<(Self, bool), String> {
        let offset = (given.role(Role::Easting).unwrap_or(0.0), given.role(Role::Northing).unwrap_or(0.0));
        if offset.0.abs() > 1e12 || offset.1.abs() > 1e12 {
            return Err(format!("a false easting and northing of {} m and {} m", offset.0, offset.1));
        }
        let latitude = given.role(Role::Latitude);
        let longitude = given.role(Role::Longitude).unwrap_or(0.0);
        let is_polar = latitude.is_some_and(|v| (v.abs() - 90.0).abs() < 1e-9);
        let mut asked = Asked { given: &mut given, latitude, longitude };
        let name = plain(method);
        let own = |formula| Self {
            formula,
            centre: longitude.to_radians(),
            offset,
            period: None,
            radius: ellipsoid.major,
        };
        let mut out = match name.as_str() {
            "equirectangular" => {
                let parallel = asked.given.role(Role::Parallel1).unwrap_or(0.0);
                let origin = latitude.unwrap_or(0.0);
                let formula = Equidistant::new(ellipsoid, parallel.to_radians(), origin.to_radians());
                let formula = formula.ok_or_else(|| format!("a parallel of {parallel} degrees"))?;
                own(Formula::Equidistant(formula))
            }
            "millercylindrical" => {
                asked.latitude_is_zero(method)?;
                own(Formula::Miller(Miller::new(ellipsoid)))
            }
            other => {
                let mut text = asked.proj4(other, method)?;
                let _ = write!(text, " +x_0={} +y_0={}", offset.0, offset.1);
                Self::proj4(&text, ellipsoid)
                    .map_err(|e| format!("{e} (method `{}`)", method.escape_debug()))?
            }
        };
        given.finish(method)?;
        if matches!(
            name.as_str(),
            "equirectangular" | "millercylindrical" | "mercator1sp" | "mercator2sp" | "cylindricalequalarea"
        ) {
            out.period = out.period();
        }
        Ok((out, is_polar || name == "polarstereographic"))
    }

    fn proj4(text: &str, ellipsoid: Ellipsoid) -> Result<Self, String> {
        let shape = match ellipsoid.is_sphere() {
            true => format!("+R={}", ellipsoid.major),
            false => format!("+a={} +rf={}", ellipsoid.major, ellipsoid.inverse_flattening),
        };
        let make = |text: String| {
            Proj::from_proj_string(&text).map_err(|e| format!("the projection cannot be computed: {e}"))
        };
        let geographic = Box::new(make(format!("+proj=longlat {shape}"))?);
        let projected = Box::new(make(format!("{text} {shape}"))?);
        if !projected.has_inverse() || !projected.has_forward() {
            return Err("the projection has no inverse".to_owned());
        }
        Ok(Self {
            formula: Formula::Proj4 { geographic, projected },
            centre: 0.0,
            offset: (0.0, 0.0),
            period: None,
            radius: ellipsoid.major,
        })
    }

    /// Returns the change of x per turn, measured at the equator.
    fn period(&self) -> Option<f64> {
        let centre = match &self.formula {
            Formula::Proj4 { projected, .. } => projected.longitude_of_origin(),
            _ => self.centre,
        };
        let (x, _) = self.raw_forward(wrapped(centre), 0.0)?;
        let (right, _) = self.raw_forward(wrapped(centre + 1.0), 0.0)?;
        Some((right - x) * TAU).filter(|period| period.is_finite() && *period > 0.0)
    }

    /// Returns easting and northing in metres of a longitude and latitude in radians, or `None` outside the domain.
    pub fn forward(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        let (x, y) = self.raw_forward(longitude, latitude)?;
        let (back_longitude, back_latitude) = self.raw_inverse(x, y)?;
        let turn = wrapped(back_longitude - longitude) * latitude.cos();
        let miss = turn.abs().max((back_latitude - latitude).abs()) * self.radius.max(EARTH);
        (miss <= MISSES_GROUND).then_some((x, y))
    }

    /// Returns longitude and latitude in radians of an easting and northing in metres, or `None` outside the domain.
    pub fn inverse(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (longitude, latitude) = self.raw_inverse(x, y)?;
        let (back_x, back_y) = self.raw_forward(longitude, latitude)?;
        let mut miss_x = (back_x - x).abs();
        if let Some(period) = self.period {
            miss_x = miss_x.min((miss_x - period).abs());
        }
        let allowed = MISSES_MAP * (self.radius / EARTH).min(1.0) + 1e-10 * x.abs().max(y.abs());
        (miss_x.max((back_y - y).abs()) <= allowed).then_some((longitude, latitude))
    }

    fn raw_forward(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        let from_centre = wrapped(longitude - self.centre);
        let (x, y) = match &self.formula {
            Formula::Geographic | Formula::Plane => return None,
            Formula::Proj4 { geographic, projected } => {
                return finite(step(geographic, projected, longitude, latitude)?);
            }
            Formula::Equidistant(formula) => formula.forward(from_centre, latitude),
            Formula::Miller(formula) => formula.forward(from_centre, latitude),
        };
        finite((x + self.offset.0, y + self.offset.1))
    }

    fn raw_inverse(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (east, north) = (x - self.offset.0, y - self.offset.1);
        let (longitude, latitude) = match &self.formula {
            Formula::Geographic | Formula::Plane => return None,
            Formula::Proj4 { geographic, projected } => {
                return finite(step(projected, geographic, x, y)?);
            }
            Formula::Equidistant(formula) => formula.inverse(east, north)?,
            Formula::Miller(formula) => formula.inverse(east, north)?,
        };
        finite((wrapped(longitude + self.centre), latitude))
    }
}

fn step(from: &Proj, to: &Proj, x: f64, y: f64) -> Option<(f64, f64)> {
    let mut point = (x, y, 0.0);
    proj4rs::transform::transform(from, to, &mut point).ok()?;
    Some((point.0, point.1))
}

fn finite((x, y): (f64, f64)) -> Option<(f64, f64)> {
    (x.is_finite() && y.is_finite()).then_some((x, y))
}

/// Returns an angle in radians within ±π. Angles already within are unchanged.
fn wrapped(angle: f64) -> f64 {
    if (-PI..=PI).contains(&angle) {
        return angle;
    }
    let turned = (angle + PI).rem_euclid(TAU) - PI;
    if turned.is_nan() { angle } else { turned }
}

/// The parameters of a projection while they are used.
struct Asked<'a> {
    given: &'a mut Parameters,
    latitude: Option<f64>,
    longitude: f64,
}

impl Asked<'_> {
    /// Returns PROJ's form of the projection, without offsets and ellipsoid. `name` is plain, `method` as in the text.
    fn proj4(&mut self, name: &str, method: &str) -> Result<String, String> {
        let latitude = self.latitude.unwrap_or(0.0);
        let longitude = self.longitude;
        let centre = |projection: &str| format!("+proj={projection} +lat_0={latitude} +lon_0={longitude}");
        Ok(match name {
            "transversemercator" | "transversemercatorsouthorientated" => {
                format!("{} +k_0={}", centre("tmerc"), self.scale()?)
            }
            "lambertconformalconic1sp" => {
                format!("{} +lat_1={latitude} +k_0={}", centre("lcc"), self.scale()?)
            }
            "lambertconicconformal1spvariantb" => {
                // The origin of the scale and that of the northings differ.
                let natural = self.given.take(&["latitudeofnaturalorigin"]);
                let other = natural.or_else(|| self.given.take(&["latitudeoffalseorigin"]));
                let other = other.ok_or_else(|| missing("latitude of the false origin", method))?;
                let (scale_at, origin) =
                    if natural.is_some() { (other, latitude) } else { (latitude, other) };
                format!(
                    "+proj=lcc +lat_0={origin} +lat_1={scale_at} +lon_0={longitude} +k_0={}",
                    self.scale()?
                )
            }
            "lambertconformalconic2sp" => format!("{}{}", centre("lcc"), self.parallels(method)?),
            "lambertconicconformal2spmichigan" => {
                let scale = self.given.take(&["ellipsoidscalingfactor"]);
                let scale = scale.ok_or_else(|| missing("ellipsoid scaling factor", method))?;
                format!("{}{} +k_0={}", centre("lcc"), self.parallels(method)?, positive(scale)?)
            }
            "albersconicequalarea" => format!("{}{}", centre("aea"), self.parallels(method)?),
            "equidistantconic" => format!("{}{}", centre("eqdc"), self.parallels(method)?),
            "lambertazimuthalequalarea" => centre("laea"),
            "azimuthalequidistant" => centre("aeqd"),
            "polarstereographic" => {
                let pole = if latitude < 0.0 { -90.0 } else { 90.0 };
                let scale = self.scale()?;
                if (latitude.abs() - 90.0).abs() < 1e-9 {
                    format!("+proj=stere +lat_0={pole} +lon_0={longitude} +k_0={scale}")
                } else if scale == 1.0 && latitude != 0.0 {
                    format!("+proj=stere +lat_0={pole} +lat_ts={latitude} +lon_0={longitude}")
                } else {
                    return Err("a polar stereographic with a scale and a parallel of true scale".to_owned());
                }
            }
            "obliquestereographic" => format!("{} +k_0={}", centre("sterea"), self.scale()?),
            "stereographic" => format!("{} +k_0={}", centre("stere"), self.scale()?),
            "mercator1sp" => {
                self.latitude_is_zero(method)?;
                format!("+proj=merc +lon_0={longitude} +k_0={}", self.scale()?)
            }
            "mercator2sp" => format!("+proj=merc +lon_0={longitude} +lat_ts={}", self.parallel(method)?),
            "cylindricalequalarea" => {
                format!("+proj=cea +lon_0={longitude} +lat_ts={}", self.parallel(method)?)
            }
            "sinusoidal" => format!("+proj=sinu +lon_0={longitude}"),
            "robinson" => format!("+proj=robin +lon_0={longitude}"),
            "mollweide" => format!("+proj=moll +lon_0={longitude}"),
            "equalearth" => format!("+proj=eqearth +lon_0={longitude}"),
            "cassinisoldner" => centre("cass"),
            "polyconic" => centre("poly"),
            "gnomonic" => centre("gnom"),
            "orthographic" => centre("ortho"),
            "swissobliquecylindrical" => format!("{} +k_0=1", centre("somerc")),
            "hotineobliquemercator" | "hotineobliquemercatorazimuthcenter" => self.hotine(name, method)?,
            "krovak" | "krovaknorthorientated" => self.krovak(method)?,
            "geostationarysatellite" | "geostationarysatellitesweepy" => self.geostationary('y', method)?,
            "geostationarysatellitesweepx" => self.geostationary('x', method)?,
            _ => return Err(format!("unknown projection method `{}`", method.escape_debug())),
        })
    }

    fn hotine(&mut self, name: &str, method: &str) -> Result<String, String> {
        let (latitude, longitude) = (self.latitude.unwrap_or(0.0), self.longitude);
        let azimuth = self.given.role(Role::Azimuth).ok_or_else(|| missing("azimuth", method))?;
        let angle = self.given.role(Role::GridAngle).unwrap_or(azimuth);
        let scale = self.scale()?;
        let at_centre = name == "hotineobliquemercatorazimuthcenter";
        let is_right = |v: f64| (v - 90.0).abs() < 1e-12;
        if at_centre && is_right(azimuth) && is_right(angle) {
            // The Swiss grid: its own formula is exact where the general one is not.
            return Ok(format!("+proj=somerc +lat_0={latitude} +lon_0={longitude} +k_0={scale}"));
        }
        let offset = if at_centre { "" } else { " +no_uoff" };
        Ok(format!(
            "+proj=omerc +lat_0={latitude} +lonc={longitude} +alpha={azimuth} +gamma={angle} +k_0={scale}{offset}"
        ))
    }

    /// Returns the Krovak projection. Two of its parameters are fixed: proj4rs has their values built in.
    fn krovak(&mut self, method: &str) -> Result<String, String> {
        let azimuth = self.given.role(Role::Azimuth).or_else(|| self.given.take(&["colatitudeofconeaxis"]));
        let parallel = self.given.take(&["pseudostandardparallel1", "latitudeofpseudostandardparallel"]);
        let scale = self.given.take(&["scalefactoronpseudostandardparallel"]);
        let scale = match scale {
            Some(scale) => positive(scale)?,
            None => self.scale()?,
        };
        let near = |value: Option<f64>, wanted: f64| value.is_none_or(|v| (v - wanted).abs() < 1e-6);
        if !near(azimuth, 30.288_139_752_777_8) || !near(parallel, 78.5) {
            return Err(format!("parameters of `{}` other than those of S-JTSK", method.escape_debug()));
        }
        let latitude = self.latitude.ok_or_else(|| missing("latitude of the centre", method))?;
        Ok(format!("+proj=krovak +lat_0={latitude} +lon_0={} +k_0={scale}", self.longitude))
    }

    fn geostationary(&mut self, sweep: char, method: &str) -> Result<String, String> {
        let height = self.given.take(&["satelliteheight", "height"]);
        let height = height.ok_or_else(|| missing("satellite height", method))?;
        // Esri's option for the axis of the sweep; 0 is y.
        if let Some(option) = self.given.take(&["option"])
            && (option != 0.0 || sweep != 'y')
        {
            return Err(format!("the option {option} of `{}`", method.escape_debug()));
        }
        self.latitude_is_zero(method)?;
        Ok(format!("+proj=geos +h={} +lon_0={} +sweep={sweep}", positive(height)?, self.longitude))
    }

    fn scale(&mut self) -> Result<f64, String> {
        positive(self.given.role(Role::Scale).unwrap_or(1.0))
    }

    fn parallel(&mut self, method: &str) -> Result<f64, String> {
        self.given.role(Role::Parallel1).ok_or_else(|| missing("standard parallel", method))
    }

    fn parallels(&mut self, method: &str) -> Result<String, String> {
        let second =
            self.given.role(Role::Parallel2).ok_or_else(|| missing("second standard parallel", method))?;
        Ok(format!(" +lat_1={} +lat_2={second}", self.parallel(method)?))
    }

    fn latitude_is_zero(&self, method: &str) -> Result<(), String> {
        match self.latitude {
            None | Some(0.0) => Ok(()),
            Some(latitude) => {
                Err(format!("a latitude of origin of {latitude} degrees beside `{}`", method.escape_debug()))
            }
        }
    }
}

fn positive(value: f64) -> Result<f64, String> {
    if value > 0.0 { Ok(value) } else { Err(format!("expected a positive number, got {value}")) }
}

fn missing(parameter: &str, method: &str) -> String {
    format!("no {parameter} beside the method `{}`", method.escape_debug())
}
