//! `strile cog validate`: findings as text or JSON.

use crate::args::{CogCommand, ValidateArgs};
use crate::failure::{Failure, Outcome, tell};
use crate::input::Session;
use crate::json::print_json;
use crate::output::print;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use strile::cog::{CogChecks, CogReport, Finding};
use strile::{Context, OpenOptions};

pub fn run(command: &CogCommand, session: &Session) -> Result<Outcome, Failure> {
    let CogCommand::Validate(args) = command;
    validate(args, session)
}

fn validate(args: &ValidateArgs, session: &Session) -> Result<Outcome, Failure> {
    let (mut told, mut failed, mut all_valid) = (Vec::new(), false, true);
    let open = args.remote.open_all(args.files.iter().map(PathBuf::as_path), &session.cancel)?;
    for path in &args.files {
        match report_of(path, &open, session) {
            Ok((name, report)) => {
                all_valid &= report.is_valid(args.strict);
                told.push((name, report));
            }
            // A file that cannot be checked does not stop the others.
            Err(failure) if args.files.len() > 1 && !session.cancel.is_cancelled() => {
                tell(&format!("error: {}", failure.sentence()));
                failed = true;
            }
            Err(failure) => return Err(failure),
        }
    }
    if args.json {
        let files: Vec<Value> = told.iter().map(|(name, report)| facts(name, report, args.strict)).collect();
        print_json(&json!({ "files": files }))?;
    } else if !told.is_empty() {
        let texts: Vec<String> = told.iter().map(|(name, report)| words(name, report, args.strict)).collect();
        print(&texts.join("\n"))?;
    }
    match (failed, all_valid) {
        (true, _) => Err(Failure::Told),
        (false, true) => Ok(Outcome::Clean),
        (false, false) => Ok(Outcome::Found),
    }
}

fn report_of(path: &Path, open: &OpenOptions, session: &Session) -> Result<(String, CogReport), Failure> {
    let mut context = Context { cancel: session.cancel.clone(), ..Context::default() };
    let dataset = session.open(path, open, &mut context)?;
    let report = dataset.validate_cog(&CogChecks::default(), &context)?;
    Ok((dataset.name().to_owned(), report))
}

fn words(name: &str, report: &CogReport, strict: bool) -> String {
    let verdict = if report.is_valid(strict) { "valid" } else { "not a valid" };
    let mut lines = vec![format!("{name}: {verdict} Cloud-Optimized GeoTIFF")];
    let kinds = [("error", &report.errors), ("warning", &report.warnings)];
    for (kind, finding) in kinds.iter().flat_map(|(kind, all)| all.iter().map(move |finding| (kind, finding)))
    {
        let judges = finding.found_by.names().join(", ");
        lines.push(format!("  {kind}: {finding} [{}; {judges}]", finding.code));
        lines.push(format!("    {}", finding.advice));
    }
    lines.join("\n")
}

fn facts(name: &str, report: &CogReport, strict: bool) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "code": finding.code,
            "place": finding.place,
            "message": finding.message,
            "advice": finding.advice,
            "count": finding.count,
            "found_by": finding.found_by.names(),
        })
    };
    let ghost = report.ghost.as_ref().map(|ghost| {
        ghost.items.iter().map(|(key, value)| (key.clone(), json!(value))).collect::<serde_json::Map<_, _>>()
    });
    let levels = report.levels.iter().map(|level| {
        json!({
            "size": [level.width, level.height],
            "block": [level.block_width, level.block_height],
            "directory_offset": level.directory_offset,
            "first_block": level.first_block,
        })
    });
    json!({
        "file": name,
        "valid": report.is_valid(strict),
        "errors": report.errors.iter().map(finding).collect::<Vec<_>>(),
        "warnings": report.warnings.iter().map(finding).collect::<Vec<_>>(),
        "ghost_area": ghost,
        "levels": levels.collect::<Vec<_>>(),
    })
}
