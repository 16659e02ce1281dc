//! Writes every fixture into a folder: NAME.tif, NAME.npy with the expected pixels, overviews, mask and pages
//! as NAME.overviewK.npy, NAME.mask.npy and NAME.pageK.npy, and `fixtures.json` with the tolerances.

use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use testkit::{Pixels, Tolerance, fixtures};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: write_fixtures FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(count) => {
            println!("{count} fixtures written");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", Path::new(&folder).display());
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    let all = fixtures();
    let mut list = Vec::new();
    for fixture in &all {
        let name = &fixture.name;
        std::fs::write(folder.join(format!("{name}.tif")), fixture.bytes())?;
        std::fs::write(folder.join(format!("{name}.npy")), npy(&fixture.expected))?;
        for (k, overview) in fixture.overviews.iter().enumerate() {
            std::fs::write(folder.join(format!("{name}.overview{k}.npy")), npy(overview))?;
        }
        for (k, page) in fixture.pages.iter().enumerate() {
            std::fs::write(folder.join(format!("{name}.page{}.npy", k + 1)), npy(page))?;
        }
        if let Some(mask) = &fixture.mask {
            std::fs::write(folder.join(format!("{name}.mask.npy")), npy(mask))?;
        }
        let (max, mean) = match fixture.tolerance {
            Tolerance::Exact => (0.0, 0.0),
            Tolerance::Within { max, mean } => (max, mean),
        };
        list.push(json!({
            "name": name, "max": max, "mean": mean, "overviews": fixture.overviews.len(),
            "pages": fixture.pages.len(), "mask": fixture.mask.is_some(), "nodata": fixture.nodata,
        }));
    }
    std::fs::write(folder.join("fixtures.json"), serde_json::to_vec_pretty(&list)?)?;
    Ok(all.len())
}

/// The pixels as numpy stores them.
fn npy(pixels: &Pixels) -> Vec<u8> {
    let header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}, {}), }}",
        descr(pixels.data_type.name()),
        pixels.bands,
        pixels.height,
        pixels.width
    );
    // Ten bytes of preamble and the header end at a multiple of 64, a newline last.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let length = u16::try_from(padded).unwrap_or(u16::MAX);
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(length.to_le_bytes());
    out.extend(format!("{header:<width$}\n", width = padded - 1).into_bytes());
    out.extend(pixels.little_endian());
    out
}

fn descr(name: &str) -> &'static str {
    match name {
        "uint8" => "|u1",
        "int8" => "|i1",
        "uint16" => "<u2",
        "int16" => "<i2",
        "uint32" => "<u4",
        "int32" => "<i4",
        "uint64" => "<u8",
        "int64" => "<i8",
        "float16" => "<f2",
        "float32" => "<f4",
        "float64" => "<f8",
        "complex64" => "<c8",
        _ => "<c16",
    }
}
