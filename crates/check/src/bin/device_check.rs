//! Compares the CUDA engine with the CPU engine over whole folders of files, in one process.
//!
//! `device_check [--device N] [--limit FILES] [--seconds S] [--memory BYTES] [--seed N] [--nvcomp 1] PATH…`
//!
//! Every page, overview and mask of every TIFF is read by the CPU engine, by the CUDA engine into host memory, and by
//! the CUDA engine into its own memory and copied back; then two windows with randomly chosen bands. Pixels must be
//! equal bit for bit and errors word for word. Prints one JSON line per file (`same`, `codec`, `blocks`, `host_blocks`
//! of successful reads, `cpu` its errors, `cuda` the differences), then a line `summary: …`. Exit status 1 for any
//! difference, or if too few valid blocks of the codecs with kernels were decoded on the device; 2 if nothing was
//! checked.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile::device::Nvcomp;
use strile::engine::Budget;
use strile::engine::Report;
use strile::read::{Interleave, MaskSource, OnFault};
use strile::{Compression, Context, Dataset, Error, Layer, Pixels, Processor, ReadOptions, Result, Window};

/// Codecs whose blocks should be decoded on the device.
const WITH_KERNELS: [Compression; 5] =
    [Compression::None, Compression::PackBits, Compression::Lzw, Compression::Deflate, Compression::Zstd];
/// Minimum share of them.
const LEAST_SHARE: f64 = 0.98;
const WINDOWS: usize = 2;

struct Arguments {
    device: u32,
    limit: usize,
    seconds: u64,
    memory: u64,
    seed: u64,
    /// With `TrustedAlways` nvCOMP decodes everything it supports: for trusted files.
    nvcomp: Nvcomp,
    paths: Vec<PathBuf>,
}

/// Blocks of successful reads.
#[derive(Default, Clone, Copy)]
struct Blocks {
    all: u64,
    host: u64,
}

/// Result of one file.
#[derive(Default)]
struct Verdict {
    codec: &'static str,
    reads: usize,
    left_out: usize,
    blocks: BTreeMap<&'static str, Blocks>,
    errors: Vec<String>,
    differences: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => return stop(&problem),
    };
    let name = format!("cuda:{}", arguments.device);
    let devices = strile::device::devices();
    let device = devices.iter().find(|device| device.name == name);
    if !device.is_some_and(|device| device.usable) {
        let known = device.or(devices.last()).map_or_else(String::new, |device| device.description.clone());
        return stop(&format!("{name} cannot be used: {known}"));
    }
    let mut files = Vec::new();
    arguments.paths.iter().for_each(|path| collect(path, &mut files));
    files.sort();
    let found = files.len();
    files.truncate(arguments.limit);
    let check = Check::new(&arguments);
    let (mut checked, mut different) = (0usize, 0usize);
    let mut totals: BTreeMap<&'static str, Blocks> = BTreeMap::new();
    let start = Instant::now();
    for file in &files {
        if start.elapsed() > Duration::from_secs(arguments.seconds) {
            break;
        }
        let verdict = check.file(file);
        checked += 1;
        different += usize::from(!verdict.differences.is_empty());
        for (codec, blocks) in &verdict.blocks {
            let total = totals.entry(codec).or_default();
            *total = Blocks { all: total.all + blocks.all, host: total.host + blocks.host };
        }
        println!("{}", verdict.json(file));
    }
    let sum =
        |blocks: Blocks, more: &Blocks| Blocks { all: blocks.all + more.all, host: blocks.host + more.host };
    let names = WITH_KERNELS.map(Compression::name);
    let ours = totals.iter().filter(|(codec, _)| names.contains(codec)).map(|(_, blocks)| blocks);
    let share = share(ours.fold(Blocks::default(), sum));
    let codecs: serde_json::Map<String, Value> =
        totals.iter().map(|(codec, blocks)| ((*codec).to_owned(), blocks.json())).collect();
    let enough = share.is_none_or(|share| share >= LEAST_SHARE);
    println!(
        "summary: {}",
        json!({
            "ok": different == 0 && enough && checked > 0,
            "files_found": found, "files_checked": checked, "files_different": different,
            "seconds": start.elapsed().as_secs_f64(), "device": name,
            "codecs": codecs, "share_on_device": share, "least_share": LEAST_SHARE,
        })
    );
    match (checked, different == 0 && enough) {
        (0, _) => stop("no file was checked"),
        (_, true) => ExitCode::SUCCESS,
        (_, false) => ExitCode::from(1),
    }
}

fn stop(problem: &str) -> ExitCode {
    eprintln!("error: {problem}");
    ExitCode::from(2)
}

