//! nvJPEG2000's encoder, if installed and requested: turns samples on the device into codestreams on the host, with
//! several encode states at once, each with a stream and a host thread, one picture at a time.
//!
//! Its handle does not accept allocators: the library takes its own memory from the driver, outside of the budget.

#![expect(unsafe_code, reason = "calls into a library opened at run time")]

mod opened;

pub use opened::{Nvjpeg2000Error, Version};

use crate::device::{Context, Device};
use crate::driver::DriverError;
use crate::stream::Stream;
use opened::{Opened, functions};
use std::ffi::{OsStr, c_int, c_void};
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::{EncodeLayout, thread_builder};
use strile_tiff::{DataType, Photometric};

type Pointer = *mut c_void;

/// `NVJPEG2K_MAXRES`.
const MOST_RESOLUTIONS: usize = 33;
/// As in the CPU's encoder: five wavelet levels, fewer in small pictures, and code-blocks of 64 by 64.
const RESOLUTIONS: u32 = 6;
const CODE_BLOCK: u32 = 64;
/// Maximum number of components that the library encodes.
const COMPONENTS: u16 = 4;
/// `NVJPEG2K_QUALITY_TYPE_TARGET_PSNR`.
const TARGET_PSNR: c_int = 0;
/// `NVJPEG2K_COLORSPACE_SRGB` and `NVJPEG2K_COLORSPACE_GRAY`.
const RGB: c_int = 1;
const GREY: c_int = 2;
/// Number of states, streams and threads.
const STATES: usize = 8;

/// `NVJPEG2K_FORMAT_INTERLEAVED`.
const INTERLEAVED: c_int = 1;

/// `nvjpeg2kImageComponentInfo_t`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct ComponentInfo {
    width: u32,
    height: u32,
    precision: u8,
    signed: u8,
}

/// `nvjpeg2kImage_t`: interleaved samples are all at the first pointer.
#[derive(Debug)]
#[repr(C)]
struct Image {
    data: *mut Pointer,
    pitch: *mut usize,
    pixel: c_int,
    components: u32,
}

const _: () = assert!(size_of::<ComponentInfo>() == 12);
const _: () = assert!(size_of::<Image>() == 24 && offset_of!(Image, pixel) == 16);

/// `nvjpeg2kImageType_t`, as far as samples of TIFF files use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
enum Pixel {
    /// `NVJPEG2K_UINT8`.
    U8 = 0,
    /// `NVJPEG2K_UINT16`.
    U16 = 1,
    /// `NVJPEG2K_INT16`.
    I16 = 2,
}

impl Pixel {
    fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::I16 => 2,
        }
    }
}

/// `nvjpeg2kEncodeConfig_t`.
#[repr(C)]
struct Config {
    stream_type: c_int,
    colour: c_int,
    rsiz: u16,
    width: u32,
    height: u32,
    tiling: u32,
    tile_width: u32,
    tile_height: u32,
    components: u32,
    info: *const ComponentInfo,
    sop: u32,
    eph: u32,
    progression: c_int,
    layers: u32,
    mct: u32,
    resolutions: u32,
    code_block_width: u32,
    code_block_height: u32,
    modes: u32,
    irreversible: u32,
    precincts: u32,
    precinct_width: [u32; MOST_RESOLUTIONS],
    precinct_height: [u32; MOST_RESOLUTIONS],
}

const _: () = assert!(size_of::<Config>() == 360 && offset_of!(Config, info) == 40);

functions! {
    /// The functions called.
    Functions {
        nvjpeg2kEncoderCreateSimple(handle: *mut Pointer);
        nvjpeg2kEncoderDestroy(handle: Pointer);
        nvjpeg2kEncodeStateCreate(handle: Pointer, state: *mut Pointer);
        nvjpeg2kEncodeStateDestroy(state: Pointer);
        nvjpeg2kEncodeParamsCreate(params: *mut Pointer);
        nvjpeg2kEncodeParamsDestroy(params: Pointer);
        nvjpeg2kEncodeParamsSetEncodeConfig(params: Pointer, config: *mut Config);
        nvjpeg2kEncodeParamsSpecifyQuality(params: Pointer, kind: c_int, value: f64);
        nvjpeg2kEncodeParamsSetInputFormat(params: Pointer, format: c_int);
        nvjpeg2kEncode(handle: Pointer, state: Pointer, params: Pointer, image: *const Image, stream: Pointer);
        nvjpeg2kEncodeRetrieveBitstream(
            handle: Pointer, state: Pointer, data: *mut u8, len: *mut usize, stream: Pointer
        );
    }
}

