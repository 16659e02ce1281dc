//! Files behind URLs: how they are asked for, what answers are refused, how failures are retried.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod answers;
mod asked;
mod beside;
mod converted;
mod failures;
mod hedged;
mod hosts;
mod index;
mod mosaics;
#[cfg(feature = "cuda")]
mod on_device;

use std::sync::Arc;
use strile::io::{RemoteOptions, RemoteSource};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Cancel, Context, Dataset, OpenOptions, ReadOptions, Result, Window};
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, RangeServer};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };

/// An image of one band of noise, in tiles of 64 × 64, uncompressed, and its bytes.
fn image(size: usize) -> Vec<u8> {
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(64, 64)).codec(Codec::None);
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [1, size, size], 7);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    spec.build_with(&pixels, &[], frame).bytes
}

/// A server with one image of `size` × `size` pixels, as `a.tif`.
fn server(size: usize) -> (RangeServer, Vec<u8>) {
    let (server, bytes) = (RangeServer::start(), image(size));
    server.put("a.tif", bytes.clone(), "first");
    (server, bytes)
}

/// Options that fail soon.
fn hasty() -> RemoteOptions {
    use std::time::Duration;
    RemoteOptions::new()
        .stall_timeout(Duration::from_secs(2))
        .total_timeout(Duration::from_secs(10))
        .retries(3u32)
}

fn open(url: &str, options: RemoteOptions) -> Result<Dataset> {
    // These files are no COGs; `beside` has the tests of what is asked for besides.
    Dataset::open_with(url, &OpenOptions::new().sidecars(false).remote(options))
}

/// The pixels of a window as they are in the file itself.
fn expected(bytes: &[u8], options: &ReadOptions) -> strile::Pixels {
    let source = strile::io::MemorySource::new("here", bytes.to_vec());
    let dataset = Dataset::from_source(Arc::new(source), &OpenOptions::default()).unwrap();
    dataset.read(options, &Context::default()).unwrap()
}

fn assert_same(dataset: &Dataset, bytes: &[u8], options: &ReadOptions) {
    let found = dataset.read(options, &Context::default()).unwrap();
    assert_eq!(found.bytes().unwrap(), expected(bytes, options).into_bytes().unwrap());
}

fn whole() -> ReadOptions {
    ReadOptions::new()
}

fn window(column: u32, row: u32, width: u32, height: u32) -> ReadOptions {
    ReadOptions::new().window(Window::new(column, row, width, height))
}

#[test]
fn a_source_is_opened_without_a_dataset() {
    let (server, bytes) = server(256);
    let source =
        RemoteSource::open(&server.url("a.tif?sig=concealed"), &hasty(), &Cancel::default()).unwrap();
    let source: Arc<dyn strile::io::Source> = Arc::new(source);
    assert_eq!((source.len(), source.version().mark.as_str()), (bytes.len() as u64, "\"first\""));
    assert!(source.name().ends_with("/a.tif"), "{}", source.name());
}
