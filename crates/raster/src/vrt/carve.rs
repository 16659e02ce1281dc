//! Finds the visible pixels of overlapping sources, as disjoint rectangles.
//!
//! Later sources are on top. They are processed from the last to the first, each cut out of the area that is still
//! free. The area that is free at the end is a gap.

use crate::error::Result;
use crate::window::Window;

/// Disjoint rectangles that cover the whole.
#[derive(Debug)]
pub(super) struct Carved {
    /// Rectangles of sources, with the number of the source, in the order of the sources.
    pub(super) seen: Vec<(usize, Window)>,
    pub(super) gaps: Vec<Window>,
}

/// Cuts sources inside `whole`. `count` receives the number of following comparisons and rectangles, and may return an
/// error: overlapping stripes have many pieces.
pub(super) fn carve(
    whole: Window,
    sources: &[Window],
    mut count: impl FnMut(usize, usize) -> Result<()>,
) -> Result<Carved> {
    let (mut free, mut seen) = (vec![whole], Vec::new());
    for (number, source) in sources.iter().enumerate().rev() {
        count(free.len(), seen.len() + free.len())?;
        // Most sources touch few free rectangles; the others stay in place.
        let mut at = 0;
        let mut rest = Vec::new();
        while let Some(part) = free.get(at) {
            let Some(common) = part.intersection(source) else {
                at += 1;
                continue;
            };
            seen.push((number, common));
            rest.extend(part.around(&common));
            free.swap_remove(at);
        }
        free.append(&mut rest);
    }
    seen.reverse();
    Ok(Carved { seen, gaps: free })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_what_painting_shows() {
        let mut state = 5u32;
        let mut next = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % most
        };
        let (width, height) = (23, 17);
        for _ in 0..300 {
            let mut source = || {
                let (x, y) = (next(width), next(height));
                Window { column: x, row: y, width: 1 + next(width - x), height: 1 + next(height - y) }
            };
            let sources: Vec<Window> = (0..9).map(|_| source()).collect();
            let mut painted = vec![None; (width * height) as usize];
            let paint = |window: &Window, with: Option<usize>, painted: &mut Vec<Option<usize>>| {
                for y in window.row..window.row + window.height {
                    for x in window.column..window.column + window.width {
                        painted[(y * width + x) as usize] = with;
                    }
                }
            };
            for (number, window) in sources.iter().enumerate() {
                paint(window, Some(number), &mut painted);
            }
            let Carved { seen, gaps } = carve(Window::full(width, height), &sources, |_, _| Ok(())).unwrap();
            assert!(seen.is_sorted_by_key(|(number, _)| *number));
            let mut times = vec![0; painted.len()];
            let mut carved = vec![None; painted.len()];
            let seen = seen.iter().map(|(number, window)| (Some(*number), window));
            for (number, window) in seen.chain(gaps.iter().map(|gap| (None, gap))) {
                paint(window, number, &mut carved);
                for y in window.row..window.row + window.height {
                    for x in window.column..window.column + window.width {
                        times[(y * width + x) as usize] += 1;
                    }
                }
            }
            assert!(times.iter().all(|&times| times == 1));
            assert_eq!(carved, painted);
        }
    }

    /// Rows of tiles, as in most mosaics, are not cut, and few rectangles are free at a time.
    #[test]
    fn a_grid_of_tiles_is_not_cut() {
        let tile = |at: u32| Window { column: at % 40 * 8, row: at / 40 * 8, width: 8, height: 8 };
        let sources: Vec<Window> = (0..1600).map(tile).collect();
        let mut compared = 0;
        let carved = carve(Window::full(320, 320), &sources, |free, _| {
            compared += free;
            Ok(())
        });
        let Carved { seen, gaps } = carved.unwrap();
        assert!(gaps.is_empty());
        assert_eq!(seen, sources.into_iter().enumerate().collect::<Vec<_>>());
        assert!(compared <= 2 * 1600, "{compared}");
    }
}
