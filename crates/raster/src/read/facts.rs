//! The blocks of one level of one file: how they are stored, and which of them a window touches.

use super::layout::layout_of;
use super::limits::{Size, check_block, check_result};
use super::part::parts;
use super::unpack::Unpacking;
use crate::error::{Error, Result};
use crate::file::dataset::{Dataset, Target};
use crate::options::{Execution, Layer, Meaning, Place};
use crate::source::Source;
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::{BlockAddress, BlockLayout, BlockTask, Fill, Placement, Span};
use strile_tiff::{Image, Planar};

/// Properties of the blocks that a request reads.
pub(crate) struct Facts<'a> {
    pub(crate) source: &'a Arc<dyn Source>,
    pub(crate) image: Arc<Image>,
    pub(crate) layout: Arc<BlockLayout>,
    pub(crate) window: Window,
    /// Bands from 1. All of them exist.
    pub(crate) bands: Vec<u16>,
    pub(crate) unpacking: Option<Unpacking>,
}

impl Facts<'_> {
    /// Returns the samples of a block that are read, in the order of the output's bands.
    pub(super) fn selection(&self) -> Vec<u16> {
        match self.image.planar {
            Planar::Chunky => self.bands.iter().map(|band| band - 1).collect(),
            Planar::Separate => vec![0],
        }
    }

    /// Returns the planes that are read: a single one if samples are interleaved.
    fn planes(&self) -> Vec<u16> {
        match self.image.planar {
            Planar::Chunky => vec![0],
            Planar::Separate => self.bands.iter().map(|band| band - 1).collect(),
        }
    }

    /// Returns the indices into the block table that the plan needs, in the order of their spans.
    pub(crate) fn runs(&self) -> Vec<Range<u64>> {
        let grid = &self.image.grid;
        let (rows, columns) = (self.window.block_rows(grid), self.window.block_columns(grid));
        let run = |plane: u16, row: u32| {
            let first = grid.index(columns.start, row, plane);
            first..first + u64::from(columns.end - columns.start)
        };
        let mut runs: Vec<Range<u64>> = Vec::new();
        for plane in self.planes() {
            for row in rows.clone() {
                let next = run(plane, row);
                match runs.last_mut() {
                    Some(last) if last.end == next.start => last.end = next.end,
                    _ => runs.push(next),
                }
            }
        }
        runs
    }

    /// Returns the bytes of a block decoded in full: more than the layout's if wavelet levels are skipped.
    pub(crate) fn stored_len(&self) -> usize {
        let decoded = self.layout.decoded_len(self.layout.height).unwrap_or(usize::MAX);
        let times = 1usize.checked_shl(2 * u32::from(self.layout.extras.reduce)).unwrap_or(usize::MAX);
        decoded.saturating_mul(times)
    }

    /// Passes the blocks of the window to `give`. `spans` are those of `runs`.
    pub(super) fn tasks(&self, level: usize, spans: &[Option<Span>], mut give: impl FnMut(BlockTask)) {
        let grid = &self.image.grid;
        let level = u32::try_from(level).unwrap_or(u32::MAX);
        let mut spans = spans.iter().copied();
        for (at, plane) in (0u32..).zip(self.planes()) {
            for row in self.window.block_rows(grid) {
                for column in self.window.block_columns(grid) {
                    let span = spans.next().flatten();
                    let Some(placement) = placement_of(self, column, row, at) else { continue };
                    let address = BlockAddress { level, row, column, plane: u32::from(plane) };
                    let task =
                        BlockTask { source: 0, layout: 0, selection: 0, output: 0, span, address, placement };
                    parts(task, &self.layout, &mut give);
                }
            }
        }
    }
}

impl Dataset {
    /// Returns the properties that a read of decoded pixels is planned from.
    pub(crate) fn facts(&self, place: &Place, meaning: &Meaning, execution: &Execution) -> Result<Facts<'_>> {
        let Target { file, image, window, bands } = self.target(place)?;
        let unsupported = |reason: String| Error::Unsupported { file: self.name().to_owned(), reason };
        let fill = match place.layer {
            Layer::Pixels => self.fill(&image),
            Layer::Mask => Fill::default(),
        };
        let mut layout =
            layout_of(&image, fill).ok_or_else(|| unsupported(format!("{} samples", image.sample)))?;
        layout.extras.reduce = place.reduce;
        let too_large = || {
            let (w, h) = (layout.width, layout.height);
            unsupported(format!("blocks of {w} × {h} pixels are larger than memory can address"))
        };
        layout.decoded_len(layout.height).ok_or_else(too_large)?;
        layout.samples_len(layout.height).ok_or_else(too_large)?;
        let layout = Arc::new(layout);
        let unpacking = self.unpacking(&image, &bands, place, meaning)?;
        let facts = Facts { source: &file.source, image, layout, window, bands, unpacking };
        check_block(self.name(), &facts, self.stored_len(), execution)?;
        Ok(facts)
    }

    /// Fails if the result is too large; see `limits`.
    pub(crate) fn check_result(&self, size: Size, execution: &Execution) -> Result<()> {
        check_result((self.name(), "the file"), size, execution.max_pixels, || self.stored_len())
    }
}

fn placement_of(facts: &Facts<'_>, column: u32, row: u32, first_band: u32) -> Option<Placement> {
    let (grid, image) = (&facts.image.grid, &facts.image);
    let (left, top) = (column * grid.block_width, row * grid.block_height);
    let block = Window::new(
        left,
        top,
        grid.block_width.min(image.width - left),
        grid.block_height.min(image.height - top),
    );
    let part = block.intersection(&facts.window)?;
    Some(Placement {
        rows: grid.rows_of(row, image.height),
        image_rows: block.height,
        block_x: part.column - left,
        block_y: part.row - top,
        width: part.width,
        height: part.height,
        out_x: part.column - facts.window.column,
        out_y: part.row - facts.window.row,
        first_band,
    })
}
