//! Runs the Rust examples, each on the output of the previous one, and checks what they print.

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;
use std::fs;
use std::process::Command;

/// Example, arguments, and a part of what it prints.
const EXAMPLES: [(&str, &[&str], &str); 5] = [
    ("write", &["ramp.tif"], "ramp.tif: "),
    ("window", &["ramp.tif"], "1 bands of 256 × 256 float32\nhighest value 510"),
    ("convert", &["ramp.tif", "again.tif"], "valid COG: true"),
    ("batch", &["ramp.tif", "again.tif"], "2 windows of"),
    ("mosaic", &["all.vrt", "ramp.tif", "again.tif"], "all.vrt: 1024 × 1024, 4194304 bytes"),
];

/// Runs all examples. They are built with the whole workspace, like the tests, so that nothing is built twice.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    process::show(process::cargo(&workspace.root).args(["build", "--workspace", "--examples"]))?;
    let folder = workspace.target.join("examples");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    }
    fs::create_dir_all(&folder).map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    for (name, arguments, expected) in EXAMPLES {
        let program = workspace.target.join("debug/examples").join(name);
        let printed = process::capture(Command::new(program).args(arguments).current_dir(&folder))?;
        print!("{name}: {printed}");
        if !printed.contains(expected) {
            return Err(Failure::new(format!("example `{name}`: expected `{expected}`, got `{printed}`")));
        }
    }
    Ok(())
}
