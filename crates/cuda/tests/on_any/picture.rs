//! Small pictures in encoded blocks, and the jobs that decode them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    dead_code,
    reason = "code of tests: it fails by panicking, knows its numbers, and each takes what it needs"
)]

use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_engine::{
    Arena, BlockAddress, BlockLayout, BlockTask, CodecExtras, Context, DecodeJob, EncodeJob, EncodeLayout,
    EncodeParams, EncodeTask, Encoded, Encoder, Engine, Fill, Output, OutputSpec, Placement, ReadAt,
    SharedPixels,
};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

/// Blocks of `TILE` × `TILE` pixels, one below the other; of one 16-bit sample unless told otherwise.
pub const TILE: u32 = 16;

pub struct Picture {
    pub layout: Arc<BlockLayout>,
    pub tasks: Vec<BlockTask>,
    pub bytes: Vec<u8>,
    pub pixels: Vec<u8>,
    spec: OutputSpec,
}

impl Picture {
    /// So many blocks, encoded by the CPU engine.
    pub fn new(compression: Compression, blocks: u32) -> Self {
        Self::of(compression, blocks, |_, usual| usual)
    }

    /// The same with other values: what `value` makes of a sample's index and of its usual value.
    pub fn of(compression: Compression, blocks: u32, value: impl Fn(usize, u16) -> u16) -> Self {
        Self::with(layout(compression), blocks, value)
    }

    /// The same with blocks of 8- or 16-bit samples of any layout; what the codec loses is lost.
    pub fn with(layout: BlockLayout, blocks: u32, value: impl Fn(usize, u16) -> u16) -> Self {
        let spec = spec(&layout, blocks);
        let count = TILE * TILE * blocks * u32::from(layout.samples);
        let values = (0..count).map(|i| value(i as usize, ((i % TILE) * (i / 40) % 911) as u16));
        let pixels: Vec<u8> = match layout.data_type.size() {
            1 => values.map(|value| value as u8).collect(),
            _ => values.flat_map(u16::to_ne_bytes).collect(),
        };
        let source = SharedPixels::new(spec.clone(), Arc::new(pixels.clone())).unwrap();
        let address = |row: u32| BlockAddress { row, ..BlockAddress::default() };
        let tasks = (0..blocks).map(|row| EncodeTask {
            layout: 0,
            pixels: 0,
            address: address(row),
            rows: TILE,
            x: 0,
            y: row * TILE,
            width: TILE,
            height: TILE,
            first_band: 0,
        });
        let params =
            EncodeParams { encoder: Encoder::Fast, level: 6, quality: 75, lossless: true, max_error: 0.0 };
        let how = EncodeLayout { block: Arc::new(layout), params, nan_to: None, sparse: None };
        let how = CpuEngine::new().prepare(how).unwrap();
        let layout = Arc::clone(&how.block);
        let job = EncodeJob { layouts: vec![how], tasks: tasks.collect() };
        let encoded = CpuEngine::new().encode(job, &[source], &Context::default()).unwrap().wait().unwrap();
        let task = |row: u32| BlockTask {
            source: 0,
            layout: 0,
            selection: 0,
            output: 0,
            span: encoded.blocks[row as usize].span,
            address: address(row),
            placement: Placement {
                rows: TILE,
                image_rows: TILE,
                block_x: 0,
                block_y: 0,
                width: TILE,
                height: TILE,
                out_x: 0,
                out_y: row * TILE,
                first_band: 0,
            },
        };
        let tasks = (0..blocks).map(task).collect();
        Self { layout, tasks, bytes: encoded.slab.bytes().to_vec(), pixels, spec }
    }

    /// The same blocks of JPEG 2000 without some wavelet levels: each is smaller, and so are the pixels.
    pub fn reduced(&self, reduce: u8) -> Self {
        let side = TILE.div_ceil(1 << reduce);
        let mut layout = BlockLayout::clone(&self.layout);
        (layout.width, layout.height, layout.extras.reduce) = (side, side, reduce);
        let mut tasks = self.tasks.clone();
        for (row, task) in (0..).zip(&mut tasks) {
            let Placement { rows, image_rows, width, height, out_y, .. } = &mut task.placement;
            (*rows, *image_rows, *width, *height, *out_y) = (side, side, side, side, row * side);
        }
        let blocks = tasks.len() as u32;
        let spec =
            OutputSpec::band_first(layout.data_type, layout.samples.into(), side * blocks, side).unwrap();
        let pixels = vec![0; spec.len().unwrap()];
        Self { layout: Arc::new(layout), tasks, bytes: self.bytes.clone(), pixels, spec }
    }

    /// The job over its tasks as they are now.
    pub fn job(&self) -> DecodeJob {
        let all = (0..self.layout.samples).collect();
        DecodeJob::new(vec![Arc::clone(&self.layout)], vec![all], self.tasks.clone()).unwrap()
    }

    pub fn staged(&self) -> Encoded {
        Encoded::Staged(Arc::new(Arena::from_vec(self.bytes.clone())))
    }

    pub fn pulled(&self) -> Encoded {
        Encoded::Pulled(vec![Arc::new(Memory(self.bytes.clone())) as Arc<dyn ReadAt>])
    }

    pub fn spec(&self) -> OutputSpec {
        self.spec.clone()
    }

    /// An output on the host with contents that no picture has.
    pub fn poisoned(&self) -> Output {
        Output::from_vec(self.spec(), vec![0xA5; self.pixels.len()]).unwrap()
    }
}

fn spec(layout: &BlockLayout, blocks: u32) -> OutputSpec {
    OutputSpec::band_first(layout.data_type, layout.samples.into(), TILE * blocks, TILE).unwrap()
}

/// A source that lends its bytes.
pub struct Memory(pub Vec<u8>);

impl ReadAt for Memory {
    fn read_at<'a>(&'a self, span: strile_engine::Span, _: &'a mut Vec<u8>) -> std::io::Result<&'a [u8]> {
        let range = span.offset as usize..span.end().unwrap() as usize;
        self.0.get(range).ok_or(std::io::ErrorKind::UnexpectedEof.into())
    }
}

pub fn layout(compression: Compression) -> BlockLayout {
    BlockLayout {
        width: TILE,
        height: TILE,
        samples: 1,
        sample: SampleType { format: SampleFormat::Uint, bits: 16 },
        mixed_bits: None,
        data_type: DataType::U16,
        byte_order: ByteOrder::NATIVE,
        reverse_bits: false,
        compression,
        predictor: match compression {
            Compression::Lzw | Compression::Deflate | Compression::Zstd => Predictor::Horizontal,
            _ => Predictor::None,
        },
        is_strip: false,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill([7; 16]),
            reduce: 0,
        },
    }
}
