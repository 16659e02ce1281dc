//! Pictures by nvJPEG2000: several decode states, each with a stream and a thread of the host, at most one decode of a
//! state under way. Samples go where the batch has them, interleaved by the library: one piece of memory for all, no pass
//! of ours after it, and one wait a batch, which is the engine's.
//!
//! Before a state decodes again its last decode is waited for: reused without that it returns wrong pixels.

#![expect(unsafe_code, reason = "a library is handed the addresses of what was made here")]

mod encode;
mod library;

pub use encode::{ENCODER_HEADER, ENCODER_SIGNATURES};
pub(crate) use encode::{Encoder, Recipe, Source};
pub use library::{HEADER, SIGNATURES};

use super::nvidia::{NvjpegError, clear, mark_right};
use super::{Bytes, Decoder, Need, Placed, Room, Stop};
use crate::device::Device;
use crate::driver::DriverError;
use crate::stream::{Event, Stream};
use library::{Library, Pixel, State, Wanted};
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use strile_codestream::jpeg2000::{self, Limits};
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::{Compression, DataType};

/// States, streams and threads: of 1, 4, 8 and 16 on an H200 eight were the fastest, and no slower than 16.
const STATES: usize = 8;

/// Decodes JPEG 2000 with NVIDIA's nvJPEG2000, where the library is installed.
#[derive(Debug)]
pub struct Nvjpeg2000 {
    library: Arc<Library>,
    /// Made when they are first wanted; whoever launches has all of them.
    states: Mutex<Vec<State>>,
    most: usize,
}

/// What a stream is, and where in it the codestream lies.
#[derive(Debug, Clone)]
pub struct Picture {
    codestream: Range<usize>,
    bits: u8,
    pixel: Pixel,
}

/// A batch: streams that live until it has been waited for.
#[derive(Debug)]
pub struct Batch {
    pictures: Vec<Queued>,
    statuses: u64,
}

#[derive(Debug)]
struct Queued {
    stream: Bytes,
    codestream: Range<usize>,
    wanted: Wanted,
    len: u32,
    status: u32,
}

impl Nvjpeg2000 {
    /// That of this machine, for a device, or why it cannot be used.
    pub fn open(device: &Arc<Device>) -> Result<Self, NvjpegError> {
        Self::with(device, None, STATES)
    }

    /// That of a path, with so many states.
    pub fn load(device: &Arc<Device>, path: &OsStr, states: usize) -> Result<Self, NvjpegError> {
        Self::with(device, Some(path), states)
    }

    fn with(device: &Arc<Device>, path: Option<&OsStr>, most: usize) -> Result<Self, NvjpegError> {
        let library = Arc::new(Library::open(device, path)?);
        Ok(Self { library, states: Mutex::default(), most: most.max(1) })
    }

    /// What it says it is.
    pub fn name(&self) -> String {
        format!("nvJPEG2000 {}", self.library.version())
    }

    /// Bytes of device memory that the library has taken for itself, from the device's budget.
    pub fn taken(&self) -> u64 {
        self.library.taken()
    }
}

fn pixel(layout: &BlockLayout) -> Option<Pixel> {
    match layout.data_type {
        DataType::U8 => Some(Pixel::U8),
        DataType::U16 => Some(Pixel::U16),
        DataType::I16 => Some(Pixel::I16),
        _ => None,
    }
}

impl Decoder for Nvjpeg2000 {
    type Picture = Picture;
    type Batch = Batch;

    fn takes(&self, layout: &BlockLayout) -> Result<(), String> {
        if layout.extras.reduce > 0 {
            return Err("lower resolutions are decoded by kernels of our own".to_owned());
        }
        match (layout.compression, pixel(layout)) {
            (Compression::Jpeg2000YCbCr, _) => Err("YCbCr becomes RGB by kernels of our own".to_owned()),
            (Compression::Jpeg2000 | Compression::Jpeg2000Rgb, Some(_)) if !layout.reverse_bits => Ok(()),
            (Compression::Jpeg2000 | Compression::Jpeg2000Rgb, _) => {
                Err(format!("samples of {}", layout.data_type))
            }
            (other, _) => Err(format!("blocks of {}", other.name())),
        }
    }

    fn estimate(&self, _layout: &BlockLayout, _rows: u32, _stream_len: u64) -> Need {
        Need::default()
    }

    fn fixed(&self) -> Need {
        Need::default()
    }

