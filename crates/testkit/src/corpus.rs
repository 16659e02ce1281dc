//! The conformance corpus. A test that does not find it prints why and counts as skipped.
//!
//! `STRILE_CORPUS` names its folder, which contains `manifest.json`, or `corpus.tar.xz`, which is unpacked once below
//! the target folder by the system's `tar`.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An available corpus: its folder and records.
#[derive(Debug)]
pub struct Corpus {
    /// The folder that record names are relative to.
    pub root: PathBuf,
    /// Files with known pixels.
    pub files: Vec<Record>,
    /// Files that must not do harm.
    pub hostile: Vec<Hostile>,
}

/// A file with known pixels.
#[derive(Debug)]
pub struct Record {
    /// Path below the root.
    pub name: String,
    /// `own` or `permissive`.
    pub licence_class: String,
    /// `exact`, `single`, `lossy`, `rendered` or `ambiguous`.
    pub class: String,
    /// Accepted results; one of them must match.
    pub accept: Vec<Accept>,
    /// Overviews, 0 the largest.
    pub overviews: Vec<Overview>,
    /// The per-dataset mask, as 0 and 255.
    pub mask: Option<Mask>,
    /// rasterio's georeference, as in the manifest.
    pub geo: Option<Json>,
    /// The same without sidecar files, if it differs.
    pub geo_internal: Option<Json>,
    /// Facts of the file (`comp_name`, `planar`, …), as in the manifest.
    pub features: Json,
}

/// Accepted pixels.
#[derive(Debug)]
pub struct Accept {
    /// numpy's name of the type.
    pub dtype: String,
    /// Bands, rows, columns.
    pub shape: [usize; 3],
    /// Exact digest, or closeness to a stored window.
    pub pixels: AcceptPixels,
}

/// How pixels are compared.
#[derive(Debug)]
pub enum AcceptPixels {
    /// Digest of the little-endian samples.
    Digest(String),
    /// Closeness to a window of reference pixels.
    Near {
        /// A `.npy` file below the root.
        reference: String,
        /// First row, first column, rows, columns.
        window: [usize; 4],
        /// Maximum mean absolute difference.
        mae: f64,
        /// Maximum 99th percentile of differences.
        p99: f64,
        /// Maximum difference, if limited.
        max: Option<f64>,
        /// Mean of each band over the whole image.
        band_mean: Vec<f64>,
    },
}

/// Expected pixels of an overview.
#[derive(Debug)]
pub struct Overview {
    /// 0 the largest.
    pub level: usize,
    /// Bands, rows, columns.
    pub shape: [usize; 3],
    /// numpy's name of the type.
    pub dtype: String,
    /// Digest of the little-endian samples.
    pub sha256: String,
    /// Whether the codec is lossy, so that the digest only applies to the same decoder.
    pub lossy: bool,
}

/// Expected mask.
#[derive(Debug)]
pub struct Mask {
    /// Rows, columns.
    pub shape: [usize; 2],
    /// Digest of the bytes 0 and 255.
    pub sha256: String,
    /// rasterio's mask flags; `per_dataset` is an internal mask or alpha.
    pub kinds: Vec<String>,
}

/// A file that must not do harm.
#[derive(Debug)]
pub struct Hostile {
    /// Path below the root.
    pub name: String,
    /// Expected result.
    pub expect: Expect,
    /// If data are expected: accepted results.
    pub accept: Vec<Accept>,
    /// Accepted kinds of error.
    pub kinds: Vec<String>,
    /// Time limit in seconds.
    pub seconds: f64,
    /// Limit of resident memory in megabytes.
    pub rss_mb: f64,
}

/// Expected result of a hostile file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A clear error.
    Error,
    /// Either.
    ErrorOrData,
    /// The correct pixels.
    Data,
}

impl Corpus {
    /// Returns the corpus, or `None` after printing why the test is skipped.
    pub fn find() -> Option<Self> {
        match Self::root() {
            Ok(root) => Some(Self::open(&root)),
            Err(reason) => {
                eprintln!("skipped: no corpus: {reason}");
                None
            }
        }
    }

    fn root() -> Result<PathBuf, String> {
        let folder = std::env::var_os("STRILE_CORPUS").ok_or("STRILE_CORPUS names no folder")?;
        let folder = PathBuf::from(folder);
        let unpacked = [folder.clone(), folder.join("corpus")];
        if let Some(found) = unpacked.into_iter().find(|f| f.join("manifest.json").is_file()) {
            return Ok(found);
        }
        let archive = folder.join("corpus.tar.xz");
        if !archive.is_file() {
            return Err(format!("no manifest.json or corpus.tar.xz in STRILE_CORPUS ({})", folder.display()));
        }
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from);
        unpack(&archive, &target.join("corpus"))
    }

    /// Reads the manifest of an unpacked corpus.
    pub fn open(root: &Path) -> Self {
        let text = std::fs::read(root.join("manifest.json")).expect("a readable manifest");
        let manifest: Json = serde_json::from_slice(&text).expect("a manifest in JSON");
        let list = |key: &str| manifest[key].as_array().expect("a list of records").clone();
        Self {
            root: root.to_path_buf(),
            files: list("files").iter().map(record).collect(),
            hostile: list("hostile").iter().map(hostile).collect(),
        }
    }

    /// Returns the path of a record's file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// Unpacks into a folder of this process and renames it, so that concurrent tests do not interfere.
