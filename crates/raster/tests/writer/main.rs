//! Writing: the same bytes whichever way the pixels come, and the same pixels when they are read again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and its numbers are small"
)]

mod converted;
mod halvings;
mod identity;
mod in_place;
mod order;
mod parts;
mod promises;
mod refusals;
mod round_trip;

use std::sync::Arc;
use strile::io::{MemorySink, MemorySource};
use strile::read::Interleave;
use strile::write::Piece;
use strile::{Context, Dataset, OpenOptions, RasterSpec, Result, Window, WriteOptions, Writer};
use testkit::Pixels;

/// How a raster is cut into pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    /// Given once.
    Eager,
    /// Rows of this many pixels, all columns.
    Rows(u32),
    /// Rectangles of this size, by rows.
    Pieces(u32, u32),
    /// Rectangles of this size, the last first.
    Backwards(u32, u32),
}

impl Cut {
    pub(crate) fn windows(self, width: u32, height: u32) -> Vec<Window> {
        let (across, down) = match self {
            Self::Eager => (width, height),
            Self::Rows(rows) => (width, rows),
            Self::Pieces(across, down) | Self::Backwards(across, down) => (across, down),
        };
        let mut windows = Vec::new();
        for y in (0..height).step_by(down as usize) {
            for x in (0..width).step_by(across as usize) {
                windows.push(Window::new(x, y, across.min(width - x), down.min(height - y)));
            }
        }
        if matches!(self, Self::Backwards(..)) {
            windows.reverse();
        }
        windows
    }
}

/// The bytes of a window of a raster, bands first or last.
pub(crate) fn cut_out(pixels: &Pixels, window: Window, interleave: Interleave) -> Vec<u8> {
    let rows = (window.row as usize, window.height as usize);
    let columns = (window.column as usize, window.width as usize);
    let part = pixels.crop(rows, columns);
    match interleave {
        Interleave::BandFirst => part.bytes,
        Interleave::BandLast => {
            let mut bytes = Vec::with_capacity(part.bytes.len());
            for y in 0..part.height {
                for x in 0..part.width {
                    (0..part.bands).for_each(|band| bytes.extend_from_slice(part.sample(band, y, x)));
                }
            }
            bytes
        }
    }
}

pub(crate) fn spec_of(pixels: &Pixels) -> RasterSpec {
    RasterSpec::new(pixels.width as u32, pixels.height as u32, pixels.bands as u16, pixels.data_type)
}

/// Writes a raster (and a mask, a byte a pixel) into memory.
pub(crate) fn write_to_memory(
    pixels: &Pixels,
    mask: Option<&[u8]>,
    spec: RasterSpec,
    options: &WriteOptions,
    cut: Cut,
    interleave: Interleave,
    context: &Context,
) -> Result<Vec<u8>> {
    let sink = MemorySink::new();
    let handle = sink.handle();
    let (width, bands, data_type) = (spec.width as usize, spec.bands, spec.data_type);
    let windows = cut.windows(spec.width, spec.height);
    let mut writer = Writer::create(Box::new(sink), spec, options, context)?;
    for window in windows {
        let bytes = cut_out(pixels, window, interleave);
        let before = bytes.clone();
        let mask: Option<Vec<u8>> = mask.map(|mask| {
            let row = |y: u32| {
                let start = (window.row + y) as usize * width + window.column as usize;
                mask[start..start + window.width as usize].to_vec()
            };
            (0..window.height).flat_map(row).collect()
        });
        let piece = Piece::contiguous(window, bands, data_type, interleave, &bytes).unwrap();
        match &mask {
            Some(mask) => writer.write(&piece.with_mask(mask))?,
            None => writer.write(&piece)?,
        }
        assert_eq!(bytes, before, "the caller's pixels are never changed");
    }
    assert!(handle.take().is_none(), "nothing is there before the end");
    writer.finish()?;
    Ok(handle.take().unwrap().bytes)
}

pub(crate) fn open(bytes: Vec<u8>) -> Dataset {
    let dataset =
        Dataset::from_source(Arc::new(MemorySource::new("written", bytes)), &OpenOptions::default()).unwrap();
    assert!(dataset.warnings().is_empty(), "{:?}", dataset.warnings());
    dataset
}
