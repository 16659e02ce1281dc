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
            let bytes = expected.bytes().unwrap()[(band * 65536 + at) * 4..][..4].try_into().unwrap();
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

/// A mosaic of one file, moved by so many pixels.
fn mosaic(folder: &std::path::Path, name: &str, of: &str, (width, height): (u32, u32)) -> std::path::PathBuf {
    let band = |band: u32| {
        format!(
            "<VRTRasterBand dataType=\"Byte\" band=\"{band}\"><SimpleSource><SourceFilename relativeToVRT=\"1\">{of}</SourceFilename>\
             <SourceBand>{band}</SourceBand><SrcRect xOff=\"0\" yOff=\"0\" xSize=\"{width}\" ySize=\"{height}\"/>\
             <DstRect xOff=\"0\" yOff=\"0\" xSize=\"{width}\" ySize=\"{height}\"/></SimpleSource></VRTRasterBand>"
        )
    };
    let bands: String = (1..=3).map(band).collect();
    let text = format!(
        "<VRTDataset rasterXSize=\"{width}\" rasterYSize=\"{height}\"><SRS>EPSG:32633</SRS>\
         <GeoTransform>500000, 10, 0, 5500000, 0, -10</GeoTransform>{bands}</VRTDataset>"
    );
    std::fs::write(folder.join(name), text).unwrap();
    folder.join(name)
}

#[test]
fn a_mosaic_on_a_web_map_is_that_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([3, 600, 600], |band, y, x| (x / 3 + y / 4 + band * 20) as u8);
    let tags = geo_tags(32633, (500_000.0, 5_500_000.0), 10.0, false);
    let spec = tags.into_iter().fold(ImageSpec::new(uint(8)).grid(Grid::Tiles(64, 64)), ImageSpec::tag);
    let file = write(folder.path(), "utm.tif", &spec, &pixels);
    let vrt = mosaic(folder.path(), "utm.vrt", "utm.tif", (600, 600));
    let (one, other) =
        (Running::tiles(&[file], ServerOptions::default()), Running::tiles(&[vrt], ServerOptions::default()));
    let document = other.json("tilejson.json");
    assert_eq!(document["bounds"], one.json("tilejson.json")["bounds"], "{document}");
    let mut transparent = 0;
    for (zoom, column, row) in [(14, 8876, 5583), (13, 4438, 2791), (11, 1109, 697), (14, 8874, 5581)] {
        let path = format!("tiles/{zoom}/{column}/{row}.png");
        let (expected, found) = (png(&one.get(&path)), png(&other.get(&path)));
        assert_eq!((found.0, found.1), (256, 256));
        let alpha = |picture: &(usize, usize, usize, Vec<u8>), at: usize| {
            if picture.2 == 4 { picture.3[at * 4 + 3] } else { 255 }
        };
        for at in 0..65536 {
            assert_eq!(alpha(&found, at), alpha(&expected, at), "{path}: {at}");
            if alpha(&found, at) == 0 {
                transparent += 1;
                continue;
            }
            let colours =
                |picture: &(usize, usize, usize, Vec<u8>)| picture.3[at * picture.2..][..3].to_vec();
            assert_eq!(colours(&found), colours(&expected), "{path}: {at}");
        }
    }
    assert!((1..4 * 65536).contains(&transparent), "{transparent}");
    assert!(other.get("WMTSCapabilities.xml").text().contains("EPSG::3857"));
}

