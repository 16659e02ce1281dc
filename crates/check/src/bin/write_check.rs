//! Compares writing on a GPU with writing on the CPU, in one process: `write_check FOLDER [--small] [CASE…]`.
//!
//! Rasters of every type are written by every codec that both engines have, with `reproducible`: by the CPU as one
//! piece; by the GPU as one piece of its memory, and in pieces of host memory and of its memory, with buffers of
//! several sizes. All files must be equal byte for byte, and hold the pixels as the CPU and the GPU read them. Prints
//! one JSON line per case: `case`, `ok`, `problem`, `bytes`; `left_out` if neither engine writes it. FOLDER then has
//! CASE.tif and, for other readers, the pixels as CASE.npy, bands first. `--small` is for tools that run kernels a
//! hundred times slower: a raster of few blocks, one way of streaming. Exit status 1 if a case failed, 2 if none was
//! checked.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a program for developers: it stops where something is wrong"
)]

use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use strile::engine::OutputSpec;
use strile::io::{MemorySink, MemorySource};
use strile::read::Interleave;
use strile::tiff::Planar;
use strile::tiff::gdal::NoData;
use strile::write::{BlockChoice, Format, Piece};
use strile::{
    Cancel, Compression, Context, DataType, Dataset, OpenOptions, Processor, RasterSpec, ReadOptions, Window,
    WriteOptions, Writer,
};
use strile_cuda::device::Device as CudaDevice;
use strile_cuda::memory::{Kind, lasting};

/// Not multiples of a tile.
const SIZE: (u32, u32) = (500, 311);
/// Size for `--small`: more than a tile and a part of the encoders, and not a multiple of either.
const SMALL: (u32, u32) = (150, 141);
const SENTINEL: f64 = -9999.0;
/// Rows of a piece: not a multiple of a block either.
const PIECE_ROWS: u32 = 77;
static BUFFERS: [u64; 2] = [64 << 10, 2 << 20];

const TYPES: [DataType; 10] = [
    DataType::U8,
    DataType::I8,
    DataType::U16,
    DataType::I16,
    DataType::U32,
    DataType::I32,
    DataType::U64,
    DataType::I64,
    DataType::F32,
    DataType::F64,
];
const CODECS: [Compression; 6] = [
    Compression::None,
    Compression::Deflate,
    Compression::Zstd,
    Compression::Lzw,
    Compression::PackBits,
    Compression::Lz4,
];
const SHAPES: [&str; 4] = ["tiles", "pixels", "strips", "cog"];

/// A raster and how it is written.
struct Case {
    name: String,
    columns: u32,
    rows: u32,
    /// Buffer sizes for streaming.
    buffers: &'static [u64],
    bands: u16,
    data_type: DataType,
    interleave: Interleave,
    options: WriteOptions,
    nodata: Option<NoData>,
}

/// Memory that holds the pieces.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    Host,
    Device,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(folder) = words.next().map(PathBuf::from) else {
        eprintln!("write_check FOLDER [--small] [CASE…]");
        return ExitCode::from(2);
    };
    std::fs::create_dir_all(&folder).unwrap();
    let mut wanted: Vec<String> = words.collect();
    let small = wanted.first().is_some_and(|word| word == "--small");
    if small {
        wanted.remove(0);
    }
    let device = CudaDevice::open(0).unwrap();
    let (mut checked, mut failed) = (0, 0);
    for case in
        cases(small).filter(|case| wanted.is_empty() || wanted.iter().any(|word| case.name.contains(word)))
    {
        match case.check(&device, &folder) {
            Ok(bytes) => {
                checked += 1;
                println!("{}", json!({ "case": case.name, "ok": true, "bytes": bytes }));
            }
            Err(Trouble::LeftOut(why)) => println!("{}", json!({ "case": case.name, "left_out": why })),
            Err(Trouble::Wrong(why)) => {
                failed += 1;
                println!("{}", json!({ "case": case.name, "ok": false, "problem": why }));
            }
        }
    }
    println!("summary: {}", json!({ "ok": failed == 0 && checked > 0, "cases": checked, "failed": failed }));
    match (checked, failed) {
        (0, 0) => ExitCode::from(2),
        (_, 0) => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}

fn cases(small: bool) -> impl Iterator<Item = Case> {
    let every =
        TYPES.into_iter().flat_map(|data_type| CODECS.into_iter().map(move |codec| (data_type, codec)));
    every.flat_map(move |(data_type, codec)| {
        SHAPES.into_iter().map(move |shape| case(data_type, codec, shape, small))
    })
}

