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
  overview 0  35 × 25  4 tiles of 32 × 16  lzw

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
