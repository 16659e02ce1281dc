//! `strile overview`: reduced images for a file that is there.

use crate::args::OverviewArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use strile::{OverviewOptions, add_overviews};

pub fn run(args: &OverviewArgs, session: &Session) -> Result<Outcome, Failure> {
    let context = session.context(&args.engine);
    let options = OverviewOptions {
        count: args.count.map(Into::into),
        resampling: args.resampling,
        compression: args.compress,
        external: args.external,
        overwrite: args.overwrite,
        max_pixels: args.engine.max_pixels,
    };
    let report = add_overviews(&args.file, &options, &context)?;
    for warning in &report.warnings {
        session.note(&format!("warning: {}: {warning}", args.file.display()));
    }
    let (overviews, size) = (report.levels.saturating_sub(1), strile::bytes::human(report.file_len));
    session.note(&format!(
        "{}: {overviews} overviews in {} blocks, {size}",
        args.file.display(),
        report.blocks
    ));
    Ok(Outcome::Clean)
}
