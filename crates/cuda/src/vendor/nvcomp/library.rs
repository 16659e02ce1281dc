//! The library: `libnvcomp.so.6` or `libnvcomp.so.5`, else `libnvcomp.so`, found by the dynamic loader's own search,
//! opened at run time and never closed. `nvcompGetProperties` returns its version. It is called first, because the same
//! symbols have other arguments in other versions: 4 has no options, 5 computes temporary memory by
//! `…GetTempSizeAsync`, 6 by `…GetTempSize` with a stream.

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

use super::Codec;
use super::Shape;
use crate::stream::Stream;
use std::ffi::{OsStr, c_int, c_void};
use std::fmt;
use std::sync::OnceLock;
use thiserror::Error;

/// Why nvCOMP cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NvcompError {
    /// The library was not found.
    #[error(
        "no nvCOMP: `libnvcomp.so.6` or `libnvcomp.so.5` was not found; add its folder to LD_LIBRARY_PATH, or leave it off"
    )]
    NoLibrary,
    /// The library's version has functions with other arguments.
    #[error("nvCOMP cannot be used: expected version 5 or 6, got {found}")]
    Version {
        /// Version that the library reports.
        found: NvcompVersion,
    },
    /// The library lacks a function.
    #[error("nvCOMP {version} lacks `{call}`")]
    Lacks {
        /// Version that the library reports.
        version: NvcompVersion,
        /// Missing function.
        call: &'static str,
    },
    /// The library requires an alignment that strile's buffers do not have.
    #[error("nvCOMP {version} needs {what} at multiples of {wanted}, got {given}")]
    Alignment {
        /// Version that the library reports.
        version: NvcompVersion,
        /// Kind of buffers.
        what: &'static str,
        /// Required alignment.
        wanted: usize,
        /// Actual alignment.
        given: usize,
    },
    /// The codec does not support this effort.
    #[error("expected an nvCOMP effort from 0 to {most} for {codec}, got {effort}")]
    Effort {
        /// Codec.
        codec: &'static str,
        /// Requested effort.
        effort: u8,
        /// Largest supported effort.
        most: u8,
    },
    /// A call failed.
    #[error("`{call}` failed with nvCOMP's status {status}{}", words(*.status))]
    Call {
        /// Name of the function.
        call: &'static str,
        /// Status number of `nvcompStatus_t`.
        status: c_int,
    },
}

/// Returns a status in words, for those in the header that a caller can meet.
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

/// A version as reported by the library: 1000 × major + 100 × minor + patch.
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

/// `nvcompBatchedDeflateDecompressOpts_t` and `nvcompBatchedZstdDecompressOpts_t`, by value: a backend, and zero bytes
/// (one of Deflate's says whether to sort for hardware).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Options {
    backend: c_int,
    zero: [u8; 60],
}

/// `NVCOMP_DECOMPRESS_BACKEND_CUDA`: the default may be hardware that needs memory allocated for it.
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
// Passed in memory, like every struct of more than 16 bytes.
const _: () = assert!(size_of::<Options>() == 64 && align_of::<Options>() == 4);
const _: () = assert!(std::mem::offset_of!(Options, zero) == 4);
const _: () = assert!(size_of::<Alignments>() == 3 * size_of::<usize>());

/// Alignment of strile's buffers: payloads, temporary memory and decompressed data.
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

/// Function names of a codec: required alignments, temporary memory in versions 5 and 6, decompression.
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

/// Device addresses of a call's arguments.
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

/// The library, of a supported version, with all required functions looked up.
#[derive(Debug)]
pub struct Library {
    opened: &'static libloading::Library,
    version: NvcompVersion,
    deflate: Functions,
    zstd: Functions,
}

impl Library {
    /// Opens the library of this machine.
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

    /// Opens the library of that name or path.
    pub fn load(name: impl AsRef<OsStr>) -> Result<Self, NvcompError> {
        // SAFETY: loading runs the library's initialisers, as in every program that uses nvCOMP.
        let library =
            unsafe { libloading::Library::new(name.as_ref()) }.map_err(|_| NvcompError::NoLibrary)?;
        // Never closed: it keeps kernels in the context, and pointers to its functions are kept here.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        const CALL: &str = "nvcompGetProperties";
        let unknown = NvcompVersion(0);
        // SAFETY: the signature is the same in all versions that have it.
        let properties: unsafe extern "C" fn(*mut Properties) -> c_int =
            unsafe { symbol(library, unknown, CALL) }?;
        let mut told = Properties::default();
        // SAFETY: `told` outlives the call.
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

    /// Returns the version that the library reports.
    pub fn version(&self) -> NvcompVersion {
        self.version
    }

    /// Returns the library of this machine, opened once.
    pub(crate) fn shared() -> Result<&'static Self, NvcompError> {
        static OPENED: OnceLock<Library> = OnceLock::new();
        match OPENED.get() {
            Some(library) => Ok(library),
            // A failed search is not remembered.
            None => Self::open().map(|library| OPENED.get_or_init(|| library)),
        }
    }

    /// Looks up a function.
    ///
    /// # Safety
    /// `T` must be a pointer to a function of the symbol's signature.
    pub(super) unsafe fn function<T: Copy>(&self, call: &'static str) -> Result<T, NvcompError> {
        // SAFETY: guaranteed by the caller.
        unsafe { symbol(self.opened, self.version, call) }
    }

    fn of(&self, codec: Codec) -> &Functions {
        match codec {
            Codec::Deflate => &self.deflate,
            Codec::Zstd => &self.zstd,
        }
    }

    /// Returns the bytes of temporary memory for a call of that shape; the device's context must be bound. Does not
    /// access the device.
    pub(crate) fn temporary(&self, codec: Codec, shape: Shape) -> Result<u64, NvcompError> {
        let (call, function) = self.of(codec).temporary;
        let Shape { count, most, total } = shape;
        let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (count, most, total) = (small(count), small(most), small(total));
        let mut bytes = 0usize;
        let status = match function {
            // SAFETY: the signature is that of version 5, which this library is; `bytes` outlives the call.
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

    /// Queues the decompression of `count` chunks; the context must be bound.
    ///
    /// # Safety
    /// The lists must be device memory with this many entries each, and so must the chunks and rooms they refer to,
    /// until the stream has passed this call; and the chunks must be trusted to be streams of the codec.
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
        // SAFETY: the signature is that of versions 5 and 6; the caller guarantees the rest.
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
    // SAFETY: the signatures here and below are those of the headers of versions 5 and 6.
    let required: GetAlignments = unsafe { symbol(library, version, alignments) }?;
    let mut wanted = Alignments::default();
    // SAFETY: `wanted` outlives the call.
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
    // SAFETY: guaranteed by the caller; the library is never closed.
    unsafe { library.get::<T>(call.as_bytes()) }
        .map(|found| *found)
        .map_err(|_| NvcompError::Lacks { version, call })
}
