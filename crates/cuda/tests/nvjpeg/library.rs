//! Which libraries are taken: those of known versions, by what they say they are, that have all that is called.

use crate::{device, ready, standin};
use std::ffi::OsStr;
use std::path::PathBuf;
use strile_cuda::picture::nvidia::{NvjpegError, Which};
use strile_cuda::picture::nvjpeg::Nvjpeg;
use strile_cuda::picture::nvjpeg2000::Nvjpeg2000;
use strile_emulate::{nvjpeg, nvjpeg2000};

fn told_2000(path: Result<PathBuf, String>) -> String {
    match Nvjpeg2000::load(&device(), ready(path.unwrap()).as_os_str(), 1) {
        Ok(library) => format!("taken: {}", library.name()),
        Err(error) => error.to_string(),
    }
}

fn told(path: Result<PathBuf, String>) -> String {
    match Nvjpeg::load(&device(), ready(path.unwrap()).as_os_str(), true) {
        Ok(library) => format!("taken: {}", library.name()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn versions_are_told_apart_by_what_they_say() {
    let Some(standin) = standin() else { return };
    assert_eq!(told_2000(nvjpeg2000((0, 11), true)), "taken: nvJPEG2000 0.11.0");
    assert_eq!(
        told_2000(nvjpeg2000((1, 0), true)),
        "nvJPEG2000 cannot be used: expected version 0, got 1.0.0"
    );
    assert_eq!(told_2000(nvjpeg2000((0, 9), false)), "nvJPEG2000 0.9.0 lacks `nvjpeg2kDecodeImage`");
    assert_eq!(told(nvjpeg((12, 4), true)), "taken: nvJPEG 12.4.3 on 7 engines");
    assert_eq!(told(nvjpeg((14, 0), true)), "nvJPEG cannot be used: expected version 12 or 13, got 14.0.3");
    assert_eq!(told(nvjpeg((11, 9), true)), "nvJPEG cannot be used: expected version 12 or 13, got 11.9.3");
    assert_eq!(told(nvjpeg((13, 2), false)), "nvJPEG 13.2.3 lacks `nvjpegDecodeBatched`");
    standin.set("fail=nvjpeg2kGetProperty:2:8");
    assert_eq!(
        told_2000(nvjpeg2000((0, 11), true)),
        "`nvjpeg2kGetProperty` failed with status 8 (internal error)"
    );
    standin.set("fail=nvjpeg2kCreateV2:1:7");
    assert_eq!(
        told_2000(nvjpeg2000((0, 11), true)),
        "`nvjpeg2kCreateV2` failed with status 7 (not on this device)"
    );
}

#[test]
fn absence_is_said_with_what_to_do() {
    let Some(_standin) = standin() else { return };
    let absent = Nvjpeg2000::load(&device(), OsStr::new("/nowhere/libnvjpeg2k.so.0"), 1).err();
    assert_eq!(absent, Some(NvjpegError::NoLibrary { library: Which::Nvjpeg2000 }));
    assert_eq!(
        NvjpegError::NoLibrary { library: Which::Nvjpeg2000 }.to_string(),
        "no nvJPEG2000: `libnvjpeg2k.so.0` was not found; add its folder to LD_LIBRARY_PATH, or leave it off"
    );
    let absent = Nvjpeg::load(&device(), OsStr::new("/nowhere/libnvjpeg.so.13"), true).err();
    assert_eq!(absent, Some(NvjpegError::NoLibrary { library: Which::Nvjpeg }));
}
