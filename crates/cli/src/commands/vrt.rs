//! `strile vrt`: writes a VRT of files.

use crate::args::VrtArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use strile::vrt::{IndexOptions, write_index};

/// Maximum size of a list of files in bytes.
const LARGEST_LIST: u64 = 64 << 20;

pub fn run(args: &VrtArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut files = args.files.clone();
    if let Some(list) = &args.input_file_list {
        files.extend(listed(list)?);
    }
    if let Some(folder) = files.iter().find(|file| file.is_dir()) {
        let folder = folder.display();
        return Err(Failure::Request(
            format!("{folder}: expected a file, got a folder"),
            Some("name the files of the folder: FOLDER/*.tif"),
        ));
    }
    let extent = args.te.as_deref().and_then(|sides| <[f64; 4]>::try_from(sides).ok());
    let resolution = args.tr.as_deref().and_then(|size| <[f64; 2]>::try_from(size).ok());
    let mut options = IndexOptions::new()
        .overwrite(args.overwrite)
        .absolute(args.absolute)
        .separate(args.separate)
        .extent(extent)
        .resolution(resolution.map(|[x, y]| (x, y)));
    options.nodata = args.nodata.map(|nodata| nodata.0);
    let written = write_index(&args.output, &files, &options)?;
    let output = args.output.display();
    for warning in &written.warnings {
        session.note(&format!("warning: {output}: {warning}"));
    }
    if let Some(folder) = written.outside.first() {
        let more = match written.outside.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} other folders"),
        };
        session.note(&format!(
            "note: {output}: sources lie outside its folder, in {}{more}; strile reads them with `--allowed-root DIR` or \
             `--allow-outside`",
            folder.display()
        ));
    }
    Ok(Outcome::Clean)
}

/// Returns the files named in a text file, one per line. It may be a pipe, because the caller names it, not a file from
/// elsewhere.
fn listed(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = Failure::at(path);
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(&fail)?;
    file.take(LARGEST_LIST + 1).read_to_string(&mut text).map_err(&fail)?;
    if text.len() as u64 > LARGEST_LIST {
        return Err(fail(std::io::Error::other(format!("expected at most {LARGEST_LIST} bytes of names"))));
    }
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(PathBuf::from).collect())
}
