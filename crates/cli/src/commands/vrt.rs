//! `strile vrt`: an index of tiles.

use crate::args::VrtArgs;
use crate::failure::{Failure, Outcome};
use strile::{IndexOptions, write_index};

pub fn run(args: &VrtArgs) -> Result<Outcome, Failure> {
    let nodata = args.nodata.and_then(|nodata| nodata.0);
    let options = IndexOptions { nodata, overwrite: args.overwrite, ..IndexOptions::default() };
    write_index(&args.output, &args.files, &options)?;
    Ok(Outcome::Clean)
}
