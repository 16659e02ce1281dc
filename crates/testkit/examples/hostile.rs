//! `hostile FOLDER`: writes the files of the amplification tests, and into `list` the file to open of each.
#![allow(clippy::unwrap_used, reason = "dev-only")]

use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap());
    let written = testkit::hostile::cases::write(&folder).unwrap();
    let list: Vec<String> = written.iter().map(|(name, file)| format!("{name}/{file}")).collect();
    std::fs::write(folder.join("list"), list.join("\n")).unwrap();
    println!("{} cases in {}", list.len(), folder.display());
}
