//! What `Dataset::validate_cog` finds, rule by rule, and that no file keeps it busy.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

use std::sync::Arc;
use strile::cog::{CogChecks, CogReport, Finding, FoundBy};
use strile::io::MemorySource;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, Error, OpenOptions, Result};
use testkit::{
    Built, Codec, Directory, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, Tag, TiffBuilder, Value,
};

const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };
const TILES: Grid = Grid::Tiles(128, 128);

fn open(bytes: Vec<u8>) -> Dataset {
    Dataset::from_source(Arc::new(MemorySource::new("made.tif", bytes)), &OpenOptions::default()).unwrap()
}

fn validate(bytes: Vec<u8>) -> Result<CogReport> {
    open(bytes).validate_cog(&CogChecks::default(), &Context::default())
}

fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code).collect()
}

fn frame(file_order: FileOrder) -> FileFrame {
    FileFrame { order: ByteOrder::Little, big: false, file_order }
}

/// 600 × 520 pixels in 25 tiles, with an overview of 300 × 260 in 9.
fn cog(file_order: FileOrder) -> Built {
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 520, 600], 3);
    let spec = ImageSpec::new(UINT8).grid(TILES).codec(Codec::Deflate);
    let overview = (spec.clone().subfile_type(1), pixels.halved());
    spec.build_with(&pixels, &[overview], frame(file_order))
}

#[test]
fn a_cog_is_valid_and_its_parts_are_told() {
    let report = validate(cog(FileOrder::CogWithGhost).bytes).unwrap();
    assert!(report.is_valid(true), "{report:?}");
    assert_eq!(report.ghost.unwrap().get("LAYOUT"), Some("IFDS_BEFORE_DATA"));
    let [full, overview] = &report.levels[..] else { panic!("two levels") };
    assert_eq!((full.width, full.block_width, full.directory_offset), (600, 128, 192));
    assert!(overview.first_block.unwrap() < full.first_block.unwrap());
    assert!(validate(cog(FileOrder::DirectoriesFirst).bytes).unwrap().is_valid(true));
}

#[test]
fn blocks_before_directories_are_errors() {
    let report = validate(cog(FileOrder::BlocksFirst).bytes).unwrap();
    assert_eq!(codes(&report.errors), ["main-directory-offset", "data-before-directory", "level-order"]);
    assert!(!report.is_valid_for(FoundBy::Gdal, false) && !report.is_valid_for(FoundBy::RioCogeo, false));
    let message = &report.errors[0].message;
    assert!(message.starts_with("expected the first directory at byte 8, got "), "{message}");
}

#[test]
fn damaged_bytes_around_blocks_are_counted_and_the_first_is_placed() {
    let mut built = cog(FileOrder::CogWithGhost);
    let full: Vec<_> = built.blocks.iter().filter(|block| block.directory == 0).cloned().collect();
    for block in &full[7..10] {
        built.bytes[block.range.start - 4] ^= 1;
    }
    built.bytes[full[3].range.end] ^= 1;
    let damaged = built.bytes;
    let report = validate(damaged.clone()).unwrap();
    assert_eq!(codes(&report.errors), ["block-leader", "block-trailer"]);
    let [leader, trailer] = &report.errors[..] else { panic!("two errors") };
    assert_eq!((leader.count, trailer.count, leader.found_by), (3, 1, FoundBy::Gdal));
    assert_eq!(leader.place, format!("block (2, 1) of the full image at byte {}", full[7].range.start));
    assert!(report.is_valid_for(FoundBy::RioCogeo, true));
    // Without looking at every block nobody knows.
    let dataset = open(damaged);
    let quick = CogChecks { every_block: false };
    assert!(dataset.validate_cog(&quick, &Context::default()).unwrap().is_valid(true));
}

#[test]
fn an_edition_that_broke_the_layout_is_an_error() {
    let mut bytes = cog(FileOrder::CogWithGhost).bytes;
    let (old, new) = (b"EDITION=NO\n ", b"EDITION=YES\n");
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    bytes[at..at + new.len()].copy_from_slice(new);
    assert_eq!(codes(&validate(bytes).unwrap().errors), ["incompatible-edition"]);
}