fn parse(mut words: impl Iterator<Item = String>) -> std::result::Result<Arguments, String> {
    let mut arguments = Arguments {
        device: 0,
        limit: usize::MAX,
        seconds: u64::MAX,
        memory: 2 << 30,
        seed: 1,
        nvcomp: Nvcomp::Off,
        paths: vec![],
    };
    while let Some(word) = words.next() {
        if !word.starts_with("--") {
            arguments.paths.push(word.into());
            continue;
        }
        let value = words.next().and_then(|value| value.parse::<u64>().ok());
        let value = value.ok_or_else(|| format!("{word} needs a number"))?;
        match word.as_str() {
            "--device" => arguments.device = u32::try_from(value).map_err(|error| error.to_string())?,
            "--limit" => arguments.limit = usize::try_from(value).unwrap_or(usize::MAX),
            "--seconds" => arguments.seconds = value,
            "--memory" => arguments.memory = value,
            "--seed" => arguments.seed = value,
            "--nvcomp" => arguments.nvcomp = if value == 1 { Nvcomp::TrustedAlways } else { Nvcomp::Off },
            _ => return Err(format!("no option {word}")),
        }
    }
    Ok(arguments)
}

/// Collects the TIFFs at a path or below it.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| collect(&entry.path(), files));
        return;
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    // Files found by a fuzzer have no extension, or a wrong one; sidecars have theirs and are opened with their image.
    if ending.as_deref().is_none_or(|ending| matches!(ending, "tif" | "tiff" | "dng" | "jpg")) {
        files.push(path.to_owned());
    }
}

fn share(blocks: Blocks) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a share, not a count")]
    (blocks.all > 0).then(|| (blocks.all - blocks.host.min(blocks.all)) as f64 / blocks.all as f64)
}

impl Blocks {
    fn json(self) -> Value {
        json!({ "blocks": self.all, "host_blocks": self.host, "share_on_device": share(self) })
    }
}

impl Verdict {
    fn json(&self, file: &Path) -> Value {
        let (all, host) = self.blocks.values().fold((0, 0), |(all, host), b| (all + b.all, host + b.host));
        json!({
            "file": file.display().to_string(), "same": self.differences.is_empty(), "codec": self.codec,
            "reads": self.reads, "left_out": self.left_out, "blocks": all, "host_blocks": host,
            "cpu": self.errors, "cuda": self.differences,
        })
    }
}

struct Check {
    index: u32,
    cuda: Processor,
    nvcomp: Nvcomp,
    seed: u64,
    /// Bounded, so that a small file that claims to be huge is refused at once.
    cpu_context: Context,
    cuda_context: Context,
}

impl Check {
    fn new(arguments: &Arguments) -> Self {
        let cpu_context = Context { budget: Arc::new(Budget::new(arguments.memory)), ..Context::default() };
        let (index, seed) = (arguments.device, arguments.seed);
        let cuda = Processor::Cuda(index);
        let nvcomp = arguments.nvcomp;
        Self { index, cuda, nvcomp, seed, cpu_context, cuda_context: Context::default() }
    }

    fn file(&self, path: &Path) -> Verdict {
        let mut verdict = Verdict { codec: "none", ..Verdict::default() };
        let dataset = match Dataset::open(path) {
            Ok(dataset) => dataset,
            Err(error) => {
                // The error does not depend on an engine.
                verdict.errors.push(error.to_string());
                return verdict;
            }
        };
        for (page, levels) in dataset.pages().iter().map(|page| page.levels.len()).enumerate() {
            for level in 0..levels {
                let options = ReadOptions::new().page(page).level(level);
                self.compare(&dataset, &options, true, &mut verdict);
                let masked = dataset.mask_source(&options.place);
                if masked.is_ok_and(|source| source != MaskSource::AllValid) {
                    let mask = options.layer(Layer::Mask);
                    self.compare(&dataset, &mask, false, &mut verdict);
                }
            }
        }
        let image = dataset.pages().first().and_then(|page| page.levels.first()).map(|level| &level.image);
        if let Some(image) = image {
            verdict.codec = image.compression.name();
            let mut random = Random(self.seed ^ u64::from(image.width) << 32 ^ u64::from(image.height));
            for at in 0..WINDOWS {
                let (x, width) = random.range(image.width);
                let (y, height) = random.range(image.height);
                let count = 1 + random.below(u32::from(image.samples).min(4));
                let bands = (0..count).map(|_| 1 + random.below(u32::from(image.samples)));
                let bands = bands.filter_map(|band| u16::try_from(band).ok()).collect::<Vec<_>>();
                let interleave = if at == 0 { Interleave::BandFirst } else { Interleave::BandLast };
                let window = Some(Window::new(x, y, width, height));
                let options = ReadOptions::new().window(window).bands(bands).interleave(interleave);
                self.compare(&dataset, &options, false, &mut verdict);
            }
        }
        verdict
    }

