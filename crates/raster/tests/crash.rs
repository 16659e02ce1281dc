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
use strile::{FileSink, Sink, Spool};
use testkit::Random;

const ROUNDS: u64 = 200;
const TARGET: &str = "STRILE_CRASH_TARGET";
const FIRST: &str = "STRILE_CRASH_FIRST";

/// Writes generation `generation` of the file.
fn write_target(path: &Path, generation: u64) {
    let bytes = content(generation);
    let (head, body) = bytes.split_at(16);
    let mut sink = Box::new(FileSink::create(path, true).unwrap());
    let mut spool = Spool::create(None, sink.beside()).unwrap();
    for block in body.chunks(30_000) {
        spool.append(block).unwrap();
    }
    sink.append(&[0; 16]).unwrap();
    sink.append_from(&spool, 0..spool.len()).unwrap();
    sink.patch(0, head).unwrap();
    sink.sidecar(".aux.xml", format!("<generation>{generation}</generation>").into_bytes()).unwrap();
    sink.commit().unwrap();
}

/// The generation of a file, which has to be complete.
fn generation_of(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap();
    let generation = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert!(bytes == content(generation), "{} bytes of generation {generation}", bytes.len());
    generation
}

/// Every generation has a length and bytes of its own.
fn content(generation: u64) -> Vec<u8> {
    let mut random = Random::new(generation);
    let words = 4_000 + random.next_u64() % 200_000;
    let mut bytes = generation.to_le_bytes().to_vec();
    (0..words).for_each(|_| bytes.extend_from_slice(&random.next_u64().to_le_bytes()));
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
                let expected = format!("<generation>{generation}</generation>");
                let sidecar = fs::read_to_string(folder.join("x.tif.aux.xml")).unwrap_or_default();
                found.stale += u64::from(sidecar != expected);
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
