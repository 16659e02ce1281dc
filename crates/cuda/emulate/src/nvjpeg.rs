//! A `libnvjpeg2k` and a `libnvjpeg` for machines without them: their calls on the stand-in driver's streams, the samples
//! of each stream given by a function of the test.
#![expect(unsafe_code, reason = "calls into the stand-in library")]

use crate::compile;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};

/// Gives the samples of a stream: source, its length, target, its length; 0 where it knows them.
pub type PictureDecoder = extern "C" fn(*const c_void, usize, *mut c_void, usize) -> c_int;

/// An nvJPEG2000 of a version, with or without the function that decodes. Planted failures as
/// [`set`](crate::StandIn::set) takes them are its statuses; `fail=nvjpeg2kStreamGetImageInfo:N:1000` makes it find a
/// picture that is wider than it is.
pub fn nvjpeg2000(version: (u32, u32), decodes: bool) -> Result<PathBuf, String> {
    // Others are had by their paths alone: one process may have several.
    let soname = if decodes && version.0 == 0 { "libnvjpeg2k.so.0" } else { "libnvjpeg2k.so.other" };
    compile::standin_pictures("standin_nvjpeg2k.cpp", soname, version, decodes)
}

/// An nvJPEG of a version, with or without the function that decodes.
pub fn nvjpeg(version: (u32, u32), decodes: bool) -> Result<PathBuf, String> {
    let soname = if decodes && version.0 == 13 { "libnvjpeg.so.13" } else { "libnvjpeg.so.other" };
    compile::standin_pictures("standin_nvjpeg.cpp", soname, version, decodes)
}

/// Loads one of them, so that from now on whoever asks for its name gets it.
pub fn load_pictures(path: &Path, decoder: PictureDecoder) -> Result<(), String> {
    let wrong = |e: libloading::Error| e.to_string();
    // SAFETY: the library is ours; loading it runs nothing.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(wrong)?;
    // SAFETY: the type is that of `standin_library.h`.
    let set: unsafe extern "C" fn(PictureDecoder) =
        unsafe { *library.get(b"strile_standin_decoder\0").map_err(wrong)? };
    // SAFETY: a function lives for ever.
    unsafe { set(decoder) };
    std::mem::forget(library);
    Ok(())
}
