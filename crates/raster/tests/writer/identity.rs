//! For equal options and encoder the streamed file is the eager one, byte for byte.

use crate::{Cut, spec_of, write_to_memory};
use std::num::NonZeroUsize;
use strile::read::Interleave;
use strile::tiff::Planar;
use strile::tiff::gdal::NoData;
use strile::tiff::{SampleFormat, SampleType};
use strile::write::{BlockChoice, Format, Overviews};
use strile::{Compression, Context, RasterSpec, Resampling, WriteOptions};
use testkit::{Pattern, Pixels};

fn contexts() -> [Context; 2] {
    [1, 2].map(|threads| Context { threads: NonZeroUsize::new(threads).unwrap(), ..Context::default() })
}

pub(crate) fn agree(
    name: &str,
    pixels: &Pixels,
    mask: Option<&[u8]>,
    spec: &RasterSpec,
    options: &WriteOptions,
) {
    let [one, two] = contexts();
    let eager = Interleave::BandFirst;
    let expected = write_to_memory(pixels, mask, spec.clone(), options, Cut::Eager, eager, &one).expect(name);
    let cuts = [
        Cut::Eager,
        Cut::Rows(1),
        Cut::Rows(7),
        Cut::Rows(64),
        Cut::Pieces(64, 64),
        Cut::Pieces(50, 37),
        Cut::Pieces(16, 200),
    ];
    for (at, cut) in cuts.into_iter().enumerate() {
        for interleave in [Interleave::BandFirst, Interleave::BandLast] {
            // Buffers of a few blocks, and one that never has room for a second.
            let options = options.clone().buffer([1 << 14, 1 << 20, 64 << 20][at % 3]);
            let spooled_too = matches!(cut, Cut::Pieces(16, 200)) && options.format == Format::GeoTiff;
            let spooled = options.spooled || spooled_too;
            let options = options.spooled(spooled);
            let context = if at % 2 == 0 { &two } else { &one };
            let got = write_to_memory(pixels, mask, spec.clone(), &options, cut, interleave, context)
                .unwrap_or_else(|error| panic!("{name}, {cut:?}: {error}"));
            assert!(got == expected, "{name}: {cut:?}, {interleave:?} gives other bytes");
        }
    }
    if options.format == Format::Cog || options.spooled {
        for cut in [Cut::Backwards(64, 64), Cut::Backwards(33, 50)] {
            let got = write_to_memory(pixels, mask, spec.clone(), options, cut, Interleave::BandLast, &two);
            assert!(got.expect(name) == expected, "{name}: {cut:?} gives other bytes");
        }
    }
}

fn pixels_of(format: SampleFormat, bits: u16, shape: [usize; 3]) -> Pixels {
    Pixels::generate(Pattern::Dem, SampleType { format, bits }, shape, 7)
}

const TILES: BlockChoice = BlockChoice::Tiles { width: 64, height: 32 };

#[test]
fn plain_files_of_tiles_and_strips() {
    let pixels = pixels_of(SampleFormat::Uint, 16, [3, 150, 201]);
    for blocks in [TILES, BlockChoice::Strips { rows: 7 }, BlockChoice::Strips { rows: 0 }] {
        for planar in [Planar::Chunky, Planar::Separate] {
            let options = WriteOptions::new().blocks(blocks).planar(planar);
            agree(&format!("{blocks:?}, {planar:?}"), &pixels, None, &spec_of(&pixels), &options);
        }
    }
}

#[test]
fn cloud_optimized_files() {
    let pixels = pixels_of(SampleFormat::Float, 32, [2, 150, 201]);
    for planar in [Planar::Chunky, Planar::Separate] {
        let options = WriteOptions::new().format(Format::Cog).blocks(TILES).planar(planar);
        agree(&format!("COG, {planar:?}"), &pixels, None, &spec_of(&pixels), &options);
    }
}

#[test]
fn nan_holes_with_a_sentinel() {
    let pixels = pixels_of(SampleFormat::Float, 32, [1, 150, 201]).with_nan_holes();
    let mut spec = spec_of(&pixels);
    spec.metadata.nodata = Some(NoData::Float(-9999.0));
    let options = WriteOptions::new()
        .format(Format::Cog)
        .blocks(TILES)
        .nan_to_nodata(true)
        .sparse(true)
        .compression(Compression::Zstd);
    agree("NaN holes", &pixels, None, &spec, &options);
}

#[test]
fn every_resampling_with_masks() {
    let pixels = pixels_of(SampleFormat::Uint, 8, [3, 101, 131]);
    let mask: Vec<u8> =
        (0..101u32 * 131).map(|i| if (i / 131 + i % 131) % 37 < 30 { 255 } else { 0 }).collect();
    for resampling in Resampling::ALL {
        let options = WriteOptions::new()
            .format(Format::Cog)
            .blocks(BlockChoice::Tiles { width: 32, height: 32 })
            .resampling(resampling)
            .overviews(Overviews::Count(3));
        let spec = spec_of(&pixels).mask(true);
        agree(resampling.name(), &pixels, Some(&mask), &spec, &options);
    }
}

#[test]
fn overviews_of_strips_and_of_a_spooled_plain_file() {
    let pixels = pixels_of(SampleFormat::Int, 16, [1, 150, 201]);
    for blocks in [BlockChoice::Strips { rows: 3 }, TILES] {
        let options =
            WriteOptions::new().blocks(blocks).overviews(Overviews::Count(2)).resampling(Resampling::Cubic);
        agree("overviews", &pixels, None, &spec_of(&pixels), &options);
        let options = options.spooled(true);
        agree("overviews, spooled", &pixels, None, &spec_of(&pixels), &options);
    }
}

/// A spooled file and one written straight have the same bytes.
#[test]
fn spooling_changes_nothing() {
    let pixels = pixels_of(SampleFormat::Uint, 8, [3, 150, 201]);
    let write = |spooled: bool| {
        let options = WriteOptions::new().blocks(TILES).spooled(spooled);
        let context = Context::default();
        let spec = spec_of(&pixels);
        write_to_memory(&pixels, None, spec, &options, Cut::Rows(5), Interleave::BandLast, &context).unwrap()
    };
    assert!(write(true) == write(false));
}
