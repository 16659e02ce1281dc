//! The table of amplification tests: folders of small files that request much memory or time, and the file to open in
//! each.
//!
//! Every entry point (commands, Python functions) is run over every case, in a process with hard limits. `write` makes
//! the folders, for tests in Rust and, by the example `hostile`, in Python.

use super::{bombs, plain, sidecars, tiffs, vrt_bands};
use crate::{Codec, Directory, Grid, ImageSpec, Pattern, Pixels, Tag, TiffBuilder, Value};
use std::io;
use std::path::Path;
use strile_tiff::{ByteOrder, SampleFormat, SampleType};

/// Contents of a file of a case.
enum Content {
    Bytes(Vec<u8>),
    /// These bytes, then a hole up to this length, which takes no space.
    Sparse(Vec<u8>, u64),
    /// A pipe without a writer.
    Fifo,
}

/// A case: its name and its files, of which the first is opened.
struct Case {
    name: String,
    files: Vec<(String, Content)>,
}

impl Case {
    fn new(name: &str, file: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), files: vec![(file.to_owned(), Content::Bytes(bytes))] }
    }

    fn with(mut self, file: &str, content: Content) -> Self {
        self.files.push((file.to_owned(), content));
        self
    }
}

/// Writes every case into a separate folder; returns the names and the files to open. The first, `good`, is an ordinary
/// small file for comparison.
pub fn write(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut written = Vec::new();
    for Case { name, files } in cases() {
        let folder = folder.join(&name);
        std::fs::create_dir_all(&folder)?;
        for (file, content) in &files {
            let path = folder.join(file);
            match content {
                Content::Bytes(bytes) => std::fs::write(&path, bytes)?,
                Content::Sparse(bytes, len) => {
                    std::fs::write(&path, bytes)?;
                    std::fs::OpenOptions::new().write(true).open(&path)?.set_len(*len)?;
                }
                Content::Fifo => {
                    let made = std::process::Command::new("mkfifo").arg(&path).status()?;
                    assert!(made.success(), "mkfifo");
                }
            }
        }
        written.push((name, files[0].0.clone()));
    }
    Ok(written)
}

/// Returns the window (column, row, width, height) that triggers a case, if the whole image does not.
pub fn window(name: &str) -> Option<[u32; 4]> {
    match name {
        "deflate-last-strip" | "zstd-last-strip" | "png-last-strip" => Some([0, SIDE, 16, 1]),
        "webp-last-strip" => Some([0, WEBP_SIDE, 16, 1]),
        _ => None,
    }
}

/// Rows and columns of the images whose last strip holds too much.
const SIDE: u32 = 16_384;
/// The same for WebP, which has three samples and takes ten bytes per pixel: the whole image, which Python reads, stays
/// within the limit of the test.
const WEBP_SIDE: u32 = 6_144;

fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new("good", "a.tif", plain())];
    cases.extend(tiffs().into_iter().map(|(name, bytes)| Case::new(name, "a.tif", bytes)));
    cases.extend(sidecars().into_iter().map(|(name, text)| {
        Case::new(&format!("aux-{name}"), "a.tif", plain()).with("a.tif.aux.xml", Content::Bytes(text.into()))
    }));
    cases.extend(beside());
    cases.extend(blocks());
    cases.extend(structure());
    cases.extend(mosaics());
    cases
}

/// Returns the cases of sidecar files of other kinds.
fn beside() -> Vec<Case> {
    let bad_usage = "<PAMDataset><PAMRasterBand band=\"1\"><GDALRasterAttributeTable><FieldDefn index=\"0\">\
        <Name>a</Name><Type>0</Type><Usage>Name</Usage></FieldDefn></GDALRasterAttributeTable></PAMRasterBand></PAMDataset>";
    let with = |name: &str, file: &str, content| Case::new(name, "a.tif", plain()).with(file, content);
    let start = b"<PAMDataset>".to_vec();
    vec![
        with("aux-bad-usage", "a.tif.aux.xml", Content::Bytes(bad_usage.into())),
        with("aux-megabytes", "a.tif.aux.xml", Content::Bytes(super::quadratic_pam(2_600_000).into())),
        with("aux-huge", "a.tif.aux.xml", Content::Sparse(start, 8 << 30)),
        with("aux-fifo", "a.tif.aux.xml", Content::Fifo),
        with("ovr-fifo", "a.tif.ovr", Content::Fifo),
        with("world-file-fifo", "a.tfw", Content::Fifo),
        with("ovr-hostile", "a.tif.ovr", Content::Bytes(super::shared_sub_ifds(1_500))),
        with("msk-hostile", "a.tif.msk", Content::Bytes(super::shared_block_table(256, 64 << 10))),
    ]
}

