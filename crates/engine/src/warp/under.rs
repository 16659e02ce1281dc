//! The part of a source that a part of a grid needs.

use crate::warp::map::{index, lerp, start};
use crate::warp::{WarpMap, WarpMapParts, WarpPoints, WarpRect, WarpSampling};

impl WarpMap {
    /// Returns the source pixels that a method may use for the pixels of `target`; `None` if it uses none. May be
    /// larger than needed: across the seam of a raster around the Earth it has the raster's whole width. A larger
    /// `target` never needs less.
    pub fn source_window(
        &self,
        target: WarpRect,
        sampling: WarpSampling,
        scale: (f64, f64),
    ) -> Option<WarpRect> {
        let (columns, rows) = self.parts().size;
        let right = target.column.checked_add(target.width)?.min(columns);
        let bottom = target.row.checked_add(target.height)?.min(rows);
        if target.column >= right || target.row >= bottom {
            return None;
        }
        let mut under = Under { map: self, reach: sampling.reach(scale), found: None };
        let (first, end) = ((target.column, target.row), (right, bottom));
        for row in first.1 / BLOCK..bottom.div_ceil(BLOCK) {
            for column in first.0 / BLOCK..right.div_ceil(BLOCK) {
                under.block((column, row), first, end)?;
            }
        }
        let [left, top, right, bottom] = under.found?;
        let (left, right) = inside(left, right, self.parts().source.0)?;
        let (top, bottom) = inside(top, bottom, self.parts().source.1)?;
        Some(WarpRect::new(left, top, right - left, bottom - top))
    }
}

/// Large cells per side of a block. The bounding box of each block is stored: most blocks lie entirely inside the
/// source, or entirely outside.
const ACROSS: u32 = 4;
/// Pixels per side of a block.
pub(super) const BLOCK: u32 = ACROSS * WarpMap::LARGE;

/// Returns the bounding boxes of the positions in the blocks of a map, row by row: left, top, right, bottom. NaN if a
/// block is not interpolated as a whole, or extends beyond the edge of the map.
pub(super) fn boxes(parts: &WarpMapParts) -> Vec<[f64; 4]> {
    let (columns, rows) = parts.size;
    let across = columns.div_ceil(WarpMap::LARGE);
    let of = |(column, row): (u32, u32)| {
        let mut around = None;
        let is_whole = |at: u32, side: u32| side - at * BLOCK >= BLOCK;
        if !is_whole(column, columns) || !is_whole(row, rows) {
            return None;
        }
        for at in 0..ACROSS * ACROSS {
            let (x, y) = (column * ACROSS + at % ACROSS, row * ACROSS + at / ACROSS);
            let cell = parts.cells.get(index(y.checked_mul(across)?.checked_add(x)?))?;
            if cell & WarpMap::KIND != WarpMap::SMOOTH {
                return None;
            }
            let whole = (0, WarpMap::LARGE);
            let own = corners_box(parts.corners.get(start(*cell))?, whole, whole, WarpMap::LARGE)?;
            around = Some(around.map_or(own, |around| union(around, own)));
        }
        around
    };
    // Blocks that the edge cuts off have no box, but keep their index.
    let size = (columns.div_ceil(BLOCK), rows.div_ceil(BLOCK));
    let all = (0..size.1).flat_map(|row| (0..size.0).map(move |column| (column, row)));
    all.map(|at| of(at).unwrap_or([f64::NAN; 4])).collect()
}

/// Returns the bounding box of a part of an interpolated cell; `None` if a corner is NaN.
fn corners_box(corners: &[f64; 8], columns: (u32, u32), rows: (u32, u32), size: u32) -> Option<[f64; 4]> {
    let part = |at: u32| f64::from(at) / f64::from(size);
    let at = |column: u32, row: u32| lerp(corners, part(column), part(row));
    let four = [at(columns.0, rows.0), at(columns.1, rows.0), at(columns.0, rows.1), at(columns.1, rows.1)];
    if four.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
        return None;
    }
    four.map(|(x, y)| [x, y, x, y]).into_iter().reduce(union)
}

