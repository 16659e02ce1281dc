//! Plans: an engine does what it says.

use super::jobs::{Memory, Uint, grid, job, layout, noise, output, staged};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use strile_engine::{
    Budget, Context, Encoded, Engine, EnginePlan, Held, OutputKind, ReadAt, Span, Submission, Supply,
};
use strile_tiff::DataType;

/// Counts bytes that are read, and remembers the reads.
struct Counted {
    memory: Memory,
    bytes: AtomicU64,
    reads: Mutex<Vec<Span>>,
}

impl Counted {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { memory: Memory(bytes), bytes: AtomicU64::new(0), reads: Mutex::default() })
    }
}

impl ReadAt for Counted {
    fn read_at<'a>(&'a self, span: Span, scratch: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        self.bytes.fetch_add(span.len, Ordering::Relaxed);
        self.reads.lock().unwrap().push(span);
        self.memory.read_at(span, scratch)
    }
}

fn limited(bytes: u64) -> Context {
    Context { budget: Arc::new(Budget::new(bytes)), ..Context::default() }
}

/// What a plan promises, held against a job of 96 tiles of which some are sparse.
pub(super) fn a_plan_says_what_is_done(engine: &dyn Engine) {
    let layout = layout(64, 32, 1, Uint, 16);
    let mut tasks = grid(&layout, 12, 8);
    for at in [3, 40, 41, 95] {
        tasks[at].span = None;
    }
    let len = tasks.len() as u64 * 64 * 32 * 2;
    let stored = (tasks.len() - 4) as u64;
    let bytes = noise(len as usize);
    let mut pixels: Vec<Vec<u8>> = Vec::new();
    for supply in [Supply::Staged, Supply::Pulled] {
        let output = output(DataType::U16, 1, 8 * 32, 12 * 64);
        let outputs = [OutputKind::from(&output)];
        let submission = Submission { supply, outputs: &outputs, held: Held::default() };
        let job = job(&layout, tasks.clone());
        let plan = engine.plan(&job, &submission, &limited(1 << 30)).unwrap();
        let source = Counted::new(bytes.clone());
        let encoded = match supply {
            Supply::Staged => staged(engine, &bytes),
            _ => Encoded::Pulled(vec![Arc::clone(&source) as Arc<dyn ReadAt>]),
        };
        assert_eq!(encoded.supply(), supply);
        let context = limited(1 << 30);
        let outputs = std::slice::from_ref(&output);
        let report = engine.submit(job, encoded, outputs, &context).unwrap().wait().unwrap();
        assert_eq!(report.blocks, tasks.len() as u64);
        let EnginePlan { batches, ranges, range_bytes, memory, routes } = plan;
        assert!(batches >= 1);
        assert_eq!(routes.iter().map(|route| route.blocks as u64).sum::<u64>(), stored);
        let reads = source.reads.lock().unwrap().len();
        match supply {
            Supply::Pulled => {
                assert_eq!(range_bytes, source.bytes.load(Ordering::Relaxed), "bytes read");
                assert!((1..=reads).contains(&ranges), "{ranges} ranges, {reads} reads");
            }
            _ => assert_eq!((ranges, range_bytes, reads), (0, 0, 0)),
        }
        let peak = context.budget.peak();
        assert!(peak <= memory.host && memory.per_worker <= memory.host, "{peak} taken, {memory:?}");
        pixels.push(output.into_vec().unwrap());
    }
    assert_eq!(pixels[0], pixels[1]);
}

/// A plan counts memory that its caller will hold: what it says still fits then, if anything does.
pub(super) fn a_plan_leaves_room_for_what_the_caller_holds(engine: &dyn Engine) {
    let layout = layout(64, 64, 1, Uint, 16);
    let output = output(DataType::U16, 1, 512, 512);
    let job = job(&layout, grid(&layout, 8, 8));
    let outputs = [OutputKind::from(&output)];
    let planned = |host: u64, limit: u64| {
        let held = Held { host, device: 0 };
        let submission = Submission { supply: Supply::Pulled, outputs: &outputs, held };
        engine.plan(&job, &submission, &limited(limit)).unwrap().memory
    };
    let ample = planned(0, 1 << 30);
    assert_eq!(planned(1 << 20, 1 << 30), ample);
    let least = planned(0, 1);
    assert!(least.per_worker == ample.per_worker && least.host <= ample.host, "{least:?}, {ample:?}");
    let (held, limit) = (1 << 20, (1 << 20) + least.host + least.per_worker / 2);
    assert_eq!(planned(held, limit).host, least.host, "one worker fits beside what is held");
}
