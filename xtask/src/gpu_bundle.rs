//! Builds `carry/`, which a machine with a GPU and without Rust needs for the GPU check; `xtask/gpu/check.py` runs it
//! there.
//!
//! `programs.1`, `programs.2` and so on are one archive: programs (`bin`), test binaries (`tests`) and kernels with
//! line tables (`lines`). `corpus` is the corpus without its references, `wheel` the Python package; `bundle.toml`
//! identifies their sources. Peers are packed separately, by `xtask/gpu/pack_peers.py`. Transfers are limited in size,
//! so the bundle is split into parts for a few calls; the size of each call is checked here.

use crate::corpus::Corpus;
use crate::failure::Failure;
use crate::gpu_verified;
use crate::kernels;
use crate::process;
use crate::workspace::Workspace;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;
/// Maximum bytes of one call, including the repository.
const LIMIT: u64 = 60 * MIB;
/// Maximum part size of the packed programs.
const PART: usize = 28 << 20;
/// Maximum share of the packed corpus.
const CORPUS_LIMIT: u64 = 21 * MIB;

/// Package, kind of target, name.
type Target<'a> = (&'a str, &'a str, &'a str);

/// Profile of programs and the wheel: release code without link-time optimisation.
const PROFILE: &str = "gpu";

/// Programs.
const PROGRAMS: [Target<'static>; 10] = [
    ("strile-cli", "bin", "strile"),
    ("strile-check", "bin", "bench"),
    ("strile-check", "bin", "device_check"),
    ("strile-check", "bin", "device_bench"),
    ("strile-check", "bin", "write_check"),
    ("strile-check", "bin", "write_memory"),
    ("strile-check", "bin", "soak"),
    ("fuzz", "bin", "fuzz"),
    ("strile-cuda", "example", "gather_bench"),
    ("strile-cuda", "example", "kernel_bench"),
];

/// Packages with tests that optionally use a device, recognised by these words in a test's source.
const TESTED: [&str; 2] = ["strile-cuda", "strile"];
const ASKS_FOR_A_DEVICE: [&str; 3] = ["STRILE_REQUIRE_GPU", "mod on_any;", "mod engines;"];

/// Replaces the hash if sources changed while the bundle was built: such a bundle is not valid as proof.
const MIXED: &str = "sources changed while it was built";

/// Contents of the calls after those with the programs, in order: earlier contents are still present.
const CALLS: [&[&str]; 6] = [
    &["bundle.toml", "state.json", "corpus"],
    &["bundle.toml", "wheel"],
    &["bundle.toml", "peers-1"],
    &["bundle.toml", "peers-2"],
    &["bundle.toml", "peers-3"],
    &["bundle.toml", "peers-4"],
];

/// Builds the bundle.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let carry = workspace.root.join("carry");
    let hash = gpu_verified::source_hash(&workspace.root)?;
    for folder in ["bin", "tests"] {
        let folder = carry.join(folder);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|e| failed(&folder, &e))?;
        }
        fs::create_dir_all(&folder).map_err(|e| failed(&folder, &e))?;
    }
    let (present, absent): (Vec<Target>, Vec<Target>) =
        PROGRAMS.into_iter().partition(|(p, k, n)| targets(workspace, p, k).any(|(found, _)| found == *n));
    for (package, kind, name) in absent {
        println!("left out: {package} has no {kind} `{name}`");
    }
    // In one build: shared code is then compiled once, with the same features.
    for (name, built) in build(workspace, &["build", "--profile", PROFILE], &present)? {
        strip(&built, &carry.join("bin").join(name))?;
    }
    for package in TESTED {
        for name in tests_for_a_device(workspace, package) {
            for (_, built) in build(workspace, &["test", "--no-run"], &[(package, "test", &name)])? {
                strip(&built, &carry.join("tests").join(format!("{package}-{name}")))?;
            }
        }
    }
    // Races are reported by line, so the sanitizer gets kernels with line tables.
    kernels::with_lines(workspace, &carry.join("lines"))?;
    let packed = carry.join("programs.tar.xz");
    let mut tar = Command::new("tar");
    // Programs share much code: a large window finds it, and the filter makes jumps equal.
    tar.arg("-I").arg("xz --x86 --lzma2=preset=2,dict=128MiB").arg("-cf").arg(&packed);
    process::show(tar.arg("-C").arg(&carry).args(["bin", "tests", "lines"]))?;
    let (parts, programs) = split(&packed, PART)?;
    wheel(workspace, &carry)?;
    corpus(workspace, &carry)?;
    let same = gpu_verified::source_hash(&workspace.root)? == hash;
    describe(workspace, &carry, if same { &hash } else { MIXED }, &programs)?;
    sizes(workspace, &carry, &parts)
}

