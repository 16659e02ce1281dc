//! Definitions by EPSG code: the texts that GDAL writes for the codes, in `epsg.txt`.
//!
//! `xtask/python/make_epsg.py` generates that file. Definitions are those of the current registry, including names and
//! axes, so that GDAL and PROJ recognise a text from here as their system with the same code.

use crate::reference::{ANGLES, ELLIPSOIDS, EllipsoidRow, LENGTHS, MERIDIANS, MeridianRow, UnitRow};
use crate::wkt::{Node, Value};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The format is described at the beginning of the file.
const DEFINITIONS: &str = include_str!("epsg.txt");

/// Returns the definition of a code, if it is known.
pub fn lookup(code: u32) -> Option<Node> {
    let mut node = Node::parse(text(code)?).ok()?;
    expand(&mut node);
    Some(node)
}

/// Returns the stored text of a code by binary search in the sorted lines. It may contain references to other codes.
fn text(code: u32) -> Option<&'static str> {
    let (mut low, mut high) = (0, DEFINITIONS.len());
    while low < high {
        let start = DEFINITIONS.get(..low.midpoint(high))?.rfind('\n').map_or(0, |end| end + 1).max(low);
        let rest = DEFINITIONS.get(start..)?;
        let line = rest.split('\n').next()?;
        match entry(line) {
            Some((found, text)) if found == code => return Some(text),
            Some((found, _)) if found > code => high = start,
            // A line of the head precedes every code.
            _ => low = start + line.len() + 1,
        }
    }
    None
}

fn entry(line: &'static str) -> Option<(u32, &'static str)> {
    let (code, text) = line.split_once('\t')?;
    Some((code.parse().ok()?, text))
}

/// Replaces references such as `GEOGCS[4269]` by definitions.
fn expand(node: &mut Node) {
    let in_projected = node.is(&["PROJCS"]);
    for value in &mut node.values {
        let Value::Node(inner) = value else { continue };
        let reference = match inner.values.as_slice() {
            [Value::Word(code)] => code.parse().ok(),
            _ => None,
        };
        match reference {
            Some(9001) if inner.is(&["UNIT"]) => *inner = metre(),
            Some(code) if inner.is(&["GEOGCS", "PROJCS", "VERT_CS"]) => {
                let Some(mut definition) = lookup(code) else { continue };
                if in_projected {
                    definition.remove_all(&["AXIS"]);
                }
                *inner = definition;
            }
            _ => expand(inner),
        }
    }
}

fn metre() -> Node {
    Node::named("UNIT", "metre").number(1.0).epsg(Some(9001))
}

/// Returns every code and text that begins with a keyword, in the order of the codes.
pub fn all(keyword: &'static str) -> impl Iterator<Item = (u32, &'static str)> {
    DEFINITIONS
        .lines()
        .filter_map(entry)
        .filter(move |(_, text)| text.strip_prefix(keyword).is_some_and(|rest| rest.starts_with('[')))
}

/// Returns a geographic system (two axes) with this datum; if there are several, the one with the lowest code whose
/// name is not marked as deprecated.
pub fn geographic_by_datum(datum: u32) -> Option<Node> {
    by_datum("GEOGCS", datum)
}

/// Returns the geocentric system with this datum.
pub fn geocentric_by_datum(datum: u32) -> Option<Node> {
    by_datum("GEOCCS", datum)
}

