//! Parses a reference system given by a user: a code, WKT, or a PROJ string.

use crate::InvalidValue;
use crate::crs::{Crs, code_of};
use crate::proj_string;
use crate::registry;
use crate::wkt::Node;

/// Keywords at the beginning of WKT.
const SYSTEMS: [&str; 23] = [
    "PROJCS",
    "PROJCRS",
    "PROJECTEDCRS",
    "GEOGCS",
    "GEOGCRS",
    "GEOGRAPHICCRS",
    "GEOCCS",
    "GEODCRS",
    "GEODETICCRS",
    "COMPD_CS",
    "COMPOUNDCRS",
    "VERT_CS",
    "VERTCRS",
    "VERTICALCRS",
    "LOCAL_CS",
    "ENGCRS",
    "ENGINEERINGCRS",
    "BOUNDCRS",
    "DERIVEDPROJCRS",
    "FITTED_CS",
    "TIMECRS",
    "PARAMETRICCRS",
    "IMAGECRS",
];

impl Crs {
    /// Parses a system by name or definition: `EPSG:4326`, `EPSG:32631+5773`, `4326`, `OGC:CRS84`,
    /// `urn:ogc:def:crs:EPSG::4326`, WKT 1 or 2, or a PROJ string. The error says what is wrong with it.
    pub fn from_user_input(text: &str) -> Result<Self, InvalidValue> {
        let text = text.trim();
        if text.is_empty() {
            return Err("an empty text names no reference system".to_owned().into());
        }
        if text.contains(['[', '(']) && !text.starts_with('+') {
            return Ok(from_definition(text)?);
        }
        if text.starts_with('+') || text.contains("proj=") {
            return Ok(Self::from_node(&registered(proj_string::parse(text)?)));
        }
        Ok(from_code(text)?)
    }
}

fn from_definition(text: &str) -> Result<Crs, String> {
    let node = Node::parse(text)?;
    if !node.is(&SYSTEMS) {
        let shown: String = node.keyword.chars().take(40).collect();
        return Err(format!("expected a WKT reference system, got `{}`", shown.escape_debug()));
    }
    Ok(Crs::from_wkt(text)?)
}

/// Returns whether a text begins like the WKT of a reference system.
pub fn is_wkt(text: &str) -> bool {
    let keyword = text.split(['[', '(']).next().unwrap_or("");
    keyword.len() < text.len() && SYSTEMS.iter().any(|known| keyword.trim().eq_ignore_ascii_case(known))
}

/// Returns the registered definition of a system, if there is one; else the system.
fn registered(node: Node) -> Node {
    code_of(&node).and_then(registry::lookup).unwrap_or(node)
}

fn from_code(text: &str) -> Result<Crs, String> {
    let lower = text.to_ascii_lowercase();
    if ["ogc:crs84", "crs84", "crs:84"].contains(&lower.as_str()) || lower.ends_with(":ogc:1.3:crs84") {
        return known(4326);
    }
    let code = ["urn:ogc:def:crs:epsg:", "http://www.opengis.net/def/crs/epsg/"]
        .iter()
        .find_map(|prefix| lower.strip_prefix(prefix))
        // A version, which may be empty, precedes the code.
        .and_then(|rest| rest.rsplit_once([':', '/']))
        .map(|(_, code)| code);
    let code = code.or_else(|| lower.strip_prefix("epsg:")).unwrap_or(&lower);
    let number = |text: &str| {
        let digits = text.strip_prefix("epsg:").unwrap_or(text).trim();
        let digits = Some(digits).filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|d| d.parse::<u32>().ok())
    };
    let shown: String = text.chars().take(60).collect();
    let unreadable = || {
        format!(
            "expected a reference system (`EPSG:` with a code, WKT or a PROJ string), got `{}`",
            shown.escape_debug()
        )
    };
    match code.split_once('+') {
        None => known(number(code).ok_or_else(unreadable)?),
        Some((horizontal, vertical)) => {
            compound(number(horizontal).ok_or_else(unreadable)?, number(vertical).ok_or_else(unreadable)?)
        }
    }
}

fn definition(code: u32) -> Result<Node, String> {
    registry::lookup(code)
        .ok_or_else(|| format!("EPSG:{code} is not known here; give the system as WKT or as a PROJ string"))
}

fn known(code: u32) -> Result<Crs, String> {
    definition(code).map(|node| Crs::from_node(&node))
}

