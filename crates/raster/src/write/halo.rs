//! Which cells can be reduced, and out of which pixels.
//!
//! Methods that look no further than the two by two pixels below take a cell by itself. Others need some pixels
//! around it: a cell then waits for its neighbours, and stays until they need it no more.

use super::cells::{Cell, Cells, refused};
use crate::Window;
use crate::error::Result;
use std::collections::HashMap;
use std::sync::Arc;
use strile_engine::{Assembly, Context, Engine, Given, OutputSpec, Patch, Pixels, ReduceTask};
use strile_tiff::DataType;

/// Pixels to reduce and where they lie.
pub(crate) struct Below {
    /// Their level.
    pub(crate) level: usize,
    pub(crate) pixels: Pixels,
    pub(crate) mask: Option<Pixels>,
    /// Where the first of those pixels lies.
    origin: (u32, u32),
    /// What is to be reduced.
    window: Window,
    image: (u32, u32),
}

impl Below {
    /// The task, given where its pixels and its mask are in the job.
    pub(crate) fn task(&self, pixels: u32, mask: Option<u32>) -> ReduceTask {
        let Window { x, y, width, height } = self.window;
        ReduceTask {
            pixels,
            mask,
            origin: self.origin,
            image: self.image,
            target: (x / 2, y / 2),
            size: (width.div_ceil(2), height.div_ceil(2)),
        }
    }

    /// Where the result lies in the next level.
    pub(crate) fn target(&self) -> Window {
        let Window { x, y, width, height } = self.window;
        Window { x: x / 2, y: y / 2, width: width.div_ceil(2), height: height.div_ceil(2) }
    }
}

/// The cells of one level that wait for neighbours.
pub(crate) struct Waiting {
    level: usize,
    halo: u32,
    shape: (u32, u32),
    image: (u32, u32),
    kept: HashMap<(u32, u32), Kept>,
}

struct Kept {
    cell: Arc<Cell>,
    reduced: bool,
}

impl Waiting {
    pub(crate) fn new(level: usize, halo: u32, cells: &Cells) -> Self {
        Self { level, halo, shape: cells.shape(), image: cells.image(), kept: HashMap::new() }
    }

    /// Adds a cell and gives what can be reduced now.
    pub(crate) fn add(
        &mut self,
        cell: &Arc<Cell>,
        ready: &mut Vec<Below>,
        engine: &dyn Engine,
        context: &Context,
    ) -> Result<()> {
        if self.halo == 0 {
            let window = cell.window;
            ready.push(Below {
                level: self.level,
                pixels: cell.pixels.clone(),
                mask: cell.mask.clone(),
                origin: (window.x, window.y),
                window,
                image: self.image,
            });
            return Ok(());
        }
        let at = (cell.column, cell.row);
        self.kept.insert(at, Kept { cell: Arc::clone(cell), reduced: false });
        for candidate in self.around(at) {
            let waits = self.kept.get(&candidate).is_some_and(|kept| !kept.reduced);
            if waits && self.around(candidate).all(|near| self.kept.contains_key(&near)) {
                ready.push(self.with_halo(candidate, engine, context)?);
                if let Some(kept) = self.kept.get_mut(&candidate) {
                    kept.reduced = true;
                }
                self.release(candidate);
            }
        }
        Ok(())
    }

    /// The cells within one of `at`, itself included.
    fn around(&self, at: (u32, u32)) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (across, down) = self.shape;
        let near = |v: u32, end: u32| v.saturating_sub(1)..(v + 2).min(end);
        near(at.1, down).flat_map(move |row| near(at.0, across).map(move |column| (column, row)))
    }

    /// Lets go of cells that nobody around them needs any more, now that `at` has been reduced.
    fn release(&mut self, at: (u32, u32)) {
        for candidate in self.around(at) {
            // All neighbours of a reduced cell have come; one that is gone by now was reduced before.
            let own = self.kept.get(&candidate).is_some_and(|kept| kept.reduced);
            let used =
                self.around(candidate).all(|near| self.kept.get(&near).is_none_or(|kept| kept.reduced));
            if own && used {
                self.kept.remove(&candidate);
            }
        }
    }

    fn with_halo(&self, at: (u32, u32), engine: &dyn Engine, context: &Context) -> Result<Below> {
        let wrong = || refused("pixels around a block are missing".into());
        let cell = &self.kept.get(&at).ok_or_else(wrong)?.cell;
        let Window { x, y, width, height } = cell.window;
        let left = x.saturating_sub(self.halo);
        let top = y.saturating_sub(self.halo);
        // The last pixel of an odd row stands for two, and has its halo after both.
        let right = (x + width).saturating_add(width % 2 + self.halo).min(self.image.0);
        let bottom = (y + height).saturating_add(height % 2 + self.halo).min(self.image.1);
        let wide = Window { x: left, y: top, width: right - left, height: bottom - top };
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
                at: (part.x - near.window.x, part.y - near.window.y),
                to: (part.x - wide.x, part.y - wide.y),
                size: (part.width, part.height),
            };
            pixels.patches.push(patch(&near.pixels));
            if let (Some(mask), Some(source)) = (&mut mask, &near.mask) {
                mask.patches.push(patch(source));
            }
        }
        let wanted: Vec<_> = [Some(pixels), mask].into_iter().flatten().collect();
        let mut made = engine.assemble(&wanted, context)?.into_iter();
        Ok(Below {
            level: self.level,
            pixels: made.next().ok_or_else(wrong)?,
            mask: made.next(),
            origin: (wide.x, wide.y),
            window: cell.window,
            image: self.image,
        })
    }
}
