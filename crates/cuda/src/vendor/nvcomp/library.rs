//! The library: `libnvcomp.so.6` or `libnvcomp.so.5`, else `libnvcomp.so`, by the dynamic loader's own search, opened at
//! run time and never closed. Its version is what `nvcompGetProperties` says. That comes first, because the same symbols
//! have other arguments in other versions: 4 has no options, 5 asks for temporary memory by `…GetTempSizeAsync`, 6 by
//! `…GetTempSize` with a stream.

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

use super::Codec;
use super::Shape;
use crate::stream::Stream;
use std::ffi::{OsStr, c_int, c_void};
use std::fmt;
use std::sync::OnceLock;
use thiserror::Error;

/// What nvCOMP cannot do here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NvcompError {
    /// The library was not found.
    #[error(
        "no nvCOMP: `libnvcomp.so.6` or `libnvcomp.so.5` was not found; add its folder to LD_LIBRARY_PATH, or leave it off"
    )]
    NoLibrary,
    /// The library is one whose functions have other arguments.
    #[error("nvCOMP cannot be used: expected version 5 or 6, got {found}")]
    Version {
        /// What it says it is.
        found: NvcompVersion,
    },
    /// The library is not one we know.
    #[error("nvCOMP {version} lacks `{call}`")]
    Lacks {
        /// What it says it is.
        version: NvcompVersion,
        /// What it lacks.
        call: &'static str,
    },
    /// Buffers would have to lie otherwise than ours do.
    #[error("nvCOMP {version} needs {what} at multiples of {wanted}, got {given}")]
    Alignment {
        /// What it says it is.
        version: NvcompVersion,
        /// Which buffers.
        what: &'static str,
        /// What it wants.
        wanted: usize,
        /// What they have.
        given: usize,
    },
    /// The codec has no such effort.
    #[error("expected an nvCOMP effort from 0 to {most} for {codec}, got {effort}")]
    Effort {
        /// The codec.
        codec: &'static str,
        /// What was asked for.
        effort: u8,
        /// The largest it has.
        most: u8,
    },
    /// A call failed.
    #[error("`{call}` failed with nvCOMP's status {status}{}", words(*.status))]
    Call {
        /// Its function.
        call: &'static str,
        /// Its number, of `nvcompStatus_t`.
        status: c_int,
    },
}

/// A status in words, as far as the header names those that a caller can meet.
fn words(status: c_int) -> &'static str {
    match status {
        10 => " (invalid value)",
        11 => " (not supported)",
        17 => " (alignment)",
        18 => " (chunk too large)",
        21 => " (batch too large)",
        1000 => " (CUDA error)",
        10000 => " (internal error)",
        _ => "",
    }
}

/// A version as the library tells it: 1000 × major + 100 × minor + patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvcompVersion(pub u32);

impl NvcompVersion {
    pub(super) fn major(self) -> u32 {
        self.0 / 1000
    }
}

impl fmt::Display for NvcompVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major(), self.0 % 1000 / 100, self.0 % 100)
    }
}

/// `nvcompProperties_t`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Properties {
    version: u32,
    cudart_version: u32,
}

/// `nvcompBatchedDeflateDecompressOpts_t` and `nvcompBatchedZstdDecompressOpts_t`, by value: a backend, and bytes that
/// are 0 (one of Deflate's says whether to sort for hardware).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Options {
    backend: c_int,
    zero: [u8; 60],
}

/// `NVCOMP_DECOMPRESS_BACKEND_CUDA`: the default may be hardware that wants memory allocated for it.
const OPTIONS: Options = Options { backend: 2, zero: [0; 60] };

/// `nvcompAlignmentRequirements_t`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Alignments {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) temp: usize,
}

const _: () = assert!(size_of::<Properties>() == 8 && align_of::<Properties>() == 4);
// Passed in memory, as every struct of more than 16 bytes is.
const _: () = assert!(size_of::<Options>() == 64 && align_of::<Options>() == 4);
const _: () = assert!(std::mem::offset_of!(Options, zero) == 4);
const _: () = assert!(size_of::<Alignments>() == 3 * size_of::<usize>());

/// What our buffers have: payloads and temporary memory, and what is decompressed.
const GIVEN: usize = 256;
const GIVEN_OUTPUT: usize = 16;

