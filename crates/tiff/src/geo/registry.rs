//! Definitions by EPSG code: crs-definitions, and a supplement for what that crate lacks.
//!
//! Definitions come out as GDAL writes them: without datum shifts (`TOWGS84`) and grid names, which are
//! about transformations and not about the system.

use super::reference::{ANGLES, ELLIPSOIDS, EllipsoidRow, LENGTHS, MERIDIANS, MeridianRow, UnitRow};
use super::wkt::{Node, Value};

/// See the head of the file for its format.
const SUPPLEMENT: &str = include_str!("epsg_supplement.txt");

/// Codes whose text in crs-definitions is wrong: 3167 has its false easting in chains divided by chains again.
const REPLACED: [u16; 1] = [3167];

/// The definition of a code, where it is known.
pub(super) fn lookup(code: u32) -> Option<Node> {
    let text = text(code)?;
    let mut node = Node::parse(text).ok()?;
    if node.is(&["BOUNDCRS"]) {
        let source = node.child(&["SOURCECRS"])?.children().next().cloned();
        node = source?;
    }
    expand(&mut node);
    node.remove_all(&["TOWGS84"]);
    // Some texts carry the code of a system that replaced theirs.
    if node.epsg_code().is_some_and(|own| own != code) {
        node.values.retain(|v| !matches!(v, Value::Node(n) if n.is(&["AUTHORITY", "ID"])));
        node = node.epsg(Some(code));
    }
    if let Some(vertical) = node.child_mut(&["VERT_CS"]) {
        vertical.remove_all(&["EXTENSION"]);
    }
    Some(node)
}

/// The stored text of a code; it may hold references to other codes.
fn text(code: u32) -> Option<&'static str> {
    let code = u16::try_from(code).ok()?;
    match crs_definitions::from_code(code) {
        Some(def) if !def.wkt.is_empty() && !REPLACED.contains(&code) => Some(def.wkt),
        _ => supplement().find(|(c, _)| *c == u32::from(code)).map(|(_, text)| text),
    }
}

fn supplement() -> impl Iterator<Item = (u32, &'static str)> {
    SUPPLEMENT.lines().filter_map(|line| {
        let (code, text) = line.split_once('\t')?;
        Some((code.parse().ok()?, text))
    })
}

/// Puts definitions in the place of references such as `GEOGCS[4269]`.
fn expand(node: &mut Node) {
    for value in &mut node.values {
        let Value::Node(inner) = value else { continue };
        let reference = match inner.values.as_slice() {
            [Value::Word(code)] if inner.is(&["GEOGCS", "PROJCS", "VERT_CS"]) => code.parse().ok(),
            _ => None,
        };
        match reference.and_then(lookup) {
            Some(definition) => *inner = definition,
            None => expand(inner),
        }
    }
}

/// Every code and text whose text begins with a keyword, in the order of the codes.
pub(super) fn all(keyword: &'static str) -> impl Iterator<Item = (u32, &'static str)> {
    let first = (1024..=u16::MAX)
        .filter(|code| !REPLACED.contains(code))
        .filter_map(|code| Some((u32::from(code), crs_definitions::from_code(code)?.wkt)));
    first
        .chain(supplement())
        .filter(move |(_, text)| text.strip_prefix(keyword).is_some_and(|rest| rest.starts_with('[')))
}

/// A geographic system (two axes) that uses this datum; among several, the one with the lowest code whose
/// name is not marked as deprecated.
pub(super) fn geographic_by_datum(datum: u32) -> Option<Node> {
    let needle = format!("AUTHORITY[\"EPSG\",\"{datum}\"]");
    all("GEOGCS")
        .filter(|(_, text)| text.contains(&needle) && !text.contains("(deprecated)"))
        .filter_map(|(code, _)| lookup(code))
        .find(|node| node.child(&["DATUM"]).and_then(Node::epsg_code) == Some(datum))
}

/// The geographic system with two axes that has this name.
pub(super) fn geographic_by_name(name: &str) -> Option<Node> {
    let needle = format!("GEOGCS[\"{name}\",");
    all("GEOGCS").find(|(_, text)| text.starts_with(&needle)).and_then(|(code, _)| lookup(code))
}

/// The compound system of two codes.
pub(super) fn compound(horizontal: u32, vertical: u32) -> Option<Node> {
    all("COMPD_CS").filter_map(|(code, _)| lookup(code)).find(|node| {
        let mut codes = node.children().filter(|n| !n.is(&["AUTHORITY"])).map(Node::epsg_code);
        codes.next() == Some(Some(horizontal)) && codes.next() == Some(Some(vertical))
    })
}

pub(super) fn length(code: u16) -> Option<&'static UnitRow> {
    LENGTHS.iter().find(|row| row.0 == code)
}

pub(super) fn angle(code: u16) -> Option<&'static UnitRow> {
    ANGLES.iter().find(|row| row.0 == code)
}

pub(super) fn ellipsoid(code: u16) -> Option<&'static EllipsoidRow> {
    ELLIPSOIDS.iter().find(|row| row.0 == code)
}

pub(super) fn meridian(code: u16) -> Option<&'static MeridianRow> {
    MERIDIANS.iter().find(|row| row.0 == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_parses_and_has_its_code() {
        for keyword in ["PROJCS", "GEOGCS", "COMPD_CS", "VERT_CS", "GEOCCS", "GEOGCRS", "BOUNDCRS"] {
            let mut count = 0;
            for (code, _) in all(keyword) {
                let node = lookup(code).unwrap_or_else(|| panic!("{code} does not parse"));
                assert_eq!(node.epsg_code(), Some(code), "{node}");
                assert!(!node.to_string().contains("TOWGS84"));
                count += 1;
            }
            assert!(count > 50, "{keyword}: {count}");
        }
    }

    #[test]
    fn wrong_texts_are_replaced() {
        for code in REPLACED {
            assert!(crs_definitions::from_code(code).is_some());
            assert_eq!(all("PROJCS").filter(|(c, _)| *c == u32::from(code)).count(), 1);
        }
        assert!(lookup(3167).unwrap().to_string().contains("PARAMETER[\"false_easting\",40000]"));
    }

    #[test]
    fn references_in_the_supplement_are_resolved() {
        let text = lookup(9518).unwrap().to_string();
        assert!(text.contains("GEOGCS[\"WGS 84\"") && text.contains("EGM2008 height"), "{text}");
        assert!(lookup(9674).unwrap().to_string().contains("GEOGCS[\"NAD83\""));
    }

    #[test]
    fn finds_by_datum_name_and_parts() {
        assert_eq!(geographic_by_datum(6326).unwrap().epsg_code(), Some(4326));
        assert_eq!(geographic_by_name("NZGD2000").unwrap().epsg_code(), Some(4167));
        assert_eq!(compound(27700, 5701).unwrap().epsg_code(), Some(7405));
        assert_eq!(compound(32631, 5701), None);
        assert_eq!(lookup(64999), None);
    }
}