/// Returns the bounding box of both.
fn union(one: [f64; 4], other: [f64; 4]) -> [f64; 4] {
    [one[0].min(other[0]), one[1].min(other[1]), one[2].max(other[2]), one[3].max(other[3])]
}

/// Returns the whole columns or rows from `low` to `high`, clipped to `side`.
fn inside(low: f64, high: f64, side: u32) -> Option<(u32, u32)> {
    let side = f64::from(side);
    let (low, high) = (low.floor().max(0.0), high.ceil().min(side));
    if low.is_nan() || high.is_nan() || low >= high {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, from 0 to the side")]
    Some((low as u32, high as u32))
}

/// Collects the part of a source that lies under cells. Ranges are in pixels of the cell.
struct Under<'a> {
    map: &'a WarpMap,
    reach: (f64, f64),
    /// Left, top, right, bottom.
    found: Option<[f64; 4]>,
}

impl Under<'_> {
    /// Adds the pixels of a block from `first` to before `end`: as a whole if that gives the same result as its cells,
    /// else cell by cell. `None` if there is no such cell.
    fn block(&mut self, (column, row): (u32, u32), first: (u32, u32), end: (u32, u32)) -> Option<()> {
        let (left, top) = (column * BLOCK, row * BLOCK);
        let (right, bottom) = (left.saturating_add(BLOCK), top.saturating_add(BLOCK));
        let is_whole = left >= first.0 && top >= first.1 && right <= end.0 && bottom <= end.1;
        if is_whole && self.place_whole(self.map.block_box(column, row)) {
            return Some(());
        }
        let cells = |first: u32, end: u32, start: u32| {
            first.max(start) / WarpMap::LARGE..end.min(start.saturating_add(BLOCK)).div_ceil(WarpMap::LARGE)
        };
        for cell_row in cells(first.1, end.1, top) {
            for cell_column in cells(first.0, end.0, left) {
                let at = u64::from(cell_row) * u64::from(self.map.across()) + u64::from(cell_column);
                let entry = *self.map.parts().cells.get(usize::try_from(at).ok()?)?;
                let clip = |low: u32, high: u32, start: u32| {
                    (low.saturating_sub(start), high.saturating_sub(start).min(WarpMap::LARGE))
                };
                let (columns, rows) = (cell_column * WarpMap::LARGE, cell_row * WarpMap::LARGE);
                self.large(entry, clip(first.0, end.0, columns), clip(first.1, end.1, rows));
            }
        }
        Some(())
    }

    /// Adds a box if it lies entirely inside or entirely outside the source, in every turn: its parts would add the
    /// same.
    fn place_whole(&mut self, [left, top, right, bottom]: [f64; 4]) -> bool {
        let (width, height) = (f64::from(self.map.parts().source.0), f64::from(self.map.parts().source.1));
        let known = self.turned([left, top, right, bottom]).all(|[left, top, right, bottom]| {
            let is_in = left >= 0.0 && top >= 0.0 && right <= width && bottom <= height;
            is_in || right < 0.0 || bottom < 0.0 || left > width || top > height
        });
        if known {
            self.place([left, top, right, bottom]);
        }
        known
    }

    /// Returns a box extended by the method's reach, here and one turn further in both directions.
    fn turned(&self, [left, top, right, bottom]: [f64; 4]) -> impl Iterator<Item = [f64; 4]> + use<> {
        let turn = self.map.parts().turn;
        let ((turn_x, turn_y), reach) = (turn.unwrap_or((0.0, 0.0)), self.reach);
        let turns = if turn.is_some() { &[0.0, 1.0, -1.0][..] } else { &[0.0] };
        turns.iter().map(move |turns| {
            let (x, y) = (turns * turn_x, turns * turn_y);
            [left + x - reach.0, top + y - reach.1, right + x + reach.0, bottom + y + reach.1]
        })
    }

    fn large(&mut self, entry: u32, columns: (u32, u32), rows: (u32, u32)) {
        match entry & WarpMap::KIND {
            WarpMap::SMOOTH => self.smooth(entry, columns, rows, WarpMap::LARGE),
            WarpMap::CUT => {
                for y in rows.0 / WarpMap::SMALL..rows.1.div_ceil(WarpMap::SMALL) {
                    for x in columns.0 / WarpMap::SMALL..columns.1.div_ceil(WarpMap::SMALL) {
                        let at = start(entry) + index(y * WarpMap::SMALL_ACROSS + x);
                        let small = self.map.parts().small.get(at).copied().unwrap_or(WarpMap::OUTSIDE);
                        let clip = |(low, high): (u32, u32), start: u32| {
                            (low.saturating_sub(start), high.saturating_sub(start).min(WarpMap::SMALL))
                        };
                        self.small(small, clip(columns, x * WarpMap::SMALL), clip(rows, y * WarpMap::SMALL));
                    }
                }
            }
            _ => {}
        }
    }

    fn small(&mut self, entry: u32, columns: (u32, u32), rows: (u32, u32)) {
        match entry & WarpMap::KIND {
            WarpMap::SMOOTH => self.smooth(entry, columns, rows, WarpMap::SMALL),
            WarpMap::CUT => {
                let points = self.map.parts().points;
                for (y, x) in (rows.0..rows.1).flat_map(|y| (columns.0..columns.1).map(move |x| (y, x))) {
                    let at = |right: u32, down: u32| {
                        let at = start(entry) + index((y + down) * points.across() + x + right);
                        self.map.parts().exact.get(at).copied().unwrap_or([f64::NAN; 2])
                    };
                    let around = match points {
                        WarpPoints::Centres => self.around([at(0, 0)]),
                        WarpPoints::Corners => self.around([at(0, 0), at(1, 0), at(0, 1), at(1, 1)]),
                    };
                    if let Some(around) = around {
                        self.place(around);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds a part of an interpolated cell.
    fn smooth(&mut self, entry: u32, columns: (u32, u32), rows: (u32, u32), size: u32) {
        let Some(corners) = self.map.parts().corners.get(start(entry)) else { return };
        // `min` and `max` ignore NaN, but pixels of the cell may have positions nevertheless.
        let anywhere = [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY];
        self.place(corners_box(corners, columns, rows, size).unwrap_or(anywhere));
    }

    /// Returns the bounding box of points of a pixel that have a position, each within half a turn of the first.
    fn around<const N: usize>(&self, points: [[f64; 2]; N]) -> Option<[f64; 4]> {
        let mut points = points.into_iter().filter(|[x, y]| !x.is_nan() && !y.is_nan());
        let first = points.next()?;
        let whole = [first[0], first[1], first[0], first[1]];
        Some(points.fold(whole, |[left, top, right, bottom], [mut x, mut y]| {
            if let Some((turn_x, turn_y)) = self.map.parts().turn {
                let along = (x - first[0]) * turn_x + (y - first[1]) * turn_y;
                let turns = (along / (turn_x * turn_x + turn_y * turn_y) + 0.5).floor();
                if turns.is_finite() {
                    (x, y) = (x - turns * turn_x, y - turns * turn_y);
                }
            }
            [left.min(x), top.min(y), right.max(x), bottom.max(y)]
        }))
    }

    /// Adds the part of a box that lies in the source, here or one turn further.
    fn place(&mut self, [left, top, right, bottom]: [f64; 4]) {
        if left.is_nan() || top.is_nan() {
            return;
        }
        let (width, height) = (f64::from(self.map.parts().source.0), f64::from(self.map.parts().source.1));
        for [left, top, right, bottom] in self.turned([left, top, right, bottom]) {
            let part = [left.max(0.0), top.max(0.0), right.min(width), bottom.min(height)];
            if part[0] <= part[2] && part[1] <= part[3] {
                self.found = Some(self.found.map_or(part, |old| union(old, part)));
            }
        }
    }
}
