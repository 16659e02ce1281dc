//! Many files into a folder, and the options of gdal_translate as a user types them. What GDAL makes of the same lines is
//! compared by `xtask/python/check_translate.py`.

use crate::{Bench, Run, dem, rgb};
use strile::tiff::DataType;
use strile::{Dataset, Input, OpenOptions, ReadOptions};

fn bench() -> Bench {
    let bench = Bench::new();
    for folder in ["a", "b", "a/below"] {
        std::fs::create_dir_all(bench.path(folder)).unwrap();
    }
    bench.file("a/dem.tif", &dem().1);
    bench.file("a/rgb.TIFF", &rgb().1);
    bench.file("a/notes.txt", b"no raster");
    bench.file("a/below/deep.tif", &dem().1);
    bench
}

fn exists(bench: &Bench, name: &str) -> bool {
    bench.path(name).exists()
}

#[test]
fn a_folder_is_converted_into_a_folder() {
    let bench = bench();
    let run = bench.run("convert a -o out --of COG --jobs 2");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.ends_with("2 files written\n"), "{}", run.stderr);
    assert!(
        exists(&bench, "out/dem.tif") && exists(&bench, "out/rgb.TIFF") && !exists(&bench, "out/deep.tif")
    );
    let same = bench.run("compare a/dem.tif out/dem.tif");
    assert!(!same.text().contains("pixels"), "{}", same.text());
    // Once more: all are there.
    let run = bench.run("convert a -o out --of COG --recursive");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("note: out/dem.tif exists and is skipped"), "{}", run.stderr);
    assert!(
        run.stderr.ends_with("1 file written, 2 skipped because they exist (--overwrite replaces them)\n")
    );
    assert!(exists(&bench, "out/deep.tif"));
    let run = bench.run("convert a -o out --overwrite");
    assert!(run.code == 0 && run.stderr.ends_with("2 files written\n"), "{}", run.stderr);
}

#[test]
fn failures_are_listed_at_the_end_and_the_rest_is_written() {
    let bench = bench();
    bench.file("a/broken.tif", b"II*\0 nothing more");
    let run = bench.run("convert a/broken.tif a/dem.tif a/missing.tif -o out -q");
    assert_eq!(run.code, 1, "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.first(), Some(&"error: 2 of 3 files failed:"), "{}", run.stderr);
    assert!(lines[1].starts_with("  a/broken.tif: ") && lines[2].starts_with("  a/missing.tif: "));
    assert!(exists(&bench, "out/dem.tif") && !exists(&bench, "out/broken.tif"));
    let run = bench.run("convert a/broken.tif a/missing.tif -o out -q");
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.starts_with("error: 2 of 2 files failed:"));
}

#[test]
fn names_that_meet_and_inputs_are_refused_before_anything_is_written() {
    let bench = bench();
    bench.file("b/dem.tif", &dem().1);
    let told = |run: Run, text: &str| assert!(run.code == 2 && run.stderr.contains(text), "{}", run.stderr);
    told(bench.run("convert a b -o out"), "would both be written to out/dem.tif");
    assert!(!exists(&bench, "out"));
    let before = std::fs::read(bench.path("a/dem.tif")).unwrap();
    told(bench.run("convert a -o a --overwrite"), "is an input and would be replaced");
    told(bench.run("convert b/dem.tif a/rgb.TIFF -o a --overwrite"), "is an input and would be replaced");
    assert_eq!(std::fs::read(bench.path("a/dem.tif")).unwrap(), before);
    told(bench.run("convert a/dem.tif b/dem.tif a/rgb.TIFF"), "expected IN and OUT, got 3 files");
    told(bench.run("convert a/dem.tif b"), "expected a file name, got a folder");
    told(bench.run("convert a/below b/dem.tif -o a/dem.tif"), "is not a folder");
    std::fs::create_dir(bench.path("empty")).unwrap();
    told(bench.run("convert empty -o out"), "has no files that end in .tif or .tiff");
    told(bench.run("convert - -o out"), "cannot be combined with -o DIR");
}

