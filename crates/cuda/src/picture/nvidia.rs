//! NVIDIA's libraries for pictures, nvJPEG2000 and nvJPEG, where they are installed, files are trusted, and they are asked
//! for. Neither is needed: kernels of our own take the same pictures.
//!
//! What they do on corrupt streams is not said, and memory outside their buffers has been known to be part of it; so they
//! decode nothing unless the caller says that the file is trusted. Headers are checked by parsers of our own first, what
//! a library takes a stream for is held against that, and what is not plainly right is the host's.
//!
//! `opened` finds them, `memory` is what they allocate by, `choice` knows which was faster; `nvjpeg2000` and `nvjpeg` are
//! decoders like those of our own.

#![expect(unsafe_code, reason = "memory of the device is set by its address")]

mod choice;
pub(super) mod memory;
pub(super) mod opened;

pub use opened::{NvjpegError, Version, Which};

use super::nvjpeg::Nvjpeg;
use super::nvjpeg2000::Nvjpeg2000;
use crate::batch::aligned;
use crate::device::Device;
use crate::driver::DriverError;
use crate::stream::{Event, Stream};
use std::sync::Arc;
use strile_engine::BlockLayout;
use strile_tiff::Compression;

/// Whether nvJPEG2000 and nvJPEG decode. Anything but `Off` says that the files read are trusted: what they do on corrupt
/// ones is not defined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum NvidiaPictures {
    /// Never: kernels of our own, which take any bytes.
    #[default]
    Off,
    /// Trusted files, where they measured faster than kernels of our own.
    Trusted,
    /// Trusted files, all pictures that they take.
    TrustedAlways,
}

/// The libraries of an engine, or why one is not there.
#[derive(Debug, Clone)]
pub(crate) struct Optional {
    jpeg2000: Result<Arc<Nvjpeg2000>, NvjpegError>,
    jpeg: Result<Arc<Nvjpeg>, NvjpegError>,
    always: bool,
}

/// The decoder of a layout.
#[derive(Debug, Clone)]
pub(crate) enum Chosen {
    Jpeg2000(Arc<Nvjpeg2000>),
    Jpeg(Arc<Nvjpeg>),
}

impl Optional {
    /// Opens the libraries where they are wanted; to find neither is an error, because they were asked for.
    pub(crate) fn open(device: &Arc<Device>, wanted: NvidiaPictures) -> Result<Option<Self>, NvjpegError> {
        let always = match wanted {
            NvidiaPictures::Off => return Ok(None),
            NvidiaPictures::Trusted => false,
            NvidiaPictures::TrustedAlways => true,
        };
        let jpeg2000 = Nvjpeg2000::open(device).map(Arc::new);
        let jpeg = Nvjpeg::open(device).map(Arc::new);
        if let (Err(first), Err(second)) = (&jpeg2000, &jpeg) {
            let (first, second) = (Box::new(first.clone()), Box::new(second.clone()));
            return Err(NvjpegError::Neither { first, second });
        }
        Ok(Some(Self { jpeg2000, jpeg, always }))
    }

    /// The library that decodes pictures of a layout and why, or why none does.
    pub(crate) fn takes(&self, layout: &BlockLayout) -> Result<(Chosen, String), String> {
        use super::Decoder;
        let missing = |error: &NvjpegError| error.to_string();
        let (chosen, which, name) = match layout.compression {
            Compression::Jpeg => {
                let jpeg = self.jpeg.as_ref().map_err(missing)?;
                jpeg.takes(layout).map_err(|reason| format!("not by nvJPEG: {reason}"))?;
                (Chosen::Jpeg(Arc::clone(jpeg)), Which::Nvjpeg, jpeg.name())
            }
            Compression::Jpeg2000 | Compression::Jpeg2000Rgb | Compression::Jpeg2000YCbCr => {
                let jpeg2000 = self.jpeg2000.as_ref().map_err(missing)?;
                jpeg2000.takes(layout).map_err(|reason| format!("not by nvJPEG2000: {reason}"))?;
                (Chosen::Jpeg2000(Arc::clone(jpeg2000)), Which::Nvjpeg2000, jpeg2000.name())
            }
            other => return Err(format!("neither nvJPEG2000 nor nvJPEG is used for {}", other.name())),
        };
        let measured = choice::measured(which, layout);
        match (self.always, measured.faster()) {
            (true, _) => Ok((chosen, format!("{name}, asked for; the file is trusted"))),
            (false, true) => Ok((chosen, format!("{name}, {measured}; the file is trusted"))),
            (false, false) => Err(format!("not by {name}: {measured}")),
        }
    }
}

/// The end of what a state of a library does, which is one thing at a time.
#[derive(Debug, Default)]
pub(super) struct Busy(Option<Event>);

impl Busy {
    /// Waits for it.
    pub(super) fn wait(&self) -> Result<(), DriverError> {
        self.0.as_ref().map_or(Ok(()), Event::synchronize)
    }

    /// Something was queued on a stream: from now on it is that.
    pub(super) fn until(&mut self, stream: &Stream) -> Result<(), DriverError> {
        match &self.0 {
            Some(end) => end.record(stream)?,
            None => self.0 = Some(stream.record()?),
        }
        Ok(())
    }
}

/// Queues what says of pictures that their samples are right: 0 in their statuses, which lie at an address.
///
/// # Safety
/// The statuses must be memory of the device that holds every index.
pub(super) unsafe fn mark_right(
    stream: &Stream,
    statuses: u64,
    mut right: Vec<u32>,
) -> Result<(), DriverError> {
    right.sort_unstable();
    let _bound = stream.context().bind()?;
    for run in right.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
        let first = run.first().copied().unwrap_or(0);
        let to = statuses + 4 * u64::from(first);
        // SAFETY: the caller's.
        unsafe { stream.context().driver().cuMemsetD32Async(to, 0, run.len(), stream.handle()) }?;
    }
    Ok(())
}

/// Queues zeros where samples will lie, given by address and length, so that nothing is ever found there that is not of
/// this file; what lies in a row is set by one call.
///
/// # Safety
/// They must be memory of the device.
pub(super) unsafe fn clear(stream: &Stream, parts: &[(u64, u32)]) -> Result<(), DriverError> {
    let _bound = stream.context().bind()?;
    let follows = |a: &(u64, u32), b: &(u64, u32)| a.0.saturating_add(aligned(a.1.into())) == b.0;
    for run in parts.chunk_by(follows) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let len = usize::try_from(last.0 - first.0 + u64::from(last.1)).unwrap_or(0);
        // SAFETY: the caller's; what lies between them is lost to alignment.
        unsafe { stream.context().driver().cuMemsetD8Async(first.0, 0, len, stream.handle()) }?;
    }
    Ok(())
}