/// Bytes of each argument of the functions called, to compare with `nvjpeg2k.h`.
pub const SIGNATURES: &[(&str, &[usize])] = Functions::SIGNATURES;

/// Constants of `nvjpeg2k.h` that the bindings rely on.
pub const HEADER: &[(&str, usize)] = &[
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
    ("NVJPEG2K_STATUS_SUCCESS", 0),
    ("NVJPEG2K_FORMAT_INTERLEAVED", INTERLEAVED as usize),
    ("NVJPEG2K_UINT8", Pixel::U8 as usize),
    ("NVJPEG2K_UINT16", Pixel::U16 as usize),
    ("NVJPEG2K_INT16", Pixel::I16 as usize),
    ("MAJOR_VERSION", 0),
    ("MINOR_VERSION", 1),
    ("PATCH_LEVEL", 2),
    ("NVJPEG2K_MAXRES", MOST_RESOLUTIONS),
    ("sizeof(nvjpeg2kEncodeConfig_t)", size_of::<Config>()),
    ("offsetof(nvjpeg2kEncodeConfig_t, color_space)", offset_of!(Config, colour)),
    ("offsetof(nvjpeg2kEncodeConfig_t, rsiz)", offset_of!(Config, rsiz)),
    ("offsetof(nvjpeg2kEncodeConfig_t, image_width)", offset_of!(Config, width)),
    ("offsetof(nvjpeg2kEncodeConfig_t, image_height)", offset_of!(Config, height)),
    ("offsetof(nvjpeg2kEncodeConfig_t, enable_tiling)", offset_of!(Config, tiling)),
    ("offsetof(nvjpeg2kEncodeConfig_t, num_components)", offset_of!(Config, components)),
    ("offsetof(nvjpeg2kEncodeConfig_t, image_comp_info)", offset_of!(Config, info)),
    ("offsetof(nvjpeg2kEncodeConfig_t, prog_order)", offset_of!(Config, progression)),
    ("offsetof(nvjpeg2kEncodeConfig_t, num_layers)", offset_of!(Config, layers)),
    ("offsetof(nvjpeg2kEncodeConfig_t, mct_mode)", offset_of!(Config, mct)),
    ("offsetof(nvjpeg2kEncodeConfig_t, num_resolutions)", offset_of!(Config, resolutions)),
    ("offsetof(nvjpeg2kEncodeConfig_t, code_block_w)", offset_of!(Config, code_block_width)),
    ("offsetof(nvjpeg2kEncodeConfig_t, code_block_h)", offset_of!(Config, code_block_height)),
    ("offsetof(nvjpeg2kEncodeConfig_t, encode_modes)", offset_of!(Config, modes)),
    ("offsetof(nvjpeg2kEncodeConfig_t, irreversible)", offset_of!(Config, irreversible)),
    ("offsetof(nvjpeg2kEncodeConfig_t, num_precincts_init)", offset_of!(Config, precincts)),
    ("NVJPEG2K_STREAM_J2K", 0),
    ("NVJPEG2K_LRCP", 0),
    ("NVJPEG2K_COLORSPACE_SRGB", RGB as usize),
    ("NVJPEG2K_COLORSPACE_GRAY", GREY as usize),
    ("NVJPEG2K_QUALITY_TYPE_TARGET_PSNR", TARGET_PSNR as usize),
];

/// Returns the version of the library at a path, if it has the functions called.
pub fn version_of(path: &OsStr) -> Result<Version, Nvjpeg2000Error> {
    let opened = Opened::open(Some(path))?;
    Functions::load(&opened)?;
    Ok(opened.version())
}

/// How pictures of a layout are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recipe {
    width: u32,
    samples: u16,
    pixel: Pixel,
    colour: bool,
    /// Peak signal-to-noise ratio in dB; `None` is lossless.
    psnr: Option<u8>,
}

impl Recipe {
    /// Returns the recipe of a layout, or why there is none.
    pub(crate) fn of(layout: &EncodeLayout) -> Result<Self, String> {
        let block = &*layout.block;
        let pixel = match block.data_type {
            DataType::U8 => Pixel::U8,
            DataType::U16 => Pixel::U16,
            DataType::I16 => Pixel::I16,
            other => return Err(format!("nvJPEG2000 does not write samples of {other}")),
        };
        if block.samples > COMPONENTS {
            return Err(format!("nvJPEG2000 writes at most {COMPONENTS} samples, not {}", block.samples));
        }
        Ok(Self {
            width: block.width,
            samples: block.samples,
            pixel,
            colour: block.samples >= 3 && block.extras.photometric == Photometric::Rgb,
            psnr: (!layout.params.lossless).then_some(layout.params.quality),
        })
    }
}

