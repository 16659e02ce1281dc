//! Pixels of a level on their way: pieces of any shape in, whole cells out.
//!
//! A cell is a tile, or a few strips. It is made when its first pixel comes and leaves when its last has come, so
//! memory holds the cells that are begun and not complete: none for pieces cut along cells, one row of them for
//! rows of pixels from top to bottom.

use super::coverage::Coverage;
use super::piece::{Rect, copy};
use super::plan::LevelPlan;
use crate::Window;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;
use strile_engine::{Budget, Lease, OutputSpec, Pixels};
use strile_tiff::{DataType, Planar};

/// Pixels of a level to be taken in.
pub(crate) struct Deposit<'a> {
    pub(crate) window: Window,
    pub(crate) spec: &'a OutputSpec,
    pub(crate) pixels: &'a [u8],
    pub(crate) mask: Option<&'a [u8]>,
}

/// A complete cell.
pub(crate) struct Cell {
    pub(crate) level: usize,
    pub(crate) column: u32,
    pub(crate) row: u32,
    pub(crate) window: Window,
    pub(crate) pixels: Pixels,
    /// 1 for valid pixels, 0 for others.
    pub(crate) mask: Option<Pixels>,
    pub(crate) bytes: u64,
    _lease: Lease,
}

/// The cells of one level.
pub(crate) struct Cells {
    level: usize,
    image: (u32, u32),
    cell: (u32, u32),
    across: u32,
    down: u32,
    planar: Planar,
    masked: bool,
    open: HashMap<(u32, u32), Open>,
    done: Vec<u64>,
    left: u64,
}

struct Open {
    spec: OutputSpec,
    pixels: Vec<u8>,
    mask: Option<Vec<u8>>,
    covered: Coverage,
    bytes: u64,
    lease: Lease,
}

impl Cells {
    pub(crate) fn new(level: usize, plan: &LevelPlan, planar: Planar) -> Self {
        let cell = (plan.grid.block_width, plan.grid.block_height.saturating_mul(plan.block_rows));
        let (across, down) = (plan.width.div_ceil(cell.0), plan.height.div_ceil(cell.1));
        let left = u64::from(across) * u64::from(down);
        let words = usize::try_from(left.div_ceil(64)).unwrap_or(usize::MAX);
        Self {
            level,
            image: (plan.width, plan.height),
            cell,
            across,
            down,
            planar,
            masked: plan.mask.is_some(),
            open: HashMap::new(),
            done: vec![0; words],
            left,
        }
    }

    /// Columns and rows of cells.
    pub(crate) fn shape(&self) -> (u32, u32) {
        (self.across, self.down)
    }

    /// Size of the level.
    pub(crate) fn image(&self) -> (u32, u32) {
        self.image
    }

    fn window(&self, column: u32, row: u32) -> Window {
        let (x, y) = (column * self.cell.0, row * self.cell.1);
        let width = self.cell.0.min(self.image.0 - x);
        Window { x, y, width, height: self.cell.1.min(self.image.1 - y) }
    }

    /// The cells that share pixels with a window, in row-major order.
    pub(crate) fn touched(&self, window: &Window) -> impl Iterator<Item = (u32, u32)> + use<> {
        let Window { x, y, width, height } = *window;
        let (across, down) = self.cell;
        let columns = x / across..=(x + width - 1) / across;
        let rows = y / down..=(y + height - 1) / down;
        rows.flat_map(move |row| columns.clone().map(move |column| (column, row)))
    }