/// A grey image in blocks of one size, all with the same stream.
struct Bomb {
    size: (u32, u32),
    tile: Option<(u32, u32)>,
    rows_per_strip: u32,
    compression: u16,
    bits: u16,
    samples: u16,
    /// Blocks before the last are missing.
    sparse: bool,
    stream: Vec<u8>,
}

impl Bomb {
    fn build(self) -> Vec<u8> {
        let Self { size: (width, height), tile, rows_per_strip, compression, bits, samples, sparse, stream } =
            self;
        let mut directory = Directory::default();
        let (across, down) = match tile {
            Some((w, h)) => (width.div_ceil(w), height.div_ceil(h)),
            None => (1, height.div_ceil(rows_per_strip)),
        };
        let format = if bits == 32 { 3 } else { 1 };
        let photometric = if samples == 3 { 2 } else { 1 };
        directory.add(Tag::long(256, width)).add(Tag::long(257, height));
        directory.add(Tag::new(258, Value::Short(vec![bits; samples.into()])));
        directory.add(Tag::short(259, compression)).add(Tag::short(262, photometric));
        directory.add(Tag::short(277, samples));
        directory.add(Tag::new(339, Value::Short(vec![format; samples.into()])));
        let count = (across * down) as usize;
        let (mut offsets, mut sizes) = (vec![8; count], vec![stream.len() as u32; count]);
        if sparse {
            offsets[..count - 1].fill(0);
            sizes[..count - 1].fill(0);
        }
        match tile {
            Some((w, h)) => {
                directory.add(Tag::long(322, w)).add(Tag::long(323, h));
                directory.add(Tag::new(324, Value::Long(offsets))).add(Tag::new(325, Value::Long(sizes)));
            }
            None => {
                directory.add(Tag::long(278, rows_per_strip));
                directory.add(Tag::new(273, Value::Long(offsets))).add(Tag::new(279, Value::Long(sizes)));
            }
        }
        if compression == 34887 {
            // LERC 2.4 without a wrapper.
            directory.add(Tag::new(50674, Value::Long(vec![4, 0])));
        }
        // The builder's only block lies behind the header.
        directory.blocks = vec![Some(stream)];
        TiffBuilder::new(ByteOrder::Little, false).directory(directory).build().bytes
    }
}

const DEFLATE: u16 = 8;
const LZMA: u16 = 34925;
const ZSTD: u16 = 50000;
const WEBP: u16 = 50001;
const PNG: u16 = 34933;

/// Returns blocks that decode to far more than the image, and images that are far larger than the file.
fn blocks() -> Vec<Case> {
    let grey = |size: (u32, u32), tile, compression, stream| Bomb {
        size,
        tile,
        rows_per_strip: size.1,
        compression,
        bits: 8,
        samples: 1,
        sparse: false,
        stream,
    };
    // Two strips; the second has one row in the image and all rows in its stream.
    let last = |side: u32, compression, samples, stream| Bomb {
        rows_per_strip: side,
        samples,
        sparse: true,
        ..grey((side, side + 1), None, compression, stream)
    };
    let case = |name: &str, bomb: Bomb| Case::new(name, "a.tif", bomb.build());
    let side = SIDE;
    let million: u64 = 1 << 20;
    let mut cases = vec![
        case("deflate-last-strip", last(side, DEFLATE, 1, bombs::zlib_zeros(256 * million))),
        case("zstd-last-strip", last(side, ZSTD, 1, bombs::zstd_zeros(256 * million))),
        case("png-last-strip", last(side, PNG, 1, bombs::png_zeros(side, side))),
        case("webp-last-strip", last(WEBP_SIDE, WEBP, 3, bombs::webp_zeros(WEBP_SIDE, WEBP_SIDE))),
        // More than any block of the file may hold.
        case("deflate-bomb", grey((64, 64), Some((64, 64)), DEFLATE, bombs::zlib_zeros(1024 * million))),
        case("zstd-bomb", grey((64, 64), Some((64, 64)), ZSTD, bombs::zstd_zeros(64 * 1024 * million))),
        case("png-bomb", grey((64, 64), Some((64, 64)), PNG, bombs::png_zeros(60_000, 60_000))),
        case(
            "webp-bomb",
            Bomb {
                samples: 3,
                ..grey((64, 64), Some((64, 64)), WEBP, bombs::webp_zeros(side - 1, side - 1))
            },
        ),
        case("lzma-dictionary", grey((64, 64), Some((64, 64)), LZMA, bombs::xz_large_dictionary(4096))),
        case(
            "lerc-large-blob",
            Bomb { bits: 32, ..grey((16, 16), Some((16, 16)), 34887, bombs::lerc_constant(30_000, 30_000)) },
        ),
        // One pixel in a tile of 60,000 × 60,000.
        case("one-pixel-large-tile", {
            let stream = bombs::zlib_zeros(3_600_000_000);
            grey((1, 1), Some((60_000, 60_000)), DEFLATE, stream)
        }),
        case("one-pixel-large-lerc-tile", {
            let stream = bombs::lerc_constant(20_000, 20_000);
            Bomb { bits: 32, ..grey((1, 1), Some((20_000, 20_000)), 34887, stream) }
        }),
        // 9.6 GB of pixels in 576 tiles that are one stream.
        case("shared-tile", {
            let stream = bombs::zlib_zeros(16 * million);
            grey((98_304, 98_304), Some((4096, 4096)), DEFLATE, stream)
        }),
        // The same without sharing: 1.2 MB of streams.
        case(
            "shared-zstd-tile",
            grey((98_304, 98_304), Some((4096, 4096)), ZSTD, bombs::zstd_zeros(16 * million)),
        ),
    ];
    let uint8 = SampleType { format: SampleFormat::Uint, bits: 8 };
    let pixels = Pixels::generate(Pattern::Smooth, uint8, [1, 1500, 1500], 1);
    let spec = ImageSpec::new(uint8).grid(Grid::Tiles(1504, 1504)).codec(Codec::JpegXl(50002));
    cases.push(Case::new("jpegxl-large-tile", "a.tif", spec.build(&pixels, ByteOrder::Little, false).bytes));
    cases
}

