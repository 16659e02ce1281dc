//! Coordinate reference systems: what a file says, as WKT 1 and, where there is one, an EPSG code.
//!
//! This decides kind, code and text of a system for every caller: `info`, the Python package and the writer all
//! report what is here. A system given by a code has the text that GDAL writes for the code; one written out in
//! keys is turned into WKT and looked up; one that cannot be written is kept as its keys, with a warning. WKT in
//! the file is kept as it is.

use super::dialect::{self, Heights};
use super::geographic::{self, DEGREE};
use super::identify::identify;
use super::keys::{GeoKeys, USER_DEFINED, key};
use super::projection;
use super::registry;
use super::user_input;
use super::vertical;
use super::warning::GeoWarningCode as Code;
use super::wkt::{Node, Value};
use crate::InvalidValue;
use crate::{Warning, Warnings};

/// What kind of system it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrsKind {
    /// Eastings and northings.
    Projected,
    /// Longitude and latitude.
    Geographic,
    /// Longitude, latitude and ellipsoidal height.
    Geographic3D,
    /// x, y and z from the centre of the Earth.
    Geocentric,
    /// A horizontal and a vertical system.
    Compound,
    /// A system of the file's own, without a place on the Earth.
    Local,
    /// Heights or depths alone.
    Vertical,
    /// A kind of WKT 2 that has no name here.
    Other,
}

/// A unit of length or angle.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Its name.
    pub name: String,
    /// Its size in metres or radians.
    pub size: f64,
}

/// The vertical part of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct VerticalCrs {
    /// EPSG code.
    pub epsg: Option<u32>,
    /// Name.
    pub name: String,
    /// Unit of the heights; absent for heights above the ellipsoid, which are in metres.
    pub unit: Option<Unit>,
}

impl VerticalCrs {
    pub(super) fn of(node: &Node) -> Self {
        let name = node.name().unwrap_or("unknown").to_owned();
        Self { epsg: node.epsg_code(), name, unit: unit_of(node) }
    }
}

/// A coordinate reference system.
#[derive(Debug, Clone, PartialEq)]
pub struct Crs {
    /// EPSG code of the whole system, stated or found.
    pub epsg: Option<u32>,
    /// EPSG code of the horizontal part, where it differs from the whole or the whole has none.
    pub horizontal_epsg: Option<u32>,
    /// The definition: WKT 1 where made here, otherwise as in the file. `None` where a code is known
    /// to be valid but its definition is not held here.
    pub wkt: Option<String>,
    /// Name of the system.
    pub name: String,
    /// What kind of system it is.
    pub kind: CrsKind,
    /// Unit of the horizontal coordinates.
    pub unit: Option<Unit>,
    /// The vertical part, where there is one.
    pub vertical: Option<VerticalCrs>,
}

impl Crs {
    /// The registered system with this code.
    pub fn from_epsg(code: u32) -> Option<Self> {
        registry::lookup(code).map(|node| Self::from_node(&node))
    }

    /// The system a WKT text describes; the error says what is wrong with the text. The code is found in WKT 2
    /// and ESRI's WKT too.
    pub fn from_wkt(text: &str) -> Result<Self, InvalidValue> {
        let text = text.trim();
        let node = Node::parse(text)?;
        let mut crs = Self::from_node(&node);
        crs.wkt = Some(text.to_owned());
        if crs.epsg.is_none() {
            crs.find_code(&node);
        }
        Ok(crs)
    }

    /// Looks for the code of a text in another dialect than GDAL's WKT 1.
    fn find_code(&mut self, node: &Node) {
        let Ok(system) = dialect::system(node) else { return };
        let Some(code) = code_of(&system.horizontal) else { return };
        match system.heights {
            Heights::None => self.epsg = Some(code),
            Heights::Ellipsoidal(whole) => {
                self.epsg = whole.filter(|_| self.kind == CrsKind::Geographic3D);
                self.horizontal_epsg = Some(code);
            }
            Heights::Vertical(vertical) => {
                let whole = vertical.epsg_code().and_then(|vertical| registry::compound(code, vertical));
                self.epsg = whole.and_then(|whole| whole.epsg_code());
                self.horizontal_epsg = Some(code);
            }
        }
    }

    pub(super) fn from_node(node: &Node) -> Self {
        let code = match kind_of(node) {
            CrsKind::Compound => horizontal_of(node).and_then(identify),
            _ => identify(node),
        };
        Self::from_node_with(node, code)
    }

    /// The same, where the code of the horizontal part has been looked for.
    pub(super) fn from_node_with(node: &Node, code: Option<u32>) -> Self {
        let kind = kind_of(node);
        let (horizontal, vertical) = match kind {
            CrsKind::Compound => (horizontal_of(node), node.child(&["VERT_CS", "VERTCRS", "VERTICALCRS"])),
            CrsKind::Vertical => (None, Some(node)),
            _ => (Some(node), None),
        };
        let epsg = match kind {
            CrsKind::Compound => node
                .epsg_code()
                .or_else(|| registry::compound(code?, vertical.and_then(Node::epsg_code)?)?.epsg_code()),
            _ => code,
        };
        Self {
            epsg,
            horizontal_epsg: code.filter(|code| Some(*code) != epsg),
            wkt: Some(node.to_string()),
            name: node.name().unwrap_or("unknown").to_owned(),
            kind,
            unit: horizontal.and_then(unit_of),
            vertical: vertical.map(VerticalCrs::of),
        }
    }