    /// Takes in the pixels that lie in one cell, and gives the cell if it is now complete.
    pub(crate) fn fill(
        &mut self,
        (column, row): (u32, u32),
        given: &Deposit<'_>,
        budget: &Arc<Budget>,
    ) -> Result<Option<Cell>> {
        let window = self.window(column, row);
        let Some(part) = window.intersection(&given.window) else { return Ok(None) };
        let twice = || refused(format!("pixels of {part} are given twice"));
        if self.is_done(column, row) {
            return Err(twice());
        }
        let open = match self.open.entry((column, row)) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Open::new(&window, given.spec, self.planar, self.masked, budget)?)
            }
        };
        let local = Window { x: part.x - window.x, y: part.y - window.y, ..part };
        if !open.covered.add(local) {
            return Err(twice());
        }
        open.take(given, part, local).ok_or_else(|| refused(format!("the memory of {part} is too short")))?;
        if open.covered.pixels() < u64::from(window.width) * u64::from(window.height) {
            return Ok(None);
        }
        let Some(open) = self.open.remove(&(column, row)) else { return Ok(None) };
        self.set_done(column, row);
        open.close(self.level, column, row, window).map(Some)
    }

    fn bit(&self, column: u32, row: u32) -> (usize, u64) {
        let index = u64::from(row) * u64::from(self.across) + u64::from(column);
        (usize::try_from(index / 64).unwrap_or(usize::MAX), 1 << (index % 64))
    }

    fn is_done(&self, column: u32, row: u32) -> bool {
        let (word, bit) = self.bit(column, row);
        self.done.get(word).is_some_and(|word| word & bit != 0)
    }

    fn set_done(&mut self, column: u32, row: u32) {
        let (word, bit) = self.bit(column, row);
        if let Some(word) = self.done.get_mut(word) {
            *word |= bit;
        }
        self.left -= 1;
    }

    /// The window of the first cell that is not complete.
    pub(crate) fn missing(&self) -> Option<Window> {
        if self.left == 0 {
            return None;
        }
        let first = |row: u32| (0..self.across).find(|&column| !self.is_done(column, row));
        (0..self.down).find_map(|row| first(row).map(|column| self.window(column, row)))
    }
}

impl Open {
    fn new(
        window: &Window,
        given: &OutputSpec,
        planar: Planar,
        masked: bool,
        budget: &Arc<Budget>,
    ) -> Result<Self> {
        let (bands, rows, columns) = (given.bands, window.height, window.width);
        let spec = match planar {
            Planar::Chunky => OutputSpec::band_last(given.data_type, bands, rows, columns),
            Planar::Separate => OutputSpec::band_first(given.data_type, bands, rows, columns),
        };
        let spec = spec.map_err(|error| refused(error.to_string()))?;
        let len = spec.len().map_err(|error| refused(error.to_string()))?;
        let mask_len = if masked { rows as usize * columns as usize } else { 0 };
        let bytes = (len + mask_len) as u64;
        let lease = budget.take(bytes, "pixels waiting for the rest of their block")?;
        let mask = masked.then(|| vec![0; mask_len]);
        Ok(Self { spec, pixels: vec![0; len], mask, covered: Coverage::default(), bytes, lease })
    }

    /// Copies the part of `given` that lies here; `None` where its memory is too short.
    fn take(&mut self, given: &Deposit<'_>, part: Window, local: Window) -> Option<()> {
        let from = (part.x - given.window.x, part.y - given.window.y);
        let rect = Rect { from, to: (local.x, local.y), size: (part.width, part.height) };
        copy(given.pixels, given.spec, &mut self.pixels, &self.spec, rect)?;
        let Some(mask) = &mut self.mask else { return Some(()) };
        let source = given.mask?;
        let (across, own) = (given.window.width as usize, self.spec.columns as usize);
        for row in 0..part.height as usize {
            let from = (from.1 as usize + row) * across + from.0 as usize;
            let to = (local.y as usize + row) * own + local.x as usize;
            let source = source.get(from..from + part.width as usize)?;
            let target = mask.get_mut(to..to + part.width as usize)?;
            for (target, source) in target.iter_mut().zip(source) {
                *target = u8::from(*source != 0);
            }
        }
        Some(())
    }

    fn close(self, level: usize, column: u32, row: u32, window: Window) -> Result<Cell> {
        let wrong = |error: strile_engine::OutputError| refused(error.to_string());
        let mask_spec =
            OutputSpec::band_first(DataType::U8, 1, window.height, window.width).map_err(wrong)?;
        let mask = self.mask.map(|mask| Pixels::new(mask_spec, Arc::new(mask))).transpose().map_err(wrong)?;
        let pixels = Pixels::new(self.spec, Arc::new(self.pixels)).map_err(wrong)?;
        Ok(Cell { level, column, row, window, pixels, mask, bytes: self.bytes, _lease: self.lease })
    }
}

/// A request that cannot be met; the writer adds the name of the file.
pub(crate) fn refused(problem: String) -> Error {
    Error::Request { file: String::new(), problem }
}
