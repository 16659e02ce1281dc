use crate::{Bench, UINT8, dem};
use strile::tiff::ByteOrder;
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels};

/// 600 × 520 pixels in tiles; with an overview a COG that nobody has to say anything against.
fn cog(overview: bool, file_order: FileOrder) -> Vec<u8> {
    let pixels = Pixels::generate(Pattern::Dem, UINT8, [1, 520, 600], 3);
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(128, 128)).codec(Codec::Deflate);
    let reduced = [(spec.clone().subfile_type(1), pixels.halved())];
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order };
    spec.build_with(&pixels, if overview { &reduced } else { &[] }, frame).bytes
}

#[test]
fn a_valid_file_is_said_to_be() {
    let bench = Bench::new();
    bench.file("a.tif", &cog(true, FileOrder::CogWithGhost));
    let run = bench.run("cog validate --strict a.tif").clean();
    assert_eq!(run.text(), "a.tif: valid Cloud-Optimized GeoTIFF\n");
    let run = bench.run_with("cog validate -", &dem().1).clean();
    assert!(run.text().starts_with("standard input: valid"), "{}", run.text());
}

#[test]
fn a_warning_is_an_error_only_where_strict() {
    let bench = Bench::new();
    bench.file("a.tif", &cog(false, FileOrder::CogWithGhost));
    let run = bench.run("cog validate a.tif").clean();
    assert!(
        run.text().contains("warning: full image, directory at byte 192: 600 × 520 pixels without overviews")
    );
    let run = bench.run("cog validate --strict a.tif");
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert!(run.text().starts_with("a.tif: not a valid Cloud-Optimized GeoTIFF\n"), "{}", run.text());
}

#[test]
fn findings_as_json_have_code_place_and_judges() {
    let bench = Bench::new();
    bench.file("a.tif", &cog(true, FileOrder::BlocksFirst));
    bench.file("b.tif", &cog(true, FileOrder::CogWithGhost));
    let run = bench.run("cog validate --json a.tif b.tif");
    assert_eq!(run.code, 1);
    let json = run.json();
    let [a, b] = [&json["files"][0], &json["files"][1]];
    assert_eq!((&a["valid"], &b["valid"]), (&false.into(), &true.into()));
    let error = &a["errors"][0];
    assert_eq!(error["code"], "main-directory-offset");
    assert_eq!(error["found_by"], serde_json::json!(["gdal", "rio-cogeo"]));
    assert_eq!(b["ghost_area"]["BLOCK_ORDER"], "ROW_MAJOR");
    assert_eq!(b["levels"][1]["size"], serde_json::json!([300, 260]));
}

#[test]
fn a_file_that_cannot_be_checked_hides_no_other() {
    let bench = Bench::new();
    bench.file("a.tif", &cog(true, FileOrder::CogWithGhost));
    bench.file("b.tif", b"no TIFF at all");
    let run = bench.run("cog validate a.tif b.tif missing.tif");
    assert_eq!(run.code, 2);
    assert!(run.text().starts_with("a.tif: valid"), "{}", run.text());
    assert_eq!(run.stderr.lines().count(), 2, "{}", run.stderr);
}

/// Overviews beside the file are no part of it.
#[test]
fn overviews_beside_the_file_are_an_error() {
    let bench = Bench::new();
    bench.file("a.tif", &cog(false, FileOrder::CogWithGhost));
    let half = Pixels::generate(Pattern::Dem, UINT8, [1, 520, 600], 3).halved();
    let spec = ImageSpec::new(UINT8).grid(Grid::Tiles(128, 128)).subfile_type(1);
    bench.file("a.tif.ovr", &spec.build(&half, ByteOrder::Little, false).bytes);
    let run = bench.run("cog validate a.tif");
    assert_eq!(run.code, 1);
    assert!(run.text().contains("[external-overviews; gdal, rio-cogeo]"), "{}", run.text());
}
