//! What is called of nvJPEG, and owners of what it makes.
//!
//! A state holds intermediate results, so it decodes one batch at a time: a [`State`] waits for its last one before it
//! begins another.

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

use crate::device::{Context, Device};
use crate::driver::DriverError;
use crate::picture::nvidia::memory::{Allocator, Allocators};
use crate::picture::nvidia::opened::{Opened, functions};
use crate::picture::nvidia::{Busy, NvjpegError, Version, Which};
use crate::stream::Stream;
use std::ffi::{OsStr, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::sync::Arc;

type Pointer = *mut c_void;

/// `NVJPEG_MAX_COMPONENT`.
const COMPONENTS: usize = 4;

/// `nvjpegImage_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Image {
    channel: [*mut u8; COMPONENTS],
    pitch: [usize; COMPONENTS],
}

const _: () = assert!(size_of::<Image>() == 64 && offset_of!(Image, pitch) == 32);

/// `nvjpegBackend_t`: engines of the device made for it, and kernels for the whole of the decoding.
const HARDWARE: c_int = 3;
const GPU_HYBRID: c_int = 2;
/// `NVJPEG_STATUS_ARCH_MISMATCH`: the device has no such engines.
const ARCH_MISMATCH: c_int = 7;
/// `NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION`: chroma between its samples, as libjpeg makes it.
const INTERPOLATE: c_uint = 1 << 5;
/// Threads of the host for what a backend does there.
const THREADS: c_int = 4;

/// `nvjpegOutputFormat_t`, as far as pictures of TIFF files have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub(super) enum Format {
    /// `NVJPEG_OUTPUT_Y`: one component.
    Grey = 2,
    /// `NVJPEG_OUTPUT_RGBI`: YCbCr as RGB, pixel by pixel.
    Rgb = 5,
}

impl Format {
    fn samples(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::Rgb => 3,
        }
    }
}

functions! {
    /// All that is called.
    Functions {
        nvjpegCreateExV2(
            backend: c_int, device: *const Allocator, pinned: *const Allocator, flags: c_uint, handle: *mut Pointer
        );
        nvjpegDestroy(handle: Pointer);
        nvjpegGetHardwareDecoderInfo(handle: Pointer, engines: *mut c_uint, cores: *mut c_uint);
        nvjpegJpegStateCreate(handle: Pointer, state: *mut Pointer);
        nvjpegJpegStateDestroy(state: Pointer);
        nvjpegJpegStreamCreate(handle: Pointer, bitstream: *mut Pointer);
        nvjpegJpegStreamDestroy(bitstream: Pointer);
        nvjpegJpegStreamParseHeader(handle: Pointer, data: *const u8, len: usize, bitstream: Pointer);
        nvjpegJpegStreamGetFrameDimensions(bitstream: Pointer, width: *mut c_uint, height: *mut c_uint);
        nvjpegJpegStreamGetComponentsNum(bitstream: Pointer, count: *mut c_uint);
        nvjpegDecodeBatchedSupported(handle: Pointer, bitstream: Pointer, supported: *mut c_int);
        nvjpegDecodeBatchedInitialize(
            handle: Pointer, state: Pointer, count: c_int, threads: c_int, format: c_int
        );
        nvjpegDecodeBatched(
            handle: Pointer, state: Pointer, data: *const *const u8, lens: *const usize, images: *mut Image,
            stream: Pointer
        );
    }
}

/// Bytes of each argument of the functions called, as `nvjpeg.h` must have them.
pub const SIGNATURES: &[(&str, &[usize])] = Functions::SIGNATURES;

/// What `nvjpeg.h` must say for the bindings to be right: expressions of C++ and their values.
pub const HEADER: &[(&str, usize)] = &[
    ("NVJPEG_MAX_COMPONENT", COMPONENTS),
    ("sizeof(nvjpegImage_t)", size_of::<Image>()),
    ("offsetof(nvjpegImage_t, channel)", offset_of!(Image, channel)),
    ("offsetof(nvjpegImage_t, pitch)", offset_of!(Image, pitch)),
    ("sizeof(nvjpegDevAllocatorV2_t)", size_of::<Allocator>()),
    ("sizeof(nvjpegPinnedAllocatorV2_t)", size_of::<Allocator>()),
    ("offsetof(nvjpegDevAllocatorV2_t, dev_ctx)", 16),
    ("offsetof(nvjpegPinnedAllocatorV2_t, pinned_ctx)", 16),
    ("NVJPEG_STATUS_SUCCESS", 0),
    ("NVJPEG_STATUS_BAD_JPEG", 3),
    ("NVJPEG_STATUS_ARCH_MISMATCH", ARCH_MISMATCH as usize),
    ("NVJPEG_STATUS_INCOMPLETE_BITSTREAM", 10),
    ("NVJPEG_BACKEND_GPU_HYBRID", GPU_HYBRID as usize),
    ("NVJPEG_BACKEND_HARDWARE", HARDWARE as usize),
    ("NVJPEG_OUTPUT_Y", Format::Grey as usize),
    ("NVJPEG_OUTPUT_RGBI", Format::Rgb as usize),
    ("NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION", INTERPOLATE as usize),
    ("MAJOR_VERSION", 0),
    ("MINOR_VERSION", 1),
    ("PATCH_LEVEL", 2),
];