/// Samples on the device, interleaved, row after row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) address: u64,
    pub(crate) rows: u32,
    pub(crate) recipe: Recipe,
}

/// The encoder of a device.
#[derive(Debug)]
pub(crate) struct Pictures {
    functions: Functions,
    version: Version,
    handle: Pointer,
    context: Arc<Context>,
    states: Mutex<Vec<State>>,
}

// SAFETY: by its documentation the handle is thread-safe; states are behind a lock.
unsafe impl Send for Pictures {}
// SAFETY: as above.
unsafe impl Sync for Pictures {}

/// An encode state, its parameters and its stream.
#[derive(Debug)]
struct State {
    state: Pointer,
    params: Pointer,
    /// Settings of the parameters, and the number of rows.
    set: Option<(Recipe, u32)>,
    stream: Stream,
}

// SAFETY: a state is used by one thread at a time, by `&mut`; it is not tied to a thread.
unsafe impl Send for State {}

impl Pictures {
    /// Opens the encoder of this machine's library, for a device.
    pub(crate) fn open(device: &Arc<Device>) -> Result<Self, Nvjpeg2000Error> {
        let opened = Opened::open(None)?;
        let functions = Functions::load(&opened)?;
        let context = Arc::clone(device.context());
        let mut handle: Pointer = std::ptr::null_mut();
        {
            let _bound = context.bind().map_err(of_driver)?;
            // SAFETY: `handle` outlives the call.
            unsafe { functions.nvjpeg2kEncoderCreateSimple(&raw mut handle) }?;
        }
        Ok(Self { functions, version: opened.version(), handle, context, states: Mutex::default() })
    }

    /// Returns the reported name and version.
    pub(crate) fn name(&self) -> String {
        format!("nvJPEG2000 {}", self.version)
    }

