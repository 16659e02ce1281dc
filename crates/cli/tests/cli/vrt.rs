use crate::{Bench, UINT8};
use strile::tiff::ByteOrder;
use testkit::{ImageSpec, Pattern, Pixels, geo_tags};

/// Two tiles of 20 × 12 pixels side by side, and a mosaic of them.
fn bench() -> (Bench, Pixels) {
    let bench = Bench::new();
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 12, 20], 5);
    std::fs::create_dir(bench.path("tiles")).unwrap();
    for (name, x) in [("tiles/a.tif", 500_000.0), ("tiles/b.tif", 500_200.0)] {
        let tags = geo_tags(32632, (x, 5_200_000.0), 10.0, false);
        let spec = tags.into_iter().fold(ImageSpec::new(UINT8), ImageSpec::tag);
        bench.file(name, &spec.build(&pixels, ByteOrder::Little, false).bytes);
    }
    bench.run("vrt all.vrt tiles/a.tif tiles/b.tif").clean();
    (bench, pixels)
}

#[test]
fn an_index_of_tiles_is_written_once_and_read() {
    let (bench, pixels) = bench();
    let facts = bench.run("info --json all.vrt").clean().json();
    let (file, page) = (&facts["files"][0], &facts["files"][0]["pages"][0]);
    assert_eq!((&file["format"], &page["width"], &page["sources"]), (&"VRT".into(), &40.into(), &2.into()));
    assert_eq!(file["geo"]["bounds"][2], 500_400.0);
    let text = bench.run("info all.vrt").clean();
    assert!(text.text().contains("40 × 12 pixels") && text.text().contains("sources        2"));
    let right = bench.run("dump all.vrt --window 20,0,20,12 --format npy").clean().stdout;
    assert!(right.ends_with(&pixels.little_endian()));
    let again = bench.run("vrt all.vrt tiles/a.tif");
    assert!(again.code == 2 && again.stderr.contains("`--overwrite`"), "{}", again.stderr);
    bench.run("vrt all.vrt tiles/a.tif --overwrite").clean();
    assert_eq!(bench.names(), ["all.vrt", "tiles"]);
}

#[test]
fn missing_sources_and_those_outside_are_let_pass_on_request() {
    let (bench, pixels) = bench();
    std::fs::remove_file(bench.path("tiles/b.tif")).unwrap();
    let run = bench.run("convert all.vrt out.tif");
    assert!(run.code == 2 && run.stderr.contains("`--missing warn`"), "{}", run.stderr);
    assert_eq!(bench.names(), ["all.vrt", "tiles"]);
    let run = bench.run("convert all.vrt out.tif --missing warn");
    assert!(run.code == 0 && run.stderr.contains("tiles/b.tif"), "{}", run.stderr);
    bench.run("vrt tiles/here.vrt tiles/a.tif").clean();
    std::fs::create_dir(bench.path("far")).unwrap();
    bench.run("vrt far/far.vrt tiles/a.tif").clean();
    let run = bench.run("dump far/far.vrt");
    assert!(run.code == 2 && run.stderr.contains("`--allow-outside`"), "{}", run.stderr);
    let run = bench.run("dump far/far.vrt --allow-outside --format npy").clean();
    assert!(run.stdout.ends_with(&pixels.little_endian()));
}
