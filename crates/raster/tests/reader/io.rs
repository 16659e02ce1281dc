//! Which bytes are asked for, in words: how many requests opening takes, and what a window reads.

use crate::sources::{Bucket, Trouble, open_bucket, read};
use std::ops::Range;
use std::sync::Arc;
use strile::tiff::Limits;
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, OpenOptions, ReadOptions, Window};
use testkit::{Built, Directory, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, Tag, TiffBuilder};

const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };

/// Requests in words, a line for each call: `blocks 1 2 of image 0 | 40 bytes of values`.
fn words(built: &Built, requests: &[Vec<Range<u64>>]) -> Vec<String> {
    let tell = |range: &Range<u64>| {
        let range = range.start as usize..range.end as usize;
        let inside = |part: &Range<usize>| range.start <= part.start && part.end <= range.end;
        let blocks: Vec<_> = built.blocks.iter().filter(|block| inside(&block.range)).collect();
        if range.start == 0 {
            let directories = built.directories.iter().filter(|d| inside(d)).count();
            return format!("header and {directories} of {} directories", built.directories.len());
        }
        if let Some(table) = built.values.iter().position(|v| v.start <= range.start && range.end <= v.end) {
            return format!("{} bytes of value {table}", range.len());
        }
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else {
            return format!("{} bytes", range.len());
        };
        assert_eq!((first.range.start, last.range.end), (range.start, range.end), "blocks and nothing else");
        let numbers: Vec<String> = blocks.iter().map(|block| block.index.to_string()).collect();
        format!("blocks {} of image {}", numbers.join(" "), first.directory)
    };
    requests.iter().map(|call| call.iter().map(tell).collect::<Vec<_>>().join(" | ")).collect()
}

fn window(x: u32, y: u32, width: u32, height: u32) -> ReadOptions {
    ReadOptions::new().window(Window::new(x, y, width, height))
}

/// A COG of 4 × 3 stored tiles of 512 × 256 bytes, 128 KiB each, farther apart than ranges are merged over, and
/// an overview.
fn cog(file_order: FileOrder) -> Built {
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(512, 256));
    let mut pixels = Pixels::zeroed(UINT8.data_type().unwrap(), 1, 3 * 256, 4 * 512);
    for (at, byte) in pixels.bytes.iter_mut().enumerate() {
        *byte = (at / 7) as u8;
    }
    let overview = (spec.clone().subfile_type(1), pixels.halved());
    spec.build_with(&pixels, &[overview], FileFrame { order: ByteOrder::Little, big: false, file_order })
}

#[test]
fn opening_a_cog_takes_one_request() {
    let built = cog(FileOrder::CogWithGhost);
    let (bucket, dataset) = open_bucket(&built.bytes);
    assert_eq!(words(&built, &bucket.requests()), ["header and 2 of 2 directories"]);
    // Everything about the file is known now.
    assert_eq!(dataset.pages()[0].levels.len(), 2);
    dataset.plan(&ReadOptions::default(), &Context::default()).unwrap();
    assert_eq!(words(&built, &bucket.requests()), [""; 0], "a plan reads nothing");
}

#[test]
fn opening_a_file_with_directories_at_its_end_takes_a_request_for_each() {
    let built = cog(FileOrder::BlocksFirst);
    let (bucket, _) = open_bucket(&built.bytes);
    let requests = bucket.requests();
    assert_eq!(requests.len(), 3, "{:?}", words(&built, &requests));
    let bytes: u64 = requests.iter().flatten().map(|range| range.end - range.start).sum();
    // What is read at a directory is more each time: one that lies behind it would cost no request.
    assert!(bytes <= (32 + 64 + 128) << 10, "{bytes} bytes of {}", built.bytes.len());
}

#[test]
fn a_window_reads_only_the_blocks_it_touches() {
    let built = cog(FileOrder::CogWithGhost);
    let (bucket, dataset) = open_bucket(&built.bytes);
    let reads = |options: &ReadOptions| {
        bucket.requests();
        read(&dataset, options);
        words(&built, &bucket.requests())
    };
    assert_eq!(reads(&window(600, 10, 1, 1)), ["blocks 1 of image 0"]);
    assert_eq!(reads(&window(1023, 255, 2, 1)), ["blocks 1 2 of image 0"], "neighbours are one range");
    assert_eq!(reads(&window(1023, 255, 1, 2)), ["blocks 1 of image 0 | blocks 5 of image 0"]);
    assert_eq!(
        reads(&window(512, 0, 1536, 512)),
        ["blocks 1 2 3 of image 0 | blocks 5 6 7 of image 0"],
        "both rows go out together"
    );
    assert_eq!(reads(&ReadOptions::default()), ["blocks 0 1 2 3 4 5 6 7 8 9 10 11 of image 0"]);
    let overview = window(0, 0, 1024, 128).level(1);
    assert_eq!(reads(&overview), ["blocks 0 1 of image 1"]);
}

