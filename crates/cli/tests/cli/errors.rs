use crate::{Bench, dem, rgb};

/// Every kind of bad input: one sentence, exit 2, nothing on standard output.
#[test]
fn bad_input_is_told_in_one_sentence() {
    let bench = Bench::new();
    let (_, dem) = dem();
    bench.file("dem.tif", &dem);
    bench.file("rgb.tif", &rgb().1);
    bench.file("empty.tif", b"");
    bench.file("text.tif", b"This is not a picture, it is a text.");
    bench.file("short.tif", &dem[..6]);
    std::fs::create_dir(bench.path("folder")).unwrap();
    let table = [
        ("dump missing.tif", "missing.tif: No such file or directory"),
        ("info missing.tif", "missing.tif: No such file or directory"),
        (
            "bench dem.tif",
            "`strile bench` is no longer a command: `strile demo` measures this machine, and in the source tree `cargo run --release -p strile-check --bin bench -- FILE` measures files",
        ),
        ("dump folder", "folder: expected a regular file, got a directory"),
        ("dump empty.tif", "empty.tif: header: the file is empty"),
        (
            "dump dem.tif --window 60,0,20,20",
            "dem.tif: window 60,0,20,20 is not inside the image of 70 × 50 pixels (a window is column,row,width,height)",
        ),
        (
            "dump dem.tif --window 0,0,0,5",
            "dem.tif: window 0,0,0,5 is not inside the image of 70 × 50 pixels (a window is column,row,width,height)",
        ),
        ("dump dem.tif --band 2", "dem.tif: there is no band 2: the image has 1 band, counted from 1"),
        ("dump dem.tif --band 0", "dem.tif: there is no band 0: the image has 1 band, counted from 1"),
        ("dump dem.tif --page 1", "dem.tif: there is no page 1, the file has 1 (from 0)"),
        ("dump dem.tif --level 2", "dem.tif: there is no level 2, page 0 has 2 (0 is full resolution)"),
        (
            "dump rgb.tif --bbox 0,0,1,1",
            "rgb.tif: has no georeferencing, so a box cannot be located; give a window of pixels",
        ),
        (
            "dump dem.tif --bbox 0,0,1,1",
            "dem.tif: the box 0,0,1,1 does not touch the image, which covers 500000,5199500,500700,5200000",
        ),
        ("dump dem.tif -o folder", "folder: expected a file name, got a directory"),
        ("dump dem.tif -o nowhere/a.npy", "nowhere/a.npy: No such file or directory"),
    ];
    for (line, sentence) in table {
        let run = bench.run(line);
        assert_eq!((run.code, run.stderr.trim_end()), (2, format!("error: {sentence}").as_str()), "{line}");
        assert!(run.stdout.is_empty(), "{line}");
    }
    // The words of the parser and of the device list are theirs; the form is ours.
    for line in ["dump text.tif", "dump short.tif", "info text.tif", "dump dem.tif --decode-on cuda:0"] {
        let run = bench.run(line);
        assert_eq!((run.code, run.stderr.lines().count()), (2, 1), "{line}: {}", run.stderr);
        assert!(
            run.stderr.starts_with("error: ") && !run.stderr.contains("panicked"),
            "{line}: {}",
            run.stderr
        );
    }
}

/// Every length of a cut file ends in 0, 1 or 2, never in a panic (101).
#[test]
fn truncated_files_never_panic() {
    let bench = Bench::new();
    let (_, dem) = dem();
    for part in 0..24 {
        bench.file("cut.tif", &dem[..dem.len() * part / 24]);
        let run = bench.run("dump cut.tif -o out.raw");
        assert_eq!(run.code, 2, "{part}/24: {}", run.stderr);
    }
    assert_eq!(bench.names(), ["cut.tif"]);
}

#[test]
fn a_memory_limit_names_need_and_option() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    let run = bench.run("dump dem.tif --memory 1KiB --format raw");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("cannot take 4480 bytes of memory for the decoded image"), "{}", run.stderr);
    assert!(run.stderr.contains("`--memory`"), "{}", run.stderr);
}

