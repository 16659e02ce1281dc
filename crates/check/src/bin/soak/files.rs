//! The files of a soak run and their expected pixels.
//!
//! Every fixture of the tests, larger images of every codec and layout, and TIFFs of folders that the caller names. A
//! file is only used if the CPU engine initially reads all of it as the fixture expects; lossy files, and those from a
//! folder, must give the same pixels in every later read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile::tiff::Predictor;
use strile::tiff::{ByteOrder, LercWrapper, SampleFormat, SampleType};
use strile::{Context, Dataset, Processor, ReadOptions};
use testkit::{Codec, Grid, ImageSpec, JpegOptions, Pattern, Pixels, Tolerance, fixtures};

/// A file and its pixels, band by band.
pub struct File {
    pub path: PathBuf,
    /// Dataset that stays open from the start; other reads reopen the file.
    pub dataset: Arc<Dataset>,
    pub pixels: Pixels,
    /// Whether the file was made here: it has a plain type, so it can be written and converted too.
    pub large: bool,
    codec: &'static str,
}

/// Not a multiple of a block.
const SIZE: [usize; 2] = [1111, 1530];
/// Maximum bytes of an image of a folder, and of all of them together.
const LARGEST: usize = 8 << 20;
const ALL: usize = 512 << 20;

/// Makes the files in a folder, and adds those of other folders.
pub fn make(folder: &Path, others: &[PathBuf]) -> Vec<File> {
    let mut files = Vec::new();
    for fixture in fixtures() {
        let path = folder.join(format!("{}.tif", fixture.name));
        std::fs::write(&path, fixture.bytes()).unwrap();
        let Some(mut file) = File::open(path, false) else { continue };
        if fixture.tolerance.check(&fixture.expected, &file.pixels).is_ok() {
            if fixture.tolerance == Tolerance::Exact {
                file.pixels = fixture.expected;
            }
            files.push(file);
        }
    }
    for (name, spec, pixels) in large() {
        let path = folder.join(format!("large_{name}.tif"));
        std::fs::write(&path, spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
        let file = File::open(path, true).unwrap_or_else(|| panic!("{name} cannot be read"));
        let lossy = matches!(spec.codec, Codec::Jpeg(_));
        assert!(lossy || file.pixels == pixels, "{name}: the first read is wrong");
        files.push(file);
    }
    let mut held: usize = files.iter().map(|file| file.pixels.bytes.len()).sum();
    let mut paths = Vec::new();
    others.iter().for_each(|folder| collect(folder, &mut paths));
    paths.sort();
    for path in paths {
        if held > ALL {
            break;
        }
        if let Some(file) = File::open(path, false).filter(|file| file.pixels.bytes.len() <= LARGEST) {
            held += file.pixels.bytes.len();
            files.push(file);
        }
    }
    files
}

/// Returns the names of the codecs among files.
pub fn codecs(files: &[File]) -> Vec<&'static str> {
    files.iter().map(|file| file.codec).collect::<BTreeSet<_>>().into_iter().collect()
}

impl File {
    fn open(path: PathBuf, large: bool) -> Option<Self> {
        let dataset = Arc::new(Dataset::open(&path).ok()?);
        let codec = dataset.pages().first()?.levels.first()?.image.compression.name();
        let options = ReadOptions::new().decode_on(Processor::Cpu);
        let raster = dataset.read(&options, &Context::default()).ok()?;
        let pixels = Pixels {
            bands: raster.bands as usize,
            height: raster.rows as usize,
            width: raster.columns as usize,
            data_type: raster.data_type,
            bytes: raster.into_bytes().ok()?,
        };
        Some(Self { path, dataset, pixels, large, codec })
    }
}

/// Returns larger images: every codec, tiles and strips, interleaved and separate planes, three types.
fn large() -> Vec<(String, ImageSpec, Pixels)> {
    let lerc = Codec::Lerc { wrapper: LercWrapper::None, max_error: 0.0 };
    let codecs = [
        ("none", Codec::None),
        ("packbits", Codec::PackBits),
        ("lzw", Codec::Lzw),
        ("deflate", Codec::Deflate),
        ("zstd", Codec::Zstd),
        ("lz4", Codec::Lz4),
        ("lzma", Codec::Lzma),
        ("lerc", lerc),
    ];
    let types = [(SampleFormat::Uint, 8), (SampleFormat::Uint, 16), (SampleFormat::Float, 32)];
    let mut all = Vec::new();
    for (number, (name, codec)) in codecs.into_iter().enumerate() {
        for (turn, (format, bits)) in types.into_iter().enumerate() {
            let sample = SampleType { format, bits };
            let strips = (number + turn) % 3 == 2;
            let bands = [1, 3, 2][turn];
            let pattern = if bits == 8 { Pattern::LandCover } else { Pattern::Dem };
            let pixels =
                Pixels::generate(pattern, sample, [bands, SIZE[0], SIZE[1]], number as u64 * 7 + turn as u64);
            let grid = if strips { Grid::Strips(37) } else { Grid::Tiles(256, 256) };
            let mut spec = ImageSpec::new(sample).grid(grid).codec(codec.clone()).planar(turn == 2);
            if bits == 16 && matches!(codec, Codec::Lzw | Codec::Deflate | Codec::Zstd) {
                spec = spec.predictor(Predictor::Horizontal);
            }
            all.push((format!("{name}_{}{bits}", if strips { "strips_" } else { "" }), spec, pixels));
        }
    }
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    let pixels = Pixels::generate(Pattern::Smooth, sample, [3, SIZE[0], SIZE[1]], 99);
    let jpeg = JpegOptions { quality: 90, chroma: Some((2, 2)), shared_tables: true, progressive: false };
    let spec = ImageSpec::new(sample).grid(Grid::Tiles(256, 256)).codec(Codec::Jpeg(jpeg));
    all.push(("jpeg".to_owned(), spec, pixels));
    all
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("tif") || e.eq_ignore_ascii_case("tiff"))
        {
            paths.push(path);
        }
    }
}
