//! What a file says of itself holds: promises of a COG, levels, alpha, and tags that are the writer's own.

use crate::{Cut, open, spec_of, write_to_memory};
use strile::io::MemorySink;
use strile::read::Interleave;
use strile::tiff::{FieldValue, LercWrapper, SampleFormat, SampleType, Tag};
use strile::tiff::{Photometric, Planar};
use strile::write::{BlockChoice, Format, Overviews};
use strile::{
    Compression, Context, DataType, Dataset, RasterSpec, ReadOptions, Resampling, WriteOptions, Writer,
};
use testkit::{Pattern, Pixels};

const KEY: &[u8] = b"MASK_INTERLEAVED_WITH_IMAGERY=YES";

fn noise(bands: usize, height: usize, width: usize) -> Pixels {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    Pixels::generate(Pattern::Noise, sample, [bands, height, width], 3)
}

fn level(dataset: &Dataset, level: usize) -> Vec<u8> {
    let options = ReadOptions::new().level(level).interleave(Interleave::BandFirst);
    dataset.read(&options, &Context::default()).unwrap().into_bytes().unwrap()
}

/// GDAL takes what lies behind a block for its mask where the file promises it: behind one whose mask is sparse lies
/// the next block.
#[test]
fn masks_follow_only_where_all_do() {
    let pixels = noise(1, 32, 64);
    let write = |mask: &[u8], sparse: bool| {
        let spec = spec_of(&pixels).mask(true);
        let blocks = BlockChoice::Tiles { width: 16, height: 16 };
        let options =
            WriteOptions::new().format(Format::Cog).blocks(blocks).sparse(sparse).overviews(Overviews::None);
        let context = Context::default();
        write_to_memory(&pixels, Some(mask), spec, &options, Cut::Eager, Interleave::BandFirst, &context)
    };
    let promises = |bytes: &[u8]| bytes[..512].windows(KEY.len()).any(|window| window == KEY);
    let left: Vec<u8> = (0..32 * 64).map(|i| u8::from(i % 64 < 32)).collect();
    assert!(promises(&write(&left, false).unwrap()));
    assert!(promises(&write(&[1; 32 * 64], true).unwrap()));
    assert!(!promises(&write(&left, true).unwrap()));
}

/// Colours of transparent pixels are left out of averages, as GDAL 3.12 leaves them out.
#[test]
fn transparent_colours_do_not_run() {
    // One reduced pixel of RGBA: 10 and 20 are seen, 200 is not, and the right pair is not at all.
    #[rustfmt::skip]
    let bands = [
        [10, 200, 9, 9, /**/ 20, 200, 9, 9],
        [10, 200, 9, 9, /**/ 20, 200, 9, 9],
        [10, 200, 9, 9, /**/ 20, 200, 9, 9],
        [100, 0, 0, 0, /**/ 255, 0, 0, 0],
    ];
    let mut pixels = noise(4, 2, 4);
    pixels.bytes = bands.concat();
    for planar in [Planar::Chunky, Planar::Separate] {
        let options = WriteOptions::new().planar(planar).overviews(Overviews::Count(1));
        let context = Context::default();
        let spec = spec_of(&pixels);
        let write = |spec: RasterSpec, options: &WriteOptions| {
            let cut = Cut::Rows(1);
            open(write_to_memory(&pixels, None, spec, options, cut, Interleave::BandFirst, &context).unwrap())
        };
        let dataset = write(spec.clone(), &options);
        assert_eq!(level(&dataset, 1), [15, 0, 15, 0, 15, 0, 178, 0], "{planar:?}");
        assert_eq!(level(&dataset, 0), pixels.bytes);
        // A fourth band that is not alpha is a band.
        let plain = spec.photometric(Photometric::MinIsBlack);
        let dataset = write(plain, &options);
        assert_eq!(level(&dataset, 1), [108, 9, 108, 9, 108, 9, 89, 0], "{planar:?}");
        let nearest = options.resampling(Resampling::Nearest);
        let dataset = write(spec_of(&pixels), &nearest);
        assert_eq!(level(&dataset, 1), [10, 9, 10, 9, 10, 9, 100, 0], "{planar:?}");
    }
}

/// Overviews of an image in strips are tiled: strips of a few rows do not ask for more of them.
#[test]
fn strips_have_as_many_levels_as_tiles() {
    let levels = |blocks: BlockChoice| {
        let spec = RasterSpec::new(3000, 2000, 1, DataType::U8);
        let options = WriteOptions::new().blocks(blocks).overviews(Overviews::UntilOneBlock);
        let sink = Box::new(MemorySink::new());
        let plan = Writer::create(sink, spec, &options, &Context::default()).unwrap().explain();
        plan.lines().filter(|line| line.starts_with("level")).count()
    };
    assert_eq!(levels(BlockChoice::Auto), 3);
    assert_eq!(levels(BlockChoice::Strips { rows: 4 }), 3);
}

#[test]
fn what_would_change_nothing_or_everything_is_refused() {
    let refuse = |spec: RasterSpec, options: WriteOptions, words: &str| {
        let sink = Box::new(MemorySink::new());
        let error = Writer::create(sink, spec, &options, &Context::default()).err().expect(words).to_string();
        assert!(error.contains(words), "{error}");
    };
    let spec = || RasterSpec::new(10, 10, 3, DataType::U8);
    let options = WriteOptions::default;
    let lzw = || options().compression(Compression::Lzw);
    refuse(spec(), lzw().level(6), "compression lzw has no use for a level");
    refuse(spec(), options().quality(6), "no use for a quality");
    refuse(spec(), options().max_error(0.1), "no use for a maximum error");
    refuse(spec(), lzw().lossless(true), "no use for a choice of lossless");
    refuse(spec(), options().lerc(LercWrapper::Zstd), "no use for a stream around LERC");
    let lerc = options().compression(Compression::Lerc).level(3);
    refuse(spec(), lerc, "compression lerc has no use for a level");
    let extra = Some(vec![strile::tiff::ExtraSample::UnassociatedAlpha]);
    refuse(spec().extra_samples(extra), options(), "1 samples beyond the colours of rgb");
    let turned = spec().photometric(Photometric::YCbCr);
    refuse(turned, options(), "pixels are given as rgb");
    for tag in [Tag::TileOffsets, Tag::ImageWidth, Tag::Compression] {
        let extra_fields = vec![(tag, FieldValue::long(1))];
        refuse(spec().extra_fields(extra_fields), options(), "cannot be a further tag");
    }
}
