//! Overviews added to files that are there: what is appended, what stays, and what a failure leaves.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::path::PathBuf;
use strile::cog::CogChecks;
use strile::convert::convert_into;
use strile::io::{FileSink, MemorySink, MemorySource};
use strile::overview::{OverviewOptions, OverviewOutcome, add_overviews, remove_overviews};
use strile::tiff::{ByteOrder, SampleFormat, SampleType, Variant};
use strile::write::{Format, WriteReport};
use strile::{
    Compression, Context, ConvertOptions, Dataset, Input, Layer, OpenOptions, ReadOptions, Resampling,
    WriteOptions,
};
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels};

const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };
const INT16: SampleType = SampleType { format: SampleFormat::Int, bits: 16 };

/// A folder with one file in it; both go away.
struct Place(tempfile::TempDir);

impl Place {
    fn with(bytes: &[u8]) -> Self {
        let place = Self(tempfile::TempDir::new().unwrap());
        std::fs::write(place.file(), bytes).unwrap();
        place
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("a.tif")
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.file()).unwrap()
    }

    fn open(&self) -> Dataset {
        Dataset::open(self.file()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn frame(order: ByteOrder, big: bool) -> FileFrame {
    FileFrame { order, big, file_order: FileOrder::DirectoriesFirst }
}

fn read(dataset: &Dataset, page: usize, level: usize, layer: Layer) -> Vec<u8> {
    let options = ReadOptions::new().page(page).level(level).layer(layer);
    dataset.read(&options, &Context::default()).unwrap().into_bytes().unwrap()
}

fn count(count: u32) -> OverviewOptions {
    OverviewOptions::new().count(count)
}

/// Writes overviews.
fn add(place: &Place, options: &OverviewOptions) -> WriteReport {
    match add_overviews(&place.file(), options, &Context::default()).unwrap() {
        OverviewOutcome::Written(report) => report,
        other => panic!("{other:?}"),
    }
}

fn sizes(dataset: &Dataset) -> Vec<(u32, u32)> {
    dataset.pages()[0].levels.iter().map(|level| (level.image.width, level.image.height)).collect()
}

/// Levels of `bytes` as a COG with the same blocks, for comparison.
fn as_cog(bytes: &[u8]) -> Dataset {
    let source = MemorySource::new("a.tif", bytes.to_vec());
    let dataset = Dataset::from_source(std::sync::Arc::new(source), &OpenOptions::default()).unwrap();
    let sink = MemorySink::new();
    let handle = sink.handle();
    let write = WriteOptions::new().format(Format::Cog).overviews(strile::write::Overviews::Count(2));
    let options = ConvertOptions::new().write(write);
    convert_into(&Input::Tiff(Box::new(dataset)), Box::new(sink), &options, &Context::default()).unwrap();
    let source = MemorySource::new("cog.tif", handle.take().unwrap().bytes);
    Dataset::from_source(std::sync::Arc::new(source), &OpenOptions::default()).unwrap()
}

/// Every form of a file, with a mask and a second page: the form stays, pixels stay, and the overviews are those
/// of a COG.
#[test]
fn every_form_of_file_takes_overviews() {
    let pixels = Pixels::generate(Pattern::Dem, INT16, [2, 100, 150], 3);
    let mask_pixels = Pixels::generate(Pattern::LandCover, UINT8, [1, 100, 150], 3);
    let other = Pixels::generate(Pattern::Noise, UINT8, [1, 9, 7], 4);
    for (order, big, grid, masked) in [
        (ByteOrder::Little, false, Grid::Tiles(32, 48), false),
        (ByteOrder::Little, true, Grid::Strips(7), true),
        (ByteOrder::Big, false, Grid::Strips(100), true),
        (ByteOrder::Big, true, Grid::Tiles(16, 16), false),
    ] {
        let spec = ImageSpec::new(INT16).grid(grid).codec(Codec::Lzw);
        let mut more = Vec::new();
        if masked {
            more.push((ImageSpec::new(UINT8).subfile_type(4).photometric(4), mask_pixels.clone()));
        }
        more.push((ImageSpec::new(UINT8), other.clone()));
        let built = spec.build_with(&pixels, &more, frame(order, big)).bytes;
        let place = Place::with(&built);
        // From memory: a handle of the file itself is refused once the file has changed.
        let before = std::sync::Arc::new(MemorySource::new("before.tif", built.clone()));
        let before = Dataset::from_source(before, &OpenOptions::default()).unwrap();
        assert_eq!(add(&place, &count(2)).levels, 3);
        let (after, cog) = (place.open(), as_cog(&built));
        let header = after.tiff().unwrap().header;
        assert_eq!((header.byte_order, header.variant == Variant::Big), (order, big));
        assert!(after.warnings().is_empty(), "{:?}", after.warnings());
        assert_eq!((before.pages().len(), after.pages().len()), (2, 2));
        let levels = &after.pages()[0].levels;
        let sizes: Vec<_> = levels.iter().map(|level| (level.image.width, level.image.height)).collect();
        assert_eq!(sizes, [(150, 100), (75, 50), (38, 25)]);
        assert!(levels.iter().all(|level| level.image.compression == Compression::Lzw));
        assert!(levels.iter().all(|level| level.mask.is_some() == masked), "{order:?} {big}");
        assert_eq!(read(&before, 1, 0, Layer::Pixels), read(&after, 1, 0, Layer::Pixels));
        let layers: &[Layer] = if masked { &[Layer::Pixels, Layer::Mask] } else { &[Layer::Pixels] };
        for &layer in layers {
            assert_eq!(read(&before, 0, 0, layer), read(&after, 0, 0, layer));
            for level in [1, 2] {
                let same = read(&cog, 0, level, layer) == read(&after, 0, level, layer);
                assert!(same, "{order:?} {big} {masked} {layer:?} {level}");
            }
        }
        // All that was there is there but the pointer to the next directory.
        let bytes = place.bytes();
        let changed = built.iter().zip(&bytes).filter(|(a, b)| a != b).count();
        assert!(changed <= 8, "{changed} bytes changed");
    }
}

#[test]
fn a_cog_says_that_it_is_none_any_longer() {
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 600, 700], 3);
    let built = ImageSpec::new(UINT8).build(&pixels, ByteOrder::Little, false);
    let place = Place::with(&built.bytes);
    let cog = place.0.path().join("cog.tif");
    let write = WriteOptions::new().format(Format::Cog).overviews(strile::write::Overviews::None);
    let options = ConvertOptions::new().write(write);
    let input = Input::open(place.file(), &OpenOptions::default()).unwrap();
    let sink = Box::new(FileSink::create(&cog, false).unwrap());
    convert_into(&input, sink, &options, &Context::default()).unwrap();
    add_overviews(&cog, &OverviewOptions::default(), &Context::default()).unwrap();
    let dataset = Dataset::open(&cog).unwrap();
    let report = dataset.validate_cog(&CogChecks::default(), &Context::default()).unwrap();
    assert_eq!(report.ghost.as_ref().unwrap().get("KNOWN_INCOMPATIBLE_EDITION"), Some("YES"));
    assert!(!report.is_valid(false), "{report:?}");
    assert_eq!(dataset.pages()[0].levels.len(), 2);
    assert_eq!(read(&dataset, 0, 0, Layer::Pixels), pixels.little_endian());
}

