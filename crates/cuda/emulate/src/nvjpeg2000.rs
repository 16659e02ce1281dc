//! A `libnvjpeg2k` for machines without it: its calls on the stand-in driver's streams.
#![expect(unsafe_code, reason = "loads the stand-in library")]

use crate::compile;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::path::PathBuf;

/// An nvJPEG2000 of a version, with or without the function that encodes. One that is complete and of a known version is
/// loaded, so that from now on whoever asks for its name gets it. Planted failures as [`set`](crate::StandIn::set) takes
/// them are its statuses.
pub fn nvjpeg2000(version: (u32, u32), encodes: bool) -> Result<PathBuf, String> {
    // Others are had by their paths alone: one process may have several.
    let is_usual = encodes && version.0 == 0;
    let soname = if is_usual { "libnvjpeg2k.so.0" } else { "libnvjpeg2k.so.other" };
    let path = compile::standin_pictures("standin_nvjpeg2k.cpp", soname, version, encodes)?;
    if !is_usual {
        return Ok(path);
    }
    let wrong = |e: libloading::Error| e.to_string();
    // SAFETY: the library is ours; loading it runs nothing.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) }.map_err(wrong)?;
    std::mem::forget(library);
    Ok(path)
}
