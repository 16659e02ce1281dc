//! Datums by their names: GDAL's, EPSG's and ESRI's names for one datum, and its EPSG code.
//!
//! A name is taken for a registered datum only where the ellipsoid is that datum's too.

use super::method::plain;
use super::registry;
use super::wkt::Node;

/// Plain names that are not those of the registry's texts.
const ALIASES: [(&str, u32); 34] = [
    ("worldgeodeticsystem1984", 6326),
    ("worldgeodeticsystem1972", 6322),
    ("wgs84", 6326),
    ("northamerican1983", 6269),
    ("northamerican1927", 6267),
    ("nad83nationalspatialreferencesystem2011", 1116),
    ("nad1983nsrs2007", 6759),
    ("nad1983harn", 6152),
    ("nad1983csrs", 6140),
    ("nad19832011", 1116),
    ("etrs1989", 6258),
    ("osgb1936", 6277),
    ("ordnancesurveyofgreatbritain1936", 6277),
    ("tm65", 6299),
    ("european1950", 6230),
    ("gda1994", 6283),
    ("gda2020", 1168),
    ("geocentricdatumofaustralia1994", 6283),
    ("australian1966", 6202),
    ("australian1984", 6203),
    ("nzgd2000", 6167),
    ("newzealand1949", 6272),
    ("jgd2000", 6612),
    ("jgd2011", 1128),
    ("sirgas2000", 6674),
    ("southamerican1969", 6618),
    ("rgf1993", 6171),
    ("rgf93v1", 6171),
    ("ntf", 6275),
    ("mgi", 6312),
    ("ch1903", 6149),
    ("sjtsk", 6156),
    ("montemario", 6265),
    ("china2000", 1043),
];

/// The registry's name and the code of a datum, where it is a registered one; else the name as it is.
pub(super) fn known(name: &str, code: Option<u32>, ellipsoid: (f64, f64)) -> (String, Option<u32>) {
    let short = name.strip_prefix("D_").unwrap_or(name);
    let wanted = plain(short);
    let wanted = wanted.strip_suffix("ensemble").unwrap_or(&wanted);
    let code = code.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == wanted).map(|(_, code)| *code));
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

/// A geographic system whose datum has this plain name.
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
    fn every_alias_is_registered() {
        for (alias, code) in ALIASES {
            assert!(registry::geographic_by_datum(code).is_some(), "{alias} {code}");
        }
    }
}