fn case(data_type: DataType, compression: Compression, shape: &str, small: bool) -> Case {
    let float = matches!(data_type, DataType::F32 | DataType::F64);
    let tiles = |side| BlockChoice::Tiles { width: side, height: side };
    let mut options = WriteOptions::new().compression(compression).reproducible(true).blocks(tiles(128));
    let (mut bands, mut interleave) = (1, Interleave::BandFirst);
    match shape {
        "tiles" => options.nan_to_nodata = float,
        "pixels" => (bands, options.blocks) = (3, BlockChoice::Tiles { width: 64, height: 48 }),
        "strips" => {
            (bands, interleave) = (2, Interleave::BandLast);
            (options.planar, options.sparse) = (Planar::Separate, true);
            options.blocks = BlockChoice::Strips { rows: 37 };
        }
        _ => options.format = Format::Cog,
    }
    let nodata = options.nan_to_nodata.then_some(NoData::Float(SENTINEL));
    let name = format!("{}_{}_{shape}", data_type.name(), compression.name());
    let ((columns, rows), buffers) =
        if small { (SMALL, BUFFERS.split_at(1).0) } else { (SIZE, &BUFFERS[..]) };
    Case { name, columns, rows, buffers, bands, data_type, interleave, options, nodata }
}

enum Trouble {
    LeftOut(String),
    Wrong(String),
}

impl Case {
    fn check(&self, device: &Arc<CudaDevice>, folder: &Path) -> Result<u64, Trouble> {
        let wrong = |what: &str| Trouble::Wrong(what.to_owned());
        let whole = Window::new(0, 0, self.columns, self.rows);
        let rows: Vec<Window> = (0..self.rows)
            .step_by(PIECE_ROWS as usize)
            .map(|y| Window { row: y, height: PIECE_ROWS.min(self.rows - y), ..whole })
            .collect();
        let cpu = self.write(device, Processor::Cpu, Memory::Host, &[whole], None);
        let gpu = self.write(device, Processor::Cuda(0), Memory::Device, &[whole], None);
        let (cpu, gpu) = match (cpu, gpu) {
            (Ok(cpu), Ok(gpu)) => (cpu, gpu),
            (Err(one), Err(other)) => return Err(Trouble::LeftOut(format!("{one}; {other}"))),
            (Ok(_), Err(error)) => return Err(Trouble::Wrong(format!("cuda: {error}"))),
            (Err(error), Ok(_)) => return Err(Trouble::Wrong(format!("cpu: {error}"))),
        };
        std::fs::write(folder.join(format!("{}.tif", self.name)), &gpu).unwrap();
        std::fs::write(folder.join(format!("{}.npy", self.name)), self.npy()).unwrap();
        if cpu != gpu {
            let at = cpu.iter().zip(&gpu).position(|(a, b)| a != b);
            let lens = (cpu.len(), gpu.len());
            return Err(Trouble::Wrong(format!("cpu and cuda differ at byte {at:?} of {lens:?}")));
        }
        for memory in [Memory::Host, Memory::Device] {
            for &buffer in self.buffers {
                let name = if memory == Memory::Host { "host" } else { "device" };
                let streamed = self
                    .write(device, Processor::Cuda(0), memory, &rows, Some(buffer))
                    .map_err(|error| Trouble::Wrong(format!("{name} pieces, buffer {buffer}: {error}")))?;
                if streamed != gpu {
                    let problem = format!("{name} pieces with a buffer of {buffer} give other bytes");
                    return Err(Trouble::Wrong(problem));
                }
            }
        }
        let bytes = gpu.len() as u64;
        let source = Arc::new(MemorySource::new("written", gpu));
        let written = Dataset::from_source(source, &OpenOptions::default())
            .map_err(|error| Trouble::Wrong(error.to_string()))?;
        for by in [Processor::Cpu, Processor::Cuda(0)] {
            let read = ReadOptions::new().decode_on(by).interleave(Interleave::BandFirst);
            let found = written.read(&read, &Context::default());
            let found = found.map_err(|error| Trouble::Wrong(format!("read back: {error}")))?;
            if found.bytes().unwrap() != self.pixels(whole, Interleave::BandFirst, true) {
                return Err(wrong(&format!("{by:?} reads other pixels")));
            }
        }
        Ok(bytes)
    }

    /// Returns the file that results from some pieces.
    fn write(
        &self,
        device: &Arc<CudaDevice>,
        by: Processor,
        memory: Memory,
        pieces: &[Window],
        buffer: Option<u64>,
    ) -> strile::Result<Vec<u8>> {
        let mut spec = RasterSpec::new(self.columns, self.rows, self.bands, self.data_type);
        spec.metadata.nodata = self.nodata;
        let options = self.options.clone().encode_on(by).buffer(buffer);
        let sink = MemorySink::new();
        let handle = sink.handle();
        let mut writer = Writer::create(Box::new(sink), spec, &options, &Context::default())?;
        for window in pieces {
            let pixels = self.pixels(*window, self.interleave, false);
            let (bands, data_type) = (self.bands, self.data_type);
            let piece = Piece::contiguous(*window, bands, data_type, self.interleave, &pixels).unwrap();
            match memory {
                Memory::Host => writer.write(&piece)?,
                Memory::Device => writer.write(&on_device(device, *window, piece.spec, &pixels))?,
            }
        }
        writer.finish()?;
        Ok(handle.take().unwrap().bytes)
    }

