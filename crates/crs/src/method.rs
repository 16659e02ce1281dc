//! Projection methods: their names in WKT 1, WKT 2 and ESRI's WKT, their parameters and their GeoKeys.
//!
//! Names that mean different methods depending on their parameters are resolved here, so that the rest of the code has
//! one method and its values. The rest of the file is tables.

use crate::key;

/// The meaning of a parameter, whatever its name in a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Latitude of the origin or centre.
    Latitude,
    /// Longitude of the origin or centre.
    Longitude,
    /// First standard parallel, or the parallel of true scale.
    Parallel1,
    /// Second standard parallel.
    Parallel2,
    /// Scale factor at the origin.
    Scale,
    /// Azimuth of the initial line.
    Azimuth,
    /// Angle from the rectified to the skew grid.
    GridAngle,
    /// False easting.
    Easting,
    /// False northing.
    Northing,
}

impl Role {
    /// Returns whether the parameter is an angle, in the unit of the geographic system.
    pub const fn is_angle(self) -> bool {
        !matches!(self, Self::Scale | Self::Easting | Self::Northing)
    }

    /// Returns whether the parameter is a length, in the unit of the projected system.
    pub const fn is_length(self) -> bool {
        matches!(self, Self::Easting | Self::Northing)
    }

    /// Returns the default value; `None` if there is none.
    pub const fn default(self) -> Option<f64> {
        match self {
            Self::Scale => Some(1.0),
            Self::Latitude | Self::Longitude | Self::Easting | Self::Northing => Some(0.0),
            Self::Parallel1 | Self::Parallel2 | Self::Azimuth | Self::GridAngle => None,
        }
    }

    /// Returns the role of a parameter by its plain name.
    pub fn of(plain: &str) -> Option<Self> {
        ROLES.iter().find(|(_, names)| names.contains(&plain)).map(|(role, _)| *role)
    }
}

const ROLES: [(Role, &[&str]); 9] = [
    (
        Role::Latitude,
        &[
            "latitudeoforigin",
            "latitudeofcenter",
            "latitudeofcentre",
            "latitudeofnaturalorigin",
            "latitudeoffalseorigin",
            "latitudeofprojectioncentre",
            "centralparallel",
        ],
    ),
    (
        Role::Longitude,
        &[
            "centralmeridian",
            "longitudeofcenter",
            "longitudeofcentre",
            "longitudeoforigin",
            "longitudeofnaturalorigin",
            "longitudeoffalseorigin",
            "longitudeofprojectioncentre",
        ],
    ),
    (Role::Parallel1, &["standardparallel1", "latitudeof1ststandardparallel", "latitudeofstandardparallel"]),
    (Role::Parallel2, &["standardparallel2", "latitudeof2ndstandardparallel"]),
    (
        Role::Scale,
        &[
            "scalefactor",
            "scalefactoratnaturalorigin",
            "scalefactoratprojectioncentre",
            "scalefactoroninitialline",
        ],
    ),
    (Role::Azimuth, &["azimuth", "azimuthofinitialline", "azimuthatprojectioncentre"]),
    (Role::GridAngle, &["rectifiedgridangle", "anglefromrectifiedtoskewgrid", "xyplanerotation"]),
    (Role::Easting, &["falseeasting", "eastingatfalseorigin", "eastingatprojectioncentre"]),
    (Role::Northing, &["falsenorthing", "northingatfalseorigin", "northingatprojectioncentre"]),
];

/// Returns only letters and digits, in lower case: the form in which dialects agree.
pub fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A parameter: its role, its name in WKT 1 and its key.
pub type Parameter = (Role, &'static str, u16);

/// A method that keys can describe. All methods have false easting and northing.
#[derive(Debug)]
pub struct Method {
    /// Its name in WKT 1.
    pub name: &'static str,
    /// The value of key 3075.
    pub code: u16,
    /// Its parameters, without false easting and northing.
    pub parameters: &'static [Parameter],
    /// Its plain names in other dialects.
    names: &'static [&'static str],
}

impl Method {
    /// Returns the keys of the false easting and northing.
    pub const fn offsets(&self) -> (u16, u16) {
        // Lambert with two parallels uses the keys of the false origin.
        if self.code == 8 {
            (key::FALSE_ORIGIN_EASTING, key::FALSE_ORIGIN_NORTHING)
        } else {
            (key::FALSE_EASTING, key::FALSE_NORTHING)
        }
    }

    /// Returns the method with this name in WKT 1.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|m| m.name.eq_ignore_ascii_case(name))
    }
}

