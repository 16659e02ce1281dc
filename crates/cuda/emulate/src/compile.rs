//! Building a shared library out of a `.cu` file: g++, three flavours, kept by the hash of all sources it includes.
#![expect(unsafe_code, reason = "asks the process for AddressSanitizer's functions")]

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const RUNTIME: [&str; 6] =
    ["launch.cpp", "block.cpp", "rendezvous.cpp", "fibre.cpp", "races.cpp", "undefined.cpp"];
const STANDIN: [&str; 6] = [
    "standin_control.cpp",
    "standin_device.cpp",
    "standin_memory.cpp",
    "standin_stream.cpp",
    "standin_work.cpp",
    "standin_module.cpp",
];
const FLAGS: [&str; 13] = [
    "-std=c++17",
    "-O1",
    "-g",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    // Products and roots as the device rounds them.
    "-ffp-contract=off",
    "-fno-math-errno",
    // Several copies of a module live in one process; a unique symbol would be shared between them.
    "-fno-gnu-unique",
    "-Wall",
    "-Wextra",
    "-Wno-unknown-pragmas",
];
/// Reports come to `undefined.cpp` and become errors of the launch.
const CHECKS: &str = "-fsanitize=alignment,bounds,shift,signed-integer-overflow,integer-divide-by-zero,bool,enum,unreachable,return";
/// Shared memory is in a section of its own; its variables have red zones too.
const SANITIZE: [&str; 2] = ["-fsanitize=address", "-fsanitize-sections=strile_shared"];
/// What the kernels are compiled with so that races are found; the runtime is not, because its own accesses are ordered.
const RACES: &str = "-fsanitize=thread";

/// The folder of this crate's C++ sources.
pub(crate) fn cpp() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cpp")
}

/// The folder of the kernels.
fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels")
}

/// The `.cu` files of all modules: each is in the folder of its codec or step.
pub(crate) fn modules() -> Result<Vec<PathBuf>, String> {
    let within = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        entries.map(|entry| entry.map(|e| e.path()).map_err(|e| e.to_string())).collect()
    };
    let mut sources = Vec::new();
    for folder in within(&kernels())?.iter().filter(|path| path.is_dir()) {
        sources.extend(within(folder)?.into_iter().filter(|p| p.extension().is_some_and(|e| e == "cu")));
    }
    sources.sort();
    Ok(sources)
}

pub(crate) struct AddressSanitizer {
    pub(crate) poison: unsafe extern "C" fn(*const c_void, usize),
    pub(crate) unpoison: unsafe extern "C" fn(*const c_void, usize),
}

/// AddressSanitizer's functions, when it is in this process.
pub(crate) fn address_sanitizer() -> Option<&'static AddressSanitizer> {
    static FOUND: OnceLock<Option<AddressSanitizer>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let process = libloading::os::unix::Library::this();
            // SAFETY: these are the signatures of AddressSanitizer's public interface.
            unsafe {
                Some(AddressSanitizer {
                    poison: *process.get(b"__asan_poison_memory_region\0").ok()?,
                    unpoison: *process.get(b"__asan_unpoison_memory_region\0").ok()?,
                })
            }
        })
        .as_ref()
}

/// Whether kernels are compiled with AddressSanitizer: the process was started with `STRILE_SANITIZE=1`.
pub fn sanitized() -> bool {
    std::env::var_os("STRILE_SANITIZE").is_some_and(|v| v == "1")
}

/// What to put before a test's command line to run it under AddressSanitizer: the value of
/// `CARGO_TARGET_<TRIPLE>_RUNNER`.
pub fn sanitized_runner() -> Result<String, String> {
    let output =
        Command::new("g++").arg("-print-file-name=libasan.so").output().map_err(|e| format!("g++: {e}"))?;
    let library = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !library.starts_with('/') {
        return Err("g++ has no libasan.so".to_owned());
    }
    let options = "detect_leaks=0:detect_odr_violation=0";
    Ok(format!("env LD_PRELOAD={library} ASAN_OPTIONS={options} STRILE_SANITIZE=1"))
}

/// Whether kernels are compiled with ThreadSanitizer: the process was started with `STRILE_RACES=1`.
pub fn watched_for_races() -> bool {
    std::env::var_os("STRILE_RACES").is_some_and(|v| v == "1")
}

