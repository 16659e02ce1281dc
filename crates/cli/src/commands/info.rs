//! `strile info`: the facts of a file as JSON, and the same facts as text.

mod facts;
mod figures;
mod text;

use crate::args::InfoArgs;
use crate::failure::{Failure, Outcome, tell};
use crate::input::Session;
use crate::output::{plan_json, print, print_json};
use serde_json::{Value, json};
use std::path::Path;
use strile::{Context, ReadOptions};

pub fn run(args: &InfoArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut told = Vec::new();
    let mut failed = false;
    for path in &args.files {
        match facts_of(path, args, session) {
            Ok(facts) => told.push(facts),
            // One file that cannot be read hides nothing about the others.
            Err(failure) if args.files.len() > 1 => {
                tell(&format!("error: {}", failure.sentence()));
                failed = true;
            }
            Err(failure) => return Err(failure),
        }
    }
    if args.json {
        let files: Vec<&Value> = told.iter().map(|(facts, _)| facts).collect();
        print_json(&json!({ "files": files }))?;
    } else if !told.is_empty() {
        let texts: Vec<String> =
            told.iter().map(|(facts, plan)| text::describe(facts, plan.as_deref())).collect();
        print(&texts.join("\n\n"))?;
    }
    if failed { Err(Failure::Told) } else { Ok(Outcome::Clean) }
}

/// The facts of one file, and its plan in words where it was asked for.
fn facts_of(path: &Path, args: &InfoArgs, session: &Session) -> Result<(Value, Option<String>), Failure> {
    let mut context = Context { cancel: session.cancel.clone(), ..Context::default() };
    let input = session.open_input(path, &args.mosaic, &mut context)?;
    session.warn_of(input.name(), &input.warnings());
    let mut facts = facts::facts(&input, !args.json)?;
    let mut words = None;
    // A VRT is read without a plan.
    if let Some(dataset) = input.tiff().filter(|_| args.explain) {
        let plan = dataset.plan(&ReadOptions::default(), &context)?;
        words = Some(plan.to_string());
        if let Some(map) = facts.as_object_mut() {
            map.insert("plan".into(), plan_json(&plan));
        }
    }
    if let Some(measured) = figures::measured(&input, args, session, &context)?
        && let Some(map) = facts.as_object_mut()
    {
        map.insert("figures".into(), measured);
    }
    Ok((facts, words))
}
