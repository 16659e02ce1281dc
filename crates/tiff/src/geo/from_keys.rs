//! The reference system that GeoKeys name or describe.
//!
//! A code gives its registered definition. A system written out in keys is converted to WKT and looked up; one that
//! cannot be converted is kept as its citation, with a warning.

use strile_crs::identify::identify;
use strile_crs::reference::DEGREE;
use strile_crs::registry;
use strile_crs::wkt::{Node, Value};
use strile_crs::{Crs, CrsKind, is_wkt};

use super::geographic;
use super::keys::{GeoKeys, USER_DEFINED, key};
use super::projection;
use super::vertical;
use super::warning::GeoWarningCode as Code;
use crate::{Warning, Warnings};

impl GeoKeys {
    /// Returns the reference system that the keys name or describe. `None` if they do not describe a usable system; the
    /// warnings say what was tolerated.
    pub fn crs(&self, warnings: &mut Warnings) -> Option<Crs> {
        let keys = self;
        if keys.short(key::MODEL_TYPE).is_none() && !matches!(model(keys), Model::Local) {
            let message = "the model type is missing; taken from the codes that are there";
            warnings.push(Warning::new(Code::BadKey, "key 1024", message));
        }
        if let Some(cited) = cited(keys) {
            return Some(cited);
        }
        let horizontal = match model(keys) {
            Model::Projected => projected(keys, warnings),
            Model::Geographic => geographic::from_keys(keys, warnings).map(Found::Node),
            Model::Geocentric => geocentric(keys, warnings).map(Found::Node),
            Model::Local => return local(keys, warnings),
        };
        match horizontal {
            Some(Found::Node(node)) => Some(vertical::add(node, keys, warnings)),
            Some(Found::Code(code, kind)) => Some(Crs {
                epsg: Some(code),
                horizontal_epsg: None,
                wkt: None,
                name: keys.text(key::CITATION).unwrap_or("unknown").to_owned(),
                kind,
                unit: None,
                vertical: None,
            }),
            None => local(keys, warnings),
        }
    }
}

enum Model {
    Projected,
    Geographic,
    Geocentric,
    Local,
}

/// Returns key 1024 or, if it is not set, the kind given by the codes.
fn model(keys: &GeoKeys) -> Model {
    match keys.short(key::MODEL_TYPE) {
        Some(1) => Model::Projected,
        Some(2) => Model::Geographic,
        Some(3) => Model::Geocentric,
        _ if keys.code(key::PROJECTED_CRS).is_some() => Model::Projected,
        None if keys.code(key::GEODETIC_CRS).is_some() => Model::Geographic,
        _ => Model::Local,
    }
}

enum Found {
    Node(Node),
    /// A code in the registry's range without a definition here.
    Code(u32, CrsKind),
}