/// Cuts an archive into `programs.1`, `programs.2` and so on beside it, and removes it and the parts of an earlier one.
/// Returns their names and the hash of the whole archive, which identifies matching parts.
fn split(packed: &Path, part: usize) -> Result<(Vec<String>, String), Failure> {
    let folder = packed.parent().unwrap_or(Path::new("."));
    let bytes = fs::read(packed).map_err(|e| failed(packed, &e))?;
    for entry in fs::read_dir(folder).map_err(|e| failed(folder, &e))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("programs.") {
            fs::remove_file(entry.path()).map_err(|e| failed(&entry.path(), &e))?;
        }
    }
    let mut names = Vec::new();
    for (number, bytes) in bytes.chunks(part).enumerate() {
        let name = format!("programs.{}", number + 1);
        fs::write(folder.join(&name), bytes).map_err(|e| failed(&folder.join(&name), &e))?;
        names.push(name);
    }
    Ok((names, hex(&Sha256::digest(&bytes))))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// Returns the name and source of a package's targets of one kind.
fn targets<'a>(
    workspace: &'a Workspace,
    package: &'a str,
    kind: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let words = |value: &'a Value, key: &str| value.get(key).and_then(Value::as_str);
    let of_kind = move |target: &&Value| {
        let mut kinds = target.get("kind").and_then(Value::as_array).into_iter().flatten();
        kinds.any(|found| found.as_str() == Some(kind))
    };
    workspace
        .packages()
        .filter(move |found| words(found, "name") == Some(package))
        .filter_map(|found| found.get("targets").and_then(Value::as_array))
        .flatten()
        .filter(of_kind)
        .filter_map(move |target| words(target, "name").zip(words(target, "src_path")))
}

fn tests_for_a_device(workspace: &Workspace, package: &str) -> Vec<String> {
    let asks = |source: &str| {
        let text = fs::read_to_string(source).unwrap_or_default();
        ASKS_FOR_A_DEVICE.iter().any(|words| text.contains(words))
    };
    let tests = targets(workspace, package, "test").filter(|(_, source)| asks(source));
    tests.map(|(name, _)| name.to_owned()).collect()
}

/// Builds targets and returns the paths of the executables.
fn build<'a>(
    workspace: &Workspace,
    words: &[&str],
    targets: &[Target<'a>],
) -> Result<Vec<(&'a str, PathBuf)>, Failure> {
    let mut cargo = process::cargo(&workspace.root);
    cargo.args(words);
    for (package, kind, name) in targets {
        cargo.args(["--package", package, &format!("--{kind}"), name]);
    }
    cargo.arg("--message-format=json-render-diagnostics").stderr(std::process::Stdio::inherit());
    let named = targets.iter().map(|(_, _, name)| *name).collect::<Vec<_>>().join(", ");
    eprintln!("$ cargo {} for {named}", words.join(" "));
    let output = cargo.output().map_err(|e| Failure::new(format!("cargo did not start: {e}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("{named}: does not build")));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let found = targets.iter().map(|(_, _, name)| {
        let path = executable(&messages, name);
        path.map(|path| (*name, path))
            .ok_or_else(|| Failure::new(format!("cargo names no executable for `{name}`")))
    });
    found.collect()
}

/// Returns the path of a target's executable, from cargo's messages.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message.pointer("/target/name").and_then(Value::as_str) == Some(name))
        .filter_map(|message| message.get("executable").and_then(Value::as_str).map(PathBuf::from))
        .next_back()
}

