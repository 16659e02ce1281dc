//! The bytes of a file that comes in parts: small and large, patched, from spools.

use std::fs;
use std::ops::Range;
use std::path::Path;
use strile::io::{FileSink, MemorySink, Sink, Spool, StreamSink};
use tempfile::tempdir;

const MIB: usize = 1 << 20;

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| ((at * 31 + seed) % 251) as u8).collect()
}

#[test]
fn parts_of_any_size_and_patches_anywhere() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    let mut sink = Box::new(FileSink::create(&path, false).unwrap());
    assert!(sink.can_patch());
    let mut expected = Vec::new();
    for (seed, len) in [5, 0, MIB, 70_000, MIB - 1, 3 * MIB + 7, 1].into_iter().enumerate() {
        let part = bytes(len, seed);
        sink.append(&part).unwrap();
        expected.extend_from_slice(&part);
        // At the beginning, in the middle, at the very end: written parts and collected ones.
        for at in [0, expected.len() / 2, expected.len() - 1] {
            sink.patch(at as u64, &[seed as u8]).unwrap();
            expected[at] = seed as u8;
        }
    }
    sink.commit().unwrap();
    assert!(fs::read(&path).unwrap() == expected);
}

/// Ranges in an order of their own: in the file, in memory, across both, small, large, empty, twice.
fn ranges(len: u64) -> Vec<Range<u64>> {
    vec![
        0..10,
        1_000_000..2_500_000,
        len - 3..len,
        0..len,
        7..7,
        300_000..300_001,
        len - 900_000..len,
        len..len,
        5..9,
    ]
}

fn spool_in(folder: &Path) -> (Spool, Vec<u8>) {
    let mut spool = Spool::create(Some(folder), None).unwrap();
    let mut all = Vec::new();
    for (seed, len) in [100_000, 2 * MIB + 1, 900_000, 3, 123_456].into_iter().enumerate() {
        let part = bytes(len, seed);
        assert_eq!(spool.append(&part).unwrap(), all.len() as u64);
        all.extend_from_slice(&part);
    }
    assert_eq!(spool.len(), all.len() as u64);
    (spool, all)
}

fn through(mut sink: Box<dyn Sink>, spool: &Spool, all: &[u8]) -> Vec<u8> {
    let mut expected = b"head".to_vec();
    sink.append(b"head").unwrap();
    for range in ranges(spool.len()) {
        sink.append_from(spool, range.clone()).unwrap();
        expected.extend_from_slice(&all[range.start as usize..range.end as usize]);
        sink.append(b"between").unwrap();
        expected.extend_from_slice(b"between");
    }
    assert!(sink.append_from(spool, 5..spool.len() + 1).is_err());
    sink.abort();
    expected
}

fn committed(mut sink: Box<dyn Sink>, spool: &Spool) {
    sink.append(b"head").unwrap();
    for range in ranges(spool.len()) {
        sink.append_from(spool, range).unwrap();
        sink.append(b"between").unwrap();
    }
    sink.commit().unwrap();
}

#[test]
fn what_the_system_copies_is_what_a_file_has() {
    let folder = tempdir().unwrap();
    let (path, other) = (folder.path().join("x.tif"), folder.path().join("other"));
    let (all, len) = (bytes(3 * MIB + 5, 4), 3 * MIB as u64 + 5);
    fs::write(&other, &all).unwrap();
    let other = fs::File::open(&other).unwrap();
    let mut sink = Box::new(FileSink::create(&path, false).unwrap());
    let mut expected = Vec::new();
    // Too small to be worth it, from the middle, all of it, and past the end: no more than there is.
    for range in [0..1000, 7..MIB as u64, 0..len, len - 400_000..len + 400_000] {
        sink.append(b"between").unwrap();
        expected.extend_from_slice(b"between");
        let taken = sink.append_within_system(&other, range.clone()).unwrap();
        assert!(range.start + taken <= len && (taken == 0 || range.end - range.start >= 256 << 10));
        let start = range.start as usize;
        expected.extend_from_slice(&all[start..start + taken as usize]);
        // Some systems copy none of it.
        println!("{taken} of {range:?}");
    }
    sink.append(b"end").unwrap();
    expected.extend_from_slice(b"end");
    sink.commit().unwrap();
    assert!(fs::read(&path).unwrap() == expected);
    assert_eq!(MemorySink::new().append_within_system(&other, 0..len).unwrap(), 0);
}

#[test]
fn every_sink_takes_the_same_bytes_from_a_spool() {
    let folder = tempdir().unwrap();
    let (spool, all) = spool_in(folder.path());
    let expected = through(Box::new(MemorySink::new()), &spool, &all);

    let memory = MemorySink::new();
    let handle = memory.handle();
    committed(Box::new(memory), &spool);
    assert!(handle.take().unwrap().bytes == expected, "memory");

    let path = folder.path().join("x.tif");
    committed(Box::new(FileSink::create(&path, false).unwrap()), &spool);
    assert!(fs::read(&path).unwrap() == expected, "file");

    let stream = folder.path().join("stream");
    committed(Box::new(StreamSink::new("stream", fs::File::create(&stream).unwrap())), &spool);
    assert!(fs::read(&stream).unwrap() == expected, "stream");
}

#[cfg(target_os = "linux")]
#[test]
fn a_spool_on_another_file_system() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempdir().unwrap();
    let Ok(shared) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no /dev/shm");
        return;
    };
    if fs::metadata(folder.path()).unwrap().dev() == fs::metadata(shared.path()).unwrap().dev() {
        eprintln!("skipped: one file system only");
        return;
    }
    let (spool, all) = spool_in(shared.path());
    let expected = through(Box::new(MemorySink::new()), &spool, &all);
    let path = folder.path().join("x.tif");
    committed(Box::new(FileSink::create(&path, false).unwrap()), &spool);
    assert!(fs::read(&path).unwrap() == expected);
}
