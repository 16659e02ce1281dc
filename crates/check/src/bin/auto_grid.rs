//! Checks whether `Processor::Auto` chooses the faster engine: `auto_grid [--folder F] [--tile N] [CODEC…] [RASTER…]`.
//! `auto_grid --calibrate` measures this machine first, like `strile devices --calibrate`.
//!
//! Four rasters (elevation, reflectance, land cover, colours) are made and written by strile for each codec, 1024 tiles
//! each; windows of 1 to 1024 tiles are read from the page cache by the CPU, by the GPU and by `Auto`, into host
//! memory, in turn. Prints one line per read: best time in milliseconds, the engine that `Auto` chose, its time
//! relative to the better engine's, its estimates; at the end the worst of these.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a program for developers, whose numbers are small"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;
use strile::cache::Cache;
use strile::io::FileSink;
use strile::read::Interleave;
use strile::write::{BlockChoice, Piece};
use strile::{
    Compression, Context, DataType, Dataset, Processor, RasterSpec, ReadOptions, Window, WriteOptions, Writer,
};

/// Tiles across and down of a file.
const ACROSS: u32 = 32;
/// Tiles across and down of the windows.
const WINDOWS: [u32; 5] = [1, 4, 8, 16, 32];
/// Pixels across and down of the pattern that is repeated over a raster.
const PATTERN: usize = 2048;
/// Rows of tiles that are written at once.
const AT_ONCE: u32 = 8;
/// Minimum and maximum turns of all three, and milliseconds after which no turn is started.
const TURNS: (usize, usize) = (2, 12);
const ENOUGH: f64 = 80.0;

const RASTERS: [(&str, DataType, u16); 4] = [
    ("dem", DataType::F32, 1),
    ("u16", DataType::U16, 1),
    ("cover", DataType::U8, 1),
    ("rgb", DataType::U8, 3),
];
const CODECS: [Compression; 5] =
    [Compression::Deflate, Compression::Zstd, Compression::Lzw, Compression::Lz4, Compression::None];

type Failed = Box<dyn Error>;

struct Arguments {
    folder: PathBuf,
    calibrate: bool,
    tile: u32,
    words: Vec<String>,
}

fn arguments() -> Result<Arguments, Failed> {
    let folder = std::env::temp_dir().join("auto_grid");
    let mut found = Arguments { folder, calibrate: false, tile: 256, words: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--folder" => found.folder = words.next().ok_or("--folder needs a folder")?.into(),
            "--calibrate" => found.calibrate = true,
            "--tile" => found.tile = words.next().ok_or("--tile needs a number")?.parse()?,
            _ => found.words.push(word),
        }
    }
    Ok(found)
}

/// Returns rough terrain by midpoint displacement: each octave adds `roughness` times the previous one.
fn terrain(roughness: f32, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let mut noise = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 - 0.5
    };
    let mut size = 4;
    let mut field: Vec<f32> = (0..size * size).map(|_| noise()).collect();
    let mut height = 1.0;
    while size < PATTERN {
        let next = size * 2;
        height *= roughness;
        let at = |y: usize, x: usize| field[(y % size) * size + x % size];
        let mut fine = vec![0.0; next * next];
        for (place, value) in fine.iter_mut().enumerate() {
            let (y, x) = (place / next, place % next);
            let (wy, wx) = ((y % 2) as f32 / 2.0, (x % 2) as f32 / 2.0);
            let row = |y: usize| at(y, x / 2) * (1.0 - wx) + at(y, x / 2 + 1) * wx;
            *value = row(y / 2) * (1.0 - wy) + row(y / 2 + 1) * wy + height * noise();
        }
        (field, size) = (fine, next);
    }
    let mean = field.iter().sum::<f32>() / field.len() as f32;
    let deviation = (field.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / field.len() as f32).sqrt();
    field.iter().map(|v| (v - mean) / deviation).collect()
}

/// Returns the pattern of a raster, pixel by pixel.
fn pattern(name: &str) -> Vec<u8> {
    match name {
        "dem" => terrain(0.55, 1)
            .into_iter()
            .flat_map(|v| (((v * 400.0 + 900.0) * 64.0).round() / 64.0).to_ne_bytes())
            .collect(),
        "u16" => {
            let value = |(v, g): (f32, f32)| (v * 600.0 + 1800.0 + g * 25.0).clamp(0.0, 10_000.0) as u16;
            terrain(0.8, 2).into_iter().zip(terrain(0.95, 3)).flat_map(|v| value(v).to_ne_bytes()).collect()
        }
        "cover" => terrain(0.62, 4).into_iter().map(|v| ((v + 2.0) * 2.5).clamp(0.0, 11.0) as u8).collect(),
        _ => {
            let (base, other) = (terrain(0.7, 5), [6, 7, 8].map(|seed| terrain(0.88, seed)));
            let sample = |i: usize, k: usize| (base[i] * 0.8 + other[k][i] * 0.3) * 45.0 + 120.0;
            (0..base.len()).flat_map(|i| [0, 1, 2].map(|k| sample(i, k).clamp(0.0, 255.0) as u8)).collect()
        }
    }
}

