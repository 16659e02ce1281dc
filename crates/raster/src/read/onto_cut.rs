//! Cuts a read onto a grid into squares, and into parts that fit into memory.
//!
//! Each square has a coordinate map per file, computed by all threads, and the window of the file under it. A square is
//! cut further if the windows of its halves are much smaller than its own (long shapes across the file), or if it is
//! too large for memory. Maps are aligned to the grid, so the value of a pixel does not depend on the cut.

use super::chip::Chip;
use super::lay::{Lay, Patch};
use super::limits::{Size, check_result};
use super::onto::{OntoRead, processor};
use super::squares::{aligned, around, halves, map_bytes, pixels, side, squares, within_map};
use super::under::File;
use crate::error::{Error, Result};
use crate::file::input::InputRef;
use crate::grid::{CoordinateMap, Inside, MapOptions, Placed, WarpPoints};
use crate::options::Processor;
use crate::side_by_side::try_side_by_side;
use crate::window::Window;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use strile_engine::{Engine, EngineError, Lease, Location, WarpMap};

/// Squares of this size are not cut further.
const LEAST: u32 = 256;
/// Maximum number of coordinates for the map of a square: those of each pixel's corners, and the nodes before it is
/// cut.
const MOST_POINTS: u64 = 1 << 23;
/// Windows of fewer pixels are not cut because of their shape.
const SMALL_WINDOW: u64 = 1 << 18;
/// Bytes of the windows of a part in host memory, and on a device.
const PART_BYTES: u64 = 1 << 30;
const DEVICE_PART_BYTES: u64 = 4 << 30;

/// Windows are joined if that adds at most 1/8 of their pixels.
const MORE: u64 = 8;

/// Squares per thread whose maps are computed at once.
const ROUNDS: u64 = 4;
/// Purpose of the memory of maps, for messages of the budget.
const MAPS: &str = "maps of coordinates";

/// Maximum number of rectangles outside a polygon.
const MOST_BOXES: usize = 1 << 22;

/// Windows that are read together.
#[derive(Default)]
pub(super) struct Part {
    pub(super) windows: Vec<Lay>,
    bytes: u64,
    /// The memory of the maps of its windows.
    leases: Vec<Arc<Lease>>,
    /// The bytes of all maps that exist while it is read.
    pub(super) maps: u64,
}

/// A part of a square, and the windows of the files under it.
struct Leaf {
    target: Window,
    unders: Vec<Option<Window>>,
}

/// Statistics of a file after all maps were computed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) points: u64,
    pub(super) exact: u64,
    pub(super) windows: usize,
    pub(super) under: Option<Window>,
}

/// The result of cutting the grids.
pub(super) struct Cut {
    pub(super) seen: Vec<Seen>,
    /// Parts of chips under which no file lies, each with the number of its chip.
    pub(super) empty: Vec<(usize, Window)>,
}

/// A square of a chip, with the number of the chip.
#[derive(Clone, Copy)]
struct Square {
    chip: usize,
    at: Window,
}

