//! NVIDIA's nvCOMP for Deflate and ZSTD, if its library is installed and files are trusted.
//!
//! By its own header "a corrupt buffer … will result in undefined behavior" of the decompressors, memory outside their
//! buffers included; so it decodes nothing unless the caller declares the file trusted, and even then only where it
//! measures faster than strile's kernels. Its output follows the same rule as theirs (decision 009): kernels check
//! header, exact length and checksum before and after it, and a block that is not plainly right is left to the host.
//!
//! It compresses only if a write plan names it as the encoder; its input are then bytes that strile packed.
//!
//! `library` opens and calls it, `choice` knows which decoder was faster, `queue` turns a batch into one call;
//! `compress` does the same for writing.

mod choice;
mod compress;
mod library;
mod queue;

pub(crate) use compress::{Compressing, Compressor};
pub use library::{Library, NvcompError};
pub(crate) use queue::Call;

use super::super::{Nvcomp, Shape};
use crate::abi::{DecodeArgs, DecodeBlock};
use crate::decode::batch::{Item, aligned};
use crate::decode::codec::Kernel;
use crate::decode::run::Stop;
use crate::device::Device;
use std::sync::Arc;
use strile_engine::{BlockLayout, EngineError};
use strile_tiff::Compression;

/// Formats that nvCOMP decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Raw Deflate, without the zlib wrapper.
    Deflate,
    /// One frame of ZSTD.
    Zstd,
}

impl Codec {
    /// Returns the codec of a compression, if supported.
    pub fn of(compression: Compression) -> Option<Self> {
        match compression {
            Compression::Deflate => Some(Self::Deflate),
            Compression::Zstd => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Deflate => Compression::Deflate.name(),
            Self::Zstd => Compression::Zstd.name(),
        }
    }

    /// Returns the codec of a kernel that stands for nvCOMP.
    pub(crate) fn by(kernel: &Kernel) -> Option<Self> {
        [Self::Deflate, Self::Zstd].into_iter().find(|codec| codec.kernel().module == kernel.module)
    }
}

/// nvCOMP for the jobs of an engine.
#[derive(Debug, Clone)]
pub(crate) struct Decoders {
    library: Arc<Library>,
    always: bool,
}

impl Decoders {
    /// Opens the library if requested; failing to find it is an error.
    pub(crate) fn open(wanted: Nvcomp) -> Result<Option<Self>, String> {
        let always = match wanted {
            Nvcomp::Off => return Ok(None),
            Nvcomp::Trusted => false,
            Nvcomp::TrustedAlways => true,
        };
        let library = Library::open().map_err(|error| error.to_string())?;
        Ok(Some(Self { library: Arc::new(library), always }))
    }

    /// Returns the kernel that stands for nvCOMP, if it decodes blocks of a layout, and the reason; else why it does
    /// not.
    pub(crate) fn takes(&self, layout: &BlockLayout) -> Result<(&'static Kernel, String), String> {
        let codec = Codec::of(layout.compression).filter(|_| !layout.reverse_bits);
        let codec = codec.ok_or_else(|| format!("nvCOMP is not used for {}", layout.compression.name()))?;
        let by = format!("nvCOMP {}", self.library.version());
        let measured = choice::measured(codec, layout);
        match (self.always, measured.faster()) {
            (true, _) => Ok((codec.kernel(), format!("{by}, asked for; the file is trusted"))),
            (false, true) => Ok((codec.kernel(), format!("{by}, {measured}; the file is trusted"))),
            (false, false) => Err(format!("not by {by}: {measured}")),
        }
    }

    /// Returns the bytes that a batch needs in addition to its arenas: lists and temporary memory per codec.
    pub(crate) fn room(&self, device: &Device, items: &[Item]) -> Result<u64, Stop> {
        let mut room = 0u64;
        for codec in [Codec::Deflate, Codec::Zstd] {
            let of_codec = items.iter().filter(|item| item.kernel.and_then(Codec::by) == Some(codec));
            let shape = Shape::of(of_codec.map(|item| item.dst_len));
            if shape.count > 0 {
                let temporary = self.temporary(device, codec, shape)?;
                room = room.saturating_add(queue::lists_len(shape.count)).saturating_add(aligned(temporary));
            }
        }
        Ok(room)
    }

    /// Returns the call for blocks of a kernel with the arguments `args`, with its lists and temporary memory from `at`
    /// to at most `end`, and the end of these; `None` for a kernel that does not stand for nvCOMP.
    pub(crate) fn call(
        &self,
        device: &Device,
        (kernel, args, blocks): (&Kernel, DecodeArgs, &[DecodeBlock]),
        memory: (u64, u64),
    ) -> Result<Option<(Call, u64)>, Stop> {
        let Some(codec) = Codec::by(kernel) else { return Ok(None) };
        Call::new(self, device, (codec, args, blocks), memory).map(Some)
    }

    fn temporary(&self, device: &Device, codec: Codec, shape: Shape) -> Result<u64, Stop> {
        let _bound = device.bind()?;
        self.library.temporary(codec, shape).map_err(|error| failed(device, &error))
    }
}

fn failed(device: &Device, error: &NvcompError) -> Stop {
    let device = format!("cuda:{}", device.facts().index);
    Stop::Engine(EngineError::Device { device, problem: error.to_string() })
}