fn unpack(archive: &Path, to: &Path) -> Result<PathBuf, String> {
    let done = to.join("corpus");
    if done.join("manifest.json").is_file() {
        return Ok(done);
    }
    let fresh = to.with_extension(format!("unpacking-{}", std::process::id()));
    std::fs::create_dir_all(&fresh).map_err(|e| format!("{}: {e}", fresh.display()))?;
    let status = Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(&fresh).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("tar ended with {status}")),
        Err(error) => return Err(format!("tar could not be started: {error}")),
    }
    if std::fs::rename(&fresh, to).is_err() {
        // Another process was first.
        let _ = std::fs::remove_dir_all(&fresh);
    }
    if done.join("manifest.json").is_file() { Ok(done) } else { Err("the archive holds no manifest".into()) }
}

fn text(json: &Json) -> String {
    json.as_str().expect("a string in the manifest").to_owned()
}

fn texts(json: &Json) -> Vec<String> {
    json.as_array().map(|list| list.iter().map(text).collect()).unwrap_or_default()
}

fn number(json: &Json) -> f64 {
    json.as_f64().expect("a number in the manifest")
}

fn sizes<const N: usize>(json: &Json) -> [usize; N] {
    let list = json.as_array().expect("a shape in the manifest");
    assert_eq!(list.len(), N, "a shape of the manifest");
    std::array::from_fn(|i| list[i].as_u64().expect("a size") as usize)
}

fn list<T>(json: &Json, read: impl Fn(&Json) -> T) -> Vec<T> {
    json.as_array().map(|list| list.iter().map(read).collect()).unwrap_or_default()
}

fn accept(json: &Json) -> Accept {
    let pixels = match json["sha256"].as_str() {
        Some(digest) => AcceptPixels::Digest(digest.to_owned()),
        None => AcceptPixels::Near {
            reference: text(&json["ref"]),
            window: sizes(&json["window"]),
            mae: number(&json["tol"]["mae"]),
            p99: number(&json["tol"]["p99"]),
            max: json["tol"]["max"].as_f64(),
            band_mean: list(&json["band_mean"], number),
        },
    };
    Accept { dtype: text(&json["dtype"]), shape: sizes(&json["shape"]), pixels }
}

fn record(json: &Json) -> Record {
    let overview = |o: &Json| Overview {
        level: o["level"].as_u64().expect("a level") as usize,
        shape: sizes(&o["shape"]),
        dtype: text(&o["dtype"]),
        sha256: text(&o["sha256"]),
        lossy: o["lossy"].as_bool().unwrap_or(false),
    };
    let mask =
        |m: &Json| Mask { shape: sizes(&m["shape"]), sha256: text(&m["sha256"]), kinds: texts(&m["kinds"]) };
    Record {
        name: text(&json["name"]),
        licence_class: text(&json["licence_class"]),
        class: text(&json["oracle"]["cls"]),
        accept: list(&json["oracle"]["accept"], accept),
        overviews: list(&json["overviews"], overview),
        mask: json.get("mask").map(mask),
        geo: json.get("geo").cloned(),
        geo_internal: json.get("geo_internal").cloned(),
        features: json["features"].clone(),
    }
}

fn hostile(json: &Json) -> Hostile {
    let expect = match json["expect"].as_str() {
        Some("error") => Expect::Error,
        Some("error-or-data") => Expect::ErrorOrData,
        Some("data") => Expect::Data,
        other => panic!("{other:?} is no expectation"),
    };
    Hostile {
        name: text(&json["name"]),
        expect,
        accept: list(&json["accept"], accept),
        kinds: texts(&json["kinds"]),
        seconds: number(&json["limits"]["seconds"]),
        rss_mb: number(&json["limits"]["rss_mb"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_has_an_answer_and_a_file() {
        let Some(corpus) = Corpus::find() else { return };
        assert!(corpus.files.iter().all(|r| !r.accept.is_empty()));
        assert!(corpus.hostile.iter().all(|h| h.expect != Expect::Data || !h.accept.is_empty()));
        for name in corpus.files.iter().map(|r| &r.name).chain(corpus.hostile.iter().map(|h| &h.name)) {
            assert!(corpus.path(name).is_file(), "{name}");
        }
    }
}
