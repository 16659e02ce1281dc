//! The files that every engine must read, and their expected pixels.
//!
//! Names are stable and describe the contents: `deflate_p3_f32_tile_planar_be_big`. `le`/`be` is the byte order, `big`
//! BigTIFF. Sizes are odd, so that edge blocks are partial.

mod bytes;
mod depths;
mod pictures;
mod structure;

use crate::builder::Built;
use crate::encode::Codec;
use crate::image::{Grid, ImageSpec};
use crate::pixels::{Pattern, Pixels};
use strile_tiff::{ByteOrder, DataType, Predictor, SampleFormat, SampleType};

/// Permitted difference from the expected pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// Bit for bit.
    Exact,
    /// Largest and mean absolute difference of samples.
    Within {
        /// Largest difference of one sample.
        max: f64,
        /// Mean over all samples.
        mean: f64,
    },
}

impl Tolerance {
    /// Compares pixels; the error describes the difference and its first position.
    pub fn check(self, expected: &Pixels, found: &Pixels) -> Result<(), String> {
        let facts = |p: &Pixels| (p.data_type, p.bands, p.height, p.width);
        if facts(expected) != facts(found) {
            return Err(format!("{:?} found, {:?} expected", facts(found), facts(expected)));
        }
        let (limit, mean_limit) = match self {
            Self::Exact => (0.0, 0.0),
            Self::Within { max, mean } => (max, mean),
        };
        let size = expected.data_type.size();
        let mut sum = 0.0;
        for (i, (want, got)) in expected.bytes.chunks(size).zip(found.bytes.chunks(size)).enumerate() {
            if want == got {
                continue;
            }
            let (want, got) =
                (crate::to_f64(want, expected.data_type), crate::to_f64(got, expected.data_type));
            let difference = (want - got).abs();
            if self == Self::Exact || difference.is_nan() || difference > limit {
                let (x, y) = (i % expected.width, i / expected.width % expected.height);
                let band = i / expected.width / expected.height;
                return Err(format!("band {band} row {y} column {x}: {got} found, {want} expected"));
            }
            sum += difference;
        }
        let mean = sum / (expected.bytes.len() / size) as f64;
        if mean > mean_limit {
            return Err(format!("mean difference {mean}, at most {mean_limit} expected"));
        }
        Ok(())
    }
}

/// A file and its expected contents.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// Stable and readable.
    pub name: String,
    /// The file and the positions of its parts.
    pub built: Built,
    /// Stored samples of the first image.
    pub expected: Pixels,
    /// Permitted difference.
    pub tolerance: Tolerance,
    /// Expected overviews, the largest first.
    pub overviews: Vec<Pixels>,
    /// Expected stored samples of the internal mask (1 valid), one band.
    pub mask: Option<Pixels>,
    /// Expected further pages of the chain.
    pub pages: Vec<Pixels>,
    /// GDAL_NODATA.
    pub nodata: Option<&'static str>,
}

impl Fixture {
    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.built.bytes
    }

    fn new(name: impl Into<String>, built: Built, expected: Pixels) -> Self {
        Self {
            name: name.into(),
            built,
            expected,
            tolerance: Tolerance::Exact,
            overviews: Vec::new(),
            mask: None,
            pages: Vec::new(),
            nodata: None,
        }
    }

    fn within(mut self, max: f64, mean: f64) -> Self {
        self.tolerance = Tolerance::Within { max, mean };
        self
    }
}

/// Returns every fixture, with unique names, in a fixed order.
pub fn fixtures() -> Vec<Fixture> {
    let mut all = bytes::fixtures();
    all.extend(depths::fixtures());
    all.extend(pictures::fixtures());
    all.extend(structure::fixtures());
    all
}

/// Byte order and file format, used in turn.
const FRAMES: [(ByteOrder, bool); 4] =
    [(ByteOrder::Little, false), (ByteOrder::Big, true), (ByteOrder::Little, true), (ByteOrder::Big, false)];

const fn uint(bits: u16) -> SampleType {
    SampleType { format: SampleFormat::Uint, bits }
}

const fn int(bits: u16) -> SampleType {
    SampleType { format: SampleFormat::Int, bits }
}

const fn float(bits: u16) -> SampleType {
    SampleType { format: SampleFormat::Float, bits }
}

fn type_name(sample: SampleType) -> String {
    let letter = match sample.format {
        SampleFormat::Uint => "u",
        SampleFormat::Int => "i",
        SampleFormat::Float => "f",
        SampleFormat::ComplexInt => "ci",
        SampleFormat::ComplexFloat => "cf",
    };
    format!("{letter}{}", sample.bits)
}

fn codec_name(codec: &Codec) -> &'static str {
    match codec {
        Codec::None => "none",
        Codec::PackBits => "packbits",
        Codec::Lzw => "lzw",
        Codec::OldLzw => "oldlzw",
        Codec::Deflate => "deflate",
        Codec::OldDeflate => "deflate32946",
        Codec::Zstd => "zstd",
        Codec::ZstdFrames => "zstdframes",
        Codec::Lz4 => "lz4",
        Codec::Lzma => "lzma",
        Codec::Lerc { wrapper: strile_tiff::LercWrapper::None, .. } => "lerc",
        Codec::Lerc { wrapper: strile_tiff::LercWrapper::Deflate, .. } => "lercdeflate",
        Codec::Lerc { wrapper: strile_tiff::LercWrapper::Zstd, .. } => "lerczstd",
        Codec::Jpeg(_) => "jpeg",
        Codec::WebP => "webp",
        Codec::Png => "png",
        Codec::JpegXl(50002) => "jxl",
        Codec::JpegXl(_) => "jxl52546",
        Codec::CcittRle => "ccittrle",
        Codec::CcittRleWord => "ccittrlew",
        Codec::CcittGroup3 { two_dimensional: false, byte_aligned: false } => "ccittfax3",
        Codec::CcittGroup3 { two_dimensional: true, byte_aligned: false } => "ccittfax3x2d",
        Codec::CcittGroup3 { two_dimensional: false, byte_aligned: true } => "ccittfax3aligned",
        Codec::CcittGroup3 { two_dimensional: true, byte_aligned: true } => "ccittfax3x2daligned",
        Codec::CcittGroup4 => "ccittfax4",
        Codec::Next => "next",
        Codec::ThunderScan => "thunderscan",
        Codec::Streams { .. } => "streams",
    }
}

