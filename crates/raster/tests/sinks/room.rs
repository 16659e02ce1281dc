//! No room left: the error keeps its kind and says what to do, and nothing is left behind.

#![cfg(target_os = "linux")]

use super::{again, names};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use strile::io::{FileSink, Sink, Spool};
use tempfile::tempdir;

/// Set in the run of the test under a limit.
fn folder() -> Option<PathBuf> {
    std::env::var_os("STRILE_TEST_FOLDER").map(PathBuf::from)
}

fn fill(mut append: impl FnMut(&[u8]) -> io::Result<()>) -> io::Error {
    (0..100).find_map(|_| append(&[7; 100_000]).err()).expect("10 MB are more than the limit")
}

#[test]
fn under_a_limit() {
    let Some(folder) = folder() else { return };
    let expected = match std::env::var("STRILE_TEST_LIMIT").as_deref() {
        Ok("size") => ErrorKind::FileTooLarge,
        _ => ErrorKind::StorageFull,
    };
    let path = folder.join("x.tif");
    fs::write(&path, "old").unwrap();

    let mut sink = Box::new(FileSink::create(&path, true).unwrap());
    let error = fill(|bytes| sink.append(bytes));
    assert_eq!(error.kind(), expected, "{error}");
    assert!(error.to_string().contains("write to another folder"), "{error}");
    assert!(error.to_string().contains(folder.to_str().unwrap()), "{error}");
    assert_eq!(sink.commit().unwrap_err().kind(), expected);

    // What is still collected is written, and refused, by the commit.
    let mut sink = Box::new(FileSink::create(&path, true).unwrap());
    sink.append(&vec![7; (1 << 20) - 100]).unwrap();
    let error = sink.commit().unwrap_err();
    assert_eq!(error.kind(), expected, "{error}");
    assert!(error.to_string().contains("write to another folder"), "{error}");

    let mut spool = Spool::create(Some(&folder), None).unwrap();
    let error = fill(|bytes| spool.append(bytes).map(drop));
    assert_eq!(error.kind(), expected, "{error}");
    assert!(error.to_string().contains("name another folder with `spool_dir`"), "{error}");
    // What was taken before the error is still there.
    let mut read = vec![0; usize::try_from(spool.len()).unwrap()];
    spool.read_at(0, &mut read).unwrap();
    assert!(read.iter().all(|byte| *byte == 7));
    drop(spool);

    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(&folder), ["x.tif"]);
    println!("the limit was met");
}

fn succeeded(output: &std::process::Output) {
    let told = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("the limit was met"), "{told}{problem}");
}

#[test]
fn files_may_not_grow_further() {
    let folder = tempdir().unwrap();
    // 512 bytes or 1 KiB a unit, by the shell; the signal that comes with the error has to be ignored.
    let script = "ulimit -f 700; trap '' XFSZ; STRILE_TEST_LIMIT=size exec \"$0\" \"$@\"";
    succeeded(&again("room::under_a_limit", script, folder.path()));
}

#[test]
fn the_disk_is_full() {
    let folder = tempdir().unwrap();
    // A file system of its own, seen by no other process and gone with the last of these.
    let mount = "mount -t tmpfs -o size=700k none \"$STRILE_TEST_FOLDER\"";
    let probe = format!("unshare -rm sh -c '{mount}'");
    if !again("none", &probe, folder.path()).status.success() {
        eprintln!("skipped: this user may not mount a small file system");
        return;
    }
    let script = format!("exec unshare -rm sh -c '{mount} && exec \"$0\" \"$@\"' \"$0\" \"$@\"");
    succeeded(&again("room::under_a_limit", &script, folder.path()));
}
