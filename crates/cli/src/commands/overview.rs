//! `strile overview`: adds overviews to an existing file.

use crate::args::OverviewArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use strile::overview::{OverviewOptions, OverviewOutcome, add_overviews, remove_overviews};

pub fn run(args: &OverviewArgs, session: &Session) -> Result<Outcome, Failure> {
    let name = args.file.display();
    if args.clean {
        let note = match (remove_overviews(&args.file, args.external)?, args.external) {
            (0, _) => "no overviews to remove".to_owned(),
            (count, true) => format!("{count} overviews removed with the `.ovr` file"),
            (count, false) => format!("{count} overviews removed; their bytes stay in the file, unused"),
        };
        session.note(&format!("{name}: {note}"));
        return Ok(Outcome::Clean);
    }
    let context = session.context(&args.engine);
    let factors = [args.words.as_slice(), &args.levels].concat();
    let options = OverviewOptions::new()
        .count(args.count.map(Into::into))
        .factors((!factors.is_empty()).then_some(factors))
        .resampling(args.resampling)
        .compression(args.compress)
        .external(args.external)
        .rebuild(args.rebuild)
        .max_pixels(args.engine.max_pixels);
    let report = match add_overviews(&args.file, &options, &context).map_err(with_flags)? {
        OverviewOutcome::Written(report) => report,
        OverviewOutcome::AlreadyThere(count) => {
            let how = if args.resampling.is_some() { "; how they were resampled is not known" } else { "" };
            session.note(&format!(
                "{name}: nothing to do: its {count} overviews have the sizes asked for{how} (`--rebuild` makes them again)"
            ));
            return Ok(Outcome::Clean);
        }
        OverviewOutcome::NotNeeded => {
            session.note(&format!(
                "{name}: nothing to do: the image fits into one block (`--count` or LEVEL makes overviews of it)"
            ));
            return Ok(Outcome::Clean);
        }
    };
    for warning in &report.warnings {
        session.note(&format!("warning: {name}: {warning}"));
    }
    let (overviews, size) = (report.levels.saturating_sub(1), strile::bytes::human(report.file_len));
    let unused = match args.rebuild && !args.external {
        true => "; bytes of overviews that were replaced stay in the file, unused",
        false => "",
    };
    session.note(&format!("{name}: {overviews} overviews in {} blocks, {size}{unused}", report.blocks));
    Ok(Outcome::Clean)
}

/// Adds the flags for existing overviews to an error.
fn with_flags(error: strile::Error) -> Failure {
    let is_of_existing = |problem: &str| problem.starts_with("has ") && problem.contains("overview");
    match &error {
        strile::Error::Request { problem, .. } if is_of_existing(problem) => {
            let hint =
                "`--rebuild` replaces overviews, `--clean` removes them; with `--external` those in FILE.ovr";
            Failure::Request(error.to_string(), Some(hint))
        }
        _ => error.into(),
    }
}
