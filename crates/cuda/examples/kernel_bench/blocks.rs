//! Blocks in one arena, decoded in one launch, compared and timed.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile_cuda::CudaEngine;
use strile_engine::{
    Arena, BlockLayout, BlockTask, Context, DecodeJob, Encoded, Engine, Output, OutputSpec, Trace,
};

/// All blocks of one raster.
pub struct Blocks {
    pub name: String,
    pub layout: Arc<BlockLayout>,
    pub tasks: Vec<BlockTask>,
    pub spec: OutputSpec,
    pub arena: Arc<Arena>,
    pub expected: Arc<Vec<u8>>,
}

/// Medians, GB/s of output.
pub struct Rates {
    pub decode: f64,
    pub place: f64,
    pub whole: f64,
    pub host_blocks: u64,
    /// Batches, each a launch of its own.
    pub launches: usize,
}

impl Blocks {
    pub fn job(&self) -> DecodeJob {
        let bands: Vec<u16> = (0..self.layout.samples).collect();
        DecodeJob::new(vec![Arc::clone(&self.layout)], vec![bands], self.tasks.clone()).unwrap()
    }

    fn encoded_len(&self) -> u64 {
        self.tasks.iter().filter_map(|task| task.span).map(|span| span.len).sum()
    }

    /// Encoded bytes to decoded ones.
    pub fn ratio(&self) -> f64 {
        self.expected.len() as f64 / self.encoded_len().max(1) as f64
    }

    /// Decodes so many times on the device; every pixel must be right.
    pub fn measure(&self, cuda: &CudaEngine, runs: usize) -> Rates {
        let traced = Context { trace: Some(Arc::new(Trace::default())), ..Context::default() };
        let quiet = Context::default();
        let submit = |output: &Output, context: &Context| {
            let encoded = Encoded::Staged(Arc::clone(&self.arena));
            let ticket = cuda.submit(self.job(), encoded, std::slice::from_ref(output), context);
            ticket.unwrap().wait().unwrap()
        };
        // On the host first: that every pixel is right.
        let mut poisoned = vec![0xA5u8; self.expected.len()];
        poisoned[0] ^= self.expected[0];
        let host = Output::from_vec(self.spec.clone(), poisoned).unwrap();
        let report = submit(&host, &quiet);
        assert_eq!(report.faults, []);
        let codec = self.layout.compression.name();
        assert!(host.into_vec().unwrap() == *self.expected, "{} {codec} is wrong", self.name);
        let output = cuda.output(self.spec.clone(), &quiet).unwrap();
        submit(&output, &traced);
        let slices = traced.trace.as_ref().map(|trace| trace.slices()).unwrap_or_default();
        let launches = slices.iter().filter(|slice| slice.name == "decode").count();
        let (mut decode, mut place, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..runs {
            let start = Instant::now();
            let report = submit(&output, &quiet);
            whole.push(start.elapsed());
            decode.push(report.times.decode);
            place.push(report.times.place);
        }
        let rate = |times: &mut Vec<Duration>| {
            times.sort();
            self.expected.len() as f64 / times[times.len() / 2].as_secs_f64() / 1e9
        };
        Rates {
            decode: rate(&mut decode),
            place: rate(&mut place),
            whole: rate(&mut whole),
            host_blocks: report.host_blocks,
            launches,
        }
    }

    /// One line of the table; `copy` is the rate of a copy within the device.
    pub fn line(&self, rates: &Rates, copy: f64) -> String {
        format!(
            "{:14} {:9} {:4}  {:6}  {:5.2}  {:11.1}  {:11.1}  {:6.1}  {:11}  {:10.1}  {:8}",
            self.name,
            self.layout.compression.name(),
            self.layout.width,
            self.tasks.len(),
            self.ratio(),
            rates.decode,
            rates.place,
            rates.place / copy * 100.0,
            rates.host_blocks,
            rates.whole,
            rates.launches,
        )
    }

    /// The same for programs.
    pub fn json(&self, rates: &Rates, copy: f64) -> String {
        let mut text = format!("{{\"name\": \"{}\", ", self.name);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\"codec\": \"{}\", \"tile\": {}, \"blocks\": {}, \"ratio\": {:.3}, \"decode_gb_s\": {:.2}, \
             \"place_gb_s\": {:.2}, \"copy_gb_s\": {copy:.2}, \"whole_gb_s\": {:.2}, \"host_blocks\": {}, \
             \"launches\": {}}}",
            self.layout.compression.name(),
            self.layout.width,
            self.tasks.len(),
            self.ratio(),
            rates.decode,
            rates.place,
            rates.whole,
            rates.host_blocks,
            rates.launches,
        );
        text
    }
}
