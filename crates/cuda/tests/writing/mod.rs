//! Small rasters to encode, and the jobs that do it.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, knows its numbers, and each file takes what it needs"
)]

use std::sync::Arc;
use strile_engine::{
    Assembly, BlockAddress, BlockLayout, Context, EncodeJob, EncodeLayout, EncodeParams, EncodeTask,
    EncodedBlocks, Encoder, Engine, EngineError, Given, OutputSpec, Patch, SharedPixels,
};
use strile_tiff::{Compression as C, DataType};

/// The codecs with kernels that write.
pub const CODECS: [C; 6] = [C::None, C::PackBits, C::Lzw, C::Deflate, C::Zstd, C::Lz4];

/// Tiles of the CPU's own encoder, or of the one that all engines have.
pub fn layout(compression: C, data_type: DataType, samples: u16, size: (u32, u32)) -> EncodeLayout {
    let mut block = BlockLayout::stored(data_type, size, samples);
    block.compression = compression;
    block.is_strip = false;
    EncodeLayout {
        block: Arc::new(block),
        params: EncodeParams {
            encoder: Encoder::Portable,
            level: 6,
            quality: 75,
            lossless: true,
            max_error: 0.0,
        },
        nan_to: None,
        sparse: None,
    }
}

pub fn with(mut layout: EncodeLayout, change: impl FnOnce(&mut BlockLayout)) -> EncodeLayout {
    change(Arc::make_mut(&mut layout.block));
    layout
}

/// Smooth and rough by turns, with runs; `by_pixel` is whether bands come last.
pub fn raster(data_type: DataType, (bands, rows, columns): (u32, u32, u32), by_pixel: bool) -> SharedPixels {
    let make = if by_pixel { OutputSpec::band_last } else { OutputSpec::band_first };
    let spec = make(data_type, bands, rows, columns).unwrap();
    let size = data_type.size();
    let mut bytes = vec![0; spec.len().unwrap()];
    let mut state = 9u32;
    for row in 0..rows {
        for column in 0..columns {
            for band in 0..bands {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let value = match (row / 5 + column / 24) % 3 {
                    0 => 17 + band,
                    1 => row * 3 + column / 2 + band * 40,
                    _ => state >> 20,
                };
                let sample = match data_type {
                    DataType::F32 => (value as f32 / 7.0).to_ne_bytes().to_vec(),
                    DataType::F64 => (f64::from(value) / 7.0).to_ne_bytes().to_vec(),
                    _ => u64::from(value).to_le_bytes().repeat(2)[..size].to_vec(),
                };
                let strides = spec.strides;
                let at = band as usize * strides.band
                    + row as usize * strides.row
                    + column as usize * strides.column;
                bytes[at..at + size].copy_from_slice(&sample);
            }
        }
    }
    SharedPixels::new(spec, Arc::new(bytes)).unwrap()
}

/// The same pixels in the memory of the engine.
pub fn brought(engine: &dyn Engine, pixels: &SharedPixels) -> SharedPixels {
    let spec = pixels.spec().clone();
    let patch = Patch { from: Given::There(pixels), at: (0, 0), to: (0, 0), size: (spec.columns, spec.rows) };
    let wanted = Assembly { spec, mask: false, patches: vec![patch] };
    engine.assemble(&[wanted], &Context::default()).unwrap().remove(0)
}

/// Blocks over a whole image, plane by plane where the block has fewer samples than the image.
pub fn tasks(block: &BlockLayout, spec: &OutputSpec) -> Vec<EncodeTask> {
    let mut tasks = Vec::new();
    for plane in 0..spec.bands / u32::from(block.samples) {
        for row in 0..spec.rows.div_ceil(block.height) {
            for column in 0..spec.columns.div_ceil(block.width) {
                let (x, y) = (column * block.width, row * block.height);
                let height = block.height.min(spec.rows - y);
                tasks.push(EncodeTask {
                    layout: 0,
                    pixels: 0,
                    address: BlockAddress { level: 0, row, column, plane },
                    rows: if block.is_strip { height } else { block.height },
                    x,
                    y,
                    width: block.width.min(spec.columns - x),
                    height,
                    first_band: plane * u32::from(block.samples),
                });
            }
        }
    }
    tasks
}

/// The job over all of the pixels.
pub fn job(layout: &EncodeLayout, pixels: &SharedPixels) -> EncodeJob {
    EncodeJob { layouts: vec![layout.clone()], tasks: tasks(&layout.block, pixels.spec()) }
}

/// Encodes all of the pixels.
pub fn encode(
    engine: &dyn Engine,
    layout: &EncodeLayout,
    pixels: &SharedPixels,
    context: &Context,
) -> Result<EncodedBlocks, EngineError> {
    engine.encode(job(layout, pixels), std::slice::from_ref(pixels), context)?.wait()
}
