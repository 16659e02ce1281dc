//! A library of NVIDIA's for pictures, found by the dynamic loader's own search, opened at run time and never closed.
//! Its version is what it says by `…GetProperty`; that comes first, because other versions may have other arguments.

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

use std::ffi::{OsStr, c_int};
use std::fmt;
use thiserror::Error;

/// Which library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// nvJPEG2000.
    Nvjpeg2000,
    /// nvJPEG.
    Nvjpeg,
}

impl Which {
    /// File names, the best first.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Nvjpeg2000 => &["libnvjpeg2k.so.0", "libnvjpeg2k.so"],
            Self::Nvjpeg => &["libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"],
        }
    }

    /// The names to look for, in words.
    fn wanted(self) -> &'static str {
        match self {
            Self::Nvjpeg2000 => "`libnvjpeg2k.so.0`",
            Self::Nvjpeg => "`libnvjpeg.so.13` or `libnvjpeg.so.12`",
        }
    }

    /// The function that tells the version.
    fn property(self) -> &'static str {
        match self {
            Self::Nvjpeg2000 => "nvjpeg2kGetProperty",
            Self::Nvjpeg => "nvjpegGetProperty",
        }
    }

    /// Versions whose headers the bindings were held against.
    fn known(self) -> (&'static [c_int], &'static str) {
        match self {
            Self::Nvjpeg2000 => (&[0], "0"),
            Self::Nvjpeg => (&[12, 13], "12 or 13"),
        }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nvjpeg2000 => "nvJPEG2000",
            Self::Nvjpeg => "nvJPEG",
        })
    }
}

/// What a library for pictures cannot do here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NvjpegError {
    /// It was not found.
    #[error(
        "no {library}: {} was not found; add its folder to LD_LIBRARY_PATH, or leave it off", .library.wanted()
    )]
    NoLibrary {
        /// Which.
        library: Which,
    },
    /// Neither was found.
    #[error("neither nvJPEG2000 nor nvJPEG can be used: {first}; {second}")]
    Neither {
        /// Why not the one.
        first: Box<NvjpegError>,
        /// Why not the other.
        second: Box<NvjpegError>,
    },
    /// It is of a version whose functions may have other arguments.
    #[error("{library} cannot be used: expected version {}, got {found}", .library.known().1)]
    Version {
        /// Which.
        library: Which,
        /// What it says it is.
        found: Version,
    },
    /// It lacks a function.
    #[error("{library} {version} lacks `{call}`")]
    Lacks {
        /// Which.
        library: Which,
        /// What it says it is.
        version: Version,
        /// What it lacks.
        call: &'static str,
    },
    /// A call failed.
    #[error("`{call}` failed with status {status}{}", words(*.status))]
    Call {
        /// Its function.
        call: &'static str,
        /// Its number, of `nvjpeg2kStatus_t` or `nvjpegStatus_t`.
        status: c_int,
    },
    /// It takes a stream for another picture than it is.
    #[error("{library}: expected {expected}, got {found}")]
    Other {
        /// Which.
        library: Which,
        /// What it takes it for.
        found: String,
        /// What it is.
        expected: String,
    },
    /// The driver cannot do what goes with it.
    #[error("{library}: {problem}")]
    Driver {
        /// Which.
        library: Which,
        /// What the driver says.
        problem: String,
    },
}

/// A status in words; both libraries have the same but for the last.
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
        10 => " (incomplete stream)",
        _ => "",
    }
}

/// A version as a library tells it.
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

/// A library that is open, of a version that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opened {
    which: Which,
    library: &'static libloading::Library,
    version: Version,
}

impl Opened {
    /// That of a path, or that of this machine.
    pub(crate) fn open(which: Which, path: Option<&OsStr>) -> Result<Self, NvjpegError> {
        if let Some(path) = path {
            return Self::load(which, path);
        }
        let absent = NvjpegError::NoLibrary { library: which };
        let mut found = Err(absent.clone());
        for name in which.names() {
            found = Self::load(which, name);
            if found.as_ref().err() != Some(&absent) {
                break;
            }
        }
        found
    }

    /// That of a name or path.
    fn load(which: Which, name: impl AsRef<OsStr>) -> Result<Self, NvjpegError> {
        // SAFETY: what the library runs when it is loaded is what every user of it lets it run.
        let library = unsafe { libloading::Library::new(name.as_ref()) };
        let library = library.map_err(|_| NvjpegError::NoLibrary { library: which })?;
        // Never closed: it keeps kernels in the context, and functions of it are kept here.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        let mut this = Self { which, library, version: Version::default() };
        let call = which.property();
        // SAFETY: the signature is that of all versions: `libraryPropertyType`, an enum of 0 to 2, and an `int`.
        let property: unsafe extern "C" fn(c_int, *mut c_int) -> c_int = unsafe { this.function(call) }?;
        let mut told = Version::default();
        for (kind, value) in [(0, &mut told.major), (1, &mut told.minor), (2, &mut told.patch)] {
            // SAFETY: `value` lives through the call.
            check(call, unsafe { property(kind, value) })?;
        }
        this.version = told;
        if which.known().0.contains(&told.major) {
            Ok(this)
        } else {
            Err(NvjpegError::Version { library: which, found: told })
        }
    }

    /// What it says it is.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// A function of it.
    ///
    /// # Safety
    /// `T` must be a pointer to a function of the symbol's signature.
    pub(crate) unsafe fn function<T: Copy>(&self, call: &'static str) -> Result<T, NvjpegError> {
        // SAFETY: the caller's; the library is never closed.
        unsafe { self.library.get::<T>(call.as_bytes()) }
            .map(|found| *found)
            .map_err(|_| NvjpegError::Lacks { library: self.which, version: self.version, call })
    }
}

/// A status as a result.
pub(crate) fn check(call: &'static str, status: c_int) -> Result<(), NvjpegError> {
    if status == 0 { Ok(()) } else { Err(NvjpegError::Call { call, status }) }
}

/// Functions of a library by their names: a struct of them, and how they are looked up and called.
macro_rules! functions {
    ($(#[$doc:meta])* $name:ident { $($call:ident($($arg:ident: $kind:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        #[expect(non_snake_case, reason = "the library's names")]
        pub(super) struct $name {
            $($call: unsafe extern "C" fn($($kind),*) -> std::ffi::c_int,)*
        }

        #[expect(non_snake_case, reason = "the library's names")]
        impl $name {
            /// All of them, or which is missing.
            pub(super) fn load(
                opened: &$crate::picture::nvidia::opened::Opened,
            ) -> Result<Self, $crate::picture::nvidia::NvjpegError> {
                Ok(Self {
                    // SAFETY: the signatures are those of the vendor's headers; a test holds them against those.
                    $($call: unsafe { opened.function(stringify!($call)) }?,)*
                })
            }

            /// The names, and bytes of each argument: what a header must agree with.
            pub(super) const SIGNATURES: &'static [(&'static str, &'static [usize])] =
                &[$((stringify!($call), &[$(size_of::<$kind>()),*])),*];

            $(
                /// As the library's documentation says.
                ///
                /// # Safety
                /// As the library's documentation says; the device's context is bound.
                pub(super) unsafe fn $call(
                    &self,
                    $($arg: $kind),*
                ) -> Result<(), $crate::picture::nvidia::NvjpegError> {
                    // SAFETY: the caller's.
                    let status = unsafe { (self.$call)($($arg),*) };
                    $crate::picture::nvidia::opened::check(stringify!($call), status)
                }
            )*
        }
    };
}

pub(crate) use functions;
