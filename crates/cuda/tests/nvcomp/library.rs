//! Which library is taken: versions 5 and 6 by what they say they are, with their own functions.

use crate::on_any::on_a_device;
use crate::on_any::picture::Picture;
use crate::{chunks, open, read, standin};
use std::process::Command;
use strile_cuda::Nvcomp;
use strile_cuda::vendor::nvcomp::{Library, NvcompError};
use strile_emulate::{StandIn, load_nvcomp, nvcomp};
use strile_tiff::Compression as C;

/// What is said of a library that claims a version and has the functions of another.
fn told(version: u32, symbols: u32) -> String {
    match Library::load(nvcomp(version, symbols).unwrap()) {
        Ok(library) => format!("taken: {}", library.version()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn versions_are_told_apart_by_what_they_say() {
    let Some(standin) = standin() else { return };
    assert_eq!(told(5300, 5), "taken: 5.3.0");
    assert_eq!(told(6001, 6), "taken: 6.0.1");
    assert_eq!(told(4202, 6), "nvCOMP cannot be used: expected version 5 or 6, got 4.2.2");
    assert_eq!(told(7100, 6), "nvCOMP cannot be used: expected version 5 or 6, got 7.1.0");
    assert_eq!(told(6000, 5), "nvCOMP 6.0.0 lacks `nvcompBatchedDeflateDecompressGetTempSize`");
    assert_eq!(told(5000, 6), "nvCOMP 5.0.0 lacks `nvcompBatchedDeflateDecompressGetTempSizeAsync`");
    standin.set("fail=nvcompBatchedZstdDecompressGetRequiredAlignments:1:512");
    assert_eq!(told(6000, 6), "nvCOMP 6.0.0 needs chunks at multiples of 512, got 256");
    standin.set("fail=nvcompGetProperties:1:10");
    assert_eq!(told(6000, 6), "`nvcompGetProperties` failed with nvCOMP's status 10 (invalid value)");
    let absent = Library::load("/nowhere/libnvcomp.so.6").err();
    assert_eq!(absent, Some(NvcompError::NoLibrary));
    assert_eq!(
        NvcompError::NoLibrary.to_string(),
        "no nvCOMP: `libnvcomp.so.6` or `libnvcomp.so.5` was not found; add its folder to LD_LIBRARY_PATH, or leave it \
         off"
    );
}

const VERSION: &str = "STRILE_TEST_NVCOMP";

/// The process of `version_5_decodes_too`; nothing to do otherwise.
#[test]
fn decodes_by_another_version() {
    let Ok(version) = std::env::var(VERSION) else { return };
    let standin = StandIn::load().unwrap().alone();
    load_nvcomp(version.parse().unwrap(), chunks::decode).unwrap();
    let engine = open(Nvcomp::TrustedAlways);
    for compression in [C::Deflate, C::Zstd] {
        let picture = Picture::new(compression, 30);
        let (report, pixels) = read(&engine, &picture);
        assert_eq!((report.host_blocks, report.faults.len()), (0, 0));
        assert!(pixels == picture.pixels);
        println!("told: {}", engine.nvcomp(&picture.layout).unwrap().unwrap());
    }
    assert!(standin.calls().iter().all(|call| call.name != "!"), "misuse");
}

#[test]
fn version_5_decodes_too() {
    if on_a_device() {
        return eprintln!("skipped: a device is required, and this is about the stand-in");
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["library::decodes_by_another_version", "--exact", "--nocapture"]).env(VERSION, "5300");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.matches("told: nvCOMP 5.3.0").count(), 2, "{text}");
}