    /// Returns the codestreams of pictures, in order.
    ///
    /// # Safety
    /// The samples must be complete in device memory until this returns.
    pub(crate) unsafe fn encode(&self, sources: &[Source]) -> Result<Vec<Vec<u8>>, Nvjpeg2000Error> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        while states.len() < STATES.min(sources.len()) {
            let state = self.state();
            match (state, states.is_empty()) {
                (Ok(state), _) => states.push(state),
                (Err(error), true) => return Err(error),
                (Err(_), false) => break,
            }
        }
        let next = AtomicUsize::new(0);
        let work = |state: &mut State| -> Result<Vec<(usize, Vec<u8>)>, Nvjpeg2000Error> {
            let _bound = self.context.bind().map_err(of_driver)?;
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(source) = sources.get(index) else { return Ok(done) };
                // SAFETY: guaranteed by the caller; the context is bound.
                done.push((index, unsafe { self.one(state, source) }?));
            }
        };
        let Some((mine, others)) = states.split_first_mut() else { return Ok(Vec::new()) };
        let done = std::thread::scope(|scope| {
            let start = |state| thread_builder("strile-nvjpeg2000")?.spawn_scoped(scope, || work(state));
            // If a thread cannot be started, the others do its share.
            let threads: Vec<_> = others.iter_mut().filter_map(|state| start(state).ok()).collect();
            let mut done = work(mine);
            for thread in threads {
                let more = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                done = done.and_then(|mut done| {
                    done.extend(more?);
                    Ok(done)
                });
            }
            done
        });
        let mut done = done?;
        done.sort_unstable_by_key(|(index, _)| *index);
        Ok(done.into_iter().map(|(_, stream)| stream).collect())
    }

    fn state(&self) -> Result<State, Nvjpeg2000Error> {
        let _bound = self.context.bind().map_err(of_driver)?;
        let stream = Stream::new(&self.context).map_err(of_driver)?;
        let (mut state, mut params): (Pointer, Pointer) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: here and below, the memory that is written to outlives the call.
        unsafe { self.functions.nvjpeg2kEncodeStateCreate(self.handle, &raw mut state) }?;
        // SAFETY: as above.
        if let Err(error) = unsafe { self.functions.nvjpeg2kEncodeParamsCreate(&raw mut params) } {
            // SAFETY: made just now, and no work is in progress.
            let _ = unsafe { self.functions.nvjpeg2kEncodeStateDestroy(state) };
            return Err(error);
        }
        Ok(State { state, params, set: None, stream })
    }

    /// # Safety
    /// As for `encode`; the context must be bound.
    unsafe fn one(&self, state: &mut State, source: &Source) -> Result<Vec<u8>, Nvjpeg2000Error> {
        let Recipe { width, samples, pixel, .. } = source.recipe;
        if state.set != Some((source.recipe, source.rows)) {
            state.set = None;
            self.configure(state.params, source)?;
            state.set = Some((source.recipe, source.rows));
        }
        let start = std::ptr::with_exposed_provenance_mut(usize::try_from(source.address).unwrap_or(0));
        let mut data: Vec<Pointer> = vec![start; usize::from(samples)];
        let mut pitch = vec![width as usize * usize::from(samples) * pixel.size(); usize::from(samples)];
        let image = Image {
            data: data.as_mut_ptr(),
            pitch: pitch.as_mut_ptr(),
            pixel: pixel as c_int,
            components: samples.into(),
        };
        let (functions, handle, stream) = (&self.functions, self.handle, state.stream.handle().cast());
        // SAFETY: the caller guarantees the samples; the state's last picture was waited for below.
        unsafe { functions.nvjpeg2kEncode(handle, state.state, state.params, &raw const image, stream) }?;
        let mut len = 0usize;
        let null = std::ptr::null_mut();
        // Without a destination the function waits and returns the length. SAFETY: `len` outlives the call.
        unsafe {
            functions.nvjpeg2kEncodeRetrieveBitstream(handle, state.state, null, &raw mut len, stream)
        }?;
        let mut bytes = vec![0u8; len];
        let to = bytes.as_mut_ptr();
        // SAFETY: this many bytes are available until the wait below is over.
        let said = unsafe {
            functions.nvjpeg2kEncodeRetrieveBitstream(handle, state.state, to, &raw mut len, stream)
        };
        state.stream.synchronize().map_err(of_driver)?;
        said?;
        bytes.truncate(len);
        Ok(bytes)
    }

    fn configure(&self, params: Pointer, source: &Source) -> Result<(), Nvjpeg2000Error> {
        let Recipe { width, samples, pixel, colour, psnr } = source.recipe;
        let height = source.rows;
        let precision = if pixel == Pixel::U8 { 8 } else { 16 };
        let info = ComponentInfo { width, height, precision, signed: u8::from(pixel == Pixel::I16) };
        let info = vec![info; usize::from(samples)];
        let shortest = width.min(height).max(1);
        let mut config = Config {
            stream_type: 0,
            colour: if colour { RGB } else { GREY },
            rsiz: 0,
            width,
            height,
            tiling: 0,
            tile_width: width,
            tile_height: height,
            components: samples.into(),
            info: info.as_ptr(),
            sop: 0,
            eph: 0,
            progression: 0,
            layers: 1,
            mct: colour.into(),
            resolutions: RESOLUTIONS.min(1 + shortest.ilog2()),
            code_block_width: CODE_BLOCK,
            code_block_height: CODE_BLOCK,
            modes: 0,
            irreversible: psnr.is_some().into(),
            precincts: 0,
            precinct_width: [0; MOST_RESOLUTIONS],
            precinct_height: [0; MOST_RESOLUTIONS],
        };
        // SAFETY: the configuration and its referents outlive the call, and the parameters belong to this state.
        unsafe { self.functions.nvjpeg2kEncodeParamsSetEncodeConfig(params, &raw mut config) }?;
        // SAFETY: as above.
        unsafe { self.functions.nvjpeg2kEncodeParamsSetInputFormat(params, INTERLEAVED) }?;
        if let Some(psnr) = psnr {
            // SAFETY: as above.
            unsafe { self.functions.nvjpeg2kEncodeParamsSpecifyQuality(params, TARGET_PSNR, psnr.into()) }?;
        }
        Ok(())
    }
}

impl Drop for Pictures {
    fn drop(&mut self) {
        let Ok(_bound) = self.context.bind() else { return };
        for state in self.states.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // On an error the context is lost: nothing in it runs any more.
            let _ = state.stream.synchronize();
            // SAFETY: made by `state`, and no work is in progress.
            let _ = unsafe { self.functions.nvjpeg2kEncodeParamsDestroy(state.params) };
            // SAFETY: as above.
            let _ = unsafe { self.functions.nvjpeg2kEncodeStateDestroy(state.state) };
        }
        // SAFETY: its states are gone.
        let _ = unsafe { self.functions.nvjpeg2kEncoderDestroy(self.handle) };
    }
}

fn of_driver(error: DriverError) -> Nvjpeg2000Error {
    Nvjpeg2000Error::Driver { problem: error.to_string() }
}
