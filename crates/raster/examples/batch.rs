//! Reads one window of each of many files into one array.
//!
//! `cargo run -p strile --example batch -- a.tif b.tif c.tif`

use strile::batch::BatchWindow;
use strile::{BatchOptions, Context, Dataset, Window, read_batch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = std::env::args().skip(1).map(Dataset::open).collect::<Result<Vec<_>, _>>()?;
    let area = Window::new(0, 0, 64, 64);
    let windows: Vec<_> = (0..files.len()).map(|file| BatchWindow::new(file, area)).collect();
    let pixels = read_batch(&files, &windows, &BatchOptions::new(), &Context::default())?;
    let [windows, bands, rows, columns] = pixels.shape();
    println!("{windows} windows of {bands} × {rows} × {columns} {} in one array", pixels.data_type);
    Ok(())
}
