//! Browser tests of `strile view`: Chromium renders rasters, and its output is compared with their pixels.
//!
//! The tests are in `crates/serve/page/tests`, screenshots in `target/view`. Without the npm packages, Chromium or the
//! Python environment that makes the rasters, the step is skipped with a message.

use crate::failure::Failure;
use crate::npm;
use crate::process;
use crate::ran::TestsRan;
use crate::venv;
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// Tests that `docs/support.md` names: recorded as skipped if they cannot run.
const NAMED: [&str; 4] = [
    "page/draws_every_type",
    "page/bands_and_stretch_change_without_a_request",
    "page/a_draft_is_drawn_and_replaced",
    "strile/cog_with_nodata",
];

/// Runs the chore: builds the program, then runs the tests whose names contain one of `names`, or all.
pub fn run(workspace: &Workspace, names: &[String]) -> Result<(), Failure> {
    process::show(process::cargo(&workspace.root).args(["build", "--workspace", "--bin", "strile"]))?;
    let mut ran = TestsRan::default();
    let ended = suite(workspace, &mut ran, names);
    for (test, reason) in ran.skipped() {
        println!("skipped: {test}: {reason}");
    }
    println!("\n{}", ran.count());
    ended
}

/// Runs the step of `cargo xtask test`, after the steps that build the program.
pub fn test(workspace: &Workspace, ran: &mut TestsRan) -> Result<(), Failure> {
    suite(workspace, ran, &[])
}

fn suite(workspace: &Workspace, ran: &mut TestsRan, names: &[String]) -> Result<(), Failure> {
    let page = match ready(workspace) {
        Ok(page) => page,
        Err(reason) => {
            println!("skipped: browser tests: {reason}");
            for name in NAMED {
                ran.skip(format!("view::{name}"), &reason.to_string());
            }
            return Ok(());
        }
    };
    let rasters = rasters(workspace)?;
    let mut tests = Command::new("node");
    tests.current_dir(page).arg("tests/run.mjs").arg("--strile").arg(workspace.target.join("debug/strile"));
    tests.arg("--rasters").arg(rasters).arg("--out").arg(workspace.target.join("view"));
    let ended = process::show_and_keep(tests.args(names))?;
    ran.add_view(&ended.lines);
    if ended.success { Ok(()) } else { Err(Failure::new("the browser tests report failures")) }
}

/// Returns the page's folder with its packages installed, if Chromium is installed too.
fn ready(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let named = std::env::var_os("STRILE_CHROMIUM").map(PathBuf::from);
    let usual =
        ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].map(PathBuf::from);
    if !named.into_iter().chain(usual).any(|place| place.is_file()) {
        return Err(Failure::new(
            "Chromium is not installed (Debian's chromium), or name it by STRILE_CHROMIUM",
        ));
    }
    npm::install(workspace)
}

/// Makes the test rasters.
fn rasters(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let folder = workspace.target.join("view-rasters");
    let python = venv::CHECKS.python(workspace)?;
    let mut script = Command::new(python);
    script.current_dir(&workspace.root).args(["-B", "xtask/python/make_view_rasters.py"]);
    process::show(script.arg(&folder))?;
    Ok(folder)
}
