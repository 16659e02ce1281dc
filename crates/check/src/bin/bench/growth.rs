//! Growth of a read's time with its blocks: windows of 1, 4, 16, … blocks, then of 1, 10 and 100 % of the image.
//!
//! The file is open; a time is the best of several reads of one window.

use super::measure::{Bench, float};
use crate::Failure;
use crate::aligned;
use serde_json::{Value, json};
use std::path::Path;
use strile::tiff::Image;
use strile::{Dataset, Window};

/// One window.
pub struct Point {
    /// Blocks that it touches.
    pub blocks: usize,
    /// Bytes of its pixels.
    pub bytes: u64,
    /// Best time of all reads.
    pub seconds: f64,
}

/// One file.
pub struct Curve {
    pub file: String,
    pub device: String,
    /// Windows from the image's corner, whole blocks, each four times as many as the previous one.
    pub blocks: Vec<Point>,
    /// Windows in the middle of the image, by percent of its pixels.
    pub parts: Vec<(u32, Point)>,
}

pub fn measure(bench: &Bench, file: &Path) -> Result<Curve, Failure> {
    let dataset = Dataset::open(file)?;
    let image = dataset.pages().first().and_then(|page| page.full()).map(|level| level.image.clone());
    let image = image.ok_or_else(|| format!("{}: no image", file.display()))?;
    let device = bench.plan(&dataset, &bench.options)?.engine;
    let mut curve = Curve { file: file.display().to_string(), device, blocks: Vec::new(), parts: Vec::new() };
    for window in blocks(&image) {
        curve.blocks.push(point(bench, &dataset, window)?);
    }
    for percent in [1, 10, 100] {
        curve.parts.push((percent, point(bench, &dataset, part(&image, percent))?));
    }
    Ok(curve)
}

fn point(bench: &Bench, dataset: &Dataset, window: Window) -> Result<Point, Failure> {
    let options = bench.options.clone().window(window);
    let plan = bench.plan(dataset, &options)?;
    // One read that is not counted: memory of this size is allocated afterwards.
    let mut seconds = f64::INFINITY;
    bench.pixels(dataset, &options, &bench.context)?;
    for _ in 0..bench.repeat {
        seconds = seconds.min(bench.pixels(dataset, &options, &bench.context)?.0.as_secs_f64());
    }
    Ok(Point { blocks: plan.figures().blocks, bytes: plan.memory.output, seconds })
}

/// Returns windows of whole blocks at the image's corner: 1, 4, 16, … as square as the grid allows, then all.
fn blocks(image: &Image) -> Vec<Window> {
    let grid = &image.grid;
    let mut windows: Vec<Window> = Vec::new();
    let mut wanted = 1u64;
    loop {
        let side = u32::try_from(wanted.isqrt()).unwrap_or(u32::MAX);
        let across = side.min(grid.across);
        let down =
            u32::try_from(wanted.div_ceil(u64::from(across.max(1)))).unwrap_or(u32::MAX).min(grid.down);
        let window = Window::new(
            0,
            0,
            across.saturating_mul(grid.block_width).min(image.width),
            down.saturating_mul(grid.block_height).min(image.height),
        );
        if windows.last() != Some(&window) {
            windows.push(window);
        }
        if (across, down) == (grid.across, grid.down) {
            return windows;
        }
        wanted = wanted.saturating_mul(4);
    }
}

/// Returns `percent` percent of the image, around its middle.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the image's size")]
fn part(image: &Image, percent: u32) -> Window {
    let share = (f64::from(percent) / 100.0).sqrt();
    let side = |all: u32| ((f64::from(all) * share).round() as u32).clamp(1, all.max(1));
    let (width, height) = (side(image.width), side(image.height));
    Window::new((image.width - width) / 2, (image.height - height) / 2, width, height)
}

pub fn text(curves: &[Curve]) -> String {
    let head = ["file", "window", "device", "blocks", "decoded", "ms", "GB/s", "µs a block"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut row = |curve: &Curve, window: String, point: &Point| {
        rows.push(vec![
            curve.file.clone(),
            window,
            curve.device.clone(),
            point.blocks.to_string(),
            strile::bytes::human(point.bytes),
            format!("{:.3}", point.seconds * 1e3),
            format!("{:.2}", float(point.bytes) / 1e9 / point.seconds.max(1e-9)),
            format!("{:.2}", point.seconds * 1e6 / float(point.blocks.max(1) as u64)),
        ]);
    };
    for curve in curves {
        curve.blocks.iter().for_each(|point| row(curve, "corner".to_owned(), point));
        curve.parts.iter().for_each(|(percent, point)| row(curve, format!("{percent} %"), point));
    }
    aligned(&rows)
}

pub fn json(curves: &[Curve]) -> Value {
    let point =
        |point: &Point| json!({ "blocks": point.blocks, "bytes": point.bytes, "seconds": point.seconds });
    let parts = |curve: &Curve| {
        let parts = curve.parts.iter().map(|(percent, part)| {
            let mut part = point(part);
            super::set(&mut part, "percent", (*percent).into());
            part
        });
        parts.collect::<Vec<Value>>()
    };
    let curves = curves.iter().map(|curve| {
        json!({
            "file": curve.file,
            "device": curve.device,
            "blocks": curve.blocks.iter().map(point).collect::<Vec<_>>(),
            "windows": parts(curve),
        })
    });
    curves.collect()
}
