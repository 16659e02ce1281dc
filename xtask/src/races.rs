//! Finds races in the kernels: runs their tests on the CPU under ThreadSanitizer, with each CUDA thread and each
//! barrier visible to it (`crates/cuda/emulate/cpp/races.h`).

use crate::failure::Failure;
use crate::process;
use crate::test::has_nextest;
use crate::workspace::Workspace;
use std::process::Command;

/// Tests that launch kernels themselves, from one thread each, with separate buffers.
const TESTS: [&str; 27] = [
    "assemble",
    "blend",
    "compact",
    "cut",
    "deflate",
    "deflate_encode",
    "deflate_split",
    "find",
    "finish",
    "gather",
    "jpeg",
    "jpeg2000",
    "jpeg2000_ht",
    "lerc",
    "lz4",
    "lz4_encode",
    "lzw",
    "lzw_encode",
    "mask",
    "packbits",
    "packbits_encode",
    "place",
    "reduce",
    "resample",
    "warp",
    "zstd",
    "zstd_encode",
];

/// Runs all tests, or the named ones.
pub fn run(workspace: &Workspace, names: &[String]) -> Result<(), Failure> {
    if let Some(unknown) = names.iter().find(|name| !TESTS.contains(&name.as_str())) {
        return Err(Failure::new(format!("expected one of {}, got `{unknown}`", TESTS.join(", "))));
    }
    let library = process::capture(Command::new("g++").arg("-print-file-name=libtsan.so"))?;
    let library = library.trim();
    if !library.starts_with('/') {
        return Err(Failure::new("g++ has no libtsan.so; install the sanitizers of GCC (Debian: libtsan2)"));
    }
    let options = "history_size=4:report_thread_leaks=0:ignore_interceptors_accesses=1";
    let runner = format!("env LD_PRELOAD={library} TSAN_OPTIONS={options} STRILE_RACES=1");
    let mut tests = process::cargo(&workspace.root);
    tests.args(if has_nextest(workspace) {
        &["nextest", "run", "--no-fail-fast", "--status-level", "fail"][..]
    } else {
        &["test", "--quiet", "--no-fail-fast"]
    });
    tests.args(["--package", "strile-cuda"]);
    for test in TESTS.iter().filter(|test| names.is_empty() || names.iter().any(|name| name == *test)) {
        tests.args(["--test", test]);
    }
    process::show(tests.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner))
}
