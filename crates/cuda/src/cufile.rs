//! NVIDIA's cuFile: reads from a file directly into device memory, if its library is installed.
//!
//! With the kernel module `nvidia-fs` the bytes bypass host memory; without it the library copies them through its own
//! buffers ("compatibility mode"), if the system permits it. It is optional and opened at run time (`libcufile.so.0`,
//! by the dynamic loader's own search); its absence is a value. The functions called are `cuFileDriverOpen`,
//! `cuFileDriverGetProperties`, `cuFileHandleRegister`, `cuFileRead` and `cuFileHandleDeregister`, all looked up before
//! the first is called.

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

use crate::driver::{Driver, DriverError, Handle};
use crate::memory::DeviceBuffer;
use cudarc::cufile::sys::{
    CUfileDescr_t, CUfileDescr_t__bindgen_ty_1, CUfileFileHandleType, CUfileHandle_t, off_t,
};
use libloading::Library;
use std::ffi::{c_int, c_uint, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use thiserror::Error;

/// Whether cuFile reads local files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum DirectIo {
    /// Never: use pinned memory, which is as fast as the bus for files in the page cache.
    #[default]
    Off,
    /// If the kernel module `nvidia-fs` is loaded and accepts the file; pinned memory otherwise.
    Auto,
    /// Always; an error if that is not possible.
    On,
}

/// Why cuFile cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CuFileError {
    /// The library was not found.
    #[error("no cuFile: `libcufile.so.0` was not found; install it, or read through host memory")]
    NoLibrary,
    /// The library lacks a function.
    #[error("the cuFile library lacks `{call}`")]
    Lacks {
        /// Missing function.
        call: &'static str,
    },
    /// The kernel module is missing, without which cuFile brings no gain.
    #[error("the kernel module `nvidia-fs` is not loaded{}", if *.half { ": cuFile says so" } else { "" })]
    NoModule {
        /// The system shows the module, but the library does not find it.
        half: bool,
    },
    /// The library does not accept a file.
    #[error(
        "`cuFileHandleRegister` failed with cuFile's error {code}{}: {}", words(*.code),
        if *.module { "`nvidia-fs` does not take files of this file system" } else {
            "the kernel module `nvidia-fs` is not loaded, and without it cuFile does not take this file; leave direct \
             reads off, or let them be automatic"
        }
    )]
    Refused {
        /// Error number of `CUfileOpError`.
        code: u32,
        /// Whether the kernel module is present.
        module: bool,
    },
    /// A call of the library failed.
    #[error("`{call}` failed with cuFile's error {code}{} (the driver's: {driver})", words(*.code))]
    Call {
        /// Name of the function.
        call: &'static str,
        /// Error number of `CUfileOpError`.
        code: u32,
        /// The driver's error number, 0 if the driver was not involved.
        driver: u32,
    },
    /// A system call failed.
    #[error("reading by cuFile failed with error {errno} of the system")]
    System {
        /// System error number.
        errno: i32,
    },
    /// The requested part does not lie in the buffer, or the driver cannot be used.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Returns an error of `CUfileOpError` in words, for those that users can meet.
fn words(code: u32) -> &'static str {
    match code {
        5001 => " (its driver is not initialised)",
        5004 => " (`nvidia-fs` is of another version)",
        5007 => " (the platform is not supported)",
        5008 => " (the file system is not supported)",
        5009 => " (the GPU is not supported)",
        5010 | 5033 | 5048 => " (`nvidia-fs` failed)",
        5011 => " (the CUDA driver failed)",
        5014 => " (outside of device memory)",
        5018 => " (not a regular file)",
        5019 | 5020 => " (the file is not opened with O_DIRECT)",
        5025 => " (permission denied)",
        5027 => " (the file could not be registered)",
        5028 => " (the file is registered already)",
        5029 => " (the block device was not found)",
        5030 => " (an internal error)",
        5034 => " (reading is disabled)",
        5036 => " (device memory could not be pinned)",
        _ => "",
    }
}

/// Return value of cuFile's functions: an enum by its number, and a driver result.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Status {
    code: c_uint,
    driver: c_uint,
}

impl Status {
    fn check(self, call: &'static str) -> Result<(), CuFileError> {
        let Self { code, driver } = self;
        if code == 0 { Ok(()) } else { Err(CuFileError::Call { call, code, driver }) }
    }
}

/// The used start of `CUfileDrvProps_t`, with room for fields of newer libraries.
#[repr(C)]
#[derive(Default)]
struct Properties {
    /// The version of `nvidia-fs`, 0 without it.
    major: c_uint,
    minor: c_uint,
    rest: [u64; 31],
}

/// Path that exists while `nvidia-fs` is loaded.
const MODULE: &str = "/proc/driver/nvidia-fs";

/// cuFile for the jobs of an engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direct {
    pub(crate) library: &'static CuFile,
    /// Whether files that cuFile does not accept are an error; otherwise they are read through pinned memory.
    pub(crate) required: bool,
}

