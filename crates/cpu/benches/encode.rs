//! Rates of encoding whole images on the engine, in MB/s of pixels, and the ratios they give.
//!
//! Images of 4096 × 4096 made here: an elevation model in float32 with predictor 3, a noisy uint16 band, RGB and
//! classes in uint8 with predictor 2; or raw files given as arguments, named `NAME.TYPE.BANDS.ROWS.COLUMNS` (pixels
//! band by band). Inside the timer is one job over all tiles of 512 × 512, pixels interleaved: cutting, predictor and
//! codec, no file. The best of several passes counts, on one thread and on two, and by the time that the process had
//! on a core, which other work on the machine disturbs less.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark over data made here"
)]

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;
use strile_cpu::CpuEngine;
use strile_engine::{
    BlockAddress, BlockLayout, CodecExtras, Context, EncodeJob, EncodeLayout, EncodeParams, EncodeTask,
    Encoder, Engine, Fill, OutputSpec, SharedPixels,
};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

const SIDE: u32 = 4096;
const TILE: u32 = 512;
const PASSES: usize = 3;

const CODECS: [(Compression, i32); 5] = [
    (Compression::Deflate, 6),
    (Compression::Zstd, 9),
    (Compression::Lzw, 0),
    (Compression::PackBits, 0),
    (Compression::None, 0),
];

struct Image {
    name: String,
    sample: SampleType,
    pixels: SharedPixels,
}

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let images: Vec<Image> =
        if files.is_empty() { made() } else { files.iter().map(|file| read(file)).collect() };
    println!(
        "{:<28} {:<9} {:>8} {:>9} {:>9} {:>9}",
        "image", "codec", "ratio", "1 thread", "2 threads", "a core"
    );
    for image in &images {
        for (compression, level) in CODECS {
            let (len, one, core) = measure(image, compression, level, 1);
            let (_, two, _) = measure(image, compression, level, 2);
            let ratio = image.pixels.bytes().len() as f64 / len as f64;
            let name = &image.name;
            println!("{name:<28} {:<9} {ratio:>8.4} {one:>9.0} {two:>9.0} {core:>9.0}", compression.name());
        }
    }
}

fn measure(image: &Image, compression: Compression, level: i32, threads: usize) -> (usize, f64, f64) {
    let engine = CpuEngine::new();
    let layout = engine.prepare(layout(image, compression, level)).expect("a layout that is written");
    let context =
        Context { threads: NonZeroUsize::new(threads).expect("a thread or two"), ..Context::default() };
    let spec = image.pixels.spec();
    let mut tasks = Vec::new();
    for y in (0..spec.rows).step_by(TILE as usize) {
        for x in (0..spec.columns).step_by(TILE as usize) {
            tasks.push(EncodeTask {
                layout: 0,
                pixels: 0,
                address: BlockAddress { level: 0, row: y / TILE, column: x / TILE, plane: 0 },
                rows: TILE,
                x,
                y,
                width: TILE.min(spec.columns - x),
                height: TILE.min(spec.rows - y),
                first_band: 0,
            });
        }
    }
    let (mut best, mut least, mut len) = (f64::MAX, f64::MAX, 0);
    for _ in 0..PASSES {
        let job = EncodeJob { layouts: vec![layout.clone()], tasks: tasks.clone() };
        let (start, core) = (Instant::now(), seconds_on_a_core());
        let ticket = engine.encode(job, std::slice::from_ref(&image.pixels), &context);
        let blocks = ticket.expect("a job that fits").wait().expect("blocks");
        best = best.min(start.elapsed().as_secs_f64());
        least = least.min(seconds_on_a_core() - core);
        assert!(blocks.faults.is_empty());
        len = blocks.slab.bytes().len();
    }
    let megabytes = image.pixels.bytes().len() as f64 / 1e6;
    (len, megabytes / best, megabytes / least.max(0.01))
}

