//! Pictures by nvJPEG: the pictures of a batch of one kind are one call, on engines of the device where it has some, else
//! by the library's kernels. Samples go where the batch has them, interleaved by the library; the wait is the engine's.
//!
//! A call fails as a whole, so one that fails is made again in halves, down to the picture that is to blame. Abbreviated
//! streams are completed by the tables of the file first; about colour the photometric tag decides alone.

#![expect(unsafe_code, reason = "a library is handed the addresses of what was made here")]

mod library;

pub use library::{Backend, HEADER, SIGNATURES};

use super::nvidia::{NvjpegError, clear, mark_right};
use super::{Decoder, Need, Placed, Room, Stop};
use crate::device::Device;
use crate::driver::DriverError;
use crate::stream::Stream;
use library::{Format, Library, State, Wanted};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};
use strile_codestream::StoredBlock;
use strile_codestream::jpeg::{self, Colours};
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::Compression;

/// Decodes JPEG with NVIDIA's nvJPEG, where the library is installed.
#[derive(Debug)]
pub struct Nvjpeg {
    library: Arc<Library>,
    /// One for each kind of picture of each batch under way; made when they are wanted, and kept.
    spare: Mutex<Vec<State>>,
}

/// A whole stream and what it is.
#[derive(Debug)]
pub struct Picture {
    stream: Vec<u8>,
    format: Format,
}

/// A batch: streams that live until it has been waited for, and the states that decode them.
#[derive(Debug)]
pub struct Batch {
    pictures: Vec<Queued>,
    statuses: u64,
    states: Vec<State>,
}

#[derive(Debug)]
struct Queued {
    picture: Arc<Picture>,
    width: u32,
    height: u32,
    dst: u64,
    len: u32,
    status: u32,
}

impl Queued {
    fn wanted(&self) -> Wanted<'_> {
        let Picture { stream, format } = &*self.picture;
        Wanted { stream, width: self.width, height: self.height, format: *format, dst: self.dst }
    }
}

impl Nvjpeg {
    /// That of this machine, for a device, or why it cannot be used.
    pub fn open(device: &Arc<Device>) -> Result<Self, NvjpegError> {
        Self::with(device, None, true)
    }

    /// That of a path, on hardware or not.
    pub fn load(device: &Arc<Device>, path: &OsStr, hardware: bool) -> Result<Self, NvjpegError> {
        Self::with(device, Some(path), hardware)
    }

    fn with(device: &Arc<Device>, path: Option<&OsStr>, hardware: bool) -> Result<Self, NvjpegError> {
        let library = Arc::new(Library::open(device, path, hardware)?);
        Ok(Self { library, spare: Mutex::default() })
    }

    /// What it says it is.
    pub fn name(&self) -> String {
        let version = self.library.version();
        match self.library.backend() {
            Backend::Hardware(engines) => format!("nvJPEG {version} on {engines} engines"),
            Backend::Kernels => format!("nvJPEG {version}"),
        }
    }

    /// Bytes of device memory that the library has taken for itself, from the device's budget.
    pub fn taken(&self) -> u64 {
        self.library.taken()
    }

    fn state(&self) -> Result<State, NvjpegError> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.map_or_else(|| State::new(&self.library), Ok)
    }
}

/// What pictures of a layout become, where it is one that the library gives as the CPU engine does.
fn format(layout: &BlockLayout) -> Option<Format> {
    match (layout.samples, layout.extras.ycbcr) {
        (1, _) => Some(Format::Grey),
        (3, Some(_)) => Some(Format::Rgb),
        _ => None,
    }
}

impl Decoder for Nvjpeg {
    type Picture = Picture;
    type Batch = Batch;

    fn takes(&self, layout: &BlockLayout) -> Result<(), String> {
        if layout.compression != Compression::Jpeg || layout.reverse_bits {
            return Err(format!("blocks of {}", layout.compression.name()));
        }
        if layout.sample.bits != 8 {
            return Err(format!("samples of {} bits", layout.sample.bits));
        }
        let problem = || format!("{} samples that are not YCbCr", layout.samples);
        format(layout).map(|_| ()).ok_or_else(problem)
    }

