//! Other readers and writers on the same files in the same run: GDAL, if `python3` has rasterio; with CuPy's upload if
//! pixels go to a device. Missing programs are reported.

use super::measure::Bench;
use super::write::Target;
use super::{name, set};
use crate::aligned;
use crate::args::{BenchArgs, FileFormat};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use strile::Context;

/// Prints one JSON line: reader and seconds, or why it cannot read.
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

/// Prints one JSON line: writer of the array, the best and the median seconds, and the bytes of the file, or why it
/// cannot write.
const WRITE: &str = r#"
import json, os, sys, time
path, target, threads, repeat, driver = sys.argv[1:6]
options = dict(word.split("=", 1) for word in sys.argv[6:])
try:
    import rasterio
    with rasterio.open(path) as source:
        pixels, kept = source.read(), ("width", "height", "count", "dtype", "crs", "transform", "nodata")
        profile = {key: source.profile[key] for key in kept}
    times = []
    for _ in range(int(repeat) + 1):
        if os.path.exists(target):
            os.remove(target)
        start = time.perf_counter()
        with rasterio.open(target, "w", driver=driver, NUM_THREADS=threads, **profile, **options) as out:
            out.write(pixels)
        times.append(time.perf_counter() - start)
    times = sorted(times[1:])
    print(json.dumps({
        "peer": f"GDAL {rasterio.__gdal_version__} {driver}", "seconds": times[0],
        "median_seconds": times[len(times) // 2], "file_bytes": os.path.getsize(target),
    }))
except Exception as reason:
    print(json.dumps({"peer": "GDAL by rasterio", "error": f"{type(reason).__name__}: {reason}"[:300]}))
"#;

/// Writes the pixels of a file with the peers.
pub fn write(
    file: &Path,
    target: &Target,
    options: &[(String, String)],
    args: &BenchArgs,
    context: &Context,
) -> Value {
    let driver = match args.of {
        Some(FileFormat::Cog) => "COG",
        Some(FileFormat::GTiff) | None => "GTiff",
    };
    let file = file.display().to_string();
    let mut words = vec![file.clone(), target.path().display().to_string(), context.threads.to_string()];
    words.extend([args.repeat.to_string(), driver.to_owned()]);
    words.extend(options.iter().map(|(key, value)| format!("{key}={value}")));
    let mut answer = ask(WRITE, &words);
    set(&mut answer, "file", file.into());
    answer
}

/// Runs the peers; returns text and JSON.
pub fn run(args: &BenchArgs, bench: &Bench) -> (String, Value) {
    let mut found = Vec::new();
    for file in &args.files {
        let file = file.display().to_string();
        let (threads, repeat) = (bench.context.threads.to_string(), bench.repeat.to_string());
        let mut answer = ask(READ, &[file.clone(), threads, repeat, name(bench.to).to_owned()]);
        set(&mut answer, "file", file.into());
        found.push(answer);
    }
    (text(&found), found.into())
}

/// Formats answers as a table.
pub fn text(answers: &[Value]) -> String {
    let mut rows = vec![["file", "peer", "seconds", "bytes"].map(str::to_owned).to_vec()];
    let sized = answers.iter().any(|answer| answer.get("file_bytes").is_some());
    for answer in answers {
        let word = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let seconds = answer.get("seconds").and_then(Value::as_f64);
        let told = seconds.map_or_else(|| format!("not measured: {}", word("error")), |s| format!("{s:.4}"));
        let bytes = answer.get("file_bytes").and_then(Value::as_u64).map(strile::bytes::human);
        rows.push(vec![word("file"), word("peer"), told, bytes.unwrap_or_default()]);
    }
    if !sized {
        rows.iter_mut().for_each(|row| row.truncate(3));
    }
    aligned(&rows)
}

fn ask(script: &str, words: &[String]) -> Value {
    let output = Command::new("python3")
        .arg("-c")
        .arg(script)
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
