//! Names of datums by GDAL, EPSG and ESRI, and their EPSG codes.
//!
//! A name only means a registered datum if the ellipsoid is that of the datum, too.

use crate::method::plain;
use crate::registry;
use crate::wkt::Node;

/// The format is described at the beginning of the file.
const NAMES: &str = include_str!("datum_names.txt");

fn names() -> impl Iterator<Item = (&'static str, u32)> {
    NAMES.lines().filter_map(|line| {
        let (name, code) = line.split_once('\t')?;
        Some((name, code.parse().ok()?))
    })
}

/// Returns the registry's name and the code of a datum, if it is registered; else the unchanged name.
pub(crate) fn known(name: &str, code: Option<u32>, ellipsoid: (f64, f64)) -> (String, Option<u32>) {
    let short = name.strip_prefix("D_").unwrap_or(name);
    let wanted = plain(short);
    let wanted = wanted.strip_suffix("ensemble").unwrap_or(&wanted);
    let code = code.or_else(|| names().find(|(name, _)| *name == wanted).map(|(_, code)| code));
    let found = match code {
        Some(code) => registry::geographic_by_datum(code),
        None => by_name(wanted),
    };
    let datum = found.as_ref().and_then(|n| n.child(&["DATUM"])).filter(|d| same_ellipsoid(d, ellipsoid));
    match datum {
        Some(datum) => (datum.name().unwrap_or(short).to_owned(), datum.epsg_code()),
        None => (short.to_owned(), None),
    }
}

/// Returns a geographic system whose datum has this plain name.
fn by_name(wanted: &str) -> Option<Node> {
    if wanted.is_empty() || wanted.starts_with("unknown") || wanted.starts_with("notspecified") {
        return None;
    }
    let is = |text: &str| {
        let name = text.split_once("DATUM[\"").and_then(|(_, rest)| rest.split_once('"'));
        name.is_some_and(|(name, _)| plain(name) == wanted)
    };
    let found = registry::all("GEOGCS").find(|(_, text)| is(text) && !text.contains("(deprecated)"));
    found.and_then(|(code, _)| registry::lookup(code))
}

fn same_ellipsoid(datum: &Node, (major, inverse_flattening): (f64, f64)) -> bool {
    let Some(spheroid) = datum.child(&["SPHEROID"]) else { return false };
    let near =
        |a: Option<f64>, b: f64, tolerance: f64| a.is_some_and(|a| (a - b).abs() <= tolerance * b.abs());
    near(spheroid.f64(1), major, 1e-9) && near(spheroid.f64(2), inverse_flattening, 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WGS84: (f64, f64) = (6378137.0, 298.257223563);
    const GRS80: (f64, f64) = (6378137.0, 298.257222101);

    #[test]
    fn names_of_all_dialects() {
        for name in
            ["WGS_1984", "D_WGS_1984", "World Geodetic System 1984 ensemble", "World_Geodetic_System_1984"]
        {
            assert_eq!(known(name, None, WGS84), ("WGS_1984".to_owned(), Some(6326)), "{name}");
        }
        assert_eq!(known("D_North_American_1983", None, GRS80).1, Some(6269));
        assert_eq!(known("D_ETRS_1989", None, GRS80).1, Some(6258));
        assert_eq!(known("European Terrestrial Reference System 1989 ensemble", None, GRS80).1, Some(6258));
    }

    #[test]
    fn another_ellipsoid_is_another_datum() {
        assert_eq!(known("WGS_1984", Some(6326), (6378000.0, 297.0)), ("WGS_1984".to_owned(), None));
        assert_eq!(known("Unknown based on WGS 84", None, WGS84).1, None);
    }

    #[test]
    fn every_name_is_plain_and_registered() {
        let mut last = "";
        for (name, code) in names() {
            assert!(plain(name) == name && last < name, "{name}");
            assert!(registry::geographic_by_datum(code).is_some(), "{name} {code}");
            last = name;
        }
        assert!(last > "wgs");
    }
}
