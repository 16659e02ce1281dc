//! A request that takes far longer than others is sent again, and the loser is dropped.

use crate::{assert_same, hasty, open, server, window};
use std::time::{Duration, Instant};
use strile::Dataset;
use strile::io::{RemoteOptions, remote_stats};
use testkit::{Fault, RangeServer};

/// A file of a server that has answered often enough to tell what is usual, and its bytes.
fn usual(options: RemoteOptions) -> (RangeServer, Dataset, Vec<u8>) {
    let (server, bytes) = server(1024);
    let dataset = open(&server.url("a.tif"), options.merge_gap(Some(0))).unwrap();
    for row in 8..16 {
        for column in 4..9 {
            assert_same(&dataset, &bytes, &window(column * 64, row * 64, 64, 64));
        }
    }
    server.counts();
    (server, dataset, bytes)
}

/// Reads one block while the first answer is of that kind, and returns how long that took and how many requests.
fn slow(options: RemoteOptions, fault: Fault) -> (Duration, usize) {
    let (server, dataset, bytes) = usual(options);
    server.fail(move |number, _| (number == 0).then(|| fault.clone()));
    let begun = Instant::now();
    assert_same(&dataset, &bytes, &window(640, 640, 64, 64));
    (begun.elapsed(), server.counts().requests)
}

#[test]
fn a_silent_answer_is_not_waited_for() {
    let before = remote_stats();
    let (took, requests) = slow(hasty(), Fault::Silence);
    assert!(took < Duration::from_millis(1500), "{took:?}");
    assert_eq!(requests, 2);
    assert!(remote_stats().since(&before).hedges >= 1);
}

#[test]
fn an_answer_that_drips_is_overtaken() {
    let (took, requests) = slow(hasty(), Fault::Drip(Duration::from_millis(50)));
    assert!(took < Duration::from_millis(1500), "{took:?}");
    assert_eq!(requests, 2);
}

#[test]
fn hedging_can_be_switched_off() {
    let (took, requests) = slow(hasty().hedge(false), Fault::Silence);
    assert!(took >= Duration::from_secs(2), "the timeout ends the first request: {took:?}");
    assert_eq!(requests, 2);
}

/// The repetition is held to the same rules.
#[test]
fn a_wrong_repetition_is_an_error() {
    for (fault, told) in [(Fault::Shifted, "another range"), (Fault::Tag("second".into()), "has changed")] {
        let (server, dataset, _) = usual(hasty());
        server.fail(move |number, _| Some(if number == 0 { Fault::Silence } else { fault.clone() }));
        let begun = Instant::now();
        let read = dataset.read(&window(640, 640, 64, 64), &strile::Context::default());
        assert!(read.err().unwrap().to_string().contains(told));
        assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    }
}

/// Every answer is slow from now on: that is no reason to ask for everything twice.
#[test]
fn few_requests_are_repeated() {
    let (server, dataset, bytes) = usual(hasty());
    server.delay(Duration::from_millis(300));
    // Blocks that were not read before: those are in the cache.
    for (row, column) in (8..10).flat_map(|row| (9..14).map(move |column| (row, column))) {
        assert_same(&dataset, &bytes, &window(column * 64, row * 64, 64, 64));
    }
    let requests = server.counts().requests;
    assert!((11..=12).contains(&requests), "{requests} requests for 10 ranges after 41");
}

/// A second opening takes over from a silent one.
#[test]
fn opening_is_hedged() {
    let (server, _, _) = usual(hasty());
    server.fail(|number, _| (number == 0).then_some(Fault::Silence));
    let begun = Instant::now();
    drop(open(&server.url("a.tif"), hasty()).unwrap());
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    assert_eq!(server.counts().requests, 2);
}