impl<'a> OntoRead<'a> {
    /// Cuts the grids, and passes the parts in order to `each`, which returns the engine of all parts. There is at
    /// least one part.
    pub(super) fn parts(
        &self,
        to: Location,
        mut each: impl FnMut(Part, Processor) -> Result<Arc<dyn Engine>>,
    ) -> Result<Cut> {
        let of_budget = self.context.budget.limit() / 4;
        let limit = match (to, self.options.execution.decode_on) {
            (Location::Host, Processor::Auto | Processor::Cpu) => PART_BYTES.min(of_budget),
            _ => self.options.execution.device_memory.map_or(DEVICE_PART_BYTES, |most| most / 4),
        };
        let has_mosaics = self.files.iter().any(|file| matches!(file.of, InputRef::Vrt(_)));
        // Pixels blended on a device are read by that device, in every part.
        let mut decode_on = match (to, self.options.execution.decode_on) {
            (Location::Cuda(index), Processor::Auto) if has_mosaics => Processor::Cuda(index),
            (_, asked) => asked,
        };
        let mut cut = Cut { seen: vec![Seen::default(); self.files.len()], empty: Vec::new() };
        let (mut part, any) = (Part::default(), Cell::new(false));
        let mut give = |part: &mut Part, seen: &mut [Seen], now: Option<&Arc<Lease>>| -> Result<()> {
            let mut part = std::mem::take(part);
            let now = now.filter(|now| part.leases.last().is_none_or(|last| !Arc::ptr_eq(last, now)));
            part.maps = part.leases.iter().chain(now).map(|lease| lease.bytes()).fold(0, u64::saturating_add);
            part.windows = joined(part.windows);
            for lay in &part.windows {
                if let Some(seen) = seen.get_mut(lay.file) {
                    seen.windows += 1;
                }
            }
            let engine = each(part, decode_on)?;
            decode_on = processor(engine.as_ref());
            any.set(true);
            Ok(())
        };
        let threads = self.context.threads.get();
        // Maps being computed take at most an eighth of memory, including those of a part.
        let room = self.context.budget.limit() / 8;
        let side = side(threads, room);
        let at_once = (room / map_bytes(side)).clamp(1, ROUNDS * threads as u64);
        let of_chip =
            |(chip, of): (usize, &Chip)| squares(of.window, side).map(move |at| Square { chip, at });
        let mut all = self.chips.iter().enumerate().flat_map(of_chip);
        let mut sought = vec![0u64; self.files.len()];
        loop {
            let squares = some(&mut all, at_once.saturating_mul(u64::from(side) * u64::from(side)));
            if squares.is_empty() {
                break;
            }
            if self.context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let made = self.maps(&squares)?;
            let held = made.iter().flatten().fold(0, |sum: u64, map| sum.saturating_add(map.bytes() as u64));
            let lease = Arc::new(self.context.take(held, MAPS)?);
            for (square, maps) in squares.iter().zip(made) {
                let chip = self.chips.get(square.chip).ok_or(EngineError::Abandoned)?;
                let first = chip.files.start;
                for (seen, map) in cut.seen.iter_mut().skip(first).zip(&maps) {
                    seen.points = seen.points.saturating_add(map.points());
                    seen.exact = seen.exact.saturating_add(map.exact_pixels() as u64);
                }
                let files = self.files.get(chip.files.clone()).unwrap_or_default();
                let inside = self.inside(chip, square.at)?;
                if let Some(inside) = &inside {
                    let shift = |at: Window| {
                        let (column, row) = (at.column - chip.window.column, at.row - chip.window.row);
                        (square.chip, Window { column, row, ..at })
                    };
                    cut.empty.extend(inside.outside().into_iter().map(shift));
                    self.check_boxes(cut.empty.len())?;
                }
                let mut leaves = Vec::new();
                self.cut((square.at, square.at), (files, &maps, inside.as_ref()), limit, &mut leaves);
                for Leaf { target, unders } in leaves {
                    let bytes = bytes(files, &unders);
                    self.check_sought(files, &unders, sought.get_mut(first..).unwrap_or_default())?;
                    if part.bytes > 0 && part.bytes.saturating_add(bytes) > limit {
                        give(&mut part, &mut cut.seen, Some(&lease))?;
                    }
                    let before = part.windows.len();
                    if part.leases.last().is_none_or(|last| !Arc::ptr_eq(last, &lease)) {
                        part.leases.push(Arc::clone(&lease));
                    }
                    let at = (target.column - chip.window.column, target.row - chip.window.row);
                    for (depth, (map, under)) in maps.iter().zip(unders).enumerate() {
                        let Some(under) = under else { continue };
                        if let Some(seen) = cut.seen.get_mut(first + depth) {
                            seen.under = Some(seen.under.map_or(under, |old| around(old, under)));
                        }
                        part.windows.push(Lay {
                            chip: square.chip,
                            file: first + depth,
                            depth,
                            under,
                            scale: map.scale(),
                            patches: vec![Patch {
                                map: Arc::clone(map.map()),
                                target: within_map(target, square.at),
                                at,
                                keep: part.windows.len() > before,
                            }],
                        });
                    }
                    if part.windows.len() == before {
                        cut.empty.push((square.chip, Window { column: at.0, row: at.1, ..target }));
                    }
                    part.bytes = part.bytes.saturating_add(bytes);
                }
                let of_maps = maps.iter().fold(0, |sum: u64, map| sum.saturating_add(map.bytes() as u64));
                part.bytes = part.bytes.saturating_add(if part.windows.is_empty() { 0 } else { of_maps });
            }
        }
        if !part.windows.is_empty() || !any.get() {
            give(&mut part, &mut cut.seen, None)?;
        }
        Ok(cut)
    }

