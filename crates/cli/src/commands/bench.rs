//! `strile bench`.

use crate::args::BenchArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use crate::output::{plan_json, print, print_json, table};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;
use strile::{Context, Dataset, ReadOptions};

/// One file's best read.
struct Measured {
    device: String,
    bytes: usize,
    seconds: f64,
}

impl Measured {
    #[expect(clippy::cast_precision_loss, reason = "a rate, shown with a few digits")]
    fn gigabytes_per_second(&self) -> f64 {
        self.bytes as f64 / 1e9 / self.seconds.max(1e-9)
    }
}

pub fn run(args: &BenchArgs, session: &Session) -> Result<Outcome, Failure> {
    let context = session.context(&args.engine);
    let options = ReadOptions { device: args.engine.device, ..Default::default() };
    if args.explain {
        return explain(args, &options, &context);
    }
    let mut results: Vec<Value> = Vec::new();
    let mut rows =
        vec![["file", "device", "threads", "decoded", "seconds", "GB/s"].map(str::to_owned).to_vec()];
    for file in &args.files {
        let best = measure(file, &options, &context, args.repeat.get())?;
        let name = file.display().to_string();
        rows.push(vec![
            name.clone(),
            best.device.clone(),
            context.threads.to_string(),
            strile::bytes::human(best.bytes as u64),
            format!("{:.4}", best.seconds),
            format!("{:.2}", best.gigabytes_per_second()),
        ]);
        results.push(json!({
            "file": name,
            "device": best.device,
            "threads": context.threads,
            "bytes": best.bytes,
            "seconds": best.seconds,
            "gigabytes_per_second": best.gigabytes_per_second(),
            "repeat": args.repeat,
        }));
    }
    match args.json {
        true => print_json(&json!({ "results": results }))?,
        false => print(&table(&rows))?,
    }
    Ok(Outcome::Clean)
}

fn measure(file: &Path, options: &ReadOptions, context: &Context, repeat: u32) -> Result<Measured, Failure> {
    let device = Dataset::open(file)?.plan(options, context)?.engine;
    let mut best = Measured { device, bytes: 0, seconds: f64::INFINITY };
    for _ in 0..repeat {
        let start = Instant::now();
        let raster = Dataset::open(file)?.read(options, context)?;
        best.seconds = best.seconds.min(start.elapsed().as_secs_f64());
        best.bytes = raster.pixels.len();
    }
    Ok(best)
}

fn explain(args: &BenchArgs, options: &ReadOptions, context: &Context) -> Result<Outcome, Failure> {
    let mut plans = Vec::new();
    for file in &args.files {
        plans.push(Dataset::open(file)?.plan(options, context)?);
    }
    if args.json {
        print_json(&json!({ "plans": plans.iter().map(plan_json).collect::<Vec<_>>() }))?;
    } else {
        let texts: Vec<String> = plans.iter().map(|plan| format!("{}\n{plan}", plan.file)).collect();
        print(&texts.join("\n\n"))?;
    }
    Ok(Outcome::Clean)
}
