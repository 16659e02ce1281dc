//! Converts PROJ strings (`+proj=utm +zone=31 +datum=WGS84`) to WKT 1.
//!
//! Every parameter is used or is an error: none is ignored, and contradicting ones are not reconciled. An ellipsoid
//! must be given; PROJ would assume one.

use crate::method::{Method, Role, Values, resolve};
use crate::proj_tables::{DATUMS, ELLIPSOIDS, MERIDIANS, UNITS};
use crate::reference::DEGREE;
use crate::registry;
use crate::wkt::{Node, Value};

/// Parses the system of a PROJ string. The error says which parameter is wrong.
pub(crate) fn parse(text: &str) -> Result<Node, String> {
    let mut given = Parameters::read(text)?;
    let projection = given.take("proj")?.ok_or("no `+proj` in the PROJ string")?;
    let by_x = projection == "geos"
        && given.0.iter().any(|(name, value)| name == "sweep" && value.as_deref() == Some("x"));
    let mut node = system(&projection, &mut given)?;
    if by_x {
        // WKT 1 can express a sweep along y; PROJ writes one along x like this.
        let mut extension = Node::named("EXTENSION", "PROJ4");
        extension.values.push(Value::Text(text.split_whitespace().collect::<Vec<_>>().join(" ")));
        node = node.with(extension);
    }
    match given.0.first() {
        None => Ok(node),
        Some((name, _)) => Err(format!(
            "`+{}` beside `+proj={projection}` is not read here; leave it out or give the system as WKT",
            name.escape_debug()
        )),
    }
}

/// Names and values that have not been used yet.
struct Parameters(Vec<(String, Option<String>)>);

impl Parameters {
    fn read(text: &str) -> Result<Self, String> {
        let mut list: Vec<(String, Option<String>)> = Vec::new();
        for word in text.split_whitespace() {
            let word = word.strip_prefix('+').unwrap_or(word);
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word.to_owned(), None),
            };
            // These control the interpretation of the string and do not describe the system.
            let silent = ["no_defs", "wktext"].contains(&name.as_str()) && value.is_none();
            if silent || (name == "type" && value.as_deref() == Some("crs")) {
                continue;
            }
            match list.iter().find(|(n, _)| *n == name) {
                Some((_, first)) if *first != value => {
                    return Err(format!("`+{}` is there twice with different values", name.escape_debug()));
                }
                Some(_) => {}
                None => list.push((name, value)),
            }
        }
        Ok(Self(list))
    }

    fn take(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.iter().position(|(n, _)| n == name) {
            None => Ok(None),
            Some(at) => match self.0.remove(at).1 {
                Some(value) => Ok(Some(value)),
                None => Err(format!("`+{name}` has no value")),
            },
        }
    }

    /// Takes a word without a value.
    fn flag(&mut self, name: &str) -> bool {
        let at = self.0.iter().position(|(n, v)| n == name && v.is_none());
        at.map(|at| self.0.remove(at)).is_some()
    }

    fn number(&mut self, name: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.take(name)? else { return Ok(None) };
        let value = text.parse().ok().filter(|v: &f64| v.is_finite());
        value.map(Some).ok_or_else(|| format!("`+{name}={}`: expected a number", text.escape_debug()))
    }

    fn angle(&mut self, name: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.take(name)? else { return Ok(None) };
        let wrong = || format!("`+{name}={}`: expected an angle", text.escape_debug());
        degrees(&text).map(Some).ok_or_else(wrong)
    }
}

/// Parses decimal degrees, or degrees, minutes and seconds as in `4d30'15.5"W`.
fn degrees(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse::<f64>() {
        return Some(value).filter(|v| v.is_finite());
    }
    let (body, negative) = match text.char_indices().next_back()? {
        (at, 'W' | 'w' | 'S' | 's') => (text.get(..at)?, true),
        (at, 'E' | 'e' | 'N' | 'n') => (text.get(..at)?, false),
        _ => (text, false),
    };
    let (body, minus) = body.strip_prefix('-').map_or((body, false), |rest| (rest, true));
    let mut value = 0.0;
    let mut rest = body;
    for (mark, size) in [('d', 1.0), ('\'', 60.0), ('"', 3600.0)] {
        if let Some((number, behind)) = rest.split_once(mark) {
            value += number.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0)? / size;
            rest = behind;
        }
    }
    if !rest.is_empty() {
        if rest != body {
            return None;
        }
        value = rest.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0)?;
    }
    Some(if negative != minus { -value } else { value })
}

