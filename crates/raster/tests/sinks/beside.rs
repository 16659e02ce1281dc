//! Files beside the file.

use super::{names, refused, write};
use std::fs;
use std::io::ErrorKind;
use strile::io::{FileSink, Sink, StreamSink};
use tempfile::tempdir;

#[test]
fn stale_ones_are_removed_after_the_rename_and_not_before() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    let all = ["x.tif", "x.tif.aux.xml", "x.tif.msk", "x.tif.msk.ovr", "x.tif.ovr"];
    for name in all {
        fs::write(folder.path().join(name), "old").unwrap();
    }
    fs::write(folder.path().join("x.tif.txt"), "notes").unwrap();
    let mut sink = Box::new(FileSink::create(&path, true).unwrap());
    sink.append(b"new").unwrap();
    assert_eq!(names(folder.path()).len(), 7);
    sink.abort();
    assert_eq!(names(folder.path()).len(), 6);
    write(&path, b"new");
    assert_eq!(names(folder.path()), ["x.tif", "x.tif.txt"]);
}

#[test]
fn new_ones_come_with_the_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    for name in ["x.tif", "x.tif.aux.xml", "x.tif.ovr"] {
        fs::write(folder.path().join(name), "old").unwrap();
    }
    let mut sink = Box::new(FileSink::create(&path, true).unwrap());
    assert!(sink.takes_sidecars());
    sink.append(b"new").unwrap();
    sink.sidecar(".aux.xml", b"<first/>".to_vec()).unwrap();
    sink.sidecar(".aux.xml", b"<last/>".to_vec()).unwrap();
    assert_eq!(fs::read(folder.path().join("x.tif.aux.xml")).unwrap(), b"old");
    sink.commit().unwrap();
    assert_eq!(names(folder.path()), ["x.tif", "x.tif.aux.xml"]);
    assert_eq!(fs::read(folder.path().join("x.tif.aux.xml")).unwrap(), b"<last/>");
}

#[test]
fn one_that_cannot_be_written_keeps_the_old_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    fs::write(&path, "old").unwrap();
    fs::create_dir(folder.path().join("x.tif.aux.xml")).unwrap();
    let mut sink = Box::new(FileSink::create(&path, true).unwrap());
    sink.append(b"new").unwrap();
    sink.sidecar(".aux.xml", b"<new/>".to_vec()).unwrap();
    let error = sink.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IsADirectory);
    assert!(error.to_string().ends_with("x.tif.aux.xml`: expected a file, got a directory"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["x.tif", "x.tif.aux.xml"]);
}

#[test]
fn a_stale_one_that_cannot_be_removed_is_told() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    fs::write(&path, "old").unwrap();
    fs::create_dir(folder.path().join("x.tif.aux.xml")).unwrap();
    fs::write(folder.path().join("x.tif.ovr"), "old").unwrap();
    let mut sink = Box::new(FileSink::create(&path, true).unwrap());
    sink.append(b"new").unwrap();
    let error = sink.commit().unwrap_err().to_string();
    assert!(error.starts_with("is written, but `") && error.contains("could not be removed"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"new");
    // The others are dealt with all the same.
    assert_eq!(names(folder.path()), ["x.tif", "x.tif.aux.xml"]);
}

#[test]
fn one_without_its_file_is_not_taken_for_the_new_file_s() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.tif");
    fs::write(folder.path().join("x.tif.ovr"), "old").unwrap();
    let (kind, message) = refused(&path, false);
    assert_eq!(kind, ErrorKind::AlreadyExists);
    assert!(message.contains("x.tif.ovr` is there without its file"), "{message}");
    assert_eq!(names(folder.path()), ["x.tif.ovr"]);
    write(&path, b"new");
    assert_eq!(names(folder.path()), ["x.tif"]);
}

#[cfg(unix)]
#[test]
fn through_a_link_new_ones_stand_beside_the_link_and_stale_ones_go_in_both_places() {
    let folder = tempdir().unwrap();
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    for name in ["r.tif", "r.tif.aux.xml", "r.tif.ovr"] {
        fs::write(real.join(name), "old").unwrap();
    }
    let link = folder.path().join("x.tif");
    std::os::unix::fs::symlink("real/r.tif", &link).unwrap();
    fs::write(folder.path().join("x.tif.ovr"), "old").unwrap();
    let mut sink = Box::new(FileSink::create(&link, true).unwrap());
    sink.append(b"new").unwrap();
    sink.sidecar(".aux.xml", b"<new/>".to_vec()).unwrap();
    sink.commit().unwrap();
    assert_eq!(names(&real), ["r.tif"]);
    assert_eq!(names(folder.path()), ["real", "x.tif", "x.tif.aux.xml"]);
}

#[test]
fn a_suffix_cannot_leave_the_folder_and_streams_take_none() {
    let folder = tempdir().unwrap();
    let mut sink = FileSink::create(&folder.path().join("x.tif"), true).unwrap();
    assert_eq!(sink.sidecar("./../y", Vec::new()).unwrap_err().kind(), ErrorKind::InvalidInput);
    let mut stream = StreamSink::new("stream", Vec::new());
    assert!(!stream.takes_sidecars());
    assert_eq!(stream.sidecar(".aux.xml", Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
}