#[test]
fn bands_that_lie_apart_are_read_apart() {
    let spec = ImageSpec::new(UINT8).grid(Grid::Strips(200)).planar(true);
    let pixels = Pixels::generate(Pattern::LandCover, UINT8, [3, 400, 500], 1);
    let built = spec.build(&pixels, ByteOrder::Big, true);
    let (bucket, dataset) = open_bucket(&built.bytes);
    bucket.requests();
    let options = window(0, 300, 500, 10).bands([3, 1]);
    let raster = read(&dataset, &options);
    // Strips 1 and 5 of six: the second of the first band and of the third.
    assert_eq!(words(&built, &bucket.requests()), ["blocks 1 of image 0 | blocks 5 of image 0"]);
    assert_eq!(raster.bytes().unwrap()[..500], pixels.bytes[2 * 200_000 + 300 * 500..][..500]);
}

#[test]
fn blocks_near_each_other_are_fetched_as_one_range() {
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(16, 16));
    let pixels = Pixels::generate(Pattern::LandCover, UINT8, [1, 64, 64], 1);
    let built = spec.build(&pixels, ByteOrder::Little, false);
    let (bucket, dataset) = open_bucket(&built.bytes);
    bucket.requests();
    read(&dataset, &window(16, 0, 16, 64));
    let wanted = "blocks 1 2 3 4 5 6 7 8 9 10 11 12 13 of image 0";
    assert_eq!(words(&built, &bucket.requests()), [wanted], "what lies between costs less than a request");
}

/// Two planes of 100 × 100 tiles of which three are stored: tables of 80,000 bytes.
fn large_tables() -> Built {
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(16, 16)).planar(true);
    let tiny = Pixels::zeroed(UINT8.data_type().unwrap(), 2, 1, 1);
    let mut directory: Directory = spec.directory(&tiny, ByteOrder::Little, false);
    directory.set(Tag::long(256, 1600)).set(Tag::long(257, 1600));
    directory.blocks = vec![None; 20_000];
    for (at, value) in [(4321, 1), (4322, 2), (14_321, 3)] {
        directory.blocks[at] = Some(vec![value; 256]);
    }
    TiffBuilder::new(ByteOrder::Little, false)
        .file_order(FileOrder::DirectoriesFirst)
        .directory(directory)
        .build()
}

#[test]
fn large_block_tables_are_fetched_in_the_pieces_a_window_needs() {
    let built = large_tables();
    let bucket = Arc::new(Bucket::new(&built.bytes));
    let limits = Limits { block_table_bytes: 1000, ..Limits::default() };
    let options = OpenOptions::new().limits(limits);
    let dataset = Dataset::from_source(Arc::<Bucket>::clone(&bucket), &options).unwrap();
    assert_eq!(words(&built, &bucket.requests()), ["header and 1 of 1 directories"]);
    // Tiles 21 and 22 of row 43, in both planes: two numbers of each table, and the same 40,000 bytes on.
    let raster = read(&dataset, &window(21 * 16, 43 * 16, 32, 16));
    let band = |tiles: [u8; 2]| tiles.map(|tile| [tile; 16]).concat().repeat(16);
    assert_eq!(
        raster.bytes().unwrap(),
        [band([1, 2]), band([3, 0])].concat(),
        "the second tile of band 2 is sparse"
    );
    let calls = words(&built, &bucket.requests());
    let asked: Vec<&str> = calls.iter().flat_map(|call| call.split(" | ")).collect();
    let table = |value: usize| format!("8 bytes of value {value}");
    let tables: Vec<&str> = asked.iter().copied().filter(|words| words.contains("value")).collect();
    let (offsets, sizes) = (built.values.len() - 2, built.values.len() - 1);
    assert_eq!(tables.len(), 4, "{asked:?}");
    for value in [offsets, sizes] {
        assert_eq!(tables.iter().filter(|words| **words == table(value)).count(), 2, "{asked:?}");
    }
    assert_eq!(*asked.last().unwrap(), "blocks 4321 4322 14321 of image 0");
}

