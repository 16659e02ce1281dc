//! Measures the memory of a streamed write: `write_memory FOLDER [ROWS BUFFER_MIB SIDE]`.
//!
//! A square raster of float32, SIDE (8192) pixels wide, is made on the device and written to FOLDER (a file system in
//! memory) in pieces of ROWS rows (512), each a separate allocation, with a buffer of BUFFER_MIB (128). Prints one JSON
//! line per kind of file:
//!
//! - `streamed`: a piece is made, passed to the writer and dropped. `counted` is the peak of strile's pool, pieces
//!   included; `driver` the same as reported by the driver, polled by a thread.
//! - `resident`: all pieces exist before and stay. `counted` and `driver` are in addition to them.
//! - `eager`: one piece that stays, without a limit.
//! - `host` of each: how much the process grew since the device was opened (`VmHWM`); `same`: all three files are
//!   equal.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a program for developers: it stops where something is wrong"
)]

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use strile::device::DeviceBytes;
use strile::engine::OutputSpec;
use strile::io::FileSink;
use strile::write::{BlockChoice, Format, Piece, PredictorChoice};
use strile::{Cancel, Compression, Context, DataType, Processor, RasterSpec, Window, WriteOptions, Writer};
use strile_cuda::device::Device as CudaDevice;
use strile_cuda::memory::{Kind, lasting};

struct Bench {
    device: Arc<CudaDevice>,
    folder: PathBuf,
    side: u32,
    rows: u32,
    buffer: u64,
    /// Resident bytes of the process when the device was opened.
    opened: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Streamed,
    Resident,
    Eager,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| words.get(at).map_or(default, |word| word.parse().unwrap());
    let folder = PathBuf::from(words.first().expect("write_memory FOLDER [ROWS BUFFER_MIB SIDE]"));
    let device = CudaDevice::open(0).unwrap();
    let (rows, buffer, side) = (number(1, 512) as u32, number(2, 128) << 20, number(3, 8192) as u32);
    let bench = Bench { device, folder, side, rows, buffer, opened: status("VmRSS") };
    for format in [Format::GeoTiff, Format::Cog] {
        for compression in [Compression::Deflate, Compression::Zstd] {
            println!("{}", bench.file(format, compression));
        }
    }
}

impl Bench {
    fn file(&self, format: Format, compression: Compression) -> Value {
        let ways = [(Way::Streamed, "streamed"), (Way::Resident, "resident"), (Way::Eager, "eager")];
        let mut line = json!({ "cog": format == Format::Cog, "codec": compression.name() });
        let path = |name: &str| self.folder.join(format!("write_memory_{name}.tif"));
        for (way, name) in ways {
            line[name] = self.measure(way, format, compression, &path(name));
        }
        // Only now, because the process itself was measured.
        let files = ways.map(|(_, name)| std::fs::read(path(name)).unwrap());
        line["same"] = files.iter().all(|file| *file == files[0]).into();
        line["file_bytes"] = files[0].len().into();
        ways.iter().for_each(|(_, name)| std::fs::remove_file(path(name)).unwrap());
        line
    }

    fn measure(&self, way: Way, format: Format, compression: Compression, path: &Path) -> Value {
        let options = WriteOptions::new()
            .format(format)
            .compression(compression)
            .predictor(PredictorChoice::Auto)
            .blocks(BlockChoice::Tiles { width: 256, height: 256 })
            .buffer((way != Way::Eager).then_some(self.buffer))
            .encode_on(Processor::Cuda(0));
        let side = self.side;
        let rows = if way == Way::Eager { side } else { self.rows };
        let windows: Vec<Window> =
            (0..side).step_by(rows as usize).map(|y| Window::new(0, y, side, rows.min(side - y))).collect();
        let mut kept: Vec<Piece<'_>> = Vec::new();
        if way != Way::Streamed {
            kept.extend(windows.iter().map(|window| self.piece(*window)));
        }
        let pool = self.device.pool();
        pool.trim(0).unwrap();
        pool.reset_peak();
        // Resets the peak, so that it is measured from now on; if that is refused, from the start.
        drop(std::fs::write("/proc/self/clear_refs", "5"));
        let (input, watch) = (pool.current(), Watch::start(&self.device));
        let start = Instant::now();
        let sink = FileSink::create(path, true).unwrap();
        let spec = RasterSpec::new(side, side, 1, DataType::F32);
        let mut writer = Writer::create(Box::new(sink), spec, &options, &Context::default()).unwrap();
        match way {
            Way::Streamed => windows.iter().for_each(|window| writer.write(&self.piece(*window)).unwrap()),
            Way::Resident | Way::Eager => kept.iter().for_each(|piece| writer.write(piece).unwrap()),
        }
        let report = writer.finish().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        json!({
            "seconds": seconds, "input": input, "counted": pool.peak() - input, "driver": watch.stop(),
            "host": status("VmHWM").saturating_sub(self.opened), "spooled": report.spooled,
            "allocations": pool.allocations(),
        })
    }

    /// Returns some rows of the raster, in separate device memory.
    fn piece(&self, window: Window) -> Piece<'static> {
        let spec = OutputSpec::band_first(DataType::F32, 1, window.height, window.width).unwrap();
        Piece::on_device(window, spec, self.memory(window))
    }

    fn memory(&self, window: Window) -> DeviceBytes {
        let stream = self.device.stream().unwrap();
        let row_len = u64::from(window.width) * 4;
        let len = row_len * u64::from(window.height);
        let lease = self.device.budget().take(Kind::Output, len, "a piece", &Cancel::default()).unwrap();
        let buffer = self.device.pool().alloc(&stream, len).unwrap();
        // A few rows at a time, because the process itself is measured.
        for y in (0..window.height).step_by(64) {
            let count = 64.min(window.height - y);
            let bytes = rows(window.row + y, count, window.width);
            buffer.write(&stream, u64::from(y) * row_len, &bytes).unwrap();
        }
        stream.synchronize().unwrap();
        lasting(0, buffer, lease)
    }
}

/// Returns hills, in 64ths of a metre, with a little noise.
fn rows(first: u32, count: u32, width: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count as usize * width as usize * 4);
    for y in first..first + count {
        let mut state = y.wrapping_mul(2_654_435_761).wrapping_add(1);
        let (slow, fast) = ((y as f32 / 900.0).cos(), (y as f32 / 37.0).sin());
        for x in 0..width {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 29) as f32 / 64.0;
            let height =
                900.0 + (x as f32 / 700.0).sin() * slow * 400.0 + fast * (x % 97) as f32 / 8.0 + noise;
            bytes.extend_from_slice(&((height * 64.0).round() / 64.0).to_ne_bytes());
        }
    }
    bytes
}

/// Polls the free memory of the device.
struct Watch {
    before: u64,
    done: Arc<AtomicBool>,
    least: Arc<AtomicU64>,
    thread: std::thread::JoinHandle<()>,
}

impl Watch {
    fn start(device: &Arc<CudaDevice>) -> Self {
        let free = |device: &CudaDevice| device.context().memory().unwrap().0;
        let before = free(device);
        let (done, least) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(before)));
        let (device, ended, lowest) = (Arc::clone(device), Arc::clone(&done), Arc::clone(&least));
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                lowest.fetch_min(free(&device), Ordering::Relaxed);
            }
        });
        Self { before, done, least, thread }
    }

    /// Returns the peak of device memory in use, in bytes.
    fn stop(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.before.saturating_sub(self.least.load(Ordering::Relaxed))
    }
}

/// Returns a figure of `/proc/self/status`, in bytes; 0 if it does not exist.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim));
    let kilobytes = line.and_then(|rest| rest.strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