type GetAlignments = unsafe extern "C" fn(Options, *mut Alignments) -> c_int;
type TemporaryOf5 = unsafe extern "C" fn(usize, usize, Options, *mut usize, usize) -> c_int;
type TemporaryOf6 = unsafe extern "C" fn(usize, usize, Options, *mut usize, usize, *mut c_void) -> c_int;
type Decompress = unsafe extern "C" fn(
    *const c_void,
    *const c_void,
    *const c_void,
    *mut c_void,
    usize,
    *mut c_void,
    usize,
    *const c_void,
    Options,
    *mut c_void,
    *mut c_void,
) -> c_int;

#[derive(Debug, Clone, Copy)]
enum Temporary {
    Of5(TemporaryOf5),
    Of6(TemporaryOf6),
}

/// The functions of one codec, with their names.
#[derive(Debug, Clone, Copy)]
struct Functions {
    temporary: (&'static str, Temporary),
    decompress: (&'static str, Decompress),
}

/// Names of what a codec is called by: required alignments, temporary memory in 5 and in 6, decompression.
const DEFLATE: [&str; 4] = [
    "nvcompBatchedDeflateDecompressGetRequiredAlignments",
    "nvcompBatchedDeflateDecompressGetTempSizeAsync",
    "nvcompBatchedDeflateDecompressGetTempSize",
    "nvcompBatchedDeflateDecompressAsync",
];
const ZSTD: [&str; 4] = [
    "nvcompBatchedZstdDecompressGetRequiredAlignments",
    "nvcompBatchedZstdDecompressGetTempSizeAsync",
    "nvcompBatchedZstdDecompressGetTempSize",
    "nvcompBatchedZstdDecompressAsync",
];

/// Device addresses of what one call is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lists {
    pub(crate) sources: u64,
    pub(crate) lengths: u64,
    pub(crate) rooms: u64,
    pub(crate) written: u64,
    pub(crate) targets: u64,
    pub(crate) said: u64,
    pub(crate) temporary: u64,
    pub(crate) temporary_len: u64,
}

/// The library, of a version that is known, with all that is called looked up.
#[derive(Debug)]
pub struct Library {
    opened: &'static libloading::Library,
    version: NvcompVersion,
    deflate: Functions,
    zstd: Functions,
}

impl Library {
    /// The library of this machine.
    pub fn open() -> Result<Self, NvcompError> {
        let names = ["libnvcomp.so.6", "libnvcomp.so.5", "libnvcomp.so"];
        let mut found = Err(NvcompError::NoLibrary);
        for name in names {
            found = Self::load(name);
            if found != Err(NvcompError::NoLibrary) {
                break;
            }
        }
        found
    }

    /// The library of that name or path.
    pub fn load(name: impl AsRef<OsStr>) -> Result<Self, NvcompError> {
        // SAFETY: what the library runs when it is loaded is what every user of nvCOMP lets it run.
        let library =
            unsafe { libloading::Library::new(name.as_ref()) }.map_err(|_| NvcompError::NoLibrary)?;
        // Never closed: it keeps kernels in the context, and functions of it are kept here.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        const CALL: &str = "nvcompGetProperties";
        let unknown = NvcompVersion(0);
        // SAFETY: the signature is that of all versions that have it.
        let properties: unsafe extern "C" fn(*mut Properties) -> c_int =
            unsafe { symbol(library, unknown, CALL) }?;
        let mut told = Properties::default();
        // SAFETY: `told` lives through the call.
        check(CALL, unsafe { properties(&raw mut told) })?;
        let version = NvcompVersion(told.version);
        if !matches!(version.major(), 5 | 6) {
            return Err(NvcompError::Version { found: version });
        }
        Ok(Self {
            opened: library,
            version,
            deflate: functions(library, version, DEFLATE)?,
            zstd: functions(library, version, ZSTD)?,
        })
    }

    /// What it says it is.
    pub fn version(&self) -> NvcompVersion {
        self.version
    }

    /// The library of this machine, opened once.
    pub(crate) fn shared() -> Result<&'static Self, NvcompError> {
        static OPENED: OnceLock<Library> = OnceLock::new();
        match OPENED.get() {
            Some(library) => Ok(library),
            // Not to find it is not remembered.
            None => Self::open().map(|library| OPENED.get_or_init(|| library)),
        }
    }

    /// A function of it.
    ///
    /// # Safety
    /// `T` must be a pointer to a function of the symbol's signature.
    pub(super) unsafe fn function<T: Copy>(&self, call: &'static str) -> Result<T, NvcompError> {
        // SAFETY: the caller's.
        unsafe { symbol(self.opened, self.version, call) }
    }

