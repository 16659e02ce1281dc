//! `strile convert … -o DIR`: many files, one progress display, failures listed at the end.

use super::convert::{count, explained, summary};
use crate::args::ConvertArgs;
use crate::failure::{Failure, Outcome, tell};
use crate::input::Session;
use crate::output::print;
use crate::progress::Bar;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use strile::convert::{
    Conversion, ManyItem, ManyOptions, ManyOutcome, ManyProgress, convert_many, plan_many,
};
use strile::io::{MemorySink, is_remote};
use strile::{Context, ConvertOptions, Input};

pub fn run(
    args: &ConvertArgs,
    folder: &Path,
    options: &ConvertOptions,
    session: &Session,
    mut context: Context,
) -> Result<Outcome, Failure> {
    if args.files.iter().any(|file| file.as_os_str() == "-") || folder.as_os_str() == "-" {
        return Err(Failure::Request(
            "`-` cannot be combined with -o DIR: files there need names".into(),
            None,
        ));
    }
    if args.files.iter().any(|file| file.to_str().is_some_and(is_remote))
        || folder.to_str().is_some_and(is_remote)
    {
        return Err(Failure::Request(
            "URLs cannot be combined with -o DIR".into(),
            Some("convert them one by one"),
        ));
    }
    let open = args.remote.open_options(args.files.iter().map(PathBuf::as_path), &session.cancel)?;
    let many = ManyOptions::new(folder)
        .overwrite(args.write.overwrite)
        .recursive(args.recursive)
        .jobs(args.jobs)
        .open(args.part.mosaic.options(open));
    let items = plan_many(&args.files, &many).map_err(plain)?;
    if args.explain {
        return explain(&items, options, &many, &context);
    }
    let bar = Bar::new(0, session.quiet);
    context.progress = bar.clone().map(|bar| bar as _);
    let display = Display { bar, session, done: AtomicU64::new(0), all: items.len() as u64 };
    display.files();
    let outcomes = convert_many(&items, options, &many, &context, &display)?;
    drop((context, display));
    if session.cancel.is_cancelled() {
        return Err(Failure::Told);
    }
    let (mut written, mut skipped, mut failed, mut faulty) = (0, 0, Vec::new(), false);
    for (item, outcome) in items.iter().zip(outcomes) {
        match outcome {
            ManyOutcome::Written(report) => {
                written += 1;
                faulty |= !report.faults.is_empty();
            }
            ManyOutcome::Skipped => skipped += 1,
            ManyOutcome::Failed(error) => failed.push((item, Failure::Strile(error))),
        }
    }
    let mut told = format!("{} written", count(written, "file"));
    if skipped > 0 {
        told.push_str(&format!(", {skipped} skipped because they exist (--overwrite replaces them)"));
    }
    session.note(&told);
    if failed.is_empty() {
        return Ok(if faulty { Outcome::Found } else { Outcome::Clean });
    }
    tell(&format!("error: {} of {} failed:", failed.len(), count(items.len() as u64, "file")));
    for (item, failure) in &failed {
        let (input, sentence) = (item.input.display().to_string(), failure.sentence());
        // Most errors name their file.
        let named = sentence.starts_with(&input);
        tell(&if named { format!("  {sentence}") } else { format!("  {input}: {sentence}") });
    }
    if written + skipped == 0 { Err(Failure::Told) } else { Ok(Outcome::Found) }
}

/// Removes the name of the file from an error, because the sentence already has it.
fn plain(error: strile::Error) -> Failure {
    match error {
        strile::Error::Request { file, problem } if file.is_empty() => Failure::Request(problem, None),
        other => other.into(),
    }
}

fn explain(
    items: &[ManyItem],
    options: &ConvertOptions,
    many: &ManyOptions,
    context: &Context,
) -> Result<Outcome, Failure> {
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        if item.skipped {
            texts.push(format!("skip    {}: {} exists", item.input.display(), item.output.display()));
            continue;
        }
        let input = Input::open_with(&item.input, &many.open)?;
        let conversion = Conversion::plan(&input, Box::new(MemorySink::new()), options, context)?;
        texts.push(format!("{}\nto      {}", explained(&conversion, context)?, item.output.display()));
    }
    print(&texts.join("\n\n")).map(|()| Outcome::Clean)
}

/// The progress display while files are converted.
struct Display<'a> {
    bar: Option<Arc<Bar>>,
    session: &'a Session,
    done: AtomicU64,
    all: u64,
}

impl Display<'_> {
    fn files(&self) {
        if let Some(bar) = &self.bar {
            bar.say(format!("{}/{} files ", self.done.load(Ordering::Relaxed), self.all));
        }
    }
}

impl ManyProgress for Display<'_> {
    fn expect(&self, blocks: u64) {
        if let Some(bar) = &self.bar {
            bar.expect_more(blocks);
        }
    }

    fn done(&self, item: &ManyItem, outcome: &ManyOutcome) {
        self.done.fetch_add(1, Ordering::Relaxed);
        let lines: Vec<String> = match outcome {
            ManyOutcome::Written(report) => {
                let warnings = report
                    .warnings
                    .iter()
                    .map(|warning| format!("warning: {}: {warning}", item.output.display()));
                let mut lines: Vec<String> = warnings.collect();
                lines.push(summary(&item.output, report, None, 0.0));
                lines
            }
            ManyOutcome::Skipped => vec![format!("note: {} exists and is skipped", item.output.display())],
            // Listed at the end.
            ManyOutcome::Failed(_) => Vec::new(),
        };
        let print = || lines.iter().for_each(|line| self.session.note(line));
        match &self.bar {
            Some(bar) => bar.around(print),
            None => print(),
        }
        if let ManyOutcome::Written(report) = outcome {
            for fault in &report.faults {
                tell(&format!("fault: {}: {fault}", item.input.display()));
            }
        }
        self.files();
    }
}
