use crate::{Bench, Run, damaged, dem, rgb};
use std::process::{Command, Stdio};
use std::sync::Arc;
use strile::tiff::gdal::NoData;
use strile::tiff::{ByteOrder, Image};
use strile::tiff::{Planar, Predictor};
use strile::{Compression, Dataset};

/// A bench with the elevation model and the picture.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    bench.file("rgb.tif", &rgb().1);
    bench
}

impl Bench {
    /// Runs quietly, without an error.
    fn convert(&self, line: &str) -> Run {
        self.run(&format!("-q convert {line}")).clean()
    }

    fn dataset(&self, name: &str) -> Dataset {
        Dataset::open(self.path(name)).unwrap()
    }

    fn image(&self, name: &str) -> Arc<Image> {
        Arc::clone(&self.dataset(name).pages()[0].levels[0].image)
    }
}

#[test]
fn options_reach_the_file_and_pixels_stay() {
    let bench = bench();
    bench.convert(
        "dem.tif out.tif --co COMPRESS=ZSTD --co PREDICTOR=2 --co BLOCKXSIZE=64 --co BLOCKYSIZE=32 \
         --co ENDIANNESS=BIG --co BIGTIFF=YES --co OVERVIEW_COUNT=1 --co RESAMPLING=NEAREST -j 2",
    );
    let image = bench.image("out.tif");
    assert_eq!((image.compression, image.predictor), (Compression::Zstd, Predictor::Horizontal));
    assert_eq!((image.grid.block_width, image.grid.block_height), (64, 32));
    assert_eq!(image.byte_order, ByteOrder::Big);
    assert_eq!(std::fs::read(bench.path("out.tif")).unwrap()[..4], *b"MM\0+");
    // Pixels, mask, georeference, nodata, metadata.
    bench.convert("dem.tif plain.tif --co OVERVIEW_COUNT=1 --co RESAMPLING=NEAREST");
    let run = bench.run("compare plain.tif out.tif");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.text());
    let run = bench.run("compare dem.tif out.tif");
    assert!(!run.text().contains("pixels") && !run.text().contains("transform"), "{}", run.text());
}

#[test]
fn what_was_written_is_told() {
    let bench = bench();
    let run = bench.run("convert rgb.tif out.tif --co TILED=NO --co BLOCKYSIZE=3");
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains(", 4 blocks in 1 level, ") && run.stderr.ends_with(" MB/s of pixels\n"));
    assert!(run.stdout.is_empty() && run.stderr.starts_with("out.tif: "), "{}", run.stderr);
    let run = bench.run("convert rgb.tif lz4.tif --co COMPRESS=LZ4");
    assert!(run.stderr.starts_with("warning: few tools read lz4"), "{}", run.stderr);
}

#[test]
fn gdal_s_spelling_works() {
    let bench = bench();
    bench.convert(
        "-of COG -co COMPRESS=LZW -co BLOCKSIZE=16 dem.tif out.tif -a_srs EPSG:4326 -a_nodata -1 \
         -a_ullr -20 40 50 -10",
    );
    let image = bench.image("out.tif");
    assert_eq!((image.compression, image.grid.block_width), (Compression::Lzw, 16));
    let dataset = bench.dataset("out.tif");
    assert_eq!(dataset.pages()[0].levels.len(), 4);
    let metadata = dataset.metadata();
    assert_eq!(metadata.nodata.map(NoData::as_f64), Some(-1.0));
    let geo = &metadata.georeference;
    assert_eq!(geo.crs.as_ref().unwrap().epsg, Some(4326));
    let transform = geo.transform.unwrap();
    assert_eq!([transform.a, transform.c, transform.e, transform.f], [1.0, -20.0, -1.0, 40.0]);
    let run = bench.run("cog validate out.tif");
    assert_eq!(run.code, 0, "{}", run.text());
}

#[test]
fn nodata_can_be_taken_away() {
    let bench = bench();
    bench.convert("dem.tif out.tif --a-nodata none");
    assert_eq!(bench.dataset("out.tif").metadata().nodata, None);
}