    fn compare(&self, dataset: &Dataset, options: &ReadOptions, counts: bool, verdict: &mut Verdict) {
        let expected = self.cpu(dataset, options);
        if let Err(Error::Memory { .. }) = expected {
            verdict.left_out += 1;
            return;
        }
        verdict.reads += 1;
        self.hold(&expected, dataset, options, verdict).into_iter().filter(|_| counts).for_each(|report| {
            let image = dataset.pages().get(options.place.page);
            let level = image.and_then(|page| page.levels.get(options.place.level));
            let codec = level.map_or("none", |level| level.image.compression.name());
            let blocks = verdict.blocks.entry(codec).or_default();
            *blocks = Blocks { all: blocks.all + report.blocks, host: blocks.host + report.host_blocks };
        });
        if let Err(error) = &expected {
            verdict.errors.push(error.to_string());
            if let Error::Blocks { .. } = error {
                // All faults, and the pixels between them.
                let filled = options.clone().on_fault(OnFault::Fill);
                let expected = self.cpu(dataset, &filled);
                self.hold(&expected, dataset, &filled, verdict);
            }
        }
    }

    fn cpu(&self, dataset: &Dataset, options: &ReadOptions) -> Result<Pixels> {
        dataset.read(&options.clone().decode_on(Processor::Cpu), &self.cpu_context)
    }

    /// Reads with the CUDA engine, both ways; returns the report of a successful read.
    fn hold(
        &self,
        expected: &Result<Pixels>,
        dataset: &Dataset,
        options: &ReadOptions,
        verdict: &mut Verdict,
    ) -> Option<Report> {
        let options = options.clone().decode_on(self.cuda).nvcomp(self.nvcomp);
        let raster = dataset.read(&options, &self.cuda_context);
        let report = raster.as_ref().ok().map(|raster| raster.report.clone());
        let there = dataset.read_on_device(self.index, &options, &self.cuda_context);
        let there = there.and_then(|raster| raster.into_host(&self.cuda_context));
        for (how, found) in [("into host memory", raster), ("into device memory", there)] {
            if let Some(difference) = difference(expected, &found) {
                verdict.differences.push(format!("{how}, {}: {difference}", request(&options)));
            }
        }
        report
    }
}

fn difference(expected: &Result<Pixels>, found: &Result<Pixels>) -> Option<String> {
    let (expected, found) = match (expected, found) {
        (Ok(expected), Ok(found)) => (expected, found),
        (Err(expected), Err(found)) => {
            let (expected, found) = (expected.to_string(), found.to_string());
            return (expected != found).then(|| format!("`{found}`, expected `{expected}`"));
        }
        (Ok(_), Err(found)) => return Some(format!("`{found}`, expected pixels")),
        (Err(expected), Ok(_)) => return Some(format!("pixels, expected `{expected}`")),
    };
    if expected == found {
        return None;
    }
    let (ours, theirs) = match (expected.bytes(), found.bytes()) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(error), _) | (_, Err(error)) => return Some(error.to_string()),
    };
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b);
    let bytes = ours.iter().zip(theirs).filter(|(a, b)| a != b).count();
    Some(match at {
        Some(at) => format!("{bytes} of {} bytes differ, the first at {at}", ours.len()),
        None => format!(
            "{} bytes and {} faults, expected {} and {}",
            theirs.len(),
            found.faults.len(),
            ours.len(),
            expected.faults.len()
        ),
    })
}

fn request(options: &ReadOptions) -> String {
    let level = match options.place.level {
        0 => String::new(),
        level => format!(" level {level}"),
    };
    let mask = if options.place.layer == Layer::Mask { " mask" } else { "" };
    let window = options.place.window.map_or_else(String::new, |window| format!(" window {window}"));
    let bands = options.place.bands.as_ref().map_or_else(String::new, |bands| format!(" bands {bands:?}"));
    format!(
        "page {}{level}{mask}{window}{bands} {:?} {:?}",
        options.place.page, options.layout.interleave, options.execution.on_fault
    )
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, which is at least 1.
    fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.next() % u64::from(end.max(1))).unwrap_or(0)
    }

    /// Returns a start and a length of at least 1 inside `0..len`.
    fn range(&mut self, len: u32) -> (u32, u32) {
        let start = self.below(len);
        (start, 1 + self.below(len.saturating_sub(start)))
    }
}
