//! What was written is read again: pixels, levels, masks, georeference and words.

use crate::{Cut, open, spec_of, write_to_memory};
use strile::read::Interleave;
use strile::tiff::Planar;
use strile::tiff::gdal::NoData;
use strile::tiff::geo::{Crs, GeoTransform};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::write::{BigTiff, BlockChoice, Format, Overviews};
use strile::{Compression, Context, Dataset, Layer, RasterSpec, ReadOptions, WriteOptions};
use testkit::{Pattern, Pixels, Random};

fn write(pixels: &Pixels, spec: RasterSpec, options: &WriteOptions) -> Dataset {
    let context = Context::default();
    let bytes = write_to_memory(pixels, None, spec, options, Cut::Rows(50), Interleave::BandFirst, &context)
        .unwrap_or_else(|error| panic!("{options:?}: {error}"));
    open(bytes)
}

fn read(dataset: &Dataset, options: &ReadOptions) -> Vec<u8> {
    dataset.read(options, &Context::default()).unwrap().into_bytes().unwrap()
}

/// Lossless codecs × types × block shapes × orders, drawn with a fixed seed: every option takes every value often.
#[test]
fn pixels_come_back_for_drawn_options() {
    let mut random = Random::new(20);
    let codecs = [
        Compression::None,
        Compression::Deflate,
        Compression::Zstd,
        Compression::Lzw,
        Compression::PackBits,
        Compression::Lzma,
        Compression::Lz4,
        Compression::Lerc,
    ];
    let samples = [
        (SampleFormat::Uint, 8),
        (SampleFormat::Int, 8),
        (SampleFormat::Uint, 16),
        (SampleFormat::Int, 16),
        (SampleFormat::Uint, 32),
        (SampleFormat::Int, 32),
        (SampleFormat::Uint, 64),
        (SampleFormat::Int, 64),
        (SampleFormat::Float, 16),
        (SampleFormat::Float, 32),
        (SampleFormat::Float, 64),
        (SampleFormat::ComplexFloat, 64),
        (SampleFormat::ComplexFloat, 128),
    ];
    for round in 0..400 {
        let compression = codecs[random.below(codecs.len())];
        let (format, bits) = samples[random.below(samples.len())];
        let lerc_has = matches!((format, bits), (_, 8 | 16 | 32) | (SampleFormat::Float, 64))
            && !matches!((format, bits), (SampleFormat::Float, 16));
        if compression == Compression::Lerc && !lerc_has {
            continue;
        }
        let bands = 1 + random.below(4);
        let shape = [bands, 1 + random.below(90), 1 + random.below(90)];
        let pattern = [Pattern::Dem, Pattern::Noise, Pattern::LandCover, Pattern::Bits][random.below(4)];
        let pixels = Pixels::generate(pattern, SampleType { format, bits }, shape, round);
        let blocks = match random.below(3) {
            0 => BlockChoice::Tiles { width: 16 << random.below(3), height: 16 << random.below(3) },
            1 => BlockChoice::Strips { rows: 1 + random.below(20) as u32 },
            _ => BlockChoice::Auto,
        };
        let format = match blocks {
            BlockChoice::Strips { .. } => Format::GeoTiff,
            _ => [Format::GeoTiff, Format::Cog][random.below(2)],
        };
        // Readers disagree on LERC in big-endian files: it is refused there.
        let orders: &[ByteOrder] = match compression {
            Compression::Lerc => &[ByteOrder::Little],
            _ => &[ByteOrder::Little, ByteOrder::Big],
        };
        let options = WriteOptions::new()
            .compression(compression)
            .blocks(blocks)
            .format(format)
            .planar([Planar::Chunky, Planar::Separate][random.below(2)])
            .byte_order(orders[random.below(orders.len())])
            .big_tiff([BigTiff::IfNeeded, BigTiff::Yes][random.below(2)])
            .sparse(random.below(2) == 0)
            .overviews([Overviews::Auto, Overviews::None, Overviews::Count(1)][random.below(3)])
            .resampling(strile::Resampling::Nearest);
        let dataset = write(&pixels, spec_of(&pixels), &options);
        assert!(
            read(&dataset, &ReadOptions::default()) == pixels.bytes,
            "{options:?}, {:?}",
            pixels.data_type
        );
    }
}