#[test]
fn overviews_beside_a_file_are_its_overviews() {
    let pixels = Pixels::generate(Pattern::LandCover, UINT8, [1, 100, 150], 3);
    let built = ImageSpec::new(UINT8).codec(Codec::Deflate).build(&pixels, ByteOrder::Little, false).bytes;
    let place = Place::with(&built);
    let options = count(2).external(true).resampling(Resampling::Nearest).compression(Compression::Zstd);
    add_overviews(&place.file(), &options, &Context::default()).unwrap();
    assert_eq!(place.names(), ["a.tif", "a.tif.ovr"]);
    assert_eq!(place.bytes(), built);
    let dataset = place.open();
    let levels: Vec<_> = dataset.pages()[0].levels.iter().map(|l| (l.file, l.image.compression)).collect();
    assert_eq!(levels, [(0, Compression::Deflate), (1, Compression::Zstd), (1, Compression::Zstd)]);
    let reduced = read(&dataset, 0, 1, Layer::Pixels);
    // Of every two rows and columns the second is GDAL's nearest of their common corner.
    let all = pixels.little_endian();
    let own = [all[0], all[1], all[150], all[151]];
    assert!(own.contains(&reduced[0]));
    let other = options.clone().count(1);
    assert!(add_overviews(&place.file(), &other, &Context::default()).is_err(), "others are there");
    let again = options.rebuild(true);
    add_overviews(&place.file(), &again, &Context::default()).unwrap();
}

#[test]
fn a_failure_leaves_the_file_as_it_was() {
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 100, 150], 3);
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(16, 16)).codec(Codec::Deflate);
    let mut built = spec.build(&pixels, ByteOrder::Little, false);
    // A block in the middle is damaged, so that reading stops after the sink was opened.
    let block = built.blocks[30].range.clone();
    built.bytes[block].fill(0xFF);
    let place = Place::with(&built.bytes);
    for options in [count(2), count(2).external(true)] {
        assert!(add_overviews(&place.file(), &options, &Context::default()).is_err());
        assert_eq!(place.bytes(), built.bytes);
        assert_eq!(place.names(), ["a.tif"]);
    }
}

