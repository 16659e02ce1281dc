//! `strile uploads`: unfinished uploads in a bucket.

use crate::args::UploadsArgs;
use crate::failure::{Failure, Outcome, tell};
use crate::input::Session;
use crate::output::print;
use std::io;
use std::path::Path;
use strile::io::{Unfinished, redacted, remove_unfinished, unfinished};
use strile::tiff::printable;

pub fn run(args: &UploadsArgs, session: &Session) -> Result<Outcome, Failure> {
    let remote = args.remote.open_options([Path::new(&args.prefix)], &session.cancel)?.remote;
    let reads = &args.remote;
    let is_read = reads.sidecars.is_some() || reads.merge_gap.is_some() || reads.no_hedge;
    if is_read || reads.cache_folder.is_some() {
        let sentence =
            "`--sidecars`, `--merge-gap`, `--no-hedge` and `--cache-folder` are about reading, and uploads are not read"
                .to_owned();
        return Err(Failure::Request(sentence, Some("drop them")));
    }
    let told = |error: io::Error| match session.cancel.is_cancelled() {
        true => Failure::Strile(strile::Error::Cancelled),
        false => Failure::Io(redacted(&args.prefix), error),
    };
    let mut found = unfinished(&args.prefix, &remote, &session.cancel).map_err(told)?;
    // An upload without a time may still be active.
    found.retain(|upload| upload.age().is_some_and(|age| age >= args.older_than));
    let mut outcome = Outcome::Clean;
    for upload in &found {
        if !args.remove {
            print(&line(upload, ""))?;
        } else if !upload.own && !args.all {
            print(&line(upload, ", kept"))?;
        } else {
            match remove_unfinished(&args.prefix, upload, &remote, &session.cancel) {
                Ok(()) => print(&line(upload, ", removed"))?,
                Err(_) if session.cancel.is_cancelled() => {
                    return Err(Failure::Strile(strile::Error::Cancelled));
                }
                Err(error) => {
                    outcome = Outcome::Found;
                    tell(&format!("error: {}: cannot remove the upload: {error}", printable(&upload.key)));
                }
            }
        }
    }
    if found.is_empty() {
        session.note(&format!("{}: no unfinished uploads", redacted(&args.prefix)));
    }
    Ok(outcome)
}

fn line(upload: &Unfinished, done: &str) -> String {
    let by = if upload.own { "by strile" } else { "by another program" };
    format!("{}: begun {} {by}{done}", printable(&upload.key), printable(&upload.begun))
}