/// Which backend decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Engines of the device made for it, so many.
    Hardware(u32),
    /// Kernels.
    Kernels,
}

/// A stream and where its samples go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) stream: &'a [u8],
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) format: Format,
    /// Device address of the samples, interleaved, row after row.
    pub(super) dst: u64,
}

/// The library with a handle of its own.
#[derive(Debug)]
pub(super) struct Library {
    functions: Functions,
    version: Version,
    backend: Backend,
    handle: Pointer,
    context: Arc<Context>,
    /// Last: the handle names them.
    allocators: Box<Allocators>,
}

// SAFETY: by its documentation the handle is thread safe.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// The library of that path, or that of this machine, for a device; on hardware where `hardware` lets it and the
    /// device has some.
    pub(super) fn open(
        device: &Arc<Device>,
        path: Option<&OsStr>,
        hardware: bool,
    ) -> Result<Self, NvjpegError> {
        let opened = Opened::open(Which::Nvjpeg, path)?;
        let functions = Functions::load(&opened)?;
        let allocators = Allocators::new(device);
        let _bound = device.bind().map_err(of_driver)?;
        let mut handle: Pointer = std::ptr::null_mut();
        let (given, pinned) = (&raw const allocators.device, &raw const allocators.pinned);
        let mut create = |backend: c_int| {
            // SAFETY: all live through the call, and the allocators as long as the handle.
            unsafe { functions.nvjpegCreateExV2(backend, given, pinned, INTERPOLATE, &raw mut handle) }
        };
        let backend = match if hardware { create(HARDWARE) } else { create(GPU_HYBRID) } {
            Ok(()) if hardware => HARDWARE,
            Err(NvjpegError::Call { status: ARCH_MISMATCH, .. }) if hardware => {
                create(GPU_HYBRID)?;
                GPU_HYBRID
            }
            other => other.map(|()| GPU_HYBRID)?,
        };
        let mut this = Self {
            functions,
            version: opened.version(),
            backend: Backend::Kernels,
            handle,
            context: Arc::clone(device.context()),
            allocators,
        };
        if backend == HARDWARE {
            let (mut engines, mut cores) = (0, 0);
            // SAFETY: both live through the call.
            unsafe { functions.nvjpegGetHardwareDecoderInfo(handle, &raw mut engines, &raw mut cores) }?;
            this.backend = Backend::Hardware(engines);
        }
        Ok(this)
    }

    /// What it says it is.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Which backend it has.
    pub(super) fn backend(&self) -> Backend {
        self.backend
    }

    /// Bytes of device memory that it has for itself.
    pub(super) fn taken(&self) -> u64 {
        self.allocators.taken()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let Ok(_bound) = self.context.bind() else { return };
        // SAFETY: states have held this, so they are gone.
        let _ = unsafe { self.functions.nvjpegDestroy(self.handle) };
    }
}

/// A state that decodes batches, and a bitstream that headers are looked at by.
#[derive(Debug)]
pub(super) struct State {
    state: Pointer,
    bitstream: Pointer,
    /// Behind its last batch.
    busy: Busy,
    library: Arc<Library>,
}

// SAFETY: a state is used by one thread at a time, by `&mut`; nothing of it is tied to a thread.
unsafe impl Send for State {}

impl State {
    pub(super) fn new(library: &Arc<Library>) -> Result<Self, NvjpegError> {
        let null = std::ptr::null_mut();
        let mut this =
            Self { state: null, bitstream: null, busy: Busy::default(), library: Arc::clone(library) };
        let (functions, handle) = (&library.functions, library.handle);
        let _bound = library.context.bind().map_err(of_driver)?;
        // SAFETY: here and below, what is written to lives through the call.
        unsafe { functions.nvjpegJpegStateCreate(handle, &raw mut this.state) }?;
        // SAFETY: as above.
        unsafe { functions.nvjpegJpegStreamCreate(handle, &raw mut this.bitstream) }?;
        Ok(this)
    }

