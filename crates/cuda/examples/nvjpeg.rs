//! What nvJPEG2000 or nvJPEG makes of tiles on a device, and how fast: `nvjpeg KIND LIBRARY FOLDER`, KIND being `jpeg2000`,
//! `jpeg`, `jpeg-kernels` (without engines of the device) or `encode` (by nvJPEG2000 and by the CPU, of all cores; the
//! library is then the one that the loader finds). The folder has, for each set of tiles, NAME.bin (streams one
//! after the other), NAME.idx (offset and length of each, little-endian u64), NAME.ref (their samples) and NAME.txt: width,
//! height, samples, bits, `signed` or `unsigned`, `ycbcr` or `stored`, and how often they are repeated.
//!
//! Prints for each set the greatest difference of a sample, pictures that were refused, and GB/s with 1, 4 and 8 states; of
//! encoders, what the CPU makes of their streams.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use strile_cpu::CpuEngine;
use strile_cuda::device::Device;
use strile_cuda::picture::Decoder;
use strile_cuda::picture::nvjpeg::Nvjpeg;
use strile_cuda::picture::nvjpeg2000::Nvjpeg2000;
use strile_cuda::{CudaEngine, CudaOptions, NvidiaPictures};
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, Context, DecodeJob, EncodeJob, EncodeLayout, EncodeParams,
    EncodeTask, Encoded, EncodedBlocks, Encoder, Engine, Output, OutputSpec, Pixels, Placement,
};
use strile_tiff::{Compression, DataType, SampleFormat, SampleType, YCbCr};

#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]
#[path = "../tests/nvjpeg/batch.rs"]
mod batch;

type Failure = Box<dyn std::error::Error>;

struct Set {
    streams: Vec<batch::Stored>,
    samples: Vec<u8>,
    wide: bool,
    repeated: usize,
}

fn read(folder: &Path, name: &str, compression: Compression) -> Result<Set, Failure> {
    let file = |ending: &str| std::fs::read(folder.join(format!("{name}.{ending}")));
    let text = String::from_utf8(file("txt")?)?;
    let [width, height, samples, bits, sign, colour, repeated] =
        <[&str; 7]>::try_from(text.split_whitespace().collect::<Vec<_>>())
            .map_err(|_| "seven words expected")?;
    let format = if sign == "signed" { SampleFormat::Int } else { SampleFormat::Uint };
    let bits: u16 = bits.parse()?;
    let data_type = match (bits > 8, format) {
        (true, SampleFormat::Int) => DataType::I16,
        (true, _) => DataType::U16,
        _ => DataType::U8,
    };
    let stored = BlockLayout::stored(data_type, (width.parse()?, height.parse()?), samples.parse()?);
    let mut layout = BlockLayout { compression, sample: SampleType { format, bits }, ..stored };
    layout.extras.ycbcr = (colour == "ycbcr").then(YCbCr::default);
    let (layout, bytes) = (Arc::new(layout), file("bin")?);
    let mut streams = Vec::new();
    for words in file("idx")?.as_chunks::<16>().0 {
        let (offset, len) = words.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes);
        let start = usize::try_from(number(offset)?)?;
        let end = start + usize::try_from(number(len)?)?;
        streams.push((bytes.get(start..end).ok_or("outside of the streams")?.to_vec(), Arc::clone(&layout)));
    }
    Ok(Set { streams, samples: file("ref")?, wide: bits > 8, repeated: repeated.parse()? })
}

/// The greatest difference of two samples.
fn difference(found: &[u8], expected: &[u8], wide: bool) -> u16 {
    if wide {
        let pairs = found.as_chunks().0.iter().zip(expected.as_chunks().0);
        pairs.map(|(&a, &b)| u16::from_le_bytes(a).abs_diff(u16::from_le_bytes(b))).max().unwrap_or(0)
    } else {
        found.iter().zip(expected).map(|(&a, &b)| a.abs_diff(b).into()).max().unwrap_or(0)
    }
}

