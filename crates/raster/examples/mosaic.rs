//! Joins files to a mosaic (VRT) and reads all of it.
//!
//! `cargo run -p strile --example mosaic -- all.vrt a.tif b.tif`

use strile::vrt::{IndexOptions, VrtOptions, write_index};
use strile::{Context, ReadOptions, Vrt};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args().skip(1);
    let path = paths.next().ok_or("usage: mosaic MOSAIC.vrt FILE…")?;
    let files: Vec<String> = paths.collect();
    for warning in write_index(&path, &files, &IndexOptions::default())?.warnings {
        eprintln!("{warning}");
    }
    let mosaic = Vrt::open(&path, &VrtOptions::default())?;
    let pixels = mosaic.read(&ReadOptions::new(), &Context::default())?;
    println!("{path}: {} × {}, {} bytes", pixels.columns, pixels.rows, pixels.bytes()?.len());
    Ok(())
}
