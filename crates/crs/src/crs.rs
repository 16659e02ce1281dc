//! Coordinate reference systems: WKT 1 and, if there is one, an EPSG code.
//!
//! This module decides kind, code and text of a system for every caller: `info`, the Python package and the writer all
//! report them from here. A system given by a code has the text that GDAL writes for the code; one written out in full
//! is looked up; WKT in a file is kept unchanged.

use crate::InvalidValue;
use crate::dialect::{self, Heights};
use crate::identify::{self, identify};
use crate::registry;
use crate::wkt::Node;

/// The kind of a system.
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
    /// A private system without a place on the Earth.
    Local,
    /// Only heights or depths.
    Vertical,
    /// Another kind of WKT 2.
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
    /// Unit of the heights. Absent for heights above the ellipsoid, which are in metres.
    pub unit: Option<Unit>,
}

impl VerticalCrs {
    /// Returns the vertical system of a `VERT_CS` node.
    pub fn of(node: &Node) -> Self {
        let name = node.name().unwrap_or("unknown").to_owned();
        Self { epsg: node.epsg_code(), name, unit: unit_of(node) }
    }
}

/// A coordinate reference system.
#[derive(Debug, Clone, PartialEq)]
pub struct Crs {
    /// EPSG code of the whole system, stated or found.
    pub epsg: Option<u32>,
    /// EPSG code of the horizontal part, if it differs from that of the whole system or the whole system has none.
    pub horizontal_epsg: Option<u32>,
    /// The definition: WKT 1 if made here, otherwise as in the file. `None` if a code is valid but its definition is
    /// not known here.
    pub wkt: Option<String>,
    /// Name of the system.
    pub name: String,
    /// The kind of the system.
    pub kind: CrsKind,
    /// Unit of the horizontal coordinates.
    pub unit: Option<Unit>,
    /// The vertical part, if there is one.
    pub vertical: Option<VerticalCrs>,
}

impl Crs {
    /// Returns whether both are the same system, however they are written: by their codes, else by their definitions.
    pub fn is_same(&self, other: &Self) -> bool {
        if let (Some(one), Some(other)) = (self.epsg, other.epsg) {
            return one == other;
        }
        let (Some(one_text), Some(other_text)) = (&self.wkt, &other.wkt) else { return self == other };
        if one_text == other_text {
            return self.kind == other.kind;
        }
        let system = |text: &str| dialect::system(&Node::parse(text).ok()?).ok();
        let is_flat = self.vertical.is_none() && other.vertical.is_none() && self.kind == other.kind;
        is_flat
            && system(one_text)
                .zip(system(other_text))
                .is_some_and(|(one, other)| identify::same(&one.horizontal, &other.horizontal))
    }

    /// Returns the registered system with this code.
    pub fn from_epsg(code: u32) -> Option<Self> {
        registry::lookup(code).map(|node| Self::from_node(&node))
    }

    /// Parses the WKT of a system. The error says what is wrong with the text. The code is also found for WKT 2 and
    /// ESRI's WKT.
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

    /// Looks up the code of a text in a dialect other than GDAL's WKT 1.
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

    /// Returns the system of a WKT tree, with the code that is stated or found.
    pub fn from_node(node: &Node) -> Self {
        let code = match kind_of(node) {
            CrsKind::Compound => horizontal_of(node).and_then(identify),
            _ => identify(node),
        };
        Self::from_node_with(node, code)
    }

    /// Like [`from_node`](Self::from_node), if the caller has already looked up the code of the horizontal part.
    pub fn from_node_with(node: &Node, code: Option<u32>) -> Self {
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

/// Returns whether a system has longitude and latitude: WKT 2 has one keyword for geographic and geocentric systems,
/// which differ in their axes.
fn is_ellipsoidal(node: &Node) -> bool {
    let shape = node.child(&["CS"]).and_then(|cs| cs.text(0)).unwrap_or("");
    node.is(&["GEODCRS", "GEODETICCRS"]) && shape.eq_ignore_ascii_case("ellipsoidal")
}

fn unit_of(node: &Node) -> Option<Unit> {
    let words = ["UNIT", "LENGTHUNIT", "ANGLEUNIT"];
    let unit = node.child(&words).or_else(|| node.child(&["AXIS"])?.child(&words))?;
    Some(Unit { name: unit.name()?.to_owned(), size: unit.f64(1)? })
}

/// Returns the code of a system by its content. A system whose datum has no code has none.
pub fn code_of(node: &Node) -> Option<u32> {
    let base = node.child(&["GEOGCS"]).unwrap_or(node);
    base.child(&["DATUM"])?.epsg_code()?;
    identify(node)
}