    /// What the keys say. `None` where they say nothing about a system, or nothing that can be used.
    pub fn from_keys(keys: &GeoKeys, warnings: &mut Warnings) -> Option<Self> {
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
            Some(Found::Code(code, kind)) => Some(Self {
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

fn horizontal_of(node: &Node) -> Option<&Node> {
    let kinds = [CrsKind::Projected, CrsKind::Geographic, CrsKind::Geographic3D];
    node.children().find(|n| kinds.contains(&kind_of(n)))
}

fn kind_of(node: &Node) -> CrsKind {
    if node.is(&["PROJCS", "PROJCRS", "PROJECTEDCRS"]) {
        CrsKind::Projected
    } else if node.is(&["GEOGCS"]) {
        CrsKind::Geographic
    } else if node.is(&["GEOGCRS", "GEOGRAPHICCRS"]) || is_ellipsoidal(node) {
        let three = node.child(&["CS"]).and_then(|cs| cs.f64(1)) == Some(3.0);
        if three { CrsKind::Geographic3D } else { CrsKind::Geographic }
    } else if node.is(&["GEOCCS", "GEODCRS", "GEODETICCRS"]) {
        CrsKind::Geocentric
    } else if node.is(&["COMPD_CS", "COMPOUNDCRS"]) {
        CrsKind::Compound
    } else if node.is(&["LOCAL_CS", "ENGCRS", "ENGINEERINGCRS"]) {
        CrsKind::Local
    } else if node.is(&["VERT_CS", "VERTCRS", "VERTICALCRS"]) {
        CrsKind::Vertical
    } else {
        CrsKind::Other
    }
}

/// WKT 2 has one keyword for geographic and geocentric systems; their axes tell them apart.
fn is_ellipsoidal(node: &Node) -> bool {
    let shape = node.child(&["CS"]).and_then(|cs| cs.text(0)).unwrap_or("");
    node.is(&["GEODCRS", "GEODETICCRS"]) && shape.eq_ignore_ascii_case("ellipsoidal")
}

fn unit_of(node: &Node) -> Option<Unit> {
    let words = ["UNIT", "LENGTHUNIT", "ANGLEUNIT"];
    let unit = node.child(&words).or_else(|| node.child(&["AXIS"])?.child(&words))?;
    Some(Unit { name: unit.name()?.to_owned(), size: unit.f64(1)? })
}

enum Model {
    Projected,
    Geographic,
    Geocentric,
    Local,
}

/// Key 1024, and where it says nothing, the codes that are there.
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
    /// A code of the registry's range whose definition is not held here.
    Code(u32, CrsKind),
}

fn projected(keys: &GeoKeys, warnings: &mut Warnings) -> Option<Found> {
    if let Some(code) = keys.code(key::PROJECTED_CRS) {
        if let Some(node) = registry::lookup(u32::from(code)) {
            return Some(Found::Node(with_linear_unit(node, keys, warnings)));
        }
        let message = format!("code {code} is not known");
        warnings.push(Warning::new(Code::UnknownCode, "key 3072", message));
        // EPSG's codes lie between these; what is above is private.
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
    // Keys have no method for it: writers describe an ellipsoidal Mercator and tell by the name what they mean.
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

/// ESRI's and EPSG's name of EPSG:3857.
const PSEUDO_MERCATOR: [&str; 2] = ["WGS_1984_Web_Mercator_Auxiliary_Sphere", "WGS 84 / Pseudo-Mercator"];

/// A part of a citation such as `PCS Name = x|LUnits = y|`.
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

/// The unit of keys 3076 and 3077; metres where they say nothing.
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

/// A registered projected system beside another unit: the system in that unit, which has no code.
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

/// A citation that is WKT, beside keys that neither name nor describe a system: files of xarray-spatial.
fn cited(keys: &GeoKeys) -> Option<Crs> {
    let codes = [key::PROJECTED_CRS, key::GEODETIC_CRS].iter().any(|&id| keys.code(id).is_some());
    let described = [key::METHOD, key::PROJECTION, key::GEODETIC_DATUM, key::ELLIPSOID];
    if codes || described.iter().any(|&id| keys.short(id).is_some()) {
        return None;
    }
    let citations = [key::PROJECTED_CITATION, key::CITATION, key::GEODETIC_CITATION];
    let mut texts = citations.iter().filter_map(|&id| keys.text(id)).map(str::trim);
    texts.find(|text| user_input::is_wkt(text)).and_then(|text| Crs::from_wkt(text).ok())
}

/// The code of a system by what it is; a datum without a code is nobody's.
pub(super) fn code_of(node: &Node) -> Option<u32> {
    let base = node.child(&["GEOGCS"]).unwrap_or(node);
    base.child(&["DATUM"])?.epsg_code()?;
    identify(node)
}

/// A system of ESRI's registry. It has the code and the text of EPSG's system with the same numbers only where its name
/// is that system's too: ESRI registers others with the same numbers, and GDAL gives those no EPSG code.
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

/// What is neither projected nor geographic: WKT in a citation, or a system without a place on the Earth.
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
    // Line breaks in a name are made spaces, as GDAL does.
    let name = name.unwrap_or("unnamed").replace(['\n', '\r'], " ");
    let unit = linear_unit(keys, warnings);
    let node = Node::named("LOCAL_CS", name.trim()).with(unit);
    let node = node.with(Node::named("AXIS", "Easting").word("EAST"));
    Some(Crs::from_node(&node.with(Node::named("AXIS", "Northing").word("NORTH"))))
}
