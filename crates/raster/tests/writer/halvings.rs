//! Overviews that are chosen among the halvings: those alone are in the file, with the pixels they have where all are.

use crate::identity::agree;
use crate::{Cut, open, spec_of, write_to_memory};
use strile::cog::CogChecks;
use strile::io::MemorySink;
use strile::read::Interleave;
use strile::tiff::Planar;
use strile::tiff::gdal::NoData;
use strile::tiff::{SampleFormat, SampleType};
use strile::write::{BlockChoice, Format, Overviews, Piece};
use strile::{
    Compression, Context, DataType, Dataset, Layer, RasterSpec, ReadOptions, Resampling, Window,
    WriteOptions, Writer,
};
use testkit::{Pattern, Pixels};

const TILES: BlockChoice = BlockChoice::Tiles { width: 32, height: 16 };
const CHOICES: [&[u32]; 4] = [&[4], &[2, 8], &[8], &[2, 4]];

/// Options of a plain file straight and spooled, of one in strips, and of COGs, and whether there is a mask; by methods
/// with a halo and without.
fn cases() -> Vec<(WriteOptions, bool)> {
    let average = WriteOptions::new().blocks(TILES).resampling(Resampling::Average);
    let cubic = average.clone().resampling(Resampling::Cubic);
    let cog = |options: &WriteOptions| options.clone().format(Format::Cog);
    vec![
        (average.clone(), false),
        (cubic.clone().spooled(true), true),
        (cubic.clone().blocks(BlockChoice::Strips { rows: 3 }), true),
        (cog(&average), true),
        (cog(&cubic).sparse(true), true),
        (cog(&cubic).planar(Planar::Separate), false),
    ]
}

fn raster() -> (Pixels, Vec<u8>) {
    let sample = SampleType { format: SampleFormat::Int, bits: 16 };
    let pixels = Pixels::generate(Pattern::Dem, sample, [2, 101, 131], 7);
    let mask = (0..101u32 * 131).map(|i| u8::from((i / 131 + i % 131) % 37 < 30)).collect();
    (pixels, mask)
}

fn with(options: &WriteOptions, overviews: Overviews) -> WriteOptions {
    options.clone().overviews(overviews)
}

fn read(dataset: &Dataset, level: usize, layer: Layer) -> Vec<u8> {
    let options = ReadOptions::new().level(level).layer(layer);
    dataset.read(&options, &Context::default()).unwrap().into_bytes().unwrap()
}

#[test]
fn those_asked_for_are_in_the_file_and_no_other() {
    let (pixels, mask) = raster();
    let context = Context::default();
    for (options, masked) in cases() {
        let mask = masked.then_some(&mask[..]);
        let mut spec = spec_of(&pixels).mask(masked);
        spec.metadata.nodata = Some(NoData::Integer(-3));
        let write = |overviews: Overviews| {
            let (options, first) = (with(&options, overviews), Interleave::BandFirst);
            open(
                write_to_memory(&pixels, mask, spec.clone(), &options, Cut::Rows(20), first, &context)
                    .unwrap(),
            )
        };
        let all = write(Overviews::Count(3));
        for factors in CHOICES {
            let name = format!("{factors:?} of {options:?}");
            let some = write(Overviews::factors(factors).unwrap());
            let levels = &some.pages()[0].levels;
            let sizes: Vec<_> = levels.iter().map(|level| (level.image.width, level.image.height)).collect();
            let expected = [1].iter().chain(factors).map(|by| (131u32.div_ceil(*by), 101u32.div_ceil(*by)));
            assert_eq!(sizes, expected.collect::<Vec<_>>(), "{name}");
            let directories = some.tiff().unwrap().directories.len();
            assert_eq!(directories, sizes.len() * (1 + usize::from(masked)), "{name}");
            let layers: &[Layer] = if masked { &[Layer::Pixels, Layer::Mask] } else { &[Layer::Pixels] };
            for &layer in layers {
                assert!(read(&some, 0, layer) == read(&all, 0, layer), "{name}: {layer:?}");
                for (level, factor) in (1..).zip(factors) {
                    let among = factor.trailing_zeros() as usize;
                    let same = read(&some, level, layer) == read(&all, among, layer);
                    assert!(same, "{name}: {layer:?} of {factor}");
                }
            }
            if options.format == Format::Cog {
                let report = some.validate_cog(&CogChecks::default(), &context).unwrap();
                assert!(report.is_valid(true), "{name}: {report:?}");
            }
        }
    }
}

#[test]
fn streamed_is_eager() {
    let (pixels, mask) = raster();
    for (options, masked) in cases() {
        let spec = spec_of(&pixels).mask(masked);
        let options = with(&options, Overviews::factors(&[4]).unwrap());
        agree("a quarter", &pixels, masked.then_some(&mask[..]), &spec, &options);
    }
}

/// All halvings, chosen one by one, are as many halvings: the same file.
#[test]
fn none_left_out_is_a_count() {
    let (pixels, _) = raster();
    for (options, _) in cases() {
        let write = |overviews: Overviews| {
            let (options, first) = (with(&options, overviews), Interleave::BandFirst);
            let context = Context::default();
            write_to_memory(&pixels, None, spec_of(&pixels), &options, Cut::Eager, first, &context).unwrap()
        };
        assert!(write(Overviews::factors(&[2, 4, 8]).unwrap()) == write(Overviews::Count(3)));
        assert!(write(Overviews::factors(&[]).unwrap()) == write(Overviews::None));
    }
}

#[test]
fn the_plan_and_the_report_tell_what_is_stored() {
    let options = WriteOptions::new()
        .blocks(TILES)
        .compression(Compression::None)
        .overviews(Overviews::factors(&[2, 8]).unwrap());
    let spec = RasterSpec::new(128, 64, 1, DataType::U8);
    let begin = |options: &WriteOptions| {
        let sink = Box::new(MemorySink::new());
        Writer::create(sink, spec.clone(), options, &Context::default()).unwrap()
    };
    let mut writer = begin(&options);
    let text = writer.explain();
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("image")).collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[1].starts_with("level 1 64 × 32 in 4 tiles of 32 × 16"), "{text}");
    assert_eq!(lines[2], "halved  32 × 16, for the next level alone: not stored");
    assert!(lines[3].starts_with("level 2 16 × 8 in 1 tile of 32 × 16"), "{text}");
    assert_eq!(writer.blocks(), 16 + 4 + 1);
    let window = Window::new(0, 0, 128, 64);
    let pixels = vec![7; 128 * 64];
    let piece = Piece::contiguous(window, 1, DataType::U8, Interleave::BandFirst, &pixels).unwrap();
    writer.write(&piece).unwrap();
    let report = writer.finish().unwrap();
    assert_eq!((report.levels, report.blocks), (3, 21));
}

#[test]
fn what_is_no_choice_of_halvings_is_refused() {
    for factors in [&[1][..], &[0], &[3], &[2, 6], &[4, 2], &[2, 2]] {
        assert_eq!(Overviews::factors(factors), None, "{factors:?}");
    }
    let create = |overviews: Overviews| {
        let options = WriteOptions::new().overviews(overviews);
        let spec = RasterSpec::new(10, 3, 1, DataType::U8);
        Writer::create(Box::new(MemorySink::new()), spec, &options, &Context::default())
    };
    assert!(create(Overviews::factors(&[16]).unwrap()).is_ok());
    let error = create(Overviews::factors(&[4, 1 << 31]).unwrap()).err().unwrap().to_string();
    let expected = "overviews 2147483648 times smaller: 10 × 3 pixels are one after 4 halvings";
    assert!(error.contains(expected), "{error}");
}
