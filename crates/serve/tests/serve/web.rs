//! Tiles of web maps.

use crate::client::{Running, bytes, uint, write};
use crate::tiles::png;
use serde_json::json;
use strile::grid::{Grid as MapGrid, WarpOptions};
use strile::{Context, Dataset, ReadOptions};
use strile_serve::ServerOptions;
use testkit::{Grid, ImageSpec, geo_tags, nodata_tag};

#[test]
fn tiles_of_web_maps_are_reads_onto_their_grid() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([3, 600, 600], |band, y, x| (x / 3 + y / 4 + band * 20) as u8);
    let tags = geo_tags(32633, (500_000.0, 5_500_000.0), 10.0, false);
    let spec = tags.into_iter().fold(ImageSpec::new(uint(8)).grid(Grid::Tiles(64, 64)), ImageSpec::tag);
    let path = write(folder.path(), "utm.tif", &spec, &pixels);
    let server = Running::tiles(std::slice::from_ref(&path), ServerOptions::default());
    let document = server.json("tilejson.json");
    let [west, south, east, north] = [0, 1, 2, 3].map(|at| document["bounds"][at].as_f64().unwrap());
    // pyproj: corners of EPSG:32633 in EPSG:4326.
    for (found, expected) in [(west, 15.0), (south, 49.598_55), (east, 15.083_12), (north, 49.652_54)] {
        assert!((found - expected).abs() < 1e-3, "{document}");
    }
    assert_eq!((&document["minzoom"], &document["maxzoom"]), (&json!(12), &json!(14)));
    let tile = |longitude: f64, latitude: f64, zoom: u32| {
        let side = f64::from(1 << zoom);
        let north = latitude.to_radians();
        let y = (1.0 - (north.tan() + 1.0 / north.cos()).ln() / std::f64::consts::PI) / 2.0;
        (((longitude + 180.0) / 360.0 * side) as u32, (y * side) as u32)
    };
    let dataset = Dataset::open(&path).unwrap();
    // The same with a nodata value, which is told from others in another way.
    let spec = spec.tag(nodata_tag("100"));
    let pixels = bytes([3, 600, 600], |_, y, x| (x / 3 + y / 4) as u8);
    let other = write(folder.path(), "nodata.tif", &spec, &pixels);
    let others = Running::tiles(std::slice::from_ref(&other), ServerOptions::default());
    let datasets = [(&server, dataset), (&others, Dataset::open(&other).unwrap())];
    let places = [
        (14, (15.04, 49.62)),
        (14, (15.02, 49.63)),
        (13, (15.04, 49.62)),
        (11, (15.04, 49.62)),
        (14, (15.001, 49.652)),
    ];
    let mut transparent = 0;
    for ((server, dataset), (zoom, place)) in
        datasets.iter().flat_map(|served| places.map(|place| (served, place)))
    {
        let (column, row) = tile(place.0, place.1, zoom);
        let (_, _, channels, found) = png(&server.get(&format!("tiles/{zoom}/{column}/{row}.png")));
        let grid = MapGrid::xyz_tile(zoom as u8, column, row, 256).unwrap();
        let options = ReadOptions::new().masked(true).onto(grid, WarpOptions::new());
        let expected = dataset.read(&options, &Context::default()).unwrap();
        let value = |band: usize, at: usize| {
            let bytes = expected.pixels[(band * 65536 + at) * 4..][..4].try_into().unwrap();
            f32::from_ne_bytes(bytes)
        };
        for at in 0..65536 {
            let pixel = &found[at * channels..][..channels];
            let missing = value(0, at).is_nan();
            transparent += usize::from(missing);
            assert_eq!(channels == 4 && pixel[3] == 0, missing, "{zoom}/{column}/{row}: {at}");
            for (band, found) in pixel.iter().take(3).enumerate() {
                assert!(missing || f32::from(*found) == value(band, at), "{zoom}/{column}/{row}: {at}");
            }
        }
    }
    assert!(transparent > 0);
    for wrong in ["tiles/25/0/0.png", "tiles/3/8/0.png", "tiles/WebMercatorQuad/1/0/2.png"] {
        assert_eq!(server.get(wrong).status, 400, "{wrong}");
    }
    let wmts = server.get("WMTSCapabilities.xml").text();
    assert!(wmts.contains("EPSG::3857") && wmts.contains("<ScaleDenominator>559082264.02"), "{wmts}");
}

#[test]
fn a_file_without_a_place_has_its_own_tiles_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        folder.path(),
        "plain.tif",
        &ImageSpec::new(uint(8)),
        &bytes([1, 20, 30], |_, y, x| (y + x) as u8),
    );
    let server = Running::tiles(&[path], ServerOptions::default());
    assert_eq!(server.get("tiles/0/0/0.png").status, 200);
    let answer = server.get("tiles/WebMercatorQuad/0/0/0.png");
    assert_eq!(answer.status, 422);
    assert!(answer.text().contains("Native"), "{}", answer.text());
    assert_eq!(server.get("WMTSCapabilities.xml").status, 422);
    assert_eq!(server.get("point/0,0").status, 422);
}
