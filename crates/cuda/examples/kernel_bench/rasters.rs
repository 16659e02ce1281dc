//! Rasters of four kinds, made here, and their blocks encoded by the CPU engine.

use crate::blocks::Blocks;
use std::sync::Arc;
use strile_engine::{
    BlockAddress, BlockLayout, BlockTask, CodecExtras, Context, EncodeJob, EncodeLayout, EncodeParams,
    EncodeTask, Encoder, Engine, Fill, OutputSpec, Placement, SharedPixels,
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

pub struct Set {
    name: &'static str,
    format: SampleFormat,
    bits: u16,
    samples: u16,
    predictor: Predictor,
    /// Pixel by pixel.
    bytes: Vec<u8>,
    side: usize,
}

/// The names of the rasters.
pub const SETS: [&str; 4] = ["dem", "u16", "cover", "rgb"];

pub fn set(name: &'static str, megabytes: usize) -> Set {
    let side = |pixel: usize| 1usize << (((megabytes << 20) / pixel).ilog2() / 2);
    let uint = SampleFormat::Uint;
    let whole = |format, bits, samples, predictor, bytes, side| Set {
        name,
        format,
        bits,
        samples,
        predictor,
        bytes,
        side,
    };
    match name {
        "dem" => {
            let n = side(4);
            let height = |v: f32| ((v * 400.0 + 900.0) * 64.0).round() / 64.0;
            let bytes = terrain(n, 0.55, 1).into_iter().flat_map(|v| height(v).to_ne_bytes()).collect();
            whole(SampleFormat::Float, 32, 1, Predictor::FloatingPoint, bytes, n)
        }
        "u16" => {
            let n = side(2);
            let grain = terrain(n, 0.95, 3);
            let value = |(v, g): (f32, &f32)| (v * 600.0 + 1800.0 + g * 25.0).clamp(0.0, 10_000.0) as u16;
            let bytes = terrain(n, 0.8, 2).into_iter().zip(&grain).flat_map(|both| value(both).to_ne_bytes());
            whole(uint, 16, 1, Predictor::Horizontal, bytes.collect(), n)
        }
        "cover" => {
            let n = side(1);
            let bytes =
                terrain(n, 0.62, 4).into_iter().map(|v: f32| ((v + 2.0) * 2.5).clamp(0.0, 11.0) as u8);
            whole(uint, 8, 1, Predictor::None, bytes.collect(), n)
        }
        _ => {
            let n = side(3);
            let (base, other) = (terrain(n, 0.7, 5), [6, 7, 8].map(|seed| terrain(n, 0.88, seed)));
            let pixel = |i: usize| {
                [0, 1, 2]
                    .map(|k| ((base[i] * 0.8 + other[k][i] * 0.3) * 45.0 + 120.0).clamp(0.0, 255.0) as u8)
            };
            whole(uint, 8, 3, Predictor::Horizontal, (0..n * n).flat_map(pixel).collect(), n)
        }
    }
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
            reduce: 0,
        },
    }
}

/// The blocks of a raster in square tiles.
pub fn blocks(cpu: &dyn Engine, set: &Set, codec: Compression, tile: u32) -> Blocks {
    let context = Context::default();
    let block = Arc::new(layout(set, codec, tile));
    let side = set.side as u32;
    let spec = || OutputSpec::band_last(block.data_type, set.samples.into(), side, side).unwrap();
    let pixels = SharedPixels::new(spec(), Arc::new(set.bytes.clone())).unwrap();
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
    let params = EncodeParams { encoder: Encoder::Fast, level, quality: 75, lossless: true, max_error: 0.0 };
    let how = EncodeLayout { block: Arc::clone(&block), params, nan_to: None, sparse: None };
    let how = cpu.prepare(how).unwrap();
    let job = EncodeJob { layouts: vec![how], tasks: tasks.collect() };
    let encoded = cpu.encode(job, &[pixels], &context).unwrap().wait().unwrap();
    let tasks = encoded.blocks.iter().map(|b| BlockTask {
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
    });
    Blocks {
        name: set.name.to_owned(),
        tasks: tasks.collect(),
        spec: spec(),
        arena: Arc::new(encoded.slab),
        expected: Arc::new(set.bytes.clone()),
        layout: Arc::clone(&block),
    }
}