    /// Whether the library takes a stream, for the picture that it is.
    pub(super) fn takes(&mut self, wanted: &Wanted<'_>) -> Result<(), NvjpegError> {
        let Library { functions, handle, context, .. } = &*self.library;
        let _bound = context.bind().map_err(of_driver)?;
        let (data, len) = (wanted.stream.as_ptr(), wanted.stream.len());
        // SAFETY: the stream lives through all of this, and so does what is written to.
        unsafe { functions.nvjpegJpegStreamParseHeader(*handle, data, len, self.bitstream) }?;
        let (mut width, mut height, mut count, mut supported) = (0, 0, 0, 1);
        // SAFETY: as above.
        unsafe {
            functions.nvjpegJpegStreamGetFrameDimensions(self.bitstream, &raw mut width, &raw mut height)
        }?;
        // SAFETY: as above.
        unsafe { functions.nvjpegJpegStreamGetComponentsNum(self.bitstream, &raw mut count) }?;
        let samples = wanted.format.samples();
        if (width, height, count as usize) != (wanted.width, wanted.height, samples) {
            return Err(NvjpegError::Other {
                library: Which::Nvjpeg,
                found: format!("{width} x {height} pixels of {count} samples"),
                expected: format!("{} x {} of {samples}", wanted.width, wanted.height),
            });
        }
        // SAFETY: as above.
        unsafe { functions.nvjpegDecodeBatchedSupported(*handle, self.bitstream, &raw mut supported) }?;
        // By its header 0 is yes.
        if supported == 0 {
            Ok(())
        } else {
            Err(NvjpegError::Call { call: "nvjpegDecodeBatchedSupported", status: supported })
        }
    }

    /// Queues the decoding of a batch, all of one format, after the state's last one was waited for.
    ///
    /// # Safety
    /// The streams must stay, and their `dst` be device memory for all samples, until `stream` has come past it.
    pub(super) unsafe fn decode(
        &mut self,
        wanted: &[Wanted<'_>],
        stream: &Stream,
    ) -> Result<Result<(), NvjpegError>, DriverError> {
        self.busy.wait()?;
        let library = Arc::clone(&self.library);
        let _bound = library.context.bind()?;
        // SAFETY: the caller's; nothing of this state is under way.
        let said = unsafe { self.queue(wanted, stream) };
        // Of one that failed something may be queued as well.
        self.busy.until(stream)?;
        Ok(said)
    }

    /// # Safety
    /// As `decode`, and nothing of this state may be under way.
    unsafe fn queue(&mut self, wanted: &[Wanted<'_>], stream: &Stream) -> Result<(), NvjpegError> {
        let Library { functions, handle, .. } = &*self.library;
        let Some(first) = wanted.first() else { return Ok(()) };
        let count = c_int::try_from(wanted.len()).unwrap_or(c_int::MAX);
        let format = first.format as c_int;
        // SAFETY: the state lives, and nothing of it is under way.
        unsafe { functions.nvjpegDecodeBatchedInitialize(*handle, self.state, count, THREADS, format) }?;
        let data: Vec<*const u8> = wanted.iter().map(|wanted| wanted.stream.as_ptr()).collect();
        let lens: Vec<usize> = wanted.iter().map(|wanted| wanted.stream.len()).collect();
        let image = |wanted: &Wanted<'_>| {
            let start = std::ptr::with_exposed_provenance_mut(usize::try_from(wanted.dst).unwrap_or(0));
            let (null, pitch) = (std::ptr::null_mut(), wanted.width as usize * wanted.format.samples());
            Image { channel: [start, null, null, null], pitch: [pitch, 0, 0, 0] }
        };
        let mut images: Vec<Image> = wanted.iter().map(image).collect();
        let (data, lens, images) = (data.as_ptr(), lens.as_ptr(), images.as_mut_ptr());
        let stream = stream.handle().cast();
        // SAFETY: the lists have `count` entries each and live through the call; the rest is the caller's, and `takes`
        // found that the library takes every stream for the picture it is.
        unsafe { functions.nvjpegDecodeBatched(*handle, self.state, data, lens, images, stream) }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let functions = &self.library.functions;
        let Ok(_bound) = self.library.context.bind() else { return };
        // An error means that the context is lost: nothing in it runs any more.
        let _ = self.busy.wait();
        if !self.bitstream.is_null() {
            // SAFETY: made by `new`, and nothing is under way.
            let _ = unsafe { functions.nvjpegJpegStreamDestroy(self.bitstream) };
        }
        if !self.state.is_null() {
            // SAFETY: as above.
            let _ = unsafe { functions.nvjpegJpegStateDestroy(self.state) };
        }
    }
}

fn of_driver(error: DriverError) -> NvjpegError {
    NvjpegError::Driver { library: Which::Nvjpeg, problem: error.to_string() }
}
