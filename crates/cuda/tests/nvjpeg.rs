//! Pictures by nvJPEG2000 and nvJPEG: which libraries are taken and which refused, how they are called, and that one
//! picture that fails is one picture.
//!
//! All of it is about the calls, on stand-ins for the libraries that write a pattern for each stream; the bindings are held
//! against NVIDIA's headers where those are found. What the libraries themselves make of streams is seen on a device
//! (`examples/nvjpeg.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

#[path = "nvjpeg/batch.rs"]
mod batch;
#[path = "nvjpeg/encode.rs"]
mod encode;
#[path = "nvjpeg/engine.rs"]
mod engine;
#[path = "nvjpeg/headers.rs"]
mod headers;
#[path = "nvjpeg/jpeg.rs"]
mod jpeg;
#[path = "nvjpeg/jpeg2000.rs"]
mod jpeg2000;
#[path = "nvjpeg/library.rs"]
mod library;
mod on_any;

use on_any::on_a_device;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_cuda::device::Device;
use strile_emulate::{Alone, Call, StandIn, load_pictures};
use strile_engine::BlockLayout;
use strile_tiff::{Compression, DataType, SampleFormat, SampleType};

/// The stand-in of the driver for one test at a time; `None` on a device.
fn standin() -> Option<Alone> {
    if on_a_device() {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
        return None;
    }
    Some(StandIn::load().unwrap().alone())
}

/// The stand-in of a library, whose streams have the pixels of [`pattern`].
fn ready(path: PathBuf) -> PathBuf {
    load_pictures(&path, write_pattern).unwrap();
    path
}

fn device() -> Arc<Device> {
    Device::open(0).unwrap()
}

fn layout(compression: Compression, (width, height): (u32, u32), samples: u16, bits: u16) -> BlockLayout {
    let data_type = if bits > 8 { DataType::U16 } else { DataType::U8 };
    BlockLayout {
        compression,
        sample: SampleType { format: SampleFormat::Uint, bits },
        is_strip: false,
        ..BlockLayout::stored(data_type, (width, height), samples)
    }
}

/// What tells streams apart: a comment with a number, put before the first marker of a kind.
fn numbered(stream: &[u8], before: u8, comment: u8, number: u32, text: &[u8]) -> Vec<u8> {
    let at = stream.windows(2).position(|pair| pair == [0xFF, before]).unwrap();
    let mut body = text.to_vec();
    body.extend(b"tile");
    body.extend(number.to_be_bytes());
    let len = u16::try_from(body.len() + 2).unwrap().to_be_bytes();
    [&stream[..at], &[0xFF, comment], &len, &body, &stream[at..]].concat()
}

/// The samples that the stand-ins give for a number.
fn pattern(number: u32, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u32).wrapping_mul(7).wrapping_add(number.wrapping_mul(31)) as u8).collect()
}

extern "C" fn write_pattern(src: *const c_void, src_len: usize, dst: *mut c_void, dst_len: usize) -> c_int {
    #[allow(unsafe_code, reason = "the memory that the stand-in was given")]
    // SAFETY: the stand-in has so many bytes there.
    let (src, dst) = unsafe {
        (
            std::slice::from_raw_parts(src.cast::<u8>(), src_len),
            std::slice::from_raw_parts_mut(dst.cast::<u8>(), dst_len),
        )
    };
    let whole = src.starts_with(&[0xFF, 0x4F])
        || [0xDB, 0xC4].iter().all(|table| src.windows(2).any(|pair| pair == [0xFF, *table]));
    let at = src.windows(4).position(|word| word == b"tile").filter(|_| whole);
    let Some(number) = at.and_then(|at| src.get(at + 4..at + 8)) else { return 1 };
    dst.copy_from_slice(&pattern(u32::from_be_bytes(number.try_into().unwrap()), dst_len));
    0
}

fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

fn no_misuse(calls: &[Call]) {
    let misuses: Vec<_> = calls.iter().filter(|call| call.name == "!").collect();
    assert!(misuses.is_empty(), "{misuses:?}");
}

/// Events that were waited for.
fn waited(calls: &[Call]) -> BTreeSet<String> {
    let waits = calls.iter().filter(|call| call.name == "cuEventSynchronize" || call.name == "cuEventQuery");
    waits.filter_map(|call| call.fact("event").map(str::to_owned)).collect()
}

/// A fixture of the CPU engine's tests.
fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpu/tests/data").join(name)).unwrap()
}