/// Codes of systems that were found by keyword and datum. A search reads the whole table, which would take half a
/// millisecond per opened file. Bounded by the size of the table.
static FOUND: Mutex<BTreeMap<(&'static str, u32), u32>> = Mutex::new(BTreeMap::new());

fn by_datum(keyword: &'static str, datum: u32) -> Option<Node> {
    let found = || FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let known = found().get(&(keyword, datum)).copied();
    if let Some(code) = known {
        return lookup(code);
    }
    let needle = format!("AUTHORITY[\"EPSG\",\"{datum}\"]");
    let (code, node) = all(keyword)
        .filter(|(_, text)| text.contains(&needle) && !text.contains("(deprecated)"))
        .filter_map(|(code, _)| Some((code, lookup(code)?)))
        .find(|(_, node)| node.child(&["DATUM"]).and_then(Node::epsg_code) == Some(datum))?;
    found().insert((keyword, datum), code);
    Some(node)
}

/// Returns the geographic system with two axes and this name.
pub fn geographic_by_name(name: &str) -> Option<Node> {
    let needle = format!("GEOGCS[\"{name}\",");
    all("GEOGCS").find(|(_, text)| text.starts_with(&needle)).and_then(|(code, _)| lookup(code))
}

/// Returns the compound system of two codes.
pub fn compound(horizontal: u32, vertical: u32) -> Option<Node> {
    all("COMPD_CS").filter_map(|(code, _)| lookup(code)).find(|node| {
        let mut codes = node.children().filter(|n| !n.is(&["AUTHORITY"])).map(Node::epsg_code);
        codes.next() == Some(Some(horizontal)) && codes.next() == Some(Some(vertical))
    })
}

/// Returns the unit of length with this code.
pub fn length(code: u16) -> Option<&'static UnitRow> {
    LENGTHS.iter().find(|row| row.0 == code)
}

/// Returns the unit of angle with this code.
pub fn angle(code: u16) -> Option<&'static UnitRow> {
    ANGLES.iter().find(|row| row.0 == code)
}

/// Returns the ellipsoid with this code.
pub fn ellipsoid(code: u16) -> Option<&'static EllipsoidRow> {
    ELLIPSOIDS.iter().find(|row| row.0 == code)
}

/// Returns the prime meridian with this code.
pub fn meridian(code: u16) -> Option<&'static MeridianRow> {
    MERIDIANS.iter().find(|row| row.0 == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_parses_and_has_its_code() {
        let mut last = 0;
        for keyword in ["PROJCS", "GEOGCS", "COMPD_CS", "VERT_CS", "GEOCCS", "GEOGCRS", "PROJCRS"] {
            let mut count = 0;
            for (code, _) in all(keyword) {
                let node = lookup(code).unwrap_or_else(|| panic!("{code} does not parse"));
                assert_eq!(node.epsg_code(), Some(code), "{node}");
                let text = node.to_string();
                assert!(!text.contains("[9001]"), "{text}");
                count += 1;
            }
            assert!(count > 50, "{keyword}: {count}");
        }
        for (code, _) in DEFINITIONS.lines().filter_map(entry) {
            assert!(code > last, "{code} behind {last}");
            last = code;
            assert!(text(code).is_some());
        }
        assert_eq!((text(0), text(1), text(last + 1), text(u32::MAX)), (None, None, None, None));
    }

    /// GDAL 3.10's output for the code, verbatim.
    #[test]
    fn definitions_are_those_of_gdal() {
        let text = |code| lookup(code).unwrap().to_string();
        assert_eq!(
            text(3413),
            r#"PROJCS["WGS 84 / NSIDC Sea Ice Polar Stereographic North",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AUTHORITY["EPSG","4326"]],PROJECTION["Polar_Stereographic"],PARAMETER["latitude_of_origin",70],PARAMETER["central_meridian",-45],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["Easting",SOUTH],AXIS["Northing",SOUTH],AUTHORITY["EPSG","3413"]]"#
        );
        assert_eq!(
            text(4978),
            r#"GEOCCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["Geocentric X",OTHER],AXIS["Geocentric Y",OTHER],AXIS["Geocentric Z",NORTH],AUTHORITY["EPSG","4978"]]"#
        );
        // Axes stay in the geographic part of a compound system.
        assert!(text(9518).contains(r#"AXIS["Longitude",EAST],AUTHORITY["EPSG","4326"]],VERT_CS["EGM2008"#));
        assert!(text(3167).contains("PARAMETER[\"false_easting\",40000]"));
    }

    #[test]
    fn finds_by_datum_name_and_parts() {
        // Searched for, then cached.
        for _ in 0..2 {
            assert_eq!(geographic_by_datum(6326).unwrap().epsg_code(), Some(4326));
            assert_eq!(geocentric_by_datum(6326).unwrap().epsg_code(), Some(4978));
        }
        assert_eq!(geographic_by_name("NZGD2000").unwrap().epsg_code(), Some(4167));
        assert_eq!(compound(27700, 5701).unwrap().epsg_code(), Some(7405));
        assert_eq!(compound(32631, 5701), None);
        assert_eq!(lookup(64999), None);
    }
}
