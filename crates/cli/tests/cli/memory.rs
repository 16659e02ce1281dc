//! Memory that the system does not give is an error with an exit code, never an abort.

use crate::Bench;
use std::process::{Command, Output};

/// A raster of bytes, none of which is stored: of 30,000 × 30,000, 900 MB in a file of a few kilobytes.
fn sparse(width: u32, height: u32) -> Vec<u8> {
    const STRIPS: u32 = 100;
    let fields: [(u16, u16, u32, u32); 9] = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 1, 8),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (273, 4, STRIPS, 8 + 2 + 9 * 12 + 4),
        (277, 3, 1, 1),
        (278, 4, 1, height / STRIPS),
        (279, 4, STRIPS, 8 + 2 + 9 * 12 + 4),
    ];
    let mut file = b"II\x2a\0\x08\0\0\0\x09\0".to_vec();
    for (tag, kind, count, value) in fields {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(count.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    // The next directory, then offsets and sizes, which share their zeros.
    file.extend([0; 4]);
    file.extend(vec![0; 4 * STRIPS as usize]);
    file
}

/// Runs the program where the system gives it `kilobytes` of address space; exit code and what it says.
fn run_within(kilobytes: u32, bench: &Bench, line: &str) -> (Option<i32>, String) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_strile")).args(line.split_whitespace()).current_dir(bench.folder());
    let Output { status, stderr, .. } = command.output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Bug: the default limit was three quarters of the machine's memory, whatever `ulimit -v` said.
#[test]
fn the_default_limit_knows_of_the_systems() {
    let bench = Bench::new();
    bench.file("large.tif", &sparse(30_000, 30_000));
    let (code, told) = run_within(700_000, &bench, "dump --explain large.tif --decode-on cpu --threads 2");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("cannot take 900000000 bytes of memory for the decoded image"), "{told}");
    assert!(told.contains("`--memory`"), "{told}");
}

/// A pixel that comes of millions holds their sums, not the pixels.
#[test]
fn a_large_part_shrinks_to_few_pixels_in_little_memory() {
    let bench = Bench::new();
    bench.file("large.tif", &sparse(30_000, 30_000));
    let options = "--decode-on cpu --threads 2 --memory 128MiB --max-pixels 1000000000";
    let line =
        format!("-q convert large.tif out.tif -srcwin 0 0 30000 3000 -outsize 3 2 -r average {options}");
    let (code, told) = run_within(700_000, &bench, &line);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    let dataset = strile::Dataset::open(bench.path("out.tif")).unwrap();
    let image = &dataset.pages()[0].levels[0].image;
    assert_eq!((image.width, image.height), (3, 2));
}

/// Bug: a batch of tiles was as large as their pixels, not as the tiles, which are padded: a narrow raster of 4 MB took 2 GB.
#[test]
fn padded_tiles_of_a_narrow_raster_take_little_memory() {
    let bench = Bench::new();
    bench.file("narrow.tif", &sparse(1, 600_000));
    let line = "-q convert narrow.tif out.tif --co COMPRESS=NONE --threads 2 --memory 64MiB";
    let (code, told) = run_within(300_000, &bench, line);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    assert!(std::fs::metadata(bench.path("out.tif")).unwrap().len() > 300_000_000);
}
