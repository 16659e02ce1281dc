//! Small hostile files open, or are refused, fast and in little memory, by an allocator that counts.
//!
//! A program of its own with one test, so that nothing else allocates meanwhile. The limits of memory hold for every
//! build; that of time is generous for one without optimisation.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;
use strile::tiff::Warnings;
use strile::{Input, OpenOptions};
use testkit::allocator::{Counting, peak, reset_peak};
use testkit::hostile;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// For files of about 100 kB.
const MOST: usize = 64 << 20;
const LONGEST: Duration = Duration::from_secs(1);

/// Time that this thread has run: other work of the machine does not count.
fn on_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// Opens a file as every door does; returns what it took, how long, and the warnings.
fn open(path: &Path) -> (usize, Duration, Result<Vec<strile::tiff::Warning>, String>) {
    let (start, begun) = (reset_peak(), on_cpu());
    let opened = Input::open(path, &OpenOptions::default())
        .map(|input| input.warnings())
        .map_err(|error| error.to_string());
    (peak() - start, on_cpu() - begun, opened)
}

fn check(name: &str, path: &Path, most: usize, longest: Duration) {
    let (took, time, opened) = open(path);
    eprintln!("{name}: {took} bytes, {time:?}, {:?}", opened.as_ref().map(Vec::len));
    assert!(took <= most, "{name}: {took} bytes");
    assert!(time <= longest, "{name}: {time:?}");
    match opened {
        Ok(warnings) => {
            let all = warnings.len();
            for warning in &warnings {
                let of_code = warnings.iter().filter(|other| other.code == warning.code).count();
                assert!(of_code <= Warnings::PER_CODE + 1, "{name}: {of_code} of {all}: {warning:?}");
                assert!(warning.to_string().len() < 5_000 && !warning.to_string().contains(char::is_control));
            }
        }
        Err(error) => assert!(error.len() < 5_000 && !error.contains(char::is_control), "{name}: {error}"),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

#[test]
fn hostile_files_open_fast_and_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let plain = at("plain.tif");
    std::fs::write(&plain, hostile::plain()).unwrap();
    // Tables and threads that are made once, by whoever needs them first.
    let _made_once = open(&plain);
    for (name, bytes) in hostile::tiffs() {
        let path = at(&format!("{name}.tif"));
        std::fs::write(&path, &bytes).unwrap();
        check(name, &path, MOST, LONGEST);
        // The same as overviews and as a mask of a plain file, with a sidecar that is no better.
        let whole = at(&format!("with {name}.tif"));
        std::fs::write(&whole, hostile::plain()).unwrap();
        for suffix in [".ovr", ".msk"] {
            std::fs::write(beside(&whole, suffix), &bytes).unwrap();
        }
        std::fs::write(beside(&whole, ".aux.xml"), hostile::quadratic_pam(50_000)).unwrap();
        check(name, &whole, MOST, LONGEST);
    }
    for (name, text) in hostile::sidecars() {
        for bands in [1, 3, u16::MAX] {
            let path = at(&format!("{name} {bands}.tif"));
            let bytes = if bands == 1 { hostile::plain() } else { hostile::with_bands(bands) };
            std::fs::write(&path, bytes).unwrap();
            std::fs::write(beside(&path, ".aux.xml"), &text).unwrap();
            check(name, &path, MOST, LONGEST);
            assert!(
                Input::open(&path, &OpenOptions::default()).is_ok(),
                "{name}: a bad sidecar takes nothing away from the file"
            );
        }
    }
    // World files are read by the same rule.
    for text in ["1".repeat(100_000), "1\n".repeat(50_000), "\0".repeat(100_000)] {
        std::fs::write(at("plain.tfw"), text).unwrap();
        check("world file", &plain, MOST, LONGEST);
    }
    std::fs::remove_file(at("plain.tfw")).unwrap();
    // Sizes of the review that found them: 67 kB took 6.7 GB, 294 kB took 1.2 GB, 2.6 MB took 16.5 s.
    let larger =
        [("67 kB", hostile::shared_sub_ifds(100)), ("294 kB", hostile::shared_block_table(256, 256 << 10))];
    for (name, bytes) in larger {
        let path = at("larger.tif");
        std::fs::write(&path, bytes).unwrap();
        check(name, &path, MOST, LONGEST);
    }
    for text in [
        hostile::quadratic_pam(2_600_000),
        hostile::quadratic_pam_domains(2_600_000),
        hostile::many_bands(40_000),
        hostile::many_attributes(200_000),
    ] {
        let path = at("bands.tif");
        std::fs::write(&path, hostile::with_bands(u16::MAX)).unwrap();
        std::fs::write(beside(&path, ".aux.xml"), &text).unwrap();
        check("2.6 MB", &path, 256 << 20, Duration::from_secs(5));
    }
    let path = at("bands.vrt");
    std::fs::write(&path, hostile::vrt_bands(65_535)).unwrap();
    // Took 6.5 s: the root was searched for each element that closed.
    check("65,535 bands", &path, 128 << 20, Duration::from_secs(2));
}
