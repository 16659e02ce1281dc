//! Texts in tags and beside files, each its own target: GDAL's metadata, `.aux.xml`, and short ones (nodata, world files,
//! RPC files).

use super::{Outcome, Subject, sequence};
use crate::mutate::mutate_xml;
use strile_tiff::gdal::{Metadata, NoData, pam, world_file};
use strile_tiff::geo::Rpc;
use testkit::mutate_bytes;

/// See the module.
pub(crate) struct TextTarget {
    name: &'static str,
    seeds: Vec<(&'static str, String)>,
}

const METADATA: &str = "<GDALMetadata>\n  <Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.01</Item>\n  \
    <Item name=\"OFFSET\" sample=\"0\" role=\"offset\">-5</Item>\n  \
    <Item name=\"DESCRIPTION\" sample=\"1\" role=\"description\">a &amp; b &#xE9; <![CDATA[<c>]]></Item>\n  \
    <Item name=\"UNITTYPE\" sample=\"2\" role=\"unittype\">m</Item>\n  \
    <Item name=\"STATISTICS_MAXIMUM\" sample=\"0\">4808.5</Item>\n  <!-- note -->\n  \
    <Item name=\"STATISTICS_MINIMUM\" sample=\"0\">-1e3</Item>\n  \
    <Item name=\"LINE_OFF\" domain=\"RPC\">100</Item>\n</GDALMetadata>\n";
const RPC: &str = "<GDALMetadata><Item name=\"LINE_OFF\" domain=\"RPC\">1</Item><Item name=\"SAMP_OFF\" domain=\"RPC\">1</Item>\
    <Item name=\"LAT_OFF\" domain=\"RPC\">1</Item><Item name=\"LONG_OFF\" domain=\"RPC\">1</Item><Item name=\"HEIGHT_OFF\" domain=\"RPC\">1</Item>\
    <Item name=\"LINE_SCALE\" domain=\"RPC\">1</Item><Item name=\"SAMP_SCALE\" domain=\"RPC\">1</Item><Item name=\"LAT_SCALE\" domain=\"RPC\">1</Item>\
    <Item name=\"LONG_SCALE\" domain=\"RPC\">1</Item><Item name=\"HEIGHT_SCALE\" domain=\"RPC\">1</Item>\
    <Item name=\"LINE_NUM_COEFF\" domain=\"RPC\">1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20</Item>\
    <Item name=\"LINE_DEN_COEFF\" domain=\"RPC\">1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20</Item>\
    <Item name=\"SAMP_NUM_COEFF\" domain=\"RPC\">1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20</Item>\
    <Item name=\"SAMP_DEN_COEFF\" domain=\"RPC\">1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20</Item></GDALMetadata>";
pub(super) const PAM: &str = "<PAMDataset>\n  <SRS dataAxisToSRSAxisMapping=\"2,1\">EPSG:32632</SRS>\n  \
    <GeoTransform> 4.0e+05, 1.0e+01, 0.0, 5.0e+06, 0.0, -1.0e+01</GeoTransform>\n  \
    <Metadata domain=\"RPC\"><MDI key=\"LINE_OFF\">1</MDI></Metadata>\n  \
    <GCPList Projection=\"EPSG:4326\"><GCP Id=\"1\" Pixel=\"0\" Line=\"0\" X=\"7\" Y=\"45\" Z=\"0\"/></GCPList>\n  \
    <PAMRasterBand band=\"1\">\n    <Description>dem</Description><NoDataValue le_hex_equiv=\"0\">-9999</NoDataValue>\n    \
    <UnitType>m</UnitType><Offset>1</Offset><Scale>2</Scale><ColorInterp>Gray</ColorInterp>\n    \
    <CategoryNames><Category>a</Category></CategoryNames>\n    \
    <Metadata><MDI key=\"STATISTICS_MEAN\">12.5</MDI></Metadata>\n  </PAMRasterBand>\n</PAMDataset>\n";
const RPB: &str = "satId = \"QB02\";\nBEGIN_GROUP = IMAGE\n\terrBias = 0.0;\n\tlineOffset = 100;\n\tsampOffset = 1;\n\
    \tlatOffset = 1.5;\n\tlineNumCoef = (\n\t1.0,\n\t2.0E-3);\nEND_GROUP = IMAGE\nEND;\n";
const RPC_TXT: &str =
    "LINE_OFF: 1.5 pixels\nSAMP_OFF: 2\nLAT_OFF: 3 degrees\nLINE_NUM_COEFF_1: 1\nLINE_NUM_COEFF_2: 2\n";

/// More warnings than these are too many for a text of 64 KiB.
const MOST_WARNINGS: usize = 5000;

impl TextTarget {
    pub(crate) fn all() -> Vec<Self> {
        let owned =
            |seeds: &[(&'static str, &str)]| seeds.iter().map(|(n, text)| (*n, (*text).to_owned())).collect();
        let short = [
            ("nodata", "-3.4028234663852886e+38"),
            ("world_file", "10.0\n0.0\n0.0\n-10.0\n400005.0\n4999995.0\n"),
            ("rpb", RPB),
            ("rpc_txt", RPC_TXT),
        ];
        vec![
            Self { name: "metadata", seeds: owned(&[("items", METADATA), ("rpc", RPC)]) },
            Self { name: "pam", seeds: owned(&[("pam", PAM)]) },
            Self { name: "text", seeds: owned(&short) },
        ]
    }
}

impl Subject for TextTarget {
    fn name(&self) -> &str {
        self.name
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let (seed, other) = (random.below(self.seeds.len()), random.below(self.seeds.len()));
        let (text, other) = (self.seeds[seed].1.as_bytes(), self.seeds[other].1.as_bytes());
        let bytes = match self.name {
            "text" => mutate_bytes(text, random.next_u64()),
            _ => mutate_xml(text, other, &mut random),
        };
        (seed, bytes)
    }

    fn try_one(&self, seed: usize, _number: u64, bytes: &[u8]) -> Outcome {
        let text = String::from_utf8_lossy(bytes);
        let mut warnings = strile_tiff::Warnings::new();
        match (self.name, self.seeds[seed].0) {
            ("metadata", _) => {
                let items = Metadata::parse(&text, &mut warnings);
                items.bands(3, &mut warnings);
                items.rpc(&mut warnings);
            }
            ("pam", _) => drop(pam::Pam::parse(&text, &mut warnings)),
            (_, "nodata") => drop(NoData::parse(&text, &mut warnings)),
            (_, "rpb") => drop(Rpc::from_rpb(&text, &mut warnings)),
            (_, "rpc_txt") => drop(Rpc::from_text(&text, &mut warnings)),
            _ => drop(world_file::parse(&text, &mut warnings)),
        }
        let mut outcome =
            if warnings.is_empty() { Outcome::read() } else { Outcome::refused(true, "warned") };
        if warnings.len() > MOST_WARNINGS {
            outcome.wrong = Some(format!("{} warnings, {MOST_WARNINGS} is the limit", warnings.len()));
        }
        outcome
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        32 << 20
    }

    fn seed_name(&self, seed: usize) -> String {
        self.seeds[seed].0.to_owned()
    }

    fn seeds(&self) -> usize {
        self.seeds.len()
    }
}
