//! A write on a device keeps to its buffer: pixels, scratch and encoded bytes together, however long the raster is. Alone in
//! its process: the pool that is looked at is the process's.
//!
//! The device is the stand-in, which runs the real kernels by emulation; with `STRILE_REQUIRE_GPU=1` it is the first GPU.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a test fails by panicking")]

use strile::io::MemorySink;
use strile::read::Interleave;
use strile::tiff::{SampleFormat, SampleType};
use strile::write::{BlockChoice, Piece};
use strile::{Context, DataType, Processor, RasterSpec, Window, WriteOptions, Writer};
use strile_cuda::device::Device as CudaDevice;
use testkit::{Pattern, Pixels};

const WIDTH: u32 = 256;
const ROWS: u32 = 32;
const BUFFER: u64 = 512 << 10;

/// The file of a raster of `height` rows, given from host memory, and the most device memory that its writing had.
fn written(height: u32, buffer: Option<u64>) -> (Vec<u8>, u64) {
    let sample = SampleType { format: SampleFormat::Uint, bits: 16 };
    let pixels = Pixels::generate(Pattern::Dem, sample, [1, height as usize, WIDTH as usize], 7);
    let options = WriteOptions::new()
        .encode_on(Processor::Cuda(0))
        .blocks(BlockChoice::Tiles { width: 32, height: 32 })
        .level(1)
        .buffer(buffer);
    let (sink, spec) = (MemorySink::new(), RasterSpec::new(WIDTH, height, 1, DataType::U16));
    let handle = sink.handle();
    let mut writer = Writer::create(Box::new(sink), spec, &options, &Context::default()).unwrap();
    let device = CudaDevice::open(0).unwrap();
    let before = device.pool().current();
    device.pool().reset_peak();
    let rows = if buffer.is_some() { ROWS } else { height };
    let bytes = rows as usize * WIDTH as usize * 2;
    for (y, part) in (0..height).step_by(rows as usize).zip(pixels.bytes.chunks(bytes)) {
        let window = Window::new(0, y, WIDTH, rows.min(height - y));
        let piece = Piece::contiguous(window, 1, DataType::U16, Interleave::BandFirst, part).unwrap();
        writer.write(&piece).unwrap();
    }
    writer.finish().unwrap();
    (handle.take().unwrap().bytes, device.pool().peak() - before)
}

#[test]
fn a_streamed_write_keeps_to_its_buffer() {
    if std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
        strile_emulate::StandIn::load().unwrap();
    }
    let (eager, all) = written(512, None);
    let (streamed, taken) = written(512, Some(BUFFER));
    assert!(streamed == eager);
    assert!(taken <= BUFFER, "{taken} bytes, {BUFFER} allowed");
    assert!(all > BUFFER, "{all} bytes: the raster is too small to show anything");
    let (_, longer) = written(1024, Some(BUFFER));
    assert!(longer <= BUFFER, "{longer} bytes, {BUFFER} allowed");
}
