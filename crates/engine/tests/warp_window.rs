//! The part of a source under a part of a grid is that under all cells of the part, whether blocks of cells are asked or each cell. Places
//! beside a source that reaches around the Earth are in it.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and knows its numbers"
)]

use strile_engine::{WarpMap, WarpMapParts, WarpRect, WarpSampling};

const SIZE: (u32, u32) = (1100, 900);

/// A bent plane, with a hole, over a source that it reaches beyond.
fn map(turn: Option<(f64, f64)>, offset: f64) -> WarpMap {
    let mut parts = WarpMapParts { size: SIZE, source: (700, 500), turn, ..WarpMapParts::default() };
    let place = |x: u32, y: u32| {
        let (x, y) = (f64::from(64 * x), f64::from(64 * y));
        [0.9 * x + 0.05 * y - offset, 0.8 * y - 0.04 * x + 1e-5 * x * x - 60.0]
    };
    for row in 0..SIZE.1.div_ceil(64) {
        for column in 0..SIZE.0.div_ceil(64) {
            if (row, column) == (5, 6) {
                parts.cells.push(WarpMap::OUTSIDE);
                continue;
            }
            parts.cells.push(WarpMap::SMOOTH | parts.corners.len() as u32);
            let [a, b, c, d] = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(x, y)| place(column + x, row + y));
            parts.corners.push([a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]);
        }
    }
    WarpMap::new(parts).unwrap()
}

fn edges(window: WarpRect) -> [u32; 4] {
    [window.column, window.row, window.column + window.width, window.row + window.height]
}

/// The parts of a rectangle in cells.
fn cells(target: WarpRect) -> impl Iterator<Item = WarpRect> {
    let [left, top, right, bottom] = edges(target);
    let part = |at: u32, first: u32, end: u32| (at.max(first), (at + 64).min(end) - at.max(first));
    (top / 64 * 64..bottom).step_by(64).flat_map(move |row| {
        (left / 64 * 64..right).step_by(64).map(move |column| {
            let ((column, width), (row, height)) = (part(column, left, right), part(row, top, bottom));
            WarpRect::new(column, row, width, height)
        })
    })
}

#[test]
fn blocks_give_the_window_of_their_cells() {
    let cases = [(None, 40.0), (None, 5000.0), (Some((800.0, 0.0)), 300.0), (Some((700.0, 0.0)), 900.0)];
    let targets = [
        WarpRect::new(0, 0, SIZE.0, SIZE.1),
        WarpRect::new(256, 256, 512, 512),
        WarpRect::new(3, 250, 600, 300),
        WarpRect::new(512, 0, 588, 257),
    ];
    for (turn, offset) in cases {
        let map = map(turn, offset);
        for target in targets {
            for sampling in [WarpSampling::Nearest, WarpSampling::Cubic, WarpSampling::Lanczos] {
                let of = |part: WarpRect| map.source_window(part, sampling, (1.0, 1.0)).map(edges);
                let around = |one: [u32; 4], other: [u32; 4]| {
                    let [a, b, c, d] = other;
                    [one[0].min(a), one[1].min(b), one[2].max(c), one[3].max(d)]
                };
                let all = cells(target).filter_map(of).reduce(around);
                assert_eq!(of(target), all, "{turn:?} {offset} {target:?} {sampling:?}");
            }
        }
    }
}

/// Places on the seam of a source around the Earth are computed with an error, so they lie just beside it.
#[test]
fn places_beside_a_source_around_the_earth_are_in_it() {
    for turn in [700.0, -700.0, 700.0 + 2e-4, 700.0 - 2e-4] {
        let map = map(Some((turn, 0.0)), 40.0);
        for beside in [-1e-4_f64, -1e-13, -1e-20, 700.0, 700.0 + 1e-13, 700.0 + 1e-4] {
            let (x, y) = map.in_source((beside, 3.5));
            assert!((0.0..700.0).contains(&x) && y == 3.5, "{beside} becomes {x} by a turn of {turn}");
            let off = (x - beside).abs() - 700.0;
            assert!(off.abs() < 1e-3, "{beside} becomes {x} by a turn of {turn}");
        }
    }
}