impl Direct {
    /// Opens cuFile if requested and available; otherwise returns why not, which is an error only if cuFile is
    /// required.
    pub(crate) fn open(
        driver: &'static Driver,
        wanted: DirectIo,
    ) -> Result<Result<Self, String>, CuFileError> {
        match wanted {
            DirectIo::Off => Ok(Err("direct reads are off".to_owned())),
            DirectIo::On => Ok(Ok(Self { library: CuFile::open(driver)?, required: true })),
            DirectIo::Auto => {
                let found = really_there(std::path::Path::new(MODULE).exists(), || CuFile::open(driver));
                Ok(found.map(|library| Self { library, required: false }).map_err(|error| error.to_string()))
            }
        }
    }

    /// Checks whether cuFile accepts a file; the error says why not.
    pub(crate) fn takes(&self, file: &File) -> Result<(), CuFileError> {
        let file = file
            .try_clone()
            .map_err(|error| CuFileError::System { errno: error.raw_os_error().unwrap_or(0) })?;
        self.library.register(file).map(drop)
    }
}

/// Returns the library if both the system and the library report `nvidia-fs`.
fn really_there(
    shown: bool,
    open: impl FnOnce() -> Result<&'static CuFile, CuFileError>,
) -> Result<&'static CuFile, CuFileError> {
    if !shown {
        return Err(CuFileError::NoModule { half: false });
    }
    let library = open()?;
    match library.module {
        0 => Err(CuFileError::NoModule { half: true }),
        _ => Ok(library),
    }
}

/// The library, opened once per process and never closed.
#[derive(Debug)]
pub struct CuFile {
    /// The major version of `nvidia-fs` that the library found, 0 if none.
    module: c_uint,
    register: unsafe extern "C" fn(*mut CUfileHandle_t, *mut CUfileDescr_t) -> Status,
    deregister: unsafe extern "C" fn(CUfileHandle_t),
    read: unsafe extern "C" fn(CUfileHandle_t, *mut c_void, usize, off_t, off_t) -> isize,
    driver: &'static Driver,
    /// Last field, so that nothing above outlives it.
    _library: Library,
}

impl CuFile {
    /// Returns the library. The first call opens it; later calls return the same result.
    pub fn open(driver: &'static Driver) -> Result<&'static Self, CuFileError> {
        static LIBRARY: OnceLock<Result<CuFile, CuFileError>> = OnceLock::new();
        driver.same_process()?;
        LIBRARY.get_or_init(|| Self::load(driver)).as_ref().map_err(Clone::clone)
    }

    fn load(driver: &'static Driver) -> Result<Self, CuFileError> {
        let names =
            ["libcufile.so.0".to_owned()].into_iter().chain(cudarc::get_lib_name_candidates("cufile"));
        // SAFETY: loading runs the library's initialisers, as in every program that uses cuFile.
        let library = names.into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let library = library.ok_or(CuFileError::NoLibrary)?;
        // SAFETY: the signatures here and below are cuFile's, with enums as their numbers.
        let open: unsafe extern "C" fn() -> Status = unsafe { symbol(&library, "cuFileDriverOpen") }?;
        const PROPERTIES: &str = "cuFileDriverGetProperties";
        // SAFETY: as above.
        let properties: unsafe extern "C" fn(*mut Properties) -> Status =
            unsafe { symbol(&library, PROPERTIES) }?;
        let mut this = Self {
            module: 0,
            // SAFETY: as above.
            register: unsafe { symbol(&library, "cuFileHandleRegister") }?,
            // SAFETY: as above.
            deregister: unsafe { symbol(&library, "cuFileHandleDeregister") }?,
            // SAFETY: as above.
            read: unsafe { symbol(&library, "cuFileRead") }?,
            driver,
            _library: library,
        };
        // SAFETY: no pointer is passed.
        unsafe { open() }.check("cuFileDriverOpen")?;
        let mut told = Properties::default();
        // SAFETY: `told` outlives the call, and is larger than what any version writes.
        unsafe { properties(&raw mut told) }.check(PROPERTIES)?;
        this.module = told.major;
        Ok(this)
    }

    /// Registers a file. Opened with `O_DIRECT`, the file bypasses the page cache.
    pub fn register(&'static self, file: File) -> Result<DeviceFile, CuFileError> {
        self.driver.same_process()?;
        let mut descriptor = CUfileDescr_t {
            type_: CUfileFileHandleType::CU_FILE_HANDLE_TYPE_OPAQUE_FD,
            handle: CUfileDescr_t__bindgen_ty_1 { fd: file.as_raw_fd() },
            fs_ops: std::ptr::null(),
        };
        let mut handle: CUfileHandle_t = std::ptr::null_mut();
        // SAFETY: both outlive the call, and the file lives as long as the handle.
        let answer = unsafe { (self.register)(&raw mut handle, &raw mut descriptor) };
        if answer.code != 0 {
            let module = self.module != 0;
            return Err(CuFileError::Refused { code: answer.code, module });
        }
        Ok(DeviceFile { handle: Handle(handle), library: self, _file: file })
    }
}

/// # Safety
/// `T` must be a pointer to a function of the symbol's signature.
unsafe fn symbol<T: Copy>(library: &Library, call: &'static str) -> Result<T, CuFileError> {
    // SAFETY: guaranteed by the caller.
    unsafe { library.get::<T>(call.as_bytes()) }.map(|found| *found).map_err(|_| CuFileError::Lacks { call })
}

/// A file that can be read into device memory, from many threads at once.
#[derive(Debug)]
pub struct DeviceFile {
    handle: Handle<c_void>,
    library: &'static CuFile,
    /// Last field: the handle refers to it.
    _file: File,
}

impl DeviceFile {
    /// Reads `len` bytes from `from` on into a buffer at `offset`; returns their number, which is lower only at the end
    /// of the file.
    ///
    /// The read is complete on return. It is not ordered with any stream: the allocation of the buffer, and earlier
    /// work that used it, must be complete.
    pub fn read(&self, from: u64, to: &DeviceBuffer, offset: u64, len: usize) -> Result<usize, CuFileError> {
        let address = to.part(offset, len as u64)?;
        let out_of_bounds =
            DriverError::OutOfBounds { offset: from, len: len as u64, size: off_t::MAX as u64 };
        let mut from = off_t::try_from(from).map_err(|_| out_of_bounds)?;
        let _bound = to.stream().context().bind()?;
        let mut done = 0usize;
        while done < len {
            let base = std::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0));
            let at = off_t::try_from(done).unwrap_or(off_t::MAX);
            // SAFETY: `len` bytes from `address` on lie in the buffer, which is borrowed.
            let answer = unsafe { (self.library.read)(self.handle.0, base, len - done, from, at) };
            let read = outcome(answer, len - done)?;
            if read == 0 {
                break;
            }
            done += read;
            from = from.saturating_add(off_t::try_from(read).unwrap_or(off_t::MAX));
        }
        Ok(done)
    }
}

