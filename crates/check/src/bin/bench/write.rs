//! `bench --write`: pixels in memory, written several times; the last file is read back and compared.

use super::measure::float;
use super::{name, peers, set, trace};
use crate::args::{BenchArgs, FileFormat};
use crate::{Failure, aligned};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile::convert::{LoadedImage, Written};
use strile::engine::{Slice, Trace};
use strile::io::FileSink;
use strile::write::Format;
use strile::{Context, ConvertOptions, Dataset, Location};

/// The file that is written repeatedly; removed on drop.
pub struct Target(PathBuf);

impl Target {
    fn in_folder(folder: &Path) -> Self {
        Self(folder.join(format!("strile-bench-{}.tif", std::process::id())))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the file, if it exists.
    fn clear(&self) {
        let mut beside = self.0.clone().into_os_string();
        beside.push(".aux.xml");
        for path in [self.0.as_path(), Path::new(&beside)] {
            drop(std::fs::remove_file(path));
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.clear();
    }
}

/// One file's writes.
struct Measured {
    file: String,
    from: Location,
    /// Bytes of the pixels.
    bytes: u64,
    written: Written,
    /// Times, the fastest first.
    times: Vec<Duration>,
    /// Seconds per kind of work in one more write; kinds overlap.
    stages: Vec<(&'static str, f64)>,
    /// Whether the file holds the pixels, bit for bit.
    same: bool,
    options: Vec<(String, String)>,
}

pub fn run(args: &BenchArgs, folder: &Path) -> Result<bool, Failure> {
    let mut context = args.context();
    let target = Target::in_folder(folder);
    let (mut measured, mut others, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for (file, process) in args.files.iter().zip(1u32..) {
        let input = Dataset::open(file)?;
        let options = options(args, &input, &mut context)?;
        let image = LoadedImage::read(&input, &options, args.location(), &context)?;
        let (found, slices) = measure(args, file, &image, &target, &context)?;
        if !found.same {
            eprintln!("{}: other pixels are read back than were written", file.display());
        }
        events.extend(trace::process_events(process, &found.file, &slices));
        if args.peers {
            target.clear();
            others.push(peers::write(file, &target, &found.options, args, &context));
        }
        measured.push(found);
    }
    if let Some(path) = &args.trace {
        super::write(path, &trace::json(events).to_string())?;
    }
    if args.json {
        let results = measured.iter().map(|found| json_of(found, args, &context));
        let mut all = json!({ "results": results.collect::<Vec<_>>() });
        if args.peers {
            set(&mut all, "peers", others.into());
        }
        println!("{all:#}");
    } else {
        let mut texts = vec![text(&measured, &context)];
        if args.peers {
            texts.push(peers::text(&others));
        }
        println!("{}", texts.join("\n\n"));
    }
    Ok(measured.iter().all(|found| found.same))
}

/// Returns options that store the file like the source, except for requested changes.
fn options(args: &BenchArgs, input: &Dataset, context: &mut Context) -> Result<ConvertOptions, Failure> {
    let format = match args.of {
        Some(FileFormat::Cog) => Format::Cog,
        Some(FileFormat::GTiff) | None => Format::GeoTiff,
    };
    let mut options = ConvertOptions::like(input, format)?;
    let notes = options.set_creation_options(&args.co)?;
    notes.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    if let (Some(threads), None) = (notes.threads, args.threads) {
        context.threads = threads;
    }
    options.read = args.read_options();
    options.write.encode_on = args.encode_on;
    options.write.reproducible = args.reproducible;
    options.write.nvcomp_effort = args.nvcomp_effort;
    options.write.nvjpeg2000 = args.nvjpeg2000;
    options.write.buffer = args.streaming_buffer;
    Ok(options)
}

fn measure(
    args: &BenchArgs,
    file: &Path,
    image: &LoadedImage,
    target: &Target,
    context: &Context,
) -> Result<(Measured, Vec<Slice>), Failure> {
    let write = |context: &Context| -> Result<(Duration, Written), Failure> {
        target.clear();
        let start = Instant::now();
        let sink = FileSink::create(target.path(), false)?;
        let written = image.write(Box::new(sink), context)?;
        Ok((start.elapsed(), written))
    };
    // The first write starts threads and the device and loads kernels; the next one is traced.
    let (_, mut written) = write(context)?;
    let traced = Arc::new(Trace::default());
    write(&Context { trace: Some(Arc::clone(&traced)), ..context.clone() })?;
    let mut times = Vec::new();
    for _ in 0..args.repeat.get() {
        let (time, last) = write(context)?;
        times.push(time);
        written = last;
    }
    times.sort_unstable();
    let slices = traced.slices();
    let found = Measured {
        file: file.display().to_string(),
        from: image.location(),
        bytes: image.bytes(),
        written,
        times,
        stages: stages(&slices),
        same: image.is_in(&Dataset::open(target.path())?, context)?,
        options: image.gdal_options()?,
    };
    Ok((found, slices))
}

/// Returns the total time per kind of work, ordered by first start.
fn stages(slices: &[Slice]) -> Vec<(&'static str, f64)> {
    let mut stages: Vec<(&'static str, f64)> = Vec::new();
    for slice in slices {
        let seconds = slice.end.saturating_sub(slice.start).as_secs_f64();
        match stages.iter_mut().find(|(name, _)| *name == slice.name) {
            Some((_, sum)) => *sum += seconds,
            None => stages.push((slice.name, seconds)),
        }
    }
    stages
}

impl Measured {
    fn best(&self) -> f64 {
        self.times.first().map_or(f64::NAN, Duration::as_secs_f64)
    }

    fn median(&self) -> f64 {
        self.times.get(self.times.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
    }

    fn rate(&self, seconds: f64) -> f64 {
        float(self.bytes) / 1e9 / seconds.max(1e-9)
    }

    fn ratio(&self) -> f64 {
        float(self.bytes) / float(self.written.report.file_len.max(1))
    }
}

fn place(location: Location) -> String {
    match location {
        Location::Host => "host".to_owned(),
        Location::Cuda(index) => format!("cuda:{index}"),
    }
}

fn text(measured: &[Measured], context: &Context) -> String {
    let head = [
        "file",
        "device",
        "encoder",
        "threads",
        "from",
        "pixels",
        "seconds",
        "median",
        "GB/s",
        "written",
        "ratio",
        "read back",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(measured.iter().map(|found| {
        let Written { report, engine, encoder } = &found.written;
        vec![
            found.file.clone(),
            engine.clone(),
            encoder.clone(),
            context.threads.to_string(),
            place(found.from),
            strile::bytes::human(found.bytes),
            format!("{:.4}", found.best()),
            format!("{:.4}", found.median()),
            format!("{:.2}", found.rate(found.best())),
            strile::bytes::human(report.file_len),
            format!("{:.3}", found.ratio()),
            if found.same { "the same" } else { "OTHER PIXELS" }.to_owned(),
        ]
    }));
    let mut text = aligned(&rows);
    for found in measured.iter().filter(|found| !found.stages.is_empty()) {
        let stage = |(name, seconds): &(&str, f64)| format!("{name} {:.2} ms", seconds * 1e3);
        let stages: Vec<String> = found.stages.iter().map(stage).collect();
        text.push_str(&format!(
            "\n{}: one more write, by work (it overlaps): {}",
            found.file,
            stages.join(", ")
        ));
    }
    text
}

fn json_of(found: &Measured, args: &BenchArgs, context: &Context) -> Value {
    let Written { report, engine, encoder } = &found.written;
    let fields = |pairs: &[(String, String)]| {
        pairs.iter().map(|(key, value)| (key.clone(), json!(value))).collect::<serde_json::Map<_, _>>()
    };
    let stages = found.stages.iter().map(|(name, seconds)| ((*name).to_owned(), json!(seconds)));
    json!({
        "file": found.file,
        "device": engine,
        "encoder": encoder,
        "reproducible": args.reproducible,
        "streaming_buffer": args.streaming_buffer,
        "from": place(found.from),
        "to": name(args.location()),
        "threads": context.threads,
        "bytes": found.bytes,
        "seconds": found.best(),
        "median_seconds": found.median(),
        "gigabytes_per_second": found.rate(found.best()),
        "median_gigabytes_per_second": found.rate(found.median()),
        "repeat": found.times.len(),
        "file_bytes": report.file_len,
        "ratio": found.ratio(),
        "blocks": report.blocks,
        "sparse": report.sparse,
        "levels": report.levels,
        "spooled": report.spooled,
        "same": found.same,
        "options": fields(&found.options),
        "stages": stages.collect::<serde_json::Map<_, _>>(),
    })
}
