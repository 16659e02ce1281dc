//! Overviews added to files that are there: what is appended, what stays, and what a failure leaves.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::path::PathBuf;
use strile::tiff::{ByteOrder, SampleFormat, SampleType, Variant};
use strile::{
    CogChecks, Compression, Context, ConvertOptions, Dataset, FileSink, Format, Input, Layer, MemorySink,
    MemorySource, OpenOptions, OverviewOptions, ReadOptions, Resampling, WriteOptions, add_overviews,
    convert,
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

fn read(dataset: &Dataset, page: usize, overview: Option<usize>, layer: Layer) -> Vec<u8> {
    let options = ReadOptions { page, overview, layer, ..ReadOptions::default() };
    dataset.read(&options, &Context::default()).unwrap().pixels
}

fn count(count: u32) -> OverviewOptions {
    OverviewOptions { count: Some(count), ..OverviewOptions::default() }
}

/// Levels of `bytes` as a COG with the same blocks, for comparison.
fn as_cog(bytes: &[u8]) -> Dataset {
    let source = MemorySource::new("a.tif", bytes.to_vec());
    let dataset = Dataset::from_source(std::sync::Arc::new(source), &OpenOptions::default()).unwrap();
    let sink = MemorySink::new();
    let handle = sink.handle();
    let write = WriteOptions {
        format: Format::Cog,
        overviews: strile::Overviews::Count(2),
        ..WriteOptions::default()
    };
    let options = ConvertOptions { write, ..ConvertOptions::default() };
    convert(&Input::Tiff(Box::new(dataset)), Box::new(sink), &options, &Context::default()).unwrap();
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
        let report = add_overviews(&place.file(), &count(2), &Context::default()).unwrap();
        assert_eq!(report.levels, 3);
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
        assert_eq!(read(&before, 1, None, Layer::Pixels), read(&after, 1, None, Layer::Pixels));
        let layers: &[Layer] = if masked { &[Layer::Pixels, Layer::Mask] } else { &[Layer::Pixels] };
        for &layer in layers {
            assert_eq!(read(&before, 0, None, layer), read(&after, 0, None, layer));
            for overview in [0, 1] {
                let same = read(&cog, 0, Some(overview), layer) == read(&after, 0, Some(overview), layer);
                assert!(same, "{order:?} {big} {masked} {layer:?} {overview}");
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
    let write =
        WriteOptions { format: Format::Cog, overviews: strile::Overviews::None, ..WriteOptions::default() };
    let options = ConvertOptions { write, ..ConvertOptions::default() };
    let input = Input::open(place.file(), &OpenOptions::default()).unwrap();
    let sink = Box::new(FileSink::create(&cog, false).unwrap());
    convert(&input, sink, &options, &Context::default()).unwrap();
    add_overviews(&cog, &OverviewOptions::default(), &Context::default()).unwrap();
    let dataset = Dataset::open(&cog).unwrap();
    let report = dataset.validate_cog(&CogChecks::default(), &Context::default()).unwrap();
    assert_eq!(report.ghost.as_ref().unwrap().get("KNOWN_INCOMPATIBLE_EDITION"), Some("YES"));
    assert!(!report.is_valid(false), "{report:?}");
    assert_eq!(dataset.pages()[0].levels.len(), 2);
    assert_eq!(read(&dataset, 0, None, Layer::Pixels), pixels.little_endian());
}

#[test]
fn overviews_beside_a_file_are_its_overviews() {
    let pixels = Pixels::generate(Pattern::LandCover, UINT8, [1, 100, 150], 3);
    let built = ImageSpec::new(UINT8).codec(Codec::Deflate).build(&pixels, ByteOrder::Little, false).bytes;
    let place = Place::with(&built);
    let options = OverviewOptions {
        external: true,
        resampling: Some(Resampling::Nearest),
        compression: Some(Compression::Zstd),
        ..count(2)
    };
    add_overviews(&place.file(), &options, &Context::default()).unwrap();
    assert_eq!(place.names(), ["a.tif", "a.tif.ovr"]);
    assert_eq!(place.bytes(), built);
    let dataset = place.open();
    let levels: Vec<_> = dataset.pages()[0].levels.iter().map(|l| (l.file, l.image.compression)).collect();
    assert_eq!(levels, [(0, Compression::Deflate), (1, Compression::Zstd), (1, Compression::Zstd)]);
    let reduced = read(&dataset, 0, Some(0), Layer::Pixels);
    // Of every two rows and columns the second is GDAL's nearest of their common corner.
    let all = pixels.little_endian();
    let own = [all[0], all[1], all[150], all[151]];
    assert!(own.contains(&reduced[0]));
    assert!(add_overviews(&place.file(), &options, &Context::default()).is_err(), "it is there");
    let again = OverviewOptions { overwrite: true, ..options };
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
    for options in [count(2), OverviewOptions { external: true, ..count(2) }] {
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
        assert_eq!(read(&dataset, 0, None, Layer::Pixels), pixels.little_endian());
        // And it takes overviews as before.
        add_overviews(&place.file(), &count(2), &Context::default()).unwrap();
        assert_eq!(place.open().pages()[0].levels.len(), 3);
    }
}
