//! Kernels timed by events, device to device, all blocks in one launch: `kernel_bench [FILE.tif…] [CODEC…] [SET…]
//! [--tile N]… [--megabytes N] [--runs N] [--launch-megabytes N] [--nvcomp] [--split | --whole] [--encode] [--level N]
//! [--json]`. Without files, over rasters of four kinds made here; with `--nvcomp`, Deflate and ZSTD by nvCOMP; with
//! `--split` or `--whole`, Deflate streams always or never cut into segments; with `--encode`, the kernels that write, in
//! the engine's batches, with the time of each pass. Every result is compared with the pixels it came from.
//! `of copy` is the rate of placing in percent of that of a copy within the device, which reads and writes as many
//! bytes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "a program for developers: it stops where something is wrong"
)]

mod blocks;
mod encode;
mod file;
mod rasters;

use blocks::Blocks;
use rasters::SETS;
use std::path::PathBuf;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::rates::Rates;
use strile_cuda::{CudaEngine, CudaOptions, Nvcomp, Split};
use strile_engine::Engine;
use strile_tiff::Compression;

struct Arguments {
    files: Vec<PathBuf>,
    codecs: Vec<Compression>,
    sets: Vec<&'static str>,
    tiles: Vec<u32>,
    megabytes: usize,
    /// Of one launch.
    launch: u64,
    runs: usize,
    nvcomp: Nvcomp,
    split: Split,
    encode: bool,
    /// Of encoders.
    level: Option<i32>,
    json: bool,
}

fn parse() -> Arguments {
    let mut found = Arguments {
        files: Vec::new(),
        codecs: Vec::new(),
        sets: Vec::new(),
        tiles: Vec::new(),
        megabytes: 256,
        launch: 16 << 10,
        runs: 7,
        nvcomp: Nvcomp::Off,
        split: Split::Auto,
        encode: false,
        level: None,
        json: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().unwrap().parse::<usize>().unwrap();
        match arg.as_str() {
            "--tile" => found.tiles.push(number() as u32),
            "--megabytes" => found.megabytes = number(),
            "--launch-megabytes" => found.launch = number() as u64,
            "--runs" => found.runs = number(),
            "--nvcomp" => found.nvcomp = Nvcomp::TrustedAlways,
            "--split" => found.split = Split::Always,
            "--whole" => found.split = Split::Never,
            "--encode" => found.encode = true,
            "--level" => found.level = Some(number() as i32),
            "--json" => found.json = true,
            "none" => found.codecs.push(Compression::None),
            "packbits" => found.codecs.push(Compression::PackBits),
            "lzw" => found.codecs.push(Compression::Lzw),
            "deflate" => found.codecs.push(Compression::Deflate),
            "zstd" => found.codecs.push(Compression::Zstd),
            "lz4" => found.codecs.push(Compression::Lz4),
            other => match SETS.iter().find(|name| **name == other) {
                Some(name) => found.sets.push(name),
                None if other.contains('.') => found.files.push(other.into()),
                None => panic!("{other}?"),
            },
        }
    }
    if found.codecs.is_empty() {
        use Compression as C;
        found.codecs = vec![C::None, C::PackBits, C::Lzw, C::Deflate, C::Zstd, C::Lz4];
    }
    if found.tiles.is_empty() {
        found.tiles.push(256);
    }
    if found.sets.is_empty() {
        found.sets = SETS.to_vec();
    }
    found
}

fn main() {
    let arguments = parse();
    let cpu: Arc<dyn Engine> = Arc::new(CpuEngine::new());
    let (launch_bytes, nvcomp) = (Some(arguments.launch << 20), arguments.nvcomp);
    let options = CudaOptions { launch_bytes, nvcomp, split: arguments.split, ..CudaOptions::default() };
    let cuda = match CudaEngine::open(0, Arc::clone(&cpu), options) {
        Ok(engine) => engine,
        Err(reason) => panic!("{reason}"),
    };
    let device = cuda.device();
    let Rates { within, up, down } = Rates::measure(device, arguments.megabytes << 20).unwrap();
    let [copy, up, down] = [within, up, down].map(|rate| rate / 1e9);
    if arguments.json {
        println!("{{\"copy_gb_s\": {copy:.2}, \"up_gb_s\": {up:.2}, \"down_gb_s\": {down:.2}}}");
    } else {
        println!("{:?}", device.facts());
        println!("copies, GB/s: within the device {copy:.1}, up {up:.1}, down {down:.1}");
        println!(
            "{}",
            match arguments.encode {
                true => "set            codec     tile  blocks  ratio  encode GB/s  batches  ms of each pass",
                false =>
                    "set            codec     tile  blocks  ratio   decode GB/s   place GB/s  of copy  host blocks  \
                     whole GB/s  launches",
            }
        );
    }
    let show = |blocks: &Blocks| {
        let json = arguments.json;
        if arguments.encode {
            let found = encode::measure(blocks, cpu.as_ref(), &cuda, arguments.runs, arguments.level);
            println!("{}", if json { found.json(blocks) } else { found.line(blocks) });
            return;
        }
        let rates = blocks.measure(&cuda, arguments.runs);
        println!("{}", if json { blocks.json(&rates, copy) } else { blocks.line(&rates, copy) });
    };
    if !arguments.files.is_empty() {
        arguments.files.iter().for_each(|path| show(&file::blocks(cpu.as_ref(), path)));
        return;
    }
    let megabytes = arguments.megabytes;
    let made = arguments.sets.iter().copied();
    let made: Vec<_> = made.map(|name| std::thread::spawn(move || rasters::set(name, megabytes))).collect();
    for made in made {
        let set = made.join().unwrap();
        for &tile in &arguments.tiles {
            for &codec in &arguments.codecs {
                show(&rasters::blocks(cpu.as_ref(), &set, codec, tile));
            }
        }
    }
}
