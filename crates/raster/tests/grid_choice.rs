//! Grids that are chosen for rasters: what the caller leaves open, and boxes of another system.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use strile::crs::{Crs, TransformOptions, Transformer};
use strile::grid::{Grid, GridChoice};
use strile::tiff::geo::Bounds;

fn crs(code: u32) -> Crs {
    Crs::from_epsg(code).unwrap()
}

/// 10 km by 8 km in UTM zone 33, in pixels of 10 m.
fn scene() -> Grid {
    let bounds = Bounds { min_x: 500_000.0, min_y: 5_490_000.0, max_x: 510_000.0, max_y: 5_498_000.0 };
    Grid::from_bounds(crs(32633), bounds, (10.0, 10.0), false).unwrap()
}

fn grid(choice: &GridChoice) -> Grid {
    choice.grid(&[scene()], &TransformOptions::default()).unwrap()
}

/// The extent is the box around the given one, which is not straight in the system of the grid.
#[test]
fn a_box_of_another_system_is_the_extent() {
    let degrees = Bounds { min_x: 15.01, min_y: 49.57, max_x: 15.11, max_y: 49.62 };
    let to = Transformer::new(&crs(4326), &crs(32633), &TransformOptions::default()).unwrap();
    let along = |i: i32| f64::from(i) / 2000.0;
    let edges: Vec<(f64, f64)> = (0..=2000)
        .flat_map(|i| {
            let x = degrees.min_x + (degrees.max_x - degrees.min_x) * along(i);
            let y = degrees.min_y + (degrees.max_y - degrees.min_y) * along(i);
            [(x, degrees.min_y), (x, degrees.max_y), (degrees.min_x, y), (degrees.max_x, y)]
        })
        .map(|(x, y)| to.transform(x, y).unwrap())
        .collect();
    let most = |of: fn(&(f64, f64)) -> f64| edges.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let exact = [most(|p| -p.0), most(|p| -p.1), most(|p| p.0), most(|p| p.1)];
    let choice = GridChoice::new().bounds(degrees).bounds_crs(crs(4326)).size((400, 300));
    let found = grid(&choice);
    assert_eq!((found.crs().epsg, found.width(), found.height()), (Some(32633), 400, 300));
    let Bounds { min_x, min_y, max_x, max_y } = found.bounds();
    for (found, exact) in [-min_x, -min_y, max_x, max_y].into_iter().zip(exact) {
        // Edges are followed in 21 steps: 0.3 m are missed at most of what is bent.
        assert!((found - exact).abs() < 0.3, "{found}, {exact}");
    }
    // With pixels of a given size the same corner, and in the system of the grid the numbers themselves.
    let pixels = choice.clone().size(None).resolution((20.0, 20.0));
    let snapped = grid(&pixels).bounds();
    assert_eq!((snapped.min_x, snapped.max_y), (min_x, max_y));
    let own = Bounds { min_x, min_y, max_x, max_y };
    for bounds_crs in [None, Some(crs(32633))] {
        let same = choice.clone().bounds(own).bounds_crs(bounds_crs);
        assert_eq!(grid(&same), found);
    }
    // Numbers of degrees in metres are another place.
    assert_ne!(grid(&choice.bounds_crs(None)).bounds(), found.bounds());
}

/// A side of 0 is chosen for square pixels.
#[test]
fn a_side_of_0_is_chosen_for_square_pixels() {
    let bounds = Bounds { min_x: 501_000.0, min_y: 5_491_000.0, max_x: 504_000.0, max_y: 5_492_000.0 };
    for (bounds, size, sides, pixel) in [
        (Some(bounds), (600, 0), (600, 200), 5.0),
        (Some(bounds), (0, 100), (300, 100), 10.0),
        (None, (500, 0), (500, 400), 20.0),
        (None, (0, 1600), (2000, 1600), 5.0),
    ] {
        let found = grid(&GridChoice::new().bounds(bounds).size(size));
        assert_eq!((found.width(), found.height()), sides, "{size:?}");
        assert_eq!(found.transform().resolution(), (pixel, pixel), "{size:?}");
        assert_eq!(found.bounds(), bounds.unwrap_or(scene().bounds()), "{size:?}");
    }
    let none = GridChoice::new().size((0, 0));
    let problem = none.grid(&[scene()], &TransformOptions::default()).unwrap_err().to_string();
    assert_eq!(problem, "expected a size above 0");
}
