//! The block cache: the same pixels with and without it, its bounds, and states of files that it must tell apart.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

mod bounds;
mod changed;
mod equal;
#[cfg(feature = "remote")]
mod folder;
mod heights;
mod plans;
mod shared;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use strile::cache::Cache;
use strile::io::{ReadAt, ReadDone, ReadOp, Source, Version};
use strile::tiff::{ByteOrder, SampleFormat, SampleType};
use strile::{Context, Dataset, OpenOptions, ReadOptions, Window, cache};
use strile_engine::Span;
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels};

const UINT16: SampleType = SampleType { format: SampleFormat::Uint, bits: 16 };
const LIMIT: u64 = 256 << 20;

/// The cache is one for the process: tests use it one after the other, and each finds it empty.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    cache::set_limit(LIMIT);
    cache::clear();
    guard
}

/// A file in memory with a state of its own, that counts the bytes that are read of it.
#[derive(Clone)]
struct Named {
    bytes: Arc<Vec<u8>>,
    is_local: bool,
    state: Option<String>,
    read: Arc<AtomicU64>,
}

impl Named {
    fn new(bytes: &[u8], is_local: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let state = Some(format!("test {}", NEXT.fetch_add(1, Ordering::Relaxed)));
        Self { bytes: Arc::new(bytes.to_vec()), is_local, state, read: Arc::default() }
    }

    fn open(&self) -> Dataset {
        Dataset::from_source(Arc::new(self.clone()), &OpenOptions::default()).unwrap()
    }

    /// Bytes read since the last time.
    fn taken(&self) -> u64 {
        self.read.swap(0, Ordering::Relaxed)
    }

    fn get(&self, offset: u64, len: usize) -> io::Result<&[u8]> {
        self.read.fetch_add(len as u64, Ordering::Relaxed);
        self.bytes.get(offset as usize..offset as usize + len).ok_or(io::ErrorKind::UnexpectedEof.into())
    }
}

impl Source for Named {
    fn name(&self) -> &str {
        "named.tif"
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn version(&self) -> Version {
        Version { len: self.len(), mark: String::new() }
    }

    fn state(&self) -> Option<String> {
        self.state.clone()
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &strile::Cancel) {
        for ReadOp { id, offset, mut into } in ops {
            let result = self.get(offset, into.len()).map(|bytes| into.copy_from_slice(bytes));
            let _gave_up = done.send(ReadDone { id, into, result });
        }
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        self.is_local.then(|| Arc::new(self.clone()) as Arc<dyn ReadAt>)
    }
}

impl ReadAt for Named {
    fn read_at<'a>(&'a self, span: Span, _: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        self.get(span.offset, span.len as usize)
    }
}

/// A file of one band in tiles of 64 × 64.
fn tiled(codec: Codec, size: usize) -> Vec<u8> {
    let spec = ImageSpec::new(UINT16).grid(Grid::Tiles(64, 64)).codec(codec);
    spec.build(&Pixels::generate(Pattern::Dem, UINT16, [1, size, size], 3), ByteOrder::Little, false).bytes
}

fn read(dataset: &Dataset, options: &ReadOptions) -> strile::Pixels {
    dataset.read(options, &Context::default()).unwrap()
}

fn window(column: u32, row: u32, width: u32, height: u32) -> ReadOptions {
    ReadOptions::new().window(Window::new(column, row, width, height))
}

#[test]
fn the_second_read_of_a_block_is_kept_and_the_third_is_a_copy() {
    let _alone = alone();
    let file = Named::new(&tiled(Codec::Deflate, 256), true);
    let (dataset, options) = (file.open(), window(10, 10, 70, 30));
    file.taken();
    let first = read(&dataset, &options);
    let encoded = file.taken();
    assert!(encoded > 0 && cache::stats().blocks == 0);
    assert_eq!(read(&dataset, &options).bytes().unwrap(), first.bytes().unwrap());
    assert_eq!((file.taken(), cache::stats().blocks), (encoded, 2));
    assert_eq!(read(&dataset, &options).bytes().unwrap(), first.bytes().unwrap());
    assert_eq!(file.taken(), 0);
    // Another handle, another window of these blocks.
    let other = read(&file.open(), &window(0, 0, 128, 64).cache(Cache::Auto));
    file.taken();
    assert_eq!(
        other.bytes().unwrap(),
        read(&dataset, &window(0, 0, 128, 64).cache(Cache::Off)).bytes().unwrap()
    );
    assert_eq!(file.taken(), encoded);
    assert_eq!((cache::stats().hits, cache::stats().misses), (4, 4));
}

#[test]
fn words_of_the_option() {
    for (text, cache) in
        [("auto", Cache::Auto), ("off", Cache::Off), ("encoded", Cache::Encoded), ("decoded", Cache::Decoded)]
    {
        assert_eq!(text.parse::<Cache>().unwrap(), cache);
    }
    let error = "on".parse::<Cache>().unwrap_err().to_string();
    assert_eq!(error, "expected auto, off, encoded or decoded, got `on`");
}
