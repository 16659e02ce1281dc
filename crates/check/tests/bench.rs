//! What the program `bench` measures, draws and traces, on the CPU engine.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use strile_tiff::{ByteOrder, Predictor, SampleFormat, SampleType};
use tempfile::TempDir;
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, Pattern, Pixels, Tag};

const FLOAT32: SampleType = SampleType { format: SampleFormat::Float, bits: 32 };
const UINT8: SampleType = SampleType { format: SampleFormat::Uint, bits: 8 };

/// A folder that goes away, and the program run in it.
struct Bench(TempDir);

/// What a run of the program gave.
struct Run {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Run {
    fn new(output: Output) -> Self {
        let Output { status, stdout, stderr } = output;
        Self { code: status.code().unwrap(), stdout, stderr: String::from_utf8(stderr).unwrap() }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }

    /// Exit 0 and nothing on standard error.
    fn clean(self) -> Self {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""));
        self
    }
}

impl Bench {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn run(&self, line: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
        Run::new(command.args(line.split_whitespace()).current_dir(self.folder()).output().unwrap())
    }

    /// Names in the folder, sorted.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// An elevation model of 70 × 50 pixels in tiles, with a mask.
fn dem() -> Vec<u8> {
    let pixels = Pixels::generate(Pattern::Dem, FLOAT32, [1, 50, 70], 7);
    let spec = ImageSpec::new(FLOAT32).grid(Grid::Tiles(32, 16)).codec(Codec::Deflate);
    let spec = spec.predictor(Predictor::FloatingPoint);
    let mask_pixels = Pixels::generate(Pattern::LandCover, UINT8, [1, 50, 70], 3);
    let mask = ImageSpec::new(UINT8).codec(Codec::Deflate).subfile_type(4).photometric(4);
    let frame = FileFrame { order: ByteOrder::Little, big: false, file_order: FileOrder::DirectoriesFirst };
    spec.build_with(&pixels, &[(mask, mask_pixels)], frame).bytes
}

/// Three interleaved bytes per pixel, 20 × 12, in strips of 5 rows; BigTIFF, big-endian.
fn rgb() -> Vec<u8> {
    let pixels = Pixels::generate(Pattern::Noise, UINT8, [3, 12, 20], 5);
    let spec = ImageSpec::new(UINT8).grid(Grid::Strips(5)).codec(Codec::PackBits);
    spec.build(&pixels, ByteOrder::Big, true).bytes
}

#[test]
fn bench_gives_the_best_read() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem());
    let json = bench.run("dem.tif --decode-on cpu --threads 2 --repeat 2 --json").clean().json();
    let result = &json["results"][0];
    assert_eq!((&result["file"], &result["device"]), (&"dem.tif".into(), &"cpu".into()));
    assert_eq!(
        (&result["threads"], &result["bytes"], &result["repeat"]),
        (&2.into(), &14_000.into(), &2.into())
    );
    assert!(
        result["seconds"].as_f64().unwrap() > 0.0 && result["gigabytes_per_second"].as_f64().unwrap() > 0.0
    );
    assert!(result["median_seconds"].as_f64().unwrap() >= result["seconds"].as_f64().unwrap());
    assert_eq!(
        (&result["to"], &result["blocks"], &result["host_blocks"]),
        (&"host".into(), &12.into(), &0.into())
    );
    assert!(result["stages"]["decode"].is_number());
    let there = bench.run("dem.tif --decode-on cpu --to device --repeat 1 --json");
    if !there.stderr.contains("device `cuda:0` cannot be used: ") {
        let there = there.clean().json();
        assert_eq!(
            (&there["results"][0]["to"], &there["results"][0]["bytes"]),
            (&"device".into(), &14_000.into())
        );
    }
    let run = bench.run("dem.tif").clean();
    assert_eq!(run.text().lines().count(), 2);
    assert!(bench.run("--explain dem.tif").clean().text().contains("12 tiles of 32 × 16, deflate"));
}

#[test]
fn a_stage_for_everything_and_no_floor_without_a_bus() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem());
    let json = bench.run("dem.tif --decode-on cpu --repeat 1 --json").clean().json();
    let result = &json["results"][0];
    for stage in ["open", "plan", "read", "copy", "decode", "place", "host", "whole"] {
        assert!(result["stages"][stage].as_f64().unwrap() >= 0.0, "{stage}");
    }
    assert_eq!(result["floor"], Value::Null);
    let whole = result["stages"]["whole"].as_f64().unwrap();
    assert!(
        result["stages"]["open"].as_f64().unwrap() <= whole && whole == result["seconds"].as_f64().unwrap()
    );
}

