//! nvCOMP's batched compressors: a batch of blocks is one call, between a pass that fills its lists and one that
//! completes the streams and reports. Sizes stay on the device, where `compact` reads them.

#![expect(unsafe_code, reason = "kernels and a library are handed the addresses of what was made here")]

use super::Codec;
use super::Shape;
use super::library::{Alignments, Library, NvcompError, NvcompVersion, check};
use crate::abi::Address;
use crate::decode::batch::aligned;
use crate::decode::run::Stop;
use crate::device::Device;
use crate::encode::abi::EncodeArgs;
use crate::launch::launch;
use crate::stream::Stream;
use std::ffi::{c_int, c_void};

/// Largest effort of Deflate; ZSTD supports only 0.
const MOST_EFFORT: u8 = 5;
/// Bytes before nvCOMP's stream in the room of a block, so that it lies at a multiple of 16, and behind it: zlib's
/// header and Adler-32.
const BEFORE: u32 = 16;
const ZLIB_HEAD: u32 = 2;
const ZLIB_TAIL: u32 = 4;

const MODULE: &str = "nvcomp_encode";
const PREPARE: (&str, u32) = ("nvcomp_encode_prepare", 128);
const FINISH: (&str, u32) = ("nvcomp_encode_finish", 256);

/// `nvcompBatchedDeflateCompressOpts_t`, and `nvcompBatchedZstdCompressOpts_t` with 0; by value.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Options {
    algorithm: c_int,
    zero: [u8; 60],
}

const _: () = assert!(size_of::<Options>() == 64 && align_of::<Options>() == 4);

type GetAlignments = unsafe extern "C" fn(Options, *mut Alignments) -> c_int;
type GetBound = unsafe extern "C" fn(usize, Options, *mut usize) -> c_int;
type TemporaryOf5 = unsafe extern "C" fn(usize, usize, Options, *mut usize, usize) -> c_int;
type TemporaryOf6 = unsafe extern "C" fn(usize, usize, Options, *mut usize, usize, *mut c_void) -> c_int;
type Compress = unsafe extern "C" fn(
    *const c_void,
    *const c_void,
    usize,
    usize,
    *mut c_void,
    usize,
    *const c_void,
    *mut c_void,
    Options,
    *mut c_void,
    *mut c_void,
) -> c_int;

#[derive(Debug, Clone, Copy)]
enum Temporary {
    Of5(TemporaryOf5),
    Of6(TemporaryOf6),
}

/// Function names of a codec: required alignments, bound, temporary memory in versions 5 and 6, compression.
const DEFLATE: [&str; 5] = [
    "nvcompBatchedDeflateCompressGetRequiredAlignments",
    "nvcompBatchedDeflateCompressGetMaxOutputChunkSize",
    "nvcompBatchedDeflateCompressGetTempSizeAsync",
    "nvcompBatchedDeflateCompressGetTempSize",
    "nvcompBatchedDeflateCompressAsync",
];
const ZSTD: [&str; 5] = [
    "nvcompBatchedZstdCompressGetRequiredAlignments",
    "nvcompBatchedZstdCompressGetMaxOutputChunkSize",
    "nvcompBatchedZstdCompressGetTempSizeAsync",
    "nvcompBatchedZstdCompressGetTempSize",
    "nvcompBatchedZstdCompressAsync",
];

