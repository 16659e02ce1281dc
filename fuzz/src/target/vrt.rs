//! Mosaics: damaged texts of VRTs over sources that are whole, opened and read; and such texts inside of others.

use super::{Outcome, Subject, context, folder, kind, sequence};
use crate::mutate::{mutate_xml, pick};
use std::path::PathBuf;
use strile::vrt::{Missing, VrtOptions};
use strile::{ReadOptions, Vrt, Window};
use strile_tiff::{ByteOrder, SampleFormat, SampleType};
use testkit::{ImageSpec, Pattern, Pixels};

/// Which text of a mosaic is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// The one that is opened.
    Outer,
    /// One that is a source of it, several times.
    Nested,
}

/// See the module. The sources are in a folder that goes with it.
pub(crate) struct VrtTarget {
    level: Level,
    seeds: Vec<(&'static str, String)>,
    folder: PathBuf,
}

/// A mosaic of all that a source and a band can have.
const RICH: &str = r#"<VRTDataset rasterXSize="60" rasterYSize="40">
  <SRS dataAxisToSRSAxisMapping="1,2">EPSG:32632</SRS>
  <GeoTransform> 5.0e+05, 1.0e+01, 0.0, 5.0e+06, 0.0, -1.0e+01</GeoTransform>
  <Metadata><MDI key="AREA_OR_POINT">Point</MDI></Metadata>
  <Metadata domain="IMAGE_STRUCTURE"><MDI key="INTERLEAVE">BAND</MDI></Metadata>
  <VRTRasterBand dataType="Int16" band="1" blockXSize="16" blockYSize="16">
    <Description>first &amp; only</Description><NoDataValue>-9999</NoDataValue><ColorInterp>Gray</ColorInterp>
    <UnitType>m</UnitType><Offset>1.5</Offset><Scale>0.25</Scale>
    <ComplexSource>
      <SourceFilename relativeToVRT="1" shared="0">a.tif</SourceFilename><SourceBand>1</SourceBand>
      <SourceProperties RasterXSize="20" RasterYSize="12" DataType="Byte" BlockXSize="20" BlockYSize="5"/>
      <SrcRect xOff="1.5" yOff="0" xSize="10" ySize="8"/><DstRect xOff="3" yOff="2" xSize="25.5" ySize="16"/>
      <NODATA>7</NODATA><ScaleOffset>-3</ScaleOffset><ScaleRatio>1.25</ScaleRatio>
      <LUT>0:1,100:50,255:-20</LUT>
    </ComplexSource>
    <SimpleSource><SourceFilename relativeToVRT="1">b.tif</SourceFilename><SourceBand>mask,1</SourceBand>
      <SrcRect xOff="0" yOff="0" xSize="20" ySize="12"/><DstRect xOff="30" yOff="20" xSize="20" ySize="12"/>
    </SimpleSource>
  </VRTRasterBand>
  <MaskBand><VRTRasterBand dataType="Byte"><SimpleSource>
    <SourceFilename relativeToVRT="1">a.tif</SourceFilename><SourceBand>1</SourceBand>
  </SimpleSource></VRTRasterBand></MaskBand>
</VRTDataset>
"#;

/// Two bands, a palette, names of categories, exponents and ranges of a source, a nested mosaic.
const PLAIN: &str = r#"<VRTDataset rasterXSize="20" rasterYSize="12">
  <VRTRasterBand dataType="Byte" band="1"><ColorTable><Entry c1="1" c2="2" c3="3" c4="255"/></ColorTable>
    <CategoryNames><Category>a</Category><Category/></CategoryNames>
    <SimpleSource><SourceFilename relativeToVRT="1">a.tif</SourceFilename><SourceBand>2</SourceBand></SimpleSource>
  </VRTRasterBand>
  <VRTRasterBand dataType="Byte" band="2"><Metadata domain="IMAGE_STRUCTURE"><MDI key="NBITS">4</MDI></Metadata>
    <NoDataValue>nan</NoDataValue><HideNoDataValue>1</HideNoDataValue>
    <ComplexSource><SourceFilename relativeToVRT="1">gone.tif</SourceFilename><SourceBand>1</SourceBand>
      <Exponent>0.5</Exponent><SrcMin>0</SrcMin><SrcMax>255</SrcMax><DstMin>1</DstMin><DstMax>9</DstMax><Clamp>true</Clamp>
    </ComplexSource>
    <ComplexSource><SourceFilename relativeToVRT="1">sub.vrt</SourceFilename><SourceBand>1</SourceBand>
      <UseMaskBand>true</UseMaskBand></ComplexSource>
  </VRTRasterBand>
</VRTDataset>
"#;

/// Files that a source may name: whole, gone, a nested mosaic, the mutant itself.
const FILES: [&str; 7] = ["a.tif", "b.tif", "gone.tif", "sub.vrt", "many.vrt", "mutant.vrt", "outer.vrt"];
/// Pixels read of a mosaic, whose size is any number.
const PART: u32 = 64;
/// Memory for pixels and scratch.
const BUDGET: u64 = 64 << 20;

/// A mosaic of one source many times.
fn many(source: &str) -> String {
    let source = format!(
        "<SimpleSource><SourceFilename relativeToVRT=\"1\">{source}</SourceFilename><SourceBand>1</SourceBand>\
         <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"20\" ySize=\"12\"/>\
         <DstRect xOff=\"0\" yOff=\"0\" xSize=\"20\" ySize=\"12\"/></SimpleSource>"
    );
    format!(
        "<VRTDataset rasterXSize=\"20\" rasterYSize=\"12\"><VRTRasterBand dataType=\"Byte\" band=\"1\">{}\
         </VRTRasterBand></VRTDataset>",
        source.repeat(6)
    )
}

impl VrtTarget {
    pub(crate) fn new(level: Level) -> Self {
        let folder = folder(&format!("vrt-{level:?}"));
        let uint8 = SampleType { format: SampleFormat::Uint, bits: 8 };
        for (name, seed) in [("a.tif", 1), ("b.tif", 2)] {
            let pixels = Pixels::generate(Pattern::Noise, uint8, [3, 12, 20], seed);
            let built = ImageSpec::new(uint8).build(&pixels, ByteOrder::Little, false);
            std::fs::write(folder.join(name), built.bytes).unwrap();
        }
        for (name, text) in
            [("sub.vrt", RICH.to_owned()), ("many.vrt", many("a.tif")), ("outer.vrt", many("mutant.vrt"))]
        {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let seeds = vec![("rich", RICH.to_owned()), ("plain", PLAIN.to_owned()), ("many", many("many.vrt"))];
        Self { level, seeds, folder }
    }
}

impl Subject for VrtTarget {
    fn name(&self) -> &str {
        match self.level {
            Level::Outer => "vrt",
            Level::Nested => "nested-vrt",
        }
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let (seed, other) = (random.below(self.seeds.len()), random.below(self.seeds.len()));
        let mut bytes =
            mutate_xml(self.seeds[seed].1.as_bytes(), self.seeds[other].1.as_bytes(), &mut random);
        if random.below(3) == 0 {
            let (old, new) = (pick(&FILES, &mut random), pick(&FILES, &mut random));
            let text = String::from_utf8_lossy(&bytes).replacen(old, new, 1 + random.below(3));
            bytes = text.into_bytes();
        }
        (seed, bytes)
    }

    fn try_one(&self, _seed: usize, _number: u64, bytes: &[u8]) -> Outcome {
        let text = String::from_utf8_lossy(bytes);
        let options = VrtOptions::new().missing(Missing::Warn).max_bytes(1 << 20);
        let refused = |error| Outcome::refused(text.contains('<'), kind(&error));
        let opened = match self.level {
            Level::Outer => Vrt::from_text("mutant", &text, &self.folder, &options),
            Level::Nested => {
                std::fs::write(self.folder.join("mutant.vrt"), bytes).unwrap();
                Vrt::open(self.folder.join("outer.vrt"), &options)
            }
        };
        let vrt = match opened {
            Ok(vrt) => vrt,
            Err(error) => return refused(error),
        };
        let window = Window::new(0, 0, vrt.width().min(PART), vrt.height().min(PART));
        match vrt.read(&ReadOptions::new().window(window), &context(BUDGET)) {
            Ok(_) => Outcome::read(),
            Err(error) => refused(error),
        }
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        BUDGET as usize
    }

    fn seed_name(&self, seed: usize) -> String {
        self.seeds[seed].0.to_owned()
    }

    fn seeds(&self) -> usize {
        self.seeds.len()
    }
}

impl Drop for VrtTarget {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.folder);
    }
}