    fn of(&self, codec: Codec) -> &Functions {
        match codec {
            Codec::Deflate => &self.deflate,
            Codec::Zstd => &self.zstd,
        }
    }

    /// Bytes of temporary memory for a call of that shape; the context of its device is bound. Asks no device.
    pub(crate) fn temporary(&self, codec: Codec, shape: Shape) -> Result<u64, NvcompError> {
        let (call, function) = self.of(codec).temporary;
        let Shape { count, most, total } = shape;
        let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (count, most, total) = (small(count), small(most), small(total));
        let mut bytes = 0usize;
        let status = match function {
            // SAFETY: the signature is version 5's, which this library is; `bytes` lives through the call.
            Temporary::Of5(function) => unsafe { function(count, most, OPTIONS, &raw mut bytes, total) },
            Temporary::Of6(function) => {
                let stream = std::ptr::null_mut();
                // SAFETY: the same for version 6; nothing is queued on the stream, which is the default one.
                unsafe { function(count, most, OPTIONS, &raw mut bytes, total, stream) }
            }
        };
        check(call, status)?;
        Ok(bytes as u64)
    }

    /// Queues the decompression of `count` chunks; the context is bound.
    ///
    /// # Safety
    /// The lists must be device memory with so many entries each, the chunks and rooms they name too, until the stream
    /// has come past it; and the chunks must be trusted to be streams of the codec.
    pub(crate) unsafe fn decompress(
        &self,
        codec: Codec,
        count: u32,
        lists: &Lists,
        stream: &Stream,
    ) -> Result<(), NvcompError> {
        let (call, function) = self.of(codec).decompress;
        let at = |address: u64| {
            std::ptr::with_exposed_provenance_mut::<c_void>(usize::try_from(address).unwrap_or(0))
        };
        // SAFETY: the signature is that of versions 5 and 6; the rest is the caller's.
        let status = unsafe {
            function(
                at(lists.sources),
                at(lists.lengths),
                at(lists.rooms),
                at(lists.written),
                count as usize,
                at(lists.temporary),
                usize::try_from(lists.temporary_len).unwrap_or(0),
                at(lists.targets),
                OPTIONS,
                at(lists.said),
                stream.handle().cast(),
            )
        };
        check(call, status)
    }
}

impl PartialEq for Library {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

pub(super) fn check(call: &'static str, status: c_int) -> Result<(), NvcompError> {
    if status == 0 { Ok(()) } else { Err(NvcompError::Call { call, status }) }
}

fn functions(
    library: &'static libloading::Library,
    version: NvcompVersion,
    [alignments, of_5, of_6, decompress]: [&'static str; 4],
) -> Result<Functions, NvcompError> {
    // SAFETY: the signatures here and below are those of the headers of 5 and 6.
    let required: GetAlignments = unsafe { symbol(library, version, alignments) }?;
    let mut wanted = Alignments::default();
    // SAFETY: `wanted` lives through the call.
    check(alignments, unsafe { required(OPTIONS, &raw mut wanted) })?;
    let Alignments { input, output, temp } = wanted;
    let all =
        [("chunks", input, GIVEN), ("temporary memory", temp, GIVEN), ("outputs", output, GIVEN_OUTPUT)];
    for (what, wanted, given) in all {
        if wanted == 0 || given % wanted != 0 {
            return Err(NvcompError::Alignment { version, what, wanted, given });
        }
    }
    let temporary = match version.major() {
        // SAFETY: as above.
        5 => (of_5, Temporary::Of5(unsafe { symbol(library, version, of_5) }?)),
        // SAFETY: as above.
        _ => (of_6, Temporary::Of6(unsafe { symbol(library, version, of_6) }?)),
    };
    // SAFETY: as above.
    Ok(Functions { temporary, decompress: (decompress, unsafe { symbol(library, version, decompress) }?) })
}

/// # Safety
/// `T` must be a pointer to a function of the symbol's signature.
unsafe fn symbol<T: Copy>(
    library: &'static libloading::Library,
    version: NvcompVersion,
    call: &'static str,
) -> Result<T, NvcompError> {
    // SAFETY: the caller's; the library is never closed.
    unsafe { library.get::<T>(call.as_bytes()) }
        .map(|found| *found)
        .map_err(|_| NvcompError::Lacks { version, call })
}
