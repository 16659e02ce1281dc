//! Cuts an input into pieces: along its own blocks, of a bounded size, by rows.

use crate::error::Result;
use crate::file::dataset::Dataset;
use crate::options::{Place, Processor};
use crate::read::{layout_of, rows_of_part};
use crate::window::Window;
use crate::write::{RasterSpec, WriteOptions};
use strile_engine::{Fill, Location};
use strile_tiff::BlockKind;

/// Bytes of a piece in host memory, unless a single block of the input has more. Two pieces exist at a time.
const PIECE_BYTES: u64 = 16 << 20;

/// A row of blocks up to this size is one piece, although it exceeds the limit of a piece.
const ROW_BYTES: u64 = 2 * PIECE_BYTES;

/// Bytes of a piece in the memory of a device, which decodes hundreds of blocks as fast as one.
const DEVICE_BYTES: u64 = 256 << 20;

/// Returns the bytes of a piece. `write` says where it is encoded, and how much memory it may take there.
pub(crate) fn piece_bytes(spec: &RasterSpec, write: &WriteOptions, on_host: bool) -> u64 {
    match write.encode_on {
        // Masks are read into host memory.
        Processor::Cuda(index) if !on_host && !spec.mask => {
            (write.room(Location::Cuda(index)) / 4).clamp(PIECE_BYTES, DEVICE_BYTES)
        }
        Processor::Cuda(_) | Processor::Cpu | Processor::Auto => PIECE_BYTES,
    }
}

/// The window of the input to read, and the size of its pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// The window to read.
    pub(crate) window: Window,
    /// Columns and rows of a piece: whole blocks, counted from the corner of the image.
    pub(crate) piece: (u32, u32),
}

/// Cuts into pieces of about `bytes` bytes.
pub(crate) fn cut(input: &Dataset, place: &Place, spec: &RasterSpec, bytes: u64) -> Result<Cut> {
    let target = input.target(place)?;
    let grid = &target.image.grid;
    let part = layout_of(&target.image, Fill::default()).as_ref().and_then(rows_of_part);
    let (block_width, block_height) = (grid.block_width, part.unwrap_or(grid.block_height));
    let pixel = u64::from(spec.bands) * spec.data_type.size() as u64;
    let block_row = pixel * u64::from(target.window.width) * u64::from(block_height);
    let times = |block: u64| u32::try_from((bytes / block.max(1)).max(1)).unwrap_or(u32::MAX);
    let piece = match block_row > bytes.max(ROW_BYTES) && grid.kind == BlockKind::Tile {
        true => {
            let block = pixel * u64::from(block_width) * u64::from(block_height);
            (block_width.saturating_mul(times(block)), block_height)
        }
        false => (u32::MAX, block_height.saturating_mul(times(block_row))),
    };
    Ok(Cut { window: target.window, piece })
}

impl Cut {
    /// Cuts into rows of pixels, for an input without blocks of its own.
    pub(crate) fn of_rows(window: Window, spec: &RasterSpec) -> Self {
        let row = u64::from(spec.bands) * spec.data_type.size() as u64 * u64::from(window.width);
        let rows = u32::try_from((PIECE_BYTES / row.max(1)).max(1)).unwrap_or(u32::MAX);
        Self { window, piece: (u32::MAX, rows) }
    }

    /// Returns the pieces row by row, and by columns within a row.
    pub(crate) fn windows(self) -> impl Iterator<Item = Window> {
        let (across, down) = self.piece;
        let Window { column: x, row: y, width, height } = self.window;
        spans(y, height, down).flat_map(move |(y, height)| {
            spans(x, width, across).map(move |(x, width)| Window::new(x, y, width, height))
        })
    }

    /// Returns whether cells of `cell` rows, counted from the top of the window, are complete from left to right and
    /// row by row, as required by a file that is written directly: if pieces are side by side, none reaches beyond a
    /// row of cells.
    pub(crate) fn comes_by_rows(self, cell: u32) -> bool {
        let (across, down) = self.piece;
        across >= self.window.width
            || (down > 0 && cell.is_multiple_of(down) && self.window.row.is_multiple_of(down))
    }
}

/// Cuts `len` from `start` at multiples of `step`.
fn spans(start: u32, len: u32, step: u32) -> impl Iterator<Item = (u32, u32)> {
    let end = start + len;
    let next = move |at: u32| {
        (at / step).checked_add(1).and_then(|n| n.checked_mul(step)).unwrap_or(u32::MAX).min(end)
    };
    std::iter::successors(Some(start), move |&at| Some(next(at)).filter(|&at| at < end))
        .map(move |at| (at, next(at) - at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_at_blocks_and_cover_the_window() {
        let cut = Cut { window: Window::new(5, 30, 20, 40), piece: (u32::MAX, 32) };
        let windows: Vec<_> = cut.windows().map(|w| (w.column, w.row, w.width, w.height)).collect();
        assert_eq!(windows, [(5, 30, 20, 2), (5, 32, 20, 32), (5, 64, 20, 6)]);
        let cut = Cut { piece: (16, 64), ..cut };
        let windows: Vec<_> = cut.windows().map(|w| (w.column, w.row, w.width, w.height)).collect();
        assert_eq!(windows, [(5, 30, 11, 34), (16, 30, 9, 34), (5, 64, 11, 6), (16, 64, 9, 6)]);
    }

    #[test]
    fn pieces_side_by_side_stay_in_a_row_of_cells() {
        let whole = Cut { window: Window::full(100, 100), piece: (100, 48) };
        assert!(whole.comes_by_rows(32), "rows of pixels complete cells in order, however high");
        let cut = Cut { piece: (32, 16), ..whole };
        assert!(cut.comes_by_rows(16) && cut.comes_by_rows(64));
        assert!(!cut.comes_by_rows(8) && !cut.comes_by_rows(24));
        assert!(!Cut { window: Window::new(0, 8, 100, 92), ..cut }.comes_by_rows(16));
        assert!(Cut { window: Window::new(5, 16, 100, 84), ..cut }.comes_by_rows(16));
    }
}
