//! Mosaics: damaged texts of VRTs over sources that are whole, opened and read.

use super::Outcome;
use super::file::{BUDGET, kind};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use strile::{Budget, Context, Missing, ReadOptions, Vrt, VrtOptions, Window};
use strile_tiff::{ByteOrder, SampleFormat, SampleType};
use testkit::{ImageSpec, Pattern, Pixels, Random, mutate_bytes};

/// See the module. The sources are in a folder that goes with it.
pub struct VrtTarget {
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

/// Pixels read of a mosaic, whose size is any number.
const PART: u32 = 64;

impl VrtTarget {
    pub(crate) fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("strile-fuzz-vrt-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let uint8 = SampleType { format: SampleFormat::Uint, bits: 8 };
        for (name, seed) in [("a.tif", 1), ("b.tif", 2)] {
            let pixels = Pixels::generate(Pattern::Noise, uint8, [3, 12, 20], seed);
            let built = ImageSpec::new(uint8).build(&pixels, ByteOrder::Little, false);
            std::fs::write(folder.join(name), built.bytes).unwrap();
        }
        std::fs::write(folder.join("sub.vrt"), RICH).unwrap();
        Self { seeds: vec![("rich", RICH.to_owned()), ("plain", PLAIN.to_owned())], folder }
    }

    pub(crate) fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = Random::new(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let seed = random.below(self.seeds.len());
        let text = self.seeds[seed].1.as_bytes();
        // One in two has a number or a word changed and stays XML.
        let bytes = match random.below(2) {
            0 => mutate_bytes(text, random.next_u64()),
            _ => with_another_value(text, &mut random),
        };
        (seed, bytes)
    }

    pub(crate) fn try_one(&self, bytes: &[u8]) -> Outcome {
        let text = String::from_utf8_lossy(bytes);
        let options = VrtOptions { missing: Missing::Warn, max_bytes: 1 << 20, ..VrtOptions::default() };
        let refused =
            |error| Outcome { reached: text.contains('<'), refused: Some(kind(&error)), wrong: None };
        let vrt = match Vrt::from_text("mutant", &text, &self.folder, &options) {
            Ok(vrt) => vrt,
            Err(error) => return refused(error),
        };
        let context = Context {
            budget: Arc::new(Budget::new(BUDGET)),
            threads: NonZeroUsize::MIN,
            ..Context::default()
        };
        let window = Window { x: 0, y: 0, width: vrt.width().min(PART), height: vrt.height().min(PART) };
        match vrt.read(&ReadOptions { window: Some(window), ..ReadOptions::default() }, &context) {
            Ok(_) => Outcome { reached: true, refused: None, wrong: None },
            Err(error) => refused(error),
        }
    }

    pub(crate) fn seed_name(&self, seed: usize) -> String {
        self.seeds[seed].0.to_owned()
    }

    pub(crate) fn seeds(&self) -> usize {
        self.seeds.len()
    }
}

impl Drop for VrtTarget {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.folder);
    }
}

/// The text with one to three of its numbers replaced by others.
fn with_another_value(text: &[u8], random: &mut Random) -> Vec<u8> {
    const VALUES: [&str; 20] = [
        "0",
        "1",
        "-1",
        "2",
        "0.5",
        "1e-300",
        "1e300",
        "-1e18",
        "nan",
        "inf",
        "4294967295",
        "4294967296",
        "2147483647",
        "65536",
        "18446744073709551615",
        "",
        "1e",
        "..",
        "Float64",
        "99999999999999999999999",
    ];
    let mut text = text.to_vec();
    for _ in 0..=random.below(3) {
        let starts: Vec<usize> = (1..text.len())
            .filter(|&at| text[at].is_ascii_digit() && !text[at - 1].is_ascii_alphanumeric())
            .collect();
        if starts.is_empty() {
            break;
        }
        let start = starts[random.below(starts.len())];
        let len = text[start..].iter().take_while(|byte| b"0123456789.e+-".contains(byte)).count();
        text.splice(start..start + len, VALUES[random.below(VALUES.len())].bytes());
    }
    text
}
