//! Squares of a grid.

use crate::grid::HUGE;
use crate::window::Window;
use strile_engine::WarpMap;

/// Columns and rows of a square: a multiple of the cells of maps.
const SQUARE: u32 = 2048;
/// Bytes of a map per pixel, if all of them are exact, including its overhead.
const MAP_BYTES: u64 = 24;

/// Returns the side of squares whose maps, for `threads` squares at once and in the worst case, fit into `room` bytes.
pub(super) fn side(threads: usize, room: u64) -> u32 {
    let needed = |side: u32| map_bytes(side).saturating_mul(threads.max(1) as u64);
    let fits = |side: &u32| *side <= HUGE || needed(*side) <= room;
    [SQUARE, SQUARE / 2, SQUARE / 4].into_iter().find(fits).unwrap_or(HUGE)
}

/// Returns the maximum bytes of a map of a square.
pub(super) fn map_bytes(side: u32) -> u64 {
    u64::from(side) * u64::from(side) * MAP_BYTES
}

/// Returns the squares of a window, row by row. They begin where those of the whole grid do; their side is a multiple
/// of `HUGE`.
pub(super) fn squares(window: Window, side: u32) -> impl Iterator<Item = Window> {
    let Window { column, row, width, height } = window;
    let starts = move |start: u32, len: u32| {
        let end = start.saturating_add(len);
        let first = start / side * side;
        (first..end).step_by(side as usize).map(move |at| {
            let from = at.max(start);
            (from, at.saturating_add(side).min(end) - from)
        })
    };
    starts(row, height).flat_map(move |(row, height)| {
        starts(column, width).map(move |(column, width)| Window { column, row, width, height })
    })
}

/// Returns the part of a grid that the map of a square covers: it begins at whole cells.
pub(super) fn aligned(square: Window) -> Window {
    let (x, y) = (square.column % HUGE, square.row % HUGE);
    Window {
        column: square.column - x,
        row: square.row - y,
        width: square.width + x,
        height: square.height + y,
    }
}

/// Converts pixels of the grid to pixels of their square's map.
pub(super) fn within_map(target: Window, square: Window) -> Window {
    let map = aligned(square);
    Window { column: target.column - map.column, row: target.row - map.row, ..target }
}

/// Returns the halves of a rectangle, cut at whole cells; `None` if its sides are at most `least`.
pub(super) fn halves(target: Window, least: u32) -> Option<[Window; 2]> {
    let Window { column, row, width, height } = target;
    let middle = |start: u32, len: u32| {
        let at = (start + len / 2).next_multiple_of(WarpMap::LARGE);
        (at > start && at < start + len).then_some(at - start)
    };
    if width >= height && width > least {
        let left = middle(column, width)?;
        return Some([
            Window { width: left, ..target },
            Window { column: column + left, width: width - left, ..target },
        ]);
    }
    let top = middle(row, height).filter(|_| height > least)?;
    Some([Window { height: top, ..target }, Window { row: row + top, height: height - top, ..target }])
}

/// Returns the bounding box of two rectangles.
pub(super) fn around(one: Window, other: Window) -> Window {
    let (column, row) = (one.column.min(other.column), one.row.min(other.row));
    let right = (one.column + one.width).max(other.column + other.width);
    let bottom = (one.row + one.height).max(other.row + other.height);
    Window { column, row, width: right - column, height: bottom - row }
}

pub(super) fn pixels(window: &Window) -> u64 {
    u64::from(window.width) * u64::from(window.height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_cover_a_window_once_and_maps_begin_at_cells() {
        for (column, row, width, height) in [(0, 0, 1, 1), (100, 2000, 5000, 100), (2047, 0, 2, 4096)] {
            let window = Window { column, row, width, height };
            for side in [side(1, u64::MAX), side(16, 1 << 30), side(1, 0)] {
                let all: Vec<Window> = squares(window, side).collect();
                assert_eq!(all.iter().map(pixels).sum::<u64>(), pixels(&window));
                assert_eq!(all.iter().copied().reduce(around), Some(window));
                for square in all {
                    let map = aligned(square);
                    assert!(map.column.is_multiple_of(HUGE) && map.row.is_multiple_of(HUGE));
                    let inner = within_map(square, square);
                    assert_eq!(
                        (inner.column + inner.width, inner.row + inner.height),
                        (map.width, map.height)
                    );
                }
            }
        }
    }

    #[test]
    fn halves_are_cut_at_cells() {
        let whole = Window::new(30, 0, 1000, 300);
        let [left, right] = halves(whole, 256).unwrap();
        assert_eq!((left, right), (Window::new(30, 0, 546, 300), Window::new(576, 0, 454, 300)));
        assert_eq!(halves(Window::new(0, 0, 64, 64), 64), None);
        assert_eq!(
            halves(Window::new(1, 0, 65, 1), 64),
            Some([Window::new(1, 0, 63, 1), Window::new(64, 0, 2, 1)])
        );
    }
}
