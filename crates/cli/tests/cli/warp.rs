use crate::{Bench, UINT8};
use strile::tiff::ByteOrder;
use testkit::{ImageSpec, Pattern, Pixels, geo_tags, nodata_tag};

/// A file of 60 × 40 pixels of 10 m in UTM zone 32.
fn bench() -> (Bench, Pixels) {
    let bench = Bench::new();
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [1, 40, 60], 5);
    let tags = geo_tags(32632, (500_000.0, 5_200_000.0), 10.0, false);
    let spec = tags.into_iter().fold(ImageSpec::new(UINT8), ImageSpec::tag).tag(nodata_tag("0"));
    bench.file("in.tif", &spec.build(&pixels, ByteOrder::Little, false).bytes);
    (bench, pixels)
}

#[test]
fn a_grid_of_the_file_itself_gives_its_pixels() {
    let (bench, pixels) = bench();
    bench.run("-q warp in.tif out.tif -te 500100 5199700 500300 5199900 -tr 10 10").clean();
    let part = bench.run("dump in.tif --window 10,10,20,20 --format npy").clean().stdout;
    assert_eq!(bench.run("dump out.tif --format npy").clean().stdout, part);
    bench.run("-q warp in.tif same.tif").clean();
    assert!(bench.run("dump same.tif --format npy").clean().stdout.ends_with(&pixels.little_endian()));
    let again = bench.run("warp in.tif out.tif");
    assert!(again.code == 2 && again.stderr.contains("--overwrite"), "{}", again.stderr);
}

#[test]
fn a_grid_like_that_of_another_raster() {
    let (bench, _) = bench();
    bench.run("-q warp in.tif like.tif -t_srs EPSG:3857 -tr 17 13 -r bilinear").clean();
    bench.run("-q warp in.tif out.tif --like like.tif -r bilinear").clean();
    let read = |name: &str| bench.run(&format!("dump {name} --format raw")).clean().stdout;
    // The first line has the transform, the code and the size.
    assert_eq!(read("out.tif"), read("like.tif"));
    for other in ["-t_srs EPSG:4326", "-te 0 0 1 1", "-tr 10 10", "-ts 5 5", "-tr 10 10 -tap"] {
        let run = bench.run(&format!("warp in.tif no.tif --like like.tif {other}"));
        assert!(run.code == 2 && run.stderr.contains("--like"), "{other}: {}", run.stderr);
        assert!(run.stderr.contains("cannot be used with"), "{other}: {}", run.stderr);
    }
    let run = bench.run("warp in.tif no.tif --like like.tif -of COG -co TILING_SCHEME=GoogleMapsCompatible");
    assert!(run.code == 2 && run.stderr.contains("leave out --like"), "{}", run.stderr);
    let plain = ImageSpec::new(UINT8).build(
        &Pixels::generate(Pattern::Noise, UINT8, [1, 4, 4], 1),
        ByteOrder::Little,
        false,
    );
    bench.file("plain.tif", &plain.bytes);
    let run = bench.run("warp in.tif no.tif --like plain.tif");
    assert!(run.code == 2 && run.stderr.contains("plain.tif: a grid like this raster"), "{}", run.stderr);
    assert_eq!(bench.names(), ["in.tif", "like.tif", "out.tif", "plain.tif"]);
}

#[test]
fn polygons_clip_what_is_converted_and_dumped_as_what_is_warped() {
    let (bench, _) = bench();
    let cut = r#"{"type": "Polygon", "crs": {"type": "name", "properties": {"name": "EPSG:32632"}},
        "coordinates": [[[500052, 5199951], [500513, 5199847], [500303, 5199653], [500052, 5199951]]]}"#;
    bench.file("cut.geojson", cut.as_bytes());
    let read = |name: &str, more: &str| bench.run(&format!("dump {name} --format raw{more}")).clean().stdout;
    let pixels = |bytes: Vec<u8>| bytes.iter().position(|byte| *byte == b'\n').map(|at| bytes[at..].to_vec());
    for crop in ["", " -crop_to_cutline"] {
        bench.run(&format!("-q warp in.tif warped.tif -cutline cut.geojson{crop} --overwrite")).clean();
        bench.run(&format!("-q convert in.tif converted.tif -cutline cut.geojson{crop} --overwrite")).clean();
        let warped = pixels(read("warped.tif", ""));
        assert!(pixels(read("converted.tif", "")) == warped, "{crop}");
        let dumped = read("in.tif", &format!(" -cutline cut.geojson{crop}"));
        assert!(pixels(dumped) == warped, "{crop}");
    }
    assert_ne!(read("converted.tif", ""), read("in.tif", ""));
    let inside = read("in.tif", " -cutline cut.geojson --mask");
    let [valid, missing] = [255, 0].map(|value| inside.iter().filter(|&&byte| byte == value).count());
    assert_eq!(valid + missing, 60 * 40);
    // The triangle has the area of 556 pixels; a few of them have the nodata value.
    assert!((535..570).contains(&valid), "{valid}");
    let plan = bench.run("convert --explain in.tif no.tif -cutline cut.geojson").clean();
    assert!(plan.text().contains("pixels outside the polygon are missing"), "{}", plan.text());
    for (line, words) in [
        ("convert in.tif no.tif -cutline cut.geojson -crop_to_cutline --window 0,0,5,5", "another area"),
        ("dump in.tif -cutline cut.geojson -crop_to_cutline --window 0,0,5,5", "cannot be combined"),
        ("dump in.tif -crop_to_cutline", "--cutline"),
        ("dump in.tif -cutline nothing.geojson", "nothing.geojson"),
    ] {
        let run = bench.run(line);
        assert!(run.code == 2 && run.stderr.contains(words), "{line}: {}", run.stderr);
    }
}