/// Returns the name of a plain image in a frame.
fn name_of(spec: &ImageSpec, (order, big): (ByteOrder, bool)) -> String {
    let predictor = match spec.predictor {
        Predictor::None => "",
        Predictor::Horizontal => "_p2",
        Predictor::FloatingPoint => "_p3",
    };
    format!(
        "{}{predictor}_{}_{}{}{}{}{}",
        codec_name(&spec.codec),
        type_name(spec.sample),
        if matches!(spec.grid, Grid::Tiles(..)) { "tile" } else { "strip" },
        if spec.planar { "_planar" } else { "" },
        if spec.reverse_bits { "_fill2" } else { "" },
        if order == ByteOrder::Big { "_be" } else { "_le" },
        if big { "_big" } else { "" },
    )
}

/// Returns the pattern that suits a stored type.
fn pattern_for(sample: SampleType) -> Pattern {
    match (sample.format, sample.bits) {
        (SampleFormat::Float, _) => Pattern::Dem,
        (_, 8 | 16) => Pattern::Noise,
        _ => Pattern::Bits,
    }
}

/// Returns a file of one image under its own name.
fn plain(spec: &ImageSpec, pixels: Pixels, frame: (ByteOrder, bool)) -> Fixture {
    Fixture::new(name_of(spec, frame), spec.build(&pixels, frame.0, frame.1), pixels)
}

/// Fills the blocks that a spec omits with one sample, as a reader must.
fn filled(spec: &ImageSpec, pixels: &Pixels, fill: &[u8]) -> Pixels {
    let (across, down, _) = spec.block_counts(pixels);
    let (width, height) = match spec.grid {
        Grid::Strips(rows) => (pixels.width, rows as usize),
        Grid::Tiles(w, h) => (w as usize, h as usize),
    };
    let mut out = pixels.clone();
    for &index in &spec.sparse {
        let (plane, row, column) = (index / (across * down), index / across % down, index % across);
        let bands = if spec.planar { plane..plane + 1 } else { 0..pixels.bands };
        for band in bands {
            for y in row * height..((row + 1) * height).min(pixels.height) {
                for x in column * width..((column + 1) * width).min(pixels.width) {
                    out.sample_mut(band, y, x).copy_from_slice(fill);
                }
            }
        }
    }
    out
}

/// Returns a one-band raster of 0 and 1 in patches.
fn patches(height: usize, width: usize, seed: usize) -> Pixels {
    let mut pixels = Pixels::zeroed(DataType::U8, 1, height, width);
    for y in 0..height {
        for x in 0..width {
            let inside = (x / 5 + y / 4 + seed).is_multiple_of(3) || (x * y + seed) % 29 == 3;
            pixels.sample_mut(0, y, x)[0] = u8::from(inside);
        }
    }
    pixels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_pixels_are_not_dull() {
        let all = fixtures();
        let names: std::collections::BTreeSet<&str> = all.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() > 300, "{}", all.len());
        for fixture in &all {
            let first = fixture.expected.sample(0, 0, 0);
            let size = fixture.expected.data_type.size();
            let dull = fixture.expected.bytes.chunks(size).all(|s| s == first);
            assert!(!dull || fixture.expected.bytes.len() == size, "{}", fixture.name);
        }
    }

    #[test]
    fn every_compression_that_can_be_decoded_has_a_fixture() {
        let all = fixtures();
        let codes: std::collections::BTreeSet<u16> = all
            .iter()
            .filter_map(|f| {
                let (order, big) = (f.bytes()[0] == b'I', f.bytes()[2] == 43 || f.bytes()[3] == 43);
                let order = if order { ByteOrder::Little } else { ByteOrder::Big };
                let (count, entry, value) = if big { (8, 20, 12) } else { (2, 12, 8) };
                let directory = &f.bytes()[f.built.directories[0].clone()];
                directory[count..]
                    .chunks(entry)
                    .find_map(|e| (order.u16(e, 0)? == 259).then(|| order.u16(e, value))?)
            })
            .collect();
        for code in
            [1, 2, 3, 4, 5, 7, 8, 32766, 32771, 32773, 32809, 32946, 33005, 34712, 34887, 34925, 34933]
        {
            assert!(codes.contains(&code), "no fixture with compression {code}");
        }
        for code in [50000, 50001, 50002, 50004, 52546] {
            assert!(codes.contains(&code), "no fixture with compression {code}");
        }
    }

    #[test]
    fn a_tolerance_names_the_first_difference() {
        let expected = Pixels::generate(Pattern::Noise, uint(8), [1, 3, 4], 1);
        let mut found = expected.clone();
        let old = found.sample(0, 2, 1)[0];
        found.sample_mut(0, 2, 1)[0] = old ^ 4;
        let message = Tolerance::Exact.check(&expected, &found).unwrap_err();
        assert!(message.starts_with("band 0 row 2 column 1: "), "{message}");
        assert!(Tolerance::Within { max: 4.0, mean: 1.0 }.check(&expected, &found).is_ok());
    }
}
