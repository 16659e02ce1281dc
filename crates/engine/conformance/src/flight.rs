//! Jobs under way: fill values, faults and their order, tickets, and what stops or refuses a job.

use super::jobs::{Gate, Gated, Memory, Uint, grid, job, layout, noise, output, run, staged, task};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use strile_engine::{
    BlockLayout, Budget, Cancel, Context, Encoded, Engine, EngineError, FaultKind, Output, OutputBox,
    OutputSpec, Progress, ReadAt, Span,
};
use strile_tiff::{Compression, DataType};

const FILL: u16 = 0xD8F1;

/// Room for three blocks of two pixels in a row.
fn three_in_a_row() -> Output {
    Output::new(OutputSpec::band_first(DataType::U16, 1, 1, 6).unwrap()).unwrap()
}

/// A block of two pixels; what is not there is `FILL`.
fn filling() -> Arc<BlockLayout> {
    let mut layout = BlockLayout::clone(&layout(2, 1, 1, Uint, 16));
    layout.extras.fill.0[..2].copy_from_slice(&FILL.to_ne_bytes());
    Arc::new(layout)
}

fn samples(output: Output) -> Vec<u16> {
    output.into_vec().unwrap().chunks(2).map(|s| u16::from_ne_bytes([s[0], s[1]])).collect()
}

pub(super) fn sparse_blocks_get_the_fill_value(engine: &dyn Engine) {
    let layout = filling();
    let mut tasks = grid(&layout, 3, 1);
    tasks[1].span = None;
    let output = three_in_a_row();
    let report = run(engine, job(&layout, tasks), &[7; 12], &output);
    assert_eq!((report.blocks, report.encoded_bytes, report.faults.len()), (3, 8, 0));
    assert_eq!(samples(output), [0x0707, 0x0707, FILL, FILL, 0x0707, 0x0707]);
}

pub(super) fn a_faulty_block_gets_the_fill_value(engine: &dyn Engine) {
    let layout = filling();
    let mut tasks = grid(&layout, 3, 1);
    tasks[2].span = Some(Span { offset: 8, len: 3 });
    let output = three_in_a_row();
    let report = run(engine, job(&layout, tasks), &[7; 12], &output);
    assert_eq!((report.blocks, report.faults.len()), (3, 1));
    assert_eq!(
        report.faults[0].to_string(),
        "block (column 2, row 0): compressed data ends early: expected 4 decompressed bytes, got 3"
    );
    assert_eq!(samples(output), [0x0707, 0x0707, 0x0707, 0x0707, FILL, FILL]);
}

pub(super) fn faults_come_in_the_order_of_tasks(engine: &dyn Engine) {
    const BAD: [usize; 5] = [3, 77, 78, 200, 255];
    let layout = layout(4, 4, 1, Uint, 8);
    let mut reports = Vec::new();
    for threads in [1, 2, 8] {
        let mut tasks = grid(&layout, 16, 16);
        for bad in BAD {
            tasks[bad].span = Some(Span { offset: u64::MAX - 1, len: 16 + bad as u64 });
        }
        let output = output(DataType::U8, 1, 64, 64);
        let context = Context { threads: NonZeroUsize::new(threads).unwrap(), ..Context::default() };
        let encoded = staged(engine, &noise(256 * 16));
        let ticket = engine.submit(job(&layout, tasks), encoded, std::slice::from_ref(&output), &context);
        let report = ticket.unwrap().wait().unwrap();
        let places: Vec<usize> =
            report.faults.iter().map(|f| (f.address.row * 16 + f.address.column) as usize).collect();
        assert_eq!(places, BAD);
        assert!(report.faults.iter().all(|f| f.fault.kind == FaultKind::Unreadable));
        reports.push((report.faults, report.blocks, report.encoded_bytes, output.into_vec().unwrap()));
    }
    assert!(reports.iter().all(|report| *report == reports[0]), "whatever the threads");
}

pub(super) fn two_tickets_in_flight(engine: &dyn Engine) {
    let layout = layout(4, 4, 1, Uint, 8);
    let output = output(DataType::U8, 1, 4, 8);
    let gate = Arc::new(Gate::default());
    // Where the engine pulls, both are under way before either can end: sources answer once the gate is open.
    let encoded = |value: u8| match engine.pulls() {
        true => Encoded::Pulled(vec![
            Arc::new(Gated(Memory(vec![value; 16]), Arc::clone(&gate))) as Arc<dyn ReadAt>
        ]),
        false => staged(engine, &[value; 16]),
    };
    let submit = |encoded: Encoded, out_x: u32| {
        let mut task = task(&layout, 0);
        task.placement.out_x = out_x;
        engine
            .submit(job(&layout, vec![task]), encoded, std::slice::from_ref(&output), &Context::default())
            .unwrap()
    };
    let (left, right) = (submit(encoded(1), 0), submit(encoded(2), 4));
    gate.open();
    // In the other order than they were started.
    assert_eq!(right.wait().unwrap().blocks, 1);
    assert_eq!(left.wait().unwrap().blocks, 1);
    submit(encoded(4), 0).wait().unwrap();
    assert_eq!(
        output.into_vec().unwrap(),
        [4, 4, 4, 4, 2, 2, 2, 2].repeat(4),
        "the left half was free again"
    );
}

