//! Loading of nvJPEG2000: found by the dynamic loader's own search, opened at run time and never closed.
//! `nvjpeg2kGetProperty` returns its version; it is called first, because other versions may have other arguments.

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

use std::ffi::{OsStr, c_int};
use std::fmt;
use thiserror::Error;

/// File names in order of preference.
const NAMES: [&str; 2] = ["libnvjpeg2k.so.0", "libnvjpeg2k.so"];

/// Why nvJPEG2000 cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Nvjpeg2000Error {
    /// The library was not found.
    #[error(
        "no nvJPEG2000: `libnvjpeg2k.so.0` was not found; add its folder to LD_LIBRARY_PATH, or leave it off"
    )]
    NoLibrary,
    /// The library's version may have functions with other arguments.
    #[error("nvJPEG2000 cannot be used: expected version 0, got {found}")]
    Version {
        /// Version that the library reports.
        found: Version,
    },
    /// The library lacks a function.
    #[error("nvJPEG2000 {version} lacks `{call}`")]
    Lacks {
        /// Version that the library reports.
        version: Version,
        /// Missing function.
        call: &'static str,
    },
    /// A call failed.
    #[error("`{call}` failed with status {status}{}", words(*.status))]
    Call {
        /// Name of the function.
        call: &'static str,
        /// Status number of `nvjpeg2kStatus_t`.
        status: c_int,
    },
    /// A related driver call failed.
    #[error("nvJPEG2000: {problem}")]
    Driver {
        /// The driver's error.
        problem: String,
    },
}

/// Returns a status in words.
fn words(status: c_int) -> &'static str {
    match status {
        1 => " (not initialised)",
        2 => " (invalid parameter)",
        3 => " (bad stream)",
        4 => " (stream not supported)",
        5 => " (no memory)",
        6 => " (execution failed)",
        7 => " (not on this device)",
        8 => " (internal error)",
        9 => " (not supported here)",
        _ => "",
    }
}

/// A version as reported by a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version {
    /// `MAJOR_VERSION`.
    pub major: c_int,
    /// `MINOR_VERSION`.
    pub minor: c_int,
    /// `PATCH_LEVEL`.
    pub patch: c_int,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The open library, of a supported version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opened {
    library: &'static libloading::Library,
    version: Version,
}

impl Opened {
    /// Opens the library at a path, or that of this machine.
    pub(super) fn open(path: Option<&OsStr>) -> Result<Self, Nvjpeg2000Error> {
        if let Some(path) = path {
            return Self::load(path);
        }
        let mut found = Err(Nvjpeg2000Error::NoLibrary);
        for name in NAMES {
            found = Self::load(OsStr::new(name));
            if found.as_ref().err() != Some(&Nvjpeg2000Error::NoLibrary) {
                break;
            }
        }
        found
    }

    /// Opens the library of that name or path.
    fn load(name: &OsStr) -> Result<Self, Nvjpeg2000Error> {
        // SAFETY: loading runs the library's initialisers, as in every program that uses it.
        let library = unsafe { libloading::Library::new(name) };
        let library = library.map_err(|_| Nvjpeg2000Error::NoLibrary)?;
        // Never closed: it keeps kernels in the context, and pointers to its functions are kept here.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        let mut this = Self { library, version: Version::default() };
        let call = "nvjpeg2kGetProperty";
        // SAFETY: the signature is the same in all versions: `libraryPropertyType`, an enum of 0 to 2, and an `int`.
        let property: unsafe extern "C" fn(c_int, *mut c_int) -> c_int = unsafe { this.function(call) }?;
        let mut told = Version::default();
        for (kind, value) in [(0, &mut told.major), (1, &mut told.minor), (2, &mut told.patch)] {
            // SAFETY: `value` outlives the call.
            check(call, unsafe { property(kind, value) })?;
        }
        this.version = told;
        // Bindings were compared with the headers of version 0.
        if told.major == 0 { Ok(this) } else { Err(Nvjpeg2000Error::Version { found: told }) }
    }

    /// Returns the version that the library reports.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Looks up a function.
    ///
    /// # Safety
    /// `T` must be a pointer to a function of the symbol's signature.
    pub(super) unsafe fn function<T: Copy>(&self, call: &'static str) -> Result<T, Nvjpeg2000Error> {
        // SAFETY: the caller's; the library is never closed.
        unsafe { self.library.get::<T>(call.as_bytes()) }
            .map(|found| *found)
            .map_err(|_| Nvjpeg2000Error::Lacks { version: self.version, call })
    }
}

/// Returns a status as a result.
pub(super) fn check(call: &'static str, status: c_int) -> Result<(), Nvjpeg2000Error> {
    if status == 0 { Ok(()) } else { Err(Nvjpeg2000Error::Call { call, status }) }
}

/// Defines a struct of library functions by their names, with their lookup and calls.
macro_rules! functions {
    ($(#[$doc:meta])* $name:ident { $($call:ident($($arg:ident: $kind:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        #[expect(non_snake_case, reason = "the library's names")]
        struct $name {
            $($call: unsafe extern "C" fn($($kind),*) -> std::ffi::c_int,)*
        }

        #[expect(non_snake_case, reason = "the library's names")]
        impl $name {
            /// Looks up all functions; the error names a missing one.
            fn load(
                opened: &$crate::vendor::nvjpeg2000::opened::Opened,
            ) -> Result<Self, $crate::vendor::nvjpeg2000::Nvjpeg2000Error> {
                Ok(Self {
                    // SAFETY: the signatures are those of the vendor's headers; a test compares them.
                    $($call: unsafe { opened.function(stringify!($call)) }?,)*
                })
            }

            /// Names, and bytes of each argument, to compare with the header.
            const SIGNATURES: &'static [(&'static str, &'static [usize])] =
                &[$((stringify!($call), &[$(size_of::<$kind>()),*])),*];

            $(
                /// Calls the library function of this name, see the library's documentation.
                ///
                /// # Safety
                /// As in the library's documentation; the device's context must be bound.
                unsafe fn $call(
                    &self,
                    $($arg: $kind),*
                ) -> Result<(), $crate::vendor::nvjpeg2000::Nvjpeg2000Error> {
                    // SAFETY: guaranteed by the caller.
                    let status = unsafe { (self.$call)($($arg),*) };
                    $crate::vendor::nvjpeg2000::opened::check(stringify!($call), status)
                }
            )*
        }
    };
}

pub(super) use functions;
