//! Requests and bytes.

use crate::{UINT16, assert_same, expected, hasty, open, server, whole, window};
use std::time::{Duration, Instant};
use strile::batch::BatchWindow;
use strile::tiff::ByteOrder;
use strile::{BatchOptions, Context, read_batch};
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, RangeServer};

#[test]
fn a_file_is_opened_with_one_request() {
    let (server, bytes) = server(512);
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    let counts = server.counts();
    assert_eq!((counts.requests, counts.heads, counts.bytes), (1, 0, 32 << 10));
    let head = counts.log[0].to_ascii_lowercase();
    assert!(head.contains("range: bytes=0-32767") && head.contains("accept-encoding: identity"), "{head}");
    assert!(!head.contains("if-match"), "{head}");
    assert_eq!(dataset.version().unwrap().len, bytes.len() as u64);
}

/// Four tiles in two rows: one range for each row, and the header.
#[test]
fn a_window_costs_a_request_per_row_of_blocks() {
    let (server, bytes) = server(1024);
    let dataset = open(&server.url("a.tif"), hasty().merge_gap(4096u64)).unwrap();
    assert_same(&dataset, &bytes, &window(520, 520, 100, 100));
    let counts = server.counts();
    assert_eq!((counts.requests, counts.heads), (3, 0), "{:#?}", counts.log);
    assert_eq!(counts.bytes, (32 << 10) + 4 * 64 * 64 * 2);
    assert!(counts.log[1..].iter().all(|head| head.to_ascii_lowercase().contains("if-match: \"first\"")));
}

/// All of the file is in the first answer.
#[test]
fn a_small_file_costs_one_request() {
    let (server, bytes) = server(60);
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    assert_same(&dataset, &bytes, &whole());
    assert_eq!(server.counts().requests, 1);
}

#[test]
fn a_plan_tells_the_requests_beforehand() {
    let (server, _) = server(1024);
    let dataset = open(&server.url("a.tif"), hasty().merge_gap(4096u64)).unwrap();
    let figures = dataset.plan(&window(520, 520, 100, 100), &Context::default()).unwrap().figures();
    assert_eq!((figures.ranges, figures.range_bytes), (2, 4 * 64 * 64 * 2));
    assert_eq!(server.counts().requests, 1, "a plan asks for nothing");
}

/// One connection of 20 MB/s would take 0.8 s.
#[test]
fn a_large_range_is_spread_over_connections() {
    let (server, bytes) = server(2880);
    server.delay(Duration::from_millis(20));
    server.rate(20_000_000);
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    let begun = Instant::now();
    let found = dataset.read(&whole(), &Context::default()).unwrap();
    let took = begun.elapsed();
    assert_eq!(found.pixels, expected(&bytes, &whole()).pixels);
    let counts = server.counts();
    assert!(counts.at_once >= 6, "{} at once", counts.at_once);
    assert!(counts.bytes <= bytes.len() as u64 + (64 << 10), "{} bytes", counts.bytes);
    assert!(took < Duration::from_millis(600), "{took:?}");
}

#[test]
fn many_files_are_read_at_once() {
    let (server, bytes) = server(512);
    server.delay(Duration::from_millis(50));
    let files: Vec<_> = (0..12).map(|_| open(&server.url("a.tif"), hasty()).unwrap()).collect();
    server.counts();
    let windows: Vec<_> = (0..12).map(|file| BatchWindow::of_pixels(file, 200, 200, (30, 30))).collect();
    let context = Context::default();
    let begun = Instant::now();
    let batch = read_batch(&files, &windows, &BatchOptions::default(), &context).unwrap();
    assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
    let pixels: Vec<u8> = batch.into_host(&context).unwrap();
    let one = expected(&bytes, &window(200, 200, 30, 30));
    assert!(pixels.chunks(pixels.len() / 12).all(|window| window == one.pixels));
    assert!(server.counts().at_once >= 8);
}

/// Directories at the end of a file: what is read there is more each time.
#[test]
fn directories_at_the_end_cost_few_requests() {
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(16, 16)).codec(Codec::None);
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [1, 700, 700], 7);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::BlocksFirst };
    let bytes = spec.build_with(&pixels, &[(spec.clone(), pixels.halved())], frame).bytes;
    let server = RangeServer::start();
    server.put("late.tif", bytes.clone(), "first");
    let dataset = open(&server.url("late.tif"), hasty()).unwrap();
    let counts = server.counts();
    assert!(counts.requests <= 3, "{:#?}", counts.log);
    assert_same(&dataset, &bytes, &whole());
}
