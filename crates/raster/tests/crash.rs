//! Killed at any moment, a writer leaves the old file, a complete new one, or none where there was none.
//!
//! This program runs itself: the second process writes one file over and over, each time with other bytes, until
//! it is killed with a signal that no process can catch.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use strile::io::FileSink;
use strile::read::Interleave;
use strile::write::{BlockChoice, Format, Piece};
use strile::{
    Compression, Context, DataType, Dataset, RasterSpec, ReadOptions, Window, WriteOptions, Writer,
};
use testkit::Random;

const ROUNDS: u64 = 200;
const TARGET: &str = "STRILE_CRASH_TARGET";
const FIRST: &str = "STRILE_CRASH_FIRST";

/// Columns of the rasters.
const WIDTH: u32 = 256;

/// Writes generation `generation` of the file: a cloud-optimized one with overviews, and a sidecar beside it.
fn write_target(path: &Path, generation: u64) {
    let pixels = content(generation);
    let height = u32::try_from(pixels.len()).unwrap() / (WIDTH * 2);
    let mut spec = RasterSpec::new(WIDTH, height, 1, DataType::U16);
    spec.metadata.categories = vec![format!("generation {generation}")];
    let options = WriteOptions::new()
        .format(Format::Cog)
        .compression(Compression::Zstd)
        .level(1)
        .blocks(BlockChoice::Tiles { width: 64, height: 64 });
    let sink = FileSink::create(path, true).unwrap();
    let mut writer = Writer::create(Box::new(sink), spec, &options, &Context::default()).unwrap();
    for y in (0..height).step_by(50) {
        let window = Window::new(0, y, WIDTH, 50.min(height - y));
        let rows = &pixels[(y * WIDTH * 2) as usize..];
        let piece = Piece::contiguous(window, 1, DataType::U16, Interleave::BandFirst, rows).unwrap();
        writer.write(&piece).unwrap();
    }
    writer.finish().unwrap();
}

/// The generation of a file, which has to be complete.
fn generation_of(path: &Path) -> u64 {
    let dataset = Dataset::open(path).unwrap();
    assert!(dataset.warnings().is_empty(), "{:?}", dataset.warnings());
    let levels = dataset.pages()[0].levels.len();
    assert!(levels > 1);
    for level in 1..levels {
        let options = ReadOptions::new().level(level);
        dataset.read(&options, &Context::default()).unwrap();
    }
    let pixels = dataset.read(&ReadOptions::default(), &Context::default()).unwrap().into_bytes().unwrap();
    let generation = u64::from_le_bytes(pixels[..8].try_into().unwrap());
    assert!(pixels == content(generation), "{} bytes of generation {generation}", pixels.len());
    generation
}

/// Every generation has a height and pixels of its own.
fn content(generation: u64) -> Vec<u8> {
    let mut random = Random::new(generation);
    let words = WIDTH as u64 / 4 * (70 + random.next_u64() % 2_000);
    let mut bytes = generation.to_le_bytes().to_vec();
    (1..words).for_each(|_| bytes.extend_from_slice(&random.next_u64().to_le_bytes()));
    bytes
}

#[test]
fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(TARGET).map(PathBuf::from) else { return };
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    println!("\nready");
    std::io::stdout().flush().unwrap();
    for generation in first.. {
        write_target(&path, generation);
    }
}

/// Lets the second process begin, waits a little, and kills it.
fn kill_a_writer(path: &Path, first: u64, wait: Duration) {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writes_until_it_is_killed", "--nocapture"])
        .env(TARGET, path)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap() == "ready"), "the writer did not begin");
    std::thread::sleep(wait);
    writer.kill().unwrap();
    let end = writer.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&end), Some(9), "the writer failed by itself");
}

#[derive(Default)]
struct Found {
    absent: u64,
    old: u64,
    new: u64,
    dead: u64,
    stale: u64,
}

fn kill_writers(folder: &Path, rounds: u64, found: &mut Found) {
    let path = folder.join("x.tif");
    let mut random = Random::new(rounds);
    for round in 0..rounds {
        // Every fourth round has no old file; the others have one, and what the last round left beside it.
        let last = (round + 1) * 1_000_000;
        if round % 4 == 0 {
            clear(folder);
        } else {
            write_target(&path, last);
        }
        kill_a_writer(&path, last + 1, Duration::from_micros(random.next_u64() % 20_000));

        match path.exists().then(|| generation_of(&path)) {
            None => {
                assert_eq!(round % 4, 0, "round {round}: the old file is gone");
                found.absent += 1;
            }
            Some(generation) if generation == last && round % 4 != 0 => found.old += 1,
            Some(generation) => {
                assert!(generation > last, "round {round}: generation {generation} from nowhere");
                found.new += 1;
                let expected = format!(">generation {generation}<");
                let sidecar = fs::read_to_string(folder.join("x.tif.aux.xml")).unwrap_or_default();
                found.stale += u64::from(!sidecar.contains(&expected));
            }
        }
        found.dead += u64::from(folder.join(".x.tif.strile.tmp").exists());
        let known = ["x.tif", "x.tif.aux.xml", ".x.tif.strile.tmp", ".x.tif.aux.xml.strile.tmp"];
        let strange = names(folder).into_iter().find(|name| !known.contains(&name.as_str()));
        assert_eq!(strange, None, "round {round}");
    }
    write_target(&path, 7);
    assert_eq!(generation_of(&path), 7);
    assert_eq!(names(folder), ["x.tif", "x.tif.aux.xml"]);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn clear(folder: &Path) {
    names(folder).into_iter().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
}

#[test]
fn a_killed_writer_leaves_the_old_file_or_a_new_one() {
    let mut found = Found::default();
    let disk = tempfile::tempdir().unwrap();
    kill_writers(disk.path(), ROUNDS / 2, &mut found);
    // In memory nothing waits for a disk, so that the moments between two calls are met more often.
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    kill_writers(memory.path(), ROUNDS / 2, &mut found);
    let Found { absent, old, new, dead, stale } = found;
    println!(
        "{ROUNDS} kills: {absent} without a file, {old} with the old one, {new} with a new one; \
         {dead} dead temporaries, {stale} sidecars behind their file"
    );
    assert!(old > 0 && new > 0 && dead > 0, "the writers were killed too early or too late to show anything");
}