fn measure<D: Decoder>(decoder: &D, device: &Arc<Device>, set: &Set, title: &str) -> Result<(), Failure> {
    let one = set.streams.len();
    let streams: Vec<batch::Stored> = (0..set.repeated).flat_map(|_| set.streams.clone()).collect();
    let len = set.samples.len() / one.max(1);
    let mut best = f64::INFINITY;
    let (mut worst, mut refused) = (0, 0);
    for _ in 0..3 {
        let (found, took) =
            batch::timed(decoder, device, &streams).map_err(|stop| format!("{title}: {stop:?}"))?;
        best = best.min(took.as_secs_f64());
        let parts = set.samples.chunks_exact(len).cycle();
        for (found, expected) in found.iter().zip(parts) {
            match found {
                Some(found) => worst = worst.max(difference(found, expected, set.wide)),
                None => refused += 1,
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a measurement")]
    let rate = (len * streams.len()) as f64 / best / 1e9;
    println!(
        "{title}: {} pictures, {refused} refused, greatest difference {worst}, {:.2} ms, {rate:.3} GB/s",
        streams.len(),
        best * 1e3
    );
    Ok(())
}

/// A column of blocks as an image, one below the other.
struct Column {
    layout: Arc<BlockLayout>,
    spec: OutputSpec,
    bytes: Arc<Vec<u8>>,
    blocks: u32,
}

impl Column {
    /// Tiles again and again.
    fn of(set: &Set) -> Result<Self, Failure> {
        let layout = set.streams.first().map(|(_, layout)| Arc::clone(layout)).ok_or("no streams")?;
        Self::with(layout, set.samples.repeat(set.repeated))
    }

    fn with(layout: Arc<BlockLayout>, bytes: Vec<u8>) -> Result<Self, Failure> {
        let len = layout.decoded_len(layout.height).ok_or("too large")?;
        let blocks = u32::try_from(bytes.len() / len)?;
        let (samples, rows) = (layout.samples.into(), layout.height * blocks);
        let spec = OutputSpec::band_last(layout.data_type, samples, rows, layout.width)?;
        Ok(Self { layout, spec, bytes: Arc::new(bytes), blocks })
    }

    fn encode(
        &self,
        engine: &dyn Engine,
        encoder: Encoder,
        psnr: Option<u8>,
    ) -> Result<(EncodedBlocks, f64), Failure> {
        let quality = psnr.unwrap_or(75);
        let params = EncodeParams { encoder, level: 6, quality, lossless: psnr.is_none(), max_error: 0.0 };
        let layout = EncodeLayout { block: Arc::clone(&self.layout), params, nan_to: None, sparse: None };
        let layout = engine.prepare(layout)?;
        let (width, rows) = (self.layout.width, self.layout.height);
        let task = |row: u32| EncodeTask {
            layout: 0,
            pixels: 0,
            address: BlockAddress { row, ..BlockAddress::default() },
            rows,
            x: 0,
            y: row * rows,
            width,
            height: rows,
            first_band: 0,
        };
        let mut best = f64::INFINITY;
        let mut made = None;
        for _ in 0..3 {
            let pixels = Pixels::new(self.spec.clone(), Arc::clone(&self.bytes) as _)?;
            let job =
                EncodeJob { layouts: vec![layout.clone()], tasks: (0..self.blocks).map(task).collect() };
            let start = Instant::now();
            let done = engine.encode(job, &[pixels], &Context::default())?.wait()?;
            best = best.min(start.elapsed().as_secs_f64());
            made = Some(done);
        }
        Ok((made.ok_or("nothing encoded")?, best))
    }

    fn decode(&self, engine: &dyn Engine, made: &EncodedBlocks) -> Result<(Vec<u8>, f64), Failure> {
        let (width, rows) = (self.layout.width, self.layout.height);
        let task = |row: u32, span| BlockTask {
            source: 0,
            layout: 0,
            selection: 0,
            output: 0,
            span,
            address: BlockAddress { row, ..BlockAddress::default() },
            placement: Placement {
                rows,
                image_rows: rows,
                block_x: 0,
                block_y: 0,
                width,
                height: rows,
                out_x: 0,
                out_y: row * rows,
                first_band: 0,
            },
        };
        let (mut best, mut pixels) = (f64::INFINITY, Vec::new());
        for _ in 0..3 {
            let tasks = (0..).zip(&made.blocks).map(|(row, block)| task(row, block.span)).collect();
            let every = (0..self.layout.samples).collect();
            let job = DecodeJob::new(vec![Arc::clone(&self.layout)], vec![every], tasks)?;
            let output = Output::from_vec(self.spec.clone(), vec![0; self.bytes.len()])?;
            let encoded =
                Encoded::Staged(Arc::new(strile_engine::Arena::from_vec(made.slab.bytes().to_vec())));
            let start = Instant::now();
            let report =
                engine.submit(job, encoded, std::slice::from_ref(&output), &Context::default())?.wait()?;
            best = best.min(start.elapsed().as_secs_f64());
            if !report.faults.is_empty() {
                return Err(format!("{:?}", report.faults.first()).into());
            }
            pixels = output.into_vec().ok_or("the output is held by others")?;
        }
        Ok((pixels, best))
    }
}

/// Peak signal to noise in dB, of all samples.
#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn psnr(found: &[u8], expected: &[u8], wide: bool) -> f64 {
    let square = |a: f64, b: f64| (a - b) * (a - b);
    let (sum, peak, count): (f64, f64, usize) = if wide {
        let of = |bytes: &[u8; 2]| f64::from(u16::from_le_bytes(*bytes));
        let pairs = found.as_chunks().0.iter().zip(expected.as_chunks().0);
        (pairs.map(|(a, b)| square(of(a), of(b))).sum(), 65_535.0, found.len() / 2)
    } else {
        let pairs = found.iter().zip(expected);
        (pairs.map(|(&a, &b)| square(a.into(), b.into())).sum(), 255.0, found.len())
    };
    20.0 * (peak / (sum / count as f64).sqrt()).log10()
}

/// Encodes by nvJPEG2000 and by the CPU, and decodes what came out by all there are.
#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn encode(column: &Column, wide: bool, name: &str, asked: Option<u8>) -> Result<(), Failure> {
    let cpu = Arc::new(CpuEngine::new());
    let cuda = CudaEngine::open(0, Arc::clone(&cpu) as _, CudaOptions::default())?;
    let options = CudaOptions { nvjpeg: NvidiaPictures::TrustedAlways, ..CudaOptions::default() };
    let theirs = CudaEngine::open(0, Arc::clone(&cpu) as _, options)?;
    let size = column.bytes.len() as f64;
    let rate = |seconds: f64| size / seconds / 1e9;
    let (made, seconds) = column.encode(&cuda, Encoder::Nvjpeg2000, asked)?;
    let ratio = |made: &EncodedBlocks| size / made.slab.bytes().len() as f64;
    println!("{name} {asked:?}: nvJPEG2000 encodes {:.3} GB/s, ratio {:.3}", rate(seconds), ratio(&made));
    let (by_cpu, seconds) = column.encode(&*cpu, Encoder::Fast, asked)?;
    println!("{name} {asked:?}: CPU encodes {:.3} GB/s, ratio {:.3}", rate(seconds), ratio(&by_cpu));
    let engines: [(&str, &dyn Engine); 3] = [("CPU", &*cpu), ("own kernels", &cuda), ("nvJPEG2000", &theirs)];
    for (by, engine) in engines {
        match column.decode(engine, &made) {
            Ok((pixels, seconds)) => println!(
                "  decoded by {by}: {:.3} GB/s, greatest difference {}, {:.1} dB",
                rate(seconds),
                difference(&pixels, &column.bytes, wide),
                psnr(&pixels, &column.bytes, wide)
            ),
            Err(error) => println!("  decoded by {by}: {error}"),
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, library, folder] =
        <[String; 3]>::try_from(arguments).map_err(|_| "KIND, LIBRARY and FOLDER expected")?;
    let device = Device::open(0)?;
    let (library, folder) = (OsStr::new(&library), Path::new(&folder));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("txt")) {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    for name in names {
        if kind == "encode" {
            let set = read(folder, &name, Compression::Jpeg2000)?;
            let column = Column::of(&set)?;
            encode(&column, set.wide, &name, None)?;
            encode(&column, set.wide, &name, Some(45))?;
            // All tiles as one large picture.
            let BlockLayout { width, height, .. } = *column.layout;
            let side = 8;
            if column.blocks.is_multiple_of(side) && width == height && column.layout.samples == 1 {
                let whole = BlockLayout {
                    width: width * side,
                    height: height * (column.blocks / side),
                    ..(*column.layout).clone()
                };
                let whole = Column::with(Arc::new(whole), column.bytes.to_vec())?;
                encode(&whole, set.wide, &format!("{name} as one picture"), None)?;
            }
        } else if kind == "jpeg2000" {
            let set = read(folder, &name, Compression::Jpeg2000)?;
            for states in [1, 4, 8] {
                let decoder = Nvjpeg2000::load(&device, library, states)?;
                let title = format!("{name}: {} with {states} states", decoder.name());
                measure(&decoder, &device, &set, &title)?;
                println!("  it has taken {} MB", decoder.taken() / 1_000_000);
            }
        } else {
            let set = read(folder, &name, Compression::Jpeg)?;
            let decoder = Nvjpeg::load(&device, library, kind == "jpeg")?;
            measure(&decoder, &device, &set, &format!("{name}: {}", decoder.name()))?;
            println!("  it has taken {} MB", decoder.taken() / 1_000_000);
        }
    }
    Ok(())
}