/// The environment of a process that runs kernels under ThreadSanitizer. A race in a kernel is reported on its standard
/// error, and the process ends with code 66.
pub fn races_environment() -> Result<[(&'static str, String); 3], String> {
    let output =
        Command::new("g++").arg("-print-file-name=libtsan.so").output().map_err(|e| format!("g++: {e}"))?;
    let library = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !library.starts_with('/') {
        return Err("g++ has no libtsan.so".to_owned());
    }
    let options = "history_size=4:report_thread_leaks=0:ignore_interceptors_accesses=1".to_owned();
    Ok([("LD_PRELOAD", library), ("TSAN_OPTIONS", options), ("STRILE_RACES", "1".to_owned())])
}

/// Where built libraries are kept: beside the running test's own build, or in the temporary folder.
pub(crate) fn cache() -> Result<PathBuf, String> {
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let target = exe.ancestors().find(|a| a.join(".fingerprint").is_dir());
    let folder =
        target.map_or_else(|| std::env::temp_dir().join("strile-emulate"), |t| t.join("strile-emulate"));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// `file` and all files it includes by `"name"`, found beside it or in the two source folders.
fn closure(file: &Path, into: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    if !into.insert(file.to_owned()) {
        return Ok(());
    }
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("#include \"") else { continue };
        let Some((name, _)) = rest.split_once('"') else { continue };
        let beside = file.parent().map(Path::to_owned);
        let found = [beside, Some(kernels()), Some(cpp())].into_iter().flatten().map(|d| d.join(name));
        if let Some(found) = found.into_iter().find(|p| p.is_file()) {
            closure(&found, into)?;
        }
    }
    Ok(())
}

/// Runs the compiler; `name` is the file that it is for.
fn compile(command: &mut Command, name: &Path) -> Result<(), String> {
    // A sanitizer of this process is none of the compiler's.
    let output = command.env_remove("LD_PRELOAD").output().map_err(|e| format!("g++: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} does not compile:\n{said}", name.display()));
    }
    if !said.trim().is_empty() {
        eprintln!("{said}");
    }
    Ok(())
}

/// Compiles `main` and `others` into a library, or finds the one made before; gives its path. `of_main` are flags for
/// `main` alone.
fn library(main: &Path, others: &[PathBuf], extra: &[&str], of_main: &[&str]) -> Result<PathBuf, String> {
    let mut sources = BTreeSet::new();
    for file in others.iter().chain([&main.to_owned()]) {
        closure(file, &mut sources)?;
    }
    let mut hash = DefaultHasher::new();
    (FLAGS, extra, of_main).hash(&mut hash);
    for source in &sources {
        source.hash(&mut hash);
        std::fs::read(source).map_err(|e| format!("{}: {e}", source.display()))?.hash(&mut hash);
    }
    let stem = main.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let path = cache()?.join(format!("{stem}-{:016x}.so", hash.finish()));
    if path.is_file() {
        return Ok(path);
    }
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let gcc = || {
        let mut command = Command::new("g++");
        command.args(FLAGS).args(extra).arg("-I").arg(kernels()).arg("-I").arg(cpp());
        command
    };
    let object = partial.with_extension("o");
    let mut command = gcc();
    if of_main.is_empty() {
        command.args(["-x", "c++"]).arg(main);
    } else {
        compile(gcc().args(of_main).args(["-c", "-x", "c++"]).arg(main).arg("-o").arg(&object), main)?;
        command.arg(&object);
    }
    command.args(["-x", "c++"]).args(others).arg("-o").arg(&partial).arg("-ldl");
    compile(&mut command, main)?;
    if !of_main.is_empty() {
        std::fs::remove_file(&object).map_err(|e| format!("{}: {e}", object.display()))?;
    }
    std::fs::rename(&partial, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// The library of the kernels in `source`.
pub(crate) fn module(source: &Path) -> Result<PathBuf, String> {
    if !source.is_file() {
        return Err(format!("there is no {}", source.display()));
    }
    let runtime: Vec<PathBuf> = RUNTIME.iter().map(|name| cpp().join(name)).collect();
    if watched_for_races() {
        return library(source, &runtime, &["-DSTRILE_RACES"], &[RACES]);
    }
    let mut extra = vec![CHECKS];
    if sanitized() {
        extra.extend(SANITIZE);
    }
    library(source, &runtime, &extra, &[])
}

/// The library that stands in for cuFile; it uses the one for the driver.
pub(crate) fn standin_cufile() -> Result<PathBuf, String> {
    library(&cpp().join("standin_cufile.cpp"), &[], &["-Wl,-soname,libcufile.so.0"], &[])
}

/// The library that stands in for nvCOMP of a version, with the functions of another or the same; it uses the driver's.
pub(crate) fn standin_nvcomp(version: u32, symbols: u32) -> Result<PathBuf, String> {
    let soname = format!("-Wl,-soname,libnvcomp.so.{}", version / 1000);
    let defines = [format!("-DVERSION={version}"), format!("-DSYMBOLS={symbols}")];
    let [version, symbols] = &defines;
    library(&cpp().join("standin_nvcomp.cpp"), &[], &[&soname, version, symbols], &[])
}

/// The library that stands in for one of NVIDIA's for pictures, of a version, with or without the function that decodes;
/// it uses the driver's.
pub(crate) fn standin_pictures(
    source: &str,
    soname: &str,
    (major, minor): (u32, u32),
    encodes: bool,
) -> Result<PathBuf, String> {
    let soname = format!("-Wl,-soname,{soname}");
    let (major, minor) = (format!("-DMAJOR={major}"), format!("-DMINOR={minor}"));
    let mut extra = vec![soname.as_str(), &major, &minor];
    if !encodes {
        extra.push("-DWITHOUT_ENCODE");
    }
    library(&cpp().join(source), &[], &extra, &[])
}

/// The library that stands in for the driver.
pub(crate) fn standin() -> Result<PathBuf, String> {
    let mut files: Vec<PathBuf> = STANDIN.iter().map(|name| cpp().join(name)).collect();
    let main = files.remove(0);
    library(&main, &files, &["-Wl,-soname,libcuda.so.1"], &[])
}