/// Copies a program without its symbols; with symbols if there is no `strip`.
fn strip(from: &Path, to: &Path) -> Result<(), Failure> {
    if process::answers(Command::new("strip").arg("--version")) {
        return process::show(Command::new("strip").arg("-o").arg(to).arg(from));
    }
    fs::copy(from, to).map(|_| ()).map_err(|e| failed(from, &e))
}

/// Builds the Python package, if the repository has one and maturin is installed.
fn wheel(workspace: &Workspace, carry: &Path) -> Result<(), Failure> {
    let folder = carry.join("wheel");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| failed(&folder, &e))?;
    }
    let package = workspace.root.join("python");
    if !package.join("pyproject.toml").is_file() {
        println!("left out: no Python package in `python`");
        return Ok(());
    }
    let maturin = std::env::var("STRILE_MATURIN").unwrap_or_else(|_| "maturin".to_owned());
    if !process::answers(Command::new(&maturin).arg("--version")) {
        println!("left out: the wheel, `maturin` is not installed (STRILE_MATURIN names one)");
        return Ok(());
    }
    let mut command = Command::new(maturin);
    process::without_package(&mut command);
    command.current_dir(&package).args([
        "build",
        "--profile",
        PROFILE,
        "--strip",
        "--compatibility",
        "linux",
        "--out",
    ]);
    process::show(command.arg(&folder))
}

/// Packs all files of the corpus, including the hostile ones, with a list of their properties.
fn corpus(workspace: &Workspace, carry: &Path) -> Result<(), Failure> {
    let Some(corpus) = Corpus::find(workspace)? else {
        println!("left out: STRILE_CORPUS names no corpus");
        return Ok(());
    };
    let folder = carry.join("corpus");
    let (packed, stamp) = (folder.join("corpus.tar.xz"), folder.join("manifest.sha256"));
    let manifest = corpus.folder().join("manifest.json");
    let text = fs::read_to_string(&manifest).map_err(|e| failed(&manifest, &e))?;
    let hash = hex(&Sha256::digest(&text));
    fs::create_dir_all(&folder).map_err(|e| failed(&folder, &e))?;
    let list = folder.join("list.json");
    fs::write(&list, list_of(&text)?.to_string()).map_err(|e| failed(&list, &e))?;
    if packed.is_file() && fs::read_to_string(&stamp).is_ok_and(|kept| kept == hash) {
        return Ok(());
    }
    let mut tar = Command::new("tar");
    tar.env("XZ_OPT", "-6").arg("-cJf").arg(&packed).arg("-C").arg(corpus.folder());
    process::show(tar.args(["files", "hostile"]))?;
    let size = size_of(&packed);
    if size > CORPUS_LIMIT {
        return Err(Failure::new(format!(
            "the packed corpus takes {}, at most {} expected",
            mib(size),
            mib(CORPUS_LIMIT)
        )));
    }
    fs::write(&stamp, hash).map_err(|e| failed(&stamp, &e))
}

/// Returns the properties of each file that the check needs: name, size, codec, predictor, tiles, hostile.
fn list_of(manifest: &str) -> Result<Value, Failure> {
    let manifest: Value =
        serde_json::from_str(manifest).map_err(|e| Failure::new(format!("manifest.json: {e}")))?;
    let entries = |key: &str| manifest.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let describe = |entry: &Value, hostile: bool| {
        let feature =
            |name: &str| entry.pointer(&format!("/features/{name}")).cloned().unwrap_or(Value::Null);
        json!({
            "name": entry.get("name"), "size": entry.get("size"), "codec": feature("comp_name"),
            "predictor": feature("predictor"), "tiled": feature("tiled") == json!(true), "hostile": hostile,
        })
    };
    let files = entries("files");
    let hostile = entries("hostile");
    let list = files.iter().map(|e| describe(e, false)).chain(hostile.iter().map(|e| describe(e, true)));
    Ok(Value::Array(list.collect()))
}