#[test]
fn the_viewer_shows_a_file_in_web_mercator() {
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([1, 600, 900], |_, y, x| (x / 4 + y / 5) as u8);
    let tags = geo_tags(32633, (500_000.0, 5_500_000.0), 10.0, false);
    let spec = tags.into_iter().fold(ImageSpec::new(uint(8)).grid(Grid::Tiles(64, 64)), ImageSpec::tag);
    let path = write(folder.path(), "a.tif", &spec, &pixels);
    let plain = write(folder.path(), "b.tif", &ImageSpec::new(uint(8)), &pixels);
    let mut options = ServerOptions::default();
    options.basemap = Some("https://tiles.example.org/{z}/{x}/{y}.png".into());
    let server = Running::view(&[path.clone(), plain.clone()], options);
    assert_eq!(
        (&server.json("api/0/info")["web"], &server.json("api/1/info")["web"]),
        (&json!(true), &json!(false))
    );
    let refused = server.get("api/1@web/info");
    assert!(refused.status == 422 && refused.text().contains("no reference system"), "{}", refused.text());
    let policy = server.get("").header("content-security-policy").unwrap().to_owned();
    assert!(policy.contains("img-src 'self' data: blob: https://tiles.example.org;"), "{policy}");
    let info = server.json("api/0@web/info");
    assert_eq!(
        (&info["crs"]["code"], &info["basemap"]),
        (&json!("EPSG:3857"), &json!("https://tiles.example.org/{z}/{x}/{y}.png"))
    );
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let [left, top, pixel] = [2, 5, 0].map(|at| number(&info["transform"][at]));
    // Zoom 14 has the file's resolution or more; the corner lies on a pixel of that zoom.
    let zoom = (40_075_016.685_578_49 / 256.0 / pixel).log2();
    assert!((zoom - 14.0).abs() < 1e-9, "{zoom}");
    let column = (left + 20_037_508.342_789_244) / pixel;
    assert!((column - column.round()).abs() < 1e-4, "{column}");
    let levels = info["levels"].as_array().unwrap();
    assert!(levels.last().unwrap()["width"].as_u64().unwrap() <= 512 && levels[0]["scale_x"] == 1.0);
    let dataset = Dataset::open(&path).unwrap();
    let crs = strile::crs::Crs::from_epsg(3857).unwrap();
    let mut valid = 0;
    for (level, column, row) in [(0_u32, 1_u32, 1_u32), (0, 0, 0), (1, 0, 0)] {
        let answer = server.get(&format!("api/0@web/tile/{level}/{column}/{row}?bands=1"));
        assert_eq!((answer.status, answer.header("x-mask")), (200, Some("bytes")), "{}", answer.text());
        let side = |name: &str| answer.header(name).unwrap().parse::<u32>().unwrap();
        let (width, height) = (side("x-width"), side("x-height"));
        let size = pixel * f64::from(1 << level);
        let place = |at: u32| f64::from(at * 256) * size;
        let transform = strile::tiff::geo::GeoTransform {
            a: size,
            b: 0.0,
            c: left + place(column),
            d: 0.0,
            e: -size,
            f: top - place(row),
        };
        let grid = MapGrid::new(crs.clone(), transform, width, height).unwrap();
        let options = ReadOptions::new().masked(true).onto(grid, WarpOptions::new());
        let expected = dataset.read(&options, &Context::default()).unwrap().into_bytes().unwrap();
        let count = (width * height) as usize;
        for at in 0..count {
            let value = f32::from_ne_bytes(expected[at * 4..][..4].try_into().unwrap());
            assert_eq!(answer.body[count + at] == 0, value.is_nan(), "{level}/{column}/{row}: {at}");
            assert!(value.is_nan() || f32::from(answer.body[at]) == value, "{level}/{column}/{row}: {at}");
            valid += usize::from(!value.is_nan());
        }
    }
    assert!(valid > 65536, "{valid}");
    // The value under a pixel of the map is that of the file's pixel there.
    let value = server.json("api/0@web/value?x=300&y=280");
    let (x, y) = (value["column"].as_f64().unwrap() as usize, value["row"].as_f64().unwrap() as usize);
    assert_eq!(value["values"], json!([pixels.value(0, y, x) as u64]));
    // A pixel of zoom 14 has 6.19 m there, one of the file 10 m.
    assert!((184..=187).contains(&x) && (170..=175).contains(&y), "{value}");
    for (path, status) in [
        ("api/0@web/value?x=-5&y=0", 400),
        ("api/0@web/tile/9/0/0", 400),
        ("api/0@web/tile/0/99/0", 400),
        ("api/0@web/structure/0", 422),
        ("api/0@web/statistics?bands=1", 200),
        ("api/0@sea/info", 400),
        ("api/7@web/info", 404),
    ] {
        assert_eq!(server.get(path).status, status, "{path}");
    }
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