fn projected(keys: &GeoKeys, warnings: &mut Warnings) -> Option<Found> {
    if let Some(code) = keys.code(key::PROJECTED_CRS) {
        if let Some(node) = registry::lookup(u32::from(code)) {
            return Some(Found::Node(with_linear_unit(node, keys, warnings)));
        }
        let message = format!("code {code} is not known");
        warnings.push(Warning::new(Code::UnknownCode, "key 3072", message));
        // EPSG's codes are between these; higher ones are private.
        if (1024..USER_DEFINED).contains(&code) && keys.short(key::METHOD).is_none() {
            return Some(Found::Code(u32::from(code), CrsKind::Projected));
        }
    }
    let described = [key::METHOD, key::PROJECTION].iter().any(|&id| keys.short(id).is_some());
    if !described {
        let message = "the model type says projected, but no projected system is named or described";
        warnings.push(Warning::new(Code::UnsupportedCrs, "key 3072", message));
        return None;
    }
    let Some(geographic) = geographic::from_keys(keys, warnings) else {
        let message = "a projection without datum or ellipsoid cannot be used";
        warnings.push(Warning::new(Code::UnsupportedCrs, "key 2048", message));
        return None;
    };
    let unit = geographic.child(&["UNIT"]).and_then(|n| n.f64(1)).unwrap_or(DEGREE);
    let key_unit = geographic::key_unit(keys).unwrap_or(unit);
    let utm = keys.code(key::PROJECTION).and_then(projection::utm);
    let projection = match utm.map_or_else(|| projection::from_keys(keys, key_unit, unit, warnings), Ok) {
        Ok(projection) => projection,
        Err(message) => {
            warnings.push(Warning::new(Code::UnsupportedCrs, "key 3075", message));
            return None;
        }
    };
    let own = keys.text(key::PROJECTED_CITATION);
    let stated = own.and_then(|text| part_of(text, "PCS Name"));
    let name = stated.or_else(|| keys.text(key::CITATION)).or(own.filter(|text| !text.contains(" = ")));
    let name = name.unwrap_or("unnamed");
    let name = name.strip_prefix("PCS Name = ").unwrap_or(name);
    // Keys have no method for it: writers describe an ellipsoidal Mercator, and only the name shows what they mean.
    if PSEUDO_MERCATOR.contains(&name)
        && projection.is_mercator_at_zero()
        && identify(&geographic) == Some(4326)
    {
        return registry::lookup(3857).map(Found::Node);
    }
    let mut geographic = geographic;
    geographic.remove_all(&["AXIS"]);
    let mut node = projection.add_to(Node::named("PROJCS", name).with(geographic));
    node = node.with(linear_unit(keys, warnings));
    for (axis, direction) in projection.axes() {
        node = node.with(Node::named("AXIS", axis).word(direction));
    }
    Some(Found::Node(node))
}

/// Names of EPSG:3857 by ESRI and EPSG.
const PSEUDO_MERCATOR: [&str; 2] = ["WGS_1984_Web_Mercator_Auxiliary_Sphere", "WGS 84 / Pseudo-Mercator"];

/// Returns a part of a citation such as `PCS Name = x|LUnits = y|`.
fn part_of<'a>(citation: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = citation.split('|').filter_map(|part| part.split_once(" = "));
    parts.find(|(n, v)| *n == name && !v.is_empty()).map(|(_, v)| v)
}

fn geocentric(keys: &GeoKeys, warnings: &mut Warnings) -> Option<Node> {
    let base = geographic::from_keys(keys, warnings)?;
    if base.is(&["GEOCCS"]) {
        return Some(base);
    }
    let mut node = Node::named("GEOCCS", keys.text(key::CITATION).unwrap_or("unnamed"));
    for part in ["DATUM", "PRIMEM"] {
        node = node.with(base.child(&[part])?.clone());
    }
    Some(node.with(linear_unit(keys, warnings)))
}

/// Returns the unit of keys 3076 and 3077; metres by default.
fn linear_unit(keys: &GeoKeys, warnings: &mut Warnings) -> Node {
    let metre = || Node::named("UNIT", "metre").number(1.0).epsg(Some(9001));
    match keys.short(key::LINEAR_UNITS) {
        None | Some(0) => metre(),
        Some(USER_DEFINED) => match keys.double(key::LINEAR_UNIT_SIZE).filter(|v| *v > 0.0) {
            Some(size) => {
                let citation = keys.text(key::PROJECTED_CITATION);
                let name = citation.and_then(|text| part_of(text, "LUnits")).unwrap_or("unknown");
                Node::named("UNIT", name).number(size)
            }
            None => {
                let message = "no positive size for the user-defined unit of length; metres were taken";
                warnings.push(Warning::new(Code::BadKey, "key 3077", message));
                metre()
            }
        },
        Some(code) => match registry::length(code) {
            Some(row) => Node::named("UNIT", row.1).number(row.2).epsg(Some(u32::from(code))),
            None => {
                let message = format!("unit of length {code} is not known; metres were taken");
                warnings.push(Warning::new(Code::UnknownCode, "key 3076", message));
                metre()
            }
        },
    }
}

