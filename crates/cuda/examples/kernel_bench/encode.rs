//! The other way: pixels on the device to encoded blocks there, by the engine's own batches; the device's times are those
//! of a trace. What comes is decoded by the CPU engine and compared.

use crate::blocks::Blocks;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use strile_cuda::CudaEngine;
use strile_engine::{
    BlockTask, Context, DecodeJob, EncodeJob, EncodeLayout, EncodeParams, EncodeTask, Encoded, EncodedBlocks,
    Encoder, Engine, Output, SharedPixels, Slice, Trace,
};
use strile_tiff::Compression;

/// Medians.
pub struct Encoding {
    /// GB/s of pixels, from the first kernel to the last.
    pub rate: f64,
    /// Pixels by encoded bytes.
    pub ratio: f64,
    pub batches: usize,
    /// Milliseconds of each pass, all batches together, which overlap.
    pub passes: Vec<(&'static str, f64)>,
}

fn job(blocks: &Blocks, level: Option<i32>) -> EncodeJob {
    let usual = if blocks.layout.compression == Compression::Zstd { 9 } else { 6 };
    let params = EncodeParams {
        encoder: Encoder::Portable,
        level: level.unwrap_or(usual),
        quality: 75,
        lossless: true,
        max_error: 0.0,
    };
    let layout = EncodeLayout { block: Arc::clone(&blocks.layout), params, nan_to: None, sparse: None };
    let task = |task: &BlockTask| EncodeTask {
        layout: 0,
        pixels: 0,
        address: task.address,
        rows: task.placement.rows,
        x: task.placement.out_x,
        y: task.placement.out_y,
        width: task.placement.width,
        height: task.placement.height,
        first_band: task.placement.first_band,
    };
    EncodeJob { layouts: vec![layout], tasks: blocks.tasks.iter().map(task).collect() }
}

/// Encodes so many times; every pixel must be in what comes.
pub fn measure(
    blocks: &Blocks,
    cpu: &dyn Engine,
    cuda: &CudaEngine,
    runs: usize,
    level: Option<i32>,
) -> Encoding {
    let quiet = Context::default();
    let output = cuda.output(blocks.spec.clone(), &quiet).unwrap();
    let staged = Encoded::Staged(Arc::clone(&blocks.arena));
    cuda.submit(blocks.job(), staged, std::slice::from_ref(&output), &quiet).unwrap().wait().unwrap();
    let pixels =
        SharedPixels::on_device(blocks.spec.clone(), output.device_bytes().unwrap().clone()).unwrap();
    let encode = |context: &Context| {
        let ticket = cuda.encode(job(blocks, level), std::slice::from_ref(&pixels), context).unwrap();
        ticket.wait().unwrap()
    };
    let encoded = encode(&quiet);
    assert_eq!(encoded.faults, []);
    let len: u64 = encoded.blocks.iter().filter_map(|block| block.span).map(|span| span.len).sum();
    compare(blocks, cpu, encoded);
    let (mut times, mut all) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let trace = Arc::new(Trace::default());
        encode(&Context { trace: Some(Arc::clone(&trace)), ..Context::default() });
        let slices = trace.slices();
        times.push(together(slices.iter().filter(|slice| slice.name == "encode")));
        all.push(slices);
    }
    times.sort();
    let batches = all[0].iter().filter(|slice| slice.name == "encode").count();
    Encoding {
        rate: blocks.expected.len() as f64 / times[times.len() / 2].as_secs_f64() / 1e9,
        ratio: blocks.expected.len() as f64 / len.max(1) as f64,
        batches,
        passes: passes(&all),
    }
}

/// The blocks, decoded by the other engine, are the pixels.
fn compare(blocks: &Blocks, cpu: &dyn Engine, encoded: EncodedBlocks) {
    let tasks = blocks.tasks.iter().zip(&encoded.blocks);
    let tasks: Vec<BlockTask> = tasks.map(|(task, block)| BlockTask { span: block.span, ..*task }).collect();
    let bands: Vec<u16> = (0..blocks.layout.samples).collect();
    let job = DecodeJob::new(vec![Arc::clone(&blocks.layout)], vec![bands], tasks).unwrap();
    let output = Output::new(blocks.spec.clone()).unwrap();
    let slab = Encoded::Staged(Arc::new(encoded.slab));
    let ticket = cpu.submit(job, slab, std::slice::from_ref(&output), &Context::default()).unwrap();
    assert_eq!(ticket.wait().unwrap().faults, []);
    let codec = blocks.layout.compression.name();
    assert!(output.into_vec().unwrap() == *blocks.expected, "{} {codec} is wrong", blocks.name);
}

/// How long any of them ran.
fn together<'a>(slices: impl Iterator<Item = &'a Slice>) -> Duration {
    let (mut sum, mut end) = (Duration::ZERO, Duration::ZERO);
    // They come in order of their begin.
    for slice in slices {
        sum += slice.end.saturating_sub(slice.start.max(end));
        end = end.max(slice.end);
    }
    sum
}

/// Medians of the passes of all runs, in the order in which they ran.
fn passes(runs: &[Vec<Slice>]) -> Vec<(&'static str, f64)> {
    let of_passes = |slice: &&Slice| slice.track.ends_with("passes");
    let mut names: Vec<&'static str> = Vec::new();
    for slice in runs[0].iter().filter(of_passes) {
        if !names.contains(&slice.name) {
            names.push(slice.name);
        }
    }
    let sum = |run: &Vec<Slice>, name: &str| -> f64 {
        let own = run.iter().filter(of_passes).filter(|slice| slice.name == name);
        own.map(|slice| slice.end.saturating_sub(slice.start).as_secs_f64() * 1e3).sum()
    };
    let median = |name: &'static str| {
        let mut sums: Vec<f64> = runs.iter().map(|run| sum(run, name)).collect();
        sums.sort_by(f64::total_cmp);
        (name, sums[sums.len() / 2])
    };
    names.into_iter().map(median).collect()
}

impl Encoding {
    /// One line of the table.
    pub fn line(&self, blocks: &Blocks) -> String {
        let passes: Vec<String> = self.passes.iter().map(|(name, ms)| format!("{name} {ms:.2}")).collect();
        format!(
            "{:14} {:9} {:4}  {:6}  {:5.3}  {:11.2}  {:7}  {}",
            blocks.name,
            blocks.layout.compression.name(),
            blocks.layout.width,
            blocks.tasks.len(),
            self.ratio,
            self.rate,
            self.batches,
            passes.join(", "),
        )
    }

    /// The same for programs.
    pub fn json(&self, blocks: &Blocks) -> String {
        let passes: Vec<String> =
            self.passes.iter().map(|(name, ms)| format!("\"{name}\": {ms:.4}")).collect();
        let mut text = format!("{{\"name\": \"{}\", ", blocks.name);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\"codec\": \"{}\", \"tile\": {}, \"blocks\": {}, \"ratio\": {:.4}, \"encode_gb_s\": {:.3}, \
             \"batches\": {}, \"passes_ms\": {{{}}}}}",
            blocks.layout.compression.name(),
            blocks.layout.width,
            blocks.tasks.len(),
            self.ratio,
            self.rate,
            self.batches,
            passes.join(", "),
        );
        text
    }
}
