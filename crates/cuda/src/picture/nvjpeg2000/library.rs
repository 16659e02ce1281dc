//! What is called of nvJPEG2000, and owners of what it makes.
//!
//! A decode state holds intermediate results, on the host too: one that is used again before its last decode is done
//! returns wrong pixels. So a [`State`] has a stream of its own and waits for it before it decodes again.

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

use crate::device::{Context, Device};
use crate::driver::DriverError;
use crate::picture::nvidia::memory::{Allocator, Allocators};
use crate::picture::nvidia::opened::{Opened, functions};
use crate::picture::nvidia::{Busy, NvjpegError, Version, Which};
use crate::stream::Stream;
use std::ffi::{OsStr, c_int, c_void};
use std::mem::offset_of;
use std::sync::Arc;

type Pointer = *mut c_void;

/// `nvjpeg2kImageInfo_t`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct ImageInfo {
    width: u32,
    height: u32,
    tile_width: u32,
    tile_height: u32,
    tiles_x: u32,
    tiles_y: u32,
    components: u32,
}

/// `nvjpeg2kImageComponentInfo_t`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct ComponentInfo {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) precision: u8,
    pub(super) signed: u8,
}

/// `nvjpeg2kImage_t`: interleaved samples are all at the first pointer.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Image {
    pub(super) data: *mut Pointer,
    pub(super) pitch: *mut usize,
    pub(super) pixel: c_int,
    pub(super) components: u32,
}

const _: () = assert!(size_of::<ImageInfo>() == 28 && size_of::<ComponentInfo>() == 12);
const _: () = assert!(size_of::<Image>() == 24 && offset_of!(Image, pixel) == 16);

/// `NVJPEG2K_BACKEND_DEFAULT` and `NVJPEG2K_FORMAT_INTERLEAVED`.
const BACKEND: c_int = 0;
pub(super) const INTERLEAVED: c_int = 1;

/// `nvjpeg2kImageType_t`, as far as samples of TIFF files have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Pixel {
    /// `NVJPEG2K_UINT8`.
    U8 = 0,
    /// `NVJPEG2K_UINT16`.
    U16 = 1,
    /// `NVJPEG2K_INT16`.
    I16 = 2,
}

impl Pixel {
    pub(super) fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::I16 => 2,
        }
    }
}

functions! {
    /// All that is called.
    Functions {
        nvjpeg2kCreateV2(backend: c_int, device: *const Allocator, pinned: *const Allocator, handle: *mut Pointer);
        nvjpeg2kDestroy(handle: Pointer);
        nvjpeg2kDecodeStateCreate(handle: Pointer, state: *mut Pointer);
        nvjpeg2kDecodeStateDestroy(state: Pointer);
        nvjpeg2kStreamCreate(bitstream: *mut Pointer);
        nvjpeg2kStreamDestroy(bitstream: Pointer);
        nvjpeg2kStreamParse(
            handle: Pointer, data: *const u8, len: usize, metadata: c_int, save: c_int, bitstream: Pointer
        );
        nvjpeg2kStreamGetImageInfo(bitstream: Pointer, info: *mut ImageInfo);
        nvjpeg2kStreamGetImageComponentInfo(bitstream: Pointer, info: *mut ComponentInfo, component: u32);
        nvjpeg2kDecodeParamsCreate(params: *mut Pointer);
        nvjpeg2kDecodeParamsDestroy(params: Pointer);
        nvjpeg2kDecodeParamsSetOutputFormat(params: Pointer, format: c_int);
        nvjpeg2kDecodeImage(
            handle: Pointer, state: Pointer, bitstream: Pointer, params: Pointer, image: *mut Image, stream: Pointer
        );
    }
}

/// Bytes of each argument of the functions called, as `nvjpeg2k.h` must have them.
pub const SIGNATURES: &[(&str, &[usize])] = Functions::SIGNATURES;