#[test]
fn a_small_file_that_claims_a_huge_image_is_refused() {
    let bench = Bench::new();
    let pixels = testkit::Pixels::zeroed(strile::DataType::U8, 1, 4, 4);
    // One strip, left out, of an image whose rows were 4 and are said to be 100,000 × 100,000.
    let spec = testkit::ImageSpec::new(crate::UINT8).grid(testkit::Grid::Strips(100_000)).sparse(&[0]);
    let spec = spec.tag(testkit::Tag::long(256, 100_000)).tag(testkit::Tag::long(257, 100_000));
    bench.file("huge.tif", &spec.build(&pixels, strile::tiff::ByteOrder::Little, false).bytes);
    let run = bench.run("dump huge.tif -o out.raw");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("decodes to 9.3 GiB, more than 1024 times the size of the file"),
        "{}",
        run.stderr
    );
}

#[test]
fn wrong_usage_ends_in_2_and_names_the_option() {
    let bench = Bench::new();
    for (line, word) in
        [("dump a.tif --window 1,2", "--window"), ("dump", "<FILE>"), ("frobnicate", "frobnicate")]
    {
        let run = bench.run(line);
        assert_eq!(run.code, 2, "{line}");
        assert!(run.stderr.contains(word), "{line}: {}", run.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    let script = format!("{} dump dem.tif --format csv | head -n 1", env!("CARGO_BIN_EXE_strile"));
    let run =
        std::process::Command::new("sh").args(["-c", &script]).current_dir(bench.folder()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "column,row,x,y,band_1\n");
    assert_eq!(String::from_utf8_lossy(&run.stderr), "");
}

/// Messages name the flags of the command line, and neither items of the library nor numbers of the system.
#[test]
fn messages_name_flags() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem().1);
    bench.file("rgb.tif", &rgb().1);
    std::fs::create_dir(bench.path("scenes")).unwrap();
    for (line, words) in [
        (
            "convert dem.tif o.tif -ot Byte",
            "cannot be stored as uint8; set `-a_nodata` to a value that uint8 can hold, or to none",
        ),
        (
            "warp dem.tif o.tif -t_srs EPSG:27700",
            "pass `--datum-shift none` (`strile warp`) to take longitudes",
        ),
        ("convert scenes -o out --jobs 0", "expected a whole number of at least 1"),
        ("dump dem.tif --threads 0", "expected a whole number of at least 1"),
        ("overview dem.tif --count 0", "expected a whole number of at least 1"),
        ("view nofile.tif --no-open", "error: cannot open nofile.tif: No such file or directory\n"),
        ("serve nodir", "error: cannot open nodir: No such file or directory\n"),
        ("uploads dem.tif", "expected a URL, as in `s3://bucket/folder`, got a local path"),
        ("convert dem.tif o.tif --co COMPRESS=JPEG", "expected 8-bit unsigned integer, got 32-bit float"),
        ("convert dem.tif x.png", "`convert` writes TIFF, and `x.png` ends in `.png`"),
    ] {
        let run = bench.run(line);
        assert!(run.code == 2 && run.stderr.contains(words), "{line}: {}", run.stderr);
        assert!(!run.stderr.contains("os error"), "{line}: {}", run.stderr);
    }
    let run = bench.run("convert dem.tif bytes.tif -ot Byte -a_nodata none");
    assert!(
        run.stderr.contains("outside the range of uint8, stored as its minimum or maximum"),
        "{}",
        run.stderr
    );
    for line in [
        "warp --explain dem.tif o.tif -t_srs EPSG:3857",
        "convert --explain dem.tif o.tif --reencode",
        "info --explain dem.tif",
    ] {
        let text = bench.run(line).clean().stdout;
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains("device::") && !text.contains("1 bands"), "{line}: {text}");
        assert!(line.starts_with("info") || text.contains("`--encode-on` chooses a GPU"), "{line}: {text}");
    }
}