fn compound(horizontal: u32, vertical: u32) -> Result<Crs, String> {
    if let Some(node) = registry::compound(horizontal, vertical) {
        return Ok(Crs::from_node(&node));
    }
    let (first, second) = (definition(horizontal)?, definition(vertical)?);
    if !first.is(&["PROJCS", "GEOGCS"]) {
        return Err(format!("expected a horizontal system before `+`, got EPSG:{horizontal}"));
    }
    if !second.is(&["VERT_CS"]) {
        return Err(format!("expected a vertical system after `+`, got EPSG:{vertical}"));
    }
    let name = format!("{} + {}", first.name().unwrap_or("unknown"), second.name().unwrap_or("unknown"));
    Ok(Crs::from_node(&Node::named("COMPD_CS", &name).with(first).with(second)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CrsKind;

    fn epsg(text: &str) -> Option<u32> {
        Crs::from_user_input(text).unwrap_or_else(|e| panic!("{text}: {e}")).epsg
    }

    #[test]
    fn codes_in_every_spelling() {
        for text in [
            "EPSG:4326",
            "epsg:4326",
            " 4326 ",
            "OGC:CRS84",
            "urn:ogc:def:crs:EPSG::4326",
            "urn:ogc:def:crs:EPSG:9.9:4326",
            "urn:ogc:def:crs:OGC:1.3:CRS84",
            "http://www.opengis.net/def/crs/EPSG/0/4326",
        ] {
            assert_eq!(epsg(text), Some(4326), "{text}");
        }
        assert_eq!(epsg("EPSG:27700+5701"), Some(7405));
        let both = Crs::from_user_input("epsg:32631+5773").unwrap();
        assert_eq!((both.kind, both.epsg, both.horizontal_epsg), (CrsKind::Compound, None, Some(32631)));
    }

    #[test]
    fn definitions_of_registered_systems_have_their_code() {
        assert_eq!(epsg("+proj=utm +zone=31 +datum=WGS84 +units=m +no_defs"), Some(32631));
        assert_eq!(epsg("+proj=longlat +datum=WGS84 +no_defs +type=crs"), Some(4326));
        assert_eq!(
            epsg(
                "+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 +k=1 +units=m +nadgrids=@null +wktext +no_defs"
            ),
            Some(3857)
        );
        assert_eq!(epsg("+proj=utm +zone=31 +ellps=bessel"), None);
        let esri = r#"PROJCS["WGS_1984_UTM_Zone_31N",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",500000.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",3.0],PARAMETER["Scale_Factor",0.9996],PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]"#;
        assert_eq!(epsg(esri), Some(32631));
        assert_eq!(Crs::from_user_input(esri).unwrap().wkt.as_deref(), Some(esri));
    }

    #[test]
    fn nothing_is_guessed() {
        for (text, message) in [
            ("", "an empty text names no reference system"),
            ("EPSG:99999", "EPSG:99999 is not known here; give the system as WKT or as a PROJ string"),
            ("EPSG:4326+4326", "expected a vertical system after `+`, got EPSG:4326"),
            (
                "ESRI:54009",
                "expected a reference system (`EPSG:` with a code, WKT or a PROJ string), got `ESRI:54009`",
            ),
            ("FOO[\"x\"]", "expected a WKT reference system, got `FOO`"),
            ("+proj=utm +zone=31", "no ellipsoid: give `+datum`, `+ellps`, `+a` with `+b` or `+rf`, or `+R`"),
            ("+proj=utm +zone=61 +datum=WGS84", "`+zone=61`: expected a whole number from 1 to 60"),
            (
                "+proj=utm +zone=31 +datum=WGS84 +lon_0=3",
                "`+lon_0` beside `+proj=utm` is not read here; leave it out or give the system as WKT",
            ),
            ("+proj=tmerc +k=1 +k_0=0.9 +ellps=GRS80", "`+k=1` and `+k_0=0.9` contradict each other"),
            ("+proj=tmerc +ellps=GRS80 +a=6378137", "`+ellps` beside axes of an ellipsoid"),
            (
                "+proj=longlat +datum=WGS84 +ellps=bessel",
                "`+datum=WGS84` has another ellipsoid than the one given",
            ),
            ("+proj=longlat +ellps=bessel +towgs84=1,2", "`+towgs84=1,2`: expected three or seven numbers"),
            (
                "+proj=tmerc +ellps=GRS80 +nadgrids=x.gsb",
                "`+nadgrids` beside `+proj=tmerc` is not read here; leave it out or give the system as WKT",
            ),
            (
                "+proj=tmerc +ellps=GRS80 +units=m +to_meter=2",
                "`+units=m` and `+to_meter` contradict each other",
            ),
            (
                "+proj=igh +datum=WGS84",
                "`+proj=igh` is not read here; give the system as WKT or by its EPSG code",
            ),
            ("+proj=tmerc +lat_0=x +ellps=GRS80", "`+lat_0=x`: expected an angle"),
            ("+proj=longlat +ellps=GRS80 +ellps=bessel", "`+ellps` is there twice with different values"),
            ("+proj=longlat +ellps=GRS80 +axis=wsu", "`+axis=wsu`: only `enu` can be written"),
        ] {
            assert_eq!(Crs::from_user_input(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn no_text_makes_a_panic() {
        let text =
            "+proj=lcc +lat_1=4d30'15\"W +lat_2=5 +ellps=bessel +towgs84=1,2,3 +pm=paris +to_meter=1/3";
        for at in 0..=text.len() {
            for byte in [b' ', b'+', b'=', b'9', b'-', b'e', b',', b'[', b'\'', 0xc3] {
                let mut changed = text.as_bytes().to_vec();
                if let Some(slot) = changed.get_mut(at) {
                    *slot = byte;
                }
                let _ = Crs::from_user_input(&String::from_utf8_lossy(&changed));
            }
        }
    }
}