#[test]
fn the_two_validators_draw_different_lines() {
    let strips = |width: usize| {
        let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 520, width], 3);
        let spec = ImageSpec::new(UINT8).grid(Grid::Strips(64));
        validate(spec.build_with(&pixels, &[], frame(FileOrder::DirectoriesFirst)).bytes).unwrap()
    };
    assert_eq!(strips(500).errors[0].found_by, FoundBy::RioCogeo);
    let wide = strips(1100);
    assert_eq!((codes(&wide.errors), wide.errors[0].found_by), (vec!["not-tiled"], FoundBy::Both));
    assert_eq!(codes(&wide.warnings), ["no-overviews"]);
}

#[test]
fn missing_overviews_count_only_where_strict() {
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 520, 600], 3);
    let spec = ImageSpec::new(UINT8).grid(TILES);
    let report = validate(spec.build_with(&pixels, &[], frame(FileOrder::DirectoriesFirst)).bytes).unwrap();
    assert_eq!((codes(&report.errors), codes(&report.warnings)), (vec![], vec!["no-overviews"]));
    assert!(report.is_valid(false) && !report.is_valid(true));
}

#[test]
fn overviews_out_of_order_are_told_by_size_and_by_place() {
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 520, 600], 3);
    let spec = ImageSpec::new(UINT8).grid(TILES);
    let (half, quarter) = (pixels.halved(), pixels.halved().halved());
    let reduced = spec.clone().subfile_type(1);
    let others = [(reduced.clone(), quarter), (reduced, half)];
    let report =
        validate(spec.build_with(&pixels, &others, frame(FileOrder::DirectoriesFirst)).bytes).unwrap();
    assert_eq!(codes(&report.errors), ["overview-order", "overview-size"]);
}

/// GDAL takes an image in a SubIFD for an overview where its NewSubfileType says so, and only there.
#[test]
fn an_image_in_a_subifd_is_an_overview_where_it_says_so() {
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 520, 600], 3);
    let spec = ImageSpec::new(UINT8).grid(TILES);
    for (subfile_type, levels) in [(0, 1), (1, 2)] {
        let child =
            spec.clone().subfile_type(subfile_type).directory(&pixels.halved(), ByteOrder::Little, false);
        let mut full = spec.directory(&pixels, ByteOrder::Little, false);
        full.children.push(child);
        full.add(Tag::new(330, Value::Children(4)));
        let built = TiffBuilder::new(ByteOrder::Little, false).directory(full).build();
        assert_eq!(validate(built.bytes).unwrap().levels.len(), levels);
    }
}

/// Many directories that share one large table of blocks that are not stored: a walk of each would take the
/// product of both.
#[test]
fn tables_that_overlap_end_the_walk() {
    const BLOCKS: u32 = 1 << 21;
    let made = |table_at: u32| {
        let shared =
            || Value::Raw { field_type: 3, count: BLOCKS.into(), field: table_at.to_le_bytes().to_vec() };
        let mut builder = TiffBuilder::new(ByteOrder::Little, false).file_order(FileOrder::DirectoriesFirst);
        for index in 0..400 {
            let mut directory = Directory::default();
            let side = (1 << 20) - index;
            for (code, value) in [(254, u32::from(index > 0)), (256, side), (257, side)] {
                directory.add(Tag::long(code, value));
            }
            for (code, value) in [(258, 8), (259, 1), (262, 1), (277, 1), (322, 16), (323, 16)] {
                directory.add(Tag::short(code, value));
            }
            directory.add(Tag::new(324, shared())).add(Tag::new(325, shared()));
            builder = builder.directory(directory);
        }
        builder.build().bytes
    };
    // The table of zeros lies behind all directories, whose length does not depend on where it is.
    let len = made(0).len();
    let mut bytes = made(len as u32);
    bytes.resize(len + 2 * BLOCKS as usize, 0);
    let error = validate(bytes).unwrap_err();
    assert!(matches!(&error, Error::File { .. }) && error.to_string().contains("tables overlap"), "{error}");
}