/// The compressor of one codec, with one effort.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compressor {
    codec: Codec,
    version: NvcompVersion,
    options: Options,
    bound: (&'static str, GetBound),
    temporary: (&'static str, Temporary),
    compress: (&'static str, Compress),
}

impl Compressor {
    /// Opens the compressor of this machine's library.
    pub(crate) fn open(codec: Codec, effort: u8) -> Result<Self, NvcompError> {
        let (most, names) = match codec {
            Codec::Deflate => (MOST_EFFORT, DEFLATE),
            Codec::Zstd => (0, ZSTD),
        };
        if effort > most {
            return Err(NvcompError::Effort { codec: codec.name(), effort, most });
        }
        let library = Library::shared()?;
        let version = library.version();
        let options = Options { algorithm: effort.into(), zero: [0; 60] };
        let [alignments, bound, of_5, of_6, compress] = names;
        // SAFETY: the signatures here and below are those of the headers of versions 5 and 6.
        let required: GetAlignments = unsafe { library.function(alignments) }?;
        let mut wanted = Alignments::default();
        // SAFETY: `wanted` outlives the call.
        check(alignments, unsafe { required(options, &raw mut wanted) })?;
        let Alignments { input, output, temp } = wanted;
        for (what, wanted, given) in
            [("packed bytes", input, 16), ("outputs", output, 16), ("temporary memory", temp, 256)]
        {
            if wanted == 0 || given % wanted != 0 {
                return Err(NvcompError::Alignment { version, what, wanted, given });
            }
        }
        let temporary = match version.major() {
            // SAFETY: as above.
            5 => (of_5, Temporary::Of5(unsafe { library.function(of_5) }?)),
            // SAFETY: as above.
            _ => (of_6, Temporary::Of6(unsafe { library.function(of_6) }?)),
        };
        // SAFETY: as above.
        let bound = (bound, unsafe { library.function(bound) }?);
        // SAFETY: as above.
        let compress = (compress, unsafe { library.function(compress) }?);
        Ok(Self { codec, version, options, bound, temporary, compress })
    }

    /// Returns the reported version and the settings of the call.
    pub(crate) fn name(&self) -> String {
        format!("nvCOMP {} effort {}", self.version, self.options.algorithm)
    }

    /// Returns its index among the compressors that a batch may have.
    pub(crate) fn slot(&self) -> usize {
        match self.codec {
            Codec::Deflate => 0,
            Codec::Zstd => 1,
        }
    }

    /// Returns the maximum bytes of the slab for a block of `len` bytes, including [`lead`](Self::lead) and zlib's
    /// frame.
    pub(crate) fn room(&self, len: u32) -> Result<u64, NvcompError> {
        let mut bytes = 0usize;
        // SAFETY: `bytes` outlives the call.
        check(self.bound.0, unsafe { (self.bound.1)(len as usize, self.options, &raw mut bytes) })?;
        Ok((bytes as u64).saturating_add(u64::from(BEFORE + ZLIB_TAIL)))
    }

    /// Returns the bytes before a block in its room.
    pub(crate) fn lead(&self) -> u32 {
        match self.codec {
            Codec::Deflate => BEFORE - ZLIB_HEAD,
            Codec::Zstd => 0,
        }
    }

    /// Returns the bytes of lists and temporary memory for a call of that shape; the device's context must be bound.
    pub(crate) fn memory(&self, shape: Shape) -> Result<u64, NvcompError> {
        Ok(lists_len(shape.count).saturating_add(aligned(self.temporary(shape)?)))
    }

    fn temporary(&self, Shape { count, most, total }: Shape) -> Result<u64, NvcompError> {
        let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (count, most, total) = (small(count), small(most), small(total));
        let (call, function) = self.temporary;
        let mut bytes = 0usize;
        let status = match function {
            // SAFETY: the signature is that of version 5, which this library is; `bytes` outlives the call.
            Temporary::Of5(function) => unsafe { function(count, most, self.options, &raw mut bytes, total) },
            Temporary::Of6(function) => {
                let stream = std::ptr::null_mut();
                // SAFETY: the same for version 6; nothing is queued on the stream, which is the default one.
                unsafe { function(count, most, self.options, &raw mut bytes, total, stream) }
            }
        };
        check(call, status)?;
        Ok(bytes as u64)
    }
}

/// `NvcompEncodeArgs` of `nvcomp_encode_abi.h`, which describes the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Args {
    encode: EncodeArgs,
    sources: Address,
    lengths: Address,
    targets: Address,
    written: Address,
    said: Address,
    zlib: u32,
    reserved: u32,
}

const _: () = assert!(size_of::<Args>() == 112);

/// Four lists of 64-bit values and one of 32-bit values.
const LISTS: u64 = 4;

fn lists_len(count: u64) -> u64 {
    aligned(count.saturating_mul(8)).saturating_mul(LISTS).saturating_add(aligned(count.saturating_mul(4)))
}

/// The call of a batch for one compressor.
#[derive(Debug)]
pub(crate) struct Compressing {
    compressor: Compressor,
    args: Args,
    shape: Shape,
    temporary: Address,
    temporary_len: u64,
}

impl Compressing {
    /// Returns the call for the blocks of `encode`, with its lists and temporary memory from `at` on, as many bytes as
    /// [`Compressor::memory`] returned; and the end of these.
    pub(crate) fn new(
        compressor: Compressor,
        encode: EncodeArgs,
        shape: Shape,
        at: Address,
    ) -> Result<(Self, Address), NvcompError> {
        let step = aligned(shape.count * 8);
        let args = Args {
            encode,
            sources: at,
            lengths: at + step,
            targets: at + 2 * step,
            written: at + 3 * step,
            said: at + LISTS * step,
            zlib: (compressor.codec == Codec::Deflate).into(),
            reserved: 0,
        };
        let temporary = at + lists_len(shape.count);
        let temporary_len = compressor.temporary(shape)?;
        let end = temporary.saturating_add(aligned(temporary_len));
        Ok((Self { compressor, args, shape, temporary, temporary_len }, end))
    }

    /// Queues the passes and the call between them; `mark` is called after each with its name.
    pub(crate) fn queue(
        &self,
        device: &Device,
        stream: &Stream,
        mut mark: impl FnMut(&'static str) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let count = self.args.encode.count;
        let function = device.function(MODULE, PREPARE.0)?;
        // SAFETY: as for every pass of a batch; the lists lie in its memory, each with an entry for every block.
        unsafe { launch(stream, &function, (count.div_ceil(PREPARE.1), 1), PREPARE.1, &self.args) }?;
        mark(PREPARE.0)?;
        {
            let _bound = device.bind()?;
            self.call(stream).map_err(|error| super::failed(device, &error))?;
        }
        mark(self.compressor.compress.0)?;
        let function = device.function(MODULE, FINISH.0)?;
        // SAFETY: as above.
        unsafe { launch(stream, &function, (count, 1), FINISH.1, &self.args) }?;
        mark(FINISH.0)
    }

    fn call(&self, stream: &Stream) -> Result<(), NvcompError> {
        let at = |address: u64| {
            std::ptr::with_exposed_provenance_mut::<c_void>(usize::try_from(address).unwrap_or(0))
        };
        let small = |number: u64| usize::try_from(number).unwrap_or(0);
        let (call, function) = self.compressor.compress;
        // SAFETY: the signature is that of versions 5 and 6; the previous pass fills the lists with packed blocks and
        // with rooms of at least the size from `Compressor::room`, all in memory of the batch, which lives until the
        // stream has passed this point.
        let status = unsafe {
            function(
                at(self.args.sources),
                at(self.args.lengths),
                small(self.shape.most),
                small(self.shape.count),
                at(self.temporary),
                small(self.temporary_len),
                at(self.args.targets),
                at(self.args.written),
                self.compressor.options,
                at(self.args.said),
                stream.handle().cast(),
            )
        };
        check(call, status)
    }
}