    fn parse(&self, stream: &[u8], layout: &BlockLayout, rows: u32) -> Result<Picture, BlockFault> {
        let pixel = pixel(layout).ok_or_else(|| BlockFault::unsupported("samples of this type"))?;
        let inner = jpeg2000::codestream(stream)?;
        // Without its boxes: what samples mean is the TIFF's to say.
        let start = inner.as_ptr().addr().saturating_sub(stream.as_ptr().addr());
        let components = u64::from(layout.samples);
        let most_samples = u64::from(layout.width) * u64::from(rows) * components;
        let memory = Limits::usual_memory(most_samples, components, stream.len() as u64);
        let found = jpeg2000::parse(inner, Limits { reduce: 0, most_samples, memory })?;
        let bits = u8::try_from(layout.sample.bits).unwrap_or(0);
        let signed = pixel == Pixel::I16;
        let whole = |component: &jpeg2000::Component| {
            let shape = (component.rect.width(), component.rect.height());
            (component.bits, component.signed, shape) == (bits, signed, (layout.width, rows))
        };
        if found.components.len() != usize::from(layout.samples) || !found.components.iter().all(whole) {
            return Err(BlockFault::wrong_shape("components are not the block's"));
        }
        Ok(Picture { codestream: start..start.saturating_add(inner.len()), bits, pixel })
    }

    fn parsing(&self, layout: &BlockLayout, rows: u32) -> u64 {
        let components = u64::from(layout.samples);
        let samples = u64::from(layout.width) * u64::from(rows) * components;
        Limits::usual_memory(samples, components, 0)
    }

    fn need(&self, _picture: &Picture) -> Need {
        Need::default()
    }

    fn write(&self, _picture: &Picture, _stream: &[u8], into: &mut [u8]) {
        into.fill(0);
    }

    fn lay_out(&self, pictures: &[Placed<Picture>], room: &Room, _tables: &mut [u8]) -> Result<Batch, Stop> {
        let queued = |placed: &Placed<Picture>| Queued {
            stream: placed.stream.clone(),
            codestream: placed.picture.codestream.clone(),
            wanted: Wanted {
                width: placed.layout.width,
                height: placed.rows,
                samples: placed.layout.samples,
                bits: placed.picture.bits,
                pixel: placed.picture.pixel,
                dst: placed.dst,
            },
            len: placed.dst_len,
            status: placed.status,
        };
        Ok(Batch { pictures: pictures.iter().map(queued).collect(), statuses: room.statuses })
    }

    fn launch(&self, batch: &mut Batch, _device: &Device, stream: &Stream) -> Result<(), Stop> {
        let parts: Vec<_> = batch.pictures.iter().map(|picture| (picture.wanted.dst, picture.len)).collect();
        // SAFETY: the samples lie in the batch's memory.
        unsafe { clear(stream, &parts) }?;
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        while states.len() < self.most.min(batch.pictures.len()) {
            match State::new(&self.library) {
                Ok(state) => states.push(state),
                // With fewer it is slower; with none every picture is the host's.
                Err(_) => break,
            }
        }
        let count = states.len().min(batch.pictures.len());
        let states = states.get_mut(..count).unwrap_or_default();
        let before = stream.record()?;
        match decode_all(states, &batch.pictures, &before) {
            Ok(right) => {
                for state in states.iter() {
                    stream.wait_for(state.stream())?;
                }
                // SAFETY: the batch's memory has a status for each picture.
                Ok(unsafe { mark_right(stream, batch.statuses, right) }?)
            }
            Err(error) => {
                // Nothing may run in the batch's memory when its job ends.
                for state in states.iter() {
                    let _ = state.stream().synchronize();
                }
                Err(error.into())
            }
        }
    }
}

/// Lets every state decode, on a thread of its own, the next picture that nobody has taken; the statuses of those that
/// were queued without a complaint.
fn decode_all(states: &mut [State], pictures: &[Queued], before: &Event) -> Result<Vec<u32>, DriverError> {
    let next = AtomicUsize::new(0);
    let work = |state: &mut State| -> Result<Vec<u32>, DriverError> {
        let mut right = Vec::new();
        let context = Arc::clone(state.stream().context());
        let _bound = context.bind()?;
        state.stream().wait_on(before)?;
        while let Some(picture) = pictures.get(next.fetch_add(1, Ordering::Relaxed)) {
            let codestream = picture.stream.get(picture.codestream.clone()).unwrap_or_default();
            // SAFETY: the batch holds the stream and its job the memory, until both have been waited for.
            if unsafe { state.decode(codestream, &picture.wanted) }?.is_ok() {
                right.push(picture.status);
            }
        }
        Ok(right)
    };
    let Some((mine, others)) = states.split_first_mut() else { return Ok(Vec::new()) };
    std::thread::scope(|scope| {
        let named = || std::thread::Builder::new().name("strile-nvjpeg2000".to_owned());
        // A thread that cannot be had leaves its share to the others.
        let threads: Vec<_> =
            others.iter_mut().filter_map(|state| named().spawn_scoped(scope, || work(state)).ok()).collect();
        let mut right = work(mine);
        for thread in threads {
            let more = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            right = right.and_then(|mut right| {
                right.extend(more?);
                Ok(right)
            });
        }
        right
    })
}