/// What `nvjpeg2k.h` must say for the bindings to be right: expressions of C++ and their values.
pub const HEADER: &[(&str, usize)] = &[
    ("sizeof(nvjpeg2kImageInfo_t)", size_of::<ImageInfo>()),
    ("offsetof(nvjpeg2kImageInfo_t, image_width)", offset_of!(ImageInfo, width)),
    ("offsetof(nvjpeg2kImageInfo_t, image_height)", offset_of!(ImageInfo, height)),
    ("offsetof(nvjpeg2kImageInfo_t, num_components)", offset_of!(ImageInfo, components)),
    ("sizeof(nvjpeg2kImageComponentInfo_t)", size_of::<ComponentInfo>()),
    ("offsetof(nvjpeg2kImageComponentInfo_t, component_width)", offset_of!(ComponentInfo, width)),
    ("offsetof(nvjpeg2kImageComponentInfo_t, component_height)", offset_of!(ComponentInfo, height)),
    ("offsetof(nvjpeg2kImageComponentInfo_t, precision)", offset_of!(ComponentInfo, precision)),
    ("offsetof(nvjpeg2kImageComponentInfo_t, sgn)", offset_of!(ComponentInfo, signed)),
    ("sizeof(nvjpeg2kImage_t)", size_of::<Image>()),
    ("offsetof(nvjpeg2kImage_t, pixel_data)", offset_of!(Image, data)),
    ("offsetof(nvjpeg2kImage_t, pitch_in_bytes)", offset_of!(Image, pitch)),
    ("offsetof(nvjpeg2kImage_t, pixel_type)", offset_of!(Image, pixel)),
    ("offsetof(nvjpeg2kImage_t, num_components)", offset_of!(Image, components)),
    ("sizeof(nvjpeg2kDeviceAllocatorV2_t)", size_of::<Allocator>()),
    ("sizeof(nvjpeg2kPinnedAllocatorV2_t)", size_of::<Allocator>()),
    ("offsetof(nvjpeg2kDeviceAllocatorV2_t, device_ctx)", 16),
    ("offsetof(nvjpeg2kPinnedAllocatorV2_t, pinned_ctx)", 16),
    ("NVJPEG2K_STATUS_SUCCESS", 0),
    ("NVJPEG2K_STATUS_BAD_JPEG", 3),
    ("NVJPEG2K_STATUS_IMPLEMENTATION_NOT_SUPPORTED", 9),
    ("NVJPEG2K_BACKEND_DEFAULT", BACKEND as usize),
    ("NVJPEG2K_FORMAT_INTERLEAVED", INTERLEAVED as usize),
    ("NVJPEG2K_UINT8", Pixel::U8 as usize),
    ("NVJPEG2K_UINT16", Pixel::U16 as usize),
    ("NVJPEG2K_INT16", Pixel::I16 as usize),
    ("MAJOR_VERSION", 0),
    ("MINOR_VERSION", 1),
    ("PATCH_LEVEL", 2),
];

/// What a stream is and where its samples go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) samples: u16,
    pub(super) bits: u8,
    pub(super) pixel: Pixel,
    /// Device address of the samples, interleaved, row after row.
    pub(super) dst: u64,
}

/// The library with a handle of its own.
#[derive(Debug)]
pub(super) struct Library {
    functions: Functions,
    version: Version,
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
    /// The library of that path, or that of this machine, for a device.
    pub(super) fn open(device: &Arc<Device>, path: Option<&OsStr>) -> Result<Self, NvjpegError> {
        let opened = Opened::open(Which::Nvjpeg2000, path)?;
        let functions = Functions::load(&opened)?;
        let allocators = Allocators::new(device);
        let mut handle: Pointer = std::ptr::null_mut();
        let _bound = device.bind().map_err(of_driver)?;
        let (given, pinned) = (&raw const allocators.device, &raw const allocators.pinned);
        // SAFETY: all live through the call, and the allocators as long as the handle.
        unsafe { functions.nvjpeg2kCreateV2(BACKEND, given, pinned, &raw mut handle) }?;
        let context = Arc::clone(device.context());
        Ok(Self { functions, version: opened.version(), handle, context, allocators })
    }

    /// What it says it is.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Bytes of device memory that it has for itself.
    pub(super) fn taken(&self) -> u64 {
        self.allocators.taken()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let Ok(_bound) = self.context.bind() else { return };
        // SAFETY: states and bitstreams have held this, so they are gone.
        let _ = unsafe { self.functions.nvjpeg2kDestroy(self.handle) };
    }
}

/// A decode state with its stream. At most one decode of it is under way.
#[derive(Debug)]
pub(super) struct State {
    state: Pointer,
    params: Pointer,
    /// One is parsed while the other is decoded.
    bitstreams: [Pointer; 2],
    /// Behind its last decode.
    busy: Busy,
    stream: Stream,
    library: Arc<Library>,
}

// SAFETY: a state is used by one thread at a time, by `&mut`; nothing of it is tied to a thread.
unsafe impl Send for State {}

impl State {
    pub(super) fn new(library: &Arc<Library>) -> Result<Self, NvjpegError> {
        let stream = Stream::new(&library.context).map_err(of_driver)?;
        let null = std::ptr::null_mut();
        let library = Arc::clone(library);
        // What was made before a failure is given back when this is dropped.
        let mut this =
            Self { state: null, params: null, bitstreams: [null; 2], busy: Busy::default(), stream, library };
        let library = Arc::clone(&this.library);
        let (functions, context) = (&library.functions, &library.context);
        let _bound = context.bind().map_err(of_driver)?;
        // SAFETY: here and below, what is written to lives through the call.
        unsafe { functions.nvjpeg2kDecodeStateCreate(library.handle, &raw mut this.state) }?;
        // SAFETY: as above.
        unsafe { functions.nvjpeg2kDecodeParamsCreate(&raw mut this.params) }?;
        // SAFETY: the parameters were made just now.
        unsafe { functions.nvjpeg2kDecodeParamsSetOutputFormat(this.params, INTERLEAVED) }?;
        for bitstream in &mut this.bitstreams {
            // SAFETY: as above.
            unsafe { functions.nvjpeg2kStreamCreate(bitstream) }?;
        }
        Ok(this)
    }

