//! Requests and bytes.

use crate::{UINT16, assert_same, expected, hasty, open, server, whole, window};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use strile::batch::{BatchWindow, HeaderLimits, Headers, plan_batch};
use strile::engine::Progress;
use strile::tiff::ByteOrder;
use strile::{BatchOptions, Context, Location, OpenOptions, read_batch};
use testkit::{Codec, Fault, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, RangeServer};

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

/// Ten thousand tiles have tables of 80 KB, which the first answer does not hold.
#[test]
fn a_long_header_costs_one_more_request() {
    let uint8 = strile::tiff::SampleType { bits: 8, ..UINT16 };
    let pixels = Pixels::generate(Pattern::Noise, uint8, [1, 1600, 1600], 7);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    let spec = ImageSpec::new(uint8).grid(Grid::Tiles(16, 16)).codec(Codec::None);
    let (server, bytes) = (RangeServer::start(), spec.build_with(&pixels, &[], frame).bytes);
    server.put("a.tif", bytes.clone(), "first");
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    let counts = server.counts();
    assert_eq!((counts.requests, counts.heads), (2, 0), "{:#?}", counts.log);
    assert!(counts.bytes < 160 << 10, "{} bytes", counts.bytes);
    assert_same(&dataset, &bytes, &window(700, 900, 40, 40));
}

/// Four tiles in two rows: one range for each row, and the header.
#[test]
fn a_window_costs_a_request_per_row_of_blocks() {
    let (server, bytes) = server(1024);
    let dataset = open(&server.url("a.tif"), hasty().merge_gap(Some(4096))).unwrap();
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
    let dataset = open(&server.url("a.tif"), hasty().merge_gap(Some(4096))).unwrap();
    let figures = dataset.plan(&window(520, 520, 100, 100), &Context::default()).unwrap().figures();
    assert_eq!((figures.ranges, figures.range_bytes), (2, 4 * 64 * 64 * 2));
    assert_eq!(server.counts().requests, 1, "a plan asks for nothing");
}

/// One connection of 5 MB/s would take 3.3 s.
#[test]
fn a_large_range_is_spread_over_connections() {
    let (server, bytes) = server(2880);
    server.delay(Duration::from_millis(20));
    server.rate(5_000_000);
    let dataset = open(&server.url("a.tif"), hasty()).unwrap();
    let begun = Instant::now();
    let found = dataset.read(&whole(), &Context::default()).unwrap();
    let took = begun.elapsed();
    assert_eq!(found.bytes().unwrap(), expected(&bytes, &whole()).into_bytes().unwrap());
    let counts = server.counts();
    assert!(counts.at_once >= 6, "{} at once", counts.at_once);
    assert!(counts.bytes <= bytes.len() as u64 + (64 << 10), "{} bytes", counts.bytes);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn many_files_are_read_at_once() {
    let (server, bytes) = server(512);
    server.delay(Duration::from_millis(200));
    let files: Vec<_> = (0..12).map(|_| open(&server.url("a.tif"), hasty()).unwrap()).collect();
    server.counts();
    let windows: Vec<_> = (0..12).map(|file| BatchWindow::of_pixels(file, 200, 200, (30, 30))).collect();
    let context = Context::default();
    let begun = Instant::now();
    let batch = read_batch(&files, &windows, &BatchOptions::default(), &context).unwrap();
    // One after the other they would take 2.4 s.
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    let pixels: Vec<u8> = batch.into_host(&context).unwrap().into_bytes().unwrap();
    let one = expected(&bytes, &window(200, 200, 30, 30));
    assert!(pixels.chunks(pixels.len() / 12).all(|window| window == one.bytes().unwrap()));
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

/// Rows of blocks of one file, 262 KB apart, come in one request before the rate of the host is known.
#[test]
fn a_window_of_each_of_many_files_costs_two_requests_per_file() {
    const FILES: usize = 12;
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(256, 256)).codec(Codec::None);
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [1, 1024, 1024], 7);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    let bytes = spec.build_with(&pixels, &[], frame).bytes;
    let server = RangeServer::start();
    server.delay(Duration::from_millis(30));
    let names: Vec<String> = (0..FILES).map(|at| format!("{at}.tif")).collect();
    names.iter().for_each(|name| server.put(name, bytes.clone(), "first"));
    let urls: Vec<PathBuf> = names.iter().map(|name| server.url(name).into()).collect();
    let context = Context::default();
    let headers = Headers::new(HeaderLimits::default(), OpenOptions::new().sidecars(false));
    let files = headers.open_all(&urls, &hasty(), &context.cancel).unwrap();
    let opened = server.counts();
    assert_eq!((opened.requests, opened.bytes), (FILES, FILES as u64 * (32 << 10)));
    assert!(opened.at_once >= FILES - 2, "{} at once", opened.at_once);
    let windows: Vec<_> = (0..FILES).map(|file| BatchWindow::of_pixels(file, 300, 400, (256, 256))).collect();
    let plan =
        plan_batch(Location::Host, &files, &windows, &BatchOptions::default(), &context).unwrap().figures();
    let batch = read_batch(&files, &windows, &BatchOptions::default(), &context).unwrap();
    let counts = server.counts();
    assert_eq!(counts.requests, FILES, "{:#?}", counts.log);
    assert_eq!(counts.bytes, FILES as u64 * 6 * 256 * 256 * 2);
    assert_eq!((plan.requests, plan.request_bytes), (counts.requests, counts.bytes));
    let pixels: Vec<u8> = batch.into_host(&context).unwrap().into_bytes().unwrap();
    let one = expected(&bytes, &window(300, 400, 256, 256));
    assert!(pixels.chunks(pixels.len() / FILES).all(|window| window == one.bytes().unwrap()));
}

