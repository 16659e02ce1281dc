//! `strile bench`: whole reads timed, by stage and against the floor; a trace, peers and growth where asked for. With
//! `--write`, writes (`write`).

mod growth;
mod measure;
mod peers;
mod svg;
mod table;
mod trace;
mod write;

use crate::args::BenchArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use crate::json::print_json;
use crate::output::{plan_json, print};
use measure::{Bench, Link};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use strile::{Location, Processor};

pub fn run(args: &BenchArgs, session: &Session) -> Result<Outcome, Failure> {
    let context = session.context(&args.engine);
    let bench =
        Bench { options: args.read_options(), to: args.location(), repeat: args.repeat.get(), context };
    if args.explain {
        return explain(args, &bench);
    }
    keep_the_files(args)?;
    if let Some(folder) = &args.write {
        return write::run(args, folder, session);
    }
    let mut measured = Vec::new();
    for file in &args.files {
        measured.push((file.display().to_string(), bench.measure(file)?));
    }
    let link = link(args, measured.iter().map(|(_, found)| found.device.as_str()), session);
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
        true => print_json(&found)?,
        false => print(&texts.join("\n\n"))?,
    }
    Ok(Outcome::Clean)
}

/// No file that is read is replaced by what is drawn or traced.
fn keep_the_files(args: &BenchArgs) -> Result<(), Failure> {
    for path in [&args.svg, &args.trace].into_iter().flatten() {
        let same = |file: &PathBuf| {
            file.canonicalize().is_ok_and(|file| path.canonicalize().is_ok_and(|path| path == file))
        };
        if args.files.iter().any(same) {
            let problem = format!("{} is one of the files to read: it would be replaced", path.display());
            return Err(Failure::Request(problem, None));
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
    std::fs::write(path, text).map_err(Failure::at(path))
}

/// The bus, where a GPU was used: as fast as was said, else as was measured now.
fn link<'a>(args: &BenchArgs, devices: impl Iterator<Item = &'a str>, session: &Session) -> Option<Link> {
    let index = match args.decode.decode_on {
        Processor::Cuda(index) => Some(index),
        _ => devices.filter_map(|name| name.strip_prefix("cuda:")).find_map(|index| index.parse().ok()),
    }?;
    if let Some(rate) = args.link {
        return Some(Link { rate: rate * 1e9, measured: false });
    }
    match strile::device::link_rate(index) {
        Ok(rate) => Some(Link { rate, measured: true }),
        Err(reason) => {
            session.note(&format!("no floor: the bus could not be measured: {reason}"));
            None
        }
    }
}

fn explain(args: &BenchArgs, bench: &Bench) -> Result<Outcome, Failure> {
    let plans = args.files.iter().map(|file| bench.plan(&strile::Dataset::open(file)?, &bench.options));
    let plans = plans.collect::<Result<Vec<_>, _>>()?;
    if args.json {
        print_json(&json!({ "plans": plans.iter().map(plan_json).collect::<Vec<_>>() }))?;
    } else {
        let texts: Vec<String> = plans.iter().map(|plan| format!("{}\n{plan}", plan.file)).collect();
        print(&texts.join("\n\n"))?;
    }
    Ok(Outcome::Clean)
}

/// A destination for programs.
fn name(to: Location) -> &'static str {
    match to {
        Location::Host => "host",
        Location::Cuda(_) => "device",
    }
}