const LAT: Parameter = (Role::Latitude, "latitude_of_origin", key::NAT_ORIGIN_LAT);
const LON: Parameter = (Role::Longitude, "central_meridian", key::NAT_ORIGIN_LONG);
const CENTER_LAT: Parameter = (Role::Latitude, "latitude_of_center", key::CENTER_LAT);
const CENTER_LON: Parameter = (Role::Longitude, "longitude_of_center", key::CENTER_LONG);
const CENTRAL_LON: Parameter = (Role::Longitude, "central_meridian", key::CENTER_LONG);
const SP1: Parameter = (Role::Parallel1, "standard_parallel_1", key::STD_PARALLEL_1);
const SP2: Parameter = (Role::Parallel2, "standard_parallel_2", key::STD_PARALLEL_2);
const SCALE: Parameter = (Role::Scale, "scale_factor", key::SCALE_AT_NAT_ORIGIN);
const HOTINE: &[Parameter] = &[
    CENTER_LAT,
    CENTER_LON,
    (Role::Azimuth, "azimuth", key::AZIMUTH),
    (Role::GridAngle, "rectified_grid_angle", key::RECTIFIED_GRID_ANGLE),
    (Role::Scale, "scale_factor", key::SCALE_AT_CENTER),
];
const CONIC: &[Parameter] = &[
    (Role::Latitude, "latitude_of_center", key::NAT_ORIGIN_LAT),
    (Role::Longitude, "longitude_of_center", key::NAT_ORIGIN_LONG),
    SP1,
    SP2,
];

#[rustfmt::skip]
const METHODS: &[Method] = &[
    Method { name: "Transverse_Mercator", code: 1, parameters: &[LAT, LON, SCALE], names: &["gausskruger", "transversemercatorcomplex"] },
    Method { name: "Transverse_Mercator_South_Orientated", code: 27, parameters: &[LAT, LON, SCALE], names: &[] },
    Method { name: "Lambert_Conformal_Conic_1SP", code: 9, parameters: &[LAT, LON, SCALE], names: &["lambertconicconformal1sp"] },
    Method {
        name: "Lambert_Conformal_Conic_2SP", code: 8, names: &["lambertconicconformal2sp"],
        parameters: &[
            (Role::Latitude, "latitude_of_origin", key::FALSE_ORIGIN_LAT),
            (Role::Longitude, "central_meridian", key::FALSE_ORIGIN_LONG),
            SP1, SP2,
        ],
    },
    Method { name: "Albers_Conic_Equal_Area", code: 11, parameters: CONIC, names: &["albers", "albersequalarea"] },
    Method { name: "Equidistant_Conic", code: 13, parameters: CONIC, names: &[] },
    Method { name: "Lambert_Azimuthal_Equal_Area", code: 10, parameters: &[CENTER_LAT, CENTER_LON], names: &[] },
    Method { name: "Azimuthal_Equidistant", code: 12, parameters: &[CENTER_LAT, CENTER_LON], names: &[] },
    Method {
        name: "Polar_Stereographic", code: 15, names: &["polarstereographicvarianta"],
        parameters: &[LAT, (Role::Longitude, "central_meridian", key::STRAIGHT_VERT_POLE_LONG), SCALE],
    },
    Method { name: "Oblique_Stereographic", code: 16, parameters: &[LAT, LON, SCALE], names: &["doublestereographic"] },
    Method {
        name: "Stereographic", code: 14, names: &[],
        parameters: &[
            (Role::Latitude, "latitude_of_origin", key::CENTER_LAT), CENTRAL_LON, SCALE,
        ],
    },
    Method { name: "Mercator_1SP", code: 7, parameters: &[LAT, LON, SCALE], names: &["mercatorvarianta"] },
    Method { name: "Mercator_2SP", code: 7, parameters: &[SP1, LON], names: &["mercatorvariantb"] },
    Method {
        name: "Equirectangular", code: 17, names: &["equidistantcylindrical"],
        parameters: &[(Role::Latitude, "latitude_of_origin", key::CENTER_LAT), CENTRAL_LON, SP1],
    },
    Method { name: "Sinusoidal", code: 24, parameters: &[CENTER_LON], names: &[] },
    Method { name: "Robinson", code: 23, parameters: &[CENTER_LON], names: &[] },
    Method { name: "VanDerGrinten", code: 25, parameters: &[CENTRAL_LON], names: &["vandergrinteni"] },
    Method { name: "Cylindrical_Equal_Area", code: 28, parameters: &[SP1, LON], names: &["lambertcylindricalequalarea"] },
    Method { name: "Cassini_Soldner", code: 18, parameters: &[LAT, LON], names: &["cassini"] },
    Method { name: "Polyconic", code: 22, parameters: &[LAT, LON], names: &["americanpolyconic"] },
    Method { name: "New_Zealand_Map_Grid", code: 26, parameters: &[LAT, LON], names: &[] },
    Method {
        name: "Gnomonic", code: 19, names: &[],
        parameters: &[(Role::Latitude, "latitude_of_origin", key::CENTER_LAT), CENTRAL_LON],
    },
    Method {
        name: "Orthographic", code: 21, names: &[],
        parameters: &[(Role::Latitude, "latitude_of_origin", key::CENTER_LAT), CENTRAL_LON],
    },
    Method { name: "Swiss_Oblique_Cylindrical", code: 5, parameters: &[CENTER_LAT, CENTRAL_LON], names: &[] },
    Method { name: "Miller_Cylindrical", code: 20, parameters: &[CENTER_LAT, CENTER_LON], names: &[] },
    Method { name: "Hotine_Oblique_Mercator", code: 3, parameters: HOTINE, names: &["hotineobliquemercatorvarianta", "rectifiedskeworthomorphicnaturalorigin"] },
    Method { name: "Hotine_Oblique_Mercator_Azimuth_Center", code: 9815, parameters: HOTINE, names: &["hotineobliquemercatorvariantb", "rectifiedskeworthomorphiccenter"] },
];

