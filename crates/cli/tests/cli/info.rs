use crate::{Bench, dem, rgb};

#[test]
fn tells_a_georeferenced_file_in_sections() {
    let bench = Bench::new();
    let bytes = dem().1;
    bench.file("dem.tif", &bytes);
    let run = bench.run("info dem.tif").clean();
    let size = strile::bytes::human(bytes.len() as u64);
    let expected = format!(
        "\
dem.tif
  size           {size}
  format         TIFF, little-endian
  pages          1

page 0
  size           70 × 50 pixels
  bands          1 × float32 (32-bit float)
  compression    deflate, floating-point predictor
  blocks         12 tiles of 32 × 16, interleaved by pixel
  photometric    minisblack
  mask           mask
  decoded        13.7 KiB
  level 1  35 × 25  4 tiles of 32 × 16  lzw

georeference
  system         WGS 84 / UTM zone 32N (EPSG:32632), projected
  unit           metre
  origin         500000.0, 5200000.0
  pixel size     10.0, 10.0
  bounds         500000.0, 5199500.0, 500700.0, 5200000.0
  sample is      area
  nodata         -9999.0

bands
  1              elevation, unit m

metadata
  TITLE = Hills
"
    );
    assert_eq!(run.text(), expected);
}

#[test]
fn json_has_the_same_facts_under_stable_keys() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    bench.file("rgb.tif", &rgb().1);
    let json = bench.run("info --json --explain dem.tif rgb.tif").clean().json();
    let dem = &json["files"][0];
    assert_eq!(dem["geo"]["epsg"], 32632);
    assert_eq!(dem["geo"]["transform"], serde_json::json!([10.0, 0.0, 500_000.0, 0.0, -10.0, 5_200_000.0]));
    assert_eq!(dem["geo"]["crs"]["name"], "WGS 84 / UTM zone 32N");
    assert_eq!(dem["pages"][0]["overviews"][0]["width"], 35);
    assert_eq!(dem["pages"][0]["mask"]["bands"], 1);
    assert_eq!(dem["pages"][0]["decoded_bytes"], 14_000);
    assert_eq!(dem["bands"][0]["description"], "elevation");
    assert_eq!(dem["plan"]["blocks"], 12);
    let rgb = &json["files"][1];
    assert_eq!((&rgb["format"], &rgb["byte_order"]), (&"BigTIFF".into(), &"big".into()));
    assert_eq!(rgb["geo"]["transform"], serde_json::Value::Null);
    assert_eq!(rgb["pages"][0]["photometric"], "rgb");
    assert_eq!(rgb["pages"][0]["blocks"]["count"], 3);
}

#[test]
fn reads_standard_input_and_explains() {
    let bench = Bench::new();
    let run = bench.run_with("info --explain -", &rgb().1).clean();
    assert!(run.text().starts_with("standard input\n"), "{}", run.text());
    assert!(
        run.text().contains("plan of a whole read\n  read     page 0, full size, 20 × 12 pixels"),
        "{}",
        run.text()
    );
}

#[test]
fn a_bad_file_among_good_ones_is_told_and_ends_in_2() {
    let bench = Bench::new();
    bench.file("rgb.tif", &rgb().1);
    let run = bench.run("info missing.tif rgb.tif");
    assert_eq!(run.code, 2);
    assert_eq!(run.stderr, "error: missing.tif: No such file or directory\n");
    assert!(run.text().starts_with("rgb.tif\n"));
}

/// Figures of the elevation model; Python's tests compare them with GDAL's.
#[test]
fn figures_are_told_on_request() {
    let bench = crate::Bench::new();
    let (model, bytes) = crate::dem();
    bench.file("dem.tif", &bytes);
    let told = bench.run("info --json -stats -hist -checksum dem.tif").clean().json();
    let band = &told["files"][0]["figures"][0];
    let values: Vec<f64> =
        (0..50).flat_map(|y| (0..70).map(move |x| (y, x))).map(|(y, x)| model.value(0, y, x)).collect();
    let mean = values.iter().sum::<f64>() / 3500.0;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let close = |key: &str, expected: f64| {
        let found = band["statistics"][key].as_f64().unwrap();
        assert!((found - expected).abs() <= expected.abs() * 1e-12, "{key}: {found}, not {expected}");
    };
    close("minimum", low);
    close("mean", mean);
    close("standard_deviation", (squares / 3500.0).sqrt());
    assert_eq!((&band["statistics"]["valid"], &band["statistics"]["missing"]), (&3500.into(), &0.into()));
    let counts = band["histogram"]["counts"].as_array().unwrap();
    assert_eq!(counts.len(), 256);
    assert_eq!(counts.iter().map(|count| count.as_u64().unwrap()).sum::<u64>(), 3500);
    assert!(band["checksum"].as_u64().unwrap() < 65_536);
    let run = bench.run("info --stats --checksum dem.tif").clean();
    assert!(run.text().contains("\nfigures\n  band 1: minimum "), "{}", run.text());
    let plain = bench.run("info --json dem.tif").clean().json();
    assert!(plain["files"][0]["figures"].is_null());
}

/// Ten columns and five rows; Python's tests compare other polygons with rasterio's.
#[test]
fn figures_count_pixels_within_a_polygon() {
    let bench = crate::Bench::new();
    let (model, bytes) = crate::dem();
    bench.file("dem.tif", &bytes);
    let corners = "500000 5200000, 500100 5200000, 500100 5199950, 500000 5199950, 500000 5200000";
    bench.file("field.wkt", format!("POLYGON (({corners}))").as_bytes());
    let told = bench.run("info --json --stats -cutline field.wkt dem.tif").clean().json();
    let found = &told["files"][0]["figures"][0]["statistics"];
    let sum: f64 = (0..5).flat_map(|y| (0..10).map(move |x| (y, x))).map(|(y, x)| model.value(0, y, x)).sum();
    assert!((found["mean"].as_f64().unwrap() - sum / 50.0).abs() < 1e-9, "{found}");
    assert_eq!((&found["valid"], &found["missing"]), (&50.into(), &0.into()));
    let run = bench.run("info --stats -cutline none.geojson dem.tif");
    assert!(run.code == 2 && run.stderr.contains("none.geojson"), "{}", run.stderr);
    let run = bench.run("info -cutline field.wkt dem.tif");
    assert!(run.code == 2 && run.stderr.contains("add --stats or --hist"), "{}", run.stderr);
}
