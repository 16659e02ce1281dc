//! A `libnvcomp` for machines without one: nvCOMP's batched calls on the stand-in driver's streams, each chunk decoded by
//! a function that the test gives.
#![expect(unsafe_code, reason = "calls into the stand-in library")]

use crate::compile;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_int, c_void};
use std::path::PathBuf;

/// Decodes a chunk: codec (0 raw Deflate, 1 ZSTD), source, its length, target, its length, and where to put how many
/// bytes came out; gives nvCOMP's status.
pub type NvcompDecoder = extern "C" fn(c_int, *const c_void, usize, *mut c_void, usize, *mut usize) -> c_int;

/// The library that says it is `version` (6000) with the functions that version `symbols` (6) has.
///
/// Planted failures as [`set`](crate::StandIn::set) takes them are its statuses; `fail=nvcompChunk:N:S` gives the Nth
/// chunk status `S`, or for 1 a length short of a byte, for 2 one bit of the output flipped.
pub fn nvcomp(version: u32, symbols: u32) -> Result<PathBuf, String> {
    compile::standin_nvcomp(version, symbols)
}

/// Loads it, so that from now on whoever asks for `libnvcomp.so.6` gets it.
pub fn load_nvcomp(version: u32, decoder: NvcompDecoder) -> Result<(), String> {
    let wrong = |e: libloading::Error| e.to_string();
    let path = nvcomp(version, version / 1000)?;
    // SAFETY: the library is ours; loading it runs nothing.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(wrong)?;
    // SAFETY: the type is that of `standin_nvcomp.cpp`.
    let set: unsafe extern "C" fn(NvcompDecoder) =
        unsafe { *library.get(b"strile_standin_nvcomp_decoder\0").map_err(wrong)? };
    // SAFETY: a function lives for ever.
    unsafe { set(decoder) };
    std::mem::forget(library);
    Ok(())
}
