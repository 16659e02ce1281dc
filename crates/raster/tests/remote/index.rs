//! Indexes of the headers of remote objects.

use crate::{expected, hasty, image, server, window};
use std::path::PathBuf;
use strile::batch::{HeaderLimits, Headers, write_header_index};
use strile::{Context, OpenOptions};
use testkit::Fault;

fn options() -> OpenOptions {
    OpenOptions::new().remote(hasty()).sidecars(false)
}

/// An index of these files, and how many are in it.
fn indexed(folder: &tempfile::TempDir, files: &[PathBuf]) -> (PathBuf, strile::batch::IndexReport) {
    let index = folder.path().join("headers.index");
    let report = write_header_index(&index, files, &options(), &Context::default()).unwrap();
    (index, report)
}

#[test]
fn a_file_of_an_index_is_opened_without_a_request() {
    let (server, bytes) = server(1024);
    server.put("b.tif", image(512), "other");
    let folder = tempfile::tempdir().unwrap();
    let urls: Vec<PathBuf> =
        ["a.tif?sig=concealed", "b.tif", "c.tif"].iter().map(|name| server.url(name).into()).collect();
    let (index, report) = indexed(&folder, &urls);
    assert_eq!((report.files, report.skipped.len()), (2, 1));
    assert!(report.skipped[0].1.to_string().contains("404"));
    assert_eq!(server.counts().requests, 3, "one per object");
    let stored = std::fs::read(&index).unwrap();
    assert!(!stored.windows(9).any(|text| text == b"concealed"), "no secret is stored");

    let headers = Headers::new(HeaderLimits::default(), options()).with_index(&index).unwrap();
    let dataset = headers.open(server.url("a.tif?sig=another")).unwrap();
    assert_eq!(server.counts().requests, 0);
    let found = dataset.read(&window(640, 640, 64, 64), &Context::default()).unwrap();
    assert_eq!(found.bytes().unwrap(), expected(&bytes, &window(640, 640, 64, 64)).into_bytes().unwrap());
    let counts = server.counts();
    assert_eq!(counts.requests, 1);
    let head = counts.log[0].to_ascii_lowercase();
    assert!(head.contains("if-match: \"first\"") && head.contains("sig=another"), "{head}");
}

#[test]
fn an_object_that_changed_since_is_told_by_its_first_range() {
    let (server, _) = server(1024);
    let folder = tempfile::tempdir().unwrap();
    let (index, _) = indexed(&folder, &[server.url("a.tif").into()]);
    let headers = Headers::new(HeaderLimits::default(), options()).with_index(&index).unwrap();
    server.put("a.tif", image(1024), "second");
    let dataset = headers.open(server.url("a.tif")).unwrap();
    let told = dataset.read(&window(640, 640, 64, 64), &Context::default()).err().unwrap().to_string();
    assert!(told.contains("has changed since its header was indexed: make the index again"), "{told}");
    assert!(told.contains("/a.tif"), "{told}");
}

#[test]
fn files_outside_the_index_are_opened_by_a_request() {
    let (server, _) = server(512);
    server.put("b.tif", image(512), "other");
    let folder = tempfile::tempdir().unwrap();
    let (index, _) = indexed(&folder, &[server.url("a.tif").into()]);
    server.counts();
    let headers = Headers::new(HeaderLimits::default(), options()).with_index(&index).unwrap();
    let urls: Vec<PathBuf> = ["a.tif", "b.tif"].iter().map(|name| server.url(name).into()).collect();
    let opened = headers.open_all(&urls, &hasty(), &Context::default().cancel).unwrap();
    assert_eq!((opened.len(), server.counts().requests), (2, 1));
}

/// Nothing would tell an object that has changed.
#[test]
fn an_object_without_a_version_is_left_out() {
    let (server, _) = server(512);
    server.fail(|_, _| Some(Fault::NoTag));
    let folder = tempfile::tempdir().unwrap();
    let (_, report) = indexed(&folder, &[server.url("a.tif").into()]);
    assert_eq!(report.files, 0);
    assert!(report.skipped[0].1.to_string().contains("tells no version"), "{}", report.skipped[0].1);
}
