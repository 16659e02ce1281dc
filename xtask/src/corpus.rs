//! Runs the program on the conformance corpus, with the corpus's own checker: the release build in this chore, and in
//! CI the build of the other steps, because a release build takes longer than the check.
//!
//! The corpus is not part of the repository. `STRILE_CORPUS` names its folder, packed (`unpack`, `check.py`) or
//! unpacked (`manifest.json`). A packed corpus is unpacked once, into the target folder.
//!
//! Every case must pass, except those that [`DIFFER`] names with a reason. A listed case that passes is a failure too,
//! so the list stays current.

use crate::failure::Failure;
use crate::process;
use crate::venv;
use crate::workspace::Workspace;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cases in which strile differs from the corpus's reference reader: file, class of the case, and reason.
const DIFFER: [(&str, &str, &str); 7] = [
    (
        "files/BitMiracle__libtiff.net/TestCase/Expected.Tiff/tiger-separated-strip-planar-08.tif_converted_jpeg.tif",
        "lossy",
        "CMYK: strile returns the stored samples, GDAL renders RGBA (docs/correctness.md)",
    ),
    (
        "files/BitMiracle__libtiff.net/TestCase/flower-ycbcr44-contig-08.tif",
        "rendered",
        "chroma subsampled 4 x 4: GDAL leaves the last rows of the last unit black (docs/correctness.md)",
    ),
    (
        "files/Daniel-Alievsky__algart-tiff/src/test/resources/demo/images/tiff/algart/deflate_rgb_stripped_5_6_5_bits.tiff",
        "single",
        "samples of 5, 6 and 5 bits: tifffile swaps the bytes of big-endian files (docs/correctness.md)",
    ),
    (
        "files/Daniel-Alievsky__algart-tiff/src/test/resources/demo/images/tiff/algart/depth/big-endian/test-rgb-5-6-5.tif",
        "single",
        "samples of 5, 6 and 5 bits: tifffile swaps the bytes of big-endian files (docs/correctness.md)",
    ),
    (
        "files/OSGeo__gdal/autotest/gcore/data/int24.tif",
        "single",
        "signed samples of 24 bits keep their sign, GDAL returns them as unsigned (docs/correctness.md)",
    ),
    ("files/generated/tf_jpegxr_lossy.tif", "lossy", "no decoder for JPEG XR"),
    (
        "files/image-rs__image-tiff/tests/images/cmyk-4c-8b.tiff",
        "mask",
        "CMYK with alpha: GDAL renders RGB, and its mask is all valid (docs/correctness.md)",
    ),
];

/// Location of the checker and the unpacked files.
pub struct Corpus {
    checker: PathBuf,
    files: PathBuf,
}

impl Corpus {
    /// Finds the corpus and unpacks it if needed; `None` if this machine has none.
    pub fn find(workspace: &Workspace) -> Result<Option<Self>, Failure> {
        let named = std::env::var_os("STRILE_CORPUS").map(PathBuf::from);
        let folders: Vec<&Path> = named.iter().map(PathBuf::as_path).collect();
        let in_folders = |name: &str| folders.iter().map(|f| f.join(name)).find(|path| path.is_file());
        // An unpacked corpus may lie inside the folder of the checker.
        let checker = in_folders("check.py").or_else(|| in_folders("../check.py"));
        let manifest = in_folders("manifest.json").or_else(|| in_folders("corpus/manifest.json"));
        let Some(checker) = checker else { return Ok(None) };
        if let Some(files) = manifest.as_deref().and_then(Path::parent) {
            return Ok(Some(Self { checker, files: files.to_owned() }));
        }
        let Some(unpack) = in_folders("unpack") else { return Ok(None) };
        let printed = process::capture(Command::new(unpack).arg(workspace.target.join("corpus")))?;
        Ok(Some(Self { checker, files: PathBuf::from(printed.trim()) }))
    }

    /// Returns the folder with `manifest.json`, `files` and `hostile`.
    pub fn folder(&self) -> &Path {
        &self.files
    }

