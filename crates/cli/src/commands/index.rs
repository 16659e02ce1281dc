//! `strile index`: the headers of all GeoTIFFs below a folder.

use crate::args::IndexArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use std::io;
use std::path::{Path, PathBuf};
use strile::batch::write_header_index;
use strile::bytes::human;
use strile::{Context, OpenOptions};

pub fn run(args: &IndexArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut files = Vec::new();
    collect(&args.folder, &mut files)
        .map_err(|error| Failure::Io(args.folder.display().to_string(), error))?;
    files.sort();
    let options = OpenOptions::new().sidecars(!args.no_sidecars);
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

/// The GeoTIFFs of a folder and of those in it; links to folders are not followed.
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
