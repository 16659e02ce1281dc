//! What sinks promise: the file is there whole or not at all, and nothing else is left.
//!
//! `place` where a file goes; `writers` temporaries and other writers; `beside` sidecars; `room` no room left;
//! `parts` patches and spools.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and knows its numbers"
)]

mod beside;
mod parts;
mod place;
mod room;
mod writers;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use strile::Error;
use strile::io::{FileSink, Sink};

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Writes a file with these bytes, over another if there is one.
fn write(path: &Path, bytes: &[u8]) {
    let mut sink = Box::new(FileSink::create(path, true).unwrap());
    sink.append(bytes).unwrap();
    sink.commit().unwrap();
}

/// Why a file could not be begun.
fn refused(path: &Path, overwrite: bool) -> (ErrorKind, String) {
    match FileSink::create(path, overwrite).map(drop).unwrap_err() {
        Error::Io { path: told, error } => {
            assert_eq!(told, path);
            (error.kind(), error.to_string())
        }
        other => panic!("{other}"),
    }
}

/// Runs one test of this program again, with `STRILE_TEST_FOLDER` set, by a shell script that ends in `exec "$0" "$@"`.
#[cfg(unix)]
fn again(test: &str, script: &str, folder: &Path) -> std::process::Output {
    std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("STRILE_TEST_FOLDER", folder)
        .output()
        .unwrap()
}