#[test]
fn the_plan_says_operation_level_and_windows_and_writes_nothing() {
    let (bench, _) = bench();
    let run = bench.run("warp --explain in.tif out.tif -t_srs EPSG:3857 -r bilinear -of COG").clean();
    for words in
        ["grid ", "EPSG:3857", "EPSG:32632", "level  0 of 60 × 40", "datum ", "nodes ", "bilinear", "bytes "]
    {
        assert!(run.text().contains(words), "{words}\n{}", run.text());
    }
    assert_eq!(bench.names(), ["in.tif"]);
}

#[test]
fn the_operation_between_datums_is_told_when_the_file_is_written() {
    let (bench, _) = bench();
    let run = bench.run("warp in.tif out.tif -t_srs EPSG:23032");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let line = run.stderr.lines().find(|line| line.starts_with("datum: in.tif: ")).unwrap_or_default();
    assert!(line.contains("(EPSG:") && line.contains("accuracy"), "{}", run.stderr);
    let same = bench.run("warp in.tif web.tif -t_srs EPSG:3857");
    assert!(same.code == 0 && !same.stderr.contains("datum"), "{}", same.stderr);
    assert_eq!(bench.run("-q warp in.tif quiet.tif -t_srs EPSG:23032").stderr, "");
}

#[test]
fn boxes_of_other_systems_are_found_in_the_file() {
    let (bench, _) = bench();
    // Off the edges of pixels, which would have to be met exactly.
    let own = "--bbox 500101,5199701,500299,5199899";
    let wanted = bench.run(&format!("dump in.tif {own} --format npy")).clean().stdout;
    // The same box in zone 32 of ETRS89, which is the same to a millimetre.
    let other = bench.run(&format!("dump in.tif {own} --bbox-crs EPSG:25832 --format npy"));
    assert_eq!(other.code, 0, "{}", other.stderr);
    assert_eq!(other.stdout, wanted);
    bench.run("-q convert in.tif a.tif -projwin 500101 5199899 500299 5199701").clean();
    bench
        .run("-q convert in.tif b.tif -projwin 500101 5199899 500299 5199701 -projwin_srs EPSG:25832")
        .clean();
    let read = |name: &str| bench.run(&format!("dump {name} --format npy")).clean().stdout;
    assert_eq!(read("a.tif"), read("b.tif"));
    let degrees =
        bench.run("dump in.tif --bbox 9.0013,46.9508,9.0039,46.9526 --bbox-crs EPSG:4326 --format npy");
    assert_eq!(degrees.code, 0, "{}", degrees.stderr);
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let (bench, _) = bench();
    bench.file(
        "plain.tif",
        &ImageSpec::new(UINT8)
            .build(&Pixels::generate(Pattern::Noise, UINT8, [1, 4, 4], 1), ByteOrder::Little, false)
            .bytes,
    );
    // Grids of other rasters: of 4e18 pixels, and with a transform that is no number.
    for (name, side, transform) in [
        ("huge.vrt", 2_000_000_000, "500000,10,0,5200000,0,-10"),
        ("bent.vrt", 40, "500000,nan,0,5200000,0,-10"),
    ] {
        let place = format!("<SRS>EPSG:32632</SRS><GeoTransform>{transform}</GeoTransform>");
        let band = "<VRTRasterBand dataType=\"Byte\" band=\"1\"/>";
        let size = format!("rasterXSize=\"{side}\" rasterYSize=\"{side}\"");
        bench.file(name, format!("<VRTDataset {size}>{place}{band}</VRTDataset>").as_bytes());
    }
    bench.file("text.txt", b"no raster");
    for (line, words) in [
        ("warp in.tif out.tif -cutline POINT(1,2)", "POINT"),
        ("warp in.tif out.tif -cutline nothing.geojson", "nothing.geojson"),
        ("warp in.tif out.tif -crop_to_cutline", "--cutline"),
        ("warp in.tif out.tif -cblend 3", "`-cblend` is not available"),
        ("warp plain.tif out.tif -t_srs EPSG:3857", "reference system"),
        ("warp in.tif out.tif -tr 0 10", "positive resolution"),
        ("warp in.tif out.tif -tr 0.000001 0.000001", "--max-pixels"),
        ("warp in.tif out.tif -dstnodata 300", "`fill`"),
        ("warp in.tif out.tif -tr inf inf", "positive resolution"),
        ("warp in.tif out.tif -tr nan 10", "positive resolution"),
        ("warp in.tif out.tif -ts 0 0", "expected a size above 0"),
        ("warp in.tif out.tif -ts 4294967295 4294967295", "sides of 1 to 2147483647 pixels"),
        ("warp in.tif out.tif -ts 2000000000 2000000000", "--max-pixels"),
        ("warp in.tif out.tif -ts 4294967296 1", "4294967296"),
        ("warp in.tif out.tif -ts 20000 20000 --memory 64KiB", "raise `--memory`"),
        ("warp in.tif out.tif --like huge.vrt", "--max-pixels"),
        ("warp in.tif out.tif --like bent.vrt", "bent.vrt"),
        ("warp in.tif out.tif --like text.txt", "text.txt"),
        ("warp in.tif out.tif -te 0 0 1 1 -te_srs nonsense", "'nonsense' for '--te-srs"),
        ("warp in.tif out.tif -te 0 0 1 1 -te_srs EPSG:4326 -tr inf 1", "positive resolution"),
        ("warp in.tif out.tif -te 0 0 nan 1 -tr 1 1", "finite bounds"),
        ("warp in.tif out.tif -te 0 0 1e300 1e300", "error: 1.000e299 pixels on a side"),
        ("warp in.tif out.tif -t_srs EPSG:99999", "EPSG:99999"),
        ("warp in.tif out.tif -et nan", "from 0 on"),
        ("warp in.tif out.tif -r gauss", "expected a method"),
        ("warp in.tif out.tif -ovr 3", "there is no level 4"),
        ("warp in.tif out.png", "writes TIFF"),
    ] {
        let run = bench.run(line);
        assert!(run.code == 2 && run.stderr.contains(words), "{line}: {}", run.stderr);
    }
    assert_eq!(bench.names(), ["bent.vrt", "huge.vrt", "in.tif", "plain.tif", "text.txt"]);
}

