//! NVIDIA's cuFile: reads from a file straight into device memory, where its library is installed.
//!
//! With the kernel module `nvidia-fs` the bytes do not pass through host memory; without it the library copies them
//! through buffers of its own ("compatibility mode"). It is optional and opened at run time (`libcufile.so.0`, by the
//! dynamic loader's own search); its absence is a value. Called are `cuFileDriverOpen`, `cuFileHandleRegister`,
//! `cuFileRead` and `cuFileHandleDeregister`, all looked up before the first is called.

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

/// What cuFile cannot do here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CuFileError {
    /// The library was not found.
    #[error("no cuFile: `libcufile.so.0` was not found; install it, or read through host memory")]
    NoLibrary,
    /// The library is not one we know.
    #[error("the cuFile library lacks `{call}`")]
    Lacks {
        /// What it lacks.
        call: &'static str,
    },
    /// The library says no.
    #[error("`{call}` failed with cuFile's error {code} (the driver's: {driver})")]
    Call {
        /// Its function.
        call: &'static str,
        /// Its number, of `CUfileOpError`.
        code: u32,
        /// The driver's number, 0 where the driver had no part in it.
        driver: u32,
    },
    /// The system says no.
    #[error("reading by cuFile failed with error {errno} of the system")]
    System {
        /// The number of the system's error.
        errno: i32,
    },
    /// The part asked for does not lie in the buffer, or the driver cannot be used.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// What cuFile's functions return: an enum by its number, and a driver's result.
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

/// The library, opened once a process and never closed.
#[derive(Debug)]
pub struct CuFile {
    register: unsafe extern "C" fn(*mut CUfileHandle_t, *mut CUfileDescr_t) -> Status,
    deregister: unsafe extern "C" fn(CUfileHandle_t),
    read: unsafe extern "C" fn(CUfileHandle_t, *mut c_void, usize, off_t, off_t) -> isize,
    driver: &'static Driver,
    /// Last, so that nothing above outlives it.
    _library: Library,
}

impl CuFile {
    /// The library, opened by the first call; what that found is what later calls get.
    pub fn open(driver: &'static Driver) -> Result<&'static Self, CuFileError> {
        static LIBRARY: OnceLock<Result<CuFile, CuFileError>> = OnceLock::new();
        driver.same_process()?;
        LIBRARY.get_or_init(|| Self::load(driver)).as_ref().map_err(Clone::clone)
    }

    fn load(driver: &'static Driver) -> Result<Self, CuFileError> {
        let names =
            ["libcufile.so.0".to_owned()].into_iter().chain(cudarc::get_lib_name_candidates("cufile"));
        // SAFETY: what the library runs when it is loaded is what every user of cuFile lets it run.
        let library = names.into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let library = library.ok_or(CuFileError::NoLibrary)?;
        // SAFETY: the signatures here and below are cuFile's, with its enums as their numbers.
        let open: unsafe extern "C" fn() -> Status = unsafe { symbol(&library, "cuFileDriverOpen") }?;
        let this = Self {
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
        Ok(this)
    }

    /// Makes a file known to it. Opened with `O_DIRECT`, the page cache is passed by.
    pub fn register(&'static self, file: File) -> Result<DeviceFile, CuFileError> {
        self.driver.same_process()?;
        let mut descriptor = CUfileDescr_t {
            type_: CUfileFileHandleType::CU_FILE_HANDLE_TYPE_OPAQUE_FD,
            handle: CUfileDescr_t__bindgen_ty_1 { fd: file.as_raw_fd() },
            fs_ops: std::ptr::null(),
        };
        let mut handle: CUfileHandle_t = std::ptr::null_mut();
        // SAFETY: both live through the call, and the file lives as long as the handle.
        unsafe { (self.register)(&raw mut handle, &raw mut descriptor) }.check("cuFileHandleRegister")?;
        Ok(DeviceFile { handle: Handle(handle), library: self, _file: file })
    }
}

/// # Safety
/// `T` must be a pointer to a function of the symbol's signature.
unsafe fn symbol<T: Copy>(library: &Library, call: &'static str) -> Result<T, CuFileError> {
    // SAFETY: the caller's.
    unsafe { library.get::<T>(call.as_bytes()) }.map(|found| *found).map_err(|_| CuFileError::Lacks { call })
}

/// A file whose bytes can be read into device memory, from many threads at once.
#[derive(Debug)]
pub struct DeviceFile {
    handle: Handle<c_void>,
    library: &'static CuFile,
    /// Last: the handle names it.
    _file: File,
}

impl DeviceFile {
    /// Reads `len` bytes from `from` on into a buffer at `offset`; how many there were, fewer only at the file's end.
    ///
    /// It is done when this returns. The read is in no stream's order: the buffer's memory must have been given, and
    /// what used it before must be done.
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
            // SAFETY: registered once, and nobody reads any more.
            unsafe { (self.library.deregister)(self.handle.0) };
        }
    }
}

/// What a read of `len` bytes answered: a number of bytes; -1, where the system failed; or cuFile's error below that.
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
    fn an_answer_is_a_count_or_an_error() {
        assert_eq!(outcome(0, 10), Ok(0));
        assert_eq!(outcome(10, 10), Ok(10));
        assert_eq!(outcome(-5012, 10), Err(CuFileError::Call { call: "cuFileRead", code: 5012, driver: 0 }));
        assert!(matches!(outcome(-1, 10), Err(CuFileError::System { .. })));
        assert!(outcome(11, 10).is_err());
    }
}