#[test]
fn growth_counts_blocks_and_draws_them() {
    let bench = Bench::new();
    bench.file("a&b.tif", &dem());
    bench.file("rgb.tif", &rgb());
    let run = bench.run("a&b.tif rgb.tif --decode-on cpu --repeat 1 --growth --svg g.svg --json").clean();
    let growth = &run.json()["growth"];
    let blocks = |curve: usize, of: &str| {
        let points = growth[curve][of].as_array().unwrap().iter();
        points.map(|point| point["blocks"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    // Tiles of 32 × 16 in 70 × 50: 3 across, 4 down. Windows: 7 × 5 from (31, 22), 22 × 16 from (24, 17), all.
    assert_eq!(blocks(0, "blocks"), [1, 4, 12]);
    assert_eq!(blocks(0, "windows"), [2, 4, 12]);
    // Three strips, one across.
    assert_eq!(blocks(1, "blocks"), [1, 3]);
    let percents = growth[1]["windows"].as_array().unwrap().iter().map(|w| w["percent"].as_u64().unwrap());
    assert_eq!(percents.collect::<Vec<_>>(), [1, 10, 100]);
    let svg = std::fs::read_to_string(bench.path("g.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!((svg.matches("<polyline ").count(), svg.matches("<circle ").count()), (2, 5));
    assert!(svg.contains("a&amp;b.tif, cpu") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    let text = bench.run("rgb.tif --decode-on cpu --repeat 1 --growth").clean();
    assert!(text.text().contains("µs a block") && text.text().contains("10 %"), "{}", text.text());
    assert_eq!(bench.run("rgb.tif --svg g.svg").code, 2);
}

#[test]
fn a_trace_has_a_process_for_each_file() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem());
    bench.file("rgb.tif", &rgb());
    bench.run("dem.tif rgb.tif --decode-on cpu --repeat 1 --trace t.json").clean();
    let trace: Value = serde_json::from_slice(&std::fs::read(bench.path("t.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|e| e["name"] == name).collect::<Vec<_>>();
    let files: Vec<&Value> = named("process_name").iter().map(|e| &e["args"]["name"]).collect();
    assert_eq!(files, ["dem.tif", "rgb.tif"]);
    let (open, read) = (named("open"), named("plan and read"));
    assert_eq!((open.len(), read.len()), (2, 2));
    for (open, read) in open.iter().zip(&read) {
        assert_eq!((&open["ph"], &open["tid"]), (&"X".into(), &read["tid"]));
        let end = open["ts"].as_f64().unwrap() + open["dur"].as_f64().unwrap();
        assert!(end <= read["ts"].as_f64().unwrap() + 1e-3 && read["dur"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn peers_that_are_not_there_are_named() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem());
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(["dem.tif", "--decode-on", "cpu", "--repeat", "1", "--peers"]);
    let output = command.current_dir(bench.folder()).env("PATH", bench.folder()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("not measured: python3 did not start"), "{text}");
}

#[test]
fn a_link_is_a_rate() {
    let bench = Bench::new();
    for wrong in ["0", "-1", "inf", "fast"] {
        let run = bench.run(&format!("x.tif --link={wrong}"));
        assert!(run.code == 2 && run.stderr.contains("expected a number of GB/s"), "{wrong}: {}", run.stderr);
    }
}

#[test]
fn what_is_read_is_not_replaced_and_what_is_asked_of_a_gpu_is_not_dropped() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem());
    for words in ["--growth --svg dem.tif", "--trace dem.tif"] {
        let run = bench.run(&format!("dem.tif --decode-on cpu --repeat 1 {words}"));
        assert!(run.stderr.contains("it would be replaced"), "{}", run.stderr);
    }
    assert!(std::fs::read(bench.path("dem.tif")).unwrap() == dem());
    let run = bench.run("dem.tif --decode-on cpu --direct-io on");
    assert!(run.stderr.contains("the CPU decodes this read"), "{}", run.stderr);
    let run = bench.run("dem.tif --decode-on cpu --nvcomp trusted --explain").clean();
    assert!(run.text().contains("not decoded by nvCOMP: the CPU decodes"), "{}", run.text());
}

#[test]
fn written_files_are_stored_as_the_read_ones_compared_and_gone() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem());
    bench.file("rgb.tif", &rgb());
    let run = bench
        .run("dem.tif rgb.tif --write . --encode-on cpu --decode-on cpu --threads 2 --repeat 2 --json")
        .clean();
    let json = run.json();
    let [dem, rgb] = [&json["results"][0], &json["results"][1]];
    assert_eq!((&dem["file"], &dem["bytes"], &dem["repeat"]), (&"dem.tif".into(), &14_000.into(), &2.into()));
    assert_eq!((&dem["device"], &dem["from"], &dem["same"]), (&"cpu".into(), &"host".into(), &true.into()));
    // 12 tiles and the same of the mask.
    assert_eq!((&dem["blocks"], &dem["levels"]), (&24.into(), &1.into()));
    let stored = serde_json::json!({
        "COMPRESS": "DEFLATE", "PREDICTOR": "3", "TILED": "YES", "BLOCKXSIZE": "32", "BLOCKYSIZE": "16",
        "INTERLEAVE": "PIXEL",
    });
    assert_eq!(dem["options"], stored);
    assert_eq!((&rgb["options"]["COMPRESS"], &rgb["options"]["TILED"]), (&"PACKBITS".into(), &"NO".into()));
    assert_eq!((&rgb["blocks"], &rgb["same"]), (&3.into(), &true.into()));
    let (bytes, ratio) = (dem["file_bytes"].as_f64().unwrap(), dem["ratio"].as_f64().unwrap());
    assert!(bytes > 0.0 && (ratio - 14_000.0 / bytes).abs() < 1e-9, "{bytes} {ratio}");
    assert!(dem["median_seconds"].as_f64().unwrap() >= dem["seconds"].as_f64().unwrap());
    assert!(dem["stages"]["finish"].is_number() && !dem["encoder"].as_str().unwrap().is_empty());
    assert_eq!(bench.names(), ["dem.tif", "rgb.tif"]);
}

#[test]
fn a_write_is_measured_as_it_was_asked_for() {
    let bench = Bench::new();
    bench.file("dem.tif", &dem());
    let words = "dem.tif --write . --encode-on cpu --decode-on cpu --repeat 1 --json";
    let more = "--of COG --co COMPRESS=ZSTD --co BLOCKSIZE=16 --streaming-buffer 4KiB --reproducible";
    let json = bench.run(&format!("{words} {more} --trace t.json")).clean().json();
    let found = &json["results"][0];
    assert_eq!((&found["streaming_buffer"], &found["reproducible"]), (&4096.into(), &true.into()));
    assert_eq!((&found["encoder"], &found["same"]), (&"portable-1".into(), &true.into()));
    assert_eq!((&found["options"]["COMPRESS"], &found["levels"]), (&"ZSTD".into(), &4.into()));
    assert!(found["spooled"].as_u64().unwrap() > 0);
    let trace: Value = serde_json::from_slice(&std::fs::read(bench.path("t.json")).unwrap()).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().iter().any(|event| event["name"] == "finish"));
    let text = bench.run("dem.tif --write . --encode-on cpu --decode-on cpu --repeat 1").clean();
    assert!(text.text().contains("the same"), "{}", text.text());
    for wrong in ["--co COMPRESS=ZSTD", "--of COG", "--reproducible", "--streaming-buffer 1MiB"] {
        assert_eq!(bench.run(&format!("dem.tif {wrong}")).code, 2, "{wrong}");
    }
    assert_eq!(bench.run("dem.tif --write . --growth").code, 2);
    let lost = bench.run("dem.tif --write nowhere --encode-on cpu --decode-on cpu");
    assert!(lost.code == 2 && lost.stderr.contains("nowhere"), "{}", lost.stderr);
}

#[test]
fn pixels_that_are_not_read_back_are_told() {
    let bench = Bench::new();
    bench.file("rgb.tif", &rgb());
    let run =
        bench.run("rgb.tif --write . --encode-on cpu --decode-on cpu --repeat 1 --co COMPRESS=JPEG --json");
    assert!(run.code == 1 && run.stderr.contains("other pixels"), "{} {}", run.code, run.stderr);
    assert_eq!(run.json()["results"][0]["same"], false);
}

/// Bug: with `ulimit -v` a program aborted (SIGABRT) where an allocation failed.
#[cfg(target_os = "linux")]
#[test]
fn an_allocation_that_fails_is_an_error() {
    let bench = Bench::new();
    // 30,000 × 30,000 bytes in 100 strips, none of which is stored.
    let sparse: Vec<usize> = (0..100).collect();
    let spec = ImageSpec::new(UINT8).grid(Grid::Strips(1)).sparse(&sparse);
    let spec = spec.tag(Tag::long(256, 30_000)).tag(Tag::long(257, 30_000)).tag(Tag::long(278, 300));
    let pixels = Pixels::generate(Pattern::LandCover, UINT8, [1, 100, 4], 1);
    bench.file("large.tif", &spec.build(&pixels, ByteOrder::Little, false).bytes);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 700000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_bench"), "large.tif"]);
    // The limit that is asked for is larger than what the system gives.
    command.args(["--decode-on", "cpu", "--threads", "2", "--memory", "8GiB"]);
    let run = Run::new(command.current_dir(bench.folder()).output().unwrap());
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("cannot allocate 900000000 bytes for decoded pixels"), "{}", run.stderr);
}
