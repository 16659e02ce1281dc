//! Images to encode, and the way there and back.

use super::jobs;
use std::sync::Arc;
use strile_engine::{
    Assembly, BlockAddress, BlockLayout, Context, EncodeJob, EncodeLayout, EncodeParams, EncodeTask,
    EncodedBlocks, Encoder, Engine, Given, Output, OutputSpec, Patch, Placement, SharedPixels,
};
use strile_tiff::{Compression, DataType, SampleFormat};

/// A repeatable source of chance (xorshift64*).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn below(&mut self, limit: u32) -> u32 {
        ((self.next() >> 33) as u32) % limit.max(1)
    }
}

/// Half noise, half runs, so that codecs have both.
pub(super) fn value_noise(len: usize) -> Vec<u8> {
    let mut random = Random::new(len as u64);
    (0..len).map(|i| if i / 64 % 2 == 0 { random.below(256) as u8 } else { (i / 640) as u8 }).collect()
}

/// The parameters that writers use unless told otherwise.
pub(super) fn params(compression: Compression) -> EncodeParams {
    let level = if compression == Compression::Zstd { 9 } else { 6 };
    EncodeParams { encoder: Encoder::Fast, level, quality: 75, lossless: true, max_error: 0.0 }
}

/// Pixels with every kind of value that their stored sample can hold.
pub(super) struct Picture {
    pixels: SharedPixels,
}

impl Picture {
    pub(super) fn of(spec: OutputSpec, bytes: Vec<u8>) -> Self {
        Self { pixels: SharedPixels::new(spec, Arc::new(bytes)).unwrap() }
    }

    /// `size` is bands, rows, columns; whether bands or pixels come first is a matter of chance.
    pub(super) fn new(block: &BlockLayout, size: (u32, u32, u32), random: &mut Random) -> Self {
        let (bands, rows, columns) = size;
        let spec = match random.below(2) {
            0 => OutputSpec::band_first(block.data_type, bands, rows, columns).unwrap(),
            _ => OutputSpec::band_last(block.data_type, bands, rows, columns).unwrap(),
        };
        let count = spec.len().unwrap() / block.data_type.size();
        let mut bytes = Vec::new();
        let mut sample = Vec::new();
        for _ in 0..count {
            // Runs and noise.
            if sample.is_empty() || random.below(3) == 0 {
                sample = a_sample(block, random);
            }
            bytes.extend(&sample);
        }
        Self::of(spec, bytes)
    }

    pub(super) fn spec(&self) -> &OutputSpec {
        self.pixels.spec()
    }

    pub(super) fn pixels(&self) -> &SharedPixels {
        &self.pixels
    }

    /// The samples band by band.
    pub(super) fn band_first(&self) -> Vec<u8> {
        let (spec, size) = (self.spec(), self.spec().data_type.size());
        let mut out = Vec::new();
        for band in 0..spec.bands {
            for row in 0..spec.rows {
                let line = self.pixels.row(band, row, (0, spec.columns)).unwrap();
                line.chunks(spec.strides.column).for_each(|sample| out.extend(&sample[..size]));
            }
        }
        out
    }
}

fn a_sample(block: &BlockLayout, random: &mut Random) -> Vec<u8> {
    let bits = u32::from(block.sample.bits);
    let size = block.data_type.size();
    let low = |value: u64| {
        let bytes = value.to_ne_bytes();
        if cfg!(target_endian = "little") { bytes[..size].to_vec() } else { bytes[8 - size..].to_vec() }
    };
    let mut integer = |bits: u32| random.next() >> (64 - bits);
    let signed = |value: u64, bits: u32| (value << (64 - bits)).cast_signed() >> (64 - bits);
    match block.sample.format {
        SampleFormat::Uint => low(integer(bits)),
        SampleFormat::Int => low(signed(integer(bits), bits).cast_unsigned()),
        SampleFormat::Float if bits == 24 => {
            let value = signed(integer(17), 17) as f32 * 2f32.powi(integer(5) as i32 - 16);
            value.to_ne_bytes().to_vec()
        }
        SampleFormat::Float => low(integer(bits)),
        SampleFormat::ComplexInt => (0..2)
            .flat_map(|_| {
                let value = signed(integer(bits / 2), bits / 2);
                match block.data_type {
                    DataType::C64 => (value as f32).to_ne_bytes().to_vec(),
                    _ => (value as f64).to_ne_bytes().to_vec(),
                }
            })
            .collect(),
        SampleFormat::ComplexFloat => (0..size / 8).flat_map(|_| integer(64).to_ne_bytes()).collect(),
    }
}

/// Blocks over a whole image, plane by plane where the block has fewer samples than the image.
pub(super) fn tasks_over(block: &BlockLayout, spec: &OutputSpec) -> Vec<EncodeTask> {
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

pub(super) fn encoded(
    engine: &dyn Engine,
    layout: &EncodeLayout,
    tasks: Vec<EncodeTask>,
    pixels: &SharedPixels,
    context: &Context,
) -> EncodedBlocks {
    let job = EncodeJob { layouts: vec![layout.clone()], tasks };
    engine.encode(job, std::slice::from_ref(pixels), context).unwrap().wait().unwrap()
}

/// Decodes what was encoded, band by band.
pub(super) fn decoded(
    engine: &dyn Engine,
    block: &BlockLayout,
    tasks: &[EncodeTask],
    blocks: &EncodedBlocks,
    spec: &OutputSpec,
) -> Vec<u8> {
    let output = jobs::output(spec.data_type, spec.bands, spec.rows, spec.columns);
    let decode = |(task, encoded): (&EncodeTask, &strile_engine::EncodedBlock)| {
        let mut decode = jobs::task(block, 0);
        decode.span = encoded.span;
        decode.address = encoded.address;
        decode.placement = Placement {
            rows: task.rows,
            image_rows: task.height,
            block_x: 0,
            block_y: 0,
            width: task.width,
            height: task.height,
            out_x: task.x,
            out_y: task.y,
            first_band: task.first_band,
        };
        decode
    };
    let tasks = tasks.iter().zip(&blocks.blocks).map(decode).collect();
    let report = jobs::run(engine, jobs::job(block, tasks), blocks.slab.bytes(), &output);
    assert_eq!(report.faults, [], "{block:?}");
    Output::into_vec(output).unwrap()
}

/// The same pixels in the memory of the engine.
pub(super) fn brought(engine: &dyn Engine, pixels: &SharedPixels) -> SharedPixels {
    let spec = pixels.spec();
    let patch = Patch { from: Given::There(pixels), at: (0, 0), to: (0, 0), size: (spec.columns, spec.rows) };
    let wanted = [Assembly { spec: spec.clone(), mask: false, patches: vec![patch] }];
    let brought = engine.assemble(&wanted, &Context::default()).unwrap().pop().unwrap();
    assert_eq!(brought.location(), engine.location());
    brought
}