/// Values by role, as given in a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Values(pub(crate) Vec<(Role, f64)>);

impl Values {
    /// Returns the value of a role.
    pub fn get(&self, role: Role) -> Option<f64> {
        self.0.iter().find(|(r, _)| *r == role).map(|(_, v)| *v)
    }

    fn take(&mut self, role: Role) -> Option<f64> {
        let at = self.0.iter().position(|(r, _)| *r == role)?;
        Some(self.0.remove(at).1)
    }

    fn rename(&mut self, from: Role, to: Role) {
        if let Some(value) = self.take(from) {
            self.0.push((to, value));
        }
    }
}

/// Returns the method for a name and its values, and changes the values to its roles. `right_angle` is 90 degrees in
/// the unit of the angles, `sphere` says whether the ellipsoid is a sphere. The error says what keys cannot describe.
pub(crate) fn resolve(
    name: &str,
    values: &mut Values,
    right_angle: f64,
    sphere: bool,
) -> Result<&'static Method, String> {
    let plain = plain(name);
    let unknown = || format!("keys have no projection method `{}`", name.escape_debug());
    let spherical = plain.strip_suffix("spherical").filter(|base| sphere && !base.is_empty());
    let wanted = match spherical.unwrap_or(&plain) {
        "mercator" if spherical.is_some() || values.get(Role::Parallel1).is_none() => "mercator1sp",
        "mercator" => "mercator2sp",
        "platecarree" => {
            values.0.push((Role::Parallel1, 0.0));
            "equirectangular"
        }
        "behrmann" => {
            values.0.push((Role::Parallel1, right_angle / 3.0));
            "cylindricalequalarea"
        }
        "lambertconformalconic" | "lambertconicconformal" if values.get(Role::Parallel2).is_some() => {
            "lambertconformalconic2sp"
        }
        // ESRI gives the single parallel twice.
        "lambertconformalconic" | "lambertconicconformal" => {
            let parallel = values.take(Role::Parallel1);
            if parallel.is_some_and(|v| Some(v) != values.get(Role::Latitude)) {
                return Err(unknown());
            }
            "lambertconformalconic1sp"
        }
        "polarstereographicvariantb" => {
            values.rename(Role::Parallel1, Role::Latitude);
            "polarstereographic"
        }
        "stereographicnorthpole" | "stereographicsouthpole" => {
            let parallel = values.take(Role::Parallel1).unwrap_or(right_angle);
            values.take(Role::Latitude);
            let north = plain == "stereographicnorthpole";
            if north != (parallel > 0.0) {
                return Err(format!("a parallel of {parallel} for `{}`", name.escape_debug()));
            }
            values.0.push((Role::Latitude, parallel));
            "polarstereographic"
        }
        other => other,
    };
    let is = |m: &&Method| self::plain(m.name) == wanted || m.names.contains(&wanted);
    let method = METHODS.iter().find(is).ok_or_else(unknown)?;
    // A parallel of true scale and a scale at the pole exclude each other.
    if method.code == 15
        && values.get(Role::Scale).is_some_and(|k| k != 1.0)
        && values.get(Role::Latitude).is_none_or(|v| (v.abs() - right_angle).abs() > 1e-9 * right_angle)
    {
        return Err("a polar stereographic with a scale and a parallel of true scale".to_owned());
    }
    if method.name == "Equirectangular" && values.get(Role::Parallel1).is_none() {
        values.0.push((Role::Parallel1, 0.0));
    }
    // If it is not rotated, a grid has the angle that every dialect assumes.
    if method.name.starts_with("Hotine")
        && values.get(Role::GridAngle).is_none()
        && values.get(Role::Azimuth).is_some_and(|v| (v - right_angle).abs() <= 1e-12 * right_angle)
    {
        values.0.push((Role::GridAngle, right_angle));
    }
    for (role, value) in &values.0 {
        let own = role.is_length() || method.parameters.iter().any(|p| p.0 == *role);
        if !own && role.default().is_none_or(|default| default != *value) {
            return Err(format!("{role:?} {value} beside the method {}", method.name));
        }
    }
    for (role, name, _) in method.parameters {
        if values.get(*role).is_none() && role.default().is_none() {
            return Err(format!("no `{name}` beside the method {}", method.name));
        }
    }
    Ok(method)
}