    /// Its stream.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Queues the decoding of a codestream on the state's stream, after its last decode was waited for. The context is
    /// bound.
    ///
    /// # Safety
    /// `codestream` must stay, and `wanted.dst` be device memory for all samples, until the stream has come past it.
    pub(super) unsafe fn decode(
        &mut self,
        codestream: &[u8],
        wanted: &Wanted,
    ) -> Result<Result<(), NvjpegError>, DriverError> {
        let [bitstream, other] = self.bitstreams;
        if let Err(error) = self.parse(bitstream, codestream, wanted) {
            return Ok(Err(error));
        }
        self.busy.wait()?;
        let samples = usize::from(wanted.samples);
        let start = std::ptr::with_exposed_provenance_mut(usize::try_from(wanted.dst).unwrap_or(0));
        let mut data: Vec<Pointer> = vec![std::ptr::null_mut(); samples.max(1)];
        data.fill(start);
        let mut pitch = vec![wanted.width as usize * samples * wanted.pixel.size(); samples.max(1)];
        let mut image = Image {
            data: data.as_mut_ptr(),
            pitch: pitch.as_mut_ptr(),
            pixel: wanted.pixel as c_int,
            components: wanted.samples.into(),
        };
        let (library, stream) = (&self.library, self.stream.handle().cast());
        // SAFETY: the library takes the stream for the picture it is, as `parse` found, so it writes what the caller gave;
        // the state's last decode was waited for, and the bitstream's with it.
        let said = unsafe {
            library.functions.nvjpeg2kDecodeImage(
                library.handle,
                self.state,
                bitstream,
                self.params,
                &raw mut image,
                stream,
            )
        };
        // Of one that failed something may be queued as well.
        self.busy.until(&self.stream)?;
        self.bitstreams = [other, bitstream];
        Ok(said)
    }

    /// Parses a codestream, and holds what the library finds in it against what we found: it will write by that.
    fn parse(&self, bitstream: Pointer, codestream: &[u8], wanted: &Wanted) -> Result<(), NvjpegError> {
        let Library { functions, handle, .. } = &*self.library;
        let (data, len) = (codestream.as_ptr(), codestream.len());
        // SAFETY: no decode of this bitstream is under way: there were two since, and the state waits.
        unsafe { functions.nvjpeg2kStreamParse(*handle, data, len, 0, 0, bitstream) }?;
        let mut info = ImageInfo::default();
        // SAFETY: `info` lives through the call.
        unsafe { functions.nvjpeg2kStreamGetImageInfo(bitstream, &raw mut info) }?;
        let Wanted { width, height, samples, bits, pixel, .. } = *wanted;
        let signed = pixel == Pixel::I16;
        if (info.width, info.height, info.components) != (width, height, samples.into()) {
            return Err(NvjpegError::Other {
                library: Which::Nvjpeg2000,
                found: format!("{} x {} pixels of {} samples", info.width, info.height, info.components),
                expected: format!("{width} x {height} of {samples}"),
            });
        }
        for component in 0..info.components {
            let mut info = ComponentInfo::default();
            // SAFETY: `info` lives through the call, and there are so many components.
            unsafe { functions.nvjpeg2kStreamGetImageComponentInfo(bitstream, &raw mut info, component) }?;
            let found = (info.width, info.height, info.precision, info.signed != 0);
            if found != (width, height, bits, signed) {
                return Err(NvjpegError::Other {
                    library: Which::Nvjpeg2000,
                    found: format!("component {component} of {found:?}"),
                    expected: format!("{:?}", (width, height, bits, signed)),
                });
            }
        }
        Ok(())
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let functions = &self.library.functions;
        let Ok(_bound) = self.library.context.bind() else { return };
        // An error means that the context is lost: nothing in it runs any more.
        let _ = self.busy.wait();
        for bitstream in self.bitstreams.into_iter().filter(|bitstream| !bitstream.is_null()) {
            // SAFETY: made by `new`, and no decode is under way.
            let _ = unsafe { functions.nvjpeg2kStreamDestroy(bitstream) };
        }
        if !self.params.is_null() {
            // SAFETY: as above.
            let _ = unsafe { functions.nvjpeg2kDecodeParamsDestroy(self.params) };
        }
        if !self.state.is_null() {
            // SAFETY: as above.
            let _ = unsafe { functions.nvjpeg2kDecodeStateDestroy(self.state) };
        }
    }
}

pub(super) fn of_driver(error: DriverError) -> NvjpegError {
    NvjpegError::Driver { library: Which::Nvjpeg2000, problem: error.to_string() }
}
