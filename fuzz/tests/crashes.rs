//! Mutants that once did what none may do, kept in `crashes` and replayed.
//!
//! A file's name says its target and the seed whose layout it needs: `target--seed--number`.

use std::path::Path;

/// Every kept mutant and what it did.
const KEPT: &[(&str, &str)] = &[
    (
        "lerc--lerc_u8_tile_planar_be_big_3band@0.6--4294967982",
        "a blob of 2^32 - 1 samples a pixel made the sum of samples and alpha overflow",
    ),
    (
        "jpeg--jpeg_u8_tile_le_big_ycbcr21_tables@0.5--4294968248",
        "a second scan header in the data: the rows after it were left as they were",
    ),
    ("jpeg--jpeg_u8_tile_le_rgb_tables@0.4--4294970216", "the same without chroma subsampling"),
];

#[test]
fn kept_mutants_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crashes");
    let targets = fuzz::all();
    for (name, reason) in KEPT {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let mut parts = name.split("--");
        let (target, seed) = (parts.next().unwrap(), parts.next().unwrap());
        let target = targets.named(target).unwrap();
        fuzz::replay(target, seed, &bytes).unwrap_or_else(|again| panic!("{name} ({reason}): {again}"));
    }
}

#[test]
fn every_kept_file_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crashes");
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_listed = KEPT.iter().any(|(kept, _)| *kept == name);
        assert!(is_listed || name == "README.md", "{name} is not listed");
    }
}