fn system(projection: &str, given: &mut Parameters) -> Result<Node, String> {
    if let Some(axis) = given.take("axis")?
        && axis != "enu"
    {
        return Err(format!("`+axis={}`: only `enu` can be written", axis.escape_debug()));
    }
    if projection == "webmerc" || is_web_mercator(projection, given) {
        return web_mercator(projection, given);
    }
    let (unit_name, unit, unit_code) = length_unit(given)?;
    let geographic = geographic(given)?;
    match projection {
        "longlat" | "latlong" | "lonlat" | "latlon" => {
            if unit != 1.0 {
                return Err(format!("a unit of length beside `+proj={projection}`"));
            }
            return Ok(geographic);
        }
        "geocent" => {
            let mut node = Node::named("GEOCCS", "unknown");
            for part in geographic.children().filter(|n| n.is(&["DATUM", "PRIMEM"])) {
                node = node.with(part.clone());
            }
            return Ok(node.with(Node::named("UNIT", &unit_name).number(unit).epsg(unit_code)));
        }
        _ => {}
    }
    if projection == "geos" {
        return geostationary(given, geographic, (&unit_name, unit, unit_code));
    }
    let spheroid = geographic.child(&["DATUM"]).and_then(|d| d.child(&["SPHEROID"]));
    let sphere = spheroid.and_then(|s| s.f64(2)) == Some(0.0);
    let (method, mut values) = method(projection, given)?;
    let method: &Method = resolve(method, &mut values, 90.0, sphere)?;
    let mut node = Node::named("PROJCS", "unknown").with(geographic);
    node = node.with(Node::named("PROJECTION", method.name));
    let offsets = [(Role::Easting, "false_easting"), (Role::Northing, "false_northing")];
    for (role, name) in method.parameters.iter().map(|(role, name, _)| (*role, *name)).chain(offsets) {
        let value = values.get(role).or(role.default()).unwrap_or(0.0);
        // Offsets are in metres, whatever the unit.
        let value = if role.is_length() && unit != 1.0 { value / unit } else { value };
        node = node.with(Node::named("PARAMETER", name).number(value));
    }
    node = node.with(Node::named("UNIT", &unit_name).number(unit).epsg(unit_code));
    node = node.with(Node::named("AXIS", "Easting").word("EAST"));
    Ok(node.with(Node::named("AXIS", "Northing").word("NORTH")))
}

/// Returns the projection of a geostationary satellite.
fn geostationary(
    given: &mut Parameters,
    geographic: Node,
    (unit_name, unit, unit_code): (&str, f64, Option<u32>),
) -> Result<Node, String> {
    let height = given.number("h")?.filter(|h| *h > 0.0);
    let height = height.ok_or("`+proj=geos` without `+h`: expected a height in metres above 0")?;
    let longitude = given.angle("lon_0")?.unwrap_or(0.0);
    if let Some(latitude) = given.angle("lat_0")?.filter(|latitude| *latitude != 0.0) {
        return Err(format!("`+lat_0={latitude}` beside `+proj=geos`: expected 0"));
    }
    let offsets = [given.number("x_0")?.unwrap_or(0.0), given.number("y_0")?.unwrap_or(0.0)];
    if let Some(other) = given.take("sweep")?.filter(|sweep| sweep != "x" && sweep != "y") {
        return Err(format!("`+sweep={}`: expected x or y", other.escape_debug()));
    }
    let [easting, northing] = offsets.map(|offset| offset / unit);
    let mut node = Node::named("PROJCS", "unknown").with(geographic);
    node = node.with(Node::named("PROJECTION", "Geostationary_Satellite"));
    for (name, value) in [
        ("central_meridian", longitude),
        ("satellite_height", height / unit),
        ("false_easting", easting),
        ("false_northing", northing),
    ] {
        node = node.with(Node::named("PARAMETER", name).number(value));
    }
    node = node.with(Node::named("UNIT", unit_name).number(unit).epsg(unit_code));
    node = node.with(Node::named("AXIS", "Easting").word("EAST"));
    Ok(node.with(Node::named("AXIS", "Northing").word("NORTH")))
}