    /// Runs every case, shows the checker's summary and fails if any case has an unexpected result.
    pub fn check(&self, workspace: &Workspace, strile: &Path, rest: &[String]) -> Result<(), Failure> {
        let python = venv::CHECKS.python(workspace)?;
        let dump = |options: &str| format!("'{}' dump --format raw {options}{{file}}", strile.display());
        let results = workspace.target.join("corpus.json");
        let _ = std::fs::remove_file(&results);
        let command = &mut Command::new(python);
        command.arg(&self.checker).arg(&self.files).args(["--geo", "--overviews", "--masks", "--show", "60"]);
        // The checker counts overviews from 0; level 0 is full resolution.
        let level = format!(
            "sh -c 'exec \"$1\" dump --format raw --level $(({{level}} + 1)) \"$2\"' sh '{}' {{file}}",
            strile.display()
        );
        command.arg("--cmd").arg(dump("")).arg("--ovr-cmd").arg(level);
        command.arg("--mask-cmd").arg(dump("--mask ")).arg("--json").arg(&results).args(rest);
        // Its exit status only says whether anything fails; here the failing cases matter.
        process::show_and_keep(command)?;
        let json = std::fs::read_to_string(&results)
            .map_err(|e| Failure::new(format!("the checker left no results: {}: {e}", results.display())))?;
        let judged = judge(&json, &DIFFER)?;
        println!(
            "corpus: {} of {} cases pass, samples and georeferencing; {} differ with a reason",
            judged.passes, judged.cases, judged.excused
        );
        Failure::unless_empty("corpus", &judged.complaints)
    }
}

/// Runs the chore; the corpus must exist.
pub fn run(workspace: &Workspace, rest: &[String]) -> Result<(), Failure> {
    let corpus = Corpus::find(workspace)?
        .ok_or_else(|| Failure::new("no corpus: STRILE_CORPUS names the folder of one"))?;
    corpus.check(workspace, &workspace.release_binary()?, rest)
}

/// Summary of the checker's results.
#[derive(Debug, Default, PartialEq)]
struct Judged {
    cases: usize,
    passes: usize,
    excused: usize,
    complaints: Vec<String>,
}

/// Compares the checker's results with the list of cases that may differ.
fn judge(json: &str, differ: &[(&str, &str, &str)]) -> Result<Judged, Failure> {
    let results: Vec<Value> =
        serde_json::from_str(json).map_err(|e| Failure::new(format!("the checker's results: {e}")))?;
    let mut judged = Judged { cases: results.len(), ..Judged::default() };
    for case in &results {
        let word = |key: &str| case.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, class) = (word("name"), word("cls"));
        let geo = case.get("geo").filter(|geo| !geo.is_null());
        let passes = word("status") == "pass" && geo.is_none();
        let excuse = differ.iter().find(|(file, of, _)| *file == name && *of == class);
        match (passes, excuse) {
            (true, None) => judged.passes += 1,
            (false, Some(_)) => judged.excused += 1,
            (true, Some((_, _, reason))) => judged.complaints.push(format!(
                "{name} [{class}] passes, but is listed as one that differs ({reason}): remove it from the list"
            )),
            (false, None) => {
                let reason = geo.map_or_else(|| word("reason").to_owned(), Value::to_string);
                judged.complaints.push(format!("{name} [{class}]: {reason}"));
            }
        }
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = r#"[{"name": "a", "cls": "exact", "status": "pass", "geo": null},
        {"name": "a", "cls": "mask", "status": "fail", "reason": "pixels differ", "geo": null},
        {"name": "b", "cls": "exact", "status": "pass", "geo": "epsg 1 want 2"}]"#;

    #[test]
    fn every_case_passes_or_is_listed() {
        let judged = judge(RESULTS, &[("a", "mask", "why"), ("b", "exact", "why")]).unwrap();
        assert_eq!(judged, Judged { cases: 3, passes: 1, excused: 2, complaints: Vec::new() });
        let judged = judge(RESULTS, &[]).unwrap();
        assert_eq!(judged.complaints, ["a [mask]: pixels differ", "b [exact]: \"epsg 1 want 2\""]);
        assert!(judge("Traceback", &[]).is_err());
    }

    #[test]
    fn a_listed_case_that_passes_is_a_complaint() {
        let listed = [("a", "exact", "why"), ("a", "mask", "why"), ("b", "exact", "why")];
        let judged = judge(RESULTS, &listed).unwrap();
        assert_eq!(judged.complaints.len(), 1);
        assert!(judged.complaints[0].starts_with("a [exact] passes"), "{:?}", judged.complaints);
    }
}
