//! `strile info`: prints the facts of a file as JSON or as text.

mod facts;
mod figures;
mod text;

use crate::args::InfoArgs;
use crate::failure::{Failure, Outcome, tell, with_flags};
use crate::input::Session;
use crate::json::print_json;
use crate::output::{plan_json, print};
use facts::{Facts, Files};
use std::path::{Path, PathBuf};
use strile::file::Page;
use strile::read::ReadPlan;
use strile::{Context, Input, OpenOptions, ReadOptions};

/// Maximum number of blocks of a read that `--explain` plans, in about 60 MB. A file of a few hundred bytes can state
/// billions.
const MOST_BLOCKS: u64 = 400_000;

pub fn run(args: &InfoArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut told = Vec::new();
    let mut failed = false;
    let open = args.remote.open_all(args.files.iter().map(PathBuf::as_path), &session.cancel)?;
    for path in &args.files {
        match facts_of(path, args, &open, session) {
            Ok(facts) => told.push(facts),
            // A file that cannot be read does not stop the others.
            Err(failure) if args.files.len() > 1 => {
                tell(&format!("error: {}", failure.sentence()));
                failed = true;
            }
            Err(failure) => return Err(failure),
        }
    }
    if args.json {
        let files: Vec<&Facts> = told.iter().map(|(facts, _)| facts).collect();
        print_json(&Files(&files))?;
    } else if !told.is_empty() {
        let texts: Vec<String> =
            told.iter().map(|(facts, plan)| text::describe(&facts.short, plan.as_deref())).collect();
        print(&texts.join("\n\n"))?;
    }
    if failed { Err(Failure::Told) } else { Ok(Outcome::Clean) }
}

/// Returns the output of the command for a file without options; empty if its facts cannot be read.
#[cfg(feature = "serve")]
pub fn described(input: &Input) -> String {
    facts::facts(input).map(|facts| text::describe(&facts.short, None)).unwrap_or_default()
}

/// Returns the facts of one file, and its plan in words if requested.
fn facts_of(
    path: &Path,
    args: &InfoArgs,
    open: &OpenOptions,
    session: &Session,
) -> Result<(Facts, Option<String>), Failure> {
    let mut context = Context { cancel: session.cancel.clone(), ..Context::default() };
    let input = session.open_input(path, &args.mosaic, open.clone(), &mut context)?;
    let mut facts = facts::facts(&input)?;
    let mut words = None;
    if args.explain {
        let plan = plan(&input, &context)?;
        words = Some(with_flags(&plan.to_string()));
        if let Some(map) = facts.short.as_object_mut() {
            map.insert("plan".into(), plan_json(&plan));
        }
    }
    if let Some(measured) = figures::measured(&input, args, session, &context)?
        && let Some(map) = facts.short.as_object_mut()
    {
        map.insert("figures".into(), measured);
    }
    Ok((facts, words))
}

/// Returns the plan of a read of the whole image, if it is not too long. That of a mosaic is bounded by the memory
/// budget.
fn plan(input: &Input, context: &Context) -> Result<ReadPlan, Failure> {
    let full = input.tiff().and_then(|dataset| dataset.pages().first()).and_then(Page::full);
    let blocks = full.map_or(0, |full| full.image.grid.blocks());
    if blocks > MOST_BLOCKS {
        return Err(Failure::Request(
            format!(
                "{}: cannot explain a read of {blocks} blocks, at most {MOST_BLOCKS} are planned",
                input.name()
            ),
            Some("`strile dump --explain --window X,Y,WIDTH,HEIGHT` explains the read of a part"),
        ));
    }
    Ok(input.plan(&ReadOptions::default(), context)?)
}