/// Returns WKT's name of the projection, with the values of its parameters.
fn method(projection: &str, given: &mut Parameters) -> Result<(&'static str, Values), String> {
    let mut values = Values::default();
    if projection == "utm" {
        let zone = given.number("zone")?.ok_or("`+proj=utm` without `+zone`")?;
        if !(1.0..=60.0).contains(&zone) || zone.fract() != 0.0 {
            return Err(format!("`+zone={zone}`: expected a whole number from 1 to 60"));
        }
        let northing = if given.flag("south") { 10_000_000.0 } else { 0.0 };
        values.0 = vec![
            (Role::Longitude, zone * 6.0 - 183.0),
            (Role::Scale, 0.9996),
            (Role::Easting, 500_000.0),
            (Role::Northing, northing),
        ];
        return Ok(("Transverse_Mercator", values));
    }
    let (k, k_0) = (given.number("k")?, given.number("k_0")?);
    if let (Some(k), Some(k_0)) = (k, k_0)
        && k != k_0
    {
        return Err(format!("`+k={k}` and `+k_0={k_0}` contradict each other"));
    }
    let lengths = [(Role::Easting, given.number("x_0")?), (Role::Northing, given.number("y_0")?)];
    let longitude = if projection == "omerc" { given.angle("lonc")? } else { given.angle("lon_0")? };
    let given_values = [(Role::Scale, k.or(k_0)), (Role::Longitude, longitude)];
    values.0 = lengths.into_iter().chain(given_values).filter_map(|(r, v)| Some((r, v?))).collect();
    let mut latitudes = |names: &[(&str, Role)], values: &mut Values| -> Result<(), String> {
        for (name, role) in names {
            if let Some(value) = given.angle(name)? {
                values.0.push((*role, value));
            }
        }
        Ok(())
    };
    let lat_0 = [("lat_0", Role::Latitude)];
    let lat_ts = [("lat_ts", Role::Parallel1)];
    let parallels = [("lat_1", Role::Parallel1), ("lat_2", Role::Parallel2), ("lat_0", Role::Latitude)];
    let name = match projection {
        "tmerc" | "etmerc" => {
            latitudes(&lat_0, &mut values)?;
            "Transverse_Mercator"
        }
        "lcc" => {
            latitudes(&parallels, &mut values)?;
            if values.get(Role::Parallel2).is_none()
                && values.get(Role::Latitude).is_none()
                && let Some(parallel) = values.get(Role::Parallel1)
            {
                values.0.push((Role::Latitude, parallel));
            }
            "Lambert_Conformal_Conic"
        }
        "aea" | "eqdc" => {
            latitudes(&parallels, &mut values)?;
            if projection == "aea" { "Albers_Conic_Equal_Area" } else { "Equidistant_Conic" }
        }
        "laea" | "aeqd" | "sterea" | "cass" | "poly" | "gnom" | "ortho" | "nzmg" | "somerc" => {
            latitudes(&lat_0, &mut values)?;
            match projection {
                "laea" => "Lambert_Azimuthal_Equal_Area",
                "aeqd" => "Azimuthal_Equidistant",
                "sterea" => "Oblique_Stereographic",
                "cass" => "Cassini_Soldner",
                "poly" => "Polyconic",
                "gnom" => "Gnomonic",
                "ortho" => "Orthographic",
                "nzmg" => "New_Zealand_Map_Grid",
                _ => "Swiss_Oblique_Cylindrical",
            }
        }
        "stere" => {
            latitudes(&lat_0, &mut values)?;
            latitudes(&lat_ts, &mut values)?;
            stereographic(&mut values)?
        }
        "ups" => {
            let latitude = if given.flag("south") { -90.0 } else { 90.0 };
            values.0.push((Role::Latitude, latitude));
            if values.get(Role::Scale).is_none() {
                values.0.push((Role::Scale, 0.994));
            }
            for role in [Role::Easting, Role::Northing] {
                if values.get(role).is_none() {
                    values.0.push((role, 2_000_000.0));
                }
            }
            "Polar_Stereographic"
        }
        "merc" => {
            latitudes(&lat_ts, &mut values)?;
            "Mercator"
        }
        "eqc" => {
            latitudes(&lat_ts, &mut values)?;
            latitudes(&lat_0, &mut values)?;
            "Equirectangular"
        }
        "cea" => {
            latitudes(&lat_ts, &mut values)?;
            if values.get(Role::Parallel1).is_none() {
                values.0.push((Role::Parallel1, 0.0));
            }
            "Cylindrical_Equal_Area"
        }
        "sinu" => "Sinusoidal",
        "robin" => "Robinson",
        "vandg" => "VanDerGrinten",
        "mill" => "Miller_Cylindrical",
        "omerc" => {
            let own = [("lat_0", Role::Latitude), ("alpha", Role::Azimuth), ("gamma", Role::GridAngle)];
            latitudes(&own, &mut values)?;
            if let (Some(azimuth), None) = (values.get(Role::Azimuth), values.get(Role::GridAngle)) {
                values.0.push((Role::GridAngle, azimuth));
            }
            let (no_uoff, no_off) = (given.flag("no_uoff"), given.flag("no_off"));
            if no_uoff || no_off {
                "Hotine_Oblique_Mercator"
            } else {
                "Hotine_Oblique_Mercator_Azimuth_Center"
            }
        }
        other => {
            return Err(format!(
                "`+proj={}` is not read here; give the system as WKT or by its EPSG code",
                other.escape_debug()
            ));
        }
    };
    Ok((name, values))
}