#[test]
fn a_profile_is_a_cog_and_options_go_over_it() {
    let bench = bench();
    bench.convert("rgb.tif out.tif -p zstd --co BLOCKSIZE=16 --co INTERLEAVE=BAND");
    let image = bench.image("out.tif");
    assert_eq!((image.compression, image.planar), (Compression::Zstd, Planar::Separate));
    // Planes take turns, which GDAL's validator expects to be told.
    let run = bench.run("cog validate --strict out.tif");
    assert_eq!(run.code, 0, "{}", run.text());
    let run = bench.run("convert rgb.tif other.tif -p zstd --of GTiff");
    assert_eq!((run.code, run.stderr.lines().count()), (2, 1), "{}", run.stderr);
}

/// The pixels of a part are those that `dump` gives.
#[test]
fn a_part_is_written() {
    let bench = bench();
    for (input, part) in [
        ("rgb.tif", "--window 3,2,10,7 --band 3,1"),
        ("dem.tif", "--level 1"),
        ("dem.tif", "--bbox 500100,5199700,500300,5199900"),
    ] {
        bench.convert(&format!("{input} out.tif --overwrite {part}"));
        // The first line of a raw dump is about the file.
        let pixels = |line: &str| {
            let run = bench.run(line).clean();
            let start = run.stdout.iter().position(|&byte| byte == b'\n').unwrap();
            run.stdout[start..].to_vec()
        };
        let expected = pixels(&format!("dump {input} {part} --format raw"));
        assert!(pixels("dump out.tif --format raw") == expected, "{part}");
    }
    let transform = bench.dataset("out.tif").metadata().georeference.transform.unwrap();
    assert_eq!((transform.c, transform.f), (500_100.0, 5_199_900.0));
}

#[test]
fn a_file_is_overwritten_only_on_request() {
    let bench = bench();
    bench.file("out.tif", b"old");
    let run = bench.run("convert dem.tif out.tif");
    assert_eq!(run.code, 2);
    assert_eq!(run.stderr, "error: out.tif: the file exists; pass `--overwrite` to replace it\n");
    assert_eq!(std::fs::read(bench.path("out.tif")).unwrap(), b"old");
    bench.convert("dem.tif out.tif --overwrite");
    assert_eq!(bench.image("out.tif").width, 70);
    assert_eq!(bench.names(), ["dem.tif", "out.tif", "rgb.tif"]);
    // A file may be converted onto itself.
    bench.convert("out.tif out.tif --overwrite --co COMPRESS=NONE");
    assert_eq!(bench.image("out.tif").compression, Compression::None);
}

#[test]
fn standard_input_and_output() {
    let bench = bench();
    bench.convert("dem.tif out.tif --of COG");
    let run = bench.run_with("-q convert - - --of COG", &dem().1).clean();
    assert!(run.stdout == std::fs::read(bench.path("out.tif")).unwrap());
    assert_eq!(bench.names(), ["dem.tif", "out.tif", "rgb.tif"]);
    bench.file("plain.tif", &bench.convert("rgb.tif -").stdout);
    bench.run("compare rgb.tif plain.tif").clean();
}

#[test]
fn a_failed_conversion_leaves_the_old_file_or_nothing() {
    let bench = Bench::new();
    bench.file("bad.tif", &damaged());
    bench.file("old.tif", b"old");
    for out in ["new.tif", "old.tif"] {
        let run = bench.run(&format!("convert bad.tif {out} --overwrite"));
        assert_eq!(run.code, 2);
        assert!(run.stderr.starts_with("error: bad.tif: block (column 0, row 1): "), "{}", run.stderr);
        assert_eq!(bench.names(), ["bad.tif", "old.tif"]);
    }
    assert_eq!(std::fs::read(bench.path("old.tif")).unwrap(), b"old");
    let run = bench.run("-q convert bad.tif new.tif --on-fault fill");
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("fault: bad.tif: block (column 0, row 1): "), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1);
    assert_eq!(bench.image("new.tif").height, 12);
}

