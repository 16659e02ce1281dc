//! Files kept open in the head: few descriptors, states told apart, an index that saves reading headers.

use crate::made::{bytes_of, spec};
use crate::sources::Bucket;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use strile::batch::{BatchWindow, HeaderLimits, Headers, write_header_index};
use strile::io::Source;
use strile::{BatchOptions, Context, Dataset, OpenOptions, Processor, read_batch};
use tempfile::TempDir;
use testkit::{Codec, Random, geo_tags, mutate_bytes};

fn folder(files: u64) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let codecs = [Codec::Deflate, Codec::Lzw, Codec::Zstd, Codec::None];
    let paths = (0..files)
        .map(|seed| {
            let path = folder.path().join(format!("{seed}.tif"));
            std::fs::write(&path, bytes_of(&spec(codecs[seed as usize % 4].clone()), seed)).unwrap();
            path
        })
        .collect();
    (folder, paths)
}

fn headers(files: usize, open: usize) -> Headers {
    let limits = HeaderLimits::new().files(files).open(open);
    Headers::new(limits, OpenOptions::default())
}

fn pixels(files: &[Arc<Dataset>]) -> Result<Vec<u8>, String> {
    let windows: Vec<_> =
        (0..files.len()).map(|file| BatchWindow::of_pixels(file, 50, 40, (30, 20))).collect();
    let options = BatchOptions::new().decode_on(Processor::Cpu);
    let tensor =
        read_batch(files, &windows, &options, &Context::default()).map_err(|error| error.to_string())?;
    Ok(tensor.into_host(&Context::default()).unwrap().into_bytes().unwrap())
}

fn opened(paths: &[PathBuf]) -> Vec<Arc<Dataset>> {
    paths.iter().map(|path| Arc::new(Dataset::open(path).unwrap())).collect()
}

fn kept(headers: &Headers, paths: &[PathBuf]) -> Vec<Arc<Dataset>> {
    paths.iter().map(|path| headers.open(path).unwrap()).collect()
}

#[test]
fn few_files_are_open_and_all_can_be_read() {
    let (_folder, paths) = folder(40);
    let headers = headers(100, 4);
    let files = kept(&headers, &paths);
    assert!(pixels(&files).unwrap() == pixels(&opened(&paths)).unwrap());
    let (files_kept, bytes, open) = headers.held();
    assert_eq!((files_kept, open), (40, 4));
    assert!(bytes > 0);
    assert!(Arc::ptr_eq(&files[7], &headers.open(&paths[7]).unwrap()), "kept");
    drop(files);
    headers.clear();
    assert_eq!(headers.held(), (0, 0, 0));
}

#[test]
fn what_was_used_longest_ago_is_forgotten() {
    let (_folder, paths) = folder(6);
    let headers = headers(3, 100);
    let first = headers.open(&paths[0]).unwrap();
    kept(&headers, &paths[1..3]);
    assert!(Arc::ptr_eq(&first, &headers.open(&paths[0]).unwrap()));
    kept(&headers, &paths[3..5]);
    assert_eq!(headers.held().0, 3);
    assert!(Arc::ptr_eq(&first, &headers.open(&paths[0]).unwrap()), "used since");
    let small = HeaderLimits::new().bytes(10_000);
    let headers = Headers::new(small, OpenOptions::default());
    kept(&headers, &paths);
    assert!(headers.held().1 <= 10_000 && headers.held().0 >= 1, "{:?}", headers.held());
}

