//! Servers that fail, are slow, or never end.

use crate::{assert_same, hasty, open, server, whole, window};
use std::time::{Duration, Instant};
use strile::{Cancel, Context, Dataset, Error, ErrorKind, OpenOptions};
use testkit::Fault;

#[test]
fn busy_and_broken_answers_are_retried() {
    let (server, bytes) = server(512);
    server.fail(|number, _| match number {
        0 => Some(Fault::Status(503)),
        1 => Some(Fault::Status(500)),
        3 => Some(Fault::Cut(0)),
        4 => Some(Fault::Status(429)),
        _ => None,
    });
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    assert_eq!(server.counts().requests, 3);
    server
        .fail(|number, _| [Some(Fault::Cut(0)), Some(Fault::Status(429))].into_iter().nth(number).flatten());
    assert_same(&dataset, &bytes, &whole());
}

/// What arrived before the connection broke is not asked for again.
#[test]
fn a_body_that_breaks_is_resumed() {
    let (server, bytes) = server(1024);
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    server.counts();
    server.fail(|number, _| (number == 0).then_some(Fault::Cut(300_000)));
    assert_same(&dataset, &bytes, &whole());
    let counts = server.counts();
    let sent = bytes.len() as u64;
    assert!(counts.bytes <= sent + (16 << 10), "{} bytes for a file of {sent}", counts.bytes);
}

#[test]
fn one_answer_in_five_fails() {
    let (server, bytes) = server(2048);
    server.fail(|number, _| match number % 10 {
        3 => Some(Fault::Status(503)),
        7 => Some(Fault::Cut(100_000)),
        _ => None,
    });
    let dataset = open(&server.url("a.tif"), hasty().retries(8u32)).unwrap();
    assert_same(&dataset, &bytes, &whole());
}

/// One answer in a hundred is 503, one is cut, one drips.
#[test]
fn one_answer_in_a_hundred_fails() {
    let (server, bytes) = server(1024);
    server.fail(|number, _| match number % 100 {
        31 => Some(Fault::Status(503)),
        62 => Some(Fault::Cut(3000)),
        93 => Some(Fault::Drip(Duration::from_micros(200))),
        _ => None,
    });
    let dataset = open(&server.url("a.tif"), hasty().merge_gap(Some(0))).unwrap();
    for row in 0..15 {
        for column in 0..14 {
            assert_same(&dataset, &bytes, &window(column * 64 + 5, row * 64 + 30, 64, 30));
        }
    }
    assert!(server.counts().requests > 200);
}

#[test]
fn a_server_that_stays_broken_is_given_up() {
    let (server, _) = server(512);
    server.fail(|_, _| Some(Fault::Status(500)));
    let error = open(&server.url("a.tif"), hasty().retries(2u32)).err().unwrap().to_string();
    assert!(error.contains("500") && error.contains("tried 3 times"), "{error}");
    assert_eq!(server.counts().requests, 3);
}

#[test]
fn a_silent_server_is_given_up() {
    let (server, _) = server(512);
    server.fail(|_, _| Some(Fault::Silence));
    let options = hasty().stall_timeout(Duration::from_millis(300)).retries(1u32);
    let begun = Instant::now();
    let error = open(&server.url("a.tif"), options).err().unwrap().to_string();
    assert!(error.contains("`stall_timeout`"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn a_drip_ends_with_the_deadline() {
    let (server, _) = server(512);
    let dataset = open(&server.url("a.tif"), hasty().total_timeout(Duration::from_secs(1))).unwrap();
    server.fail(|_, _| Some(Fault::Drip(Duration::from_millis(100))));
    let begun = Instant::now();
    let error = dataset.read(&whole(), &Context::default()).err().unwrap().to_string();
    assert!(error.contains("`total_timeout`"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn a_port_without_a_server_is_told() {
    let url = {
        let (server, _) = server(64);
        server.url("a.tif")
    };
    std::thread::sleep(Duration::from_millis(50));
    let error = open(&url, hasty().retries(1u32)).err().unwrap();
    assert!(error.to_string().contains("refused"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Io);
}

/// A byte every two seconds, and the caller does not want to wait.
#[test]
fn a_read_that_is_cancelled_ends_at_once() {
    let (server, _) = server(512);
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    server.fail(|_, _| Some(Fault::Drip(Duration::from_secs(2))));
    let context = Context::default();
    assert_ends(&context.cancel.clone(), || dataset.read(&whole(), &context).map(drop));
}

#[test]
fn an_opening_that_is_cancelled_ends_at_once() {
    let (server, _) = server(512);
    server.fail(|_, _| Some(Fault::Drip(Duration::from_secs(2))));
    let cancel = Cancel::default();
    let options = OpenOptions::new().cancel(cancel.clone());
    assert_ends(&cancel, || Dataset::open_with(server.url("a.tif"), &options).map(drop));
}

fn assert_ends(cancel: &Cancel, work: impl FnOnce() -> strile::Result<()>) {
    let cancel = cancel.clone();
    let cancelled = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        cancel.cancel();
        Instant::now()
    });
    let result = work();
    let took = cancelled.join().unwrap().elapsed();
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    assert!(took < Duration::from_millis(300), "{took:?}");
}