/// Returns the entries of a grey 8-bit image of one strip behind the header.
fn image(width: u32, height: u32) -> Directory {
    let mut directory = Directory::default();
    directory.add(Tag::long(256, width)).add(Tag::long(257, height));
    for (code, value) in [(258, 8), (259, 1), (262, 1), (277, 1)] {
        directory.add(Tag::short(code, value));
    }
    directory.add(Tag::long(278, height)).add(Tag::long(273, 8)).add(Tag::long(279, 16));
    directory
}

fn file(directories: Vec<Directory>, big: bool) -> Vec<u8> {
    let mut builder = TiffBuilder::new(ByteOrder::Little, big);
    builder.directories = directories;
    builder.directories[0].blocks = vec![Some((0..16).collect())];
    builder.build().bytes
}

/// Returns cases of structure: numbers that claim much.
fn structure() -> Vec<Case> {
    let case = |name: &str, directories| Case::new(name, "a.tif", file(directories, false));
    let raw = |code, field_type, count: u64, at: u32| {
        Tag::new(code, Value::Raw { field_type, count, field: at.to_le_bytes().to_vec() })
    };
    let tiled = |width, height, tile: u32| {
        let mut directory = image(width, height);
        directory.remove(278).remove(273).remove(279);
        directory.add(Tag::long(322, tile)).add(Tag::long(323, tile));
        directory
    };
    let mut sparse = tiled(1 << 20, 1 << 20, 16);
    sparse.add(Tag::long(324, 0)).add(Tag::long(325, 0));
    let mut claimed = tiled(1 << 20, 1 << 20, 16);
    claimed.add(raw(324, 4, u64::from(u32::MAX), 8)).add(raw(325, 4, u64::from(u32::MAX), 8));
    let mut strips = image(1, u32::MAX);
    strips.set(Tag::long(278, 1)).set(Tag::long(273, 0)).set(Tag::long(279, 0));
    let mut bands = image(1, 1);
    bands.set(Tag::short(277, u16::MAX)).set(Tag::long(279, 65_535));
    let mut planes = image(1, 1);
    planes.set(Tag::short(277, u16::MAX)).add(Tag::short(284, 2));
    let mut planes_of_tiles = tiled(33, 33, 16);
    planes_of_tiles.set(Tag::short(277, u16::MAX)).add(Tag::short(284, 2));
    planes_of_tiles.add(Tag::long(324, 0)).add(Tag::long(325, 0));
    let mut text = image(4, 4);
    text.add(raw(270, 2, 100_000_000, 8));
    let mut large = image(60_000, 60_000);
    large.set(Tag::long(279, 3_600_000_000));
    let reduced = |subfile: u32| {
        let mut directory = image(4, 4);
        directory.add(Tag::long(254, subfile));
        directory
    };
    let chain = |subfile| {
        let others = std::iter::repeat_n(reduced(subfile), 900);
        std::iter::once(image(8, 8)).chain(others).collect::<Vec<_>>()
    };
    vec![
        case("sparse-4g-tiles", vec![sparse]),
        case("claimed-4g-tiles", vec![claimed]),
        case("sparse-4g-strips", vec![strips]),
        case("all-bands", vec![bands]),
        case("all-planes", vec![planes]),
        // 590,000 blocks, whose plan takes 100 MB.
        case("planes-of-tiles", vec![planes_of_tiles]),
        case("claimed-text", vec![text]),
        case("claimed-pixels", vec![large]),
        case("overview-chain", chain(1)),
        case("mask-chain", chain(4)),
        Case::new(
            "metadata-megabyte",
            "a.tif",
            super::with_tag(42112, &super::many_items(1_000_000, "GDALMetadata", "Item name")),
        ),
        Case::new("empty", "a.tif", Vec::new()),
        Case::new("fifo", "a.tif", Vec::new()).replaced(Content::Fifo),
    ]
}