#[test]
fn tables_fetched_in_pieces_say_the_same_as_tables_fetched_whole() {
    let built = large_tables();
    let open = |block_table_bytes| {
        let limits = Limits { block_table_bytes, ..Limits::default() };
        let options = OpenOptions::new().limits(limits);
        Dataset::from_source(Arc::new(Bucket::new(&built.bytes)), &options).unwrap()
    };
    let (whole, pieces) = (open(1 << 20), open(1000));
    for options in [ReadOptions::default(), window(0, 0, 1, 1600), window(100, 680, 1500, 40)] {
        assert!(read(&whole, &options).bytes().unwrap() == read(&pieces, &options).bytes().unwrap());
    }
}

#[test]
fn a_source_that_fails_is_the_error() {
    let built = cog(FileOrder::CogWithGhost);
    let block = built.blocks.iter().find(|block| (block.directory, block.index) == (0, 5)).unwrap();
    for (trouble, message) in [
        (Trouble::Refused(block.range.start as u64), "bucket: connection reset by the bucket"),
        (Trouble::Short(block.range.start as u64), "bucket: unexpected end of file"),
    ] {
        let bucket = Bucket::new(&built.bytes).with(trouble);
        let dataset = Dataset::from_source(Arc::new(bucket), &OpenOptions::default()).unwrap();
        let error = dataset.read(&ReadOptions::default(), &Context::default()).unwrap_err();
        assert_eq!(error.to_string(), message);
        read(&dataset, &window(0, 0, 512, 256));
    }
    let refused = Bucket::new(&built.bytes).with(Trouble::Refused(0));
    let error = Dataset::from_source(Arc::new(refused), &OpenOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "bucket: connection reset by the bucket", "while opening");
}

/// One strip of 2048 rows, stored: what many programs write when they are not told otherwise.
fn one_strip(sample: SampleType) -> (Built, Pixels) {
    let pixels = Pixels::generate(Pattern::Noise, sample, [2, 2048, 1001], 5);
    let spec = ImageSpec::new(sample).grid(Grid::Strips(2048));
    (spec.build(&pixels, ByteOrder::Big, false), pixels)
}

#[test]
fn a_window_of_one_stored_strip_reads_its_rows_and_no_others() {
    for bits in [1, 12, 16] {
        let (built, pixels) = one_strip(SampleType { format: SampleFormat::Uint, bits });
        let (bucket, dataset) = open_bucket(&built.bytes);
        bucket.requests();
        let raster = read(&dataset, &window(13, 700, 500, 3));
        assert!(raster.bytes().unwrap() == pixels.crop((700, 3), (13, 500)).bytes, "{bits} bits");
        let asked: u64 = bucket.requests().iter().flatten().map(|range| range.end - range.start).sum();
        let row = u64::from(bits) * 2 * 1001;
        assert_eq!(asked, 3 * row.div_ceil(8), "{bits} bits");
        assert!(
            read(&dataset, &ReadOptions::default()).bytes().unwrap() == pixels.bytes,
            "{bits} bits, all rows"
        );
    }
}

#[test]
fn a_stored_strip_that_ends_early_is_one_fault() {
    let (built, _) = one_strip(UINT8);
    let end = built.bytes.len();
    // The directory comes after the blocks: take bytes out of the strip by stating fewer.
    let dataset = strile::Dataset::from_source(
        Arc::new(strile::io::MemorySource::new("cut.tif", shorten(&built))),
        &OpenOptions::default(),
    )
    .unwrap();
    let error = dataset.read(&ReadOptions::default(), &Context::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "cut.tif: block (column 0, row 0): compressed data ends early: expected 4100096 decompressed bytes, got 4100095"
    );
    assert!(end > 4_100_096);
}

/// The file with one byte less in its StripByteCounts.
fn shorten(built: &Built) -> Vec<u8> {
    let mut bytes = built.bytes.clone();
    let stated = 4_100_096u32.to_be_bytes();
    let at = built.directories[0].clone().find(|&at| bytes[at..].starts_with(&stated)).unwrap();
    bytes[at..at + 4].copy_from_slice(&4_100_095u32.to_be_bytes());
    bytes
}
