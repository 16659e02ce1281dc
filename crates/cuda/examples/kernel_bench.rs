//! Kernels timed by events, device to device, over rasters of four kinds made here: `kernel_bench [CODEC…] [--tile N]
//! [--megabytes N] [--runs N]`. Every result is compared with the pixels it came from.
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

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::{CudaEngine, CudaOptions};
use strile_engine::{
    Arena, BlockAddress, BlockLayout, BlockTask, CodecExtras, Context, DecodeJob, EncodeJob, EncodeLayout,
    EncodeParams, EncodeTask, Encoded, Engine, Fill, Output, OutputSpec, Pixels, Placement,
};
use strile_tiff::{ByteOrder, Compression, LercWrapper, Photometric, Predictor, SampleFormat, SampleType};

/// Rough terrain by midpoint displacement: each octave adds `roughness` times the one before.
fn terrain(n: usize, roughness: f32, seed: u32) -> Vec<f32> {
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
    while size < n {
        let next = size * 2;
        height *= roughness;
        let at = |field: &[f32], y: usize, x: usize| field[(y % size) * size + x % size];
        let mut fine = vec![0.0; next * next];
        for y in 0..next {
            for x in 0..next {
                let (y0, x0) = (y / 2, x / 2);
                let (wy, wx) = ((y % 2) as f32 / 2.0, (x % 2) as f32 / 2.0);
                let top = at(&field, y0, x0) * (1.0 - wx) + at(&field, y0, x0 + 1) * wx;
                let bottom = at(&field, y0 + 1, x0) * (1.0 - wx) + at(&field, y0 + 1, x0 + 1) * wx;
                fine[y * next + x] = top * (1.0 - wy) + bottom * wy + height * noise();
            }
        }
        (field, size) = (fine, next);
    }
    let mean = field.iter().sum::<f32>() / field.len() as f32;
    let deviation = (field.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / field.len() as f32).sqrt();
    field.iter().map(|v| (v - mean) / deviation).collect()
}

struct Set {
    name: &'static str,
    format: SampleFormat,
    bits: u16,
    samples: u16,
    predictor: Predictor,
    /// Pixel by pixel.
    bytes: Vec<u8>,
    side: usize,
}

fn sets(megabytes: usize) -> Vec<Set> {
    let side = |pixel: usize| 1usize << (((megabytes << 20) / pixel).ilog2() / 2);
    let uint = SampleFormat::Uint;
    let (d, s, l, c) = (side(4), side(2), side(1), side(3));
    let dem = terrain(d, 0.55, 1)
        .into_iter()
        .flat_map(|v| (((v * 400.0 + 900.0) * 64.0).round() / 64.0).to_ne_bytes());
    let dem = dem.collect();
    let grain = terrain(s, 0.95, 3);
    let u16s = terrain(s, 0.8, 2)
        .into_iter()
        .zip(&grain)
        .flat_map(|(v, g)| ((v * 600.0 + 1800.0 + g * 25.0).clamp(0.0, 10_000.0) as u16).to_ne_bytes());
    let u16s = u16s.collect();
    let cover = terrain(l, 0.62, 4).iter().map(|v| ((v + 2.0) * 2.5).clamp(0.0, 11.0) as u8).collect();
    let (base, other) = (terrain(c, 0.7, 5), [6, 7, 8].map(|seed| terrain(c, 0.88, seed)));
    let pixel = |i: usize| {
        [0, 1, 2].map(|k| ((base[i] * 0.8 + other[k][i] * 0.3) * 45.0 + 120.0).clamp(0.0, 255.0) as u8)
    };
    let rgb = (0..c * c).flat_map(pixel).collect();
    let set = |name, format, bits, samples, predictor, bytes, side| Set {
        name,
        format,
        bits,
        samples,
        predictor,
        bytes,
        side,
    };
    vec![
        set("dem f32 p3", SampleFormat::Float, 32, 1, Predictor::FloatingPoint, dem, d),
        set("u16 p2", uint, 16, 1, Predictor::Horizontal, u16s, s),
        set("land cover u8", uint, 8, 1, Predictor::None, cover, l),
        set("rgb u8 p2", uint, 8, 3, Predictor::Horizontal, rgb, c),
    ]
}

fn layout(set: &Set, compression: Compression, tile: u32) -> BlockLayout {
    let sample = SampleType { format: set.format, bits: set.bits };
    let plain = matches!(compression, Compression::None | Compression::PackBits);
    BlockLayout {
        width: tile,
        height: tile,
        samples: set.samples,
        sample,
        mixed_bits: None,
        data_type: sample.data_type().unwrap(),
        byte_order: ByteOrder::NATIVE,
        reverse_bits: false,
        compression,
        predictor: if plain { Predictor::None } else { set.predictor },
        is_strip: false,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
        },
    }
}

