//! Texts and keys in tags and beside files: GDAL's metadata, PAM, nodata, world files, and GeoKeys of systems
//! that the file defines itself.

use super::Outcome;
use strile_tiff::Tag;
use strile_tiff::gdal::{Metadata, NoData, pam, world_file};
use strile_tiff::geo::{GeoTags, Georeference, USER_DEFINED, key};
use testkit::{Random, mutate_bytes};

/// See the module.
pub struct TextTarget {
    seeds: Vec<(String, Vec<u8>)>,
}

/// Every parameter a method of projection may have, in order of its key.
const PARAMETERS: [f64; 19] = [
    40.0, 60.0, 9.0, 30.0, 5e5, 1e5, 9.5, 31.0, 4e5, 2e5, 10.0, 32.0, 3e5, 3e4, 0.9996, 0.9, 45.0, 11.0, 12.0,
];
const ASCII: &[u8] = b"a system|a datum|an ellipsoid|a meridian|";

const METADATA: &str = "<GDALMetadata>\n  <Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.01</Item>\n  \
    <Item name=\"OFFSET\" sample=\"0\" role=\"offset\">-5</Item>\n  \
    <Item name=\"DESCRIPTION\" sample=\"1\" role=\"description\">a &amp; b &#xE9; <![CDATA[<c>]]></Item>\n  \
    <Item name=\"STATISTICS_MAXIMUM\" sample=\"0\">4808.5</Item>\n  <!-- note -->\n  \
    <Item name=\"LINE_OFF\" domain=\"RPC\">100</Item>\n</GDALMetadata>\n";
const PAM: &str = "<PAMDataset>\n  <SRS dataAxisToSRSAxisMapping=\"2,1\">EPSG:32632</SRS>\n  \
    <GeoTransform> 4.0e+05, 1.0e+01, 0.0, 5.0e+06, 0.0, -1.0e+01</GeoTransform>\n  \
    <Metadata domain=\"RPC\"><MDI key=\"LINE_OFF\">1</MDI></Metadata>\n  \
    <GCPList Projection=\"EPSG:4326\"><GCP Id=\"1\" Pixel=\"0\" Line=\"0\" X=\"7\" Y=\"45\" Z=\"0\"/></GCPList>\n  \
    <PAMRasterBand band=\"1\">\n    <Description>dem</Description><NoDataValue le_hex_equiv=\"0\">-9999</NoDataValue>\n    \
    <UnitType>m</UnitType><Offset>1</Offset><Scale>2</Scale><ColorInterp>Gray</ColorInterp>\n    \
    <CategoryNames><Category>a</Category></CategoryNames>\n    \
    <Metadata><MDI key=\"STATISTICS_MEAN\">12.5</MDI></Metadata>\n  </PAMRasterBand>\n</PAMDataset>\n";

impl TextTarget {
    pub(crate) fn new() -> Self {
        let texts = [
            ("metadata", METADATA),
            ("pam", PAM),
            ("nodata", "-3.4028234663852886e+38"),
            ("world_file", "10.0\n0.0\n0.0\n-10.0\n400005.0\n4999995.0\n"),
        ];
        let mut seeds: Vec<_> = texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into();
        seeds.extend((1..=28).map(|method| (format!("geo{method}"), user_defined(method))));
        Self { seeds }
    }

    pub(crate) fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = Random::new(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let seed = random.below(self.seeds.len());
        (seed, mutate_bytes(&self.seeds[seed].1, random.next_u64()))
    }

    pub(crate) fn try_one(&self, seed: usize, bytes: &[u8]) -> Outcome {
        let text = String::from_utf8_lossy(bytes);
        let mut warnings = strile_tiff::Warnings::new();
        match self.seeds[seed].0.as_str() {
            "metadata" => {
                let items = Metadata::parse(&text, &mut warnings);
                items.bands(3, &mut warnings);
                items.rpc(&mut warnings);
            }
            "pam" => drop(pam::Pam::parse(&text, &mut warnings)),
            "nodata" => drop(NoData::parse(&text, &mut warnings)),
            "world_file" => drop(world_file::parse(&text, &mut warnings)),
            _ => {
                let keys: Vec<u16> = bytes.as_chunks().0.iter().map(|&b| u16::from_le_bytes(b)).collect();
                let tags = GeoTags {
                    key_directory: Some(&keys),
                    double_params: Some(&PARAMETERS),
                    ascii_params: Some(ASCII),
                    pixel_scale: Some(&[10.0, 10.0, 0.0]),
                    tiepoints: Some(&[0.0, 0.0, 0.0, 4e5, 5e6, 0.0]),
                    transformation: None,
                    rpc: None,
                };
                drop(Georeference::from_tags(&tags, &mut warnings));
            }
        }
        let refused = if warnings.is_empty() { None } else { Some("warned") };
        Outcome { reached: true, refused, wrong: None }
    }

    pub(crate) fn seed_name(&self, seed: usize) -> String {
        self.seeds[seed].0.clone()
    }

    pub(crate) fn seeds(&self) -> usize {
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
