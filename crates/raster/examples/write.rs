//! Writes pixels as a Cloud-Optimized GeoTIFF, a band of rows at a time: the file may be larger than memory.
//!
//! `cargo run -p strile --example write -- ramp.tif`

use strile::io::FileSink;
use strile::read::Interleave;
use strile::tiff::geo::{Crs, GeoTransform};
use strile::write::{Format, Piece};
use strile::{Compression, Context, DataType, RasterSpec, Window, WriteOptions, Writer};

const SIDE: u32 = 1024;
const ROWS: u32 = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: write FILE")?;
    let mut spec = RasterSpec::new(SIDE, SIDE, 1, DataType::F32);
    let corner = GeoTransform { a: 30.0, b: 0.0, c: 500_000.0, d: 0.0, e: -30.0, f: 5_200_000.0 };
    spec.metadata.georeference.transform = Some(corner);
    spec.metadata.georeference.crs = Crs::from_epsg(32632);
    let options = WriteOptions::new().format(Format::Cog).compression(Compression::Zstd);
    let sink = Box::new(FileSink::create(path.as_ref(), false)?);
    let mut writer = Writer::create(sink, spec, &options, &Context::default())?;
    for first in (0..SIDE).step_by(ROWS as usize) {
        let rows = (first..first + ROWS).flat_map(|row| (0..SIDE).map(move |column| (row + column) as f32));
        let pixels: Vec<u8> = rows.flat_map(f32::to_ne_bytes).collect();
        let window = Window::new(0, first, SIDE, ROWS);
        writer.write(&Piece::contiguous(window, 1, DataType::F32, Interleave::BandFirst, &pixels)?)?;
    }
    println!("{path}: {} bytes", writer.finish()?.file_len);
    Ok(())
}