    /// Returns some pixels; if `stored`, with NaN replaced by a written sentinel.
    fn pixels(&self, window: Window, interleave: Interleave, stored: bool) -> Vec<u8> {
        let Window { column: x, row: y, width, height } = window;
        let mut bytes = Vec::new();
        let sample = |band: u32, row: u32, column: u32| {
            let value = value(band, row, column, self.data_type);
            let sentinel = stored && self.options.nan_to_nodata && value.is_nan();
            to_bytes(if sentinel { SENTINEL } else { value }, self.data_type)
        };
        let bands = u32::from(self.bands);
        match interleave {
            Interleave::BandFirst => {
                for band in 0..bands {
                    for row in y..y + height {
                        (x..x + width).for_each(|column| bytes.extend(sample(band, row, column)));
                    }
                }
            }
            Interleave::BandLast => {
                for row in y..y + height {
                    for column in x..x + width {
                        (0..bands).for_each(|band| bytes.extend(sample(band, row, column)));
                    }
                }
            }
        }
        bytes
    }

    /// Returns the stored pixels, for numpy.
    fn npy(&self) -> Vec<u8> {
        let kind = match self.data_type {
            DataType::F32 | DataType::F64 => 'f',
            DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64 => 'i',
            _ => 'u',
        };
        let (size, bands) = (self.data_type.size(), self.bands);
        let (columns, rows) = (self.columns, self.rows);
        let mut head = format!(
            "{{'descr': '<{kind}{size}', 'fortran_order': False, 'shape': ({bands}, {rows}, {columns}), }}"
        );
        while (head.len() + 11) % 64 != 0 {
            head.push(' ');
        }
        head.push('\n');
        let whole = Window::new(0, 0, self.columns, self.rows);
        let len = u16::try_from(head.len()).unwrap().to_le_bytes();
        [
            b"\x93NUMPY\x01\x00".as_slice(),
            &len,
            head.as_bytes(),
            &self.pixels(whole, Interleave::BandFirst, true),
        ]
        .concat()
    }
}

/// Returns hills with a little noise; empty at the lower right, and with a hole of NaN if the type has it.
fn value(band: u32, row: u32, column: u32, data_type: DataType) -> f64 {
    if row > 120 && column > 100 {
        return 0.0;
    }
    let float = matches!(data_type, DataType::F32 | DataType::F64);
    if float && (40..60).contains(&row) && (90..170).contains(&column) {
        return f64::NAN;
    }
    let noise = (row.wrapping_mul(7919) ^ column.wrapping_mul(104_729)).wrapping_mul(2_654_435_761) >> 29;
    let hills = (f64::from(row) / 23.0).sin() * 40.0 + (f64::from(column) / 31.0).cos() * 30.0;
    let value = (hills + f64::from(noise + band * 11)).round();
    if float { value + f64::from(noise) / 64.0 } else { value }
}

fn to_bytes(value: f64, data_type: DataType) -> Vec<u8> {
    // Negative numbers wrap around in unsigned types.
    let whole = value as i64;
    match data_type {
        DataType::F32 => (value as f32).to_ne_bytes().to_vec(),
        DataType::F64 => value.to_ne_bytes().to_vec(),
        DataType::U8 | DataType::I8 => (whole as u8).to_ne_bytes().to_vec(),
        DataType::U16 | DataType::I16 => (whole as u16).to_ne_bytes().to_vec(),
        DataType::U32 | DataType::I32 => (whole as u32).to_ne_bytes().to_vec(),
        _ => whole.to_ne_bytes().to_vec(),
    }
}

/// Returns the same pixels in device memory.
fn on_device(device: &Arc<CudaDevice>, window: Window, spec: OutputSpec, pixels: &[u8]) -> Piece<'static> {
    let stream = device.stream().unwrap();
    let len = pixels.len() as u64;
    let lease = device.budget().take(Kind::Output, len, "a piece", &Cancel::default()).unwrap();
    let buffer = device.pool().alloc(&stream, len).unwrap();
    buffer.write(&stream, 0, pixels).unwrap();
    stream.synchronize().unwrap();
    Piece::on_device(window, spec, lasting(0, buffer, lease))
}
