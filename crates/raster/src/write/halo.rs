//! Decides which cells can be reduced, and from which pixels.
//!
//! Methods that only use the two by two pixels below take a cell on its own. Others need some pixels around it: a cell
//! then waits for its neighbours, and stays until they no longer need it.

use super::cells::{Cell, Cells, refused};
use crate::Window;
use crate::error::Result;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use strile_engine::{Assembly, Context, Engine, Given, OutputSpec, Patch, ReduceTask, SharedPixels};
use strile_tiff::DataType;

/// Pixels to reduce, and their position.
pub(crate) struct Below {
    /// Their level.
    pub(crate) level: usize,
    pub(crate) pixels: SharedPixels,
    pub(crate) mask: Option<SharedPixels>,
    /// Position of the result in the next level.
    pub(crate) target: Window,
    /// Position of the first of those pixels.
    origin: (u32, u32),
    image: (u32, u32),
}

impl Below {
    /// Returns the task, for the positions of its pixels and its mask in the job.
    pub(crate) fn task(&self, pixels: u32, mask: Option<u32>) -> ReduceTask {
        let Window { column: x, row: y, width, height } = self.target;
        let (origin, image) = (self.origin, self.image);
        ReduceTask { pixels, mask, origin, image, target: (x, y), size: (width, height) }
    }
}

/// The cells of one level that wait for neighbours.
pub(crate) struct Waiting {
    level: usize,
    halo: u32,
    places: (Range<u32>, Range<u32>),
    image: (u32, u32),
    /// The requested pixels of the next level.
    next: Window,
    kept: HashMap<(u32, u32), Kept>,
}

struct Kept {
    cell: Arc<Cell>,
    reduced: bool,
}

impl Waiting {
    /// Creates the list. `image` is the size of the level. The requested pixels of the `next` level lie, with their
    /// halo, in the extent of the cells.
    pub(crate) fn new(image: (u32, u32), halo: u32, cells: &Cells, next: Window) -> Self {
        Self { level: cells.level(), halo, places: cells.places(), image, next, kept: HashMap::new() }
    }

    /// Releases all cells.
    pub(crate) fn let_go(&mut self) {
        self.kept.clear();
    }

    /// Returns the pixels of a cell in the next level, if some of them are requested.
    fn target(&self, cell: &Cell) -> Option<Window> {
        halved(&cell.window).intersection(&self.next)
    }

    /// Adds a cell and returns the pixels that can be reduced now.
    pub(crate) fn add(
        &mut self,
        cell: &Arc<Cell>,
        ready: &mut Vec<Below>,
        engine: &dyn Engine,
        context: &Context,
    ) -> Result<()> {
        if self.halo == 0 {
            let below = self.target(cell).map(|target| Below {
                level: self.level,
                pixels: cell.pixels.clone(),
                mask: cell.mask.clone(),
                target,
                origin: (cell.window.column, cell.window.row),
                image: self.image,
            });
            ready.extend(below);
            return Ok(());
        }
        let at = (cell.column, cell.row);
        self.kept.insert(at, Kept { cell: Arc::clone(cell), reduced: false });
        for candidate in self.around(at) {
            let waits = self.kept.get(&candidate).is_some_and(|kept| !kept.reduced);
            if waits && self.around(candidate).all(|near| self.kept.contains_key(&near)) {
                ready.extend(self.with_halo(candidate, engine, context)?);
                if let Some(kept) = self.kept.get_mut(&candidate) {
                    kept.reduced = true;
                }
                self.release(candidate);
            }
        }
        Ok(())
    }

    /// Returns the cells at distance one of `at`, including itself.
    fn around(&self, at: (u32, u32)) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (columns, rows) = self.places.clone();
        let near = |v: u32, all: &Range<u32>| v.saturating_sub(1).max(all.start)..(v + 2).min(all.end);
        let columns = near(at.0, &columns);
        near(at.1, &rows).flat_map(move |row| columns.clone().map(move |column| (column, row)))
    }

    /// Releases cells that no neighbour needs any more, after `at` was reduced.
    fn release(&mut self, at: (u32, u32)) {
        for candidate in self.around(at) {
            // All neighbours of a reduced cell have arrived; one that is gone by now was reduced before.
            let own = self.kept.get(&candidate).is_some_and(|kept| kept.reduced);
            let used =
                self.around(candidate).all(|near| self.kept.get(&near).is_none_or(|kept| kept.reduced));
            if own && used {
                self.kept.remove(&candidate);
            }
        }
    }

    fn with_halo(&self, at: (u32, u32), engine: &dyn Engine, context: &Context) -> Result<Option<Below>> {
        let wrong = || refused("pixels around a block are missing".into());
        let cell = &self.kept.get(&at).ok_or_else(wrong)?.cell;
        let Some(target) = self.target(cell) else { return Ok(None) };
        let wide = below(&target, self.halo, self.image);
        let spec = cell.pixels.spec();
        let grown = match spec.strides.band < spec.strides.column {
            true => OutputSpec::band_last(spec.data_type, spec.bands, wide.height, wide.width),
            false => OutputSpec::band_first(spec.data_type, spec.bands, wide.height, wide.width),
        };
        let mask = OutputSpec::band_first(DataType::U8, 1, wide.height, wide.width);
        let (spec, mask_spec) =
            grown.and_then(|grown| Ok((grown, mask?))).map_err(|error| refused(error.to_string()))?;
        let mut pixels = Assembly { spec, mask: false, patches: Vec::new() };
        let mut mask =
            cell.mask.as_ref().map(|_| Assembly { spec: mask_spec, mask: true, patches: Vec::new() });
        for near in self.around(at) {
            let near = &self.kept.get(&near).ok_or_else(wrong)?.cell;
            let Some(part) = near.window.intersection(&wide) else { continue };
            let patch = |from| Patch {
                from: Given::There(from),
                at: (part.column - near.window.column, part.row - near.window.row),
                to: (part.column - wide.column, part.row - wide.row),
                size: (part.width, part.height),
            };
            pixels.patches.push(patch(&near.pixels));
            if let (Some(mask), Some(source)) = (&mut mask, &near.mask) {
                mask.patches.push(patch(source));
            }
        }
        let wanted: Vec<_> = [Some(pixels), mask].into_iter().flatten().collect();
        let mut made = engine.assemble(&wanted, context)?.into_iter();
        Ok(Some(Below {
            level: self.level,
            pixels: made.next().ok_or_else(wrong)?,
            mask: made.next(),
            target,
            origin: (wide.column, wide.row),
            image: self.image,
        }))
    }
}

/// Returns the pixels of the next level that have some of these pixels below them.
pub(crate) fn halved(window: &Window) -> Window {
    let half = |start: u32, len: u32| (start / 2, (start + len).div_ceil(2) - start / 2);
    let ((x, width), (y, height)) = (half(window.column, window.width), half(window.row, window.height));
    Window::new(x, y, width, height)
}

/// Returns the pixels that a part of the next level is computed from, in an image of this size.
pub(crate) fn below(part: &Window, halo: u32, image: (u32, u32)) -> Window {
    let doubled = |start: u32, len: u32, size: u32| {
        let first = start.saturating_mul(2).saturating_sub(halo);
        let end = start.saturating_add(len).saturating_mul(2).saturating_add(halo).min(size);
        (first, end.saturating_sub(first))
    };
    let (x, width) = doubled(part.column, part.width, image.0);
    let (y, height) = doubled(part.row, part.height, image.1);
    Window::new(x, y, width, height)
}
