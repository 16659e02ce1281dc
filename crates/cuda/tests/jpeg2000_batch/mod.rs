//! Runs the kernels of JPEG 2000 in the emulator over a batch of streams, laid out in memory that is exactly as large as
//! the decoder asks for; and what the CPU engine makes of a stream.

#![allow(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "for tests; small numbers made here"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_codestream::jpeg2000::size;
use strile_cpu::CpuEngine;
use strile_cuda::decode::picture::jpeg2000::{Batch, Jpeg2000, Step};
use strile_cuda::decode::picture::{Bytes, Decoder, Placed, Room};
use strile_cuda::launch::Launch;
use strile_emulate::{Emulator, Poisoned};
use strile_engine::{
    Arena, BlockAddress, BlockFault, BlockLayout, BlockTask, Context, DecodeJob, Encoded, Engine, Output,
    OutputSpec, Placement, Span,
};
use strile_tiff::{Compression, DataType, SampleFormat, SampleType};

/// A stream and the block it is for.
#[derive(Clone)]
pub struct Stream {
    pub bytes: Vec<u8>,
    pub layout: BlockLayout,
    pub rows: u32,
}

impl Stream {
    /// For the block that the stream's own header describes.
    pub fn new(bytes: Vec<u8>) -> Self {
        let size = size(&bytes).unwrap();
        let first = size.components[0];
        let data_type = match (first.bits, first.signed) {
            (..=8, false) => DataType::U8,
            (..=8, true) => DataType::I8,
            (..=16, false) => DataType::U16,
            (..=16, true) => DataType::I16,
            (_, false) => DataType::U32,
            (_, true) => DataType::I32,
        };
        let format = if first.signed { SampleFormat::Int } else { SampleFormat::Uint };
        let (width, height) = (size.area.width(), size.area.height());
        let layout = BlockLayout {
            sample: SampleType { format, bits: u16::from(first.bits) },
            compression: Compression::Jpeg2000,
            ..BlockLayout::stored(data_type, (width, height), size.components.len() as u16)
        };
        Self { bytes, layout, rows: height }
    }

    /// For a block that is smaller: the highest resolutions are left out.
    pub fn reduced(mut self, reduce: u8) -> Self {
        let area = size(&self.bytes).unwrap().area.reduced(reduce);
        self.layout.extras.reduce = reduce;
        (self.layout.width, self.layout.height) = (area.width(), area.height());
        self.rows = self.layout.height;
        self
    }

    pub fn read(path: &Path) -> Self {
        Self::new(std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }
}

/// Streams that OpenJPEG wrote for the tests of the parser.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../codestream/tests/data/jpeg2000")
        .join(format!("{name}.j2k"))
}

/// Streams of the CPU engine's tests.
pub fn own_fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpu/tests/data").join(name)
}

/// What the CPU engine makes of a stream.
pub fn on_the_host(stream: &Stream) -> Result<Vec<u8>, BlockFault> {
    let Stream { bytes, layout, rows } = stream;
    let spec =
        OutputSpec::band_last(layout.data_type, u32::from(layout.samples), *rows, layout.width).unwrap();
    let output = Output::from_vec(spec, vec![0; layout.samples_len(*rows).unwrap()]).unwrap();
    let task = BlockTask {
        source: 0,
        layout: 0,
        selection: 0,
        output: 0,
        span: Some(Span { offset: 0, len: bytes.len() as u64 }),
        address: BlockAddress::default(),
        placement: Placement {
            rows: *rows,
            image_rows: *rows,
            block_x: 0,
            block_y: 0,
            width: layout.width,
            height: *rows,
            out_x: 0,
            out_y: 0,
            first_band: 0,
        },
    };
    let selection = (0..layout.samples).collect();
    let job = DecodeJob::new(vec![Arc::new(layout.clone())], vec![selection], vec![task]).unwrap();
    let encoded = Encoded::Staged(Arc::new(Arena::from_vec(bytes.clone())));
    let report = CpuEngine::new().submit(job, encoded, std::slice::from_ref(&output), &Context::default());
    let report = report.unwrap().wait().unwrap();
    report.faults.into_iter().next().map_or(Ok(()), |fault| Err(fault.fault))?;
    Ok(output.into_vec().unwrap())
}

