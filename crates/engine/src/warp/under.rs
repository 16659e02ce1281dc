//! The part of a source that a part of a grid needs.

use crate::warp::map::{index, lerp, start};
use crate::warp::{WarpMap, WarpPoints, WarpRect, WarpSampling};

impl WarpMap {
    /// Returns the pixels of the source that a method may look at for the pixels of `target`; `None` where it looks at
    /// none. May be larger than needed: where it reaches over the seam of a raster around the Earth it has the raster's
    /// whole width. A larger `target` never needs less.
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
        for cell_row in target.row / Self::LARGE..bottom.div_ceil(Self::LARGE) {
            for cell_column in target.column / Self::LARGE..right.div_ceil(Self::LARGE) {
                let at = u64::from(cell_row) * u64::from(self.across()) + u64::from(cell_column);
                let entry = *self.parts().cells.get(usize::try_from(at).ok()?)?;
                let from = (cell_column * Self::LARGE, cell_row * Self::LARGE);
                let clip = |low: u32, high: u32, start: u32| {
                    (low.saturating_sub(start), high.saturating_sub(start).min(Self::LARGE))
                };
                under.large(entry, clip(target.column, right, from.0), clip(target.row, bottom, from.1));
            }
        }
        let [left, top, right, bottom] = under.found?;
        let (left, right) = inside(left, right, self.parts().source.0)?;
        let (top, bottom) = inside(top, bottom, self.parts().source.1)?;
        Some(WarpRect::new(left, top, right - left, bottom - top))
    }
}

/// Columns or rows from `low` to `high`, whole, within a side.
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
                let more = u32::from(points == WarpPoints::Corners);
                for y in rows.0..rows.1 + more {
                    for x in columns.0..columns.1 + more {
                        let at = start(entry) + index(y * points.across() + x);
                        if let Some([x, y]) = self.map.parts().exact.get(at).copied() {
                            self.place([x, y, x, y]);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// A part of a cell that is interpolated: the part is interpolated between its own corners.
    fn smooth(&mut self, entry: u32, columns: (u32, u32), rows: (u32, u32), size: u32) {
        let Some(corners) = self.map.parts().corners.get(start(entry)) else { return };
        let part = |at: u32| f64::from(at) / f64::from(size);
        let at = |column: u32, row: u32| lerp(corners, part(column), part(row));
        let four =
            [at(columns.0, rows.0), at(columns.1, rows.0), at(columns.0, rows.1), at(columns.1, rows.1)];
        // A number that is not one is left out by `min` and `max`; its pixels may have places all the same.
        if four.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
            return self.place([f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY]);
        }
        let whole = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        self.place(four.iter().fold(whole, |[left, top, right, bottom], (x, y)| {
            [left.min(*x), top.min(*y), right.max(*x), bottom.max(*y)]
        }));
    }

    /// Adds what of a box lies in the source, here or one turn further.
    fn place(&mut self, [left, top, right, bottom]: [f64; 4]) {
        if left.is_nan() || top.is_nan() {
            return;
        }
        let turn = self.map.parts().turn;
        let (turn_x, turn_y) = turn.unwrap_or((0.0, 0.0));
        let (width, height) = (f64::from(self.map.parts().source.0), f64::from(self.map.parts().source.1));
        let turns = if turn.is_some() { &[0.0, 1.0, -1.0][..] } else { &[0.0] };
        for turns in turns {
            let (x, y) = (turns * turn_x, turns * turn_y);
            let part = [
                (left + x - self.reach.0).max(0.0),
                (top + y - self.reach.1).max(0.0),
                (right + x + self.reach.0).min(width),
                (bottom + y + self.reach.1).min(height),
            ];
            if part[0] <= part[2] && part[1] <= part[3] {
                self.found = Some(match self.found {
                    None => part,
                    Some(old) => {
                        [old[0].min(part[0]), old[1].min(part[1]), old[2].max(part[2]), old[3].max(part[3])]
                    }
                });
            }
        }
    }
}