/// What a killed process leaves: a longer file, in which no pointer leads to what was appended.
#[test]
fn what_was_appended_is_not_seen_before_the_pointer_is_changed() {
    let pixels = Pixels::generate(Pattern::Dem, INT16, [1, 100, 150], 3);
    let spec = ImageSpec::new(INT16).grid(Grid::Tiles(16, 16)).codec(Codec::Deflate);
    let built = spec.build(&pixels, ByteOrder::Big, false).bytes;
    let place = Place::with(&built);
    add_overviews(&place.file(), &count(2), &Context::default()).unwrap();
    let whole = place.bytes();
    for keep in [built.len() + 1, (built.len() + whole.len()) / 2, whole.len()] {
        let killed = [&built[..], &whole[built.len()..keep]].concat();
        std::fs::write(place.file(), killed).unwrap();
        let dataset = place.open();
        assert_eq!(dataset.pages()[0].levels.len(), 1);
        assert_eq!(read(&dataset, 0, 0, Layer::Pixels), pixels.little_endian());
        // And it takes overviews as before.
        add_overviews(&place.file(), &count(2), &Context::default()).unwrap();
        assert_eq!(place.open().pages()[0].levels.len(), 3);
    }
}

/// A file of every form with a mask and a second page that has an overview of its own: replaced overviews are those of a
/// file that never had others, what is not theirs stays, and any state on the way reads as the old file or as the new.
#[test]
fn overviews_are_replaced_and_all_else_stays() {
    let pixels = Pixels::generate(Pattern::Dem, INT16, [2, 100, 150], 3);
    let mask = Pixels::generate(Pattern::LandCover, UINT8, [1, 100, 150], 3);
    let other = Pixels::generate(Pattern::Noise, UINT8, [1, 9, 7], 4);
    let small = Pixels::generate(Pattern::Noise, UINT8, [1, 5, 4], 5);
    for (order, big) in [
        (ByteOrder::Little, false),
        (ByteOrder::Little, true),
        (ByteOrder::Big, false),
        (ByteOrder::Big, true),
    ] {
        let more = [
            (ImageSpec::new(UINT8).subfile_type(4).photometric(4), mask.clone()),
            (ImageSpec::new(UINT8), other.clone()),
            (ImageSpec::new(UINT8).subfile_type(1), small.clone()),
        ];
        let built =
            ImageSpec::new(INT16).codec(Codec::Lzw).build_with(&pixels, &more, frame(order, big)).bytes;
        let place = Place::with(&built);
        add(&place, &count(3).resampling(Resampling::Nearest));
        let before = place.bytes();
        let wanted = OverviewOptions::new().factors(vec![4, 2, 4]).rebuild(true);
        add(&place, &wanted);
        let after = place.bytes();
        let dataset = place.open();
        assert!(dataset.warnings().is_empty(), "{:?}", dataset.warnings());
        assert_eq!(sizes(&dataset), [(150, 100), (75, 50), (38, 25)]);
        assert_eq!(dataset.pages().len(), 2);
        assert_eq!(dataset.pages()[1].levels.len(), 2);
        assert_eq!(read(&dataset, 1, 0, Layer::Pixels), other.little_endian());
        assert_eq!(read(&dataset, 1, 1, Layer::Pixels), small.little_endian());
        let fresh = Place::with(&built);
        add(&fresh, &count(2));
        let fresh = fresh.open();
        for layer in [Layer::Pixels, Layer::Mask] {
            for level in [0, 1, 2] {
                assert!(read(&dataset, 0, level, layer) == read(&fresh, 0, level, layer), "{layer:?}");
            }
        }
        // Old bytes but for one pointer, and all of the new behind them: what a crash can leave.
        let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        assert!((1..=8).contains(&changed), "{changed} bytes changed");
        std::fs::write(place.file(), [&before[..], &after[before.len()..]].concat()).unwrap();
        assert_eq!(sizes(&place.open()).len(), 4);

        // The kept mask had to be copied: it stood before the overviews that went.
        std::fs::write(place.file(), &after).unwrap();
        assert_eq!(remove_overviews(&place.file(), false).unwrap(), 2);
        let dataset = place.open();
        assert!(dataset.warnings().is_empty(), "{:?}", dataset.warnings());
        assert_eq!(
            (sizes(&dataset).len(), dataset.pages().len(), dataset.pages()[1].levels.len()),
            (1, 2, 2)
        );
        assert!(dataset.pages()[0].levels[0].mask.is_some());
        assert_eq!(remove_overviews(&place.file(), false).unwrap(), 0);
    }
}

