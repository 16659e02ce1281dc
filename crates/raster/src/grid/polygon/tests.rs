use super::*;
use crate::grid::Grid;
use crate::window::Window;
use strile_crs::DatumShift;
use strile_engine::Cancel;
use strile_tiff::geo::GeoTransform;

fn utm() -> Crs {
    Crs::from_epsg(32633).unwrap()
}

/// Returns a grid of 20 × 10 pixels of 1 m.
fn grid() -> Grid {
    let transform = GeoTransform { a: 1.0, b: 0.0, c: 500_000.0, d: 0.0, e: -1.0, f: 5_000_010.0 };
    Grid::new(utm(), transform, 20, 10).unwrap()
}

fn pixels(polygon: &Polygon, grid: &Grid) -> Vec<String> {
    let outline = Outline::new(polygon, grid, DatumShift::Required).unwrap();
    let whole = Window::full(grid.width(), grid.height());
    let inside = outline.inside(whole, &Cancel::default()).unwrap();
    let mut rows = vec![vec![b'#'; grid.width() as usize]; grid.height() as usize];
    for Window { column, row, width, height } in inside.outside() {
        for row in row..row + height {
            rows[row as usize][column as usize..(column + width) as usize].fill(b'.');
        }
    }
    // The bounding box of the inside pixels.
    let found = inside.bounds(whole);
    let any = rows.iter().flatten().any(|&pixel| pixel == b'#');
    assert_eq!(found.is_some(), any);
    rows.into_iter().map(|row| String::from_utf8(row).unwrap()).collect()
}

#[test]
fn pixels_whose_centre_is_within_are_inside() {
    let wkt = "POLYGON ((500002 5000009, 500018 5000009, 500018 5000001, 500002 5000001, 500002 5000009), \
               (500005.6 5000006, 500009.4 5000006, 500009.4 5000003, 500005.6 5000003, 500005.6 5000006))";
    let full = "..################..";
    let hole = "..####...#########..".to_owned();
    let found = pixels(&Polygon::from_text(wkt).unwrap(), &grid());
    let mut wanted = vec!["....................".to_owned(), full.into(), full.into(), full.into()];
    wanted.extend([hole.clone(), hole.clone(), hole]);
    wanted.extend([full.to_owned(), full.to_owned(), "....................".to_owned()]);
    assert_eq!(found, wanted);
}

#[test]
fn polygons_of_other_systems_are_put_there() {
    // About the same place in degrees.
    let outline = Polygon::new(
        Some(utm()),
        vec![vec![(500_003.0, 5_000_008.0), (500_015.0, 5_000_008.0), (500_015.0, 5_000_002.0)]],
    )
    .unwrap();
    let there = strile_crs::Transformer::new(
        &utm(),
        &Crs::from_epsg(4326).unwrap(),
        &strile_crs::TransformOptions::default(),
    )
    .unwrap();
    let degrees: Vec<_> = outline.rings()[0].iter().map(|&(x, y)| there.transform(x, y).unwrap()).collect();
    let degrees = Polygon::new(Crs::from_epsg(4326), vec![degrees]).unwrap();
    assert_eq!(pixels(&degrees, &grid()), pixels(&outline, &grid()));
}

#[test]
fn texts_are_read_or_refused() {
    let square = "[[0, 0], [4, 0], [4, 4], [0, 0]]";
    let same = Polygon::from_text("MULTIPOLYGON Z (((0 0 1, 4 0 1, 4 4 1, 0 0 1)), ((9 9 0, 8 9 0, 8 8 0)))")
        .unwrap();
    assert_eq!((same.rings().len(), same.rings()[1].len(), same.crs()), (2, 3, None));
    for text in [
        format!(r#"{{"type": "Polygon", "coordinates": [{square}]}}"#),
        format!(r#"{{"type": "MultiPolygon", "coordinates": [[{square}]]}}"#),
        format!(
            r#"{{"type": "FeatureCollection", "features": [{{"type": "Feature", "properties": {{}}, "geometry":
            {{"type": "Polygon", "coordinates": [{square}]}}}}]}}"#
        ),
    ] {
        let found = Polygon::from_text(&text).unwrap();
        assert_eq!(found.rings(), [vec![(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 0.0)]]);
        assert_eq!(found.crs().and_then(|crs| crs.epsg), Some(4326));
    }
    let deep = "{\"type\":\"GeometryCollection\",\"geometries\":[".repeat(20);
    for (text, words) in [
        ("", "expected a polygon"),
        ("POINT (1 2)", "expected a polygon"),
        ("POLYGON ((0 0, 1 1, 2 x))", "not valid"),
        ("POLYGON ((0 0, 1 1, 2 2)", "not valid"),
        ("POLYGON ((0 0, 1 1, 2 2)) x", "not valid"),
        ("POLYGON ((0 0, 1 1))", "three vertices"),
        ("POLYGON ((0 0, 1 inf, 1 2))", "not finite"),
        ("POLYGON EMPTY", "empty"),
        ("SRID=4326;POLYGON ((0 0, 1 1, 2 2))", "SRID"),
        ("{}", "expected polygons"),
        ("{\"type\": \"Point\", \"coordinates\": [1, 2]}", "`Point`"),
        ("{\"type\": \"Polygon\", \"coordinates\": [[[1]]]}", "[x, y]"),
        ("{\"type\": \"FeatureCollection\", \"features\": []}", "empty"),
        (deep.as_str(), "not valid"),
    ] {
        let problem = Polygon::from_text(text).unwrap_err().to_string();
        assert!(problem.contains(words), "{text}: {problem}");
    }
}

#[test]
fn absurd_polygons_are_bounded() {
    let many = vec![(0.0, 0.0); (1 << 20) + 1];
    assert!(Polygon::new(None, vec![many]).is_err());
    // Every edge crosses every row of a tall window.
    let comb: Vec<_> =
        (0..1_000_000).map(|at| (f64::from(at), if at % 2 == 0 { -1.0e9 } else { 1.0e9 })).collect();
    let comb = Polygon::new(None, vec![comb]).unwrap();
    let outline = Outline::new(&comb, &grid(), DatumShift::Required).unwrap();
    let problem = outline.inside(Window::full(20, 1 << 20), &Cancel::default()).unwrap_err();
    assert!(problem.to_string().contains("simplify"), "{problem}");
    let far =
        Polygon::new(Crs::from_epsg(4326), vec![vec![(0.0, 0.0), (500.0, 0.0), (0.0, 1.0e300)]]).unwrap();
    assert!(Outline::new(&far, &grid(), DatumShift::Required).is_err());
}