/// Combines a registered projected system with another unit. The result has no code.
fn with_linear_unit(mut node: Node, keys: &GeoKeys, warnings: &mut Warnings) -> Node {
    if !node.is(&["PROJCS"]) || keys.short(key::LINEAR_UNITS).is_none() {
        return node;
    }
    let wanted = linear_unit(keys, warnings);
    let sizes = (node.child(&["UNIT"]).and_then(|n| n.f64(1)), wanted.f64(1));
    let (Some(old), Some(new)) = sizes else { return node };
    if (old - new).abs() <= 1e-9 * old {
        return node;
    }
    let message =
        format!("unit of {new} m, where the code's own is {old} m; the coordinates are in the former");
    warnings.push(Warning::new(Code::Contradiction, "key 3076", message));
    for value in &mut node.values {
        let Value::Node(inner) = value else { continue };
        if inner.is(&["UNIT"]) {
            *inner = wanted.clone();
        } else if inner.is(&["PARAMETER"])
            && inner.name().is_some_and(|n| n.starts_with("false_"))
            && let (Some(name), Some(length)) = (inner.name().map(str::to_owned), inner.f64(1))
        {
            *inner = Node::named("PARAMETER", &name).number(length * old / new);
        }
    }
    node.values.retain(|v| !matches!(v, Value::Node(n) if n.is(&["AUTHORITY"])));
    node
}

/// Returns the system of a citation that is WKT, if the keys neither name nor describe a system: files of
/// xarray-spatial.
fn cited(keys: &GeoKeys) -> Option<Crs> {
    let codes = [key::PROJECTED_CRS, key::GEODETIC_CRS].iter().any(|&id| keys.code(id).is_some());
    let described = [key::METHOD, key::PROJECTION, key::GEODETIC_DATUM, key::ELLIPSOID];
    if codes || described.iter().any(|&id| keys.short(id).is_some()) {
        return None;
    }
    let citations = [key::PROJECTED_CITATION, key::CITATION, key::GEODETIC_CITATION];
    let mut texts = citations.iter().filter_map(|&id| keys.text(id)).map(str::trim);
    texts.find(|text| is_wkt(text)).and_then(|text| Crs::from_wkt(text).ok())
}

/// Resolves a system of ESRI's registry. It gets the code and the text of EPSG's system with the same numbers only if
/// it also has that system's name: ESRI registers others with the same numbers, and GDAL gives those no EPSG code.
fn registered_by_esri(mut crs: Crs) -> Crs {
    let registered = crs.epsg.and_then(Crs::from_epsg).filter(|registered| {
        let words = |name: &str| -> Vec<String> {
            name.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect()
        };
        let name = words(&crs.name);
        // `WGS_1984_UTM_Zone_31N` and `WGS 84 / UTM zone 31N`: datums are spelled differently, projections are not.
        let projection = registered.name.split_once(" / ").map(|(_, projection)| words(projection));
        PSEUDO_MERCATOR.contains(&crs.name.as_str())
            || projection.is_some_and(|projection| projection.iter().all(|word| name.contains(word)))
    });
    registered.unwrap_or_else(|| {
        crs.epsg = None;
        crs
    })
}

/// Returns a system that is neither projected nor geographic: WKT in a citation, or a system without a place on the
/// Earth.
fn local(keys: &GeoKeys, warnings: &mut Warnings) -> Option<Crs> {
    let citation = keys.text(key::PROJECTED_CITATION);
    if let Some(wkt) = citation.and_then(|text| text.strip_prefix("ESRI PE String = ")) {
        match Crs::from_wkt(wkt) {
            Ok(crs) => return Some(registered_by_esri(crs)),
            Err(message) => warnings.push(Warning::new(Code::BadWkt, "key 3073", message)),
        }
    }
    let name = keys.text(key::CITATION).or(citation);
    if name.is_none() && keys.short(key::LINEAR_UNITS).is_none() {
        return None;
    }
    // Line breaks in a name become spaces, as in GDAL.
    let name = name.unwrap_or("unnamed").replace(['\n', '\r'], " ");
    let unit = linear_unit(keys, warnings);
    let node = Node::named("LOCAL_CS", name.trim()).with(unit);
    let node = node.with(Node::named("AXIS", "Easting").word("EAST"));
    Some(Crs::from_node(&node.with(Node::named("AXIS", "Northing").word("NORTH"))))
}