    fn estimate(&self, _layout: &BlockLayout, _rows: u32, _stream_len: u64) -> Need {
        Need::default()
    }

    fn fixed(&self) -> Need {
        Need::default()
    }

    fn parse(&self, stream: &[u8], layout: &BlockLayout, rows: u32) -> Result<Picture, BlockFault> {
        let format = format(layout).ok_or_else(|| BlockFault::unsupported("components as stored"))?;
        let colours = match format {
            Format::Grey => Colours::AsStored,
            Format::Rgb => Colours::YCbCr,
        };
        let tables = layout.extras.jpeg_tables.as_deref();
        let found = jpeg::parse(stream, tables, StoredBlock { layout, rows }, colours)?;
        if found.height != rows {
            return Err(BlockFault::wrong_shape("a strip with rows to spare"));
        }
        let stream = jpeg::complete(stream, tables, colours)?;
        Ok(Picture { stream, format })
    }

    fn need(&self, _picture: &Picture) -> Need {
        Need::default()
    }

    fn write(&self, _picture: &Picture, _stream: &[u8], into: &mut [u8]) {
        into.fill(0);
    }

    fn lay_out(&self, pictures: &[Placed<Picture>], room: &Room, _tables: &mut [u8]) -> Result<Batch, Stop> {
        let queued = |placed: &Placed<Picture>| Queued {
            picture: Arc::clone(&placed.picture),
            width: placed.layout.width,
            height: placed.rows,
            dst: placed.dst,
            len: placed.dst_len,
            status: placed.status,
        };
        let pictures = pictures.iter().map(queued).collect();
        Ok(Batch { pictures, statuses: room.statuses, states: Vec::new() })
    }

    fn launch(&self, batch: &mut Batch, _device: &Device, stream: &Stream) -> Result<(), Stop> {
        let parts: Vec<_> = batch.pictures.iter().map(|picture| (picture.dst, picture.len)).collect();
        // SAFETY: the samples lie in the batch's memory.
        unsafe { clear(stream, &parts) }?;
        let mut right = Vec::new();
        for format in [Format::Grey, Format::Rgb] {
            let of_format: Vec<&Queued> =
                batch.pictures.iter().filter(|picture| picture.picture.format == format).collect();
            // Without a state these are the host's.
            if of_format.is_empty() {
                continue;
            }
            let Ok(mut state) = self.state() else { continue };
            let taken: Vec<&Queued> =
                of_format.into_iter().filter(|picture| state.takes(&picture.wanted()).is_ok()).collect();
            let done = decode(&mut state, &taken, stream, &mut right);
            // Held by the batch: it may be under way.
            batch.states.push(state);
            done?;
        }
        // SAFETY: the batch's memory has a status for each picture.
        Ok(unsafe { mark_right(stream, batch.statuses, right) }?)
    }

    fn finish(&self, batch: Batch) -> Vec<u32> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).extend(batch.states);
        Vec::new()
    }
}

/// Queues pictures of one kind as one call; where that fails, in halves. Adds the statuses of those that were queued
/// without a complaint.
fn decode(
    state: &mut State,
    pictures: &[&Queued],
    stream: &Stream,
    right: &mut Vec<u32>,
) -> Result<(), DriverError> {
    // What is to be tried, the last first.
    let mut left = vec![pictures];
    while let Some(some) = left.pop().filter(|some| !some.is_empty()) {
        let wanted: Vec<Wanted<'_>> = some.iter().map(|picture| picture.wanted()).collect();
        // SAFETY: the batch holds the streams and its job the memory, until both have been waited for.
        match unsafe { state.decode(&wanted, stream) }? {
            Ok(()) => right.extend(some.iter().map(|picture| picture.status)),
            Err(_) if some.len() > 1 => {
                let (first, second) = some.split_at(some.len() / 2);
                left.extend([second, first]);
            }
            Err(_) => {}
        }
    }
    Ok(())
}