#[test]
fn another_state_of_a_file_is_another_file() {
    let (_folder, paths) = folder(2);
    let headers = headers(10, 1);
    let before = headers.open(&paths[0]).unwrap();
    let old = pixels(std::slice::from_ref(&before)).unwrap();
    std::fs::write(&paths[0], bytes_of(&spec(Codec::Lzw), 77)).unwrap();
    let later = SystemTime::now() + Duration::from_secs(5);
    File::options().write(true).open(&paths[0]).unwrap().set_modified(later).unwrap();
    let after = headers.open(&paths[0]).unwrap();
    assert!(!Arc::ptr_eq(&before, &after));
    assert!(pixels(&[after]).unwrap() != old);
    // The header that is held belongs to no file any more, once that was closed.
    headers.open(&paths[1]).unwrap();
    let problem = pixels(&[before]).unwrap_err();
    assert!(problem.contains("the file has changed since its header was read"), "{problem}");
    assert!(problem.contains("0.tif") && problem.starts_with("window 0"), "{problem}");
    std::fs::remove_file(&paths[0]).unwrap();
    assert!(headers.open(&paths[0]).is_err(), "gone");
}

/// Files with everything that lies beside a file.
fn with_sidecars() -> (TempDir, Vec<PathBuf>) {
    let (folder, paths) = folder(5);
    let mut bare = spec(Codec::Deflate);
    bare.tags.extend(geo_tags(32633, (10.0, 20.0), 1.0, false));
    std::fs::write(&paths[1], bytes_of(&bare, 8)).unwrap();
    let beside = |path: &Path, suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let pixels = testkit::Pixels::generate(testkit::Pattern::Dem, bare.sample, [3, 28, 38], 5);
    let overview = spec(Codec::Lzw).build(&pixels, strile::tiff::ByteOrder::Little, false).bytes;
    std::fs::write(beside(&paths[2], ".ovr"), overview).unwrap();
    let xml =
        "<PAMDataset><PAMRasterBand band=\"1\"><NoDataValue>5</NoDataValue></PAMRasterBand></PAMDataset>";
    std::fs::write(beside(&paths[3], ".aux.xml"), xml).unwrap();
    std::fs::write(paths[4].with_extension("tfw"), "2\n0\n0\n-2\n101\n199\n").unwrap();
    (folder, paths)
}

fn facts(dataset: &Dataset) -> String {
    let levels: Vec<_> =
        dataset.pages().iter().flat_map(|page| &page.levels).map(|level| &level.image).collect();
    format!("{levels:?} {:?} {:?}", dataset.metadata(), dataset.warnings())
}

#[test]
fn an_index_has_all_that_opening_needs() {
    let (folder, paths) = with_sidecars();
    let target = folder.path().join("index");
    let mut all = paths.clone();
    all.push(folder.path().join("none.tif"));
    let report = write_header_index(&target, &all, &OpenOptions::default(), &Context::default()).unwrap();
    assert_eq!((report.files, report.skipped.len()), (5, 1));
    assert_eq!(report.bytes, std::fs::metadata(&target).unwrap().len());
    assert!(report.bytes < 5 * 3000, "{} bytes", report.bytes);
    let expected: Vec<String> = opened(&paths).iter().map(|dataset| facts(dataset)).collect();
    let right = pixels(&opened(&paths)).unwrap();
    let indexed = headers(100, 100).with_index(&target).unwrap();
    assert!(pixels(&kept(&indexed, &paths)).unwrap() == right);
    // Without a look into the files: none is opened.
    let indexed = headers(100, 100).with_index(&target).unwrap();
    for (path, expected) in paths.iter().zip(&expected) {
        assert_eq!(&facts(&indexed.open(path).unwrap()), expected, "{}", path.display());
    }
    assert_eq!(indexed.held().2, 0, "none is open");
}

#[test]
fn an_index_of_another_state_is_not_used() {
    let (folder, paths) = with_sidecars();
    let target = folder.path().join("sub").join("index");
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    write_header_index(&target, &paths, &OpenOptions::default(), &Context::default()).unwrap();
    std::fs::write(&paths[0], bytes_of(&spec(Codec::Zstd), 50)).unwrap();
    std::fs::write(format!("{}.aux.xml", paths[3].display()), "<PAMDataset></PAMDataset>").unwrap();
    let indexed = headers(100, 100).with_index(&target).unwrap();
    for path in &paths {
        let expected = facts(&Dataset::open(path).unwrap());
        assert_eq!(facts(&indexed.open(path).unwrap()), expected, "{}", path.display());
    }
}

