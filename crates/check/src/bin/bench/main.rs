//! Times whole reads, by stage and against the floor; on request with a trace, peers and growth. With `--write`, times
//! writes (`write`). `cargo run --release -p strile-check --bin bench -- --help` lists the options.

mod args;
mod growth;
mod measure;
mod peers;
mod svg;
mod table;
mod trace;
mod write;

use args::BenchArgs;
use clap::Parser as _;
use measure::{Bench, Link};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strile::{Location, Processor};

/// Reason why the program ends with exit code 2.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    strile::engine::share_heap_if_limited();
    match run(&BenchArgs::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether all written files hold the pixels that were read.
fn run(args: &BenchArgs) -> Result<bool, Failure> {
    let (options, to, context) = (args.read_options(), args.location(), args.context());
    let bench = Bench { options, to, repeat: args.repeat.get(), context };
    if args.explain {
        return explain(args, &bench);
    }
    keep_the_files(args)?;
    if let Some(folder) = &args.write {
        return write::run(args, folder);
    }
    let mut measured = Vec::new();
    for file in &args.files {
        measured.push((file.display().to_string(), bench.measure(file)?));
    }
    let link = link(args, measured.iter().map(|(_, found)| found.device.as_str()));
    let mut found = json!({ "results": [] });
    let results = measured.iter().map(|(file, found)| table::json(file, found, &bench, link));
    set(&mut found, "results", results.collect());
    let mut texts = vec![table::text(&measured, &bench, link)];
    if args.peers {
        let (text, json) = peers::run(args, &bench);
        texts.push(text);
        set(&mut found, "peers", json);
    }
    if args.growth {
        let curves = args.files.iter().map(|file| growth::measure(&bench, file));
        let curves = curves.collect::<Result<Vec<_>, _>>()?;
        texts.push(growth::text(&curves));
        set(&mut found, "growth", growth::json(&curves));
        if let Some(path) = &args.svg {
            write(path, &svg::draw(&curves))?;
        }
    }
    if let Some(path) = &args.trace {
        write(path, &trace::record(&bench, &args.files)?.to_string())?;
    }
    match args.json {
        true => println!("{found:#}"),
        false => println!("{}", texts.join("\n\n")),
    }
    Ok(true)
}

/// Checks that no input file is overwritten by a drawing or a trace.
fn keep_the_files(args: &BenchArgs) -> Result<(), Failure> {
    for path in [&args.svg, &args.trace].into_iter().flatten() {
        let same = |file: &PathBuf| {
            file.canonicalize().is_ok_and(|file| path.canonicalize().is_ok_and(|path| path == file))
        };
        if args.files.iter().any(same) {
            return Err(
                format!("{} is one of the files to read: it would be replaced", path.display()).into()
            );
        }
    }
    Ok(())
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Returns the bus if a GPU was used, with the given rate or else a measured one.
fn link<'a>(args: &BenchArgs, devices: impl Iterator<Item = &'a str>) -> Option<Link> {
    let index = match args.decode_on {
        Processor::Cuda(index) => Some(index),
        _ => devices.filter_map(|name| name.strip_prefix("cuda:")).find_map(|index| index.parse().ok()),
    }?;
    if let Some(rate) = args.link {
        return Some(Link { rate: rate * 1e9, measured: false });
    }
    match strile::device::link_rate(index) {
        Ok(rate) => Some(Link { rate, measured: true }),
        Err(reason) => {
            eprintln!("no floor: the bus could not be measured: {reason}");
            None
        }
    }
}

fn explain(args: &BenchArgs, bench: &Bench) -> Result<bool, Failure> {
    for file in &args.files {
        let plan = bench.plan(&strile::Dataset::open(file)?, &bench.options)?;
        println!("{}\n{plan}\n", plan.file);
    }
    Ok(true)
}

/// Returns the name of a destination for programs.
fn name(to: Location) -> &'static str {
    match to {
        Location::Host => "host",
        Location::Cuda(_) => "device",
    }
}

/// Aligns columns, the first to the left and the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