/// Returns the stereographic method: at a pole by its scale or by a parallel of true scale, elsewhere by its scale.
fn stereographic(values: &mut Values) -> Result<&'static str, String> {
    let latitude = values.get(Role::Latitude).unwrap_or(0.0);
    let parallel = values.get(Role::Parallel1);
    if latitude.abs() != 90.0 {
        return match parallel {
            None => Ok("Stereographic"),
            Some(_) => Err("`+lat_ts` beside `+proj=stere` that is at no pole".to_owned()),
        };
    }
    let Some(parallel) = parallel else { return Ok("Polar_Stereographic") };
    if parallel * latitude <= 0.0 {
        return Err(format!("`+lat_ts={parallel}` and `+lat_0={latitude}` are on two sides of the equator"));
    }
    values.0.retain(|(role, _)| !matches!(role, Role::Parallel1 | Role::Latitude));
    values.0.push((Role::Latitude, parallel));
    Ok("Polar_Stereographic")
}

fn length_unit(given: &mut Parameters) -> Result<(String, f64, Option<u32>), String> {
    let named = given.take("units")?;
    let sized = given.take("to_meter")?;
    let size = match sized {
        None => None,
        Some(text) => {
            let (over, under) = text.split_once('/').unwrap_or((&text, "1"));
            let parts = (over.parse::<f64>().ok(), under.parse::<f64>().ok());
            let size = parts.0.zip(parts.1).map(|(a, b)| a / b).filter(|v| v.is_finite() && *v > 0.0);
            let wrong = || format!("`+to_meter={}`: expected a positive number", text.escape_debug());
            Some(size.ok_or_else(wrong)?)
        }
    };
    if let Some(name) = named {
        let row = UNITS.iter().find(|row| row.0 == name);
        let row = row.ok_or_else(|| format!("`+units={}` is not known", name.escape_debug()))?;
        if size.is_some_and(|size| (size - row.2).abs() > 1e-9 * row.2) {
            return Err(format!("`+units={name}` and `+to_meter` contradict each other"));
        }
        return Ok((row.1.to_owned(), row.2, row.3));
    }
    match size {
        None => Ok(("metre".to_owned(), 1.0, Some(9001))),
        Some(size) => match UNITS.iter().find(|row| (row.2 - size).abs() <= 1e-11 * size) {
            Some(row) => Ok((row.1.to_owned(), row.2, row.3)),
            None => Ok(("unknown".to_owned(), size, None)),
        },
    }
}

