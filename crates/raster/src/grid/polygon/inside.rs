//! Finds the pixels whose centre lies within a polygon, by GDAL's arithmetic: crossings of the edges with the middle of
//! each row, and the columns between them.

use super::outline::Edge;
use crate::window::Window;
use strile_engine::Cancel;
use strile_engine::memory::{NoMemory, try_filled};
use strile_tiff::InvalidValue;

/// A range of columns: from the first to before the second.
type Run = (u32, u32);

/// The pixels of a window that are inside.
#[derive(Debug)]
pub(crate) struct Inside {
    window: Window,
    /// The columns inside, per row and in order. Runs do not touch each other.
    rows: Vec<Vec<Run>>,
}

impl Inside {
    /// Finds the pixels inside. `edges` are sorted by their upper ends; `level` are level edges that go to the left.
    pub(super) fn new(
        window: Window,
        edges: &[Edge],
        level: &[(f64, f64, f64)],
        cancel: &Cancel,
    ) -> Result<Self, InvalidValue> {
        let mut rows = Vec::with_capacity(usize::try_from(window.height).unwrap_or(0));
        let (mut next, mut active) = (0, Vec::<Edge>::new());
        let mut crossings = Vec::new();
        for row in window.row..window.row.saturating_add(window.height) {
            if cancel.is_cancelled() {
                return Err("cancelled".to_owned().into());
            }
            let y = f64::from(row) + 0.5;
            while let Some(edge) = edges.get(next).filter(|edge| edge.top.1 <= y) {
                active.push(*edge);
                next += 1;
            }
            active.retain(|edge| edge.bottom.1 > y);
            crossings.clear();
            crossings.extend(active.iter().map(|edge| {
                let ((x1, y1), (x2, y2)) = (edge.top, edge.bottom);
                (y - y1) * (x2 - x1) / (y2 - y1) + x1
            }));
            crossings.sort_by(f64::total_cmp);
            let pairs = crossings.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
            let level = level.iter().filter(|(at, ..)| *at == y).map(|(_, from, to)| (*from, *to));
            let mut runs: Vec<Run> = pairs.chain(level).filter_map(|pair| run(pair, window)).collect();
            runs.sort_unstable();
            rows.push(joined(&runs));
        }
        Ok(Self { window, rows })
    }

    /// Returns the bounding box of the inside pixels of a part of the window.
    pub(crate) fn bounds(&self, part: Window) -> Option<Window> {
        let (left, right) = (part.column, part.column + part.width);
        let mut found: Option<(u32, u32, u32, u32)> = None;
        for row in part.row..part.row + part.height {
            let runs = self.runs(row);
            let from = runs.partition_point(|run| run.1 <= left);
            let until = runs.partition_point(|run| run.0 < right);
            let Some((first, last)) = runs.get(from..until).and_then(|runs| runs.first().zip(runs.last()))
            else {
                continue;
            };
            let (start, end) = (first.0.max(left), last.1.min(right));
            let (a, b, top, _) = found.unwrap_or((start, end, row, row));
            found = Some((a.min(start), b.max(end), top, row));
        }
        let (start, end, top, bottom) = found?;
        Some(Window { column: start, row: top, width: end - start, height: bottom + 1 - top })
    }

    fn runs(&self, row: u32) -> &[Run] {
        let at = usize::try_from(row.saturating_sub(self.window.row)).unwrap_or(usize::MAX);
        self.rows.get(at).map_or(&[], Vec::as_slice)
    }

    /// Returns whether each pixel of the window is inside, row by row.
    pub(crate) fn flags(&self) -> Result<Vec<bool>, NoMemory> {
        let Window { column, width, .. } = self.window;
        let width = usize::try_from(width).unwrap_or(usize::MAX);
        let mut flags = try_filled(false, width.saturating_mul(self.rows.len()), "pixels within a polygon")?;
        for (runs, row) in self.rows.iter().zip(flags.chunks_mut(width.max(1))) {
            for (start, end) in runs {
                let [start, end] = [start, end].map(|at| usize::try_from(at - column).unwrap_or(usize::MAX));
                if let Some(run) = row.get_mut(start..end) {
                    run.fill(true);
                }
            }
        }
        Ok(flags)
    }

    /// Returns rectangles of the window that are outside.
    pub(crate) fn outside(&self) -> Vec<Window> {
        let (left, right) = (self.window.column, self.window.column + self.window.width);
        let mut boxes = Vec::new();
        let mut rows = self.rows.as_slice();
        let mut row = self.window.row;
        while let Some(first) = rows.first() {
            let same = rows.iter().take_while(|other| *other == first).count();
            let height = u32::try_from(same).unwrap_or(u32::MAX);
            let mut at = left;
            for &(start, end) in first.iter().chain([&(right, right)]) {
                if start > at {
                    boxes.push(Window { column: at, row, width: start - at, height });
                }
                at = end;
            }
            rows = rows.get(same..).unwrap_or_default();
            row += height;
        }
        boxes
    }
}

/// Returns the columns of a window whose centres lie between two crossings.
fn run((from, to): (f64, f64), window: Window) -> Option<Run> {
    let (left, right) = (f64::from(window.column), f64::from(window.column) + f64::from(window.width));
    let column = |at: f64| (at + 0.5).floor().clamp(left, right);
    let (start, end) = (column(from), column(to));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "columns of the window")]
    (start < end).then_some((start as u32, end as u32))
}

/// Joins sorted runs that touch.
fn joined(runs: &[Run]) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::with_capacity(runs.len());
    for &(start, end) in runs {
        match all.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => all.push((start, end)),
        }
    }
    all
}