fn write(
    path: &Path,
    raster: (&str, DataType, u16),
    codec: Compression,
    tile: u32,
    pattern: &[u8],
) -> Result<(), Failed> {
    let (_, data_type, bands) = raster;
    let side = ACROSS * tile;
    let options =
        WriteOptions::new().compression(codec).blocks(BlockChoice::Tiles { width: tile, height: tile });
    let spec = RasterSpec::new(side, side, bands, data_type);
    let sink = Box::new(FileSink::create(path, true)?);
    let mut writer = Writer::create(sink, spec, &options, &Context::default())?;
    let row = pattern.len() / PATTERN;
    let repeats = (side as usize).div_ceil(PATTERN);
    let height = AT_ONCE * tile;
    for y in (0..side).step_by(height as usize) {
        let rows = (0..height as usize).map(|down| (y as usize + down) % PATTERN * row);
        let width = side as usize * row / PATTERN;
        let pixels: Vec<u8> = rows
            .flat_map(|at| pattern[at..at + row].repeat(repeats).into_iter().take(width).collect::<Vec<u8>>())
            .collect();
        let window = Window::new(0, y, side, height);
        let piece = Piece::contiguous(window, bands, data_type, Interleave::BandLast, &pixels)?;
        writer.write(&piece)?;
    }
    writer.finish()?;
    Ok(())
}

/// Returns the best time of each read in milliseconds, measured in turn.
fn best(reads: [&dyn Fn() -> Result<(), Failed>; 3]) -> Result<[f64; 3], Failed> {
    let (mut best, all) = ([f64::INFINITY; 3], Instant::now());
    for turn in 0..TURNS.1 {
        for (read, best) in reads.into_iter().zip(&mut best) {
            let start = Instant::now();
            read()?;
            *best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
        if turn + 1 >= TURNS.0 && all.elapsed().as_secs_f64() * 1e3 > ENOUGH {
            break;
        }
    }
    Ok(best)
}

fn main() -> Result<(), Failed> {
    let Arguments { folder, calibrate, tile, words } = arguments()?;
    std::fs::create_dir_all(&folder)?;
    let context = Context::default();
    if calibrate {
        let start = Instant::now();
        let path = strile::device::calibrate(&context)?;
        println!("calibrated in {:.1} s", start.elapsed().as_secs_f64());
        print!("{}", std::fs::read_to_string(path)?);
    }
    let chosen = |name: &str, all: &[&str]| {
        let some = words.iter().any(|word| all.contains(&word.as_str()));
        !some || words.iter().any(|word| word == name)
    };
    println!("raster codec tiles encoded decoded cpu cuda auto took ratio reason");
    let (mut worst, mut over) = ((0.0, String::new()), 0usize);
    let (mut reads, start) = (0usize, Instant::now());
    for raster in RASTERS.into_iter().filter(|raster| chosen(raster.0, &RASTERS.map(|raster| raster.0))) {
        let pattern = pattern(raster.0);
        for codec in CODECS.into_iter().filter(|codec| chosen(codec.name(), &CODECS.map(Compression::name))) {
            let path = folder.join("grid.tif");
            write(&path, raster, codec, tile, &pattern)?;
            for across in WINDOWS {
                let window = Window::new(0, 0, across * tile, across * tile);
                let options =
                    |processor| ReadOptions::new().window(window).decode_on(processor).cache(Cache::Off);
                let read = |processor: Processor| {
                    Dataset::open(&path)?.read(&options(processor), &context)?;
                    Ok(())
                };
                let [cpu, cuda, auto] =
                    best([&|| read(Processor::Cpu), &|| read(Processor::Cuda(0)), &|| {
                        read(Processor::Auto)
                    }])?;
                let dataset = Dataset::open(&path)?;
                let plan = dataset.plan(&options(Processor::Auto), &context)?;
                let ratio = auto / cpu.min(cuda);
                let line = format!(
                    "{} {} {} {} {} {cpu:.3} {cuda:.3} {auto:.3} {} {ratio:.2} {}",
                    raster.0,
                    codec.name(),
                    across * across,
                    plan.figures().encoded_bytes,
                    plan.memory.output,
                    plan.engine,
                    plan.engine_reason,
                );
                println!("{line}");
                reads += 1;
                over += usize::from(ratio > 1.2);
                if ratio > worst.0 {
                    worst = (ratio, line);
                }
            }
            let _ = std::fs::remove_file(&path);
        }
    }
    println!(
        "{reads} reads in {:.1} s, {over} more than 20 % over the better engine",
        start.elapsed().as_secs_f64()
    );
    println!("worst: {:.2} ({})", worst.0, worst.1);
    Ok(())
}