    /// Returns the pixels of a square inside the polygon.
    fn inside(&self, chip: &Chip, square: Window) -> Result<Option<Inside>> {
        let Some(outline) = &chip.outline else { return Ok(None) };
        let inside = outline.inside(square, &self.context.cancel);
        inside.map(Some).map_err(|problem| match self.context.cancel.is_cancelled() {
            true => Error::Cancelled,
            false => self.refuse(problem.to_string()),
        })
    }

    /// Fails for a polygon that cuts the result into too many rectangles.
    fn check_boxes(&self, count: usize) -> Result<()> {
        match count <= MOST_BOXES {
            true => Ok(()),
            false => Err(self.refuse(format!(
                "the polygon cuts the result into more than {MOST_BOXES} rectangles; simplify it, or read windows of the grid"
            ))),
        }
    }

    /// Fails if implausibly much of a file would be decoded for a result that may be small.
    fn check_sought(&self, files: &[File<'_>], unders: &[Option<Window>], sought: &mut [u64]) -> Result<()> {
        for ((file, under), sought) in files.iter().zip(unders).zip(sought) {
            let Some(under) = under else { continue };
            *sought = sought.saturating_add(pixels(under).saturating_mul(file.bytes));
            let size = Size { samples: 0, bytes: *sought };
            check_result((file.of.name(), "the file"), size, self.options.execution.max_pixels, || {
                file.of.stored_len()
            })?;
        }
        Ok(())
    }

    /// Returns the windows of the files under a part of a square.
    fn unders(&self, (target, square): (Window, Window), maps: &[CoordinateMap]) -> Vec<Option<Window>> {
        let sampling = self.onto.warp.resampling;
        maps.iter().map(|map| map.source_window(within_map(target, square), sampling)).collect()
    }

    /// Cuts a part of a square until its windows fit and none is much larger than those of its halves.
    fn cut(
        &self,
        (target, square): (Window, Window),
        (files, maps, inside): (&[File<'_>], &[CoordinateMap], Option<&Inside>),
        limit: u64,
        leaves: &mut Vec<Leaf>,
    ) {
        let target = match inside {
            None => target,
            Some(inside) => match inside.bounds(target) {
                Some(part) => part,
                None => return,
            },
        };
        let unders = self.unders((target, square), maps);
        let own = bytes(files, &unders);
        let long = unders.iter().flatten().any(|under| pixels(under) > SMALL_WINDOW);
        let least = if own > limit { WarpMap::LARGE } else { LEAST };
        let halves = if own > limit || long || inside.is_some() { halves(target, least) } else { None };
        if let Some(halves) = halves {
            let sum = halves
                .iter()
                .map(|half| bytes(files, &self.unders((*half, square), maps)))
                .fold(0, u64::saturating_add);
            if own > limit || sum < own / 4 * 3 || inside.is_some() {
                for half in halves {
                    self.cut((half, square), (files, maps, inside), limit, leaves);
                }
                return;
            }
        }
        leaves.push(Leaf { target, unders });
    }

    /// Computes the maps of the files of some squares, with all threads.
    fn maps(&self, squares: &[Square]) -> Result<Vec<Vec<CoordinateMap>>> {
        let warp = &self.onto.warp;
        let options = MapOptions::default()
            .tolerance(warp.tolerance)
            .most_points(MOST_POINTS)
            .points(WarpPoints::of(warp.resampling))
            .cancel(self.context.cancel.clone());
        let of_square = |square: &Square| {
            let chip = self.chips.get(square.chip);
            let files = chip.and_then(|chip| self.files.get(chip.files.clone())).unwrap_or_default();
            let (grid, at) = (chip.map(|chip| &chip.grid), square.at);
            files.iter().filter_map(move |file| Some((grid?, at, file)))
        };
        let all: Vec<_> = squares.iter().flat_map(of_square).collect();
        let make = |at: usize| -> Result<CoordinateMap> {
            let (target, square, file) = all.get(at).ok_or(EngineError::Abandoned)?;
            let Placed { grid, route, scale, .. } = &file.placed;
            let map = CoordinateMap::of_window((*target, aligned(*square)), grid, (route, *scale), &options);
            map.map_err(|problem| match self.context.cancel.is_cancelled() {
                true => Error::Cancelled,
                false => file.of.refuse(problem.to_string()),
            })
        };
        let mut made = try_side_by_side(all.len(), self.context.threads.get(), make)?.into_iter();
        let count = |square: &Square| self.chips.get(square.chip).map_or(0, |chip| chip.files.len());
        Ok(squares.iter().map(|square| made.by_ref().take(count(square)).collect()).collect())
    }
}

/// Returns the next squares, of about `room` pixels.
fn some(all: &mut impl Iterator<Item = Square>, room: u64) -> Vec<Square> {
    let (mut squares, mut taken) = (Vec::new(), 0u64);
    while taken < room
        && let Some(square) = all.next()
    {
        taken = taken.saturating_add(pixels(&square.at));
        squares.push(square);
    }
    squares
}

/// Joins windows of one file onto one chip if that reads hardly more: those of neighbouring squares overlap, so each
/// block lies in fewer windows, and takes less memory.
fn joined(windows: Vec<Lay>) -> Vec<Lay> {
    let mut lists: BTreeMap<(usize, usize), Vec<Lay>> = BTreeMap::new();
    for lay in windows {
        lists.entry((lay.chip, lay.file)).or_default().push(lay);
    }
    let mut all = Vec::new();
    for mut list in lists.into_values() {
        let whole = list.iter().map(|lay| lay.under).reduce(around);
        let sum = list.iter().fold(0, |sum: u64, lay| sum.saturating_add(pixels(&lay.under)));
        match whole.filter(|whole| pixels(whole) <= sum.saturating_add(sum / MORE)) {
            None => all.append(&mut list),
            Some(under) => {
                let mut lays = list.into_iter();
                if let Some(mut first) = lays.next() {
                    first.under = under;
                    first.patches.extend(lays.flat_map(|lay| lay.patches));
                    all.push(first);
                }
            }
        }
    }
    all
}

/// Returns the decoded bytes of windows of files.
fn bytes(files: &[File<'_>], unders: &[Option<Window>]) -> u64 {
    let one = |(file, under): (&File<'_>, &Option<Window>)| {
        under.map_or(0, |under| pixels(&under).saturating_mul(file.bytes))
    };
    files.iter().zip(unders).map(one).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_windows_of_a_file_become_one() {
        let lay = |chip, file, column, row, width, height| Lay {
            chip,
            file,
            depth: file,
            under: Window { column, row, width, height },
            scale: (1.0, 1.0),
            patches: Vec::new(),
        };
        let squares =
            || vec![lay(0, 0, 0, 0, 110, 100), lay(0, 0, 100, 0, 100, 100), lay(0, 0, 0, 98, 200, 50)];
        let told = |windows: Vec<Lay>| -> Vec<_> {
            joined(windows).into_iter().map(|lay| (lay.chip, lay.file, lay.under)).collect()
        };
        assert_eq!(told(squares()), [(0, 0, Window::new(0, 0, 200, 148))]);
        // Of another file, of another chip, and far apart on both sides of the Earth.
        let more = vec![
            lay(0, 1, 0, 0, 9, 9),
            lay(1, 0, 0, 0, 9, 9),
            lay(2, 2, 0, 0, 9, 9),
            lay(2, 2, 900, 0, 9, 9),
        ];
        let apart = told(squares().into_iter().chain(more).collect());
        assert_eq!(apart.len(), 5);
        assert_eq!(apart.first(), Some(&(0, 0, Window::new(0, 0, 200, 148))));
    }
}