/// What is wrong with an index.
fn load(path: &Path) -> Option<String> {
    headers(100, 100).with_index(path).err().map(|error| error.to_string())
}

#[test]
fn a_damaged_index_does_no_harm() {
    let (folder, paths) = with_sidecars();
    let target = folder.path().join("index");
    write_header_index(&target, &paths, &OpenOptions::default(), &Context::default()).unwrap();
    let whole = std::fs::read(&target).unwrap();
    let expected: Vec<String> = opened(&paths).iter().map(|dataset| facts(dataset)).collect();
    for seed in 0..300 {
        std::fs::write(&target, mutate_bytes(&whole, seed)).unwrap();
        let Ok(indexed) = headers(100, 100).with_index(&target) else { continue };
        for (path, expected) in paths.iter().zip(&expected) {
            assert_eq!(&facts(&indexed.open(path).unwrap()), expected);
        }
    }
    std::fs::write(&target, b"STRILEIX\x02\0\0\0").unwrap();
    let problem = load(&target).unwrap();
    assert!(problem.ends_with("expected an index of version 1, got 2: make it again"), "{problem}");
    std::fs::write(&target, b"II*\0").unwrap();
    assert!(load(&target).unwrap().ends_with("is not an index of headers"));
}

#[test]
fn a_source_is_told_by_its_name_size_and_mark() {
    let bytes = bytes_of(&spec(Codec::Deflate), 1);
    let headers = headers(2, 10);
    let bucket = |mark: &str| {
        let mut bucket = Bucket::new(&bytes);
        bucket.mark = mark.to_owned();
        Arc::new(bucket)
    };
    let open = |mark: &str| headers.open_source(bucket(mark)).unwrap();
    let first = open("a");
    let asked = bucket("a");
    let again = headers.open_source(Arc::clone(&asked) as Arc<dyn Source>).unwrap();
    assert!(Arc::ptr_eq(&first, &again) && asked.requests().is_empty(), "nothing is asked for");
    let other = open("b");
    assert!(!Arc::ptr_eq(&first, &other));
    assert!(Arc::ptr_eq(&other, &open("b")) && headers.held().0 == 1);
    assert!(pixels(&[first]).unwrap() == pixels(&[other]).unwrap());
}

#[test]
fn threads_share_headers() {
    let (_folder, paths) = folder(12);
    let (headers, right) = (headers(5, 3), pixels(&opened(&paths)).unwrap());
    let each = right.len() / paths.len();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (headers, paths, right) = (&headers, &paths, &right);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..60 {
                    let at = random.below(paths.len());
                    let found = pixels(&[headers.open(&paths[at]).unwrap()]).unwrap();
                    assert!(found == right[at * each..][..each]);
                }
            });
        }
    });
    let (files, bytes, open) = headers.held();
    assert!(files <= 5 && open <= 3 && bytes > 0, "{:?}", headers.held());
}

/// The checksum of a record.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

/// An index that lies with a checksum that is right: files are opened with what it says, and nothing breaks.
#[test]
fn an_index_that_lies_does_no_harm() {
    let (folder, paths) = with_sidecars();
    let target = folder.path().join("index");
    write_header_index(&target, &paths, &OpenOptions::default(), &Context::default()).unwrap();
    let whole = std::fs::read(&target).unwrap();
    let number = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
    let mut opened = 0;
    for seed in 0..400 {
        let (mut made, mut at) = (whole[..12].to_vec(), 12);
        while at < whole.len() {
            let name = &whole[at..at + 4 + number(at)];
            let record = &whole[at + name.len() + 12..][..number(at + name.len() + 8)];
            let mut lies = mutate_bytes(record, seed);
            // The sizes and times that files have are kept, or it would be put aside at once.
            let kept = record.len().min(lies.len()).min(60);
            lies[..kept].copy_from_slice(&record[..kept]);
            made.extend(name);
            made.extend(fnv(&lies).to_le_bytes());
            made.extend((lies.len() as u32).to_le_bytes());
            made.extend(lies);
            at += name.len() + 12 + record.len();
        }
        std::fs::write(&target, made).unwrap();
        let indexed = headers(100, 100).with_index(&target).unwrap();
        for path in &paths {
            if let Ok(file) = indexed.open(path) {
                let _either = pixels(&[file]);
                opened += 1;
            }
        }
    }
    assert!(opened > 100, "{opened}");
}