/// What a plan counts is what a server is asked: large ranges in pieces, and nothing for the first bytes.
#[test]
fn a_plan_counts_what_is_asked() {
    for (size, at) in
        [(60, whole()), (1024, window(520, 520, 100, 100)), (2880, whole()), (1024, window(0, 0, 64, 64))]
    {
        let (server, bytes) = server(size);
        let dataset = open(&server.url("a.tif"), hasty().merge_gap(Some(4096))).unwrap();
        let figures = dataset.plan(&at, &Context::default()).unwrap().figures();
        server.counts();
        assert_same(&dataset, &bytes, &at);
        let counts = server.counts();
        assert_eq!((figures.requests, figures.request_bytes), (counts.requests, counts.bytes), "{size}");
    }
}

/// Counts blocks.
#[derive(Default)]
pub(crate) struct Decoded(pub(crate) AtomicU64);

impl Progress for Decoded {
    fn advance(&self, blocks: u64) {
        self.0.fetch_add(blocks, Ordering::Relaxed);
    }
}

/// Three rows of blocks, each in a range of its own; the first never comes.
#[test]
fn blocks_are_decoded_when_their_bytes_are_there() {
    let (server, _) = server(1024);
    let dataset = open(&server.url("a.tif"), hasty().merge_gap(Some(0)).hedge(false)).unwrap();
    server.counts();
    server.fail(|number, _| (number == 0).then_some(Fault::Drip(Duration::from_secs(1))));
    let decoded = Arc::new(Decoded::default());
    let context = Context { progress: Some(Arc::clone(&decoded) as _), ..Context::default() };
    let cancel = context.cancel.clone();
    let read = std::thread::spawn(move || dataset.read(&window(512, 512, 128, 192), &context).map(drop));
    let begun = Instant::now();
    while decoded.0.load(Ordering::Relaxed) < 4 && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(decoded.0.load(Ordering::Relaxed), 4);
    cancel.cancel();
    assert!(matches!(read.join().unwrap(), Err(strile::Error::Cancelled)));
}