#[test]
fn odd_depths_come_back() {
    for bits in [1, 2, 3, 4, 5, 7, 9, 10, 12, 15, 17, 24, 31] {
        let sample = SampleType { format: SampleFormat::Uint, bits };
        let pixels = Pixels::generate(Pattern::Noise, sample, [2, 33, 45], 5);
        for planar in [Planar::Chunky, Planar::Separate] {
            let options = WriteOptions::new().bits(bits).planar(planar);
            let dataset = write(&pixels, spec_of(&pixels), &options);
            assert!(read(&dataset, &ReadOptions::default()) == pixels.bytes, "{bits} bits, {planar:?}");
        }
    }
}

#[test]
fn a_cog_has_levels_masks_and_words() {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    let pixels = Pixels::generate(Pattern::Smooth, sample, [3, 201, 333], 1);
    let mask: Vec<u8> = (0..201 * 333).map(|i| if i % 333 < 200 { 255 } else { 0 }).collect();
    let mut spec = spec_of(&pixels).mask(true);
    let transform = GeoTransform { a: 10.0, b: 0.0, c: 5e5, d: 0.0, e: -10.0, f: 5e6 };
    spec.metadata.georeference.transform = Some(transform);
    spec.metadata.georeference.crs = Crs::from_epsg(32631);
    spec.metadata.nodata = Some(NoData::Integer(7));
    spec.metadata.bands = vec![Default::default(); 3];
    spec.metadata.bands[1].description = Some("green & bright".into());
    spec.metadata.bands[2].scale = Some(0.5);
    let options =
        WriteOptions::new().format(Format::Cog).blocks(BlockChoice::Tiles { width: 64, height: 64 });
    let context = Context::default();
    let cut = Cut::Pieces(100, 64);
    let bytes =
        write_to_memory(&pixels, Some(&mask), spec.clone(), &options, cut, Interleave::BandLast, &context)
            .unwrap();
    let dataset = open(bytes);
    let page = &dataset.pages()[0];
    let sizes: Vec<_> = page.levels.iter().map(|level| (level.image.width, level.image.height)).collect();
    assert_eq!(sizes, [(333, 201), (167, 101), (84, 51), (42, 26)]);
    assert!(page.levels.iter().all(|level| level.mask.is_some()));
    assert!(read(&dataset, &ReadOptions::default()) == pixels.bytes);
    assert!(read(&dataset, &ReadOptions::new().layer(Layer::Mask)) == mask);
    let small = read(&dataset, &ReadOptions::new().layer(Layer::Mask).level(1));
    let expected: Vec<u8> = (0..101 * 167).map(|i| if i % 167 < 100 { 255 } else { 0 }).collect();
    assert!(small == expected, "an overview's pixel is valid where one below it is");
    let metadata = dataset.metadata();
    assert_eq!(metadata.georeference.transform, Some(transform));
    assert_eq!(metadata.georeference.crs.as_ref().and_then(|crs| crs.epsg), Some(32631));
    assert_eq!(metadata.nodata, Some(NoData::Integer(7)));
    assert_eq!(metadata.bands[1].description.as_deref(), Some("green & bright"));
    assert_eq!(metadata.bands[2].scale, Some(0.5));
}

#[test]
fn sparse_blocks_are_not_in_the_file() {
    let mut pixels = Pixels::zeroed(strile::DataType::U16, 1, 256, 256);
    pixels.sample_mut(0, 100, 100).copy_from_slice(&9u16.to_ne_bytes());
    let options = WriteOptions::new()
        .format(Format::Cog)
        .blocks(BlockChoice::Tiles { width: 64, height: 64 })
        .sparse(true);
    let dataset = write(&pixels, spec_of(&pixels), &options);
    assert!(read(&dataset, &ReadOptions::default()) == pixels.bytes);
    let image = &dataset.pages()[0].levels[0].image;
    let strile::tiff::BlockArray::Here(offsets) = &image.table.offsets else { panic!("a small table") };
    assert_eq!(offsets.iter().filter(|&&offset| offset != 0).count(), 1);
}