impl Drop for DeviceFile {
    fn drop(&mut self) {
        if self.library.driver.same_process().is_ok() {
            // SAFETY: registered once, and no read is in progress.
            unsafe { (self.library.deregister)(self.handle.0) };
        }
    }
}

/// Translates the result of a read of `len` bytes: a number of bytes; -1 for a system error; or cuFile's error below
/// that.
fn outcome(answer: isize, len: usize) -> Result<usize, CuFileError> {
    const CALL: &str = "cuFileRead";
    match usize::try_from(answer) {
        Ok(read) if read <= len => Ok(read),
        Ok(_) => Err(CuFileError::Call { call: CALL, code: 0, driver: 0 }),
        Err(_) if answer == -1 => {
            let errno: Option<c_int> = std::io::Error::last_os_error().raw_os_error();
            Err(CuFileError::System { errno: errno.unwrap_or(0) })
        }
        Err(_) => {
            let code = u32::try_from(answer.unsigned_abs()).unwrap_or(u32::MAX);
            Err(CuFileError::Call { call: CALL, code, driver: 0 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_opened_where_the_module_is_not_shown() {
        let opened = std::cell::Cell::new(false);
        let open = || {
            opened.set(true);
            Err(CuFileError::NoLibrary)
        };
        assert_eq!(really_there(false, open).err(), Some(CuFileError::NoModule { half: false }));
        assert!(!opened.get());
        assert_eq!(really_there(true, open).err(), Some(CuFileError::NoLibrary));
        assert!(opened.get());
    }

    #[test]
    fn a_number_comes_with_what_it_means() {
        assert_eq!(
            CuFileError::Refused { code: 5027, module: false }.to_string(),
            "`cuFileHandleRegister` failed with cuFile's error 5027 (the file could not be registered): the kernel \
             module `nvidia-fs` is not loaded, and without it cuFile does not take this file; leave direct reads off, \
             or let them be automatic"
        );
        assert_eq!(
            CuFileError::Refused { code: 5008, module: true }.to_string(),
            "`cuFileHandleRegister` failed with cuFile's error 5008 (the file system is not supported): `nvidia-fs` \
             does not take files of this file system"
        );
        assert_eq!(
            CuFileError::Call { call: "cuFileRead", code: 5999, driver: 2 }.to_string(),
            "`cuFileRead` failed with cuFile's error 5999 (the driver's: 2)"
        );
    }

    #[test]
    fn an_answer_is_a_count_or_an_error() {
        assert_eq!(outcome(0, 10), Ok(0));
        assert_eq!(outcome(10, 10), Ok(10));
        assert_eq!(outcome(-5012, 10), Err(CuFileError::Call { call: "cuFileRead", code: 5012, driver: 0 }));
        assert!(matches!(outcome(-1, 10), Err(CuFileError::System { .. })));
        assert!(outcome(11, 10).is_err());
    }
}