/// Writes `bundle.toml`: the bundle's sources, and the hash of its packed programs.
fn describe(workspace: &Workspace, carry: &Path, hash: &str, programs: &str) -> Result<(), Failure> {
    let mut git = Command::new("git");
    let revision = process::capture(git.current_dir(&workspace.root).args(["rev-parse", "HEAD"]))?;
    let modified = gpu_verified::is_modified(&workspace.root)?;
    let path = carry.join("bundle.toml");
    let text = format!(
        "hash = \"{hash}\"\nrevision = \"{}\"\nmodified = {modified}\nprograms = \"{programs}\"\n",
        revision.trim()
    );
    print!("{text}");
    fs::write(&path, text).map_err(|e| failed(&path, &e))
}

/// Prints the size of each call; fails if one is too large.
fn sizes(workspace: &Workspace, carry: &Path, programs: &[String]) -> Result<(), Failure> {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root).args(["ls-files", "-co", "--exclude-standard"]);
    let tree: u64 = process::capture(&mut git)?.lines().map(|name| size_of(&workspace.root.join(name))).sum();
    println!("{:>10}  the repository", mib(tree));
    let mut complaints = Vec::new();
    let calls = programs.iter().map(|part| vec!["bundle.toml", part.as_str()]);
    for (number, parts) in calls.chain(CALLS.iter().map(|parts| parts.to_vec())).enumerate() {
        let present: Vec<&str> = parts.into_iter().filter(|part| carry.join(part).exists()).collect();
        let total = tree + present.iter().map(|part| size_of(&carry.join(part))).sum::<u64>();
        let listed: Vec<String> =
            present.iter().map(|part| format!("carry/{part} {}", mib(size_of(&carry.join(part))))).collect();
        println!("{:>10}  call {}: {}", mib(total), number + 1, listed.join(", "));
        if total > LIMIT {
            complaints.push(format!(
                "call {}: {}, at most {} may travel",
                number + 1,
                mib(total),
                mib(LIMIT)
            ));
        }
    }
    Failure::unless_empty("the bundle is too large", &complaints)
}

/// Returns the bytes of a file, or of all files below a folder; 0 if the path does not exist.
fn size_of(path: &Path) -> u64 {
    let below = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size_of(&entry.path()));
    if path.is_dir() { below.sum() } else { fs::metadata(path).map_or(0, |facts| facts.len()) }
}

#[expect(clippy::cast_precision_loss, reason = "sizes shown with one digit")]
fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_executable_of_the_target() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"strile"},"executable":null}
            not json
            {"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/other"}
            {"reason":"compiler-artifact","target":{"name":"strile"},"executable":"/t/strile"}"#;
        assert_eq!(executable(messages, "strile"), Some(PathBuf::from("/t/strile")));
        assert_eq!(executable(messages, "third"), None);
    }

    #[test]
    fn programs_are_cut_and_parts_of_earlier_ones_are_removed() {
        let folder = std::env::temp_dir().join(format!("strile-gpu-bundle-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for stale in ["programs.1", "programs.4"] {
            fs::write(folder.join(stale), "old").unwrap();
        }
        let packed = folder.join("programs.tar.xz");
        fs::write(&packed, "abcdefgh").unwrap();
        let (names, hash) = split(&packed, 3).unwrap();
        assert_eq!(names, ["programs.1", "programs.2", "programs.3"]);
        let whole: Vec<u8> = names.iter().flat_map(|name| fs::read(folder.join(name)).unwrap()).collect();
        assert_eq!(whole, b"abcdefgh");
        assert_eq!(hash, hex(&Sha256::digest("abcdefgh")));
        assert!(!packed.exists() && !folder.join("programs.4").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_list_names_codec_and_kind() {
        let manifest = r#"{"files": [{"name": "files/a.tif", "size": 7, "features": {"comp_name": "LZW", "predictor": 2,
            "tiled": true}}], "hostile": [{"name": "hostile/b.tif", "size": 9}]}"#;
        let list = list_of(manifest).unwrap();
        assert_eq!(list.pointer("/0/codec"), Some(&json!("LZW")));
        assert_eq!(list.pointer("/0/tiled"), Some(&json!(true)));
        assert_eq!(
            list.pointer("/1"),
            Some(&json!({"name": "hostile/b.tif", "size": 9, "codec": null,
            "predictor": null, "tiled": false, "hostile": true}))
        );
    }
}