fn geographic(given: &mut Parameters) -> Result<Node, String> {
    let datum_name = given.take("datum")?;
    let shift = shift(given)?;
    let ellipsoid = ellipsoid(given)?;
    let meridian = meridian(given)?;
    let degree = Node::named("UNIT", "degree").number(DEGREE).epsg(Some(9122));
    let datum = match datum_name {
        Some(name) => {
            let row = DATUMS.iter().find(|row| row.0.eq_ignore_ascii_case(&name));
            let row = row.ok_or_else(|| format!("`+datum={}` is not known", name.escape_debug()))?;
            let found = registry::geographic_by_datum(row.1).ok_or("a datum without a definition")?;
            let datum = found.child(&["DATUM"]).ok_or("a datum without a definition")?;
            let own = datum.child(&["SPHEROID"]).and_then(|s| Some((s.f64(1)?, s.f64(2)?)));
            if let (Some(given), Some(own)) = (&ellipsoid, own)
                && ((given.major - own.0).abs() > 1e-6 || (given.inverse_flattening - own.1).abs() > 1e-6)
            {
                return Err(format!("`+datum={name}` has another ellipsoid than the one given"));
            }
            if shift.as_ref().is_some_and(|s| s.iter().any(|v| *v != 0.0)) {
                return Err(format!("`+towgs84` beside `+datum={name}`, which has its own"));
            }
            datum.clone()
        }
        None => {
            let ellipsoid =
                ellipsoid.ok_or("no ellipsoid: give `+datum`, `+ellps`, `+a` with `+b` or `+rf`, or `+R`")?;
            own_datum(&ellipsoid, shift.as_deref())
        }
    };
    let name =
        if datum.epsg_code() == Some(6326) && meridian.f64(1) == Some(0.0) { "WGS 84" } else { "unknown" };
    Ok(Node::named("GEOGCS", name).with(datum).with(meridian).with(degree))
}

struct Ellipsoid {
    name: &'static str,
    major: f64,
    inverse_flattening: f64,
    code: Option<u32>,
}

/// Returns a datum with names as in PROJ.
fn own_datum(ellipsoid: &Ellipsoid, shift: Option<&[f64]>) -> Node {
    let mut name = match ellipsoid.name {
        "unknown" => "unknown".to_owned(),
        name => format!("Unknown based on {name} ellipsoid"),
    };
    let spheroid = Node::named("SPHEROID", ellipsoid.name);
    let spheroid = spheroid.number(ellipsoid.major).number(ellipsoid.inverse_flattening).epsg(ellipsoid.code);
    let Some(shift) = shift else { return Node::named("DATUM", &name).with(spheroid) };
    let numbers: Vec<String> = shift.iter().map(f64::to_string).collect();
    name += &format!(" using towgs84={}", numbers.join(","));
    let mut node = Node { keyword: "TOWGS84".to_owned(), values: Vec::new() };
    for i in 0..7 {
        node = node.number(shift.get(i).copied().unwrap_or(0.0));
    }
    Node::named("DATUM", &name).with(spheroid).with(node)
}