#[test]
fn an_index_is_a_regular_file_that_ends_where_it_says() {
    let folder = tempfile::tempdir().unwrap();
    assert!(load(folder.path()).unwrap().contains("expected a regular file, got a directory"));
    assert!(load(&folder.path().join("none")).is_some());
    let path = folder.path().join("index");
    for (bytes, told) in [
        (&b"STRILEIX\x01\0\0\0"[..], None),
        (b"STRILEIX\x01\0\0\0\xFF\xFF\xFF\xFFa", Some("ends early: make it again")),
        (b"STRILEIX\x01\0", Some("ends early: make it again")),
        (b"", Some("is not an index of headers")),
    ] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(load(&path).as_ref().map(|text| text.ends_with(told.unwrap())), told.map(|_| true));
    }
    // Larger than headers may be: refused by its size, before a byte of it is read.
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(
        load(&path).unwrap().split_once(": ").unwrap().1,
        "the index takes 1099511627776 bytes of memory, 1073741824 are allowed for headers: allow more \
         (`HeaderLimits::bytes`, `memory` in Python), or make one of fewer files"
    );
}

#[test]
fn an_index_takes_of_the_bytes_that_headers_may_take() {
    let (folder, paths) = folder(6);
    let target = folder.path().join("index");
    let report = write_header_index(&target, &paths, &OpenOptions::default(), &Context::default()).unwrap();
    // Its bytes, and a number for each file.
    let taken = report.bytes + 6 * 8;
    let within = |bytes| {
        let limits = HeaderLimits::new().bytes(bytes);
        Headers::new(limits, OpenOptions::default()).with_index(&target)
    };
    assert!(within(taken - 1).err().unwrap().to_string().contains(&format!("takes {taken} bytes")));
    let tight = within(taken).unwrap();
    assert!(pixels(&kept(&tight, &paths)).unwrap() == pixels(&opened(&paths)).unwrap());
    assert_eq!((tight.held().0, tight.held().1), (0, taken), "no header beside it");
    let some = within(taken + 20_000).unwrap();
    kept(&some, &paths);
    assert!(some.held().0 > 0 && some.held().0 < 6 && some.held().1 <= taken + 20_000, "{:?}", some.held());
}

#[test]
fn an_index_is_found_with_its_files_and_without() {
    let (folder, paths) = folder(2);
    let target = folder.path().join("index");
    write_header_index(&target, &paths[..1], &OpenOptions::default(), &Context::default()).unwrap();
    let other = tempfile::tempdir().unwrap();
    let outside = other.path().join("index");
    write_header_index(&outside, &paths[1..], &OpenOptions::default(), &Context::default()).unwrap();
    let expected: Vec<String> = opened(&paths).iter().map(|dataset| facts(dataset)).collect();
    // The names of the one are from its folder, those of the other whole, wherever it is moved to.
    let moved = folder.path().join("moved");
    std::fs::copy(&outside, &moved).unwrap();
    for (index, at) in [(target, 0), (outside, 1), (moved, 1)] {
        let indexed = headers(10, 10).with_index(index).unwrap();
        assert_eq!(facts(&indexed.open(&paths[at]).unwrap()), expected[at]);
        assert_eq!(indexed.held().2, 0, "the file is not opened");
    }
}
