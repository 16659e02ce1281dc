//! npm packages that build and test the page of `strile view`; the page itself has no runtime dependency.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// Folder of the page.
pub const PAGE: &str = "crates/serve/page";

/// Installs the packages of the lock file, if needed; returns the folder of the page.
pub fn install(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let page = workspace.root.join(PAGE);
    let failed = |path: PathBuf| move |e: std::io::Error| Failure::new(format!("{}: {e}", path.display()));
    let lock = page.join("package-lock.json");
    let wanted = std::fs::read_to_string(&lock).map_err(failed(lock.clone()))?;
    let stamp = page.join("node_modules/installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(page);
    }
    if !process::answers(Command::new("npm").arg("--version")) {
        return Err(Failure::new("npm is not installed"));
    }
    let mut npm = Command::new("npm");
    npm.current_dir(&page).args(["ci", "--silent", "--no-fund", "--no-audit"]);
    process::show(npm.args(["--fetch-retries=1", "--fetch-timeout=60000"]))
        .map_err(|_| Failure::new("npm cannot install the packages of crates/serve/page"))?;
    std::fs::write(&stamp, wanted).map_err(failed(stamp.clone()))?;
    Ok(page)
}