#[test]
fn options_of_gdal_translate_that_are_not_there_say_so() {
    let bench = bench();
    for (line, text) in [
        ("-stats", "`-stats` is not available in strile convert; "),
        ("-b mask", "`-b mask` is not available in strile convert; "),
        ("-r gauss -outsize 5 5", "nearest, bilinear, cubic, cubicspline, lanczos, average, rms, mode"),
        ("-ot CInt16", "expected one of Byte, Int8"),
        ("-srcwin 1000 0 5 5", "lies outside the image"),
        ("-srcwin -2 0 5 5 -epo", "lies partly outside"),
        ("-expand rgb", "has no colour table"),
        ("-outsize 0 0", "both sides"),
        ("-unscale -scale 0 1", "cannot be combined"),
        ("-scale 5 a/rgb.TIFF", "expected SRC_MIN,SRC_MAX"),
    ] {
        let run = bench.run(&format!("convert a/dem.tif out.tif {line}"));
        assert!(run.code == 2 && run.stderr.contains(text), "{line}: {}", run.stderr);
        assert!(!exists(&bench, "out.tif"), "{line}");
    }
}

#[test]
fn explain_tells_what_happens_to_pixels() {
    let bench = bench();
    let run = bench
        .run("convert --explain a/dem.tif out.tif -outsize 50% 0 -r cubic -ot Float64 -scale -a_nodata none");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.text().contains("by cubic, from ") && run.text().contains("which is found first"),
        "{}",
        run.text()
    );
    assert!(!exists(&bench, "out.tif"));
    let run = bench.run("convert --explain a -o out -outsize 10 0");
    assert!(run.code == 0 && run.text().contains("to      out/dem.tif"), "{}", run.text());
}

/// What changes nothing copies blocks; what changes one thing does not change another.
#[test]
fn pixels_change_only_where_they_are_asked_to() {
    let bench = bench();
    bench.run("-q convert a/rgb.TIFF plain.tif --co COMPRESS=LZW").clean();
    let run = bench.run("convert --explain plain.tif out.tif --co COMPRESS=LZW -mo A=b -a_scale 2");
    assert!(run.text().contains("blocks copied as they are"), "{}", run.text());
    bench.run("-q convert plain.tif floats.tif -ot Float32").clean();
    let (whole, floats) = (read(&bench, "plain.tif"), read(&bench, "floats.tif"));
    assert_eq!((whole.data_type, floats.data_type), (DataType::U8, DataType::F32));
    let same = whole
        .bytes()
        .unwrap()
        .iter()
        .zip(floats.bytes().unwrap().chunks_exact(4))
        .all(|(byte, float)| f32::from_ne_bytes(*float.first_chunk().unwrap()) == f32::from(*byte));
    assert!(same);
    // All at once in two pieces of work, or one after the other.
    bench.run("-q convert plain.tif part.tif -srcwin 3 2 10 6").clean();
    bench.run("-q convert part.tif two.tif -outsize 5 3 -r average -ovr none").clean();
    bench.run("-q convert plain.tif one.tif -srcwin 3 2 10 6 -outsize 5 3 -r average -ovr none").clean();
    assert_eq!(read(&bench, "two.tif"), read(&bench, "one.tif"));
}

fn read(bench: &Bench, name: &str) -> strile::Pixels {
    let dataset = Dataset::open(bench.path(name)).unwrap();
    dataset.read(&ReadOptions::default(), &strile::Context::default()).unwrap()
}

/// Every line of the guide for users of GDAL is one that strile parses.
#[test]
fn lines_of_the_guide_parse() {
    let bench = bench();
    for name in ["scene.tif", "dem.tif", "large.tif", "packed.tif", "classes.tif"] {
        bench.file(name, &rgb().1);
    }
    let guide = include_str!("../../../../docs/coming-from-gdal.md");
    let lines = guide.lines().filter_map(|line| line.split("`strile ").nth(1)?.split('`').next());
    let mut seen = 0;
    for line in lines.filter(|line| line.starts_with("convert -") || line.starts_with("convert scene")) {
        let run = bench.run(&format!("{line} --explain"));
        // Parsed, though not every line suits the file.
        assert!(
            !run.stderr.contains("Usage:") && !run.stderr.contains("not available"),
            "{line}: {}",
            run.stderr
        );
        seen += 1;
    }
    assert!(seen >= 20, "{seen} lines");
    assert!(Input::open(bench.path("scene.tif"), &OpenOptions::default()).is_ok());
}
