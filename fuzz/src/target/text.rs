//! Texts in tags and beside files: GDAL's metadata, PAM, nodata and world files.

use super::Outcome;
use strile_tiff::gdal::{Metadata, NoData, pam, world_file};
use testkit::{Random, mutate_bytes};

/// See the module.
pub struct TextTarget {
    seeds: Vec<(&'static str, &'static str)>,
}

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
        let seeds = vec![
            ("metadata", METADATA),
            ("pam", PAM),
            ("nodata", "-3.4028234663852886e+38"),
            ("world_file", "10.0\n0.0\n0.0\n-10.0\n400005.0\n4999995.0\n"),
        ];
        Self { seeds }
    }

    pub(crate) fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = Random::new(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let seed = random.below(self.seeds.len());
        (seed, mutate_bytes(self.seeds[seed].1.as_bytes(), random.next_u64()))
    }

    pub(crate) fn try_one(&self, seed: usize, bytes: &[u8]) -> Outcome {
        let text = String::from_utf8_lossy(bytes);
        let mut warnings = Vec::new();
        match self.seeds[seed].0 {
            "metadata" => {
                let items = Metadata::parse(&text, &mut warnings);
                items.bands(3, &mut warnings);
                items.rpc(&mut warnings);
            }
            "pam" => drop(pam::Pam::parse(&text, &mut warnings)),
            "nodata" => drop(NoData::parse(&text, &mut warnings)),
            _ => drop(world_file::parse(&text, &mut warnings)),
        }
        let refused = if warnings.is_empty() { None } else { Some("warned") };
        Outcome { reached: true, refused, wrong: None }
    }

    pub(crate) fn seed_name(&self, seed: usize) -> String {
        self.seeds[seed].0.to_owned()
    }

    pub(crate) fn seeds(&self) -> usize {
        self.seeds.len()
    }
}
