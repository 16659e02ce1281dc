//! Other readers on the same files in the same run: GDAL, where `python3` has rasterio; with CuPy's upload where pixels
//! go to a device. What is not installed is said, not left out.

use super::measure::Bench;
use super::name;
use crate::args::BenchArgs;
use crate::output::table;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// Answers one JSON line: who read, and seconds, or why not.
const READ: &str = r#"
import json, sys, time
path, threads, repeat, to = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
try:
    import rasterio
    upload = lambda pixels: None
    if to == "device":
        import cupy
        def upload(pixels):
            array = cupy.asarray(pixels)
            cupy.cuda.Device().synchronize()
    drivers = ["LIBERTIFF", "GTiff"]
    best, driver = None, None
    for driver in drivers:
        try:
            rasterio.open(path, driver=driver).close()
            break
        except rasterio.errors.RasterioError:
            continue
    for _ in range(repeat + 1):
        start = time.perf_counter()
        with rasterio.open(path, driver=driver, NUM_THREADS=threads) as dataset:
            upload(dataset.read())
        seconds = time.perf_counter() - start
        best = seconds if best is None else min(best, seconds)
    who = f"GDAL {rasterio.__gdal_version__} {driver}" + (" + CuPy" if to == "device" else "")
    print(json.dumps({"peer": who, "seconds": best}))
except Exception as reason:
    print(json.dumps({"peer": "GDAL by rasterio", "error": f"{type(reason).__name__}: {reason}"[:300]}))
"#;

/// For people and for programs.
pub fn run(args: &BenchArgs, bench: &Bench) -> (String, Value) {
    let mut rows = vec![["file", "peer", "seconds"].map(str::to_owned).to_vec()];
    let mut found = Vec::new();
    for file in &args.files {
        let file = file.display().to_string();
        let answer = ask(&file, bench);
        let word = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let seconds = answer.get("seconds").and_then(Value::as_f64);
        let told = seconds.map_or_else(|| format!("not measured: {}", word("error")), |s| format!("{s:.4}"));
        rows.push(vec![file.clone(), word("peer"), told]);
        let mut answer = answer;
        super::set(&mut answer, "file", file.into());
        found.push(answer);
    }
    (table(&rows), found.into())
}

fn ask(file: &str, bench: &Bench) -> Value {
    let words = [file, &bench.context.threads.to_string(), &bench.repeat.to_string(), name(bench.to)];
    let output = Command::new("python3")
        .arg("-c")
        .arg(READ)
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let failed = |reason: String| json!({ "peer": "GDAL by rasterio", "error": reason });
    match output {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let answer = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
            answer.unwrap_or_else(|| failed(format!("python3 ended with {}", output.status)))
        }
        Err(error) => failed(format!("python3 did not start: {error}")),
    }
}
