//! Reference systems: GeoKeys of systems that a file defines itself, and the texts that name or describe one.

use super::{Outcome, Subject, sequence};
use crate::mutate::{EDGES, pick};
use strile_tiff::Tag;
use strile_tiff::geo::{Crs, GeoTags, Georeference, USER_DEFINED, key};
use testkit::{Random, mutate_bytes};

/// See the module.
pub(crate) struct KeyTarget {
    seeds: Vec<Vec<u8>>,
}

/// Every parameter a method of projection may have, in order of its key.
const PARAMETERS: [f64; 19] = [
    40.0, 60.0, 9.0, 30.0, 5e5, 1e5, 9.5, 31.0, 4e5, 2e5, 10.0, 32.0, 3e5, 3e4, 0.9996, 0.9, 45.0, 11.0, 12.0,
];
const ASCII: &[u8] = b"a system|a datum|an ellipsoid|a meridian|";
/// Methods of projection, the first being 1.
const METHODS: u16 = 28;

impl KeyTarget {
    pub(crate) fn new() -> Self {
        Self { seeds: (1..=METHODS).map(user_defined).collect() }
    }
}

impl Subject for KeyTarget {
    fn name(&self) -> &str {
        "geokeys"
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let seed = random.below(self.seeds.len());
        let keys = &self.seeds[seed];
        if random.below(3) == 0 {
            return (seed, mutate_bytes(keys, random.next_u64()));
        }
        // Keys of four numbers: another number in one, or one in another's place.
        let mut keys = keys.clone();
        for _ in 0..1 + random.below(3) {
            let place = |random: &mut Random| 8 * random.below(keys.len() / 8);
            let (from, to) = (place(&mut random), place(&mut random));
            match random.below(3) {
                0 => keys.copy_within(from..from + 8, to),
                _ => {
                    let at = to + 2 * random.below(4);
                    let value = match random.below(3) {
                        0 => pick(&EDGES, &mut random) as u16,
                        // Codes of EPSG and GeoTIFF lie here.
                        1 => 1000 + random.below(9000) as u16,
                        _ => random.next_u64() as u16,
                    };
                    keys[at..at + 2].copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        (seed, keys)
    }

    fn try_one(&self, _seed: usize, number: u64, bytes: &[u8]) -> Outcome {
        let keys: Vec<u16> = bytes.as_chunks().0.iter().map(|&b| u16::from_le_bytes(b)).collect();
        let mut random = sequence(number);
        let mut doubles = PARAMETERS;
        if random.below(2) == 0 {
            let values = [0.0, -0.0, f64::NAN, f64::INFINITY, 1e308, -1e308, 5e-324, 90.0, 180.0, 1e18];
            doubles[random.below(19)] = pick(&values, &mut random);
        }
        let tags = GeoTags {
            key_directory: Some(&keys),
            double_params: Some(&doubles),
            ascii_params: Some(ASCII),
            pixel_scale: Some(&[10.0, 10.0, 0.0]),
            tiepoints: Some(&[0.0, 0.0, 0.0, 4e5, 5e6, 0.0]),
            transformation: None,
            rpc: None,
        };
        let mut warnings = strile_tiff::Warnings::new();
        drop(Georeference::from_tags(&tags, &mut warnings));
        if warnings.is_empty() { Outcome::read() } else { Outcome::refused(true, "warned") }
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        32 << 20
    }

    fn seed_name(&self, seed: usize) -> String {
        format!("method{}", seed + 1)
    }

    fn seeds(&self) -> usize {
        self.seeds.len()
    }
}

/// The keys of a projected system that only the file knows, with a method of projection and all its parameters.
fn user_defined(method: u16) -> Vec<u8> {
    let doubles = Tag::GeoDoubleParamsTag.0;
    let mut keys = vec![
        [key::MODEL_TYPE, 0, 1, 1],
        [key::GEODETIC_CRS, 0, 1, USER_DEFINED],
        [key::GEODETIC_CITATION, Tag::GeoAsciiParamsTag.0, ASCII.len() as u16, 0],
        [key::GEODETIC_DATUM, 0, 1, USER_DEFINED],
        [key::ANGULAR_UNITS, 0, 1, 9102],
        [key::ELLIPSOID, 0, 1, if method.is_multiple_of(2) { 7030 } else { USER_DEFINED }],
        [key::SEMI_MAJOR, doubles, 1, 4],
        [key::INVERSE_FLATTENING, doubles, 1, 1],
        [key::PRIME_MERIDIAN_LONG, doubles, 1, 2],
        [key::PROJECTED_CRS, 0, 1, USER_DEFINED],
        [key::PROJECTION, 0, 1, USER_DEFINED],
        [key::METHOD, 0, 1, method],
        [key::LINEAR_UNITS, 0, 1, 9001],
    ];
    keys.extend((0..19).map(|index| [key::STD_PARALLEL_1 + index, doubles, 1, index]));
    keys.push([key::VERTICAL_CRS, 0, 1, 5703]);
    keys.push([key::VERTICAL_UNITS, 0, 1, 9001]);
    keys.insert(0, [1, 1, 0, keys.len() as u16]);
    keys.concat().into_iter().flat_map(u16::to_le_bytes).collect()
}

/// Texts that name or describe a reference system.
pub(crate) struct WktTarget;

const TEXTS: [(&str, &str); 6] = [
    (
        "wkt1",
        r#"COMPD_CS["a",PROJCS["b",GEOGCS["c",DATUM["d",SPHEROID["e",6378137,298.25,AUTHORITY["EPSG","7030"]],TOWGS84[1,2,3,0,0,0,0]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]],PROJECTION["Lambert_Conformal_Conic_2SP"],PARAMETER["standard_parallel_1",49],PARAMETER["standard_parallel_2",44],PARAMETER["latitude_of_origin",46.5],PARAMETER["central_meridian",3],UNIT["metre",1],AXIS["Easting",EAST],AXIS["Northing",NORTH]],VERT_CS["v",VERT_DATUM["w",2005],UNIT["metre",1],AXIS["Up",UP]]]"#,
    ),
    (
        "wkt2",
        r#"PROJCRS["b",BASEGEOGCRS["c",DATUM["d",ELLIPSOID["e",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]],ID["EPSG",4326]],CONVERSION["f",METHOD["Transverse Mercator",ID["EPSG",9807]],PARAMETER["Latitude of natural origin",0,ANGLEUNIT["degree",0.0174532925199433],ID["EPSG",8801]],PARAMETER["Scale factor at natural origin",0.9996,SCALEUNIT["unity",1]]],CS[Cartesian,2],AXIS["(E)",east,ORDER[1]],AXIS["(N)",north,ORDER[2]],LENGTHUNIT["metre",1],USAGE[SCOPE["x"],AREA["y"],BBOX[0,6,84,12]],ID["EPSG",32632]]"#,
    ),
    (
        "proj",
        "+proj=lcc +lat_1=49 +lat_2=44 +lat_0=46.5 +lon_0=3 +x_0=700000 +y_0=6600000 +ellps=GRS80 +towgs84=0,0,0,0,0,0,0 +units=m +no_defs +type=crs",
    ),
    ("code", "EPSG:32631+5773"),
    ("urn", "urn:ogc:def:crs:EPSG:9.9.1:4326"),
    (
        "bound",
        r#"BOUNDCRS[SOURCECRS[GEOGCRS["a",DATUM["b",ELLIPSOID["c",6377563,299.3]],CS[ellipsoidal,2],AXIS["lat",north],AXIS["lon",east],ANGLEUNIT["degree",0.01745]]],TARGETCRS[GEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563]]]],ABRIDGEDTRANSFORMATION["t",METHOD["u"],PARAMETER["X-axis translation",446.448]]]"#,
    ),
];

impl WktTarget {
    pub(crate) fn new() -> Self {
        Self
    }
}

impl Subject for WktTarget {
    fn name(&self) -> &str {
        "wkt"
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let seed = random.below(TEXTS.len());
        let mut text = TEXTS[seed].1.as_bytes().to_vec();
        for _ in 0..1 + random.below(3) {
            match random.below(4) {
                0 => text = mutate_bytes(&text, random.next_u64()),
                kind => change_node(&mut text, kind, &mut random),
            }
        }
        (seed, text)
    }

    fn try_one(&self, _seed: usize, _number: u64, bytes: &[u8]) -> Outcome {
        let text = String::from_utf8_lossy(bytes);
        let Ok(crs) = Crs::from_user_input(&text) else { return Outcome::refused(true, "refused") };
        // The definition that is kept is one that can be read.
        let again = crs.wkt.as_deref().map(Crs::from_wkt);
        let wrong = match again {
            Some(Err(problem)) => Some(format!("the definition kept is not read: {problem}")),
            _ => None,
        };
        Outcome { wrong, ..Outcome::read() }
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        32 << 20
    }

    fn seed_name(&self, seed: usize) -> String {
        TEXTS[seed].0.to_owned()
    }

    fn seeds(&self) -> usize {
        TEXTS.len()
    }
}

/// Repeats, nests or removes what is between two brackets, or changes a number.
fn change_node(text: &mut Vec<u8>, kind: usize, random: &mut Random) {
    let at: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'[').collect();
    if at.is_empty() {
        return *text = mutate_bytes(text, random.next_u64());
    }
    let open = pick(&at, random);
    let keyword =
        text[..open].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let mut depth = 0_i32;
    let close = text[open..].iter().position(|byte| {
        depth += i32::from(*byte == b'[') - i32::from(*byte == b']');
        depth == 0
    });
    let range = open - keyword..open + close.unwrap_or(0) + 1;
    let node = text[range.clone()].to_vec();
    let times = [1, 3, 60][random.below(3)].min((1 << 16) / node.len().max(1));
    match kind {
        1 => drop(text.splice(range.end..range.end, [b",", &node[..]].concat().repeat(times))),
        2 => {
            let head = [&node[..keyword], b"["].concat();
            let times = times.min(200);
            text.splice(range.end..range.end, b"]".repeat(times));
            text.splice(range.start..range.start, head.repeat(times));
        }
        _ => drop(text.drain(range)),
    }
    text.truncate(1 << 16);
}
