//! Files behind URLs that a device decodes, while their bytes arrive.
//!
//! The device is the stand-in, which runs the real kernels by emulation; with `STRILE_REQUIRE_GPU=1` it is the first GPU.

use crate::asked::Decoded;
use crate::{UINT16, expected, hasty, open, server, window};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strile::batch::{BatchWindow, read_batch_on_device};
use strile::cache::Cache;
use strile::tiff::ByteOrder;
use strile::{BatchOptions, Context, Location, Processor};
use testkit::{Codec, Fault, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, RangeServer};

/// Puts the stand-in in the place of the driver.
fn device() -> Processor {
    if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
        strile_emulate::StandIn::load().unwrap();
    }
    Processor::Cuda(0)
}

/// The first byte that a request asks for.
fn first_byte(head: &str) -> u64 {
    let head = head.to_ascii_lowercase();
    let range = head.split("range: bytes=").nth(1).unwrap();
    range.split('-').next().unwrap().parse().unwrap()
}

/// Eight tiles of 2 MiB, of which the last two never come: those of the first 8 MiB are decoded without waiting for them. Of
/// each, a few columns are placed, because emulated kernels are slow.
#[test]
fn a_device_decodes_blocks_while_others_arrive() {
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(1024, 1024)).codec(Codec::None);
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [1, 8192, 1024], 7);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    let (server, bytes) = (RangeServer::start(), spec.build_with(&pixels, &[], frame).bytes);
    server.put("a.tif", bytes.clone(), "first");
    let part = window(100, 0, 16, 8192);
    // Not from the cache of the process.
    let options = part.clone().decode_on(device()).cache(Cache::Off);
    let dataset = open(&server.url("a.tif"), hasty().hedge(false)).unwrap();
    let counting = || {
        let decoded = Arc::new(Decoded::default());
        (Arc::clone(&decoded), Context { progress: Some(decoded), ..Context::default() })
    };
    let (decoded, context) = counting();
    let there = dataset.read_on_device(0, &options, &context).unwrap();
    let all = decoded.0.load(Ordering::Relaxed);
    assert_eq!((there.location(), there.report.host_blocks), (Location::Cuda(0), 0));
    let there = there.into_host(&Context::default()).unwrap();
    assert!(there.bytes().unwrap() == expected(&bytes, &part).into_bytes().unwrap(), "other pixels");

    server.fail(|_, head| (first_byte(head) > 12 << 20).then_some(Fault::Drip(Duration::from_secs(1))));
    let (decoded, context) = counting();
    let cancel = context.cancel.clone();
    let read = std::thread::spawn(move || dataset.read_on_device(0, &options, &context).map(drop));
    let begun = Instant::now();
    while decoded.0.load(Ordering::Relaxed) < all / 2 && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let found = decoded.0.load(Ordering::Relaxed);
    assert!((all / 2..all).contains(&found), "{found} of {all}");
    cancel.cancel();
    assert!(matches!(read.join().unwrap(), Err(strile::Error::Cancelled)));
}

#[test]
fn windows_of_remote_files_become_one_tensor_of_a_device() {
    let (server, bytes) = server(512);
    let files: Vec<_> = (0..6).map(|_| open(&server.url("a.tif"), hasty()).unwrap()).collect();
    let at = |file: usize| (u32::try_from(file).unwrap() * 40, 100);
    let windows: Vec<_> = (0..6)
        .map(|file| BatchWindow::of_pixels(file, at(file).0.into(), at(file).1.into(), (40, 30)))
        .collect();
    let options = BatchOptions::new().decode_on(device());
    let context = Context::default();
    let tensor = read_batch_on_device(0, &files, &windows, &options, &context).unwrap();
    assert_eq!(tensor.location(), Location::Cuda(0));
    let pixels = tensor.into_host(&context).unwrap().into_bytes().unwrap();
    for (file, found) in pixels.chunks(pixels.len() / 6).enumerate() {
        let (column, row) = at(file);
        assert_eq!(found, expected(&bytes, &window(column, row, 40, 30)).into_bytes().unwrap(), "{file}");
    }
}
