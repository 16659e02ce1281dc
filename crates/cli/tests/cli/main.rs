//! Runs the built program on small files made by the test kit.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tests"
)]

#[cfg(target_os = "linux")]
mod amplification;
mod cog;
mod compare;
mod control;
mod convert;
mod convert_many;
mod dump;
mod errors;
mod info;
#[cfg(target_os = "linux")]
mod memory;
mod others;
mod overview;
mod profiles;
mod remote;
mod sample;
mod vrt;
mod warp;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use strile::tiff::Predictor;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use tempfile::TempDir;
use testkit::{
    Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, TiffBuilder, geo_tags, metadata_tag,
    nodata_tag,
};

pub(crate) const FLOAT32: SampleType = SampleType { format: SampleFormat::Float, bits: 32 };
pub(crate) const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };

/// What a run of the program gave.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }

    /// Exit 0 and nothing on standard error.
    pub(crate) fn clean(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        self
    }
}

/// A folder that goes away, and the program run in it.
pub(crate) struct Bench(TempDir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn run(&self, line: &str) -> Run {
        self.run_with(line, &[])
    }

    pub(crate) fn run_with(&self, line: &str, input: &[u8]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strile"));
        command.args(words(line)).current_dir(self.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ignored_by_some = child.stdin.take().unwrap().write_all(input);
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        Run { code: status.code().unwrap(), stdout, stderr: String::from_utf8(stderr).unwrap() }
    }

    /// Names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A georeferenced elevation model of 70 × 50 pixels in tiles, with an overview and a mask.
pub(crate) fn dem() -> (Pixels, Vec<u8>) {
    let pixels = Pixels::generate(Pattern::Dem, FLOAT32, [1, 50, 70], 7);
    let mut spec = ImageSpec::new(FLOAT32).grid(Grid::Tiles(32, 16)).codec(Codec::Deflate);
    spec = spec.predictor(Predictor::FloatingPoint);
    for tag in geo_tags(32632, (500_000.0, 5_200_000.0), 10.0, false) {
        spec = spec.tag(tag);
    }
    spec = spec.tag(nodata_tag("-9999")).tag(metadata_tag(
        "<GDALMetadata><Item name=\"TITLE\">Hills</Item>\
         <Item name=\"DESCRIPTION\" sample=\"0\" role=\"description\">elevation</Item>\
         <Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">m</Item></GDALMetadata>",
    ));
    let half = pixels.halved();
    let overview = ImageSpec::new(FLOAT32).grid(Grid::Tiles(32, 16)).codec(Codec::Lzw).subfile_type(1);
    let mask_pixels = Pixels::generate(Pattern::LandCover, UINT8, [1, 50, 70], 3);
    let mask = ImageSpec::new(UINT8).codec(Codec::Deflate).subfile_type(4).photometric(4);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    let built = spec.build_with(&pixels, &[(overview, half), (mask, mask_pixels)], frame);
    (pixels, built.bytes)
}

/// The words of a line, as a shell finds them: what stands in double quotes is one.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect()
}

/// Three interleaved bytes a pixel, 20 × 12, in strips of 5 rows; BigTIFF, big-endian.
pub(crate) fn rgb() -> (Pixels, Vec<u8>) {
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [3, 12, 20], 5);
    let spec = ImageSpec::new(UINT8).grid(Grid::Strips(5)).codec(Codec::PackBits);
    let bytes = spec.build(&pixels, ByteOrder::Big, true).bytes;
    (pixels, bytes)
}

/// The pixels of `rgb`, little-endian; the second strip holds a broken PackBits run.
pub(crate) fn damaged() -> Vec<u8> {
    let spec = ImageSpec::new(UINT8).grid(Grid::Strips(5)).codec(Codec::PackBits);
    let mut directory = spec.directory(&rgb().0, ByteOrder::Little, false);
    directory.blocks[1] = Some(vec![5, 1, 2]);
    TiffBuilder::new(ByteOrder::Little, false).directory(directory).build().bytes
}