fn main() {
    let mut codecs = Vec::new();
    let (mut tiles, mut megabytes, mut runs) = (vec![256u32], 256, 7);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().unwrap().parse::<usize>().unwrap();
        match arg.as_str() {
            "--tile" => tiles = vec![number() as u32],
            "--megabytes" => megabytes = number(),
            "--runs" => runs = number(),
            "none" => codecs.push(Compression::None),
            "packbits" => codecs.push(Compression::PackBits),
            "lzw" => codecs.push(Compression::Lzw),
            "deflate" => codecs.push(Compression::Deflate),
            "zstd" => codecs.push(Compression::Zstd),
            "lz4" => codecs.push(Compression::Lz4),
            other => panic!("{other}?"),
        }
    }
    if codecs.is_empty() {
        use Compression as C;
        codecs = vec![C::None, C::PackBits, C::Lzw, C::Deflate, C::Zstd, C::Lz4];
    }
    let cpu: Arc<dyn Engine> = Arc::new(CpuEngine::new());
    let cuda = match CudaEngine::open(0, Arc::clone(&cpu), CudaOptions::default()) {
        Ok(engine) => engine,
        Err(reason) => panic!("{reason}"),
    };
    println!("{:?}", cuda.device().facts());
    println!(
        "set            codec     tile  blocks  ratio   decode GB/s   place GB/s   host blocks  whole GB/s"
    );
    for set in sets(megabytes) {
        for &tile in &tiles {
            for &codec in &codecs {
                measure(&cuda, cpu.as_ref(), &set, codec, tile, runs);
            }
        }
    }
}

fn measure(cuda: &CudaEngine, cpu: &dyn Engine, set: &Set, codec: Compression, tile: u32, runs: usize) {
    let context = Context::default();
    let block = Arc::new(layout(set, codec, tile));
    let side = set.side as u32;
    let pixels = OutputSpec::band_last(block.data_type, set.samples.into(), side, side).unwrap();
    let pixels = Pixels::new(pixels, Arc::new(set.bytes.clone())).unwrap();
    let across = side / tile;
    let at = |i: u32| BlockAddress { row: i / across, column: i % across, ..BlockAddress::default() };
    let tasks = (0..across * across).map(|i| EncodeTask {
        layout: 0,
        pixels: 0,
        address: at(i),
        rows: tile,
        x: at(i).column * tile,
        y: at(i).row * tile,
        width: tile,
        height: tile,
        first_band: 0,
    });
    let level = match codec {
        Compression::Zstd => 9,
        _ => 6,
    };
    let params = EncodeParams { level, quality: 75, lossless: true, max_error: 0.0 };
    let how = EncodeLayout { block: Arc::clone(&block), params, nan_to: None, sparse: None };
    let how = cpu.prepare(how).unwrap();
    let job = EncodeJob { layouts: vec![how], tasks: tasks.collect() };
    let encoded = cpu.encode(job, &[pixels], &context).unwrap().wait().unwrap();
    let tasks: Vec<BlockTask> = encoded
        .blocks
        .iter()
        .map(|b| BlockTask {
            source: 0,
            layout: 0,
            selection: 0,
            output: 0,
            span: b.span,
            address: b.address,
            placement: Placement {
                rows: tile,
                image_rows: tile,
                block_x: 0,
                block_y: 0,
                width: tile,
                height: tile,
                out_x: b.address.column * tile,
                out_y: b.address.row * tile,
                first_band: 0,
            },
        })
        .collect();
    let selection: Vec<u16> = (0..set.samples).collect();
    let job = || DecodeJob::new(vec![Arc::clone(&block)], vec![selection.clone()], tasks.clone()).unwrap();
    let arena = Arc::new(Arena::from_vec(encoded.slab));
    let spec = OutputSpec::band_last(block.data_type, set.samples.into(), side, side).unwrap();
    // On the host first: that every pixel is right.
    let mut poisoned = vec![0xA5u8; set.bytes.len()];
    poisoned[0] ^= set.bytes[0];
    let host = Output::from_vec(spec.clone(), poisoned).unwrap();
    let submit = |output: &Output| {
        let ticket =
            cuda.submit(job(), Encoded::Staged(Arc::clone(&arena)), std::slice::from_ref(output), &context);
        ticket.unwrap().wait().unwrap()
    };
    let report = submit(&host);
    assert_eq!(report.faults, []);
    assert!(host.into_vec().unwrap() == set.bytes, "{} {} is wrong", set.name, codec.name());
    let output = cuda.output(spec, &context).unwrap();
    submit(&output);
    let (mut decode, mut place, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        let start = std::time::Instant::now();
        let report = submit(&output);
        whole.push(start.elapsed());
        decode.push(report.times.decode);
        place.push(report.times.place);
    }
    let rate = |times: &mut Vec<std::time::Duration>| {
        times.sort();
        set.bytes.len() as f64 / times[times.len() / 2].as_secs_f64() / 1e9
    };
    println!(
        "{:14} {:9} {:4}  {:6}  {:5.2}  {:11.1}  {:11.1}  {:11}  {:10.1}",
        set.name,
        codec.name(),
        tile,
        report.blocks,
        set.bytes.len() as f64 / arena.bytes().len() as f64,
        rate(&mut decode),
        rate(&mut place),
        report.host_blocks,
        rate(&mut whole),
    );
}
