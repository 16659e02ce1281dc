//! Files with a `.aux.xml` and overviews beside them: whole files, damaged sidecars.

use super::file::{Seeds, too_much_held};
use super::text::PAM;
use super::{Outcome, Subject, context, kind, sequence};
use crate::mutate::{mutate_tiff, mutate_xml};
use std::sync::Arc;
use strile::io::MemorySource;
use strile::read::OnFault;
use strile::{Dataset, OpenOptions, ReadOptions};
use testkit::{Fixture, allocator};

/// See the module.
pub(crate) struct SidecarTarget {
    files: Seeds,
    texts: Vec<(&'static str, String)>,
}

/// Every element that GDAL writes, many of them several times.
const RICH: &str = r#"<PAMDataset>
  <SRS dataAxisToSRSAxisMapping="1,2">PROJCS["a",GEOGCS["b",DATUM["c",SPHEROID["d",6378137,298.25]],PRIMEM["e",0],UNIT["f",0.0174]],PROJECTION["Transverse_Mercator"],PARAMETER["central_meridian",9],UNIT["metre",1]]</SRS>
  <GeoTransform> 4.0e+05, 1.0e+01, 0.5, 5.0e+06, 0.25, -1.0e+01</GeoTransform>
  <GCPList Projection="EPSG:4326"><GCP Id="1" Info="a" Pixel="0" Line="0" X="7" Y="45" Z="0"/><GCP Id="2" Pixel="9" Line="0" X="8" Y="45"/><GCP Id="3" Pixel="0" Line="9" X="7" Y="44" Z="1e9"/></GCPList>
  <Metadata><MDI key="AREA_OR_POINT">Point</MDI><MDI key="a">b</MDI></Metadata>
  <Metadata domain="GEOLOCATION"><MDI key="X_BAND">1</MDI></Metadata>
  <Metadata domain="xml:XMP" format="xml"><x:xmpmeta xmlns:x="adobe:ns:meta/"/></Metadata>
  <PAMRasterBand band="1"><Description>first</Description><NoDataValue>-9999</NoDataValue>
    <CategoryNames><Category>a</Category><Category>b</Category></CategoryNames>
    <ColorTable><Entry c1="1" c2="2" c3="3" c4="255"/><Entry c1="4" c2="5" c3="6" c4="0"/></ColorTable>
    <GDALRasterAttributeTable tableType="thematic"><FieldDefn index="0"><Name>Value</Name><Type typeAsString="Integer">0</Type><Usage usageAsString="MinMax">5</Usage></FieldDefn><FieldDefn index="1"><Name>Name</Name><Type>2</Type><Usage>2</Usage></FieldDefn><Row index="0"><F>1</F><F>water</F></Row><Row index="1"><F>2</F><F>land</F></Row></GDALRasterAttributeTable>
    <Histograms><HistItem><HistMin>0</HistMin><HistMax>9</HistMax><BucketCount>3</BucketCount><IncludeOutOfRange>0</IncludeOutOfRange><Approximate>1</Approximate><HistCounts>1|2|3</HistCounts></HistItem></Histograms>
    <Metadata><MDI key="STATISTICS_MINIMUM">0</MDI><MDI key="STATISTICS_MAXIMUM">9</MDI></Metadata>
  </PAMRasterBand>
  <PAMRasterBand band="2"><NoDataValue>nan</NoDataValue><Scale>0.1</Scale><Offset>-3</Offset><UnitType>m</UnitType></PAMRasterBand>
  <PAMRasterBand band="65535"><ColorInterp>Alpha</ColorInterp></PAMRasterBand>
</PAMDataset>
"#;

impl SidecarTarget {
    pub(crate) fn new(fixtures: &[Fixture]) -> Self {
        let files = Seeds::new(fixtures);
        Self { files, texts: vec![("pam", PAM.to_owned()), ("rich", RICH.to_owned())] }
    }
}

impl Subject for SidecarTarget {
    fn name(&self) -> &str {
        "sidecar"
    }

    /// The text, and for one mutant of four an overview file after a NUL.
    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let (seed, other) = (random.below(self.texts.len()), random.below(self.texts.len()));
        let text = mutate_xml(self.texts[seed].1.as_bytes(), self.texts[other].1.as_bytes(), &mut random);
        let mut bytes: Vec<u8> = text.into_iter().filter(|&byte| byte != 0).collect();
        if random.below(4) == 0 {
            let [file, other] = [0; 2].map(|_| &self.files.get(self.files.draw(4, &mut random)).bytes);
            bytes.push(0);
            bytes.extend(mutate_tiff(file, other, &mut random));
        }
        (seed, bytes)
    }

    fn try_one(&self, _seed: usize, number: u64, bytes: &[u8]) -> Outcome {
        let file = self.files.good(&mut sequence(number));
        let (text, overviews) = match bytes.iter().position(|&byte| byte == 0) {
            Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
            None => (bytes, None),
        };
        let source = |name: &str, bytes: &[u8]| Arc::new(MemorySource::new(name, bytes.to_vec()));
        let overviews = overviews.map(|bytes| source("mutant.ovr", bytes) as Arc<dyn strile::io::Source>);
        let text = String::from_utf8_lossy(text).into_owned();
        let before = allocator::taken();
        let opened = Dataset::from_sources(
            source("seed", &file.bytes),
            overviews,
            Some(text),
            &OpenOptions::default(),
        );
        let dataset = match opened {
            Ok(dataset) => dataset,
            // A bad sidecar beside a good file is a warning.
            Err(error) => {
                let wrong = Some(format!("a sidecar made the file unreadable: {error}"));
                return Outcome { wrong, ..Outcome::refused(true, kind(&error)) };
            }
        };
        let held = allocator::taken().saturating_sub(before);
        let warned = !dataset.warnings().is_empty();
        let mut outcome = if warned { Outcome::refused(true, "warned") } else { Outcome::read() };
        if number.is_multiple_of(16) && dataset.pages().first().is_some_and(|page| page.levels.len() > 1) {
            let options = ReadOptions::new().level(1).on_fault(OnFault::Fill);
            if let Err(error) = dataset.read(&options, &context(8 << 20)) {
                outcome.refused = Some(kind(&error));
            }
        }
        outcome.held = held;
        outcome.wrong = too_much_held(&dataset, held);
        outcome
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        64 << 20
    }

    fn seed_name(&self, seed: usize) -> String {
        self.texts[seed].0.to_owned()
    }

    fn seeds(&self) -> usize {
        self.texts.len()
    }
}
