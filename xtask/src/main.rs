//! Chores of the repository: `cargo xtask CHORE`.
//!
//! Each chore is one module with one function that prints its progress and returns `Ok` or a failure. Python programs
//! run in environments that [`venv`] makes under the repository's root.

mod advisories;
mod bench;
mod checks;
mod corpus;
mod docs;
mod examples;
mod failure;
mod faults;
mod features;
mod file_size;
mod fuzz;
mod gpu_bundle;
mod gpu_verified;
mod kernels;
mod licences;
mod npm;
mod packages;
mod page;
mod process;
mod prose;
mod python;
mod races;
mod ran;
mod soak;
mod spdx;
mod support_table;
mod test;
mod venv;
mod view;
mod wheel;
mod workspace;

use failure::Failure;
use std::process::ExitCode;
use workspace::Workspace;

const HELP: &str = "\
usage: cargo xtask CHORE

  test            everything CI runs: format, lints, licences, advisories, file sizes, kernels, tests, documents,
                  Python, faults, corpus, support table; with --quick, format, file sizes, lints, unit tests and some
                  integration tests
  python          build the Python package into a virtual environment, check its types and run its tests
  wheel [--sdist] build a manylinux_2_28 wheel, check it with auditwheel and try it with every Python from 3.11 on that is
                  found; with --sdist, also build the source distribution and a wheel from it
  faults [NAME…]  the fault suite: I/O errors, full disks, files changed while they are read, failed allocations, no
                  threads, device errors, kills, Ctrl-C, forks; NAMEs choose cases that contain one of them
  soak [ARG…]     read, write, convert and abort on many threads for `--minutes N`; `--document` writes the results
                  into docs/reliability.md
  docs [--check]  build the documentation site into target/site and check its links; with --check, fail if
                  docs/command-line-reference.md differs from the program's help
  messages        write what strile says now into python/tests/messages/messages.txt, which a test compares
  prose           look for hard words in documents and messages
  support-table   check docs/support.md against the tests that the last `test` ran
  features        check that every library compiles without default features and with each feature alone
  packages        package every crate without a network, check sizes, and compile what was packaged
  licences        check the licence of every dependency against deny.toml
  file-size       list source files that are too long
  kernels         compile what is stale of crates/cuda/kernels; with --check, compare what is committed
  races [TEST…]   look for races in the kernels: run their tests on the CPU under ThreadSanitizer, all or those named
  page            build the page of `strile view` into crates/serve/page/dist (needs npm); with --check, compare what is committed
  view [NAME…]    browser tests of `strile view`, where npm and Chromium are installed; NAMEs choose tests that contain one of them
  corpus [ARG…]   compare the release binary with the corpus's manifest; ARGs go to its check.py
  gpu-bundle      build carry/, what a machine with a GPU needs for xtask/gpu/check.py
  fuzz [ARG…]     run damaged files and streams through every target for 60 seconds (--seconds N); with --long, build
                  for release, run what is missing to the goals and add it to docs/bench/fuzz.json; with --table,
                  write these sums into docs/reliability.md; with --coverage, report the lines reached (needs
                  llvm-tools); other ARGs, names of targets among them, go to the program
  bench [ARG…]    measure whole reads beside GDAL and tifffile; ARGs go to docs/bench/cpu_peers.py
  bench --peers [--python PATH] [ARG…]
                  measure reads, windows, batches, writes and COGs beside every peer that is installed, in the Python at
                  PATH or in an environment of its own; ARGs go to docs/bench/peers/run.py

STRILE_CORPUS names the folder of the conformance corpus.";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let chore = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    match run(&chore, &rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_reported() {
                eprintln!("error: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(chore: &str, rest: &[String]) -> Result<(), Failure> {
    if matches!(chore, "-h" | "--help" | "help") {
        println!("{HELP}");
        return Ok(());
    }
    let takes_arguments = matches!(
        chore,
        "corpus"
            | "bench"
            | "docs"
            | "kernels"
            | "faults"
            | "soak"
            | "fuzz"
            | "wheel"
            | "test"
            | "page"
            | "view"
            | "races"
    );
    if let (false, Some(surplus)) = (takes_arguments, rest.first()) {
        return Err(Failure::new(format!("`{chore}` takes no argument, found `{surplus}`\n\n{HELP}")));
    }
    let workspace = Workspace::find()?;
    match chore {
        "test" => test::run(&workspace, rest),
        "python" => python::run(&workspace),
        "wheel" => wheel::run(&workspace, rest),
        "docs" => docs::run(&workspace, rest),
        "messages" => python::messages(&workspace),
        "prose" => prose::run(&workspace),
        "support-table" => support_table::run(&workspace),
        "features" => features::run(&workspace),
        "packages" => packages::run(&workspace),
        "licences" => licences::run(&workspace),
        "file-size" => file_size::run(&workspace),
        "kernels" => kernels::run(&workspace, rest),
        "page" => page::run(&workspace, rest),
        "view" => view::run(&workspace, rest),
        "faults" => faults::run(&workspace, rest),
        "races" => races::run(&workspace, rest),
        "soak" => soak::run(&workspace, rest),
        "corpus" => corpus::run(&workspace, rest),
        "bench" => bench::run(&workspace, rest),
        "fuzz" => fuzz::run(&workspace, rest),
        "gpu-bundle" => gpu_bundle::run(&workspace),
        "" => Err(Failure::new(format!("a chore is needed\n\n{HELP}"))),
        other => Err(Failure::new(format!("no chore is called `{other}`\n\n{HELP}"))),
    }
}