#[test]
fn a_grid_beside_the_file_is_warned_about() {
    let (bench, _) = bench();
    let words = "does not overlap the source";
    for line in [
        "-t_srs EPSG:3857 -te 0 0 1 1",
        "-te 0 0 10 10 -tr 1 1",
        // Beyond the domain of the projection.
        "-t_srs EPSG:4326 -te -171.5 -47 -171 -46.5 -ts 20 20 -of COG",
    ] {
        let run = bench.run(&format!("warp in.tif out.tif --overwrite {line}"));
        assert!(
            run.code == 0 && run.stderr.contains("warning: out.tif: the target grid"),
            "{line}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(words), "{line}: {}", run.stderr);
    }
    for line in [
        "-t_srs EPSG:4326",
        "-t_srs EPSG:3857 -r cubic",
        // A corner of the file, and the file in a corner of the Earth.
        "-te 500590 5199590 500700 5199610 -tr 10 10",
        "-t_srs EPSG:4326 -te -180 -85 180 85 -ts 300 150",
        "-t_srs EPSG:3857 -te -20000000 5900000 20000000 6000000 -ts 4000 2",
        // Tiles that cross the file in a line.
        "-te 400000 5199800 600000 5199801 -ts 2000 1",
    ] {
        let run = bench.run(&format!("warp in.tif out.tif --overwrite {line}"));
        assert!(run.code == 0 && !run.stderr.contains(words), "{line}: {}", run.stderr);
    }
    assert_eq!(bench.run("-q warp in.tif quiet.tif -te 0 0 10 10 -tr 1 1").stderr, "");
}