/// The status of every stream and its samples, or what the parser said; panics when anything else was touched.
pub fn decode(streams: &[Stream], seed: u64) -> Vec<Result<(u32, Vec<u8>), BlockFault>> {
    let decoder = Jpeg2000;
    let parsed: Vec<_> =
        streams.iter().map(|s| decoder.parse(&s.bytes, &s.layout, s.rows).map(Arc::new)).collect();
    let mut placed = Vec::new();
    let mut memory = Vec::new();
    let mut scratch_len = decoder.fixed().scratch.next_multiple_of(256);
    let mut tables_len = decoder.fixed().tables;
    for (stream, picture) in streams.iter().zip(&parsed) {
        let Ok(picture) = picture else { continue };
        let need = decoder.need(picture);
        scratch_len += need.scratch.next_multiple_of(256);
        tables_len += need.tables;
        let mut bytes = Poisoned::new(need.bytes as usize, seed);
        decoder.write(picture, &stream.bytes, &mut bytes);
        let dst_len = stream.layout.decoded_len(stream.rows).unwrap();
        let dst = Poisoned::new(dst_len.next_multiple_of(16), seed + 1);
        placed.push(Placed {
            picture: Arc::clone(picture),
            stream: Bytes::from(stream.bytes.clone()),
            layout: Arc::new(stream.layout.clone()),
            rows: stream.rows,
            bytes: bytes.address(),
            dst: dst.address(),
            dst_len: dst_len as u32,
            status: placed.len() as u32,
        });
        memory.push((bytes, dst));
    }
    let mut statuses = Poisoned::from_bytes(&vec![0xFF; 4 * placed.len()], seed);
    let mut tables = Poisoned::from_bytes(&vec![0; tables_len as usize], seed);
    let mut scratch = Poisoned::new(scratch_len as usize, seed);
    let room = Room {
        statuses: statuses.address(),
        tables: tables.address(),
        scratch: scratch.address(),
        scratch_len,
    };
    let batch = decoder.lay_out(&placed, &room, &mut tables).unwrap();
    run(&batch, &mut scratch, &room, seed);
    [&mut statuses, &mut tables, &mut scratch].into_iter().for_each(|memory| memory.check().unwrap());
    let mut made = memory.iter_mut().zip(&placed).map(|((bytes, dst), placed)| {
        bytes.check().unwrap();
        dst.check().unwrap();
        let status = &statuses[4 * placed.status as usize..];
        let status = u32::from_ne_bytes(status[..4].try_into().unwrap());
        (status, dst[..placed.dst_len as usize].to_vec())
    });
    parsed.into_iter().map(|parsed| parsed.map(|_| made.next().unwrap())).collect()
}

fn run(batch: &Batch, scratch: &mut Poisoned, room: &Room, seed: u64) {
    for step in batch.steps() {
        match step {
            &Step::Clear(address, len) => {
                let from = (address - room.scratch) as usize;
                scratch[from..from + len as usize].fill(0);
            }
            Step::Blocks(kernel, args) => launch(kernel, args, seed),
            Step::Levels(kernel, args) => launch(kernel, args, seed),
            Step::Tiles(kernel, args) => launch(kernel, args, seed),
        }
    }
}

fn launch<Args: Copy>(kernel: &Launch, args: &Args, seed: u64) {
    let module = Emulator::module(kernel.module).unwrap();
    assert_eq!(module.threads(kernel.entry), Some(kernel.threads), "{}", kernel.entry);
    if kernel.grid.0 == 0 {
        return;
    }
    module.launch(kernel.entry, kernel.grid, kernel.threads, args, seed).unwrap();
}