#[test]
fn what_cannot_be_written_is_told_in_one_sentence() {
    let bench = bench();
    let table = [
        ("--co FOO=1", "unknown creation option `FOO`; expected one of ALIGNED_LEVELS, ALPHA, "),
        ("--co COMPRESS=GZIP", "COMPRESS=GZIP: expected one of NONE, DEFLATE, "),
        ("--co COMPRESS=ZSTD --co ZLEVEL=9", "ZLEVEL does not apply to zstd"),
        (
            "--co TARGET_SRS=EPSG:3857",
            "TARGET_SRS=EPSG:3857: a conversion reprojects for TILING_SCHEME alone; warp the file first",
        ),
        ("--co COMPRESS=JXL", "out.tif: there is no free encoder for jxl yet"),
        ("--co COMPRESS=DEFLATE --co LEVEL=99", "out.tif: expected a deflate level from 1 to 12, got 99"),
        ("--of COG --co TILED=NO", "out.tif: a cloud-optimized file has tiles, not strips"),
        ("--co BLOCKSIZE=100", "out.tif: expected tile sizes in multiples of 16, got 100 × 100 pixels"),
        ("--band 4", "rgb.tif: there is no band 4: the image has 3 bands, counted from 1"),
    ];
    for (options, sentence) in table {
        let run = bench.run(&format!("convert rgb.tif out.tif {options}"));
        assert_eq!((run.code, run.stderr.lines().count()), (2, 1), "{options}: {}", run.stderr);
        assert!(run.stderr.starts_with(&format!("error: {sentence}")), "{options}: {}", run.stderr);
        assert_eq!(bench.names(), ["dem.tif", "rgb.tif"], "{options}");
    }
    for line in
        ["convert rgb.tif out.vrt", "convert rgb.tif no/out.tif", "convert rgb.tif out.tif --co COMPRESS"]
    {
        let run = bench.run(line);
        assert!(run.code == 2 && run.stderr.starts_with("error: "), "{line}: {}", run.stderr);
    }
}

#[test]
fn explain_writes_nothing() {
    let bench = bench();
    let run = bench.run("convert --explain dem.tif out.tif --of COG --co COMPRESS=ZSTD").clean();
    assert!(run.text().starts_with("read    dem.tif: 70 × 50 pixels"), "{}", run.text());
    assert!(run.text().contains("70 × 50 in 1 tile of 512 × 512, zstd, predictor 3"), "{}", run.text());
    assert_eq!(bench.names(), ["dem.tif", "rgb.tif"]);
}

/// A mosaic of nothing is large enough to be stopped half-way.
#[test]
fn ctrl_c_leaves_nothing() {
    let bench = Bench::new();
    let size = "rasterXSize=\"60000\" rasterYSize=\"60000\"";
    let vrt = format!("<VRTDataset {size}><VRTRasterBand dataType=\"Byte\" band=\"1\"/></VRTDataset>");
    bench.file("large.vrt", vrt.as_bytes());
    let mut command = Command::new(env!("CARGO_BIN_EXE_strile"));
    // So large an image of so small a file is refused otherwise.
    command.args(["convert", "large.vrt", "out.tif", "--co", "COMPRESS=LZMA", "--max-pixels", "4000000000"]);
    let mut child = command.current_dir(bench.folder()).stderr(Stdio::piped()).spawn().unwrap();
    while bench.names().len() == 1 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: cancelled\n");
    assert_eq!(bench.names(), ["large.vrt"]);
}

/// It is named or it is not taken, and what it cannot is an error in words that leaves no file.
#[test]
fn encoders_of_nvidia_are_those_or_an_error() {
    let bench = bench();
    for (line, told) in [
        ("--nvcomp-effort 2 --encode-on cpu --co COMPRESS=DEFLATE", "not on the CPU"),
        ("--nvcomp-effort 9 --encode-on cpu --co COMPRESS=DEFLATE", "effort from 0 to 5 for deflate, got 9"),
        ("--nvcomp-effort 0 --encode-on cpu --co COMPRESS=LZW", "nvCOMP does not write lzw"),
        ("--nvcomp-effort 0 --reproducible", "cannot be used with"),
        ("--nvjpeg2000 --encode-on cpu --co COMPRESS=DEFLATE", "nvJPEG2000 writes jpeg2000 alone"),
        ("--nvjpeg2000 --reproducible", "cannot be used with"),
        ("--nvjpeg2000 --nvcomp-effort 1", "cannot be used with"),
    ] {
        let run = bench.run(&format!("-q convert dem.tif out.tif {line}"));
        assert!(run.code == 2 && run.stderr.contains(told), "{line}: {} {}", run.code, run.stderr);
        assert!(!bench.path("out.tif").exists());
    }
}
