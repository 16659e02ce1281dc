//! Pieces laid end to end are the whole result, whatever their size; boxes become windows.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::sync::Arc;
use strile::io::MemorySource;
use strile::read::{Interleave, OnFault, PieceLimits};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, Error, OpenOptions, ReadOptions, Window};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, Tag, TiffBuilder, geo_tags};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };

fn open(bytes: Vec<u8>) -> Dataset {
    Dataset::from_source(Arc::new(MemorySource::new("made", bytes)), &OpenOptions::default()).unwrap()
}

fn made(spec: &ImageSpec) -> Dataset {
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [3, 40, 37], 11);
    open(spec.build(&pixels, ByteOrder::Little, false).bytes)
}

/// The bytes of all pieces, and the largest number of rows in one.
fn in_pieces(dataset: &Dataset, options: &ReadOptions, piece: u64) -> (Vec<u8>, u32) {
    let (context, limits) = (Context::default(), PieceLimits::new().piece(piece));
    let pieces = dataset.pieces(options, &limits, &context).unwrap();
    let (mut all, mut tallest) = (Vec::new(), 0);
    let faults = dataset.read_pieces(&pieces, &context, |raster| {
        tallest = tallest.max(raster.rows);
        all.extend(raster.bytes().unwrap());
        Ok::<(), Error>(())
    });
    assert!(faults.unwrap().is_empty());
    (all, tallest)
}

#[test]
fn pieces_of_any_size_are_the_whole() {
    let window = Window::new(3, 5, 30, 33);
    for spec in [
        ImageSpec::new(UINT16).grid(Grid::Tiles(16, 16)).codec(Codec::Deflate),
        ImageSpec::new(UINT16).grid(Grid::Strips(3)).codec(Codec::Lzw).planar(true),
    ] {
        let dataset = made(&spec);
        for interleave in [Interleave::BandFirst, Interleave::BandLast] {
            for window in [None, Some(window)] {
                let options = ReadOptions::new().window(window).bands([3, 1]).interleave(interleave);
                let whole = dataset.read(&options, &Context::default()).unwrap();
                for piece in [1, 1000, 2500, 4000, 1 << 20] {
                    let (all, tallest) = in_pieces(&dataset, &options, piece);
                    assert_eq!(all, whole.bytes().unwrap(), "{interleave:?} {window:?} {piece}");
                    assert!(piece > 1 || tallest <= 16, "{tallest} rows in the smallest piece");
                }
            }
        }
    }
}

#[test]
fn a_turned_image_comes_band_by_band() {
    let dataset = made(&ImageSpec::new(UINT16).tag(Tag::short(274, 6)));
    let options = ReadOptions::new().apply_orientation(true);
    let whole = dataset.read(&options, &Context::default()).unwrap();
    let (all, tallest) = in_pieces(&dataset, &options, 100);
    assert_eq!((all, tallest), (whole.into_bytes().unwrap(), 37));
}

#[test]
fn a_faulty_block_is_listed_once() {
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [3, 40, 37], 11);
    let spec = ImageSpec::new(UINT16).codec(Codec::Deflate);
    let mut directory = spec.directory(&pixels, ByteOrder::Little, false);
    directory.blocks[1] = Some(b"no zlib stream".to_vec());
    let dataset = open(TiffBuilder::new(ByteOrder::Little, false).directory(directory).build().bytes);
    let options = ReadOptions::new().on_fault(OnFault::Fill);
    let context = Context::default();
    let limits = PieceLimits::new().piece(1);
    let pieces = dataset.pieces(&options, &limits, &context).unwrap();
    assert_eq!(pieces.blocks, 9, "three strips, once a band");
    let faults = dataset.read_pieces(&pieces, &context, |_| Ok::<(), Error>(())).unwrap();
    let rows: Vec<u32> = faults.iter().map(|fault| fault.address.row).collect();
    assert_eq!(rows, [1]);
}

#[test]
fn a_result_far_larger_than_its_file_is_refused() {
    // One strip, left out, of an image of 60,000 × 60,000 pixels and 3 bands: 20 GiB out of some hundred bytes.
    let spec = ImageSpec::new(UINT16).grid(Grid::Strips(60_000)).sparse(&[0]);
    let dataset = made(&spec.tag(Tag::long(256, 60_000)).tag(Tag::long(257, 60_000)));
    let pieces = |max_pixels| {
        let mut options = ReadOptions::new();
        options.execution.max_pixels = max_pixels;
        dataset.pieces(&options, &PieceLimits::default(), &Context::default())
    };
    let refused = pieces(None).unwrap_err().to_string();
    assert!(refused.contains("decodes to 20.1 GiB, more than 1024 times the size of the file"), "{refused}");
    assert!(pieces(Some(60_000 * 60_000 * 3)).is_ok());
}

#[test]
fn a_box_becomes_the_window_that_covers_it() {
    let mut spec = ImageSpec::new(UINT16);
    for tag in geo_tags(32632, (1000.0, 2000.0), 10.0, false) {
        spec = spec.tag(tag);
    }
    let dataset = made(&spec);
    let options = ReadOptions::default();
    let window = |sides| dataset.window_of_box(&options.place, sides).map(|window| window.to_string());
    assert_eq!(window([1010.0, 1950.0, 1030.0, 1990.0]).unwrap(), "1,1,2,4", "on edges");
    assert_eq!(window([1011.0, 1951.0, 1029.0, 1989.0]).unwrap(), "1,1,2,4", "inside pixels");
    assert_eq!(window([0.0, 0.0, 9000.0, 9000.0]).unwrap(), "0,0,37,40", "cut to the image");
    assert!(window([0.0, 0.0, 1.0, 1.0]).unwrap_err().to_string().contains("does not touch the image"));
    let window = Some(Window::new(2, 3, 5, 5));
    let moved = dataset.transform(&options.window(window)).unwrap().unwrap();
    assert_eq!(moved.coefficients(), [10.0, 0.0, 1020.0, 0.0, -10.0, 1970.0]);
}