/// A source that knows which threads read it.
struct Watched(Memory, Mutex<Vec<ThreadId>>);

impl ReadAt for Watched {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> std::io::Result<&'a [u8]> {
        self.1.lock().unwrap().push(std::thread::current().id());
        self.0.read_at(span, scratch)
    }
}

pub(super) fn a_small_job_is_done_by_the_thread_that_waits(engine: &dyn Engine) {
    let layout = layout(4, 4, 1, Uint, 8);
    for (across, down) in [(1, 1), (16, 16)] {
        let bytes = noise(16 * (across * down) as usize);
        let expected = output(DataType::U8, 1, 4 * down, 4 * across);
        run(engine, job(&layout, grid(&layout, across, down)), &bytes, &expected);
        let source = Arc::new(Watched(Memory(bytes), Mutex::default()));
        let found = output(DataType::U8, 1, 4 * down, 4 * across);
        let encoded = Encoded::Pulled(vec![Arc::clone(&source) as Arc<dyn ReadAt>]);
        let job = job(&layout, grid(&layout, across, down));
        let report = engine.decode(job, encoded, std::slice::from_ref(&found), &Context::default()).unwrap();
        assert_eq!((report.blocks, report.faults.len()), (u64::from(across * down), 0));
        assert_eq!(found.into_vec(), expected.into_vec());
        let readers = source.1.lock().unwrap();
        assert!(!readers.is_empty());
        if across == 1 {
            assert!(readers.iter().all(|reader| *reader == std::thread::current().id()));
        }
    }
}

pub(super) fn what_another_job_writes_is_busy(engine: &dyn Engine) {
    let layout = layout(4, 4, 1, Uint, 8);
    let outputs = [output(DataType::U8, 1, 4, 4), output(DataType::U8, 1, 8, 8)];
    let submit = |out_x: u32| {
        let mut task = task(&layout, 0);
        (task.output, task.placement.out_x) = (1, out_x);
        engine.submit(job(&layout, vec![task]), staged(engine, &[1; 16]), &outputs, &Context::default())
    };
    // As a job does that has not ended.
    let held = outputs[1].claim(OutputBox { bands: (0, 1), rows: (3, 5), columns: (4, 8) }).unwrap();
    assert_eq!(submit(3).err(), Some(EngineError::Busy { output: 1 }));
    submit(0).unwrap().wait().unwrap();
    drop(held);
    submit(3).unwrap().wait().unwrap();
}

pub(super) fn cancelling_stops_a_job(engine: &dyn Engine) {
    let layout = layout(4, 4, 1, Uint, 8);
    let output = output(DataType::U8, 1, 64, 64);
    let submit = |context: &Context| {
        let job = job(&layout, grid(&layout, 16, 16));
        let ticket =
            engine.submit(job, staged(engine, &[0; 256 * 16]), std::slice::from_ref(&output), context);
        ticket.and_then(strile_engine::Ticket::wait)
    };
    let context = Context::default();
    context.cancel.cancel();
    assert_eq!(submit(&context), Err(EngineError::Cancelled));
    assert_eq!(submit(&Context::default()).unwrap().blocks, 256, "the output is free again");
}

/// A source whose second half waits at a gate. It says when a read waits there, and counts reads that begin after a call was
/// cancelled.
struct Halted {
    memory: Memory,
    gate: Arc<Gate>,
    waits: Arc<Gate>,
    cancel: Cancel,
    late: AtomicU64,
}

impl ReadAt for Halted {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> std::io::Result<&'a [u8]> {
        if self.cancel.is_cancelled() {
            self.late.fetch_add(1, Ordering::Relaxed);
        } else if span.end().unwrap() > self.memory.0.len() as u64 / 2 {
            self.waits.open();
            self.gate.wait();
        }
        self.memory.read_at(span, scratch)
    }
}

