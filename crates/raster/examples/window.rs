//! Reads a window of a file and prints what is in it.
//!
//! `cargo run -p strile --example window -- dem.tif`

use strile::{Context, Dataset, ReadOptions, Window};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: window FILE")?;
    let dataset = Dataset::open(&path)?;
    let level = dataset.pages().first().and_then(|page| page.full()).ok_or("the file has no image")?;
    let image = &level.image;
    let window = Window::new(0, 0, image.width.min(256), image.height.min(256));
    let pixels = dataset.read(&ReadOptions::new().window(window), &Context::default())?;
    println!("{} bands of {} × {} {}", pixels.bands, pixels.rows, pixels.columns, pixels.data_type);
    if let Ok(heights) = pixels.samples::<f32>() {
        let highest = heights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        println!("highest value {highest}");
    }
    Ok(())
}
