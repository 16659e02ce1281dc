//! Layouts, tasks, sources and outputs of the tests.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use strile_engine::{
    Arena, BlockAddress, BlockLayout, BlockTask, CodecExtras, Context, DecodeJob, Encoded, Engine, Fill,
    Output, OutputSpec, Placement, ReadAt, Report, Span, Support,
};
use strile_tiff::{
    ByteOrder, Compression, DataType, LercWrapper, Photometric, Predictor, SampleFormat, SampleType,
};

pub(super) use SampleFormat::{Float, Uint};

/// A source that lends its bytes.
pub(super) struct Memory(pub(super) Vec<u8>);

impl ReadAt for Memory {
    fn read_at<'a>(&'a self, span: Span, _: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let range = span.offset as usize..span.end().unwrap() as usize;
        self.0.get(range).ok_or(io::ErrorKind::UnexpectedEof.into())
    }
}

/// A source that answers once its gate is open.
pub(super) struct Gated(pub(super) Memory, pub(super) Arc<Gate>);

/// Closed until it is opened.
#[derive(Default)]
pub(super) struct Gate(Mutex<bool>, Condvar);

impl Gate {
    pub(super) fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    /// Waits until it is open.
    pub(super) fn wait(&self) {
        let open = self.0.lock().unwrap();
        drop(self.1.wait_while(open, |open| !*open).unwrap());
    }
}

impl ReadAt for Gated {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        self.1.wait();
        self.0.read_at(span, scratch)
    }
}

/// Stored tiles.
pub(super) fn layout(width: u32, height: u32, samples: u16, format: SampleFormat, bits: u16) -> BlockLayout {
    let sample = SampleType { format, bits };
    BlockLayout {
        width,
        height,
        samples,
        sample,
        mixed_bits: None,
        data_type: sample.data_type().unwrap(),
        byte_order: ByteOrder::NATIVE,
        reverse_bits: false,
        compression: Compression::None,
        predictor: Predictor::None,
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

/// A block of `layout`, whole, at the top left of output 0; its bytes lie at `offset`.
pub(super) fn task(layout: &BlockLayout, offset: u64) -> BlockTask {
    BlockTask {
        source: 0,
        layout: 0,
        selection: 0,
        output: 0,
        span: Some(Span { offset, len: layout.decoded_len(layout.height).unwrap() as u64 }),
        address: BlockAddress::default(),
        placement: Placement {
            rows: layout.height,
            image_rows: layout.height,
            block_x: 0,
            block_y: 0,
            width: layout.width,
            height: layout.height,
            out_x: 0,
            out_y: 0,
            first_band: 0,
        },
    }
}

/// Tiles side by side, `across` × `down` of them, one after the other in the source.
pub(super) fn grid(layout: &BlockLayout, across: u32, down: u32) -> Vec<BlockTask> {
    let len = layout.decoded_len(layout.height).unwrap() as u64;
    let place = |index: u32| {
        let (row, column) = (index / across, index % across);
        let mut task = task(layout, u64::from(index) * len);
        task.address = BlockAddress { row, column, ..Default::default() };
        task.placement.out_x = column * layout.width;
        task.placement.out_y = row * layout.height;
        task
    };
    (0..across * down).map(place).collect()
}

/// A job of one layout and all its samples in order.
pub(super) fn job(layout: &BlockLayout, tasks: Vec<BlockTask>) -> DecodeJob {
    let all = (0..layout.samples).collect();
    DecodeJob::new(vec![Arc::new(layout.clone())], vec![all], tasks).unwrap()
}

/// An output of zeros, band by band.
pub(super) fn output(data_type: DataType, bands: u32, rows: u32, columns: u32) -> Output {
    Output::new(OutputSpec::band_first(data_type, bands, rows, columns).unwrap()).unwrap()
}

/// Bytes in the engine's own staging.
pub(super) fn staged(engine: &dyn Engine, bytes: &[u8]) -> Encoded {
    let (parts, mut slots) = engine.staging(bytes.len()).unwrap().split(&[bytes.len()]).unwrap();
    slots[0].copy_from_slice(bytes);
    drop(slots);
    let arena: Arena = parts.rejoin().ok().unwrap();
    Encoded::Staged(Arc::new(arena))
}

/// Runs a job over staged bytes.
pub(super) fn run(engine: &dyn Engine, job: DecodeJob, bytes: &[u8], output: &Output) -> Report {
    let encoded = staged(engine, bytes);
    engine.submit(job, encoded, std::slice::from_ref(output), &Context::default()).unwrap().wait().unwrap()
}

/// One whole block, band by band; `None` where the engine does not decode its layout.
pub(super) fn decoded(engine: &dyn Engine, layout: &BlockLayout, bytes: &[u8]) -> Option<Vec<u8>> {
    if engine.support(layout) != Support::Yes {
        return None;
    }
    let output = output(layout.data_type, layout.samples.into(), layout.height, layout.width);
    let report = run(engine, job(layout, vec![task(layout, 0)]), bytes, &output);
    assert_eq!(report.faults, []);
    Some(output.into_vec().unwrap())
}

/// Bytes of which no two neighbours, rows or blocks are alike.
pub(super) fn noise(len: usize) -> Vec<u8> {
    (0..len).map(|i| (((i * i) >> 3) ^ (i * 37)) as u8).collect()
}