impl Case {
    /// Returns the case with other contents of the opened file.
    fn replaced(mut self, content: Content) -> Self {
        self.files[0].1 = content;
        self
    }
}

fn source(file: &str, target: (u32, u32)) -> String {
    format!(
        "<SimpleSource><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename><SourceBand>1</SourceBand>\
         <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"4\" ySize=\"4\"/>\
         <DstRect xOff=\"0\" yOff=\"0\" xSize=\"{}\" ySize=\"{}\"/></SimpleSource>",
        target.0, target.1
    )
}

fn vrt((width, height): (u32, u32), sources: &str) -> Vec<u8> {
    format!(
        "<VRTDataset rasterXSize=\"{width}\" rasterYSize=\"{height}\">\
         <VRTRasterBand dataType=\"Byte\" band=\"1\">{sources}</VRTRasterBand></VRTDataset>"
    )
    .into_bytes()
}

/// Returns cases of mosaics.
fn mosaics() -> Vec<Case> {
    let of = |name: &str, bytes| Case::new(name, "a.vrt", bytes).with("a.tif", Content::Bytes(plain()));
    let mut nested = Case::new("vrt-nested", "a.vrt", vrt((4, 4), &source("1.vrt", (4, 4)).repeat(12)));
    for level in 1..8 {
        let next = if level == 7 { "a.tif".to_owned() } else { format!("{}.vrt", level + 1) };
        let text = vrt((4, 4), &source(&next, (4, 4)).repeat(12));
        nested = nested.with(&format!("{level}.vrt"), Content::Bytes(text));
    }
    nested = nested.with("a.tif", Content::Bytes(plain()));
    let many: String = (0..8).map(|_| source("a.tif", (4, 4))).collect();
    vec![
        nested,
        Case::new("vrt-fifo", "a.vrt", vrt((4, 4), &source("pipe.tif", (4, 4))))
            .with("pipe.tif", Content::Fifo),
        Case::new("vrt-is-fifo", "a.vrt", Vec::new()).replaced(Content::Fifo),
        Case::new("vrt-huge", "a.vrt", Vec::new())
            .replaced(Content::Sparse(b"<VRTDataset rasterXSize=\"4\" rasterYSize=\"4\">".to_vec(), 3 << 30)),
        of("vrt-picks", vrt((14_000_000, 1), &source("a.tif", (14_000_000, 1)))),
        of("vrt-large", vrt((2_000_000_000, 2_000_000_000), &many)),
        of("vrt-many-sources", vrt((4, 4), &source("a.tif", (4, 4)).repeat(20_000))),
        Case::new("vrt-bands", "a.vrt", vrt_bands(1_500).into_bytes()),
        Case::new("vrt-loop", "a.vrt", vrt((4, 4), &source("b.vrt", (4, 4)).repeat(12)))
            .with("b.vrt", Content::Bytes(vrt((4, 4), &source("a.vrt", (4, 4)).repeat(12)))),
        Case::new("vrt-bomb", "a.vrt", vrt((4, 4), &source("b.tif", (4, 4)))).with(
            "b.tif",
            Content::Bytes(
                Bomb {
                    size: (4, 4),
                    tile: Some((60_000, 60_000)),
                    rows_per_strip: 4,
                    compression: DEFLATE,
                    bits: 8,
                    samples: 1,
                    sparse: false,
                    stream: bombs::zlib_zeros(3_600_000_000),
                }
                .build(),
            ),
        ),
    ]
}
