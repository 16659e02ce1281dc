//! `strile bench`.

use crate::args::{BenchArgs, Destination};
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use crate::output::{plan_json, print, print_json, table};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use strile::{Context, Dataset, ReadOptions, Report};

/// One file's reads, the fastest first.
struct Measured {
    device: String,
    bytes: u64,
    reads: Vec<(Duration, Report)>,
}

impl Measured {
    fn best(&self) -> f64 {
        self.reads.first().map_or(f64::NAN, |(time, _)| time.as_secs_f64())
    }

    fn median(&self) -> Option<&(Duration, Report)> {
        self.reads.get(self.reads.len() / 2)
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate, shown with a few digits")]
    fn gigabytes_per_second(&self) -> f64 {
        self.bytes as f64 / 1e9 / self.best().max(1e-9)
    }
}

pub fn run(args: &BenchArgs, session: &Session) -> Result<Outcome, Failure> {
    let context = session.context(&args.engine);
    let options = args.read_options();
    if args.explain {
        return explain(args, &options, &context);
    }
    let mut measured = Vec::new();
    for file in &args.files {
        measured.push((file.display().to_string(), measure(file, &options, args, &context)?));
    }
    if args.json {
        let results: Vec<Value> = measured.iter().map(|(file, m)| m.json(file, args, &context)).collect();
        print_json(&json!({ "results": results }))?;
    } else {
        let stages = measured.iter().any(|(_, m)| m.device != "cpu");
        let head = ["file", "device", "threads", "decoded", "seconds", "median", "GB/s"];
        let more = ["read", "copy", "decode", "place", "host", "on device", "on host"];
        let names = head.iter().chain(stages.then_some(&more).into_iter().flatten());
        let mut rows = vec![names.map(|name| (*name).to_owned()).collect()];
        rows.extend(measured.iter().map(|(file, m)| m.row(file, &context, stages)));
        print(&table(&rows))?;
    }
    Ok(Outcome::Clean)
}

impl Measured {
    fn row(&self, file: &str, context: &Context, stages: bool) -> Vec<String> {
        let (median, report) = self.median().cloned().unwrap_or_default();
        let mut row = vec![
            file.to_owned(),
            self.device.clone(),
            context.threads.to_string(),
            strile::bytes::human(self.bytes),
            format!("{:.4}", self.best()),
            format!("{:.4}", median.as_secs_f64()),
            format!("{:.2}", self.gigabytes_per_second()),
        ];
        if stages {
            let times = report.times;
            let stage = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
            row.extend([times.read, times.copy, times.decode, times.place, times.host].map(stage));
            let (all, host) = (report.blocks, report.host_blocks);
            row.extend([all.saturating_sub(host), host].map(|blocks| blocks.to_string()));
        }
        row
    }

    fn json(&self, file: &str, args: &BenchArgs, context: &Context) -> Value {
        let (median, report) = self.median().cloned().unwrap_or_default();
        let times = report.times;
        json!({
            "file": file,
            "device": self.device,
            "to": match args.to { Destination::Host => "host", Destination::Device => "device" },
            "threads": context.threads,
            "bytes": self.bytes,
            "seconds": self.best(),
            "median_seconds": median.as_secs_f64(),
            "gigabytes_per_second": self.gigabytes_per_second(),
            "repeat": args.repeat,
            "blocks": report.blocks,
            "host_blocks": report.host_blocks,
            "encoded_bytes": report.encoded_bytes,
            "stages": {
                "read": times.read.as_secs_f64(),
                "copy": times.copy.as_secs_f64(),
                "decode": times.decode.as_secs_f64(),
                "place": times.place.as_secs_f64(),
                "host": times.host.as_secs_f64(),
            },
        })
    }
}

fn measure(
    file: &Path,
    options: &ReadOptions,
    args: &BenchArgs,
    context: &Context,
) -> Result<Measured, Failure> {
    let plan = plan(file, options, args, context)?;
    let mut measured = Measured { device: plan.engine, bytes: plan.memory.output, reads: Vec::new() };
    // The first read starts threads and the device, loads kernels and fills the page cache.
    once(file, options, args, context)?;
    for _ in 0..args.repeat.get() {
        measured.reads.push(once(file, options, args, context)?);
    }
    measured.reads.sort_by_key(|(time, _)| *time);
    Ok(measured)
}

fn once(
    file: &Path,
    options: &ReadOptions,
    args: &BenchArgs,
    context: &Context,
) -> Result<(Duration, Report), Failure> {
    let start = Instant::now();
    Ok(match args.to {
        Destination::Host => {
            let (pixels, report) = Dataset::open(file)?.read_with_report(options, context)?;
            let time = start.elapsed();
            drop(pixels);
            (time, report)
        }
        Destination::Device => {
            let raster = Dataset::open(file)?.read_on_device(options, context)?;
            (start.elapsed(), raster.report)
        }
    })
}

fn plan(
    file: &Path,
    options: &ReadOptions,
    args: &BenchArgs,
    context: &Context,
) -> Result<strile::ReadPlan, Failure> {
    let dataset = Dataset::open(file)?;
    Ok(match args.to {
        Destination::Host => dataset.plan(options, context)?,
        Destination::Device => dataset.plan_on_device(options, context)?,
    })
}

fn explain(args: &BenchArgs, options: &ReadOptions, context: &Context) -> Result<Outcome, Failure> {
    let plans = args.files.iter().map(|file| plan(file, options, args, context));
    let plans = plans.collect::<Result<Vec<_>, _>>()?;
    if args.json {
        print_json(&json!({ "plans": plans.iter().map(plan_json).collect::<Vec<_>>() }))?;
    } else {
        let texts: Vec<String> = plans.iter().map(|plan| format!("{}\n{plan}", plan.file)).collect();
        print(&texts.join("\n\n"))?;
    }
    Ok(Outcome::Clean)
}
