//! Writes a file as a Cloud-Optimized GeoTIFF and checks the result.
//!
//! `cargo run -p strile --example convert -- scene.tif scene_cog.tif`

use strile::cog::CogChecks;
use strile::convert::convert_into;
use strile::io::FileSink;
use strile::write::Format;
use strile::{Context, ConvertOptions, Dataset, Input, OpenOptions, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args().skip(1);
    let (from, to) = paths.next().zip(paths.next()).ok_or("usage: convert FROM TO")?;
    let context = Context::default();
    let input = Input::open(&from, &OpenOptions::default())?;
    let options = ConvertOptions::new().write(WriteOptions::new().format(Format::Cog));
    let report = convert_into(&input, Box::new(FileSink::create(to.as_ref(), false)?), &options, &context)?;
    let checked = Dataset::open(&to)?.validate_cog(&CogChecks::default(), &context)?;
    println!("{to}: {} bytes, valid COG: {}", report.file_len, checked.is_valid(true));
    Ok(())
}