/// Time that all threads of the process had on cores, in hundredths of a second; 0 where the system does not say.
fn seconds_on_a_core() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // utime and stime are fields 14 and 15; the second field ends with the last bracket.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn layout(image: &Image, compression: Compression, level: i32) -> EncodeLayout {
    let predictor = match (compression, image.sample.format) {
        (Compression::None | Compression::PackBits, _) => Predictor::None,
        (_, SampleFormat::Float) => Predictor::FloatingPoint,
        _ => Predictor::Horizontal,
    };
    let block = BlockLayout {
        width: TILE,
        height: TILE,
        samples: image.pixels.spec().bands as u16,
        sample: image.sample,
        mixed_bits: None,
        data_type: image.pixels.spec().data_type,
        byte_order: ByteOrder::Little,
        reverse_bits: false,
        compression,
        predictor,
        is_strip: false,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
            reduce: 0,
        },
    };
    let params = EncodeParams { encoder: Encoder::Fast, level, quality: 75, lossless: true, max_error: 0.0 };
    EncodeLayout { block: Arc::new(block), params, nan_to: None, sparse: None }
}

fn read(file: &str) -> Image {
    let name = file.rsplit('/').next().expect("a name").to_owned();
    let parts: Vec<&str> = name.rsplitn(5, '.').collect();
    let number = |i: usize| parts[i].parse::<u32>().expect("a number");
    let data_type = DataType::ALL.into_iter().find(|t| t.name() == parts[3]).expect("numpy's name of a type");
    let format = match data_type {
        DataType::F16 | DataType::F32 | DataType::F64 => SampleFormat::Float,
        DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64 => SampleFormat::Int,
        _ => SampleFormat::Uint,
    };
    let sample = SampleType { format, bits: data_type.size() as u16 * 8 };
    image(&name, sample, number(2), (number(1), number(0)), std::fs::read(file).expect("the file"))
}

fn image(name: &str, sample: SampleType, bands: u32, size: (u32, u32), bytes: Vec<u8>) -> Image {
    let data_type = sample.data_type().expect("a type");
    let spec = OutputSpec::band_first(data_type, bands, size.0, size.1).expect("a shape");
    Image {
        name: name.to_owned(),
        sample,
        pixels: SharedPixels::new(spec, Arc::new(bytes)).expect("all pixels"),
    }
}

fn made() -> Vec<Image> {
    let mut random = 1;
    let pixels = || (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x as f32, y as f32)));
    let hills = |x: f32, y: f32| 300.0 * (x / 90.0).sin() * (y / 70.0).cos() + 40.0 * ((x + y) / 17.0).sin();
    let elevation = pixels()
        .flat_map(|(x, y)| {
            let metres = 800.0 + hills(x, y) + (next(&mut random) % 8) as f32 * 0.05;
            ((metres * 16.0).round() / 16.0).to_ne_bytes()
        })
        .collect();
    let noisy = pixels()
        .flat_map(|(x, y)| ((2000.0 + hills(x, y)) as u16 + (next(&mut random) % 64) as u16).to_ne_bytes())
        .collect();
    let rgb = (0..3)
        .flat_map(|band| pixels().map(move |(x, y)| (band, x, y)))
        .map(|(band, x, y)| (120.0 + hills(x, y) / 6.0 + band as f32) as u8 + (next(&mut random) % 16) as u8)
        .collect();
    let classes = pixels().map(|(x, y)| (hills(x, y) / 60.0 + 8.0) as u8).collect();
    let (uint, size) = (|bits| SampleType { format: SampleFormat::Uint, bits }, (SIDE, SIDE));
    vec![
        image("elevation", SampleType { format: SampleFormat::Float, bits: 32 }, 1, size, elevation),
        image("noisy", uint(16), 1, size, noisy),
        image("rgb", uint(8), 3, size, rgb),
        image("classes", uint(8), 1, size, classes),
    ]
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 20
}
