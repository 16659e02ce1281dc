//! Reads one window of each of many files into one array.
//!
//! `cargo run -p strile --example batch -- a.tif b.tif c.tif`

use strile::batch::BatchWindow;
use strile::{BatchOptions, Context, Dataset, Window, read_batch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = std::env::args().skip(1).map(Dataset::open).collect::<Result<Vec<_>, _>>()?;
    let area = Window::new(0, 0, 64, 64);
    let windows: Vec<_> = (0..files.len()).map(|file| BatchWindow::new(file, area)).collect();
    let tensor = read_batch(&files, &windows, &BatchOptions::new(), &Context::default())?;
    let spec = tensor.output.spec();
    println!("{} windows of {} × {} {} in one array", windows.len(), spec.rows, spec.columns, spec.data_type);
    Ok(())
}
