//! `strile index`: the headers of GeoTIFFs in folders and behind URLs.

use crate::args::IndexArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use std::io;
use std::path::{Path, PathBuf};
use strile::Context;
use strile::batch::write_header_index;
use strile::bytes::human;
use strile::io::is_remote;

pub fn run(args: &IndexArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut files = Vec::new();
    for given in &args.files {
        if given.to_str().is_some_and(is_remote) || given.is_file() {
            files.push(given.clone());
            continue;
        }
        let mut found = Vec::new();
        collect(given, &mut found).map_err(Failure::at(given))?;
        found.sort();
        files.append(&mut found);
    }
    let options = args.remote.open_options(args.files.iter().map(PathBuf::as_path), &session.cancel)?;
    let options = options.sidecars(!args.no_sidecars);
    let context = Context { cancel: session.cancel.clone(), ..Context::default() };
    let report = write_header_index(&args.output, &files, &options, &context)?;
    for (_, error) in &report.skipped {
        session.note(&format!("left out: {error}"));
    }
    session.note(&format!(
        "{}: headers of {} files, {}",
        args.output.display(),
        report.files,
        human(report.bytes)
    ));
    Ok(if report.skipped.is_empty() { Outcome::Clean } else { Outcome::Found })
}

/// Collects the GeoTIFFs of a folder and its subfolders. Links to folders are not followed.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("tif") || e.eq_ignore_ascii_case("tiff"))
            && path.is_file()
        {
            files.push(path);
        }
    }
    Ok(())
}