pub(super) fn cancelling_stops_a_job_under_way(engine: &dyn Engine) {
    const SIDE: u32 = 512;
    let layout = layout(SIDE, SIDE, 1, Uint, 8);
    let output = output(DataType::U8, 1, 8 * SIDE, 8 * SIDE);
    let budget = Arc::new(Budget::new(1 << 32));
    let context =
        Context { threads: NonZeroUsize::new(2).unwrap(), budget: Arc::clone(&budget), ..Context::default() };
    let source = Arc::new(Halted {
        memory: Memory(noise((64 * SIDE * SIDE) as usize)),
        gate: Arc::default(),
        waits: Arc::default(),
        cancel: context.cancel.clone(),
        late: AtomicU64::new(0),
    });
    let submit = |context: &Context| {
        let encoded = Encoded::Pulled(vec![Arc::clone(&source) as Arc<dyn ReadAt>]);
        let job = job(&layout, grid(&layout, 8, 8));
        engine.submit(job, encoded, std::slice::from_ref(&output), context).unwrap()
    };
    let ticket = submit(&context);
    source.waits.wait();
    context.cancel.cancel();
    source.gate.open();
    assert_eq!(ticket.wait(), Err(EngineError::Cancelled));
    // A thread may have looked just before.
    let late = source.late.load(Ordering::Relaxed);
    assert!(late <= 4, "{late} reads began after the job was cancelled");
    assert!(budget.take(1 << 32, "all of it").is_ok(), "nothing stays lent");
    let report = submit(&Context::default()).wait().unwrap();
    assert_eq!(report.blocks, 64, "the output is free again");
    assert_eq!(report.faults, []);
}

pub(super) fn the_budget_can_refuse(engine: &dyn Engine) {
    let mut layout = layout(100, 100, 1, Uint, 8);
    layout.compression = Compression::Lzw;
    let output = output(DataType::U8, 1, 100, 100);
    // Compressed blocks need room beside the output; half of one is not enough.
    let budget = Arc::new(Budget::new(5_000));
    let context = Context { budget: Arc::clone(&budget), ..Context::default() };
    let mut small = task(&layout, 0);
    small.span = Some(Span { offset: 0, len: 16 });
    let refused = engine.submit(
        job(&layout, vec![small]),
        staged(engine, &[0; 16]),
        std::slice::from_ref(&output),
        &context,
    );
    let Some(EngineError::Budget(error)) = refused.err() else { panic!("not refused") };
    assert_eq!((error.limit, error.free), (5_000, 5_000));
    assert!(error.need > 5_000);
    assert!(budget.take(5_000, "all of it").is_ok(), "nothing stays lent");
    let whole = OutputBox { bands: (0, 1), rows: (0, 100), columns: (0, 100) };
    assert!(output.claim(whole).is_some(), "the output is free again");
}

pub(super) fn a_job_must_fit_what_it_is_given(engine: &dyn Engine) {
    let layout = layout(4, 4, 1, Uint, 8);
    let submit = |outputs: &[Output]| {
        let job = job(&layout, vec![task(&layout, 0)]);
        let refused = engine.submit(job, staged(engine, &[0; 16]), outputs, &Context::default());
        refused.err().unwrap().to_string()
    };
    assert_eq!(submit(&[]), "the job does not fit its outputs: expected output 0, got 0 outputs");
    assert_eq!(
        submit(&[output(DataType::I8, 1, 4, 4)]),
        "the job does not fit its outputs: expected uint8, or an output of floats that converts, got int8 in output 0"
    );
    assert_eq!(
        submit(&[output(DataType::U8, 1, 4, 3)]),
        "the job does not fit its outputs: expected 1 × 4 × 4 or more, got 1 × 4 × 3 samples in output 0"
    );
}

pub(super) fn progress_counts_every_block(engine: &dyn Engine) {
    struct Count(AtomicU64);
    impl Progress for Count {
        fn advance(&self, blocks: u64) {
            self.0.fetch_add(blocks, Ordering::Relaxed);
        }
    }
    let count = Arc::new(Count(AtomicU64::new(0)));
    let layout = layout(4, 4, 1, Uint, 8);
    let mut tasks = grid(&layout, 16, 16);
    tasks[9].span = None;
    tasks[10].span = Some(Span { offset: 1 << 50, len: 16 });
    let progress: Arc<dyn Progress> = Arc::<Count>::clone(&count);
    let context = Context { progress: Some(progress), ..Context::default() };
    let ticket = engine.submit(
        job(&layout, tasks),
        staged(engine, &[0; 256 * 16]),
        &[output(DataType::U8, 1, 64, 64)],
        &context,
    );
    assert_eq!(ticket.unwrap().wait().unwrap().blocks, 256);
    assert_eq!(count.0.load(Ordering::Relaxed), 256, "sparse and faulty ones too");
}