fn ellipsoid(given: &mut Parameters) -> Result<Option<Ellipsoid>, String> {
    let named = match given.take("ellps")? {
        None => None,
        Some(name) => {
            let row = ELLIPSOIDS.iter().find(|row| row.0.eq_ignore_ascii_case(&name));
            let row = row.ok_or_else(|| format!("`+ellps={}` is not known", name.escape_debug()))?;
            Some(Ellipsoid { name: row.1, major: row.2, inverse_flattening: row.3, code: row.4 })
        }
    };
    let (radius, major) = (given.number("R")?, given.number("a")?);
    let shape = [given.number("b")?, given.number("rf")?, given.number("f")?];
    let shapes = shape.iter().flatten().count();
    let axes = usize::from(radius.is_some()) + usize::from(major.is_some());
    if named.is_some() && axes + shapes > 0 {
        return Err("`+ellps` beside axes of an ellipsoid".to_owned());
    }
    if axes == 0 && shapes == 0 {
        return Ok(named);
    }
    if axes != 1 || shapes > 1 || (radius.is_some() && shapes > 0) {
        return Err("expected an ellipsoid by `+R`, or by `+a` with one of `+b`, `+rf` and `+f`".to_owned());
    }
    let major = radius.or(major).filter(|v| *v > 0.0).ok_or("an ellipsoid without a positive axis")?;
    let inverse_flattening = match shape {
        [Some(minor), ..] if minor == major => 0.0,
        [Some(minor), ..] => major / (major - minor),
        [_, Some(inverse_flattening), _] => inverse_flattening,
        [.., Some(0.0)] => 0.0,
        [.., Some(flattening)] => 1.0 / flattening,
        [None, None, None] => 0.0,
    };
    if inverse_flattening != 0.0 && !(inverse_flattening.is_finite() && inverse_flattening > 1.0) {
        return Err("an ellipsoid that is neither a sphere nor flattened".to_owned());
    }
    Ok(Some(Ellipsoid { name: "unknown", major, inverse_flattening, code: None }))
}

fn meridian(given: &mut Parameters) -> Result<Node, String> {
    let Some(text) = given.take("pm")? else {
        return Ok(Node::named("PRIMEM", "Greenwich").number(0.0).epsg(Some(8901)));
    };
    if let Some(row) = MERIDIANS.iter().find(|row| row.0.eq_ignore_ascii_case(&text)) {
        return Ok(Node::named("PRIMEM", row.1).number(row.2).epsg(row.3));
    }
    let value = degrees(&text).ok_or_else(|| format!("`+pm={}` is not known", text.escape_debug()))?;
    Ok(Node::named("PRIMEM", if value == 0.0 { "Greenwich" } else { "unknown" }).number(value))
}

fn shift(given: &mut Parameters) -> Result<Option<Vec<f64>>, String> {
    let Some(text) = given.take("towgs84")? else { return Ok(None) };
    let numbers: Option<Vec<f64>> = text.split(',').map(|v| v.trim().parse().ok()).collect();
    let numbers = numbers.filter(|n| (n.len() == 3 || n.len() == 7) && n.iter().all(|v| v.is_finite()));
    numbers
        .map(Some)
        .ok_or_else(|| format!("`+towgs84={}`: expected three or seven numbers", text.escape_debug()))
}

/// Returns whether it is the sphere of web maps, in any of its spellings.
fn is_web_mercator(projection: &str, given: &Parameters) -> bool {
    let has = |name: &str, value: &str| given.0.iter().any(|(n, v)| n == name && v.as_deref() == Some(value));
    projection == "merc" && has("nadgrids", "@null")
}

fn web_mercator(projection: &str, given: &mut Parameters) -> Result<Node, String> {
    given.take("nadgrids")?;
    let wgs84 = given.take("datum")?.is_none_or(|name| name == "WGS84");
    let radii = [given.number("a")?, given.number("b")?, given.number("R")?];
    let ellipsoid = given.take("ellps")?.is_none_or(|name| name == "WGS84");
    let zero = ["lat_ts", "lon_0", "x_0", "y_0"];
    let mut usual = wgs84 && ellipsoid && radii.iter().flatten().all(|v| *v == 6_378_137.0);
    usual &= projection == "webmerc" || radii.iter().flatten().count() >= 1;
    for name in zero {
        usual &= given.angle(name)?.is_none_or(|v| v == 0.0);
    }
    usual &= given.number("k")?.or(given.number("k_0")?).is_none_or(|v| v == 1.0);
    usual &= given.take("units")?.is_none_or(|name| name == "m");
    if !usual {
        return Err("a pseudo-Mercator other than EPSG:3857".to_owned());
    }
    registry::lookup(3857).ok_or_else(|| "no definition of EPSG:3857".to_owned())
}
