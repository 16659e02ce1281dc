//! An answer that is not the range that was asked for is an error, never pixels.

use crate::{assert_same, hasty, open, server, whole};
use std::time::{Duration, Instant};
use strile::{Context, ErrorKind};
use testkit::Fault;

/// What a read says when every later answer is of that kind.
fn told(fault: Fault) -> String {
    let (server, _) = server(512);
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    server.fail(move |_, _| Some(fault.clone()));
    let error = dataset.read(&whole(), &Context::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Io);
    error.to_string()
}

#[test]
fn another_range_is_an_error() {
    assert!(told(Fault::Shifted).contains("another range than asked for: expected bytes"));
    assert!(told(Fault::NoContentRange).contains("got no Content-Range"));
    assert!(told(Fault::Short).contains("expected a body of"));
    assert!(told(Fault::IgnoreRange).contains("does not serve ranges"));
    assert!(told(Fault::Gzip).contains("sends ranges of gzip"));
}

#[test]
fn an_object_that_changes_is_told() {
    assert!(told(Fault::OtherTotal).contains("has changed since it was opened: open it again"));
    assert!(told(Fault::Tag("second".into())).contains("has changed since it was opened"));
    let (server, bytes) = server(512);
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    server.put("a.tif", bytes, "second");
    let error = dataset.read(&whole(), &Context::default()).err().unwrap().to_string();
    assert!(error.contains("has changed since it was opened"), "{error}");
}

/// The client goes away as soon as there is more than it asked for.
#[test]
fn an_endless_body_is_an_error_at_once() {
    let begun = Instant::now();
    assert!(told(Fault::Endless).contains("more than the"));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn files_that_cannot_be_opened_say_why() {
    let (server, _) = server(512);
    let told = |fault: Option<Fault>, path: &str| {
        server.fail(move |_, _| fault.clone());
        open(&server.url(path), hasty()).err().unwrap().to_string()
    };
    assert!(told(None, "b.tif").contains("404"));
    assert!(told(Some(Fault::Status(403)), "a.tif").contains("403"));
    assert!(told(Some(Fault::IgnoreRange), "a.tif").contains("does not serve ranges"));
    assert!(told(Some(Fault::Endless), "a.tif").contains("more than the"));
    assert!(told(Some(Fault::NoContentRange), "a.tif").contains("no Content-Range"));
    assert!(told(Some(Fault::Gzip), "a.tif").contains("gzip"));
    let secret = told(Some(Fault::Status(403)), "a.tif?X-Amz-Signature=concealed");
    assert!(secret.contains("/a.tif: ") && !secret.contains("concealed"), "{secret}");
}

/// A server without ranges that sends a whole small file is as good as one with them.
#[test]
fn a_small_file_needs_no_ranges() {
    let (server, bytes) = server(60);
    server.fail(|_, _| Some(Fault::IgnoreRange));
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    assert_same(&dataset, &bytes, &whole());
}

#[test]
fn an_object_without_a_version_is_read() {
    let (server, bytes) = server(512);
    server.fail(|_, _| Some(Fault::NoTag));
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    assert_same(&dataset, &bytes, &whole());
}

#[test]
fn an_empty_object_is_no_tiff() {
    let (server, _) = server(64);
    server.put("empty.tif", Vec::new(), "first");
    let error = open(&server.url("empty.tif"), hasty()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidFile, "{error}");
}