/// Overviews between the image and other directories: those are copied, with the pointers between them.
#[test]
fn directories_behind_overviews_are_linked_again() {
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 100, 150], 3);
    let half = Pixels::generate(Pattern::Dem, UINT8, [1, 50, 75], 3);
    let quarter = Pixels::generate(Pattern::Dem, UINT8, [1, 25, 38], 3);
    let other = Pixels::generate(Pattern::Noise, UINT8, [1, 9, 7], 4);
    let mask = |pattern, size| {
        (ImageSpec::new(UINT8).subfile_type(4).photometric(4), Pixels::generate(pattern, UINT8, size, 3))
    };
    let reduced_mask = ImageSpec::new(UINT8).subfile_type(5).photometric(4);
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for big in [false, true] {
            let more = [
                (ImageSpec::new(UINT8).subfile_type(1), half.clone()),
                mask(Pattern::LandCover, [1, 100, 150]),
                (reduced_mask.clone(), Pixels::generate(Pattern::LandCover, UINT8, [1, 50, 75], 3)),
                (ImageSpec::new(UINT8).subfile_type(1), quarter.clone()),
                (ImageSpec::new(UINT8), other.clone()),
            ];
            let built = ImageSpec::new(UINT8).build_with(&pixels, &more, frame(order, big)).bytes;
            let place = Place::with(&built);
            let masked = read(&place.open(), 0, 0, Layer::Mask);
            assert_eq!(sizes(&place.open()).len(), 3);
            add(&place, &count(1).rebuild(true));
            let dataset = place.open();
            assert_eq!(sizes(&dataset), [(150, 100), (75, 50)]);
            assert_eq!(read(&dataset, 0, 0, Layer::Pixels), pixels.little_endian());
            assert_eq!(read(&dataset, 0, 0, Layer::Mask), masked);
            assert!(dataset.pages()[0].levels[1].mask.is_some());
            assert_eq!(dataset.pages().len(), 2);
            assert_eq!(read(&dataset, 1, 0, Layer::Pixels), other.little_endian());
            assert!(dataset.warnings().is_empty(), "{:?}", dataset.warnings());
            assert_eq!(remove_overviews(&place.file(), false).unwrap(), 1);
            let dataset = place.open();
            assert_eq!((sizes(&dataset).len(), dataset.pages().len()), (1, 2));
            assert_eq!(read(&dataset, 0, 0, Layer::Mask), masked);
        }
    }
}

#[test]
fn what_is_there_already_is_left_and_what_is_not_needed_is_not_made() {
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 100, 150], 3);
    let built =
        ImageSpec::new(UINT8).grid(Grid::Tiles(64, 64)).build(&pixels, ByteOrder::Little, false).bytes;
    let place = Place::with(&built);
    let context = Context::default();
    add(&place, &OverviewOptions::default());
    let bytes = place.bytes();
    let outcome = |options: &OverviewOptions| add_overviews(&place.file(), options, &context);
    assert_eq!(outcome(&OverviewOptions::default()).unwrap(), OverviewOutcome::AlreadyThere(2));
    assert_eq!(outcome(&count(2)).unwrap(), OverviewOutcome::AlreadyThere(2));
    let factors = |list: &[u32]| OverviewOptions::new().factors(list.to_vec());
    assert_eq!(outcome(&factors(&[4, 2])).unwrap(), OverviewOutcome::AlreadyThere(2));
    let zstd = count(2).compression(Compression::Zstd);
    for (options, why) in [
        (count(1), "set `rebuild`"),
        (factors(&[4]), "set `rebuild`"),
        (zstd, "set `rebuild`"),
        (count(2).external(true), "in the file itself"),
        (factors(&[3]), "factor 3: expected powers of two"),
        (factors(&[1]), "factor 1: expected powers of two"),
        (factors(&[]), "no overview is asked for"),
        (factors(&[2]).count(1), "choose one"),
        (factors(&[1024]), "1024 times smaller"),
    ] {
        let refused = outcome(&options).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(place.bytes(), bytes);

    let small = Place::with(&ImageSpec::new(UINT8).build(&pixels, ByteOrder::Little, false).bytes);
    let bytes = small.bytes();
    let done = add_overviews(&small.file(), &OverviewOptions::default(), &context).unwrap();
    assert_eq!((done, small.bytes()), (OverviewOutcome::NotNeeded, bytes));

    let external = count(1).external(true);
    add(&small, &external);
    let refused = add_overviews(&small.file(), &count(1), &context).unwrap_err().to_string();
    assert!(refused.contains("set `external`"), "{refused}");
    assert_eq!(remove_overviews(&small.file(), false).unwrap(), 0);
    assert_eq!(remove_overviews(&small.file(), true).unwrap(), 1);
    assert_eq!(small.names(), ["a.tif"]);
}
